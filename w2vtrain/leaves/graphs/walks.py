"""Random walks over a graph as a source of text, whose ids are generated chunk by chunk when they are trained on.

Walks are those of node2vec (Grover & Leskovec 2016); with p = q = 1, those of DeepWalk (Perozzi, Al-Rfou & Skiena
2014). None is stored: in memory are the graph and the weights.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from w2vtrain.config import FIELDS, ROWS, WORDS, Settings
from w2vtrain.engines.chunks import Chunks, read_only
from w2vtrain.errors import ConfigError, InvalidType, InvalidValue, label, shown
from w2vtrain.leaves.graphs import RANGES
from w2vtrain.leaves.graphs.edges import read_edges
from w2vtrain.leaves.graphs.graph import Arcs, Floats, Graph, Ints, Nodes
from w2vtrain.leaves.graphs.graph_kernels import Bias, Rounds, pull, push, spell, walk_chunks
from w2vtrain.leaves.graphs.objects import graph_of
from w2vtrain.objectives import objective_class
from w2vtrain.parsers import Truth
from w2vtrain.system.machine import threads_of
from w2vtrain.system.parallel import in_order
from w2vtrain.text.counting import CorpusStats, OnRead
from w2vtrain.text.source import BlocksInMemory, File
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.token_lists import Sentences
from w2vtrain.text.vocabulary import Vocabulary, by_count
from w2vtrain.training.inputs import CHUNK_WORDS, Generated, Generator, Inputs

if TYPE_CHECKING:
    from w2vtrain.text.phrase_table import PhraseTable

T = TypeVar("T")
SLICE_CHUNKS = 256
"""Chunks that a thread generates at once for counts and for text: about a megabyte of ids."""
SAMPLE_CHUNKS = 1024
"""Chunks of the sample for objectives that count pairs of words."""
SAMPLE_ENTRIES = 2 * CHUNK_WORDS * SAMPLE_CHUNKS
"""The most words of that sample: long walks make long chunks."""
SAMPLE_EPOCH = 2**32 - 1
"""The number of the epoch that the sample is from: that of no epoch of training."""
CONVERGED = 1e-4
"""Difference of the walks at each node after two steps, below which all further steps count as the last."""
RATE_FACTOR = 0.25
"""Factor of the default learning rate. The words of a window share its noise words, and on walks, they are similar and
repeated: a noise word then takes many steps in one direction at once, where word2vec.c draws noise words of its own for
each pair. On the citations of Cora, at a rate of 0.025, this lowers the micro-F1 of labels by 0.012 (standard error
0.003, 5 seeds); at 0.0125, it is that of gensim at 0.025. At 0.003, one epoch does not learn a block model."""
PARSERS = {**RANGES, "directed": Truth(), "seed": ROWS["seed"].parser, "threads": ROWS["threads"].parser}
WITHOUT_EFFECT = ("sentence_end", *(name for name, row in ROWS.items() if row.section == WORDS))


@dataclass(frozen=True, eq=False)
class Walker:
    """Generates the walks of chunks: see `graph_kernels`. words (N,) int32: the word of each node."""

    arcs: Arcs
    bias: Bias
    rounds: Rounds
    words: Nodes
    seed: int

    @property
    def chunks(self) -> int:
        """The number of chunks per epoch."""
        return -(-self.rounds.walks // self.rounds.per_chunk)

    def walk(self, order: Ints, epoch: int) -> tuple[Nodes, Ints]:
        """Return the ids of chunks `order` (n,), and their offsets by the number of the chunk: see `Chunks.read`."""
        length, _, per_chunk = self.rounds
        tokens = np.empty(len(order) * per_chunk * (length + 1), np.int32)
        starts = np.empty(self.chunks + 1, np.int64)
        nodes, (drawn, lengths) = np.empty((length, per_chunk), np.int32), np.empty((2, per_chunk), np.int64)
        size = walk_chunks(
            self.arcs, self.bias, self.rounds, self.words, self.seed, epoch, np.sort(order), np.empty(1, np.uint64),
            nodes, drawn, lengths, tokens, starts,
        )  # fmt: skip
        return tokens[:size], starts

    def slices(self, use: Callable[[Nodes], T], epoch: int, chunks: int, threads: int) -> Iterator[T]:
        """Yield use(ids) of the first chunks of an epoch, some at a time, computed on several threads."""

        def work(i: int) -> T:
            order = np.arange(i * SLICE_CHUNKS, min((i + 1) * SLICE_CHUNKS, chunks))
            return use(self.walk(order, epoch)[0])

        return in_order(work, -(-chunks // SLICE_CHUNKS), threads, "w2vtrain walks")


@dataclass(frozen=True)
class WalkChunks(Chunks):
    """The walks of an epoch in chunks, which are generated when they are read."""

    walker: Walker | None = None

    def read(self, order: Ints, epoch: int) -> tuple[Nodes, Ints]:
        """Return the ids of chunks, and their offsets: see `Chunks.read`."""
        assert self.walker
        tokens, starts = self.walker.walk(order, epoch)
        return read_only(tokens), starts

    def mean_length(self) -> float:
        """Return the expected number of words and ends of walks per chunk."""
        assert self.walker
        return float(self.words.sum() + self.walker.rounds.walks) / len(self.words)


@dataclass(frozen=True, eq=False)
class WalkCorpus(Generated):
    """The walks over a graph as a corpus without tokens. lengths (N,): the expected nodes of a walk from each node."""

    walker: Walker | None = None
    lengths: Floats | None = None

    def about(self) -> str:
        """Return the size of the graph, and what an epoch has."""
        assert self.walker
        arcs, walks = len(self.walker.arcs.targets), self.walker.rounds.walks
        size = f"{len(self.vocabulary):,} nodes, {arcs:,} arcs"
        return f"{size}; {walks:,} walks and about {self.words:,} words per epoch"

    def checksum(self) -> int:
        """Return the CRC-32 of the graph and of how it is walked."""
        assert self.walker
        how, value = np.array([*self.walker.rounds, *self.walker.bias]), 0
        for array in (*self.walker.arcs[:3], self.walker.words, how):
            value = zlib.crc32(array.data, value)
        return value

    def text(self) -> Chunks:
        """Return the chunks: the words of each are those that are expected."""
        walker, lengths = self.walker, self.lengths
        assert walker
        assert lengths is not None
        size, nodes = walker.rounds.per_chunk, len(lengths)
        sums = np.concatenate([[0.0], np.cumsum(lengths)])
        ends = np.minimum(np.arange(walker.chunks + 1) * size, walker.rounds.walks)
        before = ends // nodes * sums[-1] + sums[ends % nodes]
        words = np.maximum(1, np.rint(np.diff(before))).astype(np.int64)
        most = min(walker.chunks, SAMPLE_CHUNKS, SAMPLE_ENTRIES // (size * walker.rounds.length))
        sampled = np.unique(np.linspace(0, walker.chunks - 1, most).astype(np.int64))
        tokens, _ = walker.walk(sampled, SAMPLE_EPOCH)
        return WalkChunks(
            tokens, np.empty(0, np.int64), words, self.vocabulary.counts, walker.rounds.length, walker=walker
        )


class Walks(Generator):
    """Random walks over a graph: a corpus for `w2vtrain.train`, in which nodes are words.

    Training generates the walks of a chunk when it trains on it, so none is stored, and each epoch has new walks. Every
    node has a vector, also one without edges. Iterating yields walks, as lists of names, for other programs.

    Parameters
    ----------
    graph : str, path, list of these, sparse matrix, graph of networkx or igraph, or frame
        Files of edges: each line has two nodes and optionally a weight, separated by white space, commas or tabs; or
        tables (CSV, TSV, JSON lines, Parquet, Arrow) with the columns source, target and optionally weight. The weights
        of parallel edges are added. Or a matrix of scipy.sparse, where entry (i, j) is the weight of the arc
        from node i to node j; a graph of networkx or igraph (edge attribute `weight`); or a data frame with the same
        columns.
    walk_length : int, default 80
        Nodes per walk. A walk ends early at a node without outgoing edges.
    walks : int, default 10
        Walks from each node per epoch.
    p, q : float, default 1
        node2vec's parameters: p divides the probability of a step back to the previous node, and q that of a step to a
        node that the previous node has no edge to.
    directed : bool, default False
        Whether edges of files and frames lead only from the first node to the second. Graph objects know this
        themselves.
    names : sequence of str, optional
        Names of the nodes of a matrix, by default their indices.
    seed : int, default 1
        Seed of the walks that are iterated over. Those of training depend on the seed of training.
    threads : int or "auto", default 1
        Threads that generate the walks that are read as text. Their number changes no walk.

    Examples
    --------
    >>> import w2vtrain
    >>> import pandas
    >>> edges = pandas.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "a"]})
    >>> next(iter(w2vtrain.Walks(edges, walk_length=4, directed=True)))
    ['a', 'b', 'c', 'a']
    >>> model = w2vtrain.train(w2vtrain.Walks(edges), vector_size=10, sample=0, epochs=1)
    >>> sorted(model.words)
    ['a', 'b', 'c']

    """

    errors = "strict"
    rate_factor, architecture = RATE_FACTOR, None
    phrases: "PhraseTable | None" = None

    def __init__(
        self, graph: Any, *, walk_length: int = 80, walks: int = 10, p: float = 1.0, q: float = 1.0,
        directed: bool = False, names: Sequence[str] | None = None, seed: int = 1, threads: int | str = 1,
    ) -> None:  # fmt: skip
        def checked(name: str, value: Any) -> Any:
            try:
                return PARSERS[name].parse(value)
            except ValueError as error:
                raise InvalidValue(f"{name}: {error}, got {shown(value)}") from None

        self.walk_length: int = checked("walk_length", walk_length)
        self.walks: int = checked("walks", walks)
        self.p, self.q, self.seed = checked("p", p), checked("q", q), checked("seed", seed)
        self.directed: bool = checked("directed", directed)
        self.threads = threads_of(checked("threads", threads))[0]
        if names is not None and not hasattr(graph, "tocoo"):
            raise InvalidType("names: has no effect except with a matrix: leave it out")
        paths = [graph] if isinstance(graph, str | PathLike) else graph
        is_read = isinstance(paths, list | tuple) and all(isinstance(path, str | PathLike) for path in paths)
        self._corpus = Corpus([fspath(path) for path in paths], options=False) if is_read else None
        self._given = None if is_read else graph_of(graph, self.directed, names)

    @cached_property
    def graph(self) -> Graph:
        """The graph, which is read when it is first used. Raise DataError for lines that are no edges."""
        if self._corpus:
            self._corpus = Corpus([file.path for file in self._corpus.files], options=False)  # with their sizes now
            return read_edges(self._corpus, self.directed)
        assert self._given
        return self._given

    @property
    def files(self) -> Sequence[File]:
        """The files of edges, if any."""
        return self._corpus.files if self._corpus else ()

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._corpus.name if self._corpus else "the graph"

    @property
    def size(self) -> int | None:
        """None: the size of the walks as text is unknown."""
        return None

    def walker(self, words: Nodes, seed: int) -> Walker:
        """Return what generates walks over nodes that are these words (N,)."""
        back, far = 1 / self.p, 1 / self.q
        bias = Bias(back, far, not back == far == 1)
        per_chunk = -(-CHUNK_WORDS // self.walk_length)
        rounds = Rounds(self.walk_length, len(words) * self.walks, per_chunk)
        return Walker(self.graph.arcs, bias, rounds, words, seed)

    def check(self, inputs: Inputs, settings: Settings) -> None:
        """Raise ConfigError for settings that have no effect, words other than the nodes, and an objective that needs a
        stored text. `min_count` drops no node.
        """
        if objective_class(settings.objective).needs_text:
            raise ConfigError(
                f"objective: {settings.objective} needs a stored text, and walks over a graph are not stored; choose"
                " another, such as sampled-softmax"
            )
        own = {name: FIELDS[name].default for name in WITHOUT_EFFECT} | (inputs.start.settings if inputs.start else {})
        if settings.min_count == 1:  # it drops no node, either
            own["min_count"] = 1
        if unused := [name for name in WITHOUT_EFFECT if getattr(settings, name) != own[name]]:
            raise ConfigError(f"{label(unused[0])}: has no effect on walks over a graph; leave it out")
        if inputs.grow and inputs.start and inputs.start.model:
            raise ConfigError(f"{label('grow_vocabulary')}: the words are the nodes of the graph; leave it out")

    def generated(self, settings: Settings, folder: Path | None = None, progress: OnRead | None = None) -> WalkCorpus:
        """Return the corpus.

        The count of a node, which noise and subsampling use, is the number of `visits` that are expected per epoch.
        """
        names, nodes = self.graph.names, len(self.graph.names)
        numbers = np.arange(nodes, dtype=np.int32)
        counts = np.rint(self.walks * self.visits()).astype(np.int64)
        order = by_count(names, counts)
        words = np.empty(nodes, np.int32)
        words[order] = numbers
        lengths = self.lengths()
        vocabulary = Vocabulary([names[i] for i in order.tolist()], counts[order])
        total, count = round(self.walks * lengths.sum()), self.walks * nodes
        size = sum(file.size or 0 for file in self.files)
        stats = CorpusStats(len(self.files), size, 0, count, total, nodes, 0, 0, 0, 0, 0, 0, count)
        walker = self.walker(words, settings.seed)
        return WalkCorpus(np.empty(0, np.int32), vocabulary, total, stats, walker=walker, lengths=lengths)

    def lengths(self) -> Floats:
        """Return the expected nodes of a walk from each node, (N,), computed as `visits` are."""
        arcs, lengths = self.graph.arcs, np.ones(len(self.graph.names))
        if np.diff(arcs.starts).all():
            return self.walk_length * lengths
        after = np.empty_like(lengths)
        for _ in range(1, self.walk_length):
            pull(arcs, lengths, after)
            lengths = 1 + after
        return lengths

    def visits(self) -> Floats:
        """Return how often walks, one from each node, are expected at each node, (N,).

        This is the sum over all steps of the distribution of the walks after the step. It is exact for p = q = 1, and
        taken for others, too: on Cora, with p = 0.5 and q = 2, it then moves 3% of the visits to other nodes, where
        counts of one walk from each node move 8%.
        """
        at = np.ones(len(self.graph.names))
        visits, after = at.copy(), np.empty_like(at)
        for step in range(1, self.walk_length):
            push(self.graph.arcs, at, after)
            visits += after
            if np.abs(after - at).max() < CONVERGED:
                return visits + (self.walk_length - step - 1) * after
            at, after = after, at
        return visits

    def read(self) -> BlocksInMemory:
        """Start a pass over the walks of one epoch as text: those that the first epoch of training has, too."""
        letters = self.tokens_of(self.graph.names)
        sizes = np.array([len(name) for name in letters], np.int64)
        ends, text = np.concatenate([[0], np.cumsum(sizes)]), np.frombuffer(b"".join(letters), np.uint8)

        def spelled(tokens: Nodes) -> bytes:
            known = tokens[tokens >= 0]
            out = np.empty(int(sizes[known].sum()) + len(known), np.uint8)
            return out[: spell(tokens, ends, text, out)].tobytes()

        walker = self.walker(np.arange(len(sizes), dtype=np.int32), self.seed)
        return BlocksInMemory(walker.slices(spelled, 0, walker.chunks, self.threads))

    def tokens_of(self, words: Sequence[str]) -> list[bytes]:
        """Return the token of each node: see `Sentences`."""
        return Sentences(()).tokens_of(words)

    def words_of(self, tokens: list[bytes]) -> list[bytes]:
        """Return the node of each token."""
        return Sentences(()).words_of(tokens)

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the walks that `read` has as text."""
        names = self.graph.names
        walker = self.walker(np.arange(len(names), dtype=np.int32), self.seed)
        for tokens in walker.slices(lambda ids: ids, 0, walker.chunks, 0):
            for walk in np.split(tokens, np.flatnonzero(tokens < 0) + 1)[:-1]:
                yield [names[node] for node in walk[:-1].tolist()]
