"""The events of a run: callbacks through which training and scoring report to a console, a log or a program.

Callbacks do not control the run: their return values are ignored. An exception in a callback ends the run. A probe
decides when training pauses, and looks at the weights then.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

from w2vtrain.formats.subwords import Subwords
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.training.state import Epoch, PerplexityScore, Progress, State

if TYPE_CHECKING:
    from w2vtrain.training.predictor import Predictor


@dataclass(frozen=True)
class Events:
    """Callbacks. All are called in the thread that called `fit`.

    compiling(sentence): kernels are being compiled, because they are not in the cache; for reading and for training.
    reading(bytes read, total bytes or None if unknown, tokens): several times per second while the corpus is read.
    read(corpus, seconds): the corpus has been read and encoded.
    kept(words, share): the words that subsampling is expected to keep per epoch, and their share of all words, 0 to 1.
    subwords(rows): words have these input rows, which the memory was found to hold; only with subwords.
    warning(sentence): something looks wrong, but may be intended.
    started(facts): the weights were copied from a trained model; the facts are the new model's ``record["init_from"]``.
    resumed(state): training continues from a checkpoint.
    ready(seconds): the weights are initialized and the kernels compiled, which took this long.
    training(progress): a thread has trained on a slice of an epoch; several times per second per thread.
    scoring(parts done, parts): a part of the held-out text has been scored.
    epoch(epoch, score): an epoch has ended and, if there is held-out text, was scored; otherwise score is None.

    By default, each callback does nothing.

    Examples
    --------
    >>> import w2vtrain
    >>> losses = []
    >>> events = w2vtrain.Events(epoch=lambda epoch, score: losses.append(epoch.loss))
    >>> model = w2vtrain.train("data/simplewiki.txt", vector_size=50, epochs=2, events=events)
    >>> losses[1] < losses[0]
    True

    """

    compiling: Callable[[str], None] = lambda sentence: None
    reading: Callable[[int, int | None, int], None] = lambda done, total, tokens: None
    read: Callable[[EncodedCorpus, float], None] = lambda ids, seconds: None
    kept: Callable[[int, float], None] = lambda words, share: None
    subwords: Callable[[Subwords], None] = lambda rows: None
    warning: Callable[[str], None] = lambda sentence: None
    started: Callable[[dict[str, Any]], None] = lambda facts: None
    resumed: Callable[[State], None] = lambda state: None
    ready: Callable[[float], None] = lambda seconds: None
    training: Callable[[Progress], None] = lambda progress: None
    scoring: Callable[[int, int], None] = lambda done, total: None
    epoch: Callable[[Epoch, PerplexityScore | None], None] = lambda epoch, heldout: None

    def followed_by(self, other: "Events") -> "Events":
        """Return events that call each of these callbacks, and then that of `other`."""
        names = (field.name for field in fields(Events))
        return Events(**{name: _both(getattr(self, name), getattr(other, name)) for name in names})


def _both(first: Callable[..., None], second: Callable[..., None]) -> Callable[..., None]:
    def call(*given: Any) -> None:
        first(*given)
        second(*given)

    return call


class Probe(Protocol):
    """Decides when training pauses, and looks at the weights then. A pause does not count as training time."""

    def due(self) -> bool:
        """Return whether training should pause. Called often, by any thread."""

    def visit(self, predictor: "Predictor") -> None:
        """Look at the weights. Called when `due` returned True and no thread is training, in the caller's thread."""
