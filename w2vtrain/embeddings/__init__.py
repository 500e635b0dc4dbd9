"""Trained vectors in memory, and what can be asked of them: neighbors, analogies, word similarity, whole models.

Nothing here trains or prints.
"""
