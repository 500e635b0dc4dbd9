"""Rows with one byte per value instead of four.

Nothing here communicates. Each row becomes integers from -127 to 127 and a float32 scale of its own, its largest
absolute value / 127, so the error of a value is at most half the scale.
"""

from typing import Any

import numpy as np

from w2vtrain.kernels.jit import kernel

MAX_INTEGER = 127.0
SCALE_BYTES = 4
"""The scale precedes the integers of a row."""
MIN_SCALE = 1e-30
"""Rows with smaller scales count as 0: their inverse would overflow, and no weight is small enough to notice them."""


def row_bytes(columns: int) -> int:
    """Return the bytes of a quantized row: a multiple of 4, so that all scales are aligned."""
    return SCALE_BYTES + -(-columns // 4) * 4


@kernel()
def quantize(values: np.ndarray, integers: np.ndarray, scales: np.ndarray) -> None:
    """Quantize values (n, columns) float32, halves to the even integer. A row with NaN or infinity gets the scale NaN.

    integers: (n, row_bytes) int8, whose first SCALE_BYTES columns are skipped; scales: the same memory as float32.
    """
    for i in range(len(values)):
        top, odd = np.float32(0), np.float32(0)
        for c in range(values.shape[1]):
            top = max(top, abs(values[i, c]))
            odd += values[i, c] * np.float32(0)  # NaN if the value is NaN or infinite
        scale = top / np.float32(MAX_INTEGER) + odd
        if scale > np.float32(MIN_SCALE):
            inverse = np.float32(1) / scale
            for c in range(values.shape[1]):
                integers[i, SCALE_BYTES + c] = np.int8(np.rint(values[i, c] * inverse))
        else:
            for c in range(values.shape[1]):
                integers[i, SCALE_BYTES + c] = 0
            scale = odd
        scales[i, 0] = scale


@kernel()
def add_quantized(integers: np.ndarray, scales: np.ndarray, total: np.ndarray) -> None:
    """Add quantized rows to total (n, columns) float32."""
    for i in range(len(total)):
        scale = scales[i, 0]
        for c in range(total.shape[1]):
            total[i, c] += scale * np.float32(integers[i, SCALE_BYTES + c])


def views(rows: np.ndarray) -> tuple[Any, Any]:
    """Return quantized rows as the integers and the scales that the kernels take."""
    return rows.view(np.int8), rows.view(np.float32)
