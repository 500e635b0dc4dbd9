"""The data that an objective is built for (words, counts, width, text) and range checks for its options.

Nothing is learned here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from w2vtrain.errors import ConfigError, DataError

Arrays = dict[str, np.ndarray]
"""Arrays by name."""
Options = dict[str, Any]
"""The options of an objective by name: the keyword arguments of its `build`."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The words to predict, and the settings and text that an objective may use.

    words: V distinct words.
    counts: (V,) int64, in descending order.
    dim: d, the width of hidden vectors, without the bias.
    bias: True adds a last column that is always 1 to every hidden vector, so that an output row's last column is its
    bias.
    init: standard deviation of the normally distributed initial values, 0 for zeros.
    seed: seed of the initial values.
    dtype: type of all learned arrays (tests use float64).
    tokens: int32 ids of the text; -1 ends a sentence.
    starts: (chunks + 1,) int64, the indices in `tokens` at which chunks begin; empty if `tokens` are a sample of a text
    that is not stored. `tokens` and `starts` are empty if a trained model is only scored.
    end: id of the word that ends every sentence, -1 if there is none.
    """

    words: Sequence[str]
    counts: np.ndarray
    dim: int
    bias: bool = False
    init: float = 0.0
    seed: int = 1
    dtype: type = np.float32
    tokens: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    starts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    end: int = -1

    @property
    def width(self) -> int:
        """Number of columns of a hidden vector."""
        return self.dim + self.bias

    def log_unigram(self) -> np.ndarray:
        """Return log P(w) from counts alone, (V,) float32: initial biases that make Z near 1 from the first step."""
        share = np.maximum(self.counts, 0.5) / np.maximum(self.counts, 0.5).sum()
        return np.asarray(np.log(share), np.float32)

    def initial_rows(self, rows: int | None = None, bias: np.ndarray | None = None) -> np.ndarray:
        """Return initial output rows (rows or V, width); bias (rows,) fills the last column if there are biases."""
        rng = np.random.default_rng([self.seed, 1])
        count = len(self.counts) if rows is None else rows
        start: np.ndarray = np.zeros((count, self.width), self.dtype)
        if self.init:
            start[:, : self.dim] = rng.standard_normal((count, self.dim), np.float32) * np.float32(self.init)
        if self.bias and bias is not None:
            start[:, self.dim] = bias
        return start


def check_ranges(
    objective: str, form: str = "{} is not between {} and {}", /, **options: tuple[float, float, float]
) -> None:
    """Raise ConfigError for the first option of an objective that is outside its range.

    form: format of the message, with places for value, low and high.
    options: name=(value, low, high); both ends are in the range.
    """
    for name, (value, low, high) in options.items():
        if not low <= value <= high:  # NaN fails every comparison
            raise bad_option(objective, name, form.format(value, low, high))


class InvalidOption(ConfigError):
    """Raised for an option of an objective. Exit code 78. option: its name."""

    def __init__(self, message: str, option: str = "") -> None:
        super().__init__(message)
        self.option = option


def bad_option(objective: str, option: str, reason: str) -> InvalidOption:
    """Return the error for an invalid option of an objective."""
    return InvalidOption(f"option {option} of objective {objective}: {reason}", option)


def damaged(mismatch: str) -> DataError:
    """Return the error for a model whose arrays do not fit. mismatch: names them, and what they do not fit."""
    return DataError(f"the model's {mismatch}: the file is damaged; train the model again")
