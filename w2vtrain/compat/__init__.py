"""gensim's interface on top of this package: programs that import these names from w2vtrain need no other change.

Nothing here computes: training, queries and file formats are those of the folders below.
"""
