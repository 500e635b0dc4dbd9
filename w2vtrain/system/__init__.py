"""Deal with the operating system: files, compression, locks, trust, memory, threads and terminals.

It knows nothing about words, vectors or training.
"""
