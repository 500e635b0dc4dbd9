"""The commands that read text but leave no vectors: `vocab`, `compare`, `perplexity`."""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from w2vtrain.commands.console import Console, duration
from w2vtrain.config import resolve
from w2vtrain.errors import ConfigError, OutputError, UsageError
from w2vtrain.evaluation.compare import Comparison, contenders, write_reports
from w2vtrain.evaluation.compare import run as compare
from w2vtrain.formats.model import load_model
from w2vtrain.objectives import allow_code, require_allowed
from w2vtrain.system.files import check_writable
from w2vtrain.system.json_text import json_text
from w2vtrain.system.machine import threads_of
from w2vtrain.system.reading import open_input
from w2vtrain.system.terminal import echo
from w2vtrain.text.encoded import count
from w2vtrain.training.fit import corpus_of, perplexity


def run_vocab(sources: Sequence[str], output: str, flags: dict[str, Any], force: bool, quiet: bool = False) -> None:
    """Count words and write them."""
    settings, _ = resolve(flags)
    corpus = corpus_of(sources, settings)
    if os.path.realpath(output) in {os.path.realpath(file.path) for file in corpus.files if file.path != "-"}:
        raise UsageError(f"{output}: named for input and output; choose another name")
    check_writable(output, force)
    console, started = Console(quiet), time.monotonic()
    try:
        vocabulary, stats = count(
            corpus,
            min_count=settings.min_count,
            max_vocab=settings.max_vocab,
            threads=threads_of(settings.threads)[0],
            progress=console.events().reading,
        )
    finally:
        console.close()
    vocabulary.save(output, force)
    console.say(
        f"{stats.tokens:,} words, {stats.types:,} different, {len(vocabulary):,} kept,"
        f" in {duration(time.monotonic() - started)}"
    )


def run_compare(
    sources: Sequence[str], flags: dict[str, Any], output: str, objectives: str, rates: str | None,
    config: str | None, **about: Any,
) -> None:  # fmt: skip
    """Train and score every objective that was named, and write the tables."""
    settings, origins = resolve(flags, config=config)
    if settings.seconds is not None and origins["epochs"] == "default":
        settings = replace(settings, epochs=1_000_000)
    for path in filter(None, [about["heldout"], about["test"], about["questions"], *about["pairs"]]):
        with open_input(path):
            pass
    corpus_of(sources, settings)
    try:
        alphas = [float(rate) for rate in rates.split(",")] if rates else []
    except ValueError:
        raise ConfigError(f"rates: expected numbers with commas between, got {rates!r}") from None
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{output}: the folder cannot be made: {error.strerror}") from None
    comparison = Comparison(
        sources=sources, folder=folder, settings=settings, contenders=contenders(objectives), rates=alphas, **about
    )
    results = compare(comparison, lambda text: echo(text, err=True))
    echo(write_reports(folder, results), end="")


def run_perplexity(
    model: str, sources: Sequence[str], threads: str | None, objective: str | None, as_json: bool, quiet: bool
) -> None:
    """Score held-out text and print the figures. A model's code runs only if `objective` names it."""
    settings, _ = resolve({} if threads is None else {"threads": threads})
    loaded = load_model(model)
    allow_code(objective)
    require_allowed(str(loaded.settings.get("objective")))
    console = Console(quiet)
    try:
        found, coverage = perplexity(loaded, sources, threads_of(settings.threads)[0], console.events())
    finally:
        console.close()
    about = {**asdict(found), "coverage": coverage}
    if as_json:
        echo(json_text(about))
        return
    echo(f"perplexity     {found.perplexity:,.2f} exact, {found.unnormalised:,.2f} without normalising")
    echo(f"bits a word    {found.bits:.4f}")
    echo(f"log Z          mean {found.log_z_mean:.4f}, variance {found.log_z_variance:.4f}")
    echo(f"predictions    {found.examples:,}; {coverage:.2%} of the text's words are in the vocabulary")
