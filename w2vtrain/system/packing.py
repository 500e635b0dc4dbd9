"""Compression of outputs by the suffix of their name, and refusal of suffixes that promise another format.

Reading is in compression.py, which ignores names and recognizes compressed data by their content.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from w2vtrain.errors import UsageError
from w2vtrain.system.files import Claim, atomic_write


def _zstd() -> Any:
    import zstandard  # imported only when needed, like the decoder

    return zstandard.ZstdCompressor().compressobj()


COMPRESSORS: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.compressobj(wbits=31),  # 31: with a gzip header, whose time of compression is 0
    ".bz2": bz2.BZ2Compressor,
    ".xz": lzma.LZMACompressor,
    ".zst": _zstd,
}
"""The compressor for each suffix, at its program's default level."""
OTHERS = tuple(
    ".7z .arrow .br .db .feather .h5 .hdf5 .jar .lz .lz4 .lzma .npy .npz .onnx .parquet .pickle .pkl .pt .rar .tar"  # noqa: SIM905
    " .tbz2 .tgz .txz .xlsx .z .zip .zstd".split()
)
"""Suffixes of formats that are not written."""


def unpacked(path: str | Path) -> tuple[Path, str]:
    """Return a path without the suffix of a compression, and that suffix in lower case, or an empty one."""
    suffix = Path(path).suffix.lower()
    return (Path(path).with_suffix(""), suffix) if suffix in COMPRESSORS else (Path(path), "")


def check_suffix(path: str | Path, compressible: bool = True) -> None:
    """Raise UsageError if the suffix of an output promises a format that is not written, or not for this output."""
    suffix = Path(path).suffix.lower()
    if suffix in OTHERS:
        raise UsageError(f"{path}: {suffix} files are not written; compressed ones end in {', '.join(COMPRESSORS)}")
    if suffix in COMPRESSORS and not compressible:
        raise UsageError(f"{path}: this output is not compressed; choose a name without {suffix}")


@contextmanager
def packed_write(
    path: str | Path, force: bool = False, size: int | None = None, claim: Claim | None = None
) -> Iterator[BinaryIO]:
    """Yield a binary file as `files.atomic_write` does, which compresses what is written if the suffix says so.

    size: the number of bytes that will be written, if known, before compression.
    """
    with atomic_write(path, force, None if unpacked(path)[1] else size, claim) as file, packed(file, path) as stream:
        yield stream


@contextmanager
def packed(file: BinaryIO, path: str | Path) -> Iterator[BinaryIO]:
    """Yield a file that compresses into `file`, or `file` itself, by the suffix of `path`."""
    suffix = unpacked(path)[1]
    if not suffix:
        yield file
        return
    packer = _Packer(file, COMPRESSORS[suffix]())
    yield cast(BinaryIO, packer)
    packer.finish()


class _Packer:
    """The writing methods of a file, in front of a compressor."""

    def __init__(self, file: BinaryIO, compressor: Any) -> None:
        self._file, self._compressor = file, compressor

    def write(self, data: Any) -> int:
        """Compress bytes."""
        self._file.write(self._compressor.compress(data))
        return memoryview(data).nbytes

    def writelines(self, lines: Any) -> None:
        """Compress several pieces."""
        for line in lines:
            self.write(line)

    def finish(self) -> None:
        """Write what the compressor still holds. After an error, nobody needs it."""
        self._file.write(self._compressor.flush())
