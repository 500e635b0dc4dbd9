"""The file formats of models and of KeyedVectors: the tensors and metadata of each kind of safetensors file.

embeddings/model.py saves and loads whole models. Keys and attributes that are objects are stored as JSON; nothing is
ever unpickled.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, InvalidType
from w2vtrain.formats.safetensors import (
    SafetensorsFile,
    decode_words,
    first_not_finite,
    open_safetensors,
    write_safetensors,
)
from w2vtrain.formats.subwords import Ngrams, NgramVectors
from w2vtrain.formats.transforms import EXPORTS, exported
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, VectorReader, Vectors
from w2vtrain.system.json_text import json_object, json_text

INPUT_ROWS, NGRAM_BUCKETS = "input_rows", "ngram_buckets"
"""Names of the tensors of a model with subwords: see `ngram_vectors`."""
MODEL_TENSORS = ("words", "counts", "input", "output")
"""Names of the tensors that every model has; all other tensors belong to the model's objective."""
UNRECORDED_OUTPUT_SHARE = 0.4
"""The share of output vectors in the blends of a model whose record does not name one."""
KIND = "keyed vectors"
"""The metadata "kind" of a file of KeyedVectors; models have none."""
NUMERIC_PREFIX, OBJECT_PREFIX = "attribute.", "objects."
"""What the names of the tensors of attributes begin with in a file of KeyedVectors."""
NGRAMS = ("ngrams.rows", "ngrams.buckets", "ngrams.sizes")
"""The tensors of n-grams in a file of KeyedVectors: rows, their buckets, and (minn, maxn, bucket)."""
KeyedArrays = tuple[list[Any], NDArray[Any], dict[str, NDArray[Any]], NgramVectors | None]
"""Keys, vectors (V, d), attributes (V,) by name, and the vectors of n-grams."""


def settings_and_record(box: SafetensorsFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a model's settings and record, after checking the format number, on which their meaning depends."""
    box.check_format()
    parsed = []
    for name in ("settings", "record"):
        if name not in box.metadata:
            raise DataError(f"{box.path}: the model has no {name}")
        parsed.append(json_object(box.metadata[name], f"{box.path}: the model's {name} are"))
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
    settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], words: int, dim: int
) -> NgramVectors | None:
    """Return the n-gram vectors of a model of V words and d dimensions, None if it was trained without subwords.

    input_rows (V + B, d) float32: the rows of words, then those of n-grams; ngram_buckets (B,) int32: the buckets of
    the latter. Raise ValueError if they or the settings are invalid.
    """
    if not settings.get("subwords"):
        return None
    ngrams = Ngrams._make(settings.get(name, 0) for name in Ngrams._fields)
    rows, buckets = arrays.get(INPUT_ROWS, np.empty(0)), arrays.get(NGRAM_BUCKETS, np.empty(0))
    if any(not isinstance(value, int) or not 0 <= value < 1 << 31 for value in ngrams) or ngrams.minn < 1:
        raise ValueError("minn, maxn or bucket is invalid")
    if ngrams.minn > ngrams.maxn and buckets.size:
        raise ValueError(f"there are no n-grams of {ngrams.minn} to {ngrams.maxn} characters, but rows for them")
    if rows.shape != (words + buckets.size, dim) or rows.dtype != np.float32:
        raise ValueError(f"{INPUT_ROWS} has shape {list(rows.shape)}")
    if buckets.dtype != np.int32 or buckets.ndim != 1 or len(np.unique(buckets)) != len(buckets):
        raise ValueError(f"{NGRAM_BUCKETS} are not distinct numbers")
    if len(buckets) and not 0 <= buckets.min() <= buckets.max() < ngrams.bucket:
        raise ValueError(f"{NGRAM_BUCKETS} are not numbers below {ngrams.bucket:,}")
    if (bad := first_not_finite(rows)) is not None:
        raise ValueError(f"row {bad} of {INPUT_ROWS} is not finite")
    return NgramVectors(ngrams, rows[words:], buckets)


@contextmanager
def intact_ngrams(path: str | Path, remedy: str = "") -> Iterator[None]:
    """Raise DataError, which names the file, for the ValueError of `ngram_vectors`."""
    try:
        yield
    except ValueError as error:
        raise DataError(f"{path}: its n-grams are damaged: {error}{remedy}") from error


def save_keys(
    path: str | Path, keys: Sequence[Any], vectors: NDArray[Any], attributes: dict[str, NDArray[Any]],
    ngrams: NgramVectors | None = None,
) -> None:  # fmt: skip
    """Write keys, their vectors, which may be a strided view, and their attributes, completely or not at all.

    Raise InvalidType if JSON cannot represent a key or an attribute, OutputError if the file cannot be created and
    WriteError if it cannot be written.
    """
    if strange := [key for key in keys if not isinstance(key, str | int | np.integer)]:
        raise InvalidType(f"{path}: the key {strange[0]!r} is neither a string nor an integer, so it cannot be saved")
    tensors = {"vectors": vectors, "keys": _json_tensor(keys, path)}
    for name, values in attributes.items():
        plain = values.dtype.kind != "O"
        tensors[(NUMERIC_PREFIX if plain else OBJECT_PREFIX) + name] = (
            values if plain else _json_tensor(values.tolist(), path)
        )
    if ngrams is not None:
        parts = np.asarray(ngrams.matrix), ngrams.row_buckets, np.array(ngrams.ngrams, np.int64)
        tensors |= dict(zip(NGRAMS, parts, strict=True))
    write_safetensors(path, tensors, {"kind": KIND}, force=True)


def _json_tensor(values: Sequence[Any], path: str | Path) -> NDArray[np.uint8]:
    plain = [value.tolist() if isinstance(value, np.ndarray | np.generic) else value for value in values]
    try:
        return np.frombuffer(json_text(plain).encode(), np.uint8)
    except TypeError as error:
        raise InvalidType(f"{path}: an attribute has a value that JSON cannot represent: {error}") from error


def keyed_arrays(box: SafetensorsFile, mmap: str | None = None) -> KeyedArrays:
    """Return the keys, vectors and attributes of a file of KeyedVectors. Raise DataError if they are invalid.

    Keys that occur twice are for callers to find: a dictionary of the keys, which most of them need, shows it.

    mmap: None, or the mode in which vectors are mapped instead of read ("r", "r+" or "c").
    """
    keys = _json_list(box, "keys")
    if not set(map(type, keys)) <= {str, int}:
        raise DataError(f"{box.path}: the keys are not all strings and integers")
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
        raise DataError(f"{box.path}: {len(keys):,} keys and arrays of other lengths: sizes do not match")
    return keys, vectors, attributes, _keyed_ngrams(box, vectors.shape[1])


def _keyed_ngrams(box: SafetensorsFile, dim: int) -> NgramVectors | None:
    """Return the n-grams of a file of KeyedVectors, or None. Raise DataError if they are damaged."""
    if NGRAMS[0] not in box.names:
        return None
    rows, buckets, sizes = (box.array(name) for name in NGRAMS)
    settings = dict(zip(Ngrams._fields, np.atleast_1d(sizes).tolist(), strict=False))
    with intact_ngrams(box.path):
        return ngram_vectors({"subwords": True, **settings}, {INPUT_ROWS: rows, NGRAM_BUCKETS: buckets}, 0, dim)


def _json_list(box: SafetensorsFile, name: str) -> list[Any]:
    try:  # orjson would refuse unpaired surrogates, and round integers that do not fit in 64 bits
        values = json.loads(box.array(name, "U8", 1).tobytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{box.path}: the tensor {name} is not JSON: {error}") from error
    if not isinstance(values, list):
        raise DataError(f"{box.path}: the tensor {name} is not a list")
    return values


def _sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim every safetensors file, valid or not; reading one that another program wrote raises an error."""
    return Promise() if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 27 else None


def _read_vectors(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read the words and counts of a model, and the vectors that its record names."""
    with open_safetensors(path) as box:
        if box.metadata.get("kind") == KIND:
            return _read_keyed(box, limit)
        settings, record = settings_and_record(box)
        which, share = choose_vectors(record)
        words = decode_words(box.array("words", "U8", 1).tobytes(), path)
        counts = box.array("counts", "I64", 1)
        matrices = [box.array(name, "F32", 2) for name in ("input", "output")[: 1 if which == "in" else 2]]
        arrays = {name: box.array(name) for name in (INPUT_ROWS, NGRAM_BUCKETS) if name in box.names}
    with intact_ngrams(path, "; train the model again"):
        ngrams = ngram_vectors(settings, arrays, len(words), matrices[0].shape[1])
    shapes = " and ".join(str(list(matrix.shape)) for matrix in matrices)
    if not len(words) == len(matrices[0]) == len(counts) or len({matrix.shape[1] for matrix in matrices}) > 1:
        raise DataError(f"{path}: {len(words):,} words, {len(counts):,} counts, vectors {shapes}: sizes do not match")
    if not words or not matrices[0].shape[1]:
        raise DataError(f"{path}: the model has no vectors")
    for name, matrix in zip(("input", "output"), matrices, strict=False):
        if (bad := first_not_finite(matrix)) is not None:
            raise DataError(f"{path}: row {bad} of {name} is not finite: the file is damaged; train the model again")
    vectors = exported(matrices[0], matrices[-1], which, share, path)[:limit]
    if (bad := first_not_finite(vectors)) is not None:
        raise DataError(f"{path}: the vector of {words[bad]!r} (row {bad}) is too large for float32")
    return Vectors(words[:limit], vectors, sniffed.kind, counts=counts[:limit], ngrams=ngrams)


def _read_keyed(box: SafetensorsFile, limit: int | None) -> Vectors:
    """Return the keys, vectors and counts of a file that KeyedVectors.save wrote. All keys must be strings."""
    box.check_format()
    keys, vectors, attributes, ngrams = keyed_arrays(box)
    if not all(isinstance(key, str) for key in keys):
        raise DataError(f"{box.path}: a key is a number: load this file with w2vtrain.KeyedVectors.load")
    if len(set(keys)) != len(keys):
        raise DataError(f"{box.path}: a key occurs twice: keys must be distinct")
    if not len(keys) or not vectors.shape[1]:
        raise DataError(f"{box.path}: the file has no vectors")
    matrix = np.asarray(vectors, np.float32)
    if (bad := first_not_finite(matrix)) is not None:
        raise DataError(f"{box.path}: the vector of {keys[bad]!r} (row {bad}) is not finite")
    counts = attributes.get("count", np.empty(0))
    integers = counts[:limit].astype(np.int64) if counts.dtype.kind in "iu" else None
    return Vectors(keys[:limit], matrix[:limit], KIND, counts=integers, ngrams=ngrams)


MODEL = VectorReader("model", _sniff, _read_vectors, compressible=False)
"""Reads the vectors of models and of KeyedVectors. It has no writer, because vectors alone do not make a model."""
