"""Write vectors for other programs, which w2vtrain does not read back: spaCy, model2vec, TensorBoard's projector."""
