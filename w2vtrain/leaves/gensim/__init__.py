"""gensim's training interface on top of this package: `Word2Vec`, its callbacks, and readers of text files.

`KeyedVectors` is in embeddings/. Nothing here prints.
"""
