"""Take over graphs of other packages: matrices of scipy.sparse, graphs of networkx and igraph, frames of edges.

None of these packages is imported: an object is recognized by its interface.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, InvalidType, shown
from w2vtrain.leaves.graphs.graph import Graph

COLUMNS = ("source", "target", "weight")


def is_graph(data: object) -> bool:
    """Return whether `graph_of` takes this."""
    return isinstance(data, Graph) or any(
        all(hasattr(data, name) for name in names)
        for names in (("tocoo",), ("get_edgelist", "vs"), ("is_directed", "edges", "nodes"), ("columns", "__getitem__"))
    )


def graph_of(data: Any, directed: bool = False, names: Sequence[str] | None = None) -> Graph:
    """Return the graph that an object of another package is.

    data: a sparse matrix (N, N), whose entry (i, j) is the weight of an arc from node i to node j; a graph of networkx
    or igraph, with the attribute `weight` of its edges, or 1; or a frame with an edge per row, in the columns source
    and target, and perhaps weight, or in its first two or three columns. directed: of frames; the others say it
    themselves. names: of the nodes of a matrix, by default their indices. All names are used as text.

    Raise InvalidType for another object, and DataError for edges that no graph has.
    """
    if isinstance(data, Graph):
        return data
    if hasattr(data, "tocoo"):
        return _of_matrix(data.tocoo(), names)
    if names is not None:
        raise InvalidType("names: has no effect except with a matrix: leave it out")
    if hasattr(data, "get_edgelist"):
        return _of_igraph(data)
    if hasattr(data, "is_directed"):
        return _of_networkx(data)
    if hasattr(data, "columns"):
        return _of_frame(data, directed)
    raise InvalidType(
        f"expected files of edges, a sparse matrix, a graph of networkx or igraph, or a frame of edges, got"
        f" {shown(data)}"
    )


def _of_matrix(matrix: Any, names: Sequence[str] | None) -> Graph:
    rows, *columns = matrix.shape
    if columns != [rows] or len(names if names is not None else range(rows)) != rows:
        shape = " x ".join(f"{size:,}" for size in matrix.shape)
        raise DataError(f"a matrix of {shape}: a graph has as many rows as columns, and as many names")
    known = np.flatnonzero(matrix.data)
    labels = map(str, range(rows) if names is None else names)
    weights = _numbers(matrix.data)[known]
    return Graph.of(list(labels), matrix.row[known], matrix.col[known], weights, directed=True)


def _of_igraph(graph: Any) -> Graph:
    names = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
    ends = np.array(graph.get_edgelist(), np.int32).reshape(-1, 2)
    weights = _numbers(graph.es["weight"]) if "weight" in graph.es.attributes() else None
    return Graph.of(list(map(str, names)), ends[:, 0], ends[:, 1], weights, bool(graph.is_directed()))


def _of_networkx(graph: Any) -> Graph:
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    edges = list(graph.edges(data="weight", default=1))
    ends = np.array([(numbers[a], numbers[b]) for a, b, _ in edges], np.int32).reshape(-1, 2)
    weights = _numbers([weight for *_, weight in edges])
    return Graph.of(list(map(str, numbers)), ends[:, 0], ends[:, 1], weights, bool(graph.is_directed()))


def _of_frame(frame: Any, directed: bool) -> Graph:
    given = list(frame.columns)
    columns = [name for name in COLUMNS if name in given] if {*COLUMNS[:2]} <= {*given} else given
    if not 2 <= len(columns) <= 3:
        raise DataError(
            f"a frame with the columns {shown(given)}: an edge has the columns source and target, and perhaps weight"
        )
    first, second, *rest = (np.asarray(frame[name]) for name in columns)
    for name in columns[:2]:
        find = getattr(frame[name], "isna", None) or getattr(frame[name], "is_null", None)  # of pandas, of polars
        missing = np.asarray(find()) if find else np.zeros(0, bool)
        if missing.any():
            raise DataError(f"row {missing.argmax():,} has no {name}: leave out rows that are not edges")
    names, places = np.unique(np.concatenate([first, second]).astype(str), return_inverse=True)
    ends = places.astype(np.int32).reshape(2, -1)
    weights = _numbers(rest[0]) if rest else None
    return Graph.of(names.tolist(), ends[0], ends[1], weights, directed)


def _numbers(weights: Any) -> NDArray[np.float64]:
    """Return weights as numbers. Raise DataError for those that are none; text such as "2.5" is."""
    given = np.asarray(weights)
    try:
        return given.astype(np.float64) if given.dtype.kind != "c" else np.array(given.tolist(), np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"weights are not real numbers: {error}") from None
