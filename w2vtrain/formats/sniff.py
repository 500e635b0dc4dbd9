"""Tell what a file is by its first bytes: vectors of some format, a model, a vocabulary, or something often mistaken.

It reads no further and never looks at a file's name.
"""

import re
from pathlib import Path

from w2vtrain.formats.model import MODEL
from w2vtrain.formats.vector_formats import formats
from w2vtrain.formats.vector_formats.contract import Sniff, VectorReader
from w2vtrain.system.reading import open_input

HEAD = 1 << 16
"""Bytes that `sniff` reads of the decompressed data."""
VOCABULARY_LINE = re.compile(rb"[^ \t\n\r\v\f]+[ \t]+\d{1,18}[ \t]*\r?")
# What is often taken for vectors, by its first bytes.
STRANGERS = {
    b"\x93NUMPY": "a NumPy array: it has no words",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"PAR1": "a Parquet table",
    b"\xba\x16\x4f\x2f": "a fastText model: use its .vec file",
    **{
        bytes([0x80, protocol]): "a pickle, as gensim's save() makes: it is never opened, because a pickle can run "
        "anything; let gensim write it with save_word2vec_format"
        for protocol in range(2, 6)
    },
}


def readers() -> dict[str, VectorReader]:
    """Return everything that vectors can be read from, by name, in the order in which `sniff` asks.

    Text comes last: GloVe's has no signature, and a first line of another format may be a word and two numbers, too.
    """
    return {MODEL.name: MODEL, **dict(reversed(formats().items()))}


def sniff(path: str | Path) -> Sniff:
    """Tell what a file is by its first 64 KiB; the cost is the same for any size.

    Raises InputMissing, and DataError if the first bytes cannot be decompressed.
    """
    with open_input(path) as (file, compression):
        head = file.read(HEAD)
        size = Path(path).stat().st_size
    return sniff_head(head, size, compression)


def sniff_head(head: bytes, size: int, compression: str | None = None) -> Sniff:
    """Tell what data is by `head`, its first HEAD bytes decompressed, or all of them if there are fewer.

    `size` is the file's size in bytes and `compression` the name of its compression or None, for the answer.
    """
    whole = len(head) < HEAD
    for name, reader in readers().items():
        promise = reader.sniff(head, whole)
        if promise is not None:
            if compression and not reader.compressible:
                return _unknown(size, compression, f"a compressed {name}: decompress it first")
            return Sniff(name, *promise, size, compression)
    start = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    lines = head[start:].split(b"\n", 5)[:5]
    if len(lines) > 1 and all(VOCABULARY_LINE.fullmatch(line) for line in lines if line):
        return Sniff("vocabulary", None, None, start, size, compression)
    for magic, note in STRANGERS.items():
        if head.startswith(magic):
            return _unknown(size, compression, note)
    note = "an empty file" if not head else "neither vectors nor a model: no line of numbers at its start"
    return _unknown(size, compression, note)


def _unknown(size: int, compression: str | None, note: str) -> Sniff:
    return Sniff("unknown", None, None, 0, size, compression, note)
