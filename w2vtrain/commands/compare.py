"""The command `compare`: train objectives side by side, and write tables and a plot.

Training and measuring are in evaluation/compare.py.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from w2vtrain.config import ROWS, resolve
from w2vtrain.errors import ConfigError, OutputError
from w2vtrain.evaluation.compare import Comparison, train_all, write_reports
from w2vtrain.evaluation.contenders import contenders
from w2vtrain.evaluation.figures import INSTALL, can_draw
from w2vtrain.evaluation.report import busy, plain, unreliable
from w2vtrain.system.machine import threads_of
from w2vtrain.system.reading import open_input
from w2vtrain.system.terminal import echo
from w2vtrain.training.inputs import corpus_of


def compare(
    sources: Sequence[str], flags: dict[str, Any], output: str, objectives: str, rates: str | None,
    config: str | None, **about: Any,
) -> None:  # fmt: skip
    """Train and score the requested objectives, and write the tables and the plot."""
    settings, origins = resolve(flags, config=config)
    if settings.seconds is not None and origins["epochs"] == "default":
        settings = replace(settings, epochs=1_000_000)
    if settings.threads == "auto":
        settings = replace(settings, threads=max(1, threads_of("auto")[0] // about["at_once"]))
    for path in filter(None, [about["heldout"], about["test"], about["questions"], *about["pairs"]]):
        with open_input(path):
            pass
    corpus_of(sources, settings)
    alphas = [rate.strip() for rate in rates.split(",")] if rates else []
    try:
        for rate in alphas:
            ROWS["alpha"].parser.parse(rate.removesuffix("x"))
    except ValueError:
        raise ConfigError(f"rates: expected comma-separated numbers or multiples such as 2x, got {rates!r}") from None
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{output}: the folder cannot be created: {error.strerror}") from None
    comparison = Comparison(
        sources=sources, folder=folder, settings=settings, contenders=contenders(objectives), rates=alphas, **about
    )
    if not can_draw():
        echo(f"note: curves.png needs the package matplotlib: {INSTALL}, then the same command draws it", err=True)
    results = train_all(comparison, lambda text: echo(text, err=True))
    write_reports(folder, results)
    echo(plain(results), end="")
    for warning in filter(None, (busy(results), unreliable(results))):
        echo(f"warning: {warning}", err=True)
    if kernels := os.environ.get("OPENBLAS_CORETYPE"):
        echo(f"warning: OPENBLAS_CORETYPE is {kernels}: the softmax may be slower than this machine allows", err=True)
