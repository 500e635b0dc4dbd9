"""The command `perplexity`: print how well a saved model predicts held-out text. It trains nothing."""

from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

import click

from w2vtrain.commands.input_files import model_in, refuse_stdin_twice
from w2vtrain.commands.options import CODES, code_options, command, given, json_option, quiet_option, setting_options
from w2vtrain.commands.shell import echo_json, imports
from w2vtrain.config import resolve
from w2vtrain.system.machine import threads_of
from w2vtrain.system.terminal import echo

READING = ("column", "encoding_errors", "allow_nul")


@command(epilog=CODES)
@click.argument("model")
@click.argument("heldout", nargs=-1, required=True)
@setting_options("threads", *READING, "phrases")
@code_options
@json_option
@quiet_option
def perplexity(model: str, heldout: tuple[str, ...], as_json: bool, quiet: bool, **flags: Any) -> None:
    """Print how well MODEL, written by `fit --save-model`, predicts the text HELDOUT.

    The figures are the perplexity, exact and unnormalized, bits per word, the mean and variance of log Z, and coverage.
    """
    with imports():
        from w2vtrain.commands.console import Console
        from w2vtrain.training.perplexity import perplexity as score_text
        from w2vtrain.training.scoring_units import Watch
    refuse_stdin_twice(model, *heldout)
    settings, origins = resolve(given(flags, ("threads", *READING, "phrases")))
    loaded = model_in(model, flags)
    mine = {name: getattr(settings, name) for name in READING if origins[name] != "default"}
    loaded = replace(loaded, settings={**loaded.settings, **mine})
    with closing(Console(quiet)) as console:
        threads, events = threads_of(settings.threads)[0], console.events()
        watch = Watch(events.scoring)
        score, _, coverage = score_text(loaded, heldout, threads, watch, settings.phrases, events.warning)
    if as_json:
        echo_json({**asdict(score), "coverage": coverage})
        return
    echo(f"perplexity     {score.perplexity:,.2f} exact, {score.unnormalized:,.2f} unnormalized")
    echo(f"bits per word  {score.bits:.4f}")
    sampled = f" (standard error {score.log_z_error:.4f}, from {score.normalized:,} predictions)"
    mean = f"mean {score.log_z_mean:.4f}{sampled if score.normalized < score.examples else ''}"
    echo(f"log Z          {mean}, variance {score.log_z_variance:.4f}")
    echo(f"predictions    {score.examples:,}; {coverage:.2%} of the text's words are in the vocabulary")
