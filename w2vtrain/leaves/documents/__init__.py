"""Vectors of documents (Le & Mikolov 2014): documents with tags as a corpus, and inference for new texts."""
