"""Train a model from a corpus, with held-out scoring, checkpoints, run folders and memory checks.

This package writes only to the run folder; commands/ writes the results.
"""
