"""The sum of rows over all ranks, sent with one byte per value instead of four.

Nothing here decides which rows are exchanged. Each row becomes integers from -127 to 127 and a float32 scale of its
own, its largest absolute value / 127, so the error of a value is at most half the scale.

MPI cannot add up quantized rows, so each rank does it for its share of the rows: it gets them from all ranks, adds them
up in float32 in the order of ranks, quantizes the sums, and sends them to all. All ranks decode the same bytes, so
their sums are equal, whichever messages came first. Errors are not carried over to the next exchange, so that
checkpoints need no more than the weights.
"""

from collections.abc import Callable

import numpy as np

from w2vtrain.leaves.mpi.communicator import Communicator
from w2vtrain.leaves.mpi.row_kernels import add_quantized, quantize, row_bytes, views


class QuantizedSum:
    """Adds up rows over all ranks, and keeps its memory for the next sum: new memory each time would be slow.

    spread: calls a kernel on all threads of the rank, each with its part of the arrays (n, ...) that follow.
    """

    def __init__(self, comm: Communicator, spread: Callable[..., None]) -> None:
        self._comm, self._spread = comm, spread
        self._memory: dict[str, np.ndarray] = {}

    def __call__(self, values: np.ndarray) -> int:
        """Replace values (n, columns) float32 by their sum over all ranks, quantized if that is smaller.

        Return the number of bytes that this rank's rows take.
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
