"""Compiled building blocks: the JIT compiler, SIMD operations on rows and the NumPy twin of each.

They know rows of floats and indices, but neither words nor objectives.
"""
