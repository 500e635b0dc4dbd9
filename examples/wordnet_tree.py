"""Write a tree of words that follows WordNet's hypernyms, for `w2vtrain fit --objective hs --tree FILE`.

    python examples/wordnet_tree.py dict vocab.txt > tree.txt

`dict` is the folder of that name in WordNet 3.x, and vocab.txt a file of words and counts, as `w2vtrain vocab` writes.
Each noun and verb is below the hypernyms of its first sense (Morin & Bengio 2005, "Hierarchical probabilistic neural
network language model"); all other words are beside them. A Huffman tree of the counts divides the children of a node.
"""

import heapq
import sys
from collections import defaultdict
from itertools import count
from pathlib import Path

Node = tuple[str, ...]


def hypernyms(folder: Path, pos: str) -> dict[str, Node]:
    """Return the synsets from the most general one down to that of each lemma, by the lemma."""
    above, chains = dict[str, str](), dict[str, Node]()
    for line in (folder / f"data.{pos}").read_text(encoding="utf-8").splitlines():
        fields = line.partition(" | ")[0].split()
        if line[:1] != " " and "@" in fields:  # the symbol of a hypernym, before its place
            above[fields[0]] = fields[fields.index("@") + 1]
    for line in (folder / f"index.{pos}").read_text(encoding="utf-8").splitlines():
        fields, chain = line.split(), list[str]()
        if line[:1] != " ":
            place: str | None = fields[6 + int(fields[3])]
            while place is not None and place not in chain:
                chain.append(place)
                place = above.get(place)
            chains[fields[0]] = (pos, *reversed(chain))
    return chains


def codes(weights: dict[Node, int]) -> dict[Node, str]:
    """Return the Huffman code of each node by the weights."""
    order, result = count(), dict.fromkeys(weights, "")
    heap = [(weight, next(order), [node]) for node, weight in weights.items()]
    heapq.heapify(heap)
    while len(heap) > 1:
        (least, _, left), (more, _, right) = heapq.heappop(heap), heapq.heappop(heap)
        for turn, nodes in (("0", left), ("1", right)):
            result |= {node: turn + result[node] for node in nodes}
        heapq.heappush(heap, (least + more, next(order), left + right))
    return result


def main(folder: str, vocabulary: str) -> None:
    """Print the path of each word."""
    chains = hypernyms(Path(folder), "verb") | hypernyms(Path(folder), "noun")
    counts = dict(line.rsplit(maxsplit=1) for line in Path(vocabulary).read_text(encoding="utf-8").splitlines())
    leaves = {word: (*chains.get(word, ("none",)), f"word {word}") for word in counts}
    weights: dict[Node, dict[Node, int]] = defaultdict(lambda: defaultdict(int))
    for word, leaf in leaves.items():
        for depth in range(len(leaf)):
            weights[leaf[:depth]][leaf[: depth + 1]] += int(counts[word])
    turns = {node: turn for below in weights.values() for node, turn in codes(below).items()}
    for word, leaf in leaves.items():
        print(word, "".join(turns[leaf[: depth + 1]] for depth in range(len(leaf))))


if __name__ == "__main__":
    main(*sys.argv[1:])
