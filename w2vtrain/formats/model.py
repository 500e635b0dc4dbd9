"""Save and load a trained model: words, counts, both matrices, an objective's own arrays, and how it was made.

It knows nothing about training or resuming (checkpoint.py keeps a run's state), and never unpickles anything.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, ResourceError, UsageError
from w2vtrain.formats.safetensors import (
    SafetensorsFile,
    decode_words,
    encode_words,
    first_not_finite,
    is_safetensors,
    open_safetensors,
    write_safetensors,
)
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, VectorReader, Vectors
from w2vtrain.system.files import Claim
from w2vtrain.system.json_text import json_object, json_text

FIXED = ("words", "counts", "input", "output")
"""Tensors that every model has; more belong to its objective."""


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model.

    words: V different words, the most frequent first; counts: (V,) int64 occurrences in the corpus; input: (V, d)
    float32, the word vectors; output: (R, d) float32, the rows that contexts are scored against (R is V, or the inner
    nodes of a tree); arrays: what else the objective needs to score, by name ("tree.start", "noise.prob", ...), of
    the dtypes in safetensors.DTYPES and without NaN; settings: the effective settings; record: facts about the run
    (versions, corpus, curve, scores). JSON has no NaN: one in settings or record comes back as None.
    """

    words: list[str]
    counts: NDArray[np.int64]
    input: NDArray[np.float32]
    output: NDArray[np.float32]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)


def save_model(path: str | Path, model: Model, force: bool = False, claim: Claim | None = None) -> None:
    """Write a model atomically, without a second copy of its matrices, which may be strided views.

    Raises DataError for parts that do not fit or are not finite: such a file could not be loaded. UsageError for
    settings or a record that JSON cannot say, OutputError and WriteError as `atomic_write` does, which explains claim.
    """
    if clash := sorted(set(FIXED) & set(model.arrays)):
        raise UsageError(f"{path}: an extra array may not be called {clash[0]!r}")
    words = encode_words(model.words, path)
    _check(model, path)
    try:
        about = {name: json_text(getattr(model, name)) for name in ("settings", "record")}
    except TypeError as error:
        raise UsageError(f"{path}: the settings or the record hold something that JSON cannot say: {error}") from error
    tensors: dict[str, NDArray[Any]] = {
        "words": np.frombuffer(words, np.uint8),
        "counts": model.counts,
        "input": model.input,
        "output": model.output,
        **model.arrays,
    }
    write_safetensors(path, tensors, about, force, claim)


def load_model(path: str | Path) -> Model:
    """Read a model and check everything that later code relies on: sizes, dtypes, words, counts, finite values.

    Raises InputMissing where the file cannot be opened, DataError where it is not a sound model of this format, and
    ResourceError where the memory does not suffice.
    """
    try:
        with open_safetensors(path) as box:
            settings, record = settings_and_record(box)
            model = Model(
                decode_words(box.array("words", "U8", 1).tobytes(), path),
                box.array("counts", "I64", 1),
                box.array("input", "F32", 2),
                box.array("output", "F32", 2),
                {name: box.array(name) for name in box.names if name not in FIXED},
                settings,
                record,
            )
    except MemoryError as error:
        raise ResourceError(f"{path}: not enough memory for this model") from error
    _check(model, path)
    return model


def settings_and_record(box: SafetensorsFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return settings and record, after the format number: a newer file may mean other things by the same names."""
    box.check_format()
    settings, record = (_json(box, name) for name in ("settings", "record"))
    return settings, record


def _json(box: SafetensorsFile, name: str) -> dict[str, Any]:
    if name not in box.metadata:
        raise DataError(f"{box.path}: the model has no {name}")
    return json_object(box.metadata[name], f"{box.path}: the model's {name} are")


def _check(model: Model, path: str | Path) -> None:
    """DataError unless the parts of a model fit together and all values are such as training makes."""
    V = len(model.words)
    for name, array, dtype, rank in (
        ("counts", model.counts, np.int64, 1),
        ("input", model.input, np.float32, 2),
        ("output", model.output, np.float32, 2),
    ):
        if array.ndim != rank or array.dtype != dtype:
            raise DataError(f"{path}: {name} has dtype {array.dtype} and shape {list(array.shape)}")
    if V == 0 or len(model.counts) != V or len(model.input) != V:
        raise DataError(f"{path}: {V:,} words, {len(model.counts):,} counts and {len(model.input):,} vectors")
    if model.input.shape[1] == 0 or model.input.shape[1] != model.output.shape[1]:
        raise DataError(f"{path}: vectors of {model.input.shape[1]} and {model.output.shape[1]} values do not fit")
    if model.counts.min() < 0:
        raise DataError(f"{path}: the count of {model.words[int(model.counts.argmin())]!r} is negative")
    for name, matrix in (("input", model.input), ("output", model.output)):
        if (bad := first_not_finite(matrix)) is not None:
            raise DataError(f"{path}: row {bad} of {name} is not finite")
    for name, array in sorted(model.arrays.items()):
        if array.dtype.kind == "f" and np.isnan(array).any():  # the logarithm of a zero probability may be there
            raise DataError(f"{path}: the array {name} holds NaN")


def _sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim every safetensors file: one of another program is refused by name later."""
    return Promise() if is_safetensors(head) else None


def _read_vectors(path: str | Path, found: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read the input vectors and counts alone: a model's other matrices stay on the disk."""
    with open_safetensors(path) as box:
        box.check_format()
        words = decode_words(box.array("words", "U8", 1).tobytes(), path)
        matrix = box.array("input", "F32", 2)
        counts = box.array("counts", "I64", 1)
    if not len(words) == len(matrix) == len(counts):
        raise DataError(f"{path}: {len(words):,} words, {len(matrix):,} vectors and {len(counts):,} counts do not fit")
    if (bad := first_not_finite(matrix)) is not None:
        raise DataError(f"{path}: the vector of {words[bad]!r} (row {bad}) is not finite")
    return Vectors(words[:limit], matrix[:limit], found.kind, counts=counts[:limit])


MODEL = VectorReader("model", _sniff, _read_vectors, compressible=False)
"""Models as a source of vectors; they cannot be written as one, since vectors alone do not make a model."""
