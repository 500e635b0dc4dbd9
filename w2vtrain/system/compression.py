"""Decompress gzip, bzip2, xz and zstd data in pieces of bounded size.

It opens no files and looks at no names: the first bytes alone tell the format. The corpus hands its pieces to
`decompressed`; every other reader comes through `reading.open_input`, which does the same.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple, Protocol

from w2vtrain.errors import DataError

OUTPUT = 1 << 20
"""Bytes of the longest piece that leaves here, however well the data compress."""
HEAD = 10
"""Bytes that `recognize` wants to see."""
EXPANSION = 100
"""Text is rarely this many times as long as its compressed file: lists of questions, the most regular text there is,
reach a factor of 20. A file that expands further may have been made to fill the memory."""
WINDOW = 1 << 27
"""Bytes of history that any zstd or xz file may refer to; it is also the limit of the `zstd` command."""
LARGEST_WINDOW = 1 << 31
"""Bytes of history that a zstd or xz file may refer to at all: what `zstd --long=31` needs.

A decoder reserves as much history as a file asks for, but that is address space only: it takes pages as text fills
them. So a long history is accepted, and the text is held against the compressed bytes that it came from.
"""
_ZSTD_HEADER = 18  # bytes of the longest header of a zstd frame


class Decoder(Protocol):
    """Decode one member of a compressed file: the interface of bz2.BZ2Decompressor, which the classes below adopt."""

    @property
    def eof(self) -> bool: ...  # noqa: D102
    @property
    def unused_data(self) -> bytes: ...  # noqa: D102
    @property
    def needs_input(self) -> bool: ...  # noqa: D102
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...  # noqa: D102


class _Wrapped:
    """A decoder by way of another: where its data end is the other's knowledge."""

    _decoder: Any

    @property
    def eof(self) -> bool:
        return bool(self._decoder.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._decoder.unused_data)


class _Gzip(_Wrapped):
    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(31)  # 31: a gzip header, and its checksum is checked
        self.needs_input = True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        text: bytes = self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)
        self.needs_input = not self._decoder.unconsumed_tail
        return text


def _check_history(name: str, taken: int, given: int) -> None:
    """Raise ValueError if `given` bytes of text, all in memory, are more than `taken` compressed bytes explain."""
    if given > max(WINDOW, EXPANSION * taken):
        raise ValueError(
            f"more text than {EXPANSION} times the compressed bytes, and all of it is needed in memory:"
            f" decompress it with {name}, and look whether it is what you expect"
        )


class _Xz(_Wrapped):
    """One xz stream."""

    def __init__(self) -> None:
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=WINDOW)
        self._long = False
        self._start = b""  # the data until the first text comes
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
            # The data may be sound, but ask for a longer history: no other error goes away.
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
        import zstandard  # the only decoder that is not in Python: plain files do without it

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
    """A compressed format: its name, the bytes that it starts with, its decoder and the bytes to feed at a time."""

    name: str
    magic: tuple[bytes, ...]
    decoder: Callable[[], Decoder]
    feed: int = 1 << 16


COMPRESSIONS = (
    Compression("gzip", (b"\x1f\x8b\x08",), _Gzip),  # 8 is the only method that gzip ever had
    # "BZh" alone could be text; the next bytes are those of pi (a block) or of its square root (an empty file).
    Compression(
        "bzip2",
        tuple(b"BZh%d" % n + m for n in range(1, 10) for m in (b"1AY&SY", b"\x17rE8P\x90")),
        bz2.BZ2Decompressor,
    ),
    Compression("xz", (b"\xfd7zXZ\x00",), _Xz),
    # Its decoder has no limit on output, so it is fed little: 1 KiB holds at most 32 MiB. The second group of
    # magic numbers starts a skippable frame, as pzstd writes.
    Compression(
        "zstd",
        (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16))),
        _Zstd,
        1 << 10,
    ),
)


def recognize(head: bytes) -> Compression | None:
    """Return the format of data that start with `head`, at least HEAD bytes of it if there are so many.

    Returns None for data that are not compressed. A magic number is not enough where text could begin with it.
    """
    return next((known for known in COMPRESSIONS if head.startswith(known.magic)), None)


def decompressed(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield the contents of a file given in pieces (the first of at least HEAD bytes), whether compressed or not.

    Members that follow one another (`cat a.gz b.gz`) are joined, zero bytes after one are padding. Raises
    DataError, which names the file and the byte in it, if the data are damaged or end early.
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
        raise DataError(f"{name}: the {kind.name} data end early, at byte {offset}: an incomplete copy?")
