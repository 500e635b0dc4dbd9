"""Binary paths for words in a taxonomy, for hierarchical softmax over a tree of meanings.

Nothing here knows where the taxonomy comes from.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from w2vtrain.probability.trees import huffman

TOTAL = 2.0**53
"""Counts with a larger sum are scaled down to it, so that sums do not overflow."""


def taxonomy_paths(chains: Sequence[Sequence[Hashable]], counts: np.ndarray) -> list[str]:
    """Return the path of each word, turns 0 and 1 from the root, in a binary tree that follows a taxonomy.

    chains: for each of V words, the nodes of the taxonomy above it, from the root down. counts (V,): frequencies.

    Words with a common chain share the nodes of their paths. The children of a node, which are nodes and words, are the
    leaves of a Huffman tree by their total counts; Morin & Bengio 2005 clustered them by data instead. A node with only
    one child takes no turn, so no path starts with another. Raise ValueError if there are fewer than two words.
    """
    if len(chains) < 2:
        raise ValueError("a tree needs at least two words")
    counts = np.maximum(counts * min(1.0, TOTAL / max(1.0, counts.sum(dtype=float))), 1).astype(np.int64)
    children: list[dict[Hashable, int]] = [{}]  # the children of each node by name
    weights, word_at = [0], {}
    for word, (chain, count) in enumerate(zip(chains, counts.tolist(), strict=True)):
        node = 0
        weights[0] += count
        for name in (*chain, (None, word)):
            below = children[node].setdefault(name, len(children))
            if below == len(children):
                children.append({})
                weights.append(0)
            node = below
            weights[node] += count
        word_at[node] = word
    paths, open_nodes = [""] * len(chains), [(0, "")]
    while open_nodes:
        node, path = open_nodes.pop()
        if node in word_at:
            paths[word_at[node]] = path
        below_all = list(children[node].values())
        turns = _turns(np.array([weights[below] for below in below_all], np.int64))
        open_nodes += [(below, path + turn) for below, turn in zip(below_all, turns, strict=True)]
    return paths


def _turns(weights: np.ndarray) -> list[str]:
    """Return the Huffman code of each weight (n,); they need not be sorted. A single weight has an empty code."""
    if len(weights) < 2:
        return [""] * len(weights)
    order = np.argsort(-weights, kind="stable")
    tree = huffman(weights[order])
    found = [""] * len(weights)
    for rank, place in enumerate(order.tolist()):
        found[place] = "".join(map(str, tree.codes[tree.start[rank] : tree.start[rank + 1]]))
    return found
