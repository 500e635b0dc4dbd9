"""Graphs as text: random walks, in which nodes are words, are generated while a model is trained on them.

edges.py reads lists of edges, graph.py has the graph in memory, objects.py takes over those of other packages,
graph_kernels.py takes the steps, and walks.py is the source that training reads.
"""
