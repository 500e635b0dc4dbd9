"""Take over graphs of other packages: matrices of scipy.sparse, graphs of networkx and igraph, frames of edges.

None of these packages is imported: an object is recognized by its interface.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, InvalidType, shown
from w2vtrain.leaves.graphs.graph import Graph
from w2vtrain.text.token_lists import NULLS, text_of

COLUMNS = ("source", "target", "weight")


def columns_of_edges(given: Sequence[Any], name: str) -> list[str]:
    """Return the columns of edges among those of a table, whose names may be in upper case.

    Raise DataError, with the name of the table, if there are none, or two of a name.
    """
    own = [[column for column in given if str(column).lower() == name] for name in COLUMNS]
    if not own[0] or not own[1] or max(map(len, own)) > 1:
        raise DataError(
            f"{name}: an edge has the columns source and target, and perhaps weight; rename them: the columns are:"
            f" {', '.join(map(shown, given))}"
        )
    return [column for columns in own for column in columns]


def graph_of(data: Any, directed: bool = False, names: Sequence[str] | None = None) -> Graph:
    """Return the graph that an object of another package is.

    data: a sparse matrix (N, N), whose entry (i, j) is the weight of an arc from node i to node j; a graph of networkx
    or igraph, with the attribute `weight` of its edges, or 1; or a frame with an edge per row, in the columns source
    and target, and perhaps weight, or 0, 1 and perhaps 2, as pandas names them. directed: of frames; the others say it
    themselves. names: of the nodes of a matrix, by default their indices. All names are used as text.

    Raise InvalidType for another object, and DataError for edges that no graph has.
    """
    if isinstance(data, Graph):
        return data
    if hasattr(data, "tocoo"):
        wide = data.astype(np.float64) if data.dtype.kind in "biu" else data
        return _of_matrix(wide.tocsr().tocoo(), names)  # repeated entries of COO add up
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
    labels = _names(range(rows) if names is None else names)
    return Graph.of(labels, matrix.row[known], matrix.col[known], _weights(matrix.data[known]), directed=True)


def _of_igraph(graph: Any) -> Graph:
    names = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
    ends = np.array(graph.get_edgelist(), np.int32).reshape(-1, 2)
    weights = _weights(graph.es["weight"]) if "weight" in graph.es.attributes() else None
    return Graph.of(_names(names), ends[:, 0], ends[:, 1], weights, bool(graph.is_directed()))


def _of_networkx(graph: Any) -> Graph:
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    edges = list(graph.edges(data="weight", default=1))
    ends = np.array([(numbers[a], numbers[b]) for a, b, _ in edges], np.int32).reshape(-1, 2)
    weights = _weights([weight for *_, weight in edges])
    return Graph.of(_names(numbers), ends[:, 0], ends[:, 1], weights, bool(graph.is_directed()))


def _of_frame(frame: Any, directed: bool) -> Graph:
    given = list(getattr(frame, "column_names", frame.columns))  # of Arrow, whose `columns` are values
    first, second, *rest = given if given in ([0, 1], [0, 1, 2]) else columns_of_edges(given, "a frame")
    names, places = np.unique(np.concatenate([_nodes(frame, first), _nodes(frame, second)]), return_inverse=True)
    ends = places.astype(np.int32).reshape(2, -1)
    return Graph.of(names.tolist(), ends[0], ends[1], _weights(frame[rest[0]]) if rest else None, directed)


def _names(nodes: Collection[Any]) -> list[str]:
    """Return the names of nodes that are objects of Python. Raise DataError for a node without a name."""
    names = list(map(text_of, nodes))
    for node, name in zip(nodes, names, strict=True):
        if not name or (name in NULLS and not isinstance(node, str | bytes)):
            raise DataError(f"a node has the name {node!r}: name all nodes, or none")
    return names


def _nodes(frame: Any, column: str) -> NDArray[np.str_]:
    """Return the names of the nodes in a column. Raise DataError if one is null."""
    values = np.asarray(frame[column])
    texts = np.array(list(map(text_of, values)), str) if values.dtype.kind in "fO" else values.astype(str)
    for row in np.flatnonzero(np.isin(texts, NULLS)):
        if not isinstance(values[row], str | bytes):
            raise DataError(f"the column {column}, row {row} (from 0): null, and there must be a node: drop such rows")
    return texts


def _weights(values: Any) -> NDArray[np.float64]:
    """Return weights. Raise DataError for those that are not real numbers."""
    if np.iscomplexobj(values):
        raise DataError("the weights of the edges must be numbers: these are complex")
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the weights of the edges must be numbers: {error}") from None
