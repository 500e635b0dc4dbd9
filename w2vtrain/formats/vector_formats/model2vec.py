"""A folder that model2vec and sentence-transformers load: `StaticModel.from_pretrained`, `SentenceTransformer`.

model.safetensors has the tensor `embeddings`, one row per word and a row of zeros for unknown words. tokenizer.json,
for the library tokenizers, maps words to rows, and splits text as _words.py decides. A text's vector is the mean of its
words' vectors, which are not scaled to unit length. With int8, the tensor `weights` has the scale of each row, by which
both multiply it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import orjson

from w2vtrain.errors import DataError
from w2vtrain.formats.safetensors import open_safetensors, write_safetensors
from w2vtrain.formats.transforms import LazyRows
from w2vtrain.formats.vector_formats._arrays import MatrixFile, as_float32, check_matrix, collected, stored_rows
from w2vtrain.formats.vector_formats._words import splitting_of
from w2vtrain.formats.vector_formats.contract import Folder, Promise, Sniff, Table, VectorFormat, Vectors
from w2vtrain.system.files import atomic_write
from w2vtrain.system.json_text import json_object
from w2vtrain.system.reading import read_small, regular_size

TENSORS, TOKENIZER, CONFIG, MODULES = "model.safetensors", "tokenizer.json", "config.json", "modules.json"
UNKNOWN_TOKEN = "[UNK]"
STATIC = "sentence_transformers.models.StaticEmbedding"


def write(folder: Path, table: Table) -> None:
    """Write the files of the folder."""
    rows, scales = stored_rows(table)
    V, d = rows.shape

    def padded(at: slice) -> Any:
        """Return rows, with a row of zeros after the last."""
        block = rows[slice(at.start, min(at.stop, V))]
        return block if at.stop <= V else np.concatenate([block, np.zeros((1, d), block.dtype)])

    tensors: dict[str, Any] = {"embeddings": LazyRows((V + 1, d), padded, table.dtype)}
    if scales is not None:
        tensors["weights"] = np.append(scales, np.float32(0))
    write_safetensors(folder / TENSORS, tensors, {})
    (is_lower, only_letters), words = splitting_of(table.words), [word.decode() for word in table.words]
    unknown = UNKNOWN_TOKEN
    while unknown in words:
        unknown += "_"
    pattern = {"type": "Split", "pattern": {"Regex": r"[^\p{L}\p{M}]+"}, "behavior": "Removed", "invert": False}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": len(words), "content": unknown, **special}],
        "normalizer": {"type": "Lowercase"} if is_lower else None,
        "pre_tokenizer": pattern if only_letters else {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {**{word: row for row, word in enumerate(words)}, unknown: len(words)},
            "unk_token": unknown,
        },
    }
    config = {
        "model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": d,
        "normalize": False, "embedding_dtype": table.dtype,
    }  # fmt: skip
    modules = [{"idx": 0, "name": "0", "path": ".", "type": STATIC}]
    for name, values in ((TOKENIZER, tokenizer), (CONFIG, config), (MODULES, modules)):
        with atomic_write(folder / name) as file:
            file.write(orjson.dumps(values))


def look(path: str | Path) -> Promise:
    """Return V and d; if another program wrote the folder, V may include unknown words."""
    with open_safetensors(Path(path, TENSORS)) as box:
        shape = box.shape("embeddings")
    ours = FORMAT.folder is not None and FORMAT.folder.is_ours(Path(path))
    return Promise(shape[0] - ours, shape[1]) if len(shape) == 2 else Promise()


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read a folder whose tokenizer has a vocabulary of whole words."""
    file = Path(path, TOKENIZER)
    model = json_object(read_small(file, regular_size(file)), f"{file} is").get("model")
    if not isinstance(model, dict) or model.get("type") != "WordLevel" or not isinstance(model.get("vocab"), dict):
        raise DataError(f"{file}: the tokenizer has no vocabulary of whole words (WordLevel), but parts of words")
    vocabulary, unknown = model["vocab"], model.get("unk_token")
    with open_safetensors(Path(path, TENSORS)) as box:
        shape = box.shape("embeddings")
        weights = box.array("weights", ndim=1) if "weights" in box.names else None
        if len(shape) != 2 or sorted(vocabulary.values(), key=str) != sorted(range(shape[0]), key=str):
            raise DataError(f"{path}: {len(vocabulary):,} words do not number the rows of {list(shape)} embeddings")
        dtype, start = box.place("embeddings")
    check_matrix(shape, dtype, path, scaled=weights is not None)
    if weights is not None and (weights.dtype.kind != "f" or len(weights) != shape[0]):
        raise DataError(f"{path}: {shape[0]:,} embeddings, but {len(weights):,} weights of {weights.dtype}")
    names = sorted(vocabulary, key=vocabulary.__getitem__)
    if names[-1] == unknown:
        names.pop()
    try:
        words = [name.encode() for name in names]
    except UnicodeEncodeError as error:
        raise DataError(f"{file}: a word contains an unpaired surrogate, which is not valid UTF-8") from error
    scales = None if weights is None else as_float32(weights)
    rows = MatrixFile(Path(path, TENSORS), start, shape, dtype).rows(words, scales=scales)
    return collected(path, sniffed, (len(words), shape[1]), rows, lenient, limit)


FORMAT = VectorFormat(
    name="model2vec", suffixes=(), sniff=lambda head, whole: None, read=read, write=write,
    dtypes=("float32", "float16", "int8"), look=look, compressible=False,
    folder=Folder((TENSORS, TOKENIZER, CONFIG), (TENSORS, TOKENIZER, CONFIG, MODULES)),
)  # fmt: skip
