"""Change trained vectors: add output vectors, center, remove principal components, scale to unit length, reorder.

Matrices are float32 and sums are float64, block by block. Nothing is read or written here.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, UsageError, spelled
from w2vtrain.formats.safetensors import row_blocks

EXPORTS = ("in", "out", "in+out", "blend")
"""The choices of `exported`."""

MAX_COVARIANCE_DIM = 4096
"""Maximum d for principal components: the time for them grows with d³, and is about 15 s for this d."""


class LazyRows:
    """A matrix of which only the rows that are read take memory: `write_vectors` takes it in place of an array.

    shape: (V, d); read: called with a slice of rows, returns an array of these; dtype: of that array.
    """

    ndim = 2

    def __init__(self, shape: tuple[int, int], read: Callable[[slice], NDArray[Any]], dtype: Any = np.float32) -> None:
        self.shape, self.size, self.dtype = shape, shape[0] * shape[1], np.dtype(dtype)
        self.nbytes, self._read = self.size * self.dtype.itemsize, read

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        return self._read(rows)


def combined(
    input: NDArray[np.float32], output: NDArray[np.float32], weight: float, offset: NDArray[np.float64]
) -> LazyRows:
    """Return the rows input + weight * output - offset, (V, d) float32. A value too large for float32 is infinite.

    input, output: (V, d) float32; offset: (d,).
    """
    with np.errstate(over="ignore"):
        scale, shift = np.float32(weight), offset.astype(np.float32)

    def read(rows: slice) -> NDArray[np.float32]:
        with np.errstate(over="ignore", invalid="ignore"):
            values: NDArray[np.float32] = output[rows] * scale
            values += input[rows]
            values -= shift
        return values

    return LazyRows((len(input), input.shape[1]), read)


def exported(
    input: NDArray[np.float32], output: NDArray[np.float32], which: str, share: float, where: str | Path
) -> NDArray[np.float32] | LazyRows:
    """Return the requested vectors of a model, one row per word, without a copy.

    Parameters
    ----------
    input, output : ndarray of float32, shapes (V, d) and (R, d)
        The input and output vectors; they may be strided views.
    which : str
        "in" for the input vectors; "out" for the output vectors; "in+out" for their sums, which Pennington et al.
        (2014) publish, because both matrices represent the same words; "blend" for `blend`.
    share : float
        What `blend` takes; nothing else needs it.
    where : str or Path
        The file that error messages name.

    Raises
    ------
    UsageError
        If `which` is none of these.
    DataError
        If `output` is requested and R is not V, as for a tree's inner nodes.

    """
    if which not in EXPORTS:
        raise UsageError(f"{where}: {which!r} is not one of {', '.join(EXPORTS)}")
    if which == "in":
        return input
    if output.shape != input.shape:
        raise DataError(
            f"{where}: the model has {len(input):,} words of {input.shape[1]} values and {len(output):,} output vectors"
            f" of {output.shape[1]} values, which do not belong to words: only its input vectors can be written"
            f" ({spelled('export', 'in')})"
        )
    if which == "out":
        return output
    return combined(input, output, 1.0, np.zeros(input.shape[1])) if which == "in+out" else blend(input, output, share)


def blend(input: NDArray[np.float32], output: NDArray[np.float32], share: float) -> LazyRows:
    """Return centered input vectors plus centered output vectors, which are first scaled to `share` of their length.

    The lengths are root mean squares over all words; each architecture has its share (architectures.contract).
    The mean of the output vectors is long, because most scores of noise words are negative; it
    says nothing about single words.
    """
    means, lengths = zip(*(_moments(matrix) for matrix in (input, output)), strict=True)
    weight = share * lengths[0] / lengths[1] if lengths[1] > 0 else 0.0
    return combined(input, output, weight, means[0] + weight * means[1])


def _mean(matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    mean = np.zeros(matrix.shape[1])
    for rows in row_blocks(matrix):
        mean += matrix[rows].sum(axis=0, dtype=np.float64)
    return mean / len(matrix)


def _moments(matrix: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
    """Return the mean row (d,), and the root mean square of the lengths of the rows after centering.

    The length is 0 if it is lost in the rounding of the mean.
    """
    mean, squares = _mean(matrix), 0.0
    for rows in row_blocks(matrix):
        squares += float(((matrix[rows] - mean) ** 2).sum())
    length = math.sqrt(squares / len(matrix))
    return mean, length if length > 1e-6 * float(np.linalg.norm(mean)) else 0.0


def transform(
    matrix: NDArray[np.float32], where: str | Path, center: bool = False, remove_top: int = 0, normalize: bool = False
) -> None:
    """Change vectors in place: center them, remove principal components, and scale them to unit length, in this order.

    Parameters
    ----------
    matrix : ndarray of float32, shape (V, d)
        One row per word, all finite.
    where : str or Path
        The file that error messages name.
    center : bool, default False
        Subtract the mean of all vectors from each.
    remove_top : int, default 0
        Center the vectors and remove their projections on the first `remove_top` principal components (Mu & Viswanath
        2018, "All-but-the-top").
    normalize : bool, default False
        Divide each vector by its length. Zero vectors do not change.

    Raises
    ------
    UsageError
        If `remove_top` is d or more, or if d is larger than V or MAX_COVARIANCE_DIM. The covariance thus takes at most
        twice the memory of `matrix`; computing its eigenvectors takes five times that for a moment, but less than
        1 GiB.
    DataError
        If a result is too large for float32.

    """
    if remove_top:
        check_components(matrix.shape, remove_top, where)
    try:
        with np.errstate(over="raise", invalid="ignore"):
            if center or remove_top:
                mean = _mean(matrix)
                _change(matrix, lambda block: block - mean)
            if remove_top:
                components = _top_components(matrix, remove_top)
                _change(matrix, lambda block: block - (block @ components) @ components.T)
            if normalize:
                _change(matrix, unit_rows)
    except FloatingPointError:
        raise DataError(f"{where}: a changed vector has a value that is too large for float32") from None


def check_components(shape: tuple[int, ...], count: int, where: str | Path) -> None:
    """Raise UsageError unless `count` principal components can be removed from a matrix of this shape."""
    V, d = shape
    if count >= d:
        raise UsageError(f"{where}: {spelled('remove_top', count)} would leave nothing of vectors of {d:,} dimensions")
    if d > MAX_COVARIANCE_DIM:
        raise UsageError(
            f"{where}: {spelled('remove_top')} takes vectors of at most {MAX_COVARIANCE_DIM:,} dimensions, not {d:,}"
        )
    if d > V:
        raise UsageError(
            f"{where}: {spelled('remove_top')} needs at least {d:,} vectors of {d:,} dimensions, but there are {V:,}"
        )


def _change(matrix: NDArray[np.float32], function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> None:
    """Apply a function to the rows of a matrix (V, d), in place."""
    for rows in row_blocks(matrix):
        # Squares of float32 neither overflow nor underflow in float64.
        matrix[rows] = function(matrix[rows].astype(np.float64))


def _top_components(matrix: NDArray[np.float32], count: int) -> NDArray[np.float64]:
    """Return the first `count` principal components of a centered matrix (V, d), as orthonormal columns (d, count)."""
    covariance = np.zeros((matrix.shape[1], matrix.shape[1]))
    for rows in row_blocks(matrix):
        block = matrix[rows].astype(np.float64)
        covariance += block.T @ block
    vectors: NDArray[np.float64] = np.linalg.eigh(covariance)[1]  # in ascending order of their eigenvalues
    return vectors[:, -count:].copy()


def unit_rows(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Return rows (n, d) divided by their lengths, in float64; rows of zeros do not change."""
    wide = matrix.astype(np.float64, copy=False)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    scaled: NDArray[np.float64] = wide / np.where(lengths > 0, lengths, 1)
    return scaled
