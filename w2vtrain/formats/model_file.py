"""The file formats of models and of KeyedVectors: the tensors and metadata of each kind of safetensors file.

embeddings/model.py saves models. Keys and attributes that are objects are stored as JSON; nothing is ever unpickled.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, InputMissing, InvalidType, InvalidValue, MalformedFile, shown
from w2vtrain.formats.safetensors import (
    SafetensorsFile,
    decode_words,
    first_not_finite,
    open_safetensors,
    write_safetensors,
)
from w2vtrain.formats.subwords import Ngrams, NgramVectors, Subwords
from w2vtrain.formats.transforms import EXPORTS, LazyRows, exported
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, VectorReader, Vectors
from w2vtrain.formats.vector_formats.rows import REPAIR
from w2vtrain.system.json_text import json_object, json_text

INPUT_ROWS, NGRAM_BUCKETS = "input_rows", "ngram_buckets"
"""Names of the tensors of a model with subwords: see `ngram_vectors`."""
DOCUMENTS, DOCUMENT_TAGS = "documents", "document_tags"
"""Names of the tensors of a model of documents: the vectors of tags (T, d), and the tags, as "words" has words."""
MODEL_TENSORS = ("words", "counts", "input", "output")
"""Names of the tensors that every model has; all other tensors belong to the model's objective."""
UNRECORDED_OUTPUT_SHARE = 0.4
"""The share of output vectors in the blends of a model whose record does not name one."""
OTHER_TREE = "other_tree"
"""The entry in the record of a model whose words have another tree than follows from their counts."""
KIND = "keyed vectors"
"""The metadata "kind" of a file of KeyedVectors; models have none."""
HEADER_KIND = f'"kind":"{KIND}"'.encode()
"""KIND as written in the header of the file, whose JSON has no white space."""
NUMERIC_PREFIX, OBJECT_PREFIX = "attribute.", "objects."
"""What the names of the tensors of attributes begin with in a file of KeyedVectors."""
NGRAMS = ("ngrams.rows", "ngrams.buckets", "ngrams.sizes")
"""The tensors of n-grams in a file of KeyedVectors: rows, their buckets, and (minn, maxn, bucket)."""
KeyedArrays = tuple[list[Any], NDArray[Any], dict[str, NDArray[Any]], NgramVectors | None]
"""Keys, vectors (V, d), attributes (V,) by name, and the vectors of n-grams."""


@dataclass(frozen=True, eq=False, repr=False)
class ModelParts:
    """What every reader of models returns; `embeddings.model.Model` describes the parts."""

    words: list[str]
    counts: NDArray[np.int64]
    input: NDArray[np.float32]
    output: NDArray[np.float32]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    name: str = "the model"

    def _exported(self, export: str = "auto") -> NDArray[np.float32] | LazyRows:
        """Return the vectors of words that an --export names, without a copy. The errors are those of `exported`."""
        return exported(self.input, self.output, *choose_vectors(self.record, export), self.name)

    def _ngrams(self, export: str = "auto") -> NgramVectors | None:
        """Return the vectors of n-grams, unless `_exported` returns others than those that n-grams compose."""
        is_composed = choose_vectors(self.record, export)[0] == "in"
        return ngram_vectors(self.settings, self.arrays, *self.input.shape, where=self.name) if is_composed else None

    def _own_rows(self, ngrams: NgramVectors) -> NDArray[np.float32]:
        """Return the own rows (V, d) of the words, which yield `input` with `ngrams`, even if it was changed."""
        subwords = Subwords.of(self.words, ngrams.ngrams, ngrams.row_buckets, self.name)
        return subwords.own_rows(self.input, self.arrays[INPUT_ROWS])


def read_model(path: str | Path, vectors_only: bool = False) -> ModelParts:
    """Read a model file, and check all that later code relies on.

    vectors_only: leave out the arrays, and the output vectors if the record names the input vectors. Raise InputMissing
    if the file cannot be opened, and DataError if it is not a valid model of this format version.
    """
    with open_safetensors(path) as box:
        settings, record = settings_and_record(box)
        wanted = {INPUT_ROWS, NGRAM_BUCKETS} if vectors_only else set(box.names) - set(MODEL_TENSORS)
        words = decode_words(box.array("words", "U8", 1).tobytes(), path)
        counts, rows = box.array("counts", "I64", 1), box.array("input", "F32", 2)
        has_output = not vectors_only or choose_vectors(record)[0] != "in"
        output = box.array("output", "F32", 2) if has_output else rows[:0]
        arrays = {name: box.array(name) for name in box.names if name in wanted}
    model = ModelParts(words, counts, rows, output, arrays, settings, record, str(path))
    try:
        check_parts(model, path)
    except DataError as error:
        raise DataError(f"{error}: the file is damaged; train the model again") from error
    return model


def document_tags(path: str | Path) -> list[str]:
    """Return the tags of documents in a model file; none if it has none or cannot be read. Nothing else is read."""
    try:
        with open_safetensors(path) as box:
            letters = box.array(DOCUMENT_TAGS, "U8", 1)
        return decode_words(letters.tobytes(), path)
    except (DataError, InputMissing):
        return []


def check_counts(words: Sequence[str], counts: NDArray[np.int64], where: str | Path) -> None:
    """Raise DataError if a count (V,) of V words is negative."""
    if counts.min() < 0:
        raise DataError(f"{where}: the count of {words[int(counts.argmin())]!r} is negative")


def check_parts(model: ModelParts, where: str | Path) -> None:
    """Raise DataError if the parts of a model do not match or a value cannot come from training."""
    V = len(model.words)
    for name, array, dtype, rank in (
        ("counts", model.counts, np.int64, 1),
        ("input", model.input, np.float32, 2),
        ("output", model.output, np.float32, 2),
    ):
        if array.ndim != rank or array.dtype != dtype:
            raise DataError(f"{where}: {name} has dtype {array.dtype} and shape {list(array.shape)}")
    if V == 0 or len(model.counts) != V or len(model.input) != V:
        raise DataError(
            f"{where}: {V:,} words, {len(model.counts):,} counts and {len(model.input):,} vectors:"
            " these must be equal and more than 0"
        )
    dims = model.input.shape[1], model.output.shape[1]
    if 0 in dims or dims[1] % dims[0]:  # an architecture may concatenate input vectors
        raise DataError(
            f"{where}: input vectors of {dims[0]} values and output vectors of {dims[1]}: these must be equal, or a"
            " multiple, and more than 0"
        )
    check_counts(model.words, model.counts, where)
    finite = {"input": model.input, "output": model.output}
    if ngram_vectors(model.settings, model.arrays, *model.input.shape, where=where):
        finite[INPUT_ROWS] = model.arrays[INPUT_ROWS]
    for name, matrix in finite.items():
        if (bad := first_not_finite(matrix)) is not None:
            raise DataError(f"{where}: row {bad} of {name} is not finite")
    for name in sorted(model.arrays.keys() - finite):
        # -inf, the logarithm of a zero probability, is valid
        array, rows = model.arrays[name], np.atleast_1d(model.arrays[name])
        if array.dtype.kind == "f" and any(np.isnan(rows[i : i + 4096]).any() for i in range(0, len(rows), 4096)):
            raise DataError(f"{where}: the array {name} contains NaN")


def settings_and_record(box: SafetensorsFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a model's settings and record, after checking the format number, on which their meaning depends."""
    box.check_format()
    parsed = []
    if "run" in box.metadata:
        raise DataError(
            f"{box.path}: is a checkpoint of a run: use `w2vtrain export RUN -o FILE`, with the folder RUN of the run"
        )
    for name in ("settings", "record"):
        if name not in box.metadata:
            raise DataError(f"{box.path}: the model has no {name}")
        parsed.append(json_object(box.metadata[name], f"{box.path}: the model's {name}:"))
    parsed[0].pop("stall_timeout", None)  # a setting that models of earlier versions have
    return parsed[0], parsed[1]


def choose_vectors(record: dict[str, Any], export: str = "auto") -> tuple[str, float]:
    """Return which vectors of a model to export, and the share of output vectors in blends, as `exported` takes them.

    "auto" is what `fit` wrote, as the record says, "in" if it does not; the share is
    UNRECORDED_OUTPUT_SHARE if it does not.
    """
    which, share = record.get("vectors"), record.get("blend_share")
    if export == "auto":
        export = str(which) if which in EXPORTS else "in"
    return export, float(share) if isinstance(share, int | float) and 0 <= share <= 1 else UNRECORDED_OUTPUT_SHARE


def ngram_vectors(
    settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], words: int, dim: int, *,
    where: str | Path = "the model",
) -> NgramVectors | None:  # fmt: skip
    """Return the n-gram vectors of a model of V words and d dimensions, None if it was trained without subwords.

    input_rows (V + B, d) float32: the rows of words, then those of n-grams; ngram_buckets (B,) int32: the buckets of
    the latter. Raise MalformedFile, starting with `where`, if they or the settings are invalid.
    """
    if not settings.get("subwords"):
        return None

    def damaged(why: str) -> MalformedFile:
        return MalformedFile(f"{where}: its n-grams are damaged: {why}")

    ngrams = Ngrams._make(settings.get(name, 0) for name in Ngrams._fields)
    rows, buckets = arrays.get(INPUT_ROWS, np.empty(0)), arrays.get(NGRAM_BUCKETS, np.empty(0))
    if any(not isinstance(value, int) or not 0 <= value < 1 << 31 for value in ngrams) or ngrams.minn < 1:
        raise damaged("minn, maxn or bucket is invalid")
    if ngrams.minn > ngrams.maxn and buckets.size:
        raise damaged(f"there are no n-grams of {ngrams.minn} to {ngrams.maxn} characters, but rows for them")
    if rows.shape != (words + buckets.size, dim) or rows.dtype != np.float32:
        raise damaged(f"{INPUT_ROWS} has shape {list(rows.shape)}")
    if buckets.dtype != np.int32 or buckets.ndim != 1 or len(np.unique(buckets)) != len(buckets):
        raise damaged(f"{NGRAM_BUCKETS} are not distinct numbers")
    if len(buckets) and not 0 <= buckets.min() <= buckets.max() < ngrams.bucket:
        raise damaged(f"{NGRAM_BUCKETS} are not numbers below {ngrams.bucket:,}")
    return NgramVectors(ngrams, rows[words:], buckets)


def save_keys(
    path: str | Path, keys: Sequence[Any], vectors: NDArray[Any], attributes: dict[str, NDArray[Any]],
    ngrams: NgramVectors | None = None,
) -> None:  # fmt: skip
    """Write keys, their vectors, which may be a strided view, and their attributes, completely or not at all.

    Raise InvalidType if JSON cannot represent a key or an attribute, InvalidValue if a key occurs twice, OutputError if
    the file cannot be created and WriteError if it cannot be written.
    """
    if strange := [key for key in keys if not isinstance(key, str | int | np.integer) or isinstance(key, bool)]:
        raise InvalidType(f"{path}: the key {strange[0]!r} is neither a string nor an integer, so it cannot be saved")
    if len(set(keys)) < len(keys):
        twice = next(key for key, count in Counter(keys).items() if count > 1)
        raise InvalidValue(f"{path}: the key {twice!r} occurs twice: keys must be distinct")
    tensors = {"vectors": vectors, "keys": _json_tensor(keys)}
    for name, values in attributes.items():
        if values.dtype.kind != "O":
            tensors[NUMERIC_PREFIX + name] = values
            continue
        try:
            tensors[OBJECT_PREFIX + name] = _json_tensor(values.tolist())
        except TypeError as error:
            raise InvalidType(f"{path}: the attribute {name!r} has {error}, which JSON cannot represent") from error
    if ngrams is not None:
        parts = np.asarray(ngrams.matrix), ngrams.row_buckets, np.array(ngrams.ngrams, np.int64)
        tensors |= dict(zip(NGRAMS, parts, strict=True))
    write_safetensors(path, tensors, {"kind": KIND}, force=True)


def _json_tensor(values: Sequence[Any]) -> NDArray[np.uint8]:
    return np.frombuffer(json_text(_plain(values)).encode(), np.uint8)


def _plain(value: Any) -> Any:
    """Return arrays and sequences as lists. Raise TypeError for what JSON would change, such as dates and NaN."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {name: _plain(item) for name, item in value.items()}
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise TypeError(shown(value))


def read_keyed(path: str | Path, mmap: str | None = None) -> KeyedArrays:
    """Read the keys, vectors and attributes of a file of KeyedVectors. Raise DataError if they are invalid.

    Keys that occur twice are for callers to find: a dictionary of the keys, which most of them need, shows it.

    mmap: None, or the mode in which vectors are mapped instead of read ("r", "r+" or "c").
    """
    with open_safetensors(path) as box:
        box.check_format()
        keys = _json_list(box, "keys")
        if not set(map(type, keys)) <= {str, int}:
            raise DataError(f"{path}: the keys are not all strings and integers")
        vectors = box.array("vectors", ndim=2) if mmap is None else box.mapped("vectors", mmap)
        attributes = {}
        for name in box.names:
            if name.startswith(NUMERIC_PREFIX):
                attributes[name.removeprefix(NUMERIC_PREFIX)] = box.array(name, ndim=1)
            elif name.startswith(OBJECT_PREFIX):
                values = _json_list(box, name)
                objects = attributes[name.removeprefix(OBJECT_PREFIX)] = np.empty(len(values), object)
                objects[:] = values
        if vectors.ndim != 2 or {len(array) for array in (vectors, *attributes.values())} != {len(keys)}:
            raise DataError(f"{path}: {len(keys):,} keys and arrays of other lengths: sizes do not match")
        return keys, vectors, attributes, _keyed_ngrams(box, vectors.shape[1])


def _keyed_ngrams(box: SafetensorsFile, dim: int) -> NgramVectors | None:
    """Return the n-grams of a file of KeyedVectors, or None. Raise DataError if they are damaged."""
    if NGRAMS[0] not in box.names:
        return None
    rows, buckets, sizes = (box.array(name) for name in NGRAMS)
    settings = dict(zip(Ngrams._fields, np.atleast_1d(sizes).tolist(), strict=False))
    arrays = {INPUT_ROWS: rows, NGRAM_BUCKETS: buckets}
    ngrams = ngram_vectors({"subwords": True, **settings}, arrays, 0, dim, where=box.path)
    if (bad := first_not_finite(rows)) is not None:
        raise DataError(f"{box.path}: its n-grams are damaged: row {bad} of {NGRAMS[0]} is not finite")
    return ngrams


def _json_list(box: SafetensorsFile, name: str) -> list[Any]:
    try:  # orjson would refuse unpaired surrogates, and round integers that do not fit in 64 bits
        values = json.loads(box.array(name, "U8", 1).tobytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{box.path}: the tensor {name} is not JSON: {error}") from error
    if not isinstance(values, list):
        raise DataError(f"{box.path}: the tensor {name} is not a list")
    return values


def _sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim every other safetensors file, valid or not; reading one that another program wrote raises an error."""
    is_safetensors = head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 27
    return Promise() if is_safetensors and not _sniff_keys(head, whole) else None


def _sniff_keys(head: bytes, whole: bool) -> Promise | None:
    """Claim safetensors files whose header names KIND; quotes within other values have a backslash before them."""
    size = int.from_bytes(head[:8], "little")
    return Promise() if size < 1 << 27 and HEADER_KIND in head[8 : 8 + size] else None


def _read_vectors(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read the words and counts of a model, and the vectors that its record names."""
    model = read_model(path, vectors_only=True)
    vectors = model._exported()[:limit]
    if (bad := first_not_finite(vectors)) is not None:
        raise DataError(f"{path}: the vector of {model.words[bad]!r} (row {bad}) is too large for float32")
    return Vectors(model.words[:limit], vectors, MODEL.name, counts=model.counts[:limit], ngrams=model._ngrams())


def _read_keys(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read the keys, vectors and counts that KeyedVectors.save wrote. All keys must be strings."""
    keys, vectors, attributes, ngrams = read_keyed(path)
    keys, vectors = keys[:limit], vectors[:limit]
    if not all(isinstance(key, str) for key in keys):
        raise DataError(f"{path}: a key is a number: load this file with w2vtrain.KeyedVectors.load")
    if len(set(keys)) != len(keys):
        raise DataError(f"{path}: a key occurs twice: keys must be distinct")
    if not len(keys) or not vectors.shape[1]:
        raise DataError(f"{path}: the file has no vectors")
    with np.errstate(over="ignore"):
        matrix = np.asarray(vectors, np.float32)
    if not lenient and (bad := first_not_finite(matrix)) is not None:
        raise DataError(f"{path}: the vector of {keys[bad]!r} (row {bad}) is not finite; {REPAIR}")
    counts = attributes.get("count", np.empty(0))
    integers = counts[:limit].astype(np.int64) if counts.dtype.kind in "iu" else None
    return Vectors(keys, matrix, KIND, counts=integers, ngrams=ngrams)


MODEL = VectorReader("model", _sniff, _read_vectors)
"""Reads the vectors of models. It has no writer, because vectors alone do not make a model."""
KEYED = VectorReader(KIND, _sniff_keys, _read_keys)
"""Reads files of KeyedVectors, which `save_keys` writes."""
