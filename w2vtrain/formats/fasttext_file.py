"""The model files of fastText (.bin): read as memory maps, and written for its program and for gensim.

Quantized models (.ftz) and classifiers are not read. Bojanowski, Grave, Joulin & Mikolov 2017, "Enriching word vectors
with subword information".
"""

import mmap
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.config import MAX_WINDOW, WHOLE_SENTENCE
from w2vtrain.errors import DataError, InputMissing, TruncatedFile, reason
from w2vtrain.formats.model_file import DOCUMENTS, INPUT_ROWS, NGRAM_BUCKETS, OTHER_TREE, ModelParts
from w2vtrain.formats.safetensors import encode_words, first_not_finite, row_blocks, row_slices, write_values
from w2vtrain.formats.subwords import Ngrams, NgramVectors, Subwords
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, VectorReader, Vectors
from w2vtrain.system.files import Claim, atomic_write

NAME = "fasttext"
MAGIC, VERSION, VERSIONS = 793_712_314, 12, (11, 12)
START = struct.Struct("<2i12id")
"""The magic number, the version and the arguments, see Arguments."""
OLD, OLD_SIZES, OLD_SHAPE = struct.Struct("<12id"), struct.Struct("<3iq"), struct.Struct("<2q")
"""What files of 2016 have in place of START, SIZES and SHAPE."""
SIZES = struct.Struct("<3i2q")
"""The numbers of entries, words and labels (int32), of words in the text and of entries of a pruned index (int64)."""
ENTRY = struct.Struct("<qb")
"""After each word and a zero byte: its count, and 0 for a word or 1 for a label."""
SHAPE = struct.Struct("<?2q")
"""Before each matrix: whether it is quantized, and its numbers of rows and columns."""
HS, NS, SOFTMAX, CLASSIFIER = 1, 2, 3, 3
ARCHITECTURES, OBJECTIVES = {1: "cbow", 2: "skipgram"}, {HS: "hs", NS: "neg", SOFTMAX: "softmax", 4: "neg"}
MAX_DIM = 100_000
NGRAMS_PER_BYTE, FEW_NGRAMS = 10, 1 << 22
"""How many n-grams the words of a file may have per byte of the file, and how many those of any file. In a model of 100
dimensions, a word takes 800 bytes and has some 30."""


class Unsupported(DataError, NotImplementedError):
    """Raised for classifiers and quantized models; also a NotImplementedError, which gensim raises."""


class Arguments(NamedTuple):
    """The arguments that a file of fastText stores, by fastText's names, in its order."""

    dim: int
    ws: int = 5
    epoch: int = 5
    minCount: int = 5  # noqa: N815
    neg: int = 5
    wordNgrams: int = 1  # noqa: N815
    loss: int = NS
    model: int = 2
    bucket: int = 0
    minn: int = 0
    maxn: int = 0
    lrUpdateRate: int = 100  # noqa: N815
    t: float = 1e-4


class FastTextModel(NamedTuple):
    """The parts of a file: V words and their counts, the input rows (V + bucket, d), the output rows (V, d)."""

    path: str
    arguments: Arguments
    words: list[str]
    counts: NDArray[np.int64]
    rows: NDArray[np.float32]
    output: NDArray[np.float32]

    @property
    def ngrams(self) -> Ngrams | None:
        """Which n-grams words have; None if they have none."""
        a = self.arguments
        return Ngrams(max(1, a.minn), a.maxn, a.bucket) if a.maxn > 0 and a.bucket > 0 else None

    def vectors(self, limit: int | None = None) -> NDArray[np.float32]:
        """Return the vectors of the first `limit` words, composed of their rows. Raise DataError if one overflows."""
        words = self.words[:limit]
        if self.ngrams is None:
            vectors = np.array(self.rows[: len(words)])
        else:
            subwords = Subwords.of(words, self.ngrams, np.arange(self.ngrams.bucket, dtype=np.int32))
            subwords.rows[subwords.rows >= len(words)] += len(self.words) - len(words)
            vectors = subwords.vectors(self.rows)
        if (bad := first_not_finite(vectors)) is not None:
            raise DataError(f"{self.path}: the vector of {words[bad]!r} (row {bad}) is too large for float32")
        return vectors

    def used_rows(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Return the input rows without those of buckets that are zero and have no n-gram of a word, and the buckets.

        Those of a file that w2vtrain wrote are often few. If half or more are used, all are returned: a view of the
        file takes less memory than a copy.
        """
        assert self.ngrams
        own, others = np.split(self.rows, [len(self.words)])
        used = np.concatenate([others[rows].any(axis=1) for rows in row_blocks(others)])
        used[self.ngrams.buckets(self.words)[1]] = True
        if 2 * np.count_nonzero(used) >= len(used):
            return self.rows, np.arange(len(used), dtype=np.int32)
        return np.concatenate([own, others[used]]), np.flatnonzero(used).astype(np.int32)

    def settings(self) -> dict[str, Any]:
        """Return the settings of a run that would train such a model."""
        a, objective = self.arguments, OBJECTIVES[self.arguments.loss]
        return {
            "architecture": ARCHITECTURES[a.model], "objective": objective, "vector_size": a.dim,
            "window": max(1, a.ws), "epochs": max(1, a.epoch), "min_count": max(1, a.minCount),
            "sample": min(1.0, max(0.0, a.t)),
            **({"options": {"negative": max(1, a.neg)}} if objective == "neg" else {}),
            **({"subwords": True, **self.ngrams._asdict()} if self.ngrams else {}),
        }  # fmt: skip


def _sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim files that begin with the magic number, or with the arguments alone, as in 2016."""
    return Promise() if head[:4] == struct.pack("<i", MAGIC) or _is_old(head) else None


def _is_old(head: bytes) -> bool:
    """Return whether a file begins with arguments that fastText can have; those of text would be far too large."""
    if len(head) < OLD.size:
        return False
    a = Arguments(*OLD.unpack_from(head))
    in_range = max(a.ws, a.epoch, a.neg, a.wordNgrams, a.lrUpdateRate, a.dim) <= MAX_DIM and min(a[:-1]) >= 0
    return in_range and a.loss in OBJECTIVES and 0 < a.model <= CLASSIFIER and 0 <= a.t <= 1 and a.dim > 0


def read_fasttext(path: str | Path, values: bool = True) -> FastTextModel:
    """Read a model. The matrices are read-only maps of the file, so that only the rows in use take memory.

    values: whether to check that all values are finite, for which the whole file is read.

    Raise DataError if it is not an unquantized model of word vectors, or damaged; InputMissing if it cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise InputMissing(f"{path} cannot be opened: {reason(error)}") from error
    return _Parser(str(path), data, values).model()


QUANTIZED_MODEL = "a quantized model of fastText (.ftz) has lost its vectors; use the .bin file"


class _Parser:
    """Reads one part of a file after the other; every size is compared with what is left before it is used."""

    def __init__(self, path: str, data: mmap.mmap, values: bool) -> None:
        self.path, self.data, self.values, self.at, self.old = path, data, values, 0, False

    def error(self, why: str, kind: type[DataError] = DataError) -> DataError:
        return kind(f"{self.path}, byte {self.at:,}: {why}")

    def unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        self.need(form.size)
        values = form.unpack_from(self.data, self.at)
        self.at += form.size
        return values

    def need(self, size: int) -> None:
        if size > len(self.data) - self.at:
            raise self.error(f"the file ends after {len(self.data):,} bytes", TruncatedFile)

    def model(self) -> FastTextModel:
        self.old = _is_old(self.data[: OLD.size])
        values: Sequence[Any]
        if self.old:
            values = self.unpack(OLD)
        else:
            _, version, *values = self.unpack(START)
            if version not in VERSIONS:
                raise self.error(f"version {version} of fastText's format; {VERSIONS[0]} and {VERSIONS[1]} are read")
        arguments = Arguments(*values)
        self.check(arguments)
        words, counts = self.vocabulary(arguments)
        rows = self.matrix("input", len(words) + arguments.bucket, arguments.dim)
        output = self.matrix("output", len(words), arguments.dim)
        if self.at < len(self.data):
            raise self.error(f"{len(self.data) - self.at:,} bytes more than the model needs")
        return FastTextModel(self.path, arguments, words, counts, rows, output)

    def check(self, a: Arguments) -> None:
        if a.model == CLASSIFIER:
            raise self.error("a classifier of fastText (supervised): only models of word vectors are read", Unsupported)
        if a.model not in ARCHITECTURES or a.loss not in OBJECTIVES:
            raise self.error(f"model {a.model} and loss {a.loss} are not among fastText's")
        if not 0 < a.dim <= MAX_DIM or a.bucket < 0 or a.maxn < 0 or (a.maxn and a.minn > a.maxn):
            raise self.error(f"dim {a.dim}, bucket {a.bucket}, minn {a.minn}, maxn {a.maxn} are not possible together")

    def vocabulary(self, arguments: Arguments) -> tuple[list[str], NDArray[np.int64]]:
        """Read the words and, after them, the labels: words of the text that begin with __label__ and have no rows."""
        entries, words, labels, _, pruned = (*self.unpack(OLD_SIZES), -1) if self.old else self.unpack(SIZES)
        if pruned >= 0:
            raise self.error(QUANTIZED_MODEL, Unsupported)
        if words < 1 or labels < 0 or entries != words + labels:
            raise self.error(f"{entries:,} entries, {words:,} words and {labels:,} labels are not possible together")
        self.need(entries * (ENTRY.size + 1))
        names, counts = [], np.empty(words, np.int64)
        longest, first = 0, self.at
        for i in range(entries):
            end = self.data.find(b"\0", self.at)
            if end < 0:
                raise self.error(f"the file ends inside word {i + 1:,}", TruncatedFile)
            # Published vectors, such as those of Korean, have words that end within a character.
            name, longest = self.data[self.at : end].decode(errors="backslashreplace"), max(longest, end - self.at)
            self.at = end + 1
            count, kind = self.unpack(ENTRY)
            if kind != (i >= words) or count < 0:
                raise self.error(f"the entry of word {i + 1:,} ({name[:60]!r}, count {count}) is damaged")
            if i < words:
                names.append(name)
                counts[i] = count
        if len(set(names)) != words:
            raise self.error("a word occurs twice")
        # Refuse words that have far more n-grams than any real ones. size: bytes of all words with < and >.
        minn, maxn, size = arguments.minn, arguments.maxn, self.at - first - (ENTRY.size - 1) * entries
        if size * (min(maxn, longest + 2) - max(1, minn) + 1) > FEW_NGRAMS + NGRAMS_PER_BYTE * len(self.data):
            raise self.error(f"words of {longest:,} bytes have too many n-grams of up to {maxn:,} characters")
        return names, counts

    def matrix(self, name: str, rows: int, dim: int) -> NDArray[np.float32]:
        quantized, m, n = (False, *self.unpack(OLD_SHAPE)) if self.old else self.unpack(SHAPE)
        if quantized:
            raise self.error(QUANTIZED_MODEL, Unsupported)
        if (m, n) != (rows, dim):
            raise self.error(f"{name} has {m:,} x {n:,} values; expected {rows:,} x {dim:,}")
        self.need(4 * m * n)
        matrix: NDArray[np.float32] = np.frombuffer(self.data, "<f4", m * n, self.at).reshape(m, n)
        if self.values and (bad := first_not_finite(matrix)) is not None:
            self.at += 4 * n * bad
            raise self.error(f"row {bad} of {name} is not finite")
        self.at += 4 * m * n
        return matrix


def _read_vectors(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read words, their counts and vectors, and the vectors of n-grams."""
    model = read_fasttext(path)
    ngrams = NgramVectors(model.ngrams, model.rows[len(model.words) :]) if model.ngrams else None
    words, vectors = model.words[:limit], model.vectors(limit)
    return Vectors(words, vectors, NAME, counts=model.counts[:limit], ngrams=ngrams)


READER = VectorReader(NAME, _sniff, _read_vectors)


def read_parts(path: str | Path) -> ModelParts:
    """Read a model with its settings; the matrices are read-only maps of the file. The errors: see `read_fasttext`."""
    model = read_fasttext(path)
    arrays: dict[str, NDArray[Any]] = {}
    if model.ngrams:
        arrays[INPUT_ROWS], arrays[NGRAM_BUCKETS] = model.used_rows()
    # fastText's probability of a turn is that of code 1, ours of code 0.
    output = -model.output[:-1] if model.arguments.loss == HS else model.output
    record = {"vectors": "in", NAME: model.arguments._asdict()}
    matrices = model.vectors(), output
    return ModelParts(model.words, model.counts, *matrices, arrays, model.settings(), record, str(path))


def write_parts(path: str | Path, model: ModelParts, force: bool = False, claim: Claim | None = None) -> None:
    """Write a model that `check_parts` has accepted.

    The errors are those of `write_fasttext`; DataError, too, for a model of documents, whose vectors would be lost.
    """
    if DOCUMENTS in model.arrays:
        raise DataError(f"{path}: fastText's format has no vectors of documents; choose another")
    V, d = model.input.shape
    ngrams = model._ngrams("in")
    arguments = arguments_of(model.settings, d, ngrams.ngrams if ngrams else None)
    own = model._own_rows(ngrams) if ngrams else model.input
    output, trained = np.zeros((V, d), np.float32), model.output
    if model.settings.get("objective") == "hs-neg":
        trained = trained[V - 1 :]  # the words: the format has one loss, and no rows for the nodes before them
    if arguments.loss == HS and trained.shape == (V - 1, d) and _is_huffman(model):
        output[: V - 1] = -trained  # as in `read_parts`
    elif arguments.loss != HS and trained.shape == (V, d):
        output[:] = trained
    matrices = own, ngrams or NgramVectors.empty(Ngrams(), d), output
    write_fasttext(path, arguments, model.words, model.counts, matrices, force, claim)


def _is_huffman(model: ModelParts) -> bool:
    """Return whether the tree of a model for hs is Huffman's, which fastText builds from the counts."""
    options = {"tree": ""} if OTHER_TREE in model.record else model.settings.get("options")
    return not isinstance(options, dict) or options.get("tree", "huffman") == "huffman"


def arguments_of(settings: Mapping[str, Any], dim: int, ngrams: Ngrams | None) -> Arguments:
    """Return fastText's arguments for a model with these settings, which may come from any file.

    A setting that is missing, or no possible argument, gets fastText's default.
    """
    arguments, options = {}, settings.get("options")
    given = {**(options if isinstance(options, Mapping) else {}), **settings}
    for name, ours in (("ws", "window"), ("epoch", "epochs"), ("minCount", "min_count"), ("neg", "negative")):
        value = MAX_WINDOW if given.get(ours) == WHOLE_SENTENCE else given.get(ours)
        if isinstance(value, int) and value >= 0:
            arguments[name] = min(value, MAX_WINDOW)
    sample = given.get("sample")
    if given.get("objective") == OBJECTIVES[HS]:
        arguments["neg"] = 0  # gensim would train by negative sampling, too
    return Arguments(
        dim,
        **arguments,
        **(ngrams._asdict() if ngrams else {}),
        loss=next((loss for loss, name in OBJECTIVES.items() if name == given.get("objective")), NS),
        model=2 if given.get("architecture") == ARCHITECTURES[2] else 1,
        t=float(sample) if isinstance(sample, int | float) and 0 <= sample <= 1 else 1e-4,
    )


def write_fasttext(
    path: str | Path, arguments: Arguments, words: Sequence[str], counts: NDArray[np.int64],
    matrices: tuple[NDArray[np.float32], NgramVectors, NDArray[np.float32]],
    force: bool = False, claim: Claim | None = None,
) -> None:  # fmt: skip
    """Write a model. Buckets without a row are zeros.

    matrices: the own rows (V, d) of the words, those of n-grams, and the output rows (V, d). Raise DataError if a word
    is empty, occurs twice or contains ASCII white space, and OutputError and WriteError as `atomic_write`.
    """
    (own, ngrams, output), V, d = matrices, len(words), arguments.dim
    counts = np.maximum(counts, 1)  # gensim leaves out words of count 0, and then cannot read the vectors
    names = encode_words(words, path).split(b"\n")
    if bad := next((word for word in words if "\0" in word), None):
        raise DataError(f"{path}: the word {bad!r} contains a NUL byte, which ends a word in fastText's format")
    size = 4 * d * (2 * V + arguments.bucket) + sum(map(len, names)) + V * (ENTRY.size + 1)
    with atomic_write(path, force, size, claim) as file:
        file.write(START.pack(MAGIC, VERSION, *arguments))
        file.write(SIZES.pack(V, V, 0, int(counts.sum()), -1))
        entries = (b"%b\0%b" % (name, ENTRY.pack(count, 0)) for name, count in zip(names, counts.tolist(), strict=True))
        file.write(b"".join(entries))
        file.write(SHAPE.pack(False, V + arguments.bucket, d))
        write_values(file, own)
        order = np.argsort(ngrams.row_buckets)
        ascending = ngrams.row_buckets[order]
        for some in row_slices(arguments.bucket, d):
            known = slice(*np.searchsorted(ascending, [some.start, some.stop]))
            block = np.zeros((some.stop - some.start, d), np.float32)
            block[ascending[known] - some.start] = ngrams.matrix[order[known]]
            write_values(file, block)
        file.write(SHAPE.pack(False, V, d))
        write_values(file, output)
