"""Train: take one run from corpus to model, with held-out scoring, checkpoints, run folders and memory checks.

It writes the run folder only; commands/ writes the results.
"""
