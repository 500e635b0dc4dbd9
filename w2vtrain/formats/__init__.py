"""Read and write word vectors and models (word2vec text and binary, GloVe text, safetensors).

Each reader validates everything that it reads, except for settings and training records, which it passes on unchanged.
"""
