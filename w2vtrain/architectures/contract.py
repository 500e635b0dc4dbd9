"""What an architecture must have and may have, as a Protocol whose bodies are the defaults.

An architecture says how the input rows of a window's context words become hidden vectors, and how the gradient of a
hidden vector comes back to the rows: once, for both engines and for scoring. It knows no objective.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from w2vtrain.errors import ConfigError, shown
from w2vtrain.kernels.jit import compile_methods
from w2vtrain.objectives.contract import ARCHITECTURES
from w2vtrain.registry import Contract, check_names, described


class Layout(NamedTuple):
    """What an architecture is built for: words on either side of a target, columns of an input row, the vocabulary."""

    window: int
    dim: int
    width: int  # dim, and one more if there are biases
    words: Sequence[str] = ()


class Architecture(Protocol):
    """An architecture; a NamedTuple of arrays and numbers, whose type decides what is compiled."""

    @staticmethod
    def pairs() -> bool:
        """Return True if each context word makes an example with a hidden vector of its own, False if a window does."""
        return False

    @staticmethod
    def in_place() -> bool:
        """Return True if the hidden vector of an example is the input row of its context word.

        The window engine then learns rows where they are, and scoring computes log Z once per word. It implies `pairs`.
        """
        return False

    @staticmethod
    def fixed_positions() -> bool:
        """Return True if positions have a meaning of their own.

        Windows then do not shrink by default, and sentences that end with a word begin with as many of it as a window
        has positions on a side.
        """
        return False

    @staticmethod
    def like() -> str:
        """Return the shipped architecture whose learning rates serve where an objective names none for this one."""
        return "cbow-corrected"

    @classmethod
    def build(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> Any:
        """Return an instance; arrays: those of a trained model, by the names of `learned`, or none."""
        raise NotImplementedError

    def input_rows(self, words: int) -> int:
        """Return the number of input rows for so many words; by default one per word. The words' own come first."""
        return words

    def vectors(self, rows: np.ndarray) -> np.ndarray:
        """Return the words' vectors (V, d) that input rows (., d) stand for; by default the rows themselves."""
        return rows

    def learned(self) -> dict[str, np.ndarray]:
        """Return the matrices (., columns of an input row) that the architecture learns, each by the name of its field.

        They are made by kernels.rows.padded_rows. With several threads, each has replicas of them.
        """
        return {}

    def forward(self, w_in, window, example, hidden):
        """Compiled. Write the hidden vector of one example of a window to hidden[0].

        w_in (input rows, columns) float32; hidden (1, at least as many columns) float32; window: see
        objectives.contract.Window; example: which context word with `pairs`, else 0. A column of ones for biases is
        set by the caller.
        """
        raise NotImplementedError

    def backward(self, w_in, window, example, gradient, step):
        """Compiled. Learn the input rows, and the architecture's own arrays, from gradient[0] = -dL/dhidden.

        Rows change by step times minus the slope of the loss. gradient (1, columns) float32.
        """
        raise NotImplementedError


def composes(architecture: Any) -> bool:
    """Return whether an architecture, or its class, makes the words' vectors of input rows that are something else."""
    return bool(getattr(architecture.vectors, "__func__", architecture.vectors) is not Architecture.vectors)


COMPILED = ("forward", "backward")
CONTRACT = Contract(Architecture, COMPILED, named_tuple=True)
compile_methods(Architecture, COMPILED)


def verify(module: Any, what: str) -> None:
    """ConfigError for a module whose ARCHITECTURE is not as this contract says."""
    cls = module.ARCHITECTURE
    CONTRACT.verify(cls, what)
    if cls.input_rows is not Architecture.input_rows and not composes(cls):
        raise ConfigError(f"{what}: input_rows needs vectors, which says what vectors these rows stand for")
    if cls.in_place() and not cls.pairs():
        raise ConfigError(f"{described(cls, what)} has in_place, which implies pairs, and pairs is False")
    if cls.like() not in ARCHITECTURES:
        raise ConfigError(
            f"{described(cls, what)} is like {shown(cls.like())}; it can be like {', '.join(ARCHITECTURES)}"
        )


def verify_built(instance: Any, words: int, what: str) -> None:
    """ConfigError for an instance, for a vocabulary of so many words, that is not as this contract says."""
    CONTRACT.verify_built(instance, what)
    rows = instance.input_rows(words)
    if not isinstance(rows, int) or rows < words:
        raise ConfigError(
            f"{what}: input_rows is {shown(rows)} for {words:,} words; it must be a whole number, no less"
        )
    learned = instance.learned()
    if not isinstance(learned, dict) or learned.keys() - set(instance._fields):
        raise ConfigError(f"{described(type(instance), what)} needs learned() to name arrays by the class's fields")
    check_names(learned, what)
