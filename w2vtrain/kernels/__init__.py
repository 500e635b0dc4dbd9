"""Compilation of kernels, and the SIMD operations on rows that they are built from, each with a NumPy reference.

It also has layers of neural networks. This package handles rows of floats and indices; it knows nothing about
words or objectives.
"""
