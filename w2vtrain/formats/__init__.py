"""Write and read files of vectors and models: word2vec text and binary, GloVe text, and safetensors.

Each reader checks everything that it reads. Settings and training records are passed through as they are.
"""
