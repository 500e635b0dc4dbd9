"""Streams of gzip, bzip2, xz and zstd data turned into what they hold, in pieces of bounded size.

Nothing here opens files or looks at their names: the format is told by the first bytes alone.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple, Protocol

import zstandard

from w2vtrain.errors import DataError

OUTPUT = 1 << 20  # bytes: no piece that leaves here is longer, however well the data compress
HEAD = 10  # bytes that `recognise` wants to see


class Decoder(Protocol):
    """One member of a compressed file: the interface of bz2 and lzma, to which the other two are fitted below."""

    @property
    def eof(self) -> bool: ...  # noqa: D102
    @property
    def unused_data(self) -> bytes: ...  # noqa: D102
    @property
    def needs_input(self) -> bool: ...  # noqa: D102
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...  # noqa: D102


class _Gzip:
    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(31)  # 31: a gzip header, and its checksum is checked
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        text = self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)
        self.needs_input = not self._decoder.unconsumed_tail
        return text


class _Zstd:
    needs_input = True

    def __init__(self) -> None:
        # The default limit of 128 MiB refuses files made with `zstd --long=31`.
        self._decoder = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._decoder.decompress(data)


class Format(NamedTuple):
    """A compressed format: its name, the bytes that it starts with, its decoder and how much to feed at a time."""

    name: str
    magic: tuple[bytes, ...]
    decoder: Callable[[], Decoder]
    feed: int = 1 << 16


FORMATS = (
    Format("gzip", (b"\x1f\x8b",), _Gzip),
    # "BZh" alone could be text; the next bytes are those of pi (a block) or of its square root (an empty file).
    Format(
        "bzip2",
        tuple(b"BZh%d" % n + m for n in range(1, 10) for m in (b"1AY&SY", b"\x17rE8P\x90")),
        bz2.BZ2Decompressor,
    ),
    Format("xz", (b"\xfd7zXZ\x00",), lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)),
    # Its decoder knows no limit on output, so it is fed little: 1 KiB holds at most 32 MiB. The second group of
    # magic numbers starts a skippable frame, as pzstd writes.
    Format(
        "zstd",
        (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16))),
        _Zstd,
        1 << 10,
    ),
)


def recognise(head: bytes) -> Format | None:
    """The format of data that start with `head` (at least HEAD bytes if there are so many); None if not compressed."""
    return next((f for f in FORMATS if head.startswith(f.magic)), None)


def decompressed(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The contents of a file given in pieces (the first of at least HEAD bytes), whether compressed or not.

    Members that follow one another (`cat a.gz b.gz`) are joined, zero bytes behind one are padding. Raises
    DataError, which names the file and the byte in it, if the data are damaged or end early.
    """
    head = next(pieces, b"")
    kind = recognise(head)
    if kind is None:
        return chain([head], pieces)
    return _members(chain([head], pieces), kind, name)


def _members(pieces: Iterator[bytes], kind: Format, name: str) -> Iterator[bytes]:
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
                except (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, EOFError, ValueError) as error:
                    raise DataError(f"{name}: damaged {kind.name} data near byte {at}: {error}") from error
                for cut in range(0, len(text), OUTPUT):
                    yield text[cut : cut + OUTPUT]
                data = b""
                if decoder.eof:
                    data, decoder = decoder.unused_data, None
    if decoder is not None:
        raise DataError(f"{name}: the {kind.name} data end early, at byte {offset}: an incomplete copy?")
