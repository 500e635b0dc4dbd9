"""A folder that `spacy.load` reads: a pipeline without components, with the vectors in its vocabulary.

The language is spaCy's "xx", any language; ``spacy.load(path, config={"nlp": {"lang": "de"}})`` takes another. The
tokenizer splits text as splitting.py decides. If no word has upper-case letters, spaCy (3.6 and newer) looks vectors up
by the lower-case form of each token.
"""

import json
import re
import struct
import unicodedata
from pathlib import Path
from typing import Any

from w2vtrain.formats.vector_formats import FORMATS
from w2vtrain.formats.vector_formats.arrays import write_npy
from w2vtrain.formats.vector_formats.contract import Code, Table
from w2vtrain.leaves.export.splitting import splitting_of
from w2vtrain.system.files import atomic_write

META, CONFIG, TOKENIZER, VECTORS, KEYS, STRINGS, SETTINGS, LOOKUPS = FORMATS["spacy"].files
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
        write_npy(file, table)


CODE = {"spacy": Code(write)}
