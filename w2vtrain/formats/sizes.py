"""Estimate the size of a file of vectors before it is written, from some of its rows."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2vtrain.formats.vector_formats import formats
from w2vtrain.formats.vector_formats.contract import Table
from w2vtrain.system.compression import packed

SAMPLED_ROWS = 1000
"""Rows that are written in memory."""
ENTRY_BYTES = 64
"""Bytes per word, besides the word itself, that a format of folders takes at most for its list of words."""


def estimated_size(
    path: str | Path, form: str, words: Sequence[str], matrix: NDArray[np.float32], dtype: str = "float32"
) -> int:
    """Return about how many bytes the outputs of a format take for V words and a vector (V, d) for each.

    path: the output, whose suffix may ask for compression; form: the name of the format. Rows at equal distances are
    written in memory; those of a format that is a folder are only counted.
    """
    chosen, places = formats()[form], np.linspace(0, len(words) - 1, min(SAMPLED_ROWS, len(words))).astype(np.int64)
    names = [words[i].encode("utf-8", "surrogatepass") for i in places.tolist()]
    if chosen.folder:
        size = sum(len(name) + ENTRY_BYTES for name in names) + matrix.shape[1] * len(names) * np.dtype(dtype).itemsize
    else:
        table, files = Table(names, matrix[places], np.ones(len(names), np.int64), dtype), io.BytesIO()
        with packed(files, path) as stream:
            chosen.write(stream, table)
        if chosen.companion:
            chosen.companion.write(files, table)
        size = len(files.getbuffer())
    return int(size * len(words) / len(names))
