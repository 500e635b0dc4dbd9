"""Detection of what a file is from its first bytes: vectors, a model, a vocabulary, or a file often mistaken for them.

This module reads no further and ignores file names.
"""

import os
import re
from codecs import BOM_UTF8
from pathlib import Path

from w2vtrain.errors import DataError
from w2vtrain.formats.fasttext_file import READER as FASTTEXT
from w2vtrain.formats.fasttext_file import read_parts
from w2vtrain.formats.model_file import KEYED, MODEL, read_model
from w2vtrain.formats.vector_formats import binary, code, formats, text
from w2vtrain.formats.vector_formats.contract import Promise, Read, Sniff
from w2vtrain.formats.vector_formats.word2vec import (
    CONTROL,
    DECIMAL_COMMAS,
    HEADER,
    SPARSE,
    has_decimal_commas,
    is_matrix,
    names_columns,
    numbers_at_end,
)
from w2vtrain.system.foreign import foreign
from w2vtrain.system.reading import open_input, regular_size

SNIFFED_BYTES = 1 << 16
"""Number of bytes of decompressed data that `sniff` reads, if they have a line end."""
FIRST_LINE_BYTES = 1 << 20
"""How much more it reads to find one: a row of GloVe's text may have tens of thousands of values."""
VOCABULARY_LINE = re.compile(rb"[^ \t\n\r\v\f]+[ \t]+\d{1,18}[ \t]*\r?")
MATRIX = (
    "a matrix of numbers without words, as numpy.savetxt and TensorBoard write it: save the numbers with numpy.save as"
    " X.npy, and beside it their words, one per line, as X.words.txt"
)
ARROW_STREAM = (
    "an Arrow stream, which does not say how many rows it has: write the table as an Arrow file, for example with"
    " pyarrow.feather.write_feather"
)
OLD_MACINTOSH = "text whose lines end with CR (old Macintosh): convert it with tr '\\r' '\\n'"
WEB_PAGE = re.compile(rb"\s*<(!doctype )?html", re.IGNORECASE)
MODEL_FILES = (MODEL, KEYED, FASTTEXT)
"""The kinds of files that have more than vectors, in the order in which they are tried."""
MODEL_READERS = {MODEL.name: read_model, FASTTEXT.name: read_parts}
"""What reads a whole model, by the kind that `sniff` returns."""


def readers() -> list[str]:
    """Return the kinds of files that contain vectors, as `sniff` returns them."""
    return [*(reader.name for reader in MODEL_FILES), *(name for name, form in formats().items() if form.is_read)]


def reader_of(kind: str) -> Read | None:
    """Return what reads the vectors of a kind of file, whose module is imported; None if it has no vectors."""
    own = next((reader.read for reader in MODEL_FILES if reader.name == kind), None)
    return own or (code(kind).read if kind in formats() else None)


def sniff(path: str | Path) -> Sniff:
    """Return what a file is, judged by its first 64 KiB or its first line; the cost does not depend on the file's size.

    Raise the errors of `read_head`, and DataError for a folder that w2vtrain writes and does not read.
    """
    is_folder = os.path.isdir(path)  # noqa: PTH112 - unlike Path.is_dir, it accepts names that are too long
    if is_folder and (name := vector_folder(Path(path))):
        raise DataError(
            f"{path} is a folder of the format {name}, which is written and not read: name the file of vectors that it"
            " was made from"
        )
    sniffed = sniff_head(*read_head(path))  # raises InputMissing for other folders
    look = code(sniffed.kind).look if sniffed.kind in formats() else None
    if look is None:
        return sniffed
    found = look(path)
    if isinstance(found, str):
        return _unknown(sniffed.size, sniffed.compression, found)
    return sniffed._replace(**found._asdict())


def vector_folder(path: Path) -> str | None:
    """Return the format of a folder of vectors, whoever wrote it; None for any other folder."""
    folders = {name: form.files for name, form in formats().items() if form.files}
    return next((name for name, files in folders.items() if all((path / file).is_file() for file in files)), None)


def read_head(path: str | Path) -> tuple[bytes, int, str | None]:
    """Return the start of a file, decompressed, its size in bytes and its compression's name or None.

    Raise InputMissing if it is not a file or cannot be read, and DataError if its first bytes cannot be decompressed.
    """
    size = regular_size(path)
    with open_input(path) as (file, compression):
        head = file.read(SNIFFED_BYTES)
        return head if b"\n" in head else head + file.readline(FIRST_LINE_BYTES), size, compression


def sniff_head(head: bytes, size: int, compression: str | None = None) -> Sniff:
    """Return the kind of data that start with `head`: SNIFFED_BYTES or more, decompressed, or all if there are fewer.

    size: the size of the file in bytes; compression: the name of its compression or None. Both go into the result.
    """
    whole, plain = len(head) < SNIFFED_BYTES, head.removeprefix(BOM_UTF8)
    if is_matrix(plain, whole):
        return _unknown(size, compression, MATRIX)
    if names_columns(plain, whole):
        return _unknown(size, compression, "a table whose first line names columns (0, 1, 2, ...): delete that line")
    if b"\r" in head and b"\n" not in head and not CONTROL.search(head):
        return _unknown(size, compression, OLD_MACINTOSH)
    start = len(head) - len(plain)
    lines = plain.split(b"\n", 5)[:5]
    rows = [line for line in lines if line]
    is_vocabulary = len(lines) > 1 and bool(rows) and all(VOCABULARY_LINE.fullmatch(line) for line in rows)
    # The first word of a vocabulary may be a number, and then looks like a header. Rows of vectors have more values.
    header, found = HEADER.match(head), _recognized(head, whole)
    if is_vocabulary and (not found or (header and int(header[2]) > 1 and len(rows) > 1)):
        return Sniff("vocabulary", None, None, start, size, compression)
    if found and not (found[0] == "text" and b"\0" in head and foreign(head)):  # as a zip archive that stores text
        name, promise = found
        if compression and not (name in formats() and formats()[name].compressible):
            return _unknown(size, compression, f"a compressed {name} file: decompress it first")
        return Sniff(name, *promise, size, compression)
    if head.startswith(b"\xff\xff\xff\xff"):
        return _unknown(size, compression, ARROW_STREAM)
    if kind := foreign(head):
        return _unknown(size, compression, kind)
    if len(values := lines[0].split()[1:]) > 1 and has_decimal_commas(values):
        return _unknown(size, compression, f"text in which {DECIMAL_COMMAS}")
    if any(has_decimal_commas(line.rstrip().split(b";")[1:]) for line in lines[:2]):
        note = "write spaces and points, for example with tr ';,' ' .'"
        return _unknown(size, compression, f"text with ';' between numbers that have decimal commas: {note}")
    if WEB_PAGE.match(plain):
        return _unknown(size, compression, "a web page, not the file that it may link to: download that one")
    if SPARSE.match(head, header.end() if header else start):
        return _unknown(size, compression, "text with sparse rows (index:value): write every value of each row")
    for mark in (b",", b";"):
        if numbers_at_end(lines[:2][-1].rstrip().split(mark)) > 1:
            first, shown = lines[0].rstrip().split(mark), repr(mark.decode())
            note = f"text with {shown} between values: write spaces, for example with tr {shown} ' '"
            if not (first[0] and numbers_at_end(first)):
                note += ", and delete the first line, which names columns"
            return _unknown(size, compression, note)
    note = "an empty file" if not head else "neither vectors nor a model: it does not start with a row of numbers"
    later = text.sniff(plain.partition(b"\n")[2], whole)
    if later and (later.rows is not None or len(lines[1].split()[1:]) == later.dim):
        line = repr(lines[0][:60].decode(errors="replace").strip())
        note = f"rows of vectors after the line {line}: delete that line, or correct it if it is a row"
    return _unknown(size, compression, note)


def _recognized(head: bytes, whole: bool) -> tuple[str, Promise] | None:
    """Return the name of the reader of data that start with `head`, and what they promise; None if there is none.

    Text is last, because GloVe text has no signature: the first line of another format may look like a word and two
    numbers, too.
    """
    for reader in MODEL_FILES:
        if (promise := reader.sniff(head, whole)) is not None:
            return reader.name, promise
    for name, form in formats().items():
        if form.signature and re.match(form.signature, head):
            return name, Promise()
    for name, sniffs in (("binary", binary.sniff), ("text", text.sniff)):
        if (promise := sniffs(head, whole)) is not None:
            return name, promise
    return None


def _unknown(size: int, compression: str | None, note: str) -> Sniff:
    return Sniff("unknown", None, None, 0, size, compression, note)
