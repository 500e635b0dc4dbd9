"""The command `perplexity`: print how well a saved model predicts held-out text. It trains nothing."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from w2vtrain.commands.console import Console
from w2vtrain.config import resolve
from w2vtrain.embeddings.model import load_model
from w2vtrain.permission import Named, require
from w2vtrain.system.json_text import json_text
from w2vtrain.system.machine import threads_of
from w2vtrain.system.terminal import echo
from w2vtrain.training.fit import perplexity as score_text


def perplexity(
    model: str, sources: Sequence[str], threads: str | None, named: Named, as_json: bool, quiet: bool
) -> None:
    """Score held-out text and print the figures. User code that the model names runs only if `named` names it."""
    settings, _ = resolve({} if threads is None else {"threads": threads})
    loaded = load_model(model)
    named.allow()
    loaded = replace(loaded, settings=named.in_place_of(loaded.settings))
    require(*(str(loaded.settings.get(part)) for part in ("objective", "architecture")))
    console = Console(quiet)
    try:
        found, coverage = score_text(loaded, sources, threads_of(settings.threads)[0], console.events())
    finally:
        console.close()
    about = {**asdict(found), "coverage": coverage}
    if as_json:
        echo(json_text(about))
        return
    echo(f"perplexity     {found.perplexity:,.2f} exact, {found.unnormalized:,.2f} unnormalized")
    echo(f"bits per word  {found.bits:.4f}")
    sampled = f" (standard error {found.log_z_error:.4f}, from {found.normalized:,} predictions)"
    mean = f"mean {found.log_z_mean:.4f}{sampled if found.normalized < found.examples else ''}"
    echo(f"log Z          {mean}, variance {found.log_z_variance:.4f}")
    echo(f"predictions    {found.examples:,}; {coverage:.2%} of the text's words are in the vocabulary")
