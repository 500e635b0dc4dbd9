"""Declare the command line: commands, arguments, options and help texts.

The work is done by the modules in commands/, which are imported only when a command runs, so that --help is fast.
"""

import importlib
import os
from typing import Any

import click

from w2vtrain import __version__
from w2vtrain.commands.options import (
    COMPARING,
    COUNT,
    COUNT_OR_NONE,
    COUNTING,
    TRAINING,
    Within,
    allow_changed_option,
    cache_option,
    code_options,
    config_option,
    debug_option,
    export_option,
    force_option,
    format_option,
    given,
    json_option,
    lookup_options,
    objective_options,
    pairs_option,
    query_options,
    questions_option,
    quiet_option,
    restrict_option,
    scoring_options,
    setting_options,
    vectors_option,
)
from w2vtrain.commands.request import RANGES
from w2vtrain.commands.shell import execute
from w2vtrain.commands.spelling import Catalogue
from w2vtrain.config import SHORT
from w2vtrain.errors import EXIT_CODES
from w2vtrain.parsers import LONGEST_TIME, Real, Whole
from w2vtrain.system.stopping import NAME, signals_end_imports

CODES = f"Exit codes: {'; '.join(f'{code} {summary}' for code, (summary, _) in EXIT_CODES.items())}."


@click.group(
    cls=Catalogue, epilog=CODES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name=NAME)
@debug_option
def cli() -> None:
    """Train, evaluate and query word embeddings."""


@cli.command(epilog=CODES, short_help="Train word vectors on text.")
@click.argument("corpus", nargs=-1, metavar="CORPUS...")
@click.option(
    "-o", "--output", metavar="FILE",
    help="File for the word vectors: .txt or .vec for text, .bin for binary, - for stdout; .gz, .bz2,"
    " .xz or .zst after it compresses.  [required]",
)  # fmt: skip
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
@debug_option
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
    request = module("commands.request").FitRequest(sources=corpus, flags=flags, **values)
    module("commands.fit").fit(request, named=named(dict(flags)))


def named(values: dict[str, Any]) -> Any:
    """Remove the objective and the architecture from a command's arguments and return them as permission to run."""
    parts = {kind: values.pop(kind, None) for kind in ("objective", "architecture")}
    return module("permission").Named(**parts)


def module(name: str) -> Any:
    """Import a module of this package; ResourceError if the address space is too small for its imports."""
    with signals_end_imports():
        from w2vtrain.system.machine import check_address_space

        check_address_space()
        return importlib.import_module(f"{__package__}.{name}")


@cli.command(epilog=CODES, short_help="Continue a run that was stopped or killed.")
@click.argument("run")
@force_option
@allow_changed_option
@code_options
@cache_option
@quiet_option
@debug_option
def resume(run: str, force: bool, quiet: bool, allow_changed: bool, **values: Any) -> None:
    """Continue the run in folder RUN from its last checkpoint, with the same settings and outputs.

    Repeating the `fit` command does the same. With one thread, the results are byte-identical to those of an
    uninterrupted run; with several, every part of the text is trained on the same number of times.
    """
    module("commands.resume").resume(run, quiet, force, allow_changed, named(values), **values)


@cli.command(
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
@debug_option
def supervise(command: tuple[str, ...], **limits: Any) -> None:
    """Run COMMAND, a `fit` command or a launcher such as mpiexec with one, and restart it until it has finished.

    The run has finished when FILE.json beside its vectors has its id; the exit code of a launcher is not trusted.
    The command is started again if it ends without that or hangs, as long as the run advances.
    SIGTERM, SIGHUP or Ctrl-C is passed on once as SIGTERM, and the command is not started again; a
    second Ctrl-C kills it.
    """
    with fit.make_context("w2vtrain fit", fit_words(command)) as context:
        values = {name: context.params[name] for name in ("output", "run", "cache_dir", "log_json", "print_config")}
        request = module("commands.request").FitRequest(sources=context.params["corpus"], flags={}, **values)
    module("commands.supervise").supervise(command, request, module("distributed.supervisor").Limits(**limits))


def fit_words(command: tuple[str, ...]) -> list[str]:
    """Return what follows the word `fit`, preferably after `w2vtrain`; UsageError if there is no such word."""
    places = [i for i, word in enumerate(command) if word == "fit"]
    if not places:
        raise click.UsageError(
            "the command has no `fit`: expected, for example, mpiexec -n 4 w2vtrain fit CORPUS -o FILE"
        )
    after_name = [i for i in places if i and command[i - 1].rpartition("/")[2] in (NAME, "cli.py")]
    return list(command[(after_name or places)[0] + 1 :])


@cli.command(epilog=CODES, short_help="Write the vectors of an unfinished run.")
@click.argument("run")
@vectors_option
@format_option
@export_option
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@code_options
@debug_option
def export(run: str, output: str, format_: str | None, export: Any, force: bool, **values: Any) -> None:
    """Write the vectors of the last checkpoint in folder RUN, or of the best epoch so far if it has --heldout text.

    The run may still be training and is not affected. The corpus is not needed.
    """
    module("commands.export").export(run, output, format_, export, force, named(values))


@cli.command(epilog=CODES, short_help="Write vectors in another format, or changed.")
@click.argument("vectors")
@vectors_option
@format_option
@export_option
@restrict_option(0)
@click.option("--center", is_flag=True, help="Subtract the mean of all vectors.")
@click.option(
    "--remove-top", type=COUNT_OR_NONE, default=0, show_default=True, metavar="N",
    help="Center, and remove the N largest principal components.",
)  # fmt: skip
@click.option("--normalize", is_flag=True, help="Scale each vector to unit length; zero vectors stay zero.")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@debug_option
def convert(**values: Any) -> None:
    """Read VECTORS in any format, or from a model, change them as requested, and write them.

    The changes are made in the order of the options below, from --export to --normalize. --export needs a model, as
    `fit --save-model` writes it. --remove-top is the method of Mu & Viswanath (2018), "All-but-the-top".
    """
    command = module("commands.convert")
    command.convert(command.Conversion(**values))


@cli.command(epilog=CODES, short_help="Count the words of a text.")
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", default="-", metavar="FILE", help="File for the counts.  [default: -, stdout]")
@setting_options(*COUNTING)
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@quiet_option
@debug_option
def vocab(corpus: tuple[str, ...], output: str, force: bool, quiet: bool, **values: Any) -> None:
    """Count the words of CORPUS and write one `word count` per line, most frequent first."""
    module("commands.vocab").vocab(corpus, output, given(values, COUNTING), force, quiet)


@cli.command(epilog=CODES, short_help="Write the tree of WordNet's hypernyms, for hierarchical softmax.")
@click.argument("words")
@click.argument("wordnet")
@click.option("-o", "--output", default="-", metavar="FILE", help="File for the tree.  [default: -, stdout]")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@quiet_option
@debug_option
def tree(words: str, wordnet: str, output: str, force: bool, quiet: bool) -> None:
    """Write a tree of WORDS that follows WordNet's hypernyms, one `word path` per line, for `fit --tree FILE`.

    WORDS is a vocabulary, as `vocab` writes it, a model, or word vectors in descending order of frequency. WORDNET is
    the folder `dict` of WordNet 3.x, with the files index.noun, data.noun and others.

    As in Morin & Bengio (2005), each word is below the hypernyms of its synset. Each word has one place: its most
    frequent sense, and the first hypernym of each synset. A Huffman tree of the counts divides the children of each
    node; Morin & Bengio clustered them by data instead. Words that WordNet lacks have a Huffman tree of their own.
    `</s>` is always included.
    """
    module("commands.tree").tree(words, wordnet, output, force, quiet)


@cli.group(name="eval", cls=Catalogue, epilog=CODES)
@debug_option
def evaluate() -> None:
    """Score vectors on analogies or word similarity."""


@evaluate.command(epilog=CODES, short_help="Score vectors on analogy questions.")
@click.argument("vectors")
@click.argument("questions")
@restrict_option(30_000)
@scoring_options
def analogies(vectors: str, questions: str, **options: Any) -> None:
    """Answer the analogy questions in the file QUESTIONS with VECTORS, and print the accuracy by section.

    Each line of QUESTIONS has four words, `a b c d`; `: name` begins a section. An answer is correct if d is the word
    nearest to b - a + c.
    """
    module("commands.evaluate").print_analogies(vectors, questions, **options)


@evaluate.command(epilog=CODES, short_help="Score vectors on human similarity judgments.")
@click.argument("vectors")
@click.argument("pairs")
@restrict_option(0)
@scoring_options
def similarity(vectors: str, pairs: str, **options: Any) -> None:
    """Correlate cosines of VECTORS with the human scores in the file PAIRS, one `word word score` per line."""
    module("commands.evaluate").print_similarity(vectors, pairs, **options)


@cli.command(short_help="Print the words nearest to a word.")
@click.argument("vectors")
@click.argument("words", nargs=-1)
@query_options
def neighbors(vectors: str, words: tuple[str, ...], topn: int, as_json: bool, strict: bool) -> None:
    """Print the words nearest to each of WORDS in VECTORS. Without WORDS, read one word per line from stdin.

    Each word gives one line of output: the word, a tab, and the answers. If there is no answer, nothing follows the
    tab, and a warning says why; for words given as arguments, the exit code is then 65.
    """
    module("commands.query").print_neighbors(vectors, asked_words(words, 1, vectors), topn, as_json, strict)


@cli.command(short_help="Print the words nearest to king - man + woman.")
@click.argument("vectors")
@click.argument("words", nargs=-1, metavar="[KING MAN WOMAN]")
@query_options
def analogy(vectors: str, words: tuple[str, ...], topn: int, as_json: bool, strict: bool) -> None:
    """Print the words nearest to KING - MAN + WOMAN in VECTORS. Without words or for -, read them from stdin:
    three per line.

    Each line gives one line of output: the words, a tab, and the answers. If there is no answer, nothing follows the
    tab, and a warning says why.
    """
    if words and words != ("-",) and len(words) != 3:
        raise click.UsageError(f"expected three words, as in `king man woman`, got {len(words)}")
    module("commands.query").print_analogy(vectors, asked_words(words, 3, vectors), topn, as_json, strict)


@cli.command(name="similarity", short_help="Print the cosine of two words.")
@click.argument("vectors")
@click.argument("words", nargs=-1, metavar="[WORD WORD]")
@lookup_options
def similarity_of(vectors: str, words: tuple[str, ...], as_json: bool, strict: bool) -> None:
    """Print the cosine of two words in VECTORS. Without words, or for -, read two per line from stdin.

    Each pair gives one line of output: the words, a tab, and the cosine. If there is no answer, nothing follows the
    tab, and a warning says why. `eval similarity` compares cosines with human judgments.
    """
    if words and words != ("-",) and len(words) != 2:
        raise click.UsageError(f"expected two words, got {len(words)}")
    module("commands.query").print_similarity(vectors, asked_words(words, 2, vectors), as_json, strict)


@cli.command(short_help="Print the vector of a word.")
@click.argument("vectors")
@click.argument("words", nargs=-1)
@lookup_options
def vector(vectors: str, words: tuple[str, ...], as_json: bool, strict: bool) -> None:
    """Print the vectors of WORDS in VECTORS, one `word v1 v2 ...` per line, as in vector files of text.

    Without WORDS, read one word per line from stdin. An unknown word prints no line, and a warning names it; for words
    given as arguments, the exit code is then 65.
    """
    module("commands.query").print_vector(vectors, asked_words(words, 1, vectors), as_json, strict)


def asked_words(words: tuple[str, ...], count: int, vectors: str) -> list[list[str]] | None:
    """Return the words given as arguments in groups of `count`; None if there are none and stdin has the words.

    `-` stands for stdin where it cannot be the word that is looked up.
    """
    if words and (words != ("-",) or count == 1):
        known = [os.fsencode(word).decode(errors="surrogateescape") for word in words]  # UTF-8 in every locale
        return [known[i : i + count] for i in range(0, len(known), count)]
    if vectors == "-":
        raise click.UsageError("stdin cannot provide both the vectors and the words: give the words as arguments")
    return None


@cli.command(epilog=CODES, short_help="Score held-out text with a saved model.")
@click.argument("model")
@click.argument("heldout", nargs=-1, required=True)
@click.option("--threads", metavar="N", default=None, help="Number of threads, or auto.  [default: auto]")
@code_options
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@debug_option
def perplexity(model: str, heldout: tuple[str, ...], **options: Any) -> None:
    """Print how well MODEL, written by `fit --save-model`, predicts the text HELDOUT.

    The figures are the perplexity, exact and unnormalized, bits per word, the mean and variance of log Z, and coverage.
    """
    module("commands.perplexity").perplexity(model, heldout, named=named(options), **options)


@cli.command(epilog=CODES, short_help="Train objectives side by side and print a table.")
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, metavar="DIR", help="Folder for results; those already there are reused."
)
@click.option(
    "--heldout", required=True, metavar="FILE",
    help="Text scored after each epoch or, with --seconds, at fractions of that CPU time.",
)  # fmt: skip
@click.option("--test", metavar="FILE", help="Text scored at the end.  [default: that of --heldout]")
@click.option(
    "--objectives", default="all", show_default=True, metavar="LIST",
    help="Objectives, with options and settings in parentheses, as in `softmax, nce(negative=25, alpha=0.1)`.",
)  # fmt: skip
@click.option(
    "--seeds", type=COUNT, default=1, show_default=True, metavar="N",
    help="Train each objective N times, with seeds 1 to N.",
)  # fmt: skip
@click.option(
    "--rates", metavar="LIST",
    help="First try these learning rates with each objective and take the best, as in 0.02,0.05,0.1 or, as multiples of"
    " its default, 0.5x,1x,2x.",
)  # fmt: skip
@click.option(
    "--tune-seconds", type=Within(Real(0.1, LONGEST_TIME)), default=20, show_default=True,
    help="CPU seconds of training for each of these tries.",
)  # fmt: skip
@click.option(
    "--jobs", "at_once", type=Within(Whole(1, 1024)), default=1, show_default=True, metavar="N",
    help="Train N objectives at a time, each on --threads threads.",
)  # fmt: skip
@questions_option
@pairs_option
@config_option
@setting_options(*COMPARING)
@debug_option
def compare(corpus: tuple[str, ...], **values: Any) -> None:
    """Train objectives on CORPUS one by one under the same budget, --epochs or --seconds, and print a table.

    --seconds are CPU seconds of training, summed over threads, so that other programs on the machine take nothing from
    an objective. Compilation and scoring do not count; how long scoring will take is announced before it begins. The
    table compares the CPU time of training and of scoring with that of `softmax`, and lists perplexity. The files
    table.md, table.csv, compare.json and curves.png in DIR have all figures, such as log Z, scores of the vectors, size
    and memory. The picture, curves.png, needs w2vtrain[plot].
    """
    flags = given(values, COMPARING)
    module("commands.compare").compare(corpus, flags, **values)


@cli.command(epilog=CODES, short_help="Compile in advance what training needs.")
@click.option("--architecture", "architectures", multiple=True, metavar="NAME", help="As for `fit`; repeatable.")
@click.option("--objective", "objectives", multiple=True, metavar="NAME", help="As for `fit`; repeatable.")
@click.option("--all", "everything", is_flag=True, help="All architectures with all objectives; takes minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per pair.")
@debug_option
def warmup(architectures: tuple[str, ...], objectives: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Compile the kernels that read text and train, once for this processor, and keep them in the cache.

    Otherwise the first run of an architecture with an objective does so, which takes seconds. The cache is in
    NUMBA_CACHE_DIR, the package's folder or your cache folder. Other settings than --architecture and --objective
    rarely need other kernels.
    """
    module("commands.warmup").compile_all(objectives, architectures, everything, as_json)


@cli.command(short_help="Print what a file or a run folder is.")
@click.argument("file")
@json_option
@debug_option
def info(file: str, as_json: bool) -> None:
    """Print what FILE is: vectors, a vocabulary, a model and how it was trained, a run folder or record, or
    the folder of a comparison.

    For a run folder, this is how far the run is, the time left, whether it is running, and the command that continues
    it.
    """
    module("commands.info").print_info(file, as_json)


@cli.command(short_help="List the output objectives, or explain or check one.")
@click.argument("words", nargs=-1, metavar="[[check] NAME]")
@click.option("-O", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Option to check with; repeatable.")
@click.option("--formulas", is_flag=True, help="Add formulas to the list.")
@debug_option
def objectives(words: tuple[str, ...], options: tuple[str, ...], formulas: bool) -> None:
    """List the output objectives and say which one to use, or print the formula, paper and options of one.

    `objectives check NAME` checks that an objective compiles, that its gradients and probabilities are correct, and
    that it learns a small text whose probabilities are known.
    NAME may also be a file, my_objective.py, or a module, package.my_objective.
    """
    if name := checked_name(words):
        module("commands.objectives").check_objective(name, objective_options({}, options))
    else:
        module("commands.objectives").print_objectives(*words, formulas=formulas)


@cli.command(short_help="List the architectures, or explain or check one.")
@click.argument("words", nargs=-1, metavar="[[check] NAME]")
@debug_option
def architectures(words: tuple[str, ...]) -> None:
    """List the architectures, or print the formula and paper of one.

    `architectures check NAME` checks that an architecture compiles and that its gradients are correct. NAME may also
    be a file, my_architecture.py, or a module, package.my_architecture.
    """
    if name := checked_name(words):
        module("commands.architectures").check_architecture(name)
    else:
        module("commands.architectures").print_architectures(*words)


def checked_name(words: tuple[str, ...]) -> str | None:
    """Return NAME of `check NAME`, or None if there is nothing to check; UsageError for more than one NAME."""
    if (len(words) > 1 and words[0] != "check") or len(words) > 2 or words == ("check",):
        raise click.UsageError("expected NAME or check NAME")
    return words[1] if len(words) == 2 else None


@cli.command(epilog=CODES, short_help="Compare speed and accuracy with other systems.")
@click.argument("corpus")
@click.option(
    "--systems", default="w2vtrain,gensim,fasttext", show_default=True, help="Systems to measure, if installed."
)
@click.option(
    "--program",
    "programs",
    multiple=True,
    metavar="SYSTEM=PATH",
    help="Also measure a program that you compiled: word2vec.c=PATH or pword2vec=PATH; repeatable.",
)
@click.option("--architectures", "--models", default="skipgram,cbow", show_default=True, help="As for `fit`.")
@click.option("--objectives", default="neg,hs,nce", show_default=True, help="As for `fit`.")
@click.option("--alpha", "alphas", multiple=True, metavar="SYSTEM=X", help="Learning rate of a system; repeatable.")
@click.option("--seeds", type=COUNT, default=1, show_default=True, help="Training runs per job.")
@click.option(
    "--epochs",
    multiple=True,
    metavar="[SYSTEM=]N,...",
    help="Passes over the corpus, or several numbers, each a run of its own: 1,3,10, and gensim=1,3 for one system;"
    " repeatable.  [default: 1]",
)
@click.option(
    "--negative",
    multiple=True,
    metavar="[SYSTEM=]N,...",
    help="Noise words, or several numbers, as with --epochs; repeatable.  [default: 5]",
)
@click.option("--vector-size", type=COUNT, default=200, show_default=True, help="Dimensions.")
@click.option("--threads", default="1", show_default=True, help="Number of threads, or several: 1,2,4.")
@questions_option
@pairs_option
@click.option(
    "--within",
    metavar="SECONDS,...",
    default="30,60,120,300",
    show_default=True,
    help="Times of the whole job for which the best setting of each system is printed.",
)
@click.option("--json", "json_file", metavar="FILE", help="Also write every measurement to FILE as JSON.")
@click.option(
    "--plot",
    metavar="FILE",
    help="Also plot scores against the seconds of the whole job to FILE; needs w2vtrain[plot].",
)
@click.option(
    "--sweep",
    metavar="FILE",
    help="Instead, measure and plot the speed of w2vtrain over dimensions, noise words, windows, vocabulary sizes and"
    " threads, for the first of --architectures and the first of --objectives; needs w2vtrain[plot].",
)
@debug_option
def bench(corpus: str, **options: Any) -> None:
    """Measure speed and accuracy of w2vtrain and other systems on CORPUS, which is plain text.

    All jobs use window 5, sample 1e-3 and min count 5. Each runs in its own process, and systems and settings take
    turns. With --questions or --pairs, the scores are listed beside the seconds of the whole job, from the text to
    written vectors, and for each time of --within the setting of each system that has the highest mean of the scores,
    of those that were measured. GFLOP counts the floating-point operations of products and updates; the machine's
    limits are printed first. Before and after each job with several threads, the round trip of a cache line between two
    cores is measured: cores are near if both take less than 100 ns. Last comes what limits each job of w2vtrain: the
    arithmetic, the rows that have to come from memory, or coherence, which is what threads lose to each other.
    """
    module("commands.bench").bench(corpus, **options)


def main() -> None:
    """Run the command line; report every error as one line on stderr and an exit code."""
    execute(cli)
