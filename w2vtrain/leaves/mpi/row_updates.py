"""How often training updates each row of the two matrices, which decides how ranks exchange and combine it.

Nothing here communicates: see synchronization.py.
"""

from typing import Any

import numpy as np

from w2vtrain.architectures.contract import composes
from w2vtrain.engines.base import Engine, Role
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.schedule import Schedule
from w2vtrain.engines.window_kernel import PLANNED_WORDS
from w2vtrain.errors import ConfigError
from w2vtrain.probability.subsampling import keep_thresholds

WINDOW_UPDATES = 4.0
"""The number of updates that one update of an output row counts as if a window makes one example, as with CBOW, rather
than one per context word. It was measured: with 1, CBOW lost 2 points of analogy accuracy on 8 ranks."""
ALL_CANDIDATES = 6.0
"""The number of updates that one example counts as for its input rows if the objective scores all words, instead of the
number of its candidates."""


def expected_updates(engine: Engine, text: Chunks, schedule: Schedule) -> dict[Role, np.ndarray]:
    """Return how often each input row and each output row is updated per word of the corpus.

    The numbers of updates are (rows,) float64. Every pair of a hidden vector and a candidate counts as one update of an
    output row and of each input row of the hidden vector, except for WINDOW_UPDATES and ALL_CANDIDATES. Arrays whose
    roles are not in the result count as updated at every step: biases, the input rows of architectures that compose
    them, and the output rows of objectives that score all words. Raise ConfigError if the objective's `draws` is wrong.
    """
    windows, updates = engine.windows, {}
    kept = text.counts / text.counts.sum() * (keep_thresholds(text.counts, schedule.sample) / 2.0**32)
    size = windows.size if windows.size <= PLANNED_WORDS else min(windows.size, _mean_reach(text))
    contexts = (windows.left + windows.right) * ((size + 1) / 2 if windows.shrink else size)
    candidates = ALL_CANDIDATES
    if engine.objective.engine == "windows":
        (output,) = (array for array in engine.trained() if array.role is Role.OUTPUT)
        draws = _draws(engine.objective, kept / kept.sum(), len(output.values))
        candidates = draws.sum()
        updates[Role.OUTPUT] = draws * kept.sum() * (contexts if engine.architecture.pairs() else WINDOW_UPDATES)
    if engine.subwords:
        updates[Role.INPUT] = engine.subwords.per_row(kept * contexts * candidates)
    elif not composes(engine.architecture):
        updates[Role.INPUT] = kept * contexts * candidates
    return updates


def _mean_reach(text: Chunks) -> float:
    """Return the mean number of words on each side of a target if its window is its sentence."""
    words = int(text.words.sum())
    return max(1.0, (words / max(1, len(text.tokens) - words) - 1) / 2)


def _draws(objective: Any, targets: np.ndarray, rows: int) -> np.ndarray:
    """Return what `draws` of an objective returns. Raise ConfigError if that is not one number per output row."""
    draws = np.asarray(objective.draws(targets), np.float64)
    if draws.shape != (rows,) or not (np.isfinite(draws) & (draws >= 0)).all():
        raise ConfigError(
            f"{type(objective).__name__}.draws returns an array of shape {draws.shape}; expected a number from 0 on for"
            f" each of {rows:,} output rows"
        )
    return draws


def shares_direction(engine: Engine, updates: dict[Role, np.ndarray]) -> bool:
    """Return whether all rows move along one direction that moves all scores: see synchronization.py.

    That is so if single input rows are scored, the scores are log-probabilities, and there are no biases. A step of one
    of several context words moves the scores less. False also if updates per row are not known.
    """
    if not {Role.INPUT, Role.OUTPUT} <= updates.keys() or engine.problem.bias or not engine.architecture.pairs():
        return False
    return engine.objective.initial_bias(engine.problem) is not None
