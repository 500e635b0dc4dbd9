"""Naive negative sampling."""

from reference import LogisticReference

Reference = LogisticReference
