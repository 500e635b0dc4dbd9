"""A folder that model2vec and sentence-transformers load: `StaticModel.from_pretrained`, `SentenceTransformer`.

model.safetensors has the tensor `embeddings`, one row per word and a row of zeros for unknown words. tokenizer.json,
for the library tokenizers, maps words to rows, and splits text as splitting.py decides. A text's vector is the mean of
its words' vectors, which are not scaled to unit length. With int8, the tensor `weights` has the scale of each row, by
which both multiply it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import orjson

from w2vtrain.formats.safetensors import write_safetensors
from w2vtrain.formats.transforms import LazyRows
from w2vtrain.formats.vector_formats import FORMATS
from w2vtrain.formats.vector_formats.arrays import stored_rows
from w2vtrain.formats.vector_formats.contract import Code, Table
from w2vtrain.leaves.export.splitting import splitting_of
from w2vtrain.system.files import atomic_write

TENSORS, TOKENIZER, CONFIG, MODULES = FORMATS["model2vec"].files
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


CODE = {"model2vec": Code(write)}
