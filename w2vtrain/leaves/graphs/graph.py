"""A graph in memory: for each node, the nodes that its edges lead to, in the order of their numbers.

Nothing here reads files or walks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, shown
from w2vtrain.formats.safetensors import encode_words
from w2vtrain.leaves.graphs.graph_kernels import (
    MAX_WEIGHT,
    MIN_WEIGHT,
    close_gaps,
    count_arcs,
    gather_arcs,
    set_bounds,
    sort_arcs,
)

Ints = NDArray[np.int64]
Nodes = NDArray[np.int32]
Floats = NDArray[np.float64]

BAD_WEIGHT = f"weights must be from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}: leave out the edge, or correct its weight"

NO_EDGES = "the graph has no edges between different nodes, so that there is nothing to learn"


class Arcs(NamedTuple):
    """The A arcs of N nodes, by the node that they leave. An undirected edge is two arcs, and a self loop one.

    starts (N + 1,) int64: the arcs of node v are those from starts[v] to starts[v + 1]; targets (A,) int32: the node
    that each leads to, ascending among the arcs of a node; bounds (A,) uint32: arc k is drawn if it is the first of
    its node with bits <= bounds[k], for 32 random bits; empty if all weights are equal. symmetric: whether each arc has
    one in the opposite direction.

    An arc takes 4 bytes, or 8 with weights, so an undirected edge takes 8 or 16.
    """

    starts: Ints
    targets: Nodes
    bounds: NDArray[np.uint32]
    symmetric: bool


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph. names: of its N nodes, whose indices are their numbers."""

    names: Sequence[str]
    arcs: Arcs

    @classmethod
    def of(
        cls, names: Sequence[str], sources: Nodes, targets: Nodes, weights: Floats | None = None, directed: bool = False
    ) -> "Graph":
        """Return the graph of E edges. The weights of parallel edges add up.

        sources, targets (E,): the numbers of the nodes of each edge; weights (E,): positive, 1 if None; directed:
        whether edges lead from the first node to the second only.

        Raise DataError if no edge leads to another node, for an invalid weight, and those of `encode_words`.
        """
        if not np.any(np.asarray(sources) != np.asarray(targets)):
            raise DataError(NO_EDGES)
        encode_words(names, "names of nodes, as text", spaces=True)  # now, not after training, if one is invalid
        if weights is not None and len(bad := np.flatnonzero(~((weights >= MIN_WEIGHT) & (weights <= MAX_WEIGHT)))):
            edge = " and ".join(shown(names[nodes[bad[0]]]) for nodes in (sources, targets))
            weight = weights[bad[0]]
            given = "NaN or None" if np.isnan(weight) else f"{weight:g}"
            raise DataError(f"the edge of {edge} has the weight {given}: {BAD_WEIGHT}")
        sources, targets = np.ascontiguousarray(sources, np.int32), np.ascontiguousarray(targets, np.int32)
        sizes = np.zeros(0) if weights is None else np.asarray(weights, np.float64)
        return cls(names, arcs_of(len(names), sources, targets, sizes, not directed))


def arcs_of(nodes: int, sources: Nodes, targets: Nodes, weights: Floats, symmetric: bool) -> Arcs:
    """Return the arcs of `nodes` nodes. Weights (E,) of parallel edges add up; empty: all are 1.

    At its peak, this takes 16 bytes per arc with weights, and 8 without, besides the edges and the result.
    """
    leaving, arriving = np.zeros((2, nodes + 1), np.int64)
    count_arcs(sources, targets, symmetric, leaving, arriving)
    starts, ends = np.cumsum(leaving), np.cumsum(arriving)
    others, values = np.empty(starts[-1], np.int32), np.empty(starts[-1] if len(weights) else 0)
    gather_arcs(sources, targets, weights, symmetric, ends[:-1].copy(), others, values)
    arcs, sums, stops = np.empty_like(others), np.empty_like(values), starts[:-1].copy()
    if parallel := sort_arcs(ends, others, values, starts, stops, arcs, sums):
        if not len(weights):
            return arcs_of(nodes, sources, targets, np.ones(len(sources)), symmetric)
        del others, values
        close_gaps(starts, stops, arcs, sums)
        arcs, sums = arcs[:-parallel].copy(), sums[:-parallel].copy()
    bounds = np.empty(len(sums) if len(sums) and (sums != sums[0]).any() else 0, np.uint32)
    if len(bounds):
        set_bounds(starts, sums, bounds)
    return Arcs(starts, arcs, bounds, symmetric)
