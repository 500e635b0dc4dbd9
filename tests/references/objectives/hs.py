"""Naive hierarchical softmax: the candidates of a target are the nodes of its path."""

from reference import LogisticReference

Reference = LogisticReference
