"""The compiled loops over the rows that ranks exchange: their changes, and rows with one byte per value.

Nothing here communicates: see synchronization.py and quantized_sum.py, which import folders that the cache of machine
code does not hash, and so have no kernels of their own.
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


@kernel()
def take_changes(array: np.ndarray, common: np.ndarray, rows: np.ndarray, changes: np.ndarray) -> None:
    """Set changes (n, columns) to the change of each of rows (n,) since the last synchronization."""
    for i in range(len(rows)):
        r = rows[i]
        for c in range(common.shape[1]):
            changes[i, c] = array[r, c] - common[r, c]


@kernel()
def scale_along(direction: np.ndarray, total: np.ndarray, scale: np.ndarray, along: np.ndarray) -> None:
    """Multiply the part of each row of total (n, columns) along a unit vector (columns,) by scale (n,).

    along: (n,) float32, set to the length of that part. It is added up column by column, because a sum over a row in
    SIMD lanes would depend on their number, and the ranks' replicas on their processors.
    """
    for i in range(len(total)):
        along[i] = 0
    for c in range(total.shape[1]):
        for i in range(len(total)):
            along[i] += total[i, c] * direction[c]
    for i in range(len(total)):
        change = (scale[i] - np.float32(1)) * along[i]
        for c in range(total.shape[1]):
            total[i, c] += change * direction[c]


@kernel()
def apply_changes(
    array: np.ndarray, common: np.ndarray, rows: np.ndarray, total: np.ndarray, share: np.ndarray
) -> None:
    """Add share (n,) times the summed changes total (n, columns) to the common values of rows (n,); copy these back."""
    for i in range(len(rows)):
        r = rows[i]
        for c in range(common.shape[1]):
            common[r, c] += share[i] * total[i, c]
            array[r, c] = common[r, c]
