"""Tools for objectives: random streams, noise distributions, trees, classes, letters, softmax over output rows.

The objectives themselves are in objectives/, not here.
"""
