"""Print random walks over a graph, one per line, for `w2vtrain fit -`.

    python examples/walks.py graph.edges | w2vtrain fit - --sample 0 --min-count 1 -o nodes.txt

Each line of the file names two nodes, and perhaps the weight of the edge, separated by white space, commas or tabs.
Lines that begin with # are comments. With tabs or commas, names may have spaces, which become underscores. Walks are
those of DeepWalk (Perozzi, Al-Rfou & Skiena 2014), or with -p and -q those of node2vec (Grover & Leskovec 2016).
"""

import argparse
import math
import os
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Edge = tuple[str, str, float]
Ints = NDArray[np.int64]


def read_edges(lines: Iterator[str]) -> Iterator[Edge]:
    """Yield (node, node, weight) of every line; spaces in names become underscores, which w2vtrain needs."""
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        separator = next((s for s in "\t," if s in line), None)
        cells = ["_".join(cell.split()) for cell in line.strip().split(separator)]
        try:
            source, target, *rest = cells
            weight = float(rest[0]) if rest else 1.0
            if len(rest) > 1 or not source or not target or not 0 < weight < math.inf:
                raise ValueError
        except ValueError:
            raise SystemExit(
                f"line {number}: expected two nodes and perhaps a positive weight: {line.strip()!r}"
            ) from None
        yield source, target, weight


class Graph:
    """Neighbors in rows (CSR), with the cumulative weights of all edges, so that a neighbor is one binary search."""

    def __init__(self, edges: Iterator[Edge], directed: bool = False) -> None:
        ids: dict[str, int] = {}
        links: dict[tuple[int, int], float] = {}
        for source, target, weight in edges:
            a, b = (ids.setdefault(name, len(ids)) for name in (source, target))
            for link in {(a, b)} if directed else {(a, b), (b, a)}:
                links[link] = links.get(link, 0.0) + weight
        self.names = np.array(list(ids))
        pairs = np.array(sorted(links), np.int64).reshape(-1, 2)
        self.targets = pairs[:, 1]
        self.first = np.searchsorted(pairs[:, 0], np.arange(len(ids) + 1))
        self.keys = pairs[:, 0] * len(ids) + self.targets  # ascending
        self.sums = np.concatenate([[0.0], np.cumsum([links[a, b] for a, b in pairs.tolist()])])

    def neighbors(self, nodes: Ints, rng: np.random.Generator) -> Ints:
        """Draw a neighbor of each node, by the weights of the edges. Each node must have one."""
        low, high = self.first[nodes], self.first[nodes + 1]
        drawn = self.sums[low] + rng.random(len(nodes)) * (self.sums[high] - self.sums[low])
        return self.targets[np.clip(np.searchsorted(self.sums, drawn, "right") - 1, low, high - 1)]

    def linked(self, sources: Ints, targets: Ints) -> NDArray[np.bool_]:
        """Tell for each pair whether there is an edge."""
        keys = sources * len(self.names) + targets
        return self.keys[np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)] == keys

    def steps(self, before: Ints, nodes: Ints, p: float, q: float, rng: np.random.Generator) -> Ints:
        """Take the next step of walks that came from `before`: propose neighbors, accept in proportion to the bias."""
        after, waiting = np.empty_like(nodes), np.arange(len(nodes))
        while len(waiting):
            last, proposed = before[waiting], self.neighbors(nodes[waiting], rng)
            bias = np.where(self.linked(last, proposed), 1.0, 1 / q)
            bias[proposed == last] = 1 / p
            accepted = rng.random(len(waiting)) * max(1.0, 1 / p, 1 / q) < bias
            after[waiting[accepted]] = proposed[accepted]
            waiting = waiting[~accepted]
        return after

    def walks(self, per_node: int, length: int, p: float, q: float, seed: int) -> Iterator[list[str]]:
        """Yield `per_node` walks from each node, of at most `length` nodes; a walk ends where no edge leads on."""
        rng = np.random.default_rng(seed)
        for _ in range(per_node):
            walks = np.full((length, len(self.names)), -1)
            walks[0] = rng.permutation(len(self.names))
            for step in range(1, length):
                going = np.flatnonzero(walks[step - 1] >= 0)
                here = walks[step - 1, going]
                moving = self.first[here] < self.first[here + 1]
                going, here = going[moving], here[moving]
                unbiased = step == 1 or p == q == 1
                walks[step, going] = (
                    self.neighbors(here, rng) if unbiased else self.steps(walks[step - 2, going], here, p, q, rng)
                )
            for walk in walks.T:
                yield self.names[walk[walk >= 0]].tolist()


def main() -> None:
    """Print the walks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edges", help="file of edges, or - for stdin")
    parser.add_argument("--directed", action="store_true", help="follow edges only from the first node to the second")
    parser.add_argument("--walks", type=int, default=10, help="walks per node (default: 10)")
    parser.add_argument("--length", type=int, default=40, help="nodes per walk (default: 40)")
    parser.add_argument("-p", type=float, default=1.0, help="node2vec's p: above 1, walks return less (default: 1)")
    parser.add_argument("-q", type=float, default=1.0, help="node2vec's q: above 1, walks stay close (default: 1)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if min(options.p, options.q) <= 0 or min(options.walks, options.length) < 1:
        parser.error("-p, -q, --walks and --length must be positive")
    try:
        with sys.stdin if options.edges == "-" else open(options.edges, encoding="utf-8") as file:  # noqa: PTH123
            graph = Graph(read_edges(file), options.directed)
        for walk in graph.walks(options.walks, options.length, options.p, options.q, options.seed):
            print(*walk)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has ended, and says why
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        sys.exit(f"{options.edges}: {error.strerror}")


if __name__ == "__main__":
    main()
