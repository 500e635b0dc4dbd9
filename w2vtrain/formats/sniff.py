"""Detection of what a file is from its first bytes: vectors, a model, a vocabulary, or a file often mistaken for them.

This module reads no further and ignores file names.
"""

import os
import re
from pathlib import Path

from w2vtrain.formats.fasttext_file import READER as FASTTEXT
from w2vtrain.formats.fasttext_file import read_parts
from w2vtrain.formats.model_file import KEYED, MODEL, read_model
from w2vtrain.formats.vector_formats import formats
from w2vtrain.formats.vector_formats._word2vec import HEADER, SPARSE
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, VectorFormat, VectorReader
from w2vtrain.system.compression import archive
from w2vtrain.system.reading import open_input, regular_size

SNIFFED_BYTES = 1 << 16
"""Number of bytes of decompressed data that `sniff` reads."""
VOCABULARY_LINE = re.compile(rb"[^ \t\n\r\v\f]+[ \t]+\d{1,18}[ \t]*\r?")
# Files that are often mistaken for vectors, by their first bytes.
STRANGERS = {
    bytes([0x80, protocol]): "a pickle, as written by gensim's save(): pickles are never opened, because they can "
    "run any code; in gensim, load it and write the vectors with save_word2vec_format, or pass the model to "
    "w2vtrain.Word2Vec.from_gensim"
    for protocol in range(2, 6)
}
MODEL_READERS = {MODEL.name: read_model, FASTTEXT.name: read_parts}
"""What reads a whole model, by the kind that `sniff` returns."""


def readers() -> dict[str, VectorReader]:
    """Return the readers of everything that contains vectors, by name, in the order in which `sniff` tries them.

    Text is last, because GloVe text has no signature: the first line of another format may look like a word and two
    numbers, too.
    """
    return {reader.name: reader for reader in (MODEL, KEYED, FASTTEXT)} | dict(reversed(formats().items()))


def sniff(path: str | Path) -> Sniff:
    """Return what a file is, judged by its first 64 KiB; the cost does not depend on the file's size.

    The errors are those of `read_head`.
    """
    is_folder = os.path.isdir(path)  # noqa: PTH112 - unlike Path.is_dir, it accepts names that are too long
    if is_folder and (known := vector_folder(Path(path))) and known.folder:
        size = sum(file.stat().st_size for inner in known.folder.files if (file := Path(path, inner)).is_file())
        return Sniff(known.name, *(known.look(path) if known.look else Promise()), size, None)
    sniffed = sniff_head(*read_head(path))  # raises InputMissing for other folders
    file_format = formats().get(sniffed.kind)
    return sniffed._replace(**file_format.look(path)._asdict()) if file_format and file_format.look else sniffed


def vector_folder(path: Path) -> VectorFormat | None:
    """Return the format of a folder of vectors, or None if it has none."""
    return next((known for known in formats().values() if known.folder and known.folder.claims(path)), None)


def read_head(path: str | Path) -> tuple[bytes, int, str | None]:
    """Return the first SNIFFED_BYTES of a file, decompressed, its size in bytes and its compression's name or None.

    Raise InputMissing if it is not a file or cannot be read, and DataError if its first bytes cannot be decompressed.
    """
    size = regular_size(path)
    with open_input(path) as (file, compression):
        return file.read(SNIFFED_BYTES), size, compression


def sniff_head(head: bytes, size: int, compression: str | None = None) -> Sniff:
    """Return the kind of data that start with `head`: the first SNIFFED_BYTES, decompressed, or all if there are fewer.

    size: the size of the file in bytes; compression: the name of its compression or None. Both go into the result.
    """
    whole = len(head) < SNIFFED_BYTES
    for name, reader in readers().items():
        promise = reader.sniff(head, whole)
        if promise is not None:
            if compression and not reader.compressible:
                return _unknown(size, compression, f"a compressed {name} file: decompress it first")
            return Sniff(name, *promise, size, compression)
    start = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    lines = head[start:].split(b"\n", 5)[:5]
    if len(lines) > 1 and all(VOCABULARY_LINE.fullmatch(line) for line in lines if line):
        return Sniff("vocabulary", None, None, start, size, compression)
    for magic, note in STRANGERS.items():
        if head.startswith(magic):
            return _unknown(size, compression, note)
    if kind := archive(head):
        return _unknown(size, compression, f"{kind}: unpack it first")
    header = HEADER.match(head)
    if SPARSE.match(head, header.end() if header else start):
        return _unknown(size, compression, "text with sparse rows (index:value): write every value of each row")
    note = "an empty file" if not head else "neither vectors nor a model: it does not start with a row of numbers"
    return _unknown(size, compression, note)


def _unknown(size: int, compression: str | None, note: str) -> Sniff:
    return Sniff("unknown", None, None, 0, size, compression, note)
