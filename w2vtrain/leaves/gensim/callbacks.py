"""The interface of gensim's callbacks: an object whose methods are called before and after training and each epoch.

Nothing here decides what a callback does; word2vec.py calls them.
"""

from collections.abc import Iterable
from typing import Any

from w2vtrain.errors import shown


class CallbackAny2Vec:
    """Base class of callbacks of `Word2Vec`, with the methods that gensim's has. Each does nothing by default.

    A callback may read and save the model and change its vectors, but not its words or learning rates. An
    exception in a callback ends the training; the model keeps what it has learned until then. Objects that have only
    some of the methods are accepted, too.

    Examples
    --------
    >>> import w2vtrain
    >>> class Epochs(w2vtrain.CallbackAny2Vec):
    ...     def on_epoch_end(self, model):
    ...         print(f"loss so far: {model.get_latest_training_loss() > 0}")
    >>> sentences = [["red", "green", "blue"], ["cat", "dog", "cow"]] * 50
    >>> model = w2vtrain.Word2Vec(sentences, vector_size=8, epochs=2, sample=0, callbacks=[Epochs()])
    loss so far: True
    loss so far: True

    """

    def on_train_begin(self, model: Any) -> None:
        """Do something before the first epoch of a call of `train`."""

    def on_epoch_begin(self, model: Any) -> None:
        """Do something before an epoch."""

    def on_epoch_end(self, model: Any) -> None:
        """Do something after an epoch."""

    def on_train_end(self, model: Any) -> None:
        """Do something after the last epoch."""


METHODS = [name for name in vars(CallbackAny2Vec) if name.startswith("on_")]


def listed(callbacks: Any) -> tuple[Any, ...]:
    """Return a callback, or several, as a tuple. Raise AttributeError for an object with none of the methods."""
    found = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    for callback in found:
        if callback is not None and not any(hasattr(callback, name) for name in METHODS):
            raise AttributeError(f"{shown(callback)} is no callback: it has none of the methods {', '.join(METHODS)}")
    return found


def call(callbacks: Iterable[Any], when: str, model: Any) -> None:
    """Call the method `when` of every callback that has it."""
    for callback in callbacks:
        if method := getattr(callback, when, None):
            method(model)
