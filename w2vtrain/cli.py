"""The command line: parse, call, print. What is done is done by the modules it calls.

Heavy imports stay inside the commands, so that --help answers at once.
"""

import importlib
import os
from typing import Any

import click

from w2vtrain import __version__
from w2vtrain.commands.options import (
    COMPARING,
    COUNTING,
    TRAINING,
    allow_changed_option,
    cache_option,
    code_options,
    config_option,
    debug_option,
    force_option,
    format_option,
    given,
    json_option,
    objective_options,
    pairs_option,
    query_options,
    questions_option,
    quiet_option,
    restrict_option,
    scoring_options,
    setting_options,
)
from w2vtrain.commands.shell import execute
from w2vtrain.system.terminal import NAME, interrupts_end_imports

CODES = """\b
Exit codes: 0 done; 1 below --fail-under, failed check; 2 bad command line;
65 bad data; 66 input missing or unreadable; 70 internal error; 71 out of memory;
73 output exists, cannot be created or is in use; 74 disk full or error while writing;
75 stopped and saved; 76 training diverged; 78 bad settings or code not named here;
130 interrupted."""
SHORT = ("negative", "ns_exponent", "learn_z", "tree")


class Catalogue(click.Group):
    """Commands in the order in which they are written."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(self.commands)


@click.group(
    cls=Catalogue, epilog=CODES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name=NAME)
@debug_option
def cli() -> None:
    """Train word embeddings, evaluate them and ask them questions."""


@cli.command(epilog=CODES, short_help="Train word vectors on text.")
@click.argument("corpus", nargs=-1, metavar="CORPUS...")
@click.option(
    "-o", "--output", metavar="FILE", help="Word vectors: .txt or .vec text, .bin binary; - is stdout.  [required]"
)
@format_option
@click.option("--save-output-vectors", metavar="FILE", help="Also the output matrix's rows, as vectors.")
@click.option("--save-model", metavar="FILE", help="Also both matrices, counts, tree or noise, settings and record.")
@click.option("--save-vocab", metavar="FILE", help="Also the vocabulary, one `word count` a line.")
@click.option(
    "--read-vocab", metavar="FILE",
    help="Take the vocabulary from such a file; --min-count and --max-vocab cut it only if they are given.",
)  # fmt: skip
@click.option("--heldout", multiple=True, metavar="FILE", help="Score this text after each epoch, keep the best.")
@click.option(
    "--log-json", metavar="FILE", help="Also the progress, one JSON object a line, and what was done at the end."
)
@config_option
@click.option("-O", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Option of the objective.")
@click.option("--negative", metavar="N", help="Short for -O negative=N: noise words a target.")
@click.option("--ns-exponent", metavar="X", help="Short for -O ns_exponent=X: noise is counts to this power.")
@click.option(
    "--learn-z", is_flag=True, default=None, help="Short for -O learn_z=true: nce learns log Z of each context word."
)
@click.option("--tree", metavar="NAME", help="Short for -O tree=NAME: huffman, balanced, cluster or a file, for hs.")
@cache_option
@force_option
@click.option("--print-config", is_flag=True, help="Print all settings with their origins as TOML, and stop.")
@quiet_option
@click.option(
    "--progress-every", type=click.FloatRange(0), default=30, show_default=True, metavar="SECONDS",
    help="Between two lines of progress, here or in --log-json.",
)  # fmt: skip
@click.option("--run", metavar="DIR", help="Folder for checkpoints.  [default: the output's name and .run]")
@click.option(
    "--checkpoint-every", type=click.FloatRange(0), default=10, show_default=True, metavar="MINUTES",
    help="Between two checkpoints; SIGUSR1 makes one at once, SIGTERM or Ctrl-C makes one and stops.",
)  # fmt: skip
@allow_changed_option
@click.option(
    "--on-full", type=click.Choice(["stop", "wait"]), default="stop", show_default=True,
    help="On a full disk stop, or train on without the checkpoint and keep results until there is room.",
)  # fmt: skip
@setting_options(*TRAINING)
@debug_option
def fit(corpus: tuple[str, ...], **values: Any) -> None:
    """Train word vectors on CORPUS: files, directories, globs or - for stdin.

    Text is UTF-8, split at white space, a line a sentence; gz, bz2, xz and zst are recognized by content. Every
    setting can also come from the environment (W2VTRAIN_EPOCHS=3) or from --config.
    """
    if not values["print_config"]:
        if not corpus:
            raise click.UsageError("Missing argument 'CORPUS...'")
        if not values["output"]:
            raise click.UsageError("Missing option '-o' / '--output'")
    flags = given(values, TRAINING)
    if options := objective_options(given(values, SHORT), values.pop("options")):
        flags["options"] = options
    request = module("commands.request").FitRequest(sources=corpus, flags=flags, **values)
    module("commands.fit").fit(request, named=named(dict(flags)))


def named(values: dict[str, Any]) -> Any:
    """Take the objective and the architecture out of a command's arguments: their code may run."""
    parts = {kind: values.pop(kind, None) for kind in ("objective", "architecture")}
    return module("permission").Named(**parts)


def module(name: str) -> Any:
    """Import a module of commands; ResourceError if there is not enough memory for what it imports."""
    with interrupts_end_imports():
        from w2vtrain.system.machine import check_address_space

        check_address_space()
        return importlib.import_module(f"{__package__}.{name}")


@cli.command(epilog=CODES, short_help="Go on with a run that was stopped or killed.")
@click.argument("run")
@force_option
@allow_changed_option
@code_options
@cache_option
@quiet_option
@debug_option
def resume(run: str, force: bool, quiet: bool, allow_changed: bool, **values: Any) -> None:
    """Go on with the run in folder RUN from its last checkpoint, as it was asked for then.

    The same `fit` command does the same. On one thread the result is that of a run which was never stopped, byte for
    byte; with more, every part of the text is learned exactly as often.
    """
    module("commands.resume").resume(run, quiet, force, allow_changed, named(values), **values)


@cli.command(epilog=CODES, short_help="Write the vectors of a run that is not done.")
@click.argument("run")
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="Word vectors: .txt or .vec text, .bin binary; - is stdout."
)
@format_option
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@code_options
@debug_option
def export(run: str, output: str, format_: str | None, force: bool, **values: Any) -> None:
    """Write the vectors of the last checkpoint in folder RUN, which may be training: neither is the run touched, nor
    the corpus needed. With --heldout text they are those of the best epoch.
    """
    module("commands.export").export(run, output, format_, force, named(values))


@cli.command(epilog=CODES, short_help="Count the words of text.")
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to write them; - is stdout, the default.")
@setting_options(*COUNTING)
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@quiet_option
@debug_option
def vocab(corpus: tuple[str, ...], output: str, force: bool, quiet: bool, **values: Any) -> None:
    """Count the words of CORPUS: one `word count` a line, most frequent first."""
    module("commands.vocab").vocab(corpus, output, given(values, COUNTING), force, quiet)


@cli.group(name="eval", cls=Catalogue, epilog=CODES)
@debug_option
def evaluate() -> None:
    """Score vectors on analogies or word similarity."""


@evaluate.command(epilog=CODES, short_help="King is to man as what is to woman?")
@click.argument("vectors")
@click.argument("questions")
@restrict_option(30_000)
@scoring_options
def analogies(vectors: str, questions: str, **options: Any) -> None:
    """Answer the analogy QUESTIONS (`a b c d` a line, `: section`) with VECTORS: d nearest to b - a + c."""
    module("commands.evaluate").print_analogies(vectors, questions, **options)


@evaluate.command(epilog=CODES, short_help="Do cosines agree with people's scores?")
@click.argument("vectors")
@click.argument("pairs")
@restrict_option(0)
@scoring_options
def similarity(vectors: str, pairs: str, **options: Any) -> None:
    """Correlate VECTORS' cosines with the scores of PAIRS (`word word score` a line)."""
    module("commands.evaluate").print_similarity(vectors, pairs, **options)


@cli.command(short_help="Print the words nearest to a word.")
@click.argument("vectors")
@click.argument("words", nargs=-1)
@query_options
def neighbors(vectors: str, words: tuple[str, ...], topn: int, as_json: bool, strict: bool) -> None:
    """Print the words nearest to each of WORDS in VECTORS; without WORDS, to the word on each line of stdin.

    Each word and each line gives one line: the word, a tab, the answers. Without an answer it ends after the tab, and
    a warning says why; words given as arguments then end with exit code 65.
    """
    module("commands.query").print_neighbors(vectors, asked_words(words, 1, vectors), topn, as_json, strict)


@cli.command(short_help="Solve king - man + woman.")
@click.argument("vectors")
@click.argument("words", nargs=-1, metavar="[KING MAN WOMAN]")
@query_options
def analogy(vectors: str, words: tuple[str, ...], topn: int, as_json: bool, strict: bool) -> None:
    """Print the words nearest to KING - MAN + WOMAN in VECTORS; without words, for those on each line of stdin.

    Each line gives one line: the words, a tab, the answers. Without an answer it ends after the tab, and a warning
    says why.
    """
    if words and len(words) != 3:
        raise click.UsageError(f"expected three words, as in `king man woman`, got {len(words)}")
    module("commands.query").print_analogy(vectors, asked_words(words, 3, vectors), topn, as_json, strict)


def asked_words(words: tuple[str, ...], count: int, vectors: str) -> list[list[str]] | None:
    """Return the arguments in groups of `count`; None without arguments: the words are on the lines of stdin."""
    if words:
        known = [os.fsencode(word).decode(errors="surrogateescape") for word in words]  # UTF-8 whatever the locale
        return [known[i : i + count] for i in range(0, len(known), count)]
    if vectors == "-":
        raise click.UsageError("stdin cannot give both the vectors and the words: name the words")
    return None


@cli.command(epilog=CODES, short_help="Score held-out text with a saved model.")
@click.argument("model")
@click.argument("heldout", nargs=-1, required=True)
@click.option("--threads", metavar="N", default=None, help="Threads, or auto.  [default: auto]")
@code_options
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@debug_option
def perplexity(model: str, heldout: tuple[str, ...], **options: Any) -> None:
    """Print how well MODEL, from `fit --save-model`, predicts the text HELDOUT: perplexity exact and unnormalized, the
    mean and the variance of log Z, bits a word, coverage.
    """
    module("commands.perplexity").perplexity(model, heldout, named=named(options), **options)


@cli.command(epilog=CODES, short_help="Train objectives side by side and print the table.")
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, metavar="DIR", help="Folder for results; a run goes on from what is there."
)
@click.option("--heldout", required=True, metavar="FILE", help="Text that is scored after each epoch.")
@click.option("--test", metavar="FILE", help="Text that is scored at the end; by default --heldout's.")
@click.option(
    "--objectives", default="all", show_default=True, metavar="LIST",
    help="Which, as in `softmax, nce(negative=25, alpha=0.1)`: options and settings of its own in brackets.",
)  # fmt: skip
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Trainings of each.")
@click.option("--rates", metavar="LIST", help="First try these rates with each objective, as in 0.02,0.05,0.1.")
@click.option("--tune-seconds", type=click.FloatRange(0.1), default=20, show_default=True, help="For each such try.")
@questions_option
@pairs_option
@config_option
@setting_options(*COMPARING)
@debug_option
def compare(corpus: tuple[str, ...], **values: Any) -> None:
    """Train objectives on CORPUS one by one under the same budget, --epochs or --seconds, and print what each is worth:
    speed in training and in scoring, perplexity, log Z, scores of the vectors, size, memory.

    DIR gets table.md, table.csv, compare.json and curves.png.
    """
    flags = given(values, COMPARING)
    module("commands.compare").compare(corpus, flags, **values)


@cli.command(short_help="Say what a file is.")
@click.argument("file")
@json_option
@debug_option
def info(file: str, as_json: bool) -> None:
    """Say what FILE is: vectors, a model, a vocabulary; and of a model, how it was made."""
    module("commands.info").print_info(file, as_json)


@cli.command(short_help="List the output objectives, explain or check one.")
@click.argument("words", nargs=-1, metavar="[[check] NAME]")
@click.option("-O", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Check with this option.")
@debug_option
def objectives(words: tuple[str, ...], options: tuple[str, ...]) -> None:
    """List the output objectives, or show the formula, the paper and the options of one.

    `objectives check NAME` checks that one compiles, its gradients and its probabilities; NAME may also be a file,
    my_objective.py, or a module, package.my_objective.
    """
    if name := checked_name(words):
        module("commands.objectives").check_objective(name, objective_options({}, options))
    else:
        module("commands.objectives").print_objectives(*words)


@cli.command(short_help="List the architectures, explain or check one.")
@click.argument("words", nargs=-1, metavar="[[check] NAME]")
@debug_option
def architectures(words: tuple[str, ...]) -> None:
    """List the architectures, or show the formula and the paper of one.

    `architectures check NAME` checks that one compiles, and its gradients; NAME may also be a file, my_architecture.py,
    or a module, package.my_architecture.
    """
    if name := checked_name(words):
        module("commands.architectures").check_architecture(name)
    else:
        module("commands.architectures").print_architectures(*words)


def checked_name(words: tuple[str, ...]) -> str | None:
    """Return NAME of `check NAME`, None if nothing is to be checked; UsageError for anything else but one NAME."""
    if (len(words) > 1 and words[0] != "check") or len(words) > 2 or words == ("check",):
        raise click.UsageError("expected NAME or check NAME")
    return words[1] if len(words) == 2 else None


@cli.command(epilog=CODES)
@click.argument("corpus")
@click.option("--systems", default="w2vtrain,gensim,fasttext", show_default=True, help="Those installed are measured.")
@click.option("--architectures", "--models", default="skipgram,cbow", show_default=True)
@click.option("--objectives", default="neg,hs,nce", show_default=True)
@click.option("--alpha", "alphas", multiple=True, metavar="SYSTEM=X", help="Rate of a system; else its default.")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True)
@click.option("--epochs", type=click.IntRange(1), default=1, show_default=True)
@click.option("--vector-size", type=click.IntRange(1), default=200, show_default=True)
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@questions_option
@pairs_option
@click.option("--json", "json_file", metavar="FILE", help="Also write every measurement to FILE.")
@click.option(
    "--sweep",
    metavar="FILE",
    help="Instead, measure w2vtrain over dimensions, noise words, windows, vocabularies and threads, and draw it:"
    " the first of --architectures with the first of --objectives.",
)
@debug_option
def bench(corpus: str, **options: Any) -> None:
    """Measure speed and accuracy on CORPUS, plain text, beside gensim and fastText.

    Window 5, 5 noise words, sample 1e-3, min count 5. Each job runs in a process of its own, systems taking turns.
    GFLOP counts the operations of products and updates; what the machine can do stands in the line before the table.
    """
    module("commands.bench").bench(corpus, **options)


def main() -> None:
    """Run the command line; every error is one line on stderr and an exit code."""
    execute(cli)
