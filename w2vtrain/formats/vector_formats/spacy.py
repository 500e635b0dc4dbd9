"""A folder that `spacy.load` reads: a pipeline without components, with the vectors in its vocabulary.

The language is spaCy's "xx", any language; ``spacy.load(path, config={"nlp": {"lang": "de"}})`` takes another. The
tokenizer splits text as _words.py decides. If no word has upper-case letters, spaCy (3.6 and newer) looks vectors up by
the lower-case form of each token.
"""

import json
import re
import struct
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, TruncatedFile
from w2vtrain.formats.vector_formats import npy
from w2vtrain.formats.vector_formats._arrays import MatrixFile, collected, header_of
from w2vtrain.formats.vector_formats._words import splitting_of
from w2vtrain.formats.vector_formats.contract import Folder, Promise, Sniff, Table, VectorFormat, Vectors
from w2vtrain.system.files import atomic_write
from w2vtrain.system.reading import read_small, regular_size

META, CONFIG, TOKENIZER = "meta.json", "config.cfg", "tokenizer"
VECTORS, KEYS, STRINGS, SETTINGS, LOOKUPS = (
    f"vocab/{name}" for name in ("vectors", "key2row", "strings.json", "vectors.cfg", "lookups.bin")
)
PIPELINE = b"""[nlp]
lang = "xx"
pipeline = []
disabled = []
before_creation = null
after_creation = null
after_pipeline_creation = null
batch_size = 1000

[nlp.tokenizer]
@tokenizers = "spacy.Tokenizer.v1"

[components]
"""
ORTH, LOWER = 65, 66
"""spaCy's numbers of attributes of tokens: their text, and its lower-case form."""
MASK = (1 << 64) - 1
LAST_CHARACTER = 0xFFFF
"""The last character that the tokenizer may treat as punctuation."""


def hash64(data: bytes) -> int:
    """Return MurmurHash64A of bytes, seed 1, by which spaCy names strings (A. Appleby, MurmurHash2, public domain)."""
    m = 0xC6A4A7935BD1E995
    h = 1 ^ (len(data) * m & MASK)
    whole = len(data) & ~7
    for (k,) in struct.iter_unpack("<Q", data[:whole]):
        k = k * m & MASK
        k = (k ^ k >> 47) * m & MASK
        h = (h ^ k) * m & MASK
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & MASK
    h = (h ^ h >> 47) * m & MASK
    return h ^ h >> 47


@cache
def separators() -> str:
    """Return a regular expression for one character that is not part of a word of letters and combining marks."""
    kinds = "".join(unicodedata.category(chr(code))[0] for code in range(LAST_CHARACTER + 1))
    ranges = (f"\\u{run.start():04x}-\\u{run.end() - 1:04x}" for run in re.finditer("[NPS]+", kinds))
    return f"[{''.join(ranges)}]"


def write(folder: Path, table: Table) -> None:
    """Write the files of the folder."""
    import msgspec

    V, d = table.matrix.shape
    is_lower, only_letters = splitting_of(table.words)
    keys = [hash64(word) for word in table.words]
    if len(set(keys)) != V:
        raise DataError("two words have the same 64-bit hash in spaCy")
    meta = {
        "lang": "xx", "name": "w2vtrain_vectors", "version": "0.0.0", "pipeline": [], "components": [],
        "vectors": {"width": d, "vectors": V, "keys": V, "name": "w2vtrain", "mode": "default"},
    }  # fmt: skip
    rules: dict[str, Any] = {"faster_heuristics": True}
    if only_letters:
        one = separators()
        rules |= {"prefix_search": f"^{one}", "suffix_search": f"{one}$", "infix_finditer": one}
    (folder / "vocab").mkdir()
    parts: dict[str, bytes] = {
        META: json.dumps(meta).encode(),
        CONFIG: PIPELINE,
        TOKENIZER: msgspec.msgpack.encode(rules),
        KEYS: msgspec.msgpack.encode(dict(zip(keys, range(V), strict=True))),
        STRINGS: msgspec.json.encode([word.decode() for word in table.words]),
        SETTINGS: json.dumps({"mode": "default", "attr": LOWER if is_lower else ORTH}).encode(),
        LOOKUPS: msgspec.msgpack.encode({}),
    }
    for name, data in parts.items():
        with atomic_write(folder / name) as file:
            file.write(data)
    with atomic_write(folder / VECTORS) as file:
        npy.write(file, table)


def look(path: str | Path) -> Promise:
    """Return the rows and d of the vectors."""
    with Path(path, VECTORS).open("rb") as file:
        return Promise(*header_of(file.read(1 << 14)))


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read the vectors of a pipeline: of several words with one row, each has it."""
    import msgspec

    try:
        words = msgspec.json.decode(_content(path, STRINGS), type=list[str])
        rows_of = msgspec.msgpack.decode(_content(path, KEYS), type=dict[int, int])
        encoded = [word.encode() for word in words]
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DataError(f"{path}: the strings or keys of the vocabulary are damaged: {error}") from error
    file = Path(path, VECTORS)
    array = MatrixFile.of(file)
    V, d = array.shape
    if array.end > regular_size(file):
        raise TruncatedFile(f"{file}: the header promises {V:,} vectors, more than the file has")
    rows_and_words = [(row, word) for word in encoded if (row := rows_of.get(hash64(word))) is not None and word]
    if any(not 0 <= row < V for row, _ in rows_and_words):
        raise DataError(f"{path}: a key has a row that does not exist")
    if len(rows_and_words) * d * 4 > 100 * (1 << 20) + 100 * sniffed.size:
        raise DataError(
            f"{path}: {len(rows_and_words):,} words share {V:,} vectors, too many for the size of the files"
        )
    rows_and_words.sort(key=lambda pair: pair[0])
    order: NDArray[np.int64] = np.array([row for row, _ in rows_and_words], np.int64)
    names = [word for _, word in rows_and_words]
    rows = array.rows(names, None if np.array_equal(order, np.arange(len(order))) else order)
    return collected(path, sniffed, (len(names), d), rows, lenient, limit)


def _content(path: str | Path, name: str) -> bytes:
    file = Path(path, name)
    return read_small(file, regular_size(file))


FORMAT = VectorFormat(
    name="spacy", suffixes=(), sniff=lambda head, whole: None, read=read, write=write, look=look, compressible=False,
    folder=Folder((META, VECTORS, KEYS, STRINGS), (META, CONFIG, TOKENIZER, VECTORS, KEYS, STRINGS, SETTINGS, LOOKUPS)),
)  # fmt: skip
