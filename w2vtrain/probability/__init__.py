"""Tools for objectives: random streams, noise distributions, trees, letters, softmax over all or some output rows.

The objectives themselves are in objectives/, not here.
"""
