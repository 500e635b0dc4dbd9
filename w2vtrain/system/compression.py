"""Decompression of gzip, bzip2, xz and zstd data in pieces of bounded size.

This module opens no files and ignores file names: it detects the format from the first bytes. The corpus reader passes
its pieces to `decompressed`; all other readers use `reading.open_input`, which calls it, too.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple, Protocol

from w2vtrain.errors import DataError

OUTPUT = 1 << 20
"""Largest size in bytes of a decompressed piece, however well the data compress."""
HEAD = 10
"""Number of bytes that `recognize` needs."""
EXPANSION = 100
"""Largest plausible ratio of text to compressed data. Lists of analogy questions, the most regular text in practice,
reach a factor of 20. A file that expands further may have been made to exhaust the memory."""
WINDOW = 1 << 27
"""Bytes of decoder history (the window) that every zstd or xz file may use; also the `zstd` command's default limit."""
LARGEST_WINDOW = 1 << 31
"""Largest window in bytes that a zstd or xz file may use, as written by `zstd --long=31`.

A decoder reserves the whole window, but only as address space: memory pages are taken as text fills them. So large
windows are accepted, and `_check_history` compares the amount of text with the amount of compressed data.
"""
_ZSTD_HEADER = 18  # size in bytes of the longest zstd frame header


class Decoder(Protocol):
    """A decoder of one member of a compressed file, with the interface of bz2.BZ2Decompressor."""

    @property
    def eof(self) -> bool: ...  # noqa: D102
    @property
    def unused_data(self) -> bytes: ...  # noqa: D102
    @property
    def needs_input(self) -> bool: ...  # noqa: D102
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...  # noqa: D102


class _Wrapped:
    """Base class of decoders that wrap another decoder, which detects the end of the data."""

    _decoder: Any

    @property
    def eof(self) -> bool:
        return bool(self._decoder.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._decoder.unused_data)


class _Gzip(_Wrapped):
    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(31)  # 31: expect a gzip header and verify its checksum
        self.needs_input = True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        text: bytes = self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)
        self.needs_input = not self._decoder.unconsumed_tail
        return text


def _check_history(name: str, taken: int, given: int) -> None:
    """Raise ValueError if `given` bytes of text, all in memory, are too many for `taken` bytes of compressed data."""
    if given > max(WINDOW, EXPANSION * taken):
        raise ValueError(
            f"the text is more than {EXPANSION} times as long as the compressed data, too long to keep in memory:"
            f" decompress it with {name} and check that it is what you expect"
        )


class _Xz(_Wrapped):
    """One xz stream."""

    def __init__(self) -> None:
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=WINDOW)
        self._long = False
        self._start = b""  # the data up to the first decoded text
        self._taken = self._given = 0

    @property
    def needs_input(self) -> bool:
        return bool(self._decoder.needs_input)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        self._taken += len(data)
        if not self._given and self._taken <= 1 << 16:
            self._start += data
        try:
            text: bytes = self._decoder.decompress(data, max_length)
        except lzma.LZMAError:
            if self._long or self._given or len(self._start) < self._taken:
                raise
            # The data may be valid but need a larger window. Any other error will occur again.
            self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=LARGEST_WINDOW)
            self._long = True
            text = self._decoder.decompress(self._start, max_length)
        self._given += len(text)
        if self._long:
            _check_history("xz", self._taken, self._given)
        return text


class _Zstd(_Wrapped):
    """One zstd frame."""

    needs_input = True

    def __init__(self) -> None:
        import zstandard  # the only decoder outside the standard library, so imported only when it is needed

        self._zstd = zstandard
        self._decoder = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW).decompressobj()
        self._head = b""
        self._taken = self._given = 0

    def decompress(self, data: bytes, max_length: int) -> bytes:
        try:
            text: bytes = self._decoder.decompress(data)
        except self._zstd.ZstdError as error:
            raise ValueError(str(error)) from error
        self._head = (self._head + data[:_ZSTD_HEADER])[:_ZSTD_HEADER]
        self._taken, self._given = self._taken + len(data), self._given + len(text)
        if self._given > WINDOW and self._zstd.get_frame_parameters(self._head).window_size > WINDOW:
            _check_history("zstd --long=31", self._taken, self._given)
        return text


class Compression(NamedTuple):
    """A compression format: its name, its possible first bytes, its decoder and how many bytes to feed it at a time."""

    name: str
    magic: tuple[bytes, ...]
    decoder: Callable[[], Decoder]
    feed: int = 1 << 16


COMPRESSIONS = (
    Compression("gzip", (b"\x1f\x8b\x08",), _Gzip),  # 8 (deflate) is the only method that gzip has ever had
    # "BZh" alone could be text. The bytes after it are digits of pi (a block) or of its square root (an empty file).
    Compression(
        "bzip2",
        tuple(b"BZh%d" % n + m for n in range(1, 10) for m in (b"1AY&SY", b"\x17rE8P\x90")),
        bz2.BZ2Decompressor,
    ),
    Compression("xz", (b"\xfd7zXZ\x00",), _Xz),
    # The decoder cannot limit its output, so it gets small pieces: 1 KiB expands to at most 32 MiB. The second group
    # of magic numbers starts a skippable frame, which pzstd writes.
    Compression(
        "zstd",
        (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16))),
        _Zstd,
        1 << 10,
    ),
)


def recognize(head: bytes) -> Compression | None:
    """Return the compression format of data that begin with `head`, or None if they are not compressed.

    `head` should have HEAD bytes or more, unless the data are shorter. If text could begin with a format's magic
    number, the bytes after the number are checked, too.
    """
    return next((known for known in COMPRESSIONS if head.startswith(known.magic)), None)


def decompressed(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield the contents of a file, decompressed if it is compressed. The first of `pieces` needs HEAD bytes or more.

    Concatenated members (`cat a.gz b.gz`) are joined, and zero bytes after a member are padding. Raise DataError with
    the file's `name` and the byte offset in the compressed data if the data are damaged or end early.
    """
    head = next(pieces, b"")
    kind, pieces = recognize(head), chain([head], pieces)
    return pieces if kind is None else _members(pieces, kind, name)


def _members(pieces: Iterator[bytes], kind: Compression, name: str) -> Iterator[bytes]:
    offset = 0
    decoder: Decoder | None = kind.decoder()
    for piece in pieces:
        for start in range(0, len(piece), kind.feed):
            data = piece[start : start + kind.feed]
            at, offset = offset, offset + len(data)
            while data or (decoder and not decoder.needs_input):
                if decoder is None:
                    data = data.lstrip(b"\0")
                    if not data:
                        break
                    decoder = kind.decoder()
                try:
                    text = decoder.decompress(data, OUTPUT)
                except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
                    raise DataError(f"{name}: damaged {kind.name} data near byte {at}: {error}") from error
                for cut in range(0, len(text), OUTPUT):
                    yield text[cut : cut + OUTPUT]
                data = b""
                if decoder.eof:
                    data, decoder = decoder.unused_data, None
    if decoder is not None:
        raise DataError(f"{name}: the {kind.name} data end early, at byte {offset}: is the copy incomplete?")
