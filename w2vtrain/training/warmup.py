"""Compile the kernels of architectures and objectives before they are needed, by training on a tiny text.

The kernels stay in the cache of machine code (kernels/jit.py). This module starts no processes and prints nothing.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from w2vtrain.config import validated
from w2vtrain.kernels.jit import on_compilation
from w2vtrain.training.events import Events
from w2vtrain.training.fit import effective, fit
from w2vtrain.training.inputs import Inputs

WORDS = 3000
"""Distinct words of the text: the table of words must grow, because that is a kernel, too."""


@dataclass(frozen=True)
class Warmed:
    """What was compiled for a pair: how many kernels (0 if the cache has all), in how many seconds."""

    architecture: str
    objective: str
    kernels: int
    seconds: float


def warm_up(architecture: str, objective: str, compiling: Callable[[str], None] = lambda sentence: None) -> Warmed:
    """Compile the kernels that reading and training need with these names and otherwise default settings.

    Several threads need the same kernels as one, except for architectures that learn arrays of their own. Raise
    ConfigError if there is no such architecture or objective, or if Numba cannot compile it. compiling: see Events.
    """
    started, kernels = time.monotonic(), []  # type: float, list[None]
    with tempfile.TemporaryDirectory() as folder, on_compilation(lambda: kernels.append(None)):
        text = Path(folder) / "text.txt"
        line = " ".join(f"wörd{number}" for number in range(WORDS))
        text.write_text("a b c d e f g h\n" * 200 + line, encoding="utf-8")
        for threads in (1, 2):
            about = {"architecture": architecture, "objective": objective, "threads": threads}
            settings = validated({**about, "vector_size": 16, "epochs": 1, "min_count": 2})
            fit(Inputs([str(text)], [str(text)]), effective(settings)[0], events=Events(compiling=compiling))
    return Warmed(architecture, objective, len(kernels), time.monotonic() - started)
