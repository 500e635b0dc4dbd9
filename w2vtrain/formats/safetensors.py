"""Writing of named arrays, words and strings to a safetensors file, block by block, and strict reading of such files.

This module does not know what the arrays mean; model_file.py does. It never unpickles, so that files from untrusted
sources can do no harm.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson
from numpy.typing import NDArray

from w2vtrain.errors import DataError, InputMissing, InvalidType, UsageError, reason, shown
from w2vtrain.system.files import Claim, atomic_write
from w2vtrain.system.reading import regular_size, unchanged

# The format number, increased when the meaning of files changes; stored in the metadata under the key "w2vtrain".
FORMAT = 1
# The supported dtypes, by their safetensors names; all are little-endian.
DTYPES = {
    "F32": "<f4", "F64": "<f8", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
# Number of values that are copied, checked or written at a time: 128 KiB of float32 and what is computed from them stay
# in the cache. With 4 MiB, the first 160 MB of text that a process writes take 1.0 s instead of 0.55 s.
VALUES_PER_BLOCK = 1 << 15
ASCII_SPACE, NEWLINE = re.compile(rb"[ \t\n\r\v\f]"), re.compile(rb"\n")


def row_blocks(array: Any) -> Iterator[slice]:
    """Return slices over the first axis of `array`, each with about VALUES_PER_BLOCK values and at least one row."""
    return row_slices(len(array), array.size // max(1, len(array)))


def row_slices(rows: int, width: int) -> Iterator[slice]:
    """Yield slices over `rows` rows of `width` values: see `row_blocks`."""
    step = max(1, VALUES_PER_BLOCK // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def write_values(file: BinaryIO, array: Any) -> None:
    """Write the values of an array, or of an object with an array's shape whose slices of rows are arrays.

    They are in C order and little-endian.
    """
    for rows in row_blocks(array):
        block = np.ascontiguousarray(array[rows], dtype=array.dtype.newbyteorder("<"))
        file.write(block.reshape(-1).view(np.uint8).data)


def first_not_finite(matrix: Any) -> int | None:
    """Return the index of the first row with a NaN, an infinity or a value too large for float32, or None."""
    for rows in row_blocks(matrix):
        with np.errstate(over="ignore", invalid="ignore"):
            good = np.isfinite(matrix[rows].astype(np.float32, copy=False)).reshape(rows.stop - rows.start, -1).all(1)
        if not good.all():
            return int(rows.start + good.argmin())
    return None


def encode_words(words: Sequence[str], where: str | Path, spaces: bool = False) -> bytes:
    """Return the words joined by newlines, encoded as UTF-8.

    spaces: allow all ASCII white space except newlines. Raise DataError for a word that is empty, contains other white
    space, cannot be encoded or occurs twice, InvalidType for one that is no string. The message starts with `where`.
    """
    try:
        data = "\n".join(words).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{where}: a word contains an unpaired surrogate, which is not valid UTF-8: {error}") from error
    except TypeError:
        index, other = next((i, word) for i, word in enumerate(words) if not isinstance(word, str))
        raise InvalidType(
            f"{where}: word {index} is {shown(other)}: words must be str: pass [str(word) for word in words]"
        ) from None
    # Search the joined text once, not each word: only the newlines between words may match.
    forbidden, name = (NEWLINE, "a newline") if spaces else (ASCII_SPACE, "white space")
    if len(forbidden.findall(data)) != max(0, len(words) - 1) or (words and not all(words)):
        index, word = next((i, w) for i, w in enumerate(words) if not w or forbidden.search(w.encode()))
        problem = f"{word[:60]!r} contains {name}" if word else "is empty"
        raise DataError(f"{where}: word {index} {problem}: such a word could not be read back")
    if len(set(words)) != len(words):
        seen: set[str] = set()
        word = next(w for w in words if w in seen or seen.add(w))  # type: ignore[func-returns-value]
        raise DataError(f"{where}: the word {word[:60]!r} occurs twice")
    return data


def decode_words(data: bytes, where: str | Path) -> list[str]:
    """Return the words that `encode_words` joined, with the same checks and errors; they may contain spaces."""
    try:
        words = data.decode().split("\n") if data else []
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: the words are not UTF-8 at byte {error.start} of the word list") from error
    encode_words(words, where, spaces=True)
    return words


def write_safetensors(
    path: str | Path,
    tensors: Mapping[str, Any],
    metadata: Mapping[str, str],
    force: bool = False,
    claim: Claim | None = None,
) -> None:
    """Write arrays of the dtypes in DTYPES, including strided views, and strings to a safetensors file, atomically.

    safetensors.numpy.save_file opens its output itself and needs a contiguous copy of each array. The matrices in
    training are padded, so these copies would be a second model in memory. This function copies each array block by
    block into a file that gets its name only when it is complete. An object with an array's shape, sizes and dtype,
    whose slices of rows are arrays, may take the place of an array.

    Raise TypeError for other dtypes, and OutputError and WriteError as `files.atomic_write` does, which also explains
    force and claim.
    """
    # Sorting by item size, largest first, makes each tensor start at a multiple of its item size.
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"w2vtrain": str(FORMAT), **metadata}}
    end = 0
    for name in order:
        start, end = end, end + tensors[name].nbytes
        dtype = NAMES.get(tensors[name].dtype.newbyteorder("<"))
        if dtype is None:
            raise TypeError(f"the array {name} has dtype {tensors[name].dtype}, which cannot be saved")
        header[name] = {"dtype": dtype, "shape": list(tensors[name].shape), "data_offsets": [start, end]}
    text = orjson.dumps(header)
    text += b" " * (-len(text) % 8)
    with atomic_write(path, force, size=8 + len(text) + end, claim=claim) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            write_values(file, tensors[name] if tensors[name].ndim else np.atleast_1d(tensors[name]))


@contextmanager
def open_safetensors(path: str | Path) -> Iterator["SafetensorsFile"]:
    """Open a safetensors file after checking its sizes, offsets and shapes against the file's size.

    Raise InputMissing if the file cannot be opened, and DataError if it is not a valid safetensors file.
    """
    from safetensors import SafetensorError, safe_open

    regular_size(path)
    with ExitStack() as opened:
        try:
            file = opened.enter_context(Path(path).open("rb"))  # safe_open calls all failures a missing file
            opened.enter_context(unchanged(path, file.fileno()))
            opened.enter_context(safe_open(path, framework="numpy"))  # which checks the header
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
        except (SafetensorError, RecursionError) as error:
            raise DataError(f"{path} is not a valid safetensors file: {error}") from error
        except (OSError, ValueError) as error:
            raise InputMissing(f"{path} cannot be opened: {reason(error)}") from error
        yield SafetensorsFile(path, header, file, 8 + size)


class SafetensorsFile:
    """An open safetensors file, with its `metadata`, the `names` of its tensors, and their shapes and arrays."""

    def __init__(self, path: str | Path, header: dict[str, Any], file: BinaryIO, start: int) -> None:
        """Take a valid header; start: the offset of the first byte after it."""
        self.path, self._file = path, file
        self.metadata: dict[str, str] = header.pop("__metadata__", None) or {}
        self.names = sorted(header)
        self._tensors = {  # the dtype, the shape, and the first byte of each
            name: (facts["dtype"], tuple(facts["shape"]), start + facts["data_offsets"][0])
            for name, facts in header.items()
        }

    def check_format(self) -> None:
        """Raise DataError unless this package wrote the file, in the format that this version reads."""
        number = self.metadata.get("w2vtrain")
        if number is None:
            raise DataError(f"{self.path} is a safetensors file, but not from w2vtrain: it has no format number")
        if number != str(FORMAT):
            raise DataError(f"{self.path} has w2vtrain format {number[:20]}, but this version reads format {FORMAT}")

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor. Raise DataError if there is no such tensor."""
        return self._tensor(name)[1]

    def array(self, name: str, dtype: str | None = None, ndim: int | None = None) -> NDArray[Any]:
        """Read a tensor into memory.

        Raise DataError if it is missing, or has another dtype (a key of DTYPES) or number of dimensions.
        """
        kind, shape, start = self._tensor(name)
        if kind not in DTYPES or (dtype is not None and kind != dtype):
            raise DataError(f"{self.path}: the tensor {name} has dtype {kind}, expected {dtype or 'a NumPy dtype'}")
        if ndim is not None and len(shape) != ndim:
            raise DataError(f"{self.path}: the tensor {name} has shape {list(shape)}, expected {ndim} dimensions")
        # The library's get_tensor() takes three times as long: its memory has small pages, NumPy's has large ones.
        self._file.seek(start)
        array: NDArray[Any] = np.empty(shape, DTYPES[kind])
        if self._file.readinto(array.reshape(-1).view(np.uint8)) != array.nbytes:  # type: ignore[attr-defined]
            raise DataError(f"{self.path}: the file ends inside the tensor {name}: it changed while it was read")
        return array

    def mapped(self, name: str, mode: str) -> NDArray[Any]:
        """Return a tensor as an array whose memory is the file: "r" for read-only, "r+", or "c" for private changes.

        Raise UsageError for another mode, and otherwise the errors of `array`. The values are not read.
        """
        if mode not in ("r", "r+", "c"):
            raise UsageError(f"mmap must be None, 'r', 'r+' or 'c', not {mode!r}")
        kind, shape, start = self._tensor(name)
        if kind not in DTYPES:
            raise DataError(f"{self.path}: the tensor {name} has dtype {kind}, which NumPy does not have")
        dtype = np.dtype(DTYPES[kind])
        try:
            if not all(shape):
                return np.empty(shape, dtype)
            file = self.path if mode == "r+" else self._file  # which is the one that was checked
            return np.asarray(np.memmap(file, dtype, mode, start, shape))  # type: ignore[call-overload]
        except OSError as error:
            raise InputMissing(f"{self.path} cannot be mapped: {error}") from error

    def _tensor(self, name: str) -> tuple[str, tuple[int, ...], int]:
        if name not in self._tensors:
            raise DataError(
                f"{self.path}: no tensor is named {name!r}: the file has {', '.join(self.names[:10]) or 'none'}"
            )
        return self._tensors[name]
