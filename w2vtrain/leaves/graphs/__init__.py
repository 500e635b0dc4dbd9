"""Graphs as text: random walks, in which nodes are words, are generated while a model is trained on them.

edges.py reads lists of edges, graph.py has the graph in memory, objects.py takes over those of other packages,
graph_kernels.py takes the steps, and walks.py is the source that training reads.
"""

from w2vtrain.parsers import Real, Whole

RANGES = {"walk_length": Whole(2, 10**6), "walks": Whole(1, 10**6), "p": Real(1e-9, 1e9), "q": Real(1e-9, 1e9)}
"""The parameters of walks."""
