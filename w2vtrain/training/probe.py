"""The interface of an object that looks at the weights during training. This module measures nothing."""

from typing import Protocol

from w2vtrain.training.predictor import Predictor


class Probe(Protocol):
    """Decides when training pauses, and looks at the weights then. A pause does not count as training time."""

    def due(self) -> bool:
        """Return whether training should pause. Called often, by any thread."""

    def visit(self, found: Predictor) -> None:
        """Look at the weights. Called when `due` returned True and no thread is training, in the caller's thread."""
