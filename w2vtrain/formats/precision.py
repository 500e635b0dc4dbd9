"""Round vectors to float16 or int8, and restore them: float16 halves their size, and int8 quarters it.

int8 values have one scale per row: value = int8 * scale, where the largest value of the row becomes 127 or -127.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, spelled
from w2vtrain.formats.safetensors import row_blocks

MAX_INT8 = 127


def floating(dtype: Any) -> np.dtype[Any]:
    """Return the type as which vectors of a type are used: integers overflow, so float32 or float64 that holds them."""
    own: np.dtype[Any] = np.dtype(dtype)
    return np.result_type(own, np.float32) if own.kind in "iub" else own


def scales_of(matrix: Any) -> NDArray[np.float32]:
    """Return the (V,) scales of the rows of a matrix (V, d) for int8; 1 for rows of zeros."""
    scales = np.empty(len(matrix), np.float32)
    for rows in row_blocks(matrix):
        largest = np.abs(matrix[rows]).max(axis=1) / np.float32(MAX_INT8)
        scales[rows] = np.where(largest > 0, largest, 1)
    return scales


def rounded(block: NDArray[Any], dtype: str, scales: NDArray[np.float32] | None = None) -> NDArray[Any]:
    """Return rows (n, d) as a contiguous little-endian array of `dtype`: float32, float16 or int8.

    scales: those of the rows, (n,), which only int8 needs.
    """
    if dtype == "int8":
        assert scales is not None
        # Subnormal scales lose precision, so that a quotient may exceed 127.
        values = np.clip(np.rint(block / scales[:, None]), -MAX_INT8, MAX_INT8)
        return np.ascontiguousarray(values, dtype=np.int8)
    return np.ascontiguousarray(block, dtype=np.dtype(dtype).newbyteorder("<"))


def check_range(matrix: Any, words: Any, dtype: str, where: str | Path) -> None:
    """Raise DataError if a value is too large for float16."""
    if dtype != "float16":
        return
    largest = np.finfo(np.float16).max
    for rows in row_blocks(matrix):
        bad = (np.abs(matrix[rows]) > largest).any(axis=1)
        if bad.any():
            word = words[rows.start + int(bad.argmax())]
            raise DataError(
                f"{where}: the vector of {word!r} has a value beyond {largest:,.0f}, the largest of float16: scale the"
                f" vectors, or use {spelled('dtype', 'float32')}"
            )


def mean_cosine(matrix: Any, dtype: str) -> float:
    """Return the mean cosine between the rows of a matrix (V, d) and the rows that are read back.

    Rows of zeros count 1, and rows of which only zeros are left count 0.
    """
    total, scales = 0.0, scales_of(matrix) if dtype == "int8" else np.ones(len(matrix), np.float32)
    for rows in row_blocks(matrix):
        block = np.asarray(matrix[rows], np.float64)
        kept = rounded(matrix[rows], dtype, scales[rows]) * scales[rows, None].astype(np.float64)
        lengths = np.linalg.norm(block, axis=1) * np.linalg.norm(kept, axis=1)
        products = np.einsum("ij,ij->i", block, kept)
        total += float(np.where(lengths > 0, products / np.where(lengths > 0, lengths, 1), ~block.any(axis=1)).sum())
    return total / len(matrix)
