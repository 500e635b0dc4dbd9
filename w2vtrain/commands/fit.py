"""The command `fit`: its options. run.py does the work."""

from itertools import count
from pathlib import Path
from typing import Any

import click

from w2vtrain.commands.options import (
    CODES,
    OUTPUT,
    TRAINING,
    Within,
    allow_changed_option,
    cache_option,
    command,
    config_option,
    force_option,
    given,
    objective_options,
    quiet_option,
    setting_options,
    vectors_options,
)
from w2vtrain.commands.request import RANGES, FitRequest
from w2vtrain.commands.shell import imports
from w2vtrain.commands.spelling import missing_output
from w2vtrain.config import SHORT
from w2vtrain.system.spinner import SPINNER


@command(epilog=CODES)
@click.argument("corpus", nargs=-1, metavar="CORPUS...")
@click.option("-o", "--output", metavar="FILE", help=f"{OUTPUT}  [required, except by --dry-run]")
@vectors_options
@click.option("--save-output-vectors", metavar="FILE", help="Also write the output vectors to FILE.")
@click.option(
    "--save-model", metavar="FILE", help="Also write the model: vectors, counts, settings, record, tree or noise."
)
@click.option("--save-vocab", metavar="FILE", help="Also write the vocabulary, one `word count` per line.")
@click.option(
    "--read-vocab", metavar="FILE",
    help="Read the vocabulary from a file of `word count` lines instead of counting the corpus; --min-count and"
    " --max-vocab reduce it only if given.",
)  # fmt: skip
@click.option(
    "--init-from", metavar="FILE",
    help="Start from a model, as --save-model writes it: train its words further, with its settings unless given. From"
    " vectors in any format, take only the input vectors.",
)  # fmt: skip
@click.option(
    "--grow-vocabulary/--no-grow-vocabulary", default=None,
    help="With --init-from: keep all its words, and train new words that occur --min-count times in the corpus. A"
    " model's counts grow by those of the corpus; vectors, which have no counts, are written unchanged, after the"
    " others, if the corpus lacks their words.  [default: off]",
)  # fmt: skip
@click.option(
    "--freeze", is_flag=True, help="With --init-from: leave the vectors of its words as they are, and train new words."
)
@click.option(
    "--heldout", multiple=True, metavar="FILE",
    help="Score this text after each epoch and keep the vectors of the best epoch; repeatable.",
)  # fmt: skip
@click.option(
    "--log-json", metavar="FILE",
    help="Also write a log, one JSON object per line: progress, epochs, warnings and the result; - is stdout.",
)  # fmt: skip
@config_option
@click.option(
    "-O", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Option of the objective; repeatable."
)
@click.option(
    "--negative", metavar="N", help="Short for -O negative=N: noise words (negative samples) per target word."
)
@click.option(
    "--ns-exponent", metavar="X", help="Short for -O ns_exponent=X: draw noise words by counts to the power X."
)
@click.option(
    "--learn-z", is_flag=True, default=None, help="Short for -O learn_z=true: nce learns one log Z per context word."
)
@click.option("--tree", metavar="NAME", help="Short for -O tree=NAME: huffman, balanced, cluster or a file (for hs).")
@cache_option
@force_option
@click.option(
    "--dry-run", is_flag=True,
    help="Print what the run would take, and exit: vocabulary by --min-count, memory, disk, and what is suspicious in"
    " the text. Reads all of the text; writes nothing.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: print the result as one JSON object.")
@click.option("--print-config", is_flag=True, help="Print all settings and their origins as TOML, and exit.")
@quiet_option
@click.option(
    "--progress-every", type=Within(RANGES["progress_every"]), metavar="SECONDS",
    default=FitRequest.progress_every, show_default=True,
    help="Time between progress lines on stderr and in --log-json.",
)  # fmt: skip
@click.option("--run", metavar="DIR", help="Folder for checkpoints.  [default: output name + .run; none for stdout]")
@click.option(
    "--checkpoint-every", type=Within(RANGES["checkpoint_every"]), metavar="MINUTES",
    default=FitRequest.checkpoint_every, show_default=True,
    help="Time between checkpoints. SIGUSR1 saves one at once; SIGTERM, SIGHUP, Ctrl-C or, on Windows, Ctrl-Break"
    " saves one and stops.",
)  # fmt: skip
@allow_changed_option
@click.option(
    "--distributed", type=click.Choice(["mpi"]),
    help="Train on all ranks of an MPI job, such as `mpiexec -n 4 w2vtrain fit ...`; needs w2vtrain[mpich] or [mpi].",
)  # fmt: skip
@click.option(
    "--sync-words", type=Within(RANGES["sync_words"]), metavar="N",
    help="With --distributed: words per rank between two synchronizations.  [default: adapted to the network]",
)  # fmt: skip
@click.option(
    "--sync-timeout", type=Within(RANGES["sync_timeout"]), metavar="SECONDS",
    default=FitRequest.sync_timeout, show_default=True,
    help="With --distributed: end the run, which the same command continues, if a rank does not answer.",
)  # fmt: skip
@setting_options(*TRAINING)
def fit(
    corpus: tuple[str, ...], dry_run: bool, as_json: bool, **values: Any
) -> None:  # fmt: skip
    """Train word vectors on CORPUS: files, directories, globs, or - for stdin.

    Text is UTF-8 with one sentence per line, split into words at white space. Files compressed with gzip, bzip2, xz or
    zstd are recognized by content. Settings can also come from environment variables (W2VTRAIN_EPOCHS=3) or from a
    --config file.

    \b
    Examples:
      w2vtrain fit corpus.txt -o vectors.txt
      w2vtrain fit corpus/ -o vectors.bin --architecture cbow --vector-size 200 --epochs 10
      w2vtrain fit articles.txt.gz -o hs.txt --objective hs --tokenizer simple --save-model hs.safetensors
    """
    if not values["print_config"]:
        if not corpus:
            raise click.UsageError("Missing argument 'CORPUS...'")
        if not values["output"]:
            if not dry_run:
                raise missing_output(corpus[-1])
            values["output"] = _free_name()
    if as_json and not dry_run:
        raise click.UsageError("--json: has an effect only with --dry-run; --log-json FILE logs a run")
    if dry_run and values["distributed"]:
        raise click.UsageError("--dry-run measures one machine: leave out --distributed")
    flags = given(values, TRAINING)
    if options := objective_options(given(values, SHORT), values.pop("options")):
        flags["options"] = options
    if not values["quiet"]:
        SPINNER.begin("starting")
    with imports():
        from w2vtrain.commands.dry_run import dry_run as estimate_run
        from w2vtrain.commands.run import carry_out
        from w2vtrain.user_code import Named
    Named(flags.get("objective"), flags.get("architecture")).allow()
    request = FitRequest(sources=corpus, flags=flags, **values)
    if dry_run:
        estimate_run(request, as_json)
    else:
        carry_out(request)


def _free_name() -> str:
    """Return the name of an output of which nothing exists here, for a dry run that names none."""
    names = (f"vectors{number or ''}.txt" for number in count())
    return next(name for name in names if not any(Path().glob(f"{name}*")))
