"""The events of a run: what training and scoring tell whoever shows or records it.

Events decide nothing: what a callback returns is ignored. An exception in one ends the run.
"""

from collections.abc import Callable
from dataclasses import dataclass

from w2vtrain.engines.schedule import Epoch, Progress, State
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.training.perplexity import PerplexityScore


@dataclass(frozen=True)
class Events:
    """Callbacks, each called in the thread that called `fit`, in this order; one that is not given does nothing.

    reading(bytes read, bytes in all if known, tokens): some times per second.
    read(corpus, seconds): the corpus is encoded.
    kept(words, share): what subsampling keeps, per epoch and as a share of all words.
    warning(sentence): something looks wrong, but may be meant.
    resumed(state): training continues from a checkpoint.
    ready(seconds): weights are made and kernels compiled, which took so long.
    training(progress): a slice of an epoch is learned, some times per second and thread.
    scoring(parts done, parts): of the held-out text.
    epoch(epoch, score): an epoch is learned and, if there is held-out text, scored.
    """

    reading: Callable[[int, int | None, int], None] = lambda done, total, tokens: None
    read: Callable[[EncodedCorpus, float], None] = lambda ids, seconds: None
    kept: Callable[[int, float], None] = lambda words, share: None
    warning: Callable[[str], None] = lambda sentence: None
    resumed: Callable[[State], None] = lambda state: None
    ready: Callable[[float], None] = lambda seconds: None
    training: Callable[[Progress], None] = lambda progress: None
    scoring: Callable[[int, int], None] = lambda done, total: None
    epoch: Callable[[Epoch, PerplexityScore | None], None] = lambda epoch, heldout: None
