"""Turn text into word ids on disk: read a corpus, split it into tokens, count them, and encode it.

Nothing here draws random numbers or handles vectors.
"""
