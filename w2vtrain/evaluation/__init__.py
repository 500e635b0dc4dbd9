"""Measure vectors, models, objectives and the program itself: analogies, similarity, comparisons, benchmarks, checks.

Nothing here changes a model or prints.
"""
