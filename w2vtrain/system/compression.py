"""Compression with gzip, bzip2, xz and zstd: of inputs by their first bytes, of outputs by the suffix of their names.

Inputs are decompressed in pieces of bounded size, and their names are ignored. The corpus reader passes its pieces to
`decompressed`; all other readers use `reading.open_input`, which calls it, too.
"""

import bz2
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from w2vtrain.errors import DataError, UsageError
from w2vtrain.system.files import Claim, atomic_write

MAX_PIECE_BYTES = 1 << 20
"""Largest decompressed piece, however well the data compress."""
MIN_HEAD_BYTES = 10
"""Number of bytes that `recognize` needs."""
MAX_EXPANSION = 100
"""Largest plausible ratio of text to compressed data. Lists of analogy questions, the most regular text in practice,
reach a factor of 20. A file that expands further may have been made to exhaust the memory."""
MAX_WINDOW_BYTES = 1 << 31
"""Largest history that a file may refer to, as `zstd --long=31` writes; xz has 1.5 GiB at most. Pages are taken as text
fills them."""
OTHER_SUFFIXES = tuple(
    ".7z .arrow .br .db .feather .h5 .hdf5 .jar .lz .lz4 .lzma .npy .npz .onnx .parquet .pickle .pkl .pt .rar .tar"  # noqa: SIM905
    " .tbz2 .tgz .txz .xlsx .z .zip .zstd".split()
)
"""Suffixes of formats that are not written, or not by every output."""


class Compression(NamedTuple):
    """A compression format.

    suffix: of the names of its files; magic: its possible first bytes; decoder: creates a decoder of one member, with
    the attributes `eof` and `unused_data`; texts(decoder, data): yields what data decode to; compressor: creates one
    with its program's default level; feed_bytes: how much the decoder gets at a time.
    """

    name: str
    suffix: str
    magic: tuple[bytes, ...]
    decoder: Callable[[], Any]
    texts: Callable[[Any, bytes], Iterator[bytes]]
    compressor: Callable[[], Any]
    feed_bytes: int


def _limited(decoder: Any, data: bytes) -> Iterator[bytes]:
    """Yield pieces from a decoder that can limit them, as those of bz2 and lzma do."""
    while not decoder.eof:
        if text := decoder.decompress(data, MAX_PIECE_BYTES):
            yield text
        if decoder.needs_input:
            break
        data = b""


def _cut(decoder: Any, data: bytes) -> Iterator[bytes]:
    """Yield pieces from a decoder that returns all text at once, and so gets few bytes."""
    text = decoder.decompress(data)
    for start in range(0, len(text), MAX_PIECE_BYTES):
        yield text[start : start + MAX_PIECE_BYTES]


def _zstd_decoder() -> Any:
    import zstandard  # the only one outside the standard library, so imported only when it is needed

    return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).decompressobj()


def _zstd_compressor() -> Any:
    import zstandard

    return zstandard.ZstdCompressor().compressobj()


COMPRESSIONS = (
    Compression(
        "gzip",
        ".gz",
        (b"\x1f\x8b\x08",),  # 8 (deflate) is the only method that gzip has ever had
        lambda: zlib.decompressobj(31),  # 31: expect a gzip header and verify its checksum
        _cut,
        lambda: zlib.compressobj(wbits=31),  # 31: with a gzip header, whose time of compression is 0
        1 << 12,  # 4 KiB expand to at most 4 MiB
    ),
    # "BZh" alone could be text. The bytes after it are digits of pi (a block) or of its square root (an empty file).
    Compression(
        "bzip2",
        ".bz2",
        tuple(b"BZh%d" % n + m for n in range(1, 10) for m in (b"1AY&SY", b"\x17rE8P\x90")),
        bz2.BZ2Decompressor,
        _limited,
        bz2.BZ2Compressor,
        1 << 16,
    ),
    Compression(
        "xz",
        ".xz",
        (b"\xfd7zXZ\x00",),
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_WINDOW_BYTES + (1 << 20)),
        _limited,
        lzma.LZMACompressor,
        1 << 16,
    ),
    # The second group of magic numbers starts a skippable frame, which pzstd writes.
    Compression(
        "zstd",
        ".zst",
        (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16))),
        _zstd_decoder,
        _cut,
        _zstd_compressor,
        1 << 10,  # 1 KiB expands to at most 32 MiB
    ),
)
COMPRESSORS = {kind.suffix: kind.compressor for kind in COMPRESSIONS}
"""The compressor for each suffix."""


def recognize(head: bytes) -> Compression | None:
    """Return the compression format of data that begin with `head`, or None if they are not compressed.

    `head` should have MIN_HEAD_BYTES or more, unless the data are shorter. If text could begin with a format's magic
    number, the bytes after the number are checked, too.
    """
    return next((known for known in COMPRESSIONS if head.startswith(known.magic)), None)


def decompressed(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield the contents of a file, decompressed if it is compressed. The first piece needs MIN_HEAD_BYTES or more.

    Concatenated members (`cat a.gz b.gz`) are joined, and zero bytes after a member are padding. Raise DataError with
    the file's `name` and the byte offset in the compressed data if the data are damaged or end early.
    """
    head = next(pieces, b"")
    kind, pieces = recognize(head), chain([head], pieces)
    return pieces if kind is None else _members(pieces, kind, name)


def _members(pieces: Iterator[bytes], kind: Compression, name: str) -> Iterator[bytes]:
    offset, decoder = 0, kind.decoder()
    for piece in pieces:
        for start in range(0, len(piece), kind.feed_bytes):
            data = piece[start : start + kind.feed_bytes]
            position, offset = offset, offset + len(data)
            while data:
                if decoder is None:
                    data = data.lstrip(b"\0")
                    if not data:
                        break
                    decoder = kind.decoder()
                try:
                    yield from kind.texts(decoder, data)
                except MemoryError:
                    raise
                except Exception as error:  # each library has its own class
                    place = f"between bytes {position} and {offset}"
                    raise DataError(f"{name}: damaged {kind.name} data {place}: {error}") from error
                data = b""
                if decoder.eof:
                    data, decoder = decoder.unused_data, None
    if decoder is not None:
        raise DataError(f"{name}: the {kind.name} data end early, at byte {offset}: is the copy incomplete?")


def unpacked(path: str | Path) -> tuple[Path, str]:
    """Return a path without the suffix of a compression, and that suffix in lower case, or an empty one."""
    suffix = Path(path).suffix.lower()
    return (Path(path).with_suffix(""), suffix) if suffix in COMPRESSORS else (Path(path), "")


def check_suffix(path: str | Path, compressible: bool = True, own: tuple[str, ...] = ()) -> None:
    """Raise UsageError if the suffix of an output promises a format that is not written, or not for this output.

    own: the suffixes of the output's format, which are right, such as .npz.
    """
    suffix = Path(path).suffix.lower()
    if suffix in OTHER_SUFFIXES and suffix not in own:
        advice = f"; compressed ones end in {', '.join(COMPRESSORS)}" if compressible else ": choose another suffix"
        raise UsageError(f"{path}: {suffix} files are not written here{advice}")
    if suffix in COMPRESSORS and not compressible:
        raise UsageError(f"{path}: this output is not compressed; choose a name without {suffix}")


@contextmanager
def packed_write(
    path: str | Path, force: bool = False, size: int | None = None, claim: Claim | None = None
) -> Iterator[BinaryIO]:
    """Yield a binary file as `atomic_write` does, which compresses what is written if the suffix says so.

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


class _Packer(io.RawIOBase):
    """A stream that compresses what is written to it."""

    def __init__(self, file: BinaryIO, compressor: Any) -> None:
        self._file, self._compressor = file, compressor

    def write(self, data: Any) -> int:
        self._file.write(self._compressor.compress(data))
        return memoryview(data).nbytes

    def finish(self) -> None:
        """Write what the compressor still holds. After an error, nobody needs it."""
        self._file.write(self._compressor.flush())
