"""The arguments of `fit` and `walks` that concern graphs. Nothing is read here."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from w2vtrain.commands.options import Role, Within, argument
from w2vtrain.leaves.graphs import RANGES

if TYPE_CHECKING:
    from w2vtrain.leaves.graphs.walks import Walks

GRAPHS = "Graphs (with --graph)"


@dataclass(frozen=True)
class Arguments:
    """The arguments of a `fit` command that concern graphs, by the names that `Walks` has for them."""

    graph: bool = argument(
        GRAPHS, "--graph", is_flag=True, affects=Role.LEARNED,
        help="CORPUS is a graph: train on random walks over it, in which nodes are words. Each line has two nodes"
        " and optionally a weight, separated by white space, commas or tabs; tables have the columns source, target"
        " and optionally weight. Every node has a vector. The default learning rate is a quarter of that for text.",
    )  # fmt: skip
    directed: bool = argument(
        GRAPHS, "--directed", is_flag=True, affects=Role.LEARNED,
        help="Follow edges only from the first node to the second.",
    )  # fmt: skip
    walk_length: int | None = argument(
        GRAPHS, "--walk-length", type=Within(RANGES["walk_length"]), metavar="N", affects=Role.LEARNED,
        help="Nodes per walk, 2 or more; a walk ends early at a node without outgoing edges.  [default: 80]",
    )  # fmt: skip
    walks: int | None = argument(
        GRAPHS, "--walks", type=Within(RANGES["walks"]), metavar="N", affects=Role.LEARNED,
        help="Walks from each node per epoch.  [default: 10]",
    )  # fmt: skip
    p: float | None = argument(
        GRAPHS, "--p", type=Within(RANGES["p"]), metavar="X", affects=Role.LEARNED,
        help="node2vec's p: divides the probability of a step back to the previous node.  [default: 1]",
    )  # fmt: skip
    q: float | None = argument(
        GRAPHS, "--q", type=Within(RANGES["q"]), metavar="X", affects=Role.LEARNED,
        help="node2vec's q: divides the probability of a step to a node that the previous node has no edge to."
        "  [default: 1]",
    )  # fmt: skip


WALKS = {row.name: row.metadata["option"] for row in fields(Arguments) if row.name != "graph"}
"""The options of walks, by the names that `Walks` has for them."""


def source_of(request: Any) -> "Walks":
    """Return the walks that a request asks for."""
    from w2vtrain.leaves.graphs.walks import Walks

    asked = {name: getattr(request, name) for name in WALKS}
    return Walks(request.sources, **{name: value for name, value in asked.items() if value is not None})
