"""The file format of KeyedVectors: a safetensors file with the keys, the vectors and the attributes.

Keys and attributes that are objects are stored as JSON. Nothing is ever unpickled.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from w2vtrain.errors import DataError, InvalidType
from w2vtrain.formats.safetensors import SafetensorsFile, write_safetensors
from w2vtrain.system.json_text import json_text

KIND = "keyed vectors"
"""The metadata "kind" of a file of this format; models have none."""
ARRAY, OBJECTS = "attribute.", "objects."
"""What the names of the tensors of attributes begin with: those of numbers, and those of objects."""
Parts = tuple[list[Any], NDArray[Any], dict[str, NDArray[Any]]]
"""Keys, vectors (V, d), and attributes (V,) by name."""


def save_keys(
    path: str | Path, keys: Sequence[Any], vectors: NDArray[Any], attributes: dict[str, NDArray[Any]]
) -> None:
    """Write keys, their vectors, which may be a strided view, and their attributes, completely or not at all.

    Raise InvalidType if JSON cannot represent a key or an attribute, OutputError if the file cannot be created and
    WriteError if it cannot be written.
    """
    if strange := next((key for key in keys if not isinstance(key, str | int | np.integer)), None):
        raise InvalidType(f"{path}: the key {strange!r} is neither a string nor an integer, so it cannot be saved")
    tensors = {"vectors": vectors, "keys": _json([int(k) if isinstance(k, np.integer) else k for k in keys], path)}
    for name, values in attributes.items():
        plain = values.dtype.kind != "O"
        tensors[(ARRAY if plain else OBJECTS) + name] = values if plain else _json(values.tolist(), path)
    write_safetensors(path, tensors, {"kind": KIND}, force=True)


def _json(values: list[Any], path: str | Path) -> NDArray[np.uint8]:
    plain = [value.tolist() if isinstance(value, np.ndarray | np.generic) else value for value in values]
    try:
        return np.frombuffer(json_text(plain).encode(), np.uint8)
    except TypeError as error:
        raise InvalidType(f"{path}: an attribute has a value that JSON cannot represent: {error}") from error


def parts(box: SafetensorsFile, mmap: str | None = None) -> Parts:
    """Return the keys, vectors and attributes of a file of this format. Raise DataError if they are invalid.

    Keys that occur twice are for callers to find: a dictionary of the keys, which most of them need, shows it.

    mmap: None, or the mode in which vectors are mapped instead of read ("r", "r+" or "c").
    """
    keys = _keys(box)
    vectors = box.array("vectors", ndim=2) if mmap is None else box.mapped("vectors", mmap)
    attributes = {}
    for name in box.names:
        if name.startswith(ARRAY):
            attributes[name.removeprefix(ARRAY)] = box.array(name, ndim=1)
        elif name.startswith(OBJECTS):
            values = _list(box, name)
            objects = attributes[name.removeprefix(OBJECTS)] = np.empty(len(values), object)
            objects[:] = values
    if vectors.ndim != 2 or {len(array) for array in (vectors, *attributes.values())} != {len(keys)}:
        raise DataError(f"{box.path}: {len(keys):,} keys and arrays of other lengths: sizes do not match")
    return keys, vectors, attributes


def _keys(box: SafetensorsFile) -> list[Any]:
    with suppress(orjson.JSONDecodeError):  # it refuses what json accepts, such as unpaired surrogates
        found = orjson.loads(box.array("keys", "U8", 1).data)
        if isinstance(found, list) and set(map(type, found)) == {str}:
            return found
    found = _list(box, "keys")  # also for integers: orjson rounds those that do not fit in 64 bits
    if not set(map(type, found)) <= {str, int}:
        raise DataError(f"{box.path}: the keys are not all strings and integers")
    return found


def _list(box: SafetensorsFile, name: str) -> list[Any]:
    try:
        found = json.loads(box.array(name, "U8", 1).tobytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{box.path}: the tensor {name} is not JSON: {error}") from error
    if not isinstance(found, list):
        raise DataError(f"{box.path}: the tensor {name} is not a list")
    return found
