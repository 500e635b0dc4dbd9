"""Naive noise-contrastive estimation with noise that depends on the previous word."""

from reference import LogisticReference

Reference = LogisticReference
