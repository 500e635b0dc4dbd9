"""Turn text into word indices on disk: corpus, tokens, counting, vocabulary and encoding.

Nothing here draws a random number or knows about vectors.
"""
