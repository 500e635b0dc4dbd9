"""What touches the operating system: files, locks, trust, memory, threads and terminals.

It knows nothing about words, vectors or training.
"""
