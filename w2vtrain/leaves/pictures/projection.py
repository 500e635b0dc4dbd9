"""Project vectors onto two dimensions: principal components, or UMAP and t-SNE, whose packages are optional.

Nothing is drawn here.
"""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.formats.transforms import unit_rows

Points = NDArray[np.float64]
INSTALL = "pip install 'w2vtrain[map]'"
MIN_WORDS = 5
"""Fewest words that UMAP and t-SNE accept."""
ROUNDING = 1e-12
"""Differences of unit vectors below this are errors of rounding."""


class Projection(NamedTuple):
    """Points (n, 2) float64 of vectors, and how they were found, as a phrase for readers."""

    points: Points
    method: str


def project(matrix: NDArray[Any], method: str = "pca", seed: int = 1) -> Projection:
    """Return points of the rows of `matrix` (n, d), scaled to length 1 first, so that directions count as in cosines.

    method: a name from METHODS. Equal input gives equal points; `seed` changes those of umap and tsne.

    Raise ConfigError if the method's package is not installed, and UsageError for too few words or an unknown method.
    """
    check_method(method)
    if method != "pca" and len(matrix) < MIN_WORDS:
        raise UsageError(f"the method {method} needs at least {MIN_WORDS} words, not {len(matrix)}: use pca")
    rows = unit_rows(matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of umap and tsne: that a seed means one thread, and for few words
        return METHODS[method](rows, seed)


def check_method(method: str) -> None:
    """Raise UsageError for an unknown method, and ConfigError if its package is not installed. Import nothing."""
    if method not in METHODS:
        raise UsageError(f"unknown method {method!r}: use {', '.join(METHODS)}")
    module, distribution = PACKAGES.get(method, ("", ""))
    if module and find_spec(module) is None:
        raise ConfigError(f"the method {method} needs the package {distribution}: {INSTALL}; pca does not")


def _pca(rows: Points, seed: int) -> Projection:
    """Project onto the two directions of largest variance; their signs make the largest weight of each positive."""
    centered = rows - rows.mean(axis=0)
    centered[np.abs(centered) < ROUNDING] = 0  # equal rows are one point
    variances, directions = np.linalg.eigh(centered.T @ centered)
    variances, directions = variances[::-1][:2], directions[:, ::-1][:, :2]
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])])
    points = np.zeros((len(rows), 2))
    points[:, : directions.shape[1]] = centered @ (directions * signs)
    total = float(np.square(centered).sum())
    kept = " and ".join(f"{max(variance, 0) / total if total else 0:.0%}" for variance in variances)
    return Projection(points, f"PCA of unit vectors: left to right and bottom to top, {kept} of the variance")


def _umap(rows: Points, seed: int) -> Projection:
    import umap

    model = umap.UMAP(
        n_neighbors=min(15, len(rows) - 1), metric="cosine", random_state=seed % 2**32, n_jobs=1,
        init="spectral" if len(rows) > 10 else "random",
    )  # fmt: skip
    points = np.asarray(model.fit_transform(rows), np.float64)
    return Projection(points, f"UMAP by cosine, seed {seed}: near words belong together, distances mean little")


def _tsne(rows: Points, seed: int) -> Projection:
    import openTSNE

    model = openTSNE.TSNE(
        perplexity=min(30, (len(rows) - 1) / 3), metric="cosine", random_state=seed % 2**32, n_jobs=1,
        neighbors="exact", initialization="pca",
    )  # fmt: skip
    points = np.asarray(model.fit(rows), np.float64)
    return Projection(points, f"t-SNE by cosine, seed {seed}: near words belong together, distances mean little")


METHODS: dict[str, Callable[[Points, int], Projection]] = {"pca": _pca, "umap": _umap, "tsne": _tsne}
"""The methods by name: each projects rows of length 1, with a seed."""
PACKAGES = {"umap": ("umap", "umap-learn"), "tsne": ("openTSNE", "openTSNE")}
"""The module and the distribution that a method needs."""
