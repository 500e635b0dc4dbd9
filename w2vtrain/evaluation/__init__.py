"""Figures about vectors, models and objectives: analogies, similarity, comparisons and benchmarks.

Nothing here changes a model.
"""
