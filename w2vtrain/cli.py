"""List the commands of the command line, and declare those of a run: `fit`, `resume` and `supervise`.

Each other command is declared by its module in commands/, which is imported only when the command is used, so that
--help is fast. For the same reason, a command imports what it needs for its work when it runs.
"""

from typing import Any

import click

from w2vtrain import __version__
from w2vtrain.commands.lazy_group import LazyGroup
from w2vtrain.commands.options import (
    CODES,
    COUNT,
    OUTPUT,
    TRAINING,
    Within,
    allow_changed_option,
    cache_option,
    code_options,
    command,
    config_option,
    export_option,
    force_option,
    format_option,
    given,
    objective_options,
    quiet_option,
    setting_options,
)
from w2vtrain.commands.request import RANGES, FitRequest
from w2vtrain.commands.shell import execute, imports
from w2vtrain.config import SHORT
from w2vtrain.parsers import LONGEST_TIME, Real
from w2vtrain.system.stopping import NAME

COMMANDS = {
    "fit": ("w2vtrain.cli:fit", "Train word vectors on text."),
    "resume": ("w2vtrain.cli:resume", "Continue a run that was stopped or killed."),
    "supervise": ("w2vtrain.cli:supervise", "Restart a fit command until it has finished."),
    "export": ("w2vtrain.commands.export:export", "Write the vectors of an unfinished run."),
    "convert": ("w2vtrain.commands.convert:convert", "Write vectors in another format, or changed."),
    "vocab": ("w2vtrain.commands.vocab:vocab", "Count the words of a text."),
    "tree": ("w2vtrain.commands.tree:tree", "Write the tree of WordNet's hypernyms, for hierarchical softmax."),
    "eval": ("w2vtrain.commands.evaluate:evaluate", "Score vectors on analogies or word similarity."),
    "neighbors": ("w2vtrain.commands.query:neighbors", "Print the words nearest to a word."),
    "analogy": ("w2vtrain.commands.query:analogy", "Print the words nearest to king - man + woman."),
    "similarity": ("w2vtrain.commands.query:similarity", "Print the cosine of two words."),
    "vector": ("w2vtrain.commands.query:vector", "Print the vector of a word."),
    "perplexity": ("w2vtrain.commands.perplexity:perplexity", "Score held-out text with a saved model."),
    "compare": ("w2vtrain.commands.compare:compare", "Train objectives side by side and print a table."),
    "warmup": ("w2vtrain.commands.warmup:warmup", "Compile in advance what training needs."),
    "info": ("w2vtrain.commands.info:info", "Print what a file or a run folder is."),
    "objectives": ("w2vtrain.commands.objectives:objectives", "List the output objectives, or explain or check one."),
    "architectures": (
        "w2vtrain.commands.architectures:architectures",
        "List the architectures, or explain or check one.",
    ),
    "bench": ("w2vtrain.commands.bench:bench", "Compare speed and accuracy with other systems."),
}
"""The place and the short help of each command."""


@click.group(
    cls=LazyGroup, places=COMMANDS, epilog=CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip
@click.version_option(__version__, prog_name=NAME)
def cli() -> None:
    """Train, evaluate and query word embeddings."""


@command(epilog=CODES, short_help="Train word vectors on text.")
@click.argument("corpus", nargs=-1, metavar="CORPUS...")
@click.option("-o", "--output", metavar="FILE", help=f"{OUTPUT}  [required]")
@format_option
@export_option
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
    help="With --init-from MODEL: add the corpus's counts to the model's, and train new words that occur --min-count"
    " times in the corpus.  [default: off]",
)  # fmt: skip
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
@click.option("--print-config", is_flag=True, help="Print all settings and their origins as TOML, and exit.")
@quiet_option
@click.option(
    "--progress-every", type=Within(RANGES["progress_every"]), default=30, show_default=True, metavar="SECONDS",
    help="Time between progress lines on stderr and in --log-json.",
)  # fmt: skip
@click.option("--run", metavar="DIR", help="Folder for checkpoints.  [default: output name + .run; none for stdout]")
@click.option(
    "--checkpoint-every", type=Within(RANGES["checkpoint_every"]), default=10, show_default=True, metavar="MINUTES",
    help="Time between checkpoints. SIGUSR1 saves one at once; SIGTERM, SIGHUP, Ctrl-C or, on Windows, Ctrl-Break"
    " saves one and stops.",
)  # fmt: skip
@allow_changed_option
@click.option(
    "--on-full", type=click.Choice(["stop", "wait"]), default="stop", show_default=True,
    help="If the disk is full: stop, or (wait) continue without checkpoints and retry the results until they fit.",
)  # fmt: skip
@click.option(
    "--distributed", type=click.Choice(["mpi"]),
    help="Train on all ranks of an MPI job, such as `mpiexec -n 4 w2vtrain fit ...`; needs w2vtrain[mpich] or [mpi].",
)  # fmt: skip
@click.option(
    "--sync-words", type=Within(RANGES["sync_words"]), metavar="N",
    help="With --distributed: words per rank between two synchronizations.  [default: adapted to the network]",
)  # fmt: skip
@click.option(
    "--sync-timeout", type=Within(RANGES["sync_timeout"]), default=300, show_default=True, metavar="SECONDS",
    help="With --distributed: end the run, which the same command continues, if a rank does not answer.",
)  # fmt: skip
@setting_options(*TRAINING)
def fit(corpus: tuple[str, ...], **values: Any) -> None:
    """Train word vectors on CORPUS: files, directories, globs, or - for stdin.

    Text is UTF-8 with one sentence per line, split into words at white space. Files compressed with gzip, bzip2, xz or
    zstd are recognized by content. The settings, listed from --architecture on, can also come from environment
    variables (W2VTRAIN_EPOCHS=3) or from a --config file.
    """
    if not values["print_config"]:
        if not corpus:
            raise click.UsageError("Missing argument 'CORPUS...'")
        if not values["output"]:
            raise click.UsageError("Missing option '-o' / '--output'")
    flags = given(values, TRAINING)
    if options := objective_options(given(values, SHORT), values.pop("options")):
        flags["options"] = options
    with imports():
        from w2vtrain.commands.fit import fit as run
        from w2vtrain.permission import Named
    named = Named(flags.get("objective"), flags.get("architecture"))
    run(FitRequest(sources=corpus, flags=flags, **values), named=named)


@command(epilog=CODES, short_help="Continue a run that was stopped or killed.")
@click.argument("run")
@force_option
@allow_changed_option
@code_options
@cache_option
@quiet_option
def resume(run: str, force: bool, quiet: bool, allow_changed: bool, cache_dir: str | None, **named: str | None) -> None:
    """Continue the run in folder RUN from its last checkpoint, with the same settings and outputs.

    Repeating the `fit` command does the same. With one thread, the results are byte-identical to those of an
    uninterrupted run; with several, every part of the text is trained on the same number of times.
    """
    with imports():
        from w2vtrain.commands.resume import resume as continue_run
        from w2vtrain.permission import Named
    continue_run(run, quiet, force, allow_changed, Named(**named), cache_dir)


@command(
    epilog=CODES, short_help="Restart a fit command until it has finished.",
    context_settings={"allow_interspersed_args": False},
)  # fmt: skip
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option(
    "--hang", type=Within(Real(0.001, LONGEST_TIME)), default=300, show_default=True, metavar="SECONDS",
    help="Kill and restart the command after this time without a sign of life; 10 times this if the run writes no"
    " heartbeat and its processes on this host are idle.",
)  # fmt: skip
@click.option(
    "--grace", type=Within(Real(0.0, LONGEST_TIME)), default=30, show_default=True, metavar="SECONDS",
    help="Time from SIGTERM to SIGKILL.",
)  # fmt: skip
@click.option(
    "--attempts", type=COUNT, default=10, show_default=True, metavar="N",
    help="Give up after N starts in a row in which the run did not advance.",
)  # fmt: skip
@click.option(
    "--stop", default="", metavar="COMMAND",
    help="Run this instead of passing a signal on, for launchers that kill their ranks on SIGTERM, such as srun: it has"
    " to send SIGTERM to the ranks, as `scancel --signal=TERM JOB` does.",
)  # fmt: skip
def supervise(command: tuple[str, ...], **limits: Any) -> None:
    """Run COMMAND, a `fit` command or a launcher such as mpiexec with one, and restart it until it has finished.

    The run has finished when FILE.json beside its vectors has its id; the exit code of a launcher is not trusted.
    The command is started again if it ends without that or hangs, as long as the run advances.
    SIGTERM, SIGHUP or Ctrl-C is passed on once as SIGTERM, and the command is not started again; a
    second Ctrl-C kills it.
    """
    with fit.make_context("w2vtrain fit", fit_words(command)) as context:
        values = {name: context.params[name] for name in ("output", "run", "cache_dir", "log_json", "print_config")}
        request = FitRequest(sources=context.params["corpus"], flags={}, **values)
    with imports():
        from w2vtrain.commands.supervise import supervise as run
        from w2vtrain.distributed.supervisor import Limits
    run(command, request, Limits(**limits))


def fit_words(command: tuple[str, ...]) -> list[str]:
    """Return what follows the word `fit`, preferably after `w2vtrain`; UsageError if there is no such word."""
    places = [i for i, word in enumerate(command) if word == "fit"]
    if not places:
        raise click.UsageError(
            "the command has no `fit`: expected, for example, mpiexec -n 4 w2vtrain fit CORPUS -o FILE"
        )
    after_name = [i for i in places if i and command[i - 1].rpartition("/")[2] in (NAME, "cli.py")]
    return list(command[(after_name or places)[0] + 1 :])


def main() -> None:
    """Run the command line; report every error as one line on stderr and an exit code."""
    execute(cli)
