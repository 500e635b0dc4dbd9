"""Compile the kernels of architectures and objectives before they are needed, by training on a tiny text.

The kernels stay in the cache of machine code (kernels/jit.py). This module starts no processes and prints nothing.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from w2vtrain.architectures import architecture_class
from w2vtrain.config import Settings, validated
from w2vtrain.doors import leaf
from w2vtrain.kernels.jit import on_compilation
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan
from w2vtrain.training.trainer import train
from w2vtrain.user_code import Named

DISTINCT_WORDS = 33_000
"""Distinct words of the text, so many that the table of words has to grow: that is a kernel, too."""


@dataclass(frozen=True)
class Warmed:
    """What was compiled for a pair: how many kernels (0 if the cache has all), and the seconds that it took."""

    architecture: str
    objective: str
    kernels: int
    seconds: float


def warmup(architecture: str = Settings.architecture, objective: str = Settings.objective) -> Warmed:
    """Compile the kernels that reading text and training need into the cache, once for this processor.

    Otherwise the first call of `train` does so, which takes seconds. Settings other than these two rarely need other
    kernels.

    Parameters
    ----------
    architecture, objective : str
        Names, or a file or module of your own, whose code is run.

    Returns
    -------
    Warmed
        ``kernels`` is the number of kernels that were compiled, and ``seconds`` how long it took.

    Raises
    ------
    ConfigError
        If there is no such architecture or objective, or if Numba cannot compile it.

    Examples
    --------
    >>> import w2vtrain
    >>> w2vtrain.warmup(objective="hs").objective
    'hs'

    """
    Named(objective, architecture).allow()  # naming them here is permission
    started, kernels = time.monotonic(), []  # type: float, list[None]
    with tempfile.TemporaryDirectory() as folder, on_compilation(lambda: kernels.append(None)):
        text = Path(folder) / "text.txt"
        line = " ".join(f"wörd{number}" for number in range(DISTINCT_WORDS))
        text.write_text("a b c d e f g h\n" * 200 + line, encoding="utf-8")
        for threads in (1, 2):  # architectures with arrays of their own have replicas of these with several threads
            pair = {"architecture": architecture, "objective": objective, "threads": threads}
            # At this rate, no objective diverges on eight words, and all learn something.
            settings = validated({**pair, "epochs": 1, "min_count": 2, "sample": 0, "alpha": 0.001})
            train(Plan.of(_inputs(str(text), architecture), settings))
    return Warmed(architecture, objective, len(kernels), time.monotonic() - started)


def _inputs(text: str, architecture: str) -> Inputs:
    """Return a text as what an architecture trains on: documents, or text that it is also scored on."""
    if not architecture_class(architecture).uses_tags():
        return Inputs([text], [text])
    return Inputs(leaf("documents").source_of(SimpleNamespace(sources=[text], tag=None)))
