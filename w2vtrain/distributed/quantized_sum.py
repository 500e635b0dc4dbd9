"""The sum of rows over all ranks, sent with one byte per value instead of four.

Nothing here decides which rows are exchanged. Each row becomes integers from -127 to 127 and a float32 scale of its
own, its largest absolute value / 127, so the error of a value is at most half the scale.

MPI cannot add up quantized rows, so each rank does it for its share of the rows: it gets them from all ranks, adds them
up in float32 in the order of ranks, quantizes the sums, and sends them to all. All ranks decode the same bytes, so
their sums are equal, whichever messages came first. Errors are not carried over to the next exchange, so that
checkpoints need no more than the weights.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from w2vtrain.distributed.communicator import Communicator
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


class QuantizedSum:
    """Adds up rows over all ranks, and keeps its memory for the next sum: new memory each time would be slow.

    spread: calls a kernel on all threads of the rank, each with its part of the arrays (n, ...) that follow.
    """

    def __init__(self, comm: Communicator, spread: Callable[..., None]) -> None:
        self._comm, self._spread = comm, spread
        self._memory: dict[str, np.ndarray] = {}

    def __call__(self, values: np.ndarray) -> int:
        """Replace values (n, columns) float32 by their sum over all ranks, quantized if that is smaller.

        Return the bytes of this rank's rows.
        """
        comm, width = self._comm, row_bytes(values.shape[1])
        if comm.size == 1 or width >= values.shape[1] * values.itemsize:
            comm.allreduce(values)
            return values.nbytes
        bounds = np.linspace(0, len(values), comm.size + 1).astype(np.int64)
        mine = slice(int(bounds[comm.rank]), int(bounds[comm.rank + 1]))
        rows, own = self._rows("all", len(values), width), values[mine]
        received = self._rows("received", comm.size * len(own), width)
        self._spread(quantize, values, *views(rows))
        comm.alltoall_rows(rows, bounds, received)
        own[...] = 0
        for theirs in received.reshape(comm.size, len(own), width):
            self._spread(add_quantized, *views(theirs), own)
        self._spread(quantize, own, *views(rows[mine]))
        comm.allgather_rows(rows, bounds)
        values[...] = 0
        self._spread(add_quantized, *views(rows), values)
        return rows.nbytes

    def _rows(self, name: str, rows: int, width: int) -> np.ndarray:
        """Return memory (rows, width) uint8 for quantized rows."""
        if name not in self._memory or self._memory[name].size < rows * width:
            self._memory[name] = np.zeros(rows * width, np.uint8)
        return self._memory[name][: rows * width].reshape(rows, width)
