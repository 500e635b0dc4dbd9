"""The file format of models: which tensors and metadata a safetensors file of a model has, and how to read its vectors.

embeddings/model.py saves and loads whole models. Nothing is ever unpickled.
"""

from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.errors import DataError
from w2vtrain.formats.keyed_file import KIND, parts
from w2vtrain.formats.safetensors import (
    SafetensorsFile,
    decode_words,
    first_not_finite,
    is_safetensors,
    open_safetensors,
)
from w2vtrain.formats.transforms import EXPORTS, exported
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, VectorReader, Vectors
from w2vtrain.system.json_text import json_object

FIXED = ("words", "counts", "input", "output")
"""Names of the tensors that every model has; all other tensors belong to the model's objective."""

UNRECORDED = 0.4
"""The share of output vectors in the blends of a model whose record does not name one."""


def settings_and_record(box: SafetensorsFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a model's settings and record, after checking the format number, on which their meaning depends."""
    box.check_format()
    settings, record = (_json(box, name) for name in ("settings", "record"))
    return settings, record


def choose_vectors(record: dict[str, Any], export: str = "auto") -> tuple[str, float]:
    """Return which vectors of a model to export, and the share of output vectors in blends, as `exported` takes them.

    "auto" is what `fit` wrote, as the record says, "in" if it does not; the share is UNRECORDED if it does not.
    """
    which, share = record.get("vectors"), record.get("blend_share")
    if export == "auto":
        export = str(which) if which in EXPORTS else "in"
    return export, float(share) if isinstance(share, int | float) and 0 <= share <= 1 else UNRECORDED


def _json(box: SafetensorsFile, name: str) -> dict[str, Any]:
    if name not in box.metadata:
        raise DataError(f"{box.path}: the model has no {name}")
    return json_object(box.metadata[name], f"{box.path}: the model's {name} are")


def _sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim every safetensors file; reading one that another program wrote raises an error that says so."""
    return Promise() if is_safetensors(head) else None


def _read_vectors(path: str | Path, found: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read the words and counts of a model, and the vectors that its record names."""
    with open_safetensors(path) as box:
        if box.metadata.get("kind") == KIND:
            return _keyed(box, limit)
        record = settings_and_record(box)[1]
        which, share = choose_vectors(record)
        words = decode_words(box.array("words", "U8", 1).tobytes(), path, spaces=True)
        counts = box.array("counts", "I64", 1)
        matrices = [box.array(name, "F32", 2) for name in ("input", "output")[: 1 if which == "in" else 2]]
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
    return Vectors(words[:limit], vectors, found.kind, counts=counts[:limit])


def _keyed(box: SafetensorsFile, limit: int | None) -> Vectors:
    """Return the keys, vectors and counts of a file that KeyedVectors.save wrote. All keys must be strings."""
    box.check_format()
    keys, vectors, attributes = parts(box)
    if not all(isinstance(key, str) for key in keys):
        raise DataError(f"{box.path}: a key is a number: load this file with w2vtrain.KeyedVectors.load")
    if len(set(keys)) != len(keys):
        raise DataError(f"{box.path}: a key occurs twice: keys must be distinct")
    if not len(keys) or not vectors.shape[1]:
        raise DataError(f"{box.path}: the file has no vectors")
    matrix = np.asarray(vectors, np.float32)
    if (bad := first_not_finite(matrix)) is not None:
        raise DataError(f"{box.path}: the vector of {keys[bad]!r} (row {bad}) is not finite")
    counts = attributes.get("count")
    if counts is not None and counts.dtype.kind not in "iu":
        counts = None
    found = None if counts is None else counts[:limit].astype(np.int64)
    return Vectors(keys[:limit], matrix[:limit], KIND, counts=found)


MODEL = VectorReader("model", _sniff, _read_vectors, compressible=False)
"""The reader of vectors from models. It has no writer, because vectors alone do not make a model."""
