"""Provide the tools of objectives: random streams, noise distributions, trees, letters, dense and partial softmax.

The objectives themselves live in objectives/: nothing here is one.
"""
