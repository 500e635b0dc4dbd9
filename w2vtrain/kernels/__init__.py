"""Compile kernels, and provide the SIMD operations on rows that they are made of, each with its NumPy twin.

They know rows of floats and indices, but neither words nor objectives.
"""
