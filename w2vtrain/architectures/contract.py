"""The interface of an architecture, as a Protocol whose method bodies are the defaults.

An architecture computes hidden vectors from the input rows of a window's context words, and updates those rows from
the gradient of a hidden vector. Both engines and scoring use the same two methods. Architectures do not depend on
objectives: every architecture works with every objective.

A class must define `build`, `forward` and `backward`. `verify` checks it and adds the defaults of all other methods.
Methods marked "Compiled" become part of the engines' kernels. Numba matches their arguments by name, so an
architecture must name them as the Protocol does.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from w2vtrain.errors import ConfigError, shown
from w2vtrain.kernels.jit import compile_methods, inline
from w2vtrain.objectives.contract import TUNED_ARCHITECTURES
from w2vtrain.registry import Contract, breach, check_names

WIDE_WINDOW_WORDS, FULL_RATE_WORDS = 50, 10
"""If --window is more than WIDE_WINDOW_WORDS, windows of more than FULL_RATE_WORDS context words train at a lower rate:
without this, training diverged at the default rate. docs/laboratory.md has the figures."""


class Layout(NamedTuple):
    """The dimensions and the vocabulary that an architecture is built for.

    window: the maximum number of context words on each side of a target; dim: the number of dimensions of a word
    vector; width: the number of columns of an input row; words: the vocabulary.
    """

    window: int
    dim: int
    width: int  # dim, or dim + 1 if there are biases
    words: Sequence[str] = ()


class Blend(NamedTuple):
    """How word vectors are made from input and output vectors, if the objective's `blends` returns True.

    share: the length of the centered output vectors as a fraction of that of the centered input vectors, from 0 to 1,
    see formats.transforms; words: the number of words of text from which blends are better than input vectors.
    """

    share: float
    words: int

    def preferred(self, blends: bool, words: int) -> str:
        """Return which vectors to write by default, "blend" or "in".

        blends: what the objective's `blends` returns; words: the number of words of text in the vocabulary.
        """
        return "blend" if blends and words >= self.words else "in"


class Architecture(Protocol):
    """The interface of an architecture: a NamedTuple of arrays and numbers, whose type decides what Numba compiles."""

    @staticmethod
    def pairs() -> bool:
        """Return True if each context word makes a separate example, False if the whole window makes one."""
        return False

    @staticmethod
    def in_place() -> bool:
        """Return True if the hidden vector of an example is the input row of its context word.

        The window engine then updates rows in place, without a copy, and scoring computes log Z once per context word
        instead of once per example. This requires that `pairs` returns True, too.
        """
        return False

    @staticmethod
    def fixed_positions() -> bool:
        """Return True if the hidden vector depends on the positions of the context words.

        Windows then have their full size by default. In addition, if sentences end with an end-of-sentence word, each
        sentence is padded at its start with `window` copies of that word instead of one.
        """
        return False

    @staticmethod
    def concatenated(window: int) -> int:
        """Return how many times as wide as an input row hidden vectors are: the number of rows that are concatenated.

        If it is more than 1, every window is full: it has `window` entries before the target and `window` after it, in
        the order of the text, where -1 stands for a word beyond the sentence. Tags follow. Default: 1.
        """
        return 1

    @staticmethod
    def uses_words() -> bool:
        """Return True if the words around a target predict it, so that words have input vectors that are trained."""
        return True

    @staticmethod
    def uses_tags() -> bool:
        """Return True if the tags of its document predict a target.

        Each word then has one input row, so that neither `input_rows` nor `vectors` may be overridden.
        """
        return False

    @staticmethod
    def like() -> str:
        """Return the shipped architecture whose defaults are used if an objective has no defaults for this one."""
        return "cbow-corrected"

    @staticmethod
    def blend() -> Blend:
        """Return how input and output vectors are blended. Default: as measured for CBOW in docs/laboratory.md."""
        return Blend(share=0.2, words=8_000_000)

    @classmethod
    def build(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> Any:
        """Return an instance. arrays: those of a trained model, by the names in `learned`; empty for a new model."""
        raise NotImplementedError

    def input_rows(self, words: int) -> int:
        """Return the number of input rows for a vocabulary of `words` words, by default one per word.

        If there are more, the rows of the words themselves come first.
        """
        return words

    def hot_rows(self, rows: int) -> range:
        """Return the hot rows: the input rows that change most often, as a range with the hottest first.

        The window engine gives each of several threads its own replicas of them; window.context then contains the
        numbers of the replicas, which are `rows` or higher. The rows must be consecutive. Default: none.
        """
        return range(0)

    def vectors(self, rows: np.ndarray) -> np.ndarray:
        """Return the word vectors (V, d) computed from the input rows (rows, d); by default the rows themselves."""
        return rows

    def learned(self) -> dict[str, np.ndarray]:
        """Return the matrices that the architecture learns besides the input rows, by the names of their fields.

        These are the fields themselves, not copies, which training would not change.

        Each has as many columns as an input row and is made by kernels.rows.padded_rows. If the window engine runs
        several threads, it gives each of them a replica.
        """
        return {}

    def rate_scale(self, n):
        """Compiled. Return the fraction of the learning rate that trains on a window with n context words: 0 to 1.

        The block engine uses that of the widest window of a block. It does not apply if `in_place` returns True.
        Default: 1.0.
        """
        return 1.0

    def forward(self, w_in, window, example, hidden):
        """Compiled. Write the hidden vector of one example of a window to hidden[0].

        w_in (input rows, columns) float32; window: see objectives.contract.Window, but hot words are replaced by the
        rows of their replicas; example: the index of the context word if `pairs` returns True, else 0; hidden (1, at
        least as many columns, times `concatenated`) float32. If there are biases, the caller sets the column of ones.
        """
        raise NotImplementedError

    def backward(self, w_in, window, example, gradient, step):
        """Compiled. Update the input rows, and the architecture's own arrays, from gradient[0] = -dL/dhidden.

        gradient (1, columns of hidden) float32. Each row r changes by step * -dL/dr; step is a float32 scalar.
        """
        raise NotImplementedError


@inline
def rate_scale_of_sum(window, n):
    """Return FULL_RATE_WORDS / n, but at most 1, or 1 if the window is not wide.

    An update with error g changes the score of an output row o by lr g (|h|² + n |o|²), so that it overshoots in wide
    windows unless lr falls with n.
    """
    return min(1.0, FULL_RATE_WORDS / n) if window > WIDE_WINDOW_WORDS else 1.0


def composes(architecture: Any) -> bool:
    """Return whether an architecture, or its class, overrides `vectors`: its input rows are not the word vectors."""
    return bool(getattr(architecture.vectors, "__func__", architecture.vectors) is not Architecture.vectors)


COMPILED = ("rate_scale", "forward", "backward")
CONTRACT = Contract(Architecture, ("build", "forward", "backward"), COMPILED, named_tuple=True)
compile_methods(Architecture, COMPILED)


def verify(module: Any, subject: str) -> None:
    """Raise ConfigError if a module's ARCHITECTURE does not satisfy this contract. Messages start with `subject`."""
    cls = module.ARCHITECTURE
    CONTRACT.verify(cls, subject)
    if cls.input_rows is not Architecture.input_rows and not composes(cls):
        raise ConfigError(f"{subject}: defines input_rows but not vectors, which computes word vectors from these rows")
    if cls.in_place() and not cls.pairs():
        raise breach(cls, subject, "returns True from in_place, which requires pairs to return True, too")
    if cls.like() not in TUNED_ARCHITECTURES:
        choices = ", ".join(TUNED_ARCHITECTURES)
        raise breach(cls, subject, f"returns {shown(cls.like())} from like; choose one of {choices}")
    if cls.uses_tags() and composes(cls):
        raise breach(cls, subject, "defines vectors, but the rows of tags follow one row per word; leave it out")
    blend = cls.blend()
    if not isinstance(blend, Blend) or not 0 <= blend.share <= 1:
        raise breach(cls, subject, f"returns {shown(blend)} from blend; it must be a Blend of share 0 to 1")


def verify_built(instance: Any, words: int, subject: str) -> None:
    """Raise ConfigError if an instance, built for a vocabulary of `words` words, does not satisfy this contract."""
    CONTRACT.verify_built(instance, subject)
    rows = instance.input_rows(words)
    if not isinstance(rows, int) or rows < words:
        raise ConfigError(
            f"{subject}: input_rows is {shown(rows)} for {words:,} words; it must be an int and at least {words:,}"
        )
    learned = instance.learned()
    if not isinstance(learned, dict) or learned.keys() - set(instance._fields):
        raise breach(type(instance), subject, "needs learned() to return a dict of arrays by field name")
    if copied := [name for name, array in learned.items() if array is not getattr(instance, name)]:
        raise breach(type(instance), subject, f"returns another array than its field {copied[0]} from learned")
    check_names(learned, subject)
