"""Files of vectors and models: word2vec text and binary, and safetensors.

Each reader checks everything that it reads. Settings and training records are only passed through.
"""
