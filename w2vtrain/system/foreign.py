"""Recognition of files that are mistaken for text or vectors, by their first bytes: archives, pictures, UTF-16.

compression.py has decompressed the formats that it knows before; data that still look compressed were so twice.
"""

import re

from w2vtrain.errors import DataError

HEAD_BYTES = 512
"""Number of bytes that `foreign` needs."""
UNPACK = "not text: unpack it, and name the files that were in it"
EXTRACT = "not text: extract its text first, or name other files"
DECOMPRESS = "not text: decompress it; only gzip, bzip2, xz and zstd, applied once, are read"
PICKLE = (
    "a pickle, as written by gensim's save(): pickles are never opened, because they can run any code; in gensim, load"
    " it and write the vectors with save_word2vec_format, or pass the model to `from_gensim` of w2vtrain's class of the"
    " same name: Word2Vec, FastText, Doc2Vec or KeyedVectors"
)
PARTS = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"word/", b"xl/", b"ppt/", b"mimetypeapplication/")
"""How the first name in a zip archive begins if it is a document of an office program, or a book."""
CHECKSUM = slice(148, 156)
"""Where the header of a tar archive has its checksum, in octal digits."""
KINDS = (
    (0, (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"), f"a zip archive, {UNPACK}"),
    (0, (b"!<arch>\n",), f"an ar archive, {UNPACK}"),
    (0, (b"7z\xbc\xaf\x27\x1c",), f"a 7z archive, {UNPACK}"),
    (0, (b"Rar!\x1a\x07",), f"a rar archive, {UNPACK}"),
    (0, (b"\x04\x22\x4d\x18", b"LZIP\x01", b"\x1f\x9d", b"\x5d\0\0"), f"compressed in another format, {DECOMPRESS}"),
    (0, (b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"), f"compressed twice, {DECOMPRESS}"),
    (0, (b"\x89PNG",), f"a PNG picture, {EXTRACT}"),
    (0, (b"\xff\xd8\xff",), f"a JPEG picture, {EXTRACT}"),
    (0, (b"GIF87a", b"GIF89a"), f"a GIF picture, {EXTRACT}"),
    (0, (b"%PDF-",), f"a PDF document, {EXTRACT}"),
    (0, (b"{\\rtf",), f"an RTF document, {EXTRACT}"),
    (0, (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",), f"a document of Microsoft Office, {EXTRACT}"),
    (0, (b"SQLite format 3\0",), f"an SQLite database, {EXTRACT}"),
    (0, (b"\x89HDF\r\n",), f"an HDF5 file, {EXTRACT}"),
    (0, (b"\x93NUMPY",), f"an array of NumPy, {EXTRACT}"),
    (0, (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"(lp0\n", b"(dp0\n", b"ccopy_reg\n"), PICKLE),
    (0, (b"RDX2\n", b"RDX3\n", b"X\n\0\0\0"), "data of R, not text: write text from R, as by writeLines"),
    (0, (b"FEA1\0",), "a Feather file of version 1: read it with pyarrow.feather, and write it as version 2"),
    (0, (b"\xff\xfe", b"\xfe\xff"), "UTF-16 or UTF-32 at byte 0, expected UTF-8: convert it with iconv"),
    (0, (b"version https://git-lfs.",), "a pointer of Git LFS, not the file itself: fetch it with git lfs pull"),
)
"""Where each kind of file has which bytes, what it is, and what to do about it."""


def foreign(head: bytes) -> str | None:
    """Return what data are that begin with `head`, decompressed, and what to do about it; None for other data."""
    if head.startswith(b"PK") and head.startswith(PARTS, 30):
        return f"an office document, {EXTRACT}; save a table as CSV"
    known = next((kind for at, magic, kind in KINDS if head.startswith(magic, at)), None)
    return f"a tar archive, {UNPACK}" if known is None and _is_tar(head) else known


def _is_tar(head: bytes) -> bool:
    """Return whether data begin with the header of a tar archive: old ones have no signature, and text may have it."""
    head = head[:HEAD_BYTES]
    digits = head[CHECKSUM].strip(b" \0")
    if len(head) < HEAD_BYTES or b"\0" not in head or not re.fullmatch(rb"[0-7]+", digits):
        return False
    return sum(head) - sum(head[CHECKSUM]) + 8 * ord(" ") == int(digits, 8)


def refuse_foreign(head: bytes, name: str) -> None:
    """Raise DataError, with the file's `name`, if data that begin with `head` are of another kind than text."""
    if kind := foreign(head):
        raise DataError(f"{name}: {kind}")
