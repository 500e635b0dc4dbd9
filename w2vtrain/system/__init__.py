"""Interface to the operating system: files, compression, locks, file ownership, memory, threads and terminals.

Nothing here knows about words, vectors or training.
"""
