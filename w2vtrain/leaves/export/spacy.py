"""A folder that `spacy.load` reads: a pipeline without components, with the vectors in its vocabulary.

The language is spaCy's "xx", any language; ``spacy.load(path, config={"nlp": {"lang": "de"}})`` takes another. The
tokenizer splits text as splitting.py decides. If no word has upper-case letters, spaCy (3.6 and newer) looks vectors up
by the lower-case form of each token.
"""

import json
import re
import struct
import sys
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
SYMBOLS = f"""
IS_ALPHA IS_ASCII IS_DIGIT IS_LOWER IS_PUNCT IS_SPACE IS_TITLE IS_UPPER LIKE_URL LIKE_NUM LIKE_EMAIL IS_STOP
IS_OOV_DEPRECATED IS_BRACKET IS_QUOTE IS_LEFT_PUNCT IS_RIGHT_PUNCT IS_CURRENCY
{" ".join(f"FLAG{n}" for n in range(19, 64))}
ID ORTH LOWER NORM SHAPE PREFIX SUFFIX LENGTH CLUSTER LEMMA POS TAG DEP ENT_IOB ENT_TYPE HEAD SENT_START SPACY PROB
LANG ADJ ADP ADV AUX CONJ CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X EOL SPACE
{" ".join(f"DEPRECATED{n:03}" for n in range(1, 277))}
PERSON NORP FACILITY ORG GPE LOC PRODUCT EVENT WORK_OF_ART LANGUAGE LAW DATE TIME PERCENT MONEY QUANTITY ORDINAL
CARDINAL acomp advcl advmod agent amod appos attr aux auxpass cc ccomp complm conj cop csubj csubjpass dep det dobj
expl hmod hyph infmod intj iobj mark meta neg nmod nn npadvmod nsubj nsubjpass num number oprd obj obl parataxis
partmod pcomp pobj poss possessive preconj prep prt punct quantmod relcl rcmod root xcomp acl ENT_KB_ID MORPH ENT_ID
IDX _
"""
"""The strings that spaCy names by their places in this list, from 1, instead of by their hashes."""


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
    """Return a regular expression for one character that separates words of letters and combining marks.

    It leaves out white space, at which spaCy splits first.
    """
    characters = map(chr, range(sys.maxunicode + 1))
    kinds = "".join("Z" if c.isspace() else unicodedata.category(c)[0] for c in characters)
    ranges = (f"\\U{run.start():08x}-\\U{run.end() - 1:08x}" for run in re.finditer("[^LMZ]+", kinds))
    return f"[{''.join(ranges)}]"


def write(folder: Path, table: Table) -> None:
    """Write the files of the folder."""
    import msgspec

    V, d = table.matrix.shape
    is_lower, only_letters = splitting_of(table.words)
    rows = {hash64(word): row for row, word in enumerate(table.words)}
    places = {symbol.encode(): place for place, symbol in enumerate(SYMBOLS.split(), 1)}
    # Beside their hashes, by which older versions of spaCy look up the newest symbols.
    rows |= {places[word]: row for row, word in enumerate(table.words) if word in places}
    meta = {
        "lang": "xx", "name": "w2vtrain_vectors", "version": "0.0.0", "pipeline": [], "components": [],
        "vectors": {"width": d, "vectors": V, "keys": len(rows), "name": "w2vtrain", "mode": "default"},
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
        KEYS: msgspec.msgpack.encode(rows),
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
