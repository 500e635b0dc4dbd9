"""Measurements: comparisons, benchmarks, and checks of objectives and architectures.

Nothing here changes a model or prints.
"""
