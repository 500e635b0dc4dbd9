"""One training run from corpus to model: fitting, held-out scoring, checkpoints, run folders and memory checks.

It writes the run folder only; results are written by `commands/`.
"""
