"""The parameters of a `Word2Vec` model: their types and ranges, checked when a model is made, trained and loaded.

How they are used is in the other modules of this folder.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from w2vtrain.config import MAX_NGRAM_BUCKETS, MAX_WINDOW, WHOLE_SENTENCE
from w2vtrain.errors import InvalidType, InvalidValue, shown
from w2vtrain.parsers import MAX_LEARNING_RATE

SEED_COUNT = 2**53
"""The number of different seeds: JSON stores whole numbers below this exactly. Others are taken modulo this."""

PARAMETERS = (
    "alpha", "min_alpha", "min_alpha_yet_reached", "window", "shrink_windows", "min_count", "effective_min_count",
    "max_vocab_size", "max_final_vocab", "sorted_vocab", "sample", "seed", "workers", "epochs", "sg", "hs", "negative",
    "cbow_mean", "ns_exponent", "comment", "batch_words", "compute_loss", "corpus_count", "corpus_total_words",
    "running_training_loss", "train_count", "total_train_time", "reread",
)  # fmt: skip
"""The attributes of a model, besides its vectors, that are saved."""


class Range(NamedTuple):
    """The values that a parameter may have: int or float, from `low` to `high`, `word`, or, if `optional`, None."""

    kind: type
    low: float
    high: float = math.inf
    optional: bool = False
    word: str | None = None


RANGES = {
    "vector_size": Range(int, 1, 100_000),
    **dict.fromkeys(("alpha", "min_alpha", "min_alpha_yet_reached"), Range(float, 0, MAX_LEARNING_RATE)),
    "window": Range(int, 1, MAX_WINDOW, word=WHOLE_SENTENCE),
    "min_count": Range(int, 0),
    "effective_min_count": Range(int, 0),
    "max_vocab_size": Range(int, 0, optional=True),
    "max_final_vocab": Range(int, 0, optional=True),
    "sample": Range(float, 0, optional=True),
    "seed": Range(int, -(2**63), 2**63 - 1),
    "workers": Range(int, 1),
    "epochs": Range(int, 1, 1_000_000),
    **dict.fromkeys(("sg", "hs", "cbow_mean", "sorted_vocab", "shrink_windows"), Range(int, 0, 1)),
    **dict.fromkeys(("dm", "dbow_words", "dm_concat"), Range(int, 0, 1)),
    **dict.fromkeys(("dm_mean", "reread"), Range(int, 0, 1, optional=True)),
    "negative": Range(int, 0, 1000),
    "ns_exponent": Range(float, -2, 2),
    "min_n": Range(int, 0, 1000),
    "max_n": Range(int, 0, 1000),
    "bucket": Range(int, 0, MAX_NGRAM_BUCKETS),
    "corpus_count": Range(int, 0),
    "corpus_total_words": Range(int, 0),
    "running_training_loss": Range(float, -math.inf),
    "train_count": Range(int, 0),
    "total_train_time": Range(float, 0),
}
"""The range of each parameter, and of each fact about past training, that is a number."""


def checked(name: str, value: Any) -> Any:
    """Return a parameter as a Python number. Raise InvalidType or InvalidValue, which are gensim's users' errors."""
    kind, low, high, optional, word = RANGES[name]
    if isinstance(value, np.generic):
        value = value.item()
    if (value is None and optional) or (word and value == word):
        return value
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not isinstance(value, int | float) or (kind is int and not whole):
        expected = f"{'a whole number' if kind is int else 'a number'}{f' or {word!r}' if word else ''}"
        raise InvalidType(f"{name} must be {expected}, got {shown(value)}")
    if not low <= value <= high or (kind is float and math.isinf(value)):  # NaN fails every comparison
        limits = f"at least {low:,}" if math.isinf(high) else f"from {low:,} to {high:,}"
        raise InvalidValue(f"{name} must be {limits}, got {shown(value)}")
    return kind(value)


def check(model: Any) -> None:
    """Convert and check all parameters of a model. Raise InvalidType or InvalidValue for the first that is wrong."""
    for name in RANGES:
        if name in vars(model):
            setattr(model, name, checked(name, getattr(model, name)))
    if not model.hs and not model.negative:
        raise InvalidValue("there is nothing to train: set hs=1, or negative to more than 0")
