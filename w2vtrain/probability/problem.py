"""What an objective is built for: words, counts, width and text, and the ranges of its options. It learns nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from w2vtrain.errors import ConfigError


def _nothing(dtype: type) -> np.ndarray:
    return np.zeros(0, dtype)


@dataclass(frozen=True, eq=False)
class Problem:
    """The words to be predicted, and from what.

    words: V different words; counts (V,) int64, descending; dim: d, the width of the word vectors. With `bias` every
    hidden vector has one column more, which is always 1, so that an output row's last column is its bias. init: the
    standard deviation of normal initial values, 0 for zeros; dtype: of everything that is learned (tests take float64).
    tokens int32, -1 ends a sentence, and starts (chunks + 1,)
    int64, where the chunks begin in them: empty where a trained model is only scored. end: the id of the word that
    stands at the end of every sentence, where there is one, and -1 where not.
    """

    words: Sequence[str]
    counts: np.ndarray
    dim: int
    bias: bool = False
    init: float = 0.0
    seed: int = 1
    dtype: type = np.float32
    tokens: np.ndarray = field(default_factory=lambda: _nothing(np.int32))
    starts: np.ndarray = field(default_factory=lambda: _nothing(np.int64))
    end: int = -1

    @property
    def width(self) -> int:
        """Columns of a hidden vector."""
        return self.dim + self.bias

    def log_unigram(self) -> np.ndarray:
        """log P(w) by counts alone, (V,) float32: where biases start, so that Z is near 1 from the first step."""
        share = np.maximum(self.counts, 0.5) / np.maximum(self.counts, 0.5).sum()
        return np.asarray(np.log(share), np.float32)

    def initial_rows(self, rows: int | None = None, bias: np.ndarray | None = None) -> np.ndarray:
        """Output rows (rows or V, width) to start from; bias (rows,) goes to the last column if there is one."""
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
    """Raise ConfigError for the first of an objective's options, name = (value, low, high), that is not in its range.

    form: how the message puts value, low and high.
    """
    for name, (value, low, high) in options.items():
        if not low <= value <= high:  # what is not a number is not
            raise ConfigError(f"option {name} of objective {objective}: {form.format(value, low, high)}")
