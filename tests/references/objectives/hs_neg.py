"""Naive hierarchical softmax plus negative sampling: the candidates are the nodes, the target and the noise words."""

from reference import LogisticReference

Reference = LogisticReference
