"""The command line: parse, call, print. What is done is done by the modules it calls.

Heavy imports stay inside the commands, so that --help answers at once.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import click

from . import __version__
from .config import FIELDS
from .errors import W2VError

CODES = """\b
Exit codes: 0 done; 1 below --fail-under; 2 bad command line; 65 bad data; 66 input missing or unreadable;
70 internal error; 71 out of memory; 73 output exists or cannot be created; 74 error while writing;
76 training diverged; 78 bad settings; 130 interrupted."""
LEFT_OUT = ("options",)


def debug_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """--debug, read by `main` from the arguments themselves."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show a traceback with an error.")(command)


def setting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for every field of Settings; values stay text, so that all are checked in one place."""
    for name, field in reversed(FIELDS.items()):
        if name in LEFT_OUT:
            continue
        flag, metadata = f"--{name.replace('_', '-')}", field.metadata
        names = [flag, *metadata.get("aliases", ()), name]
        text = metadata["help"] + (f"  [default: {field.default}]" if field.default is not None else "")
        if isinstance(field.default, bool):
            option = click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=text)
        else:
            metavar = "|".join(metadata["choices"]) if "choices" in metadata else None
            option = click.option(*names, default=None, metavar=metavar, help=text)
        command = option(command)
    return command


class Catalogue(click.Group):
    """Commands in the order in which they are written."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(self.commands)


@click.group(cls=Catalogue, epilog=CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="w2vtrain")
@debug_option
def cli() -> None:
    """Train word embeddings, evaluate them and ask them questions."""


@cli.command(epilog=CODES)
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help="Word vectors: .txt or .vec text, .bin binary; - is stdout.")
@click.option("--format", "format_", type=click.Choice(["text", "binary"]), help="Format, where the suffix doesn't say.")
@click.option("--save-output-vectors", metavar="FILE", help="Also the output matrix's rows, as vectors.")
@click.option("--save-model", metavar="FILE", help="Also both matrices, counts, tree or noise, settings and record.")
@click.option("--save-vocab", metavar="FILE", help="Also the vocabulary, one `word count` a line.")
@click.option("--read-vocab", metavar="FILE", help="Take the vocabulary from such a file.")
@click.option("--config", metavar="FILE", help="Settings in TOML; options given here come first.")
@click.option("-O", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Option of the objective.")
@click.option("--negative", metavar="N", help="Short for -O negative=N: noise words a target.")
@click.option("--ns-exponent", metavar="X", help="Short for -O ns_exponent=X: noise is counts to this power.")
@click.option("--learn-z", is_flag=True, help="Short for -O learn_z=true: nce learns a log Z a context word.")
@click.option("--cache-dir", metavar="DIR", help="Folder for the encoded corpus.  [default: the output's]")
@click.option("--force", is_flag=True, help="Overwrite output files.")
@click.option("--print-config", is_flag=True, help="Print every setting and its origin, and stop.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("--progress-every", type=click.FloatRange(0), default=30, show_default=True, help="Seconds between lines.")
@setting_options
@debug_option
def fit(corpus: tuple[str, ...], **given: Any) -> None:
    """Train word vectors on CORPUS: files, directories, globs or - for stdin.

    Text is UTF-8, split at white space, a line a sentence; gz, bz2, xz and zst are recognised by content.
    """
    from .run import FitRequest, run_fit

    flags = {name: given.pop(name) for name in FIELDS if name not in LEFT_OUT}
    options = [pair.partition("=") for pair in given.pop("options")]
    if bad := [key for key, equals, _ in options if not equals]:
        raise click.UsageError(f"-O {bad[0]}: expected KEY=VALUE")
    short = {"negative": given.pop("negative"), "ns_exponent": given.pop("ns_exponent")}
    short |= {"learn_z": given.pop("learn_z") or None}
    chosen = {key.strip().replace("-", "_"): value.strip() for key, _, value in options}
    flags["options"] = {key: value for key, value in short.items() if value is not None} | chosen
    flags = {name: value for name, value in flags.items() if value is not None and value != {}}
    run_fit(FitRequest(sources=corpus, flags=flags, **given))


@cli.command(epilog=CODES)
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to write it; - is stdout.")
@click.option("--min-count", type=click.IntRange(1), default=5, show_default=True)
@click.option("--max-vocab", type=click.IntRange(2), help="Keep this many of the most frequent words.")
@click.option("--tokenizer", type=click.Choice(["whitespace", "simple"]), default="whitespace", show_default=True)
@click.option("--threads", default="auto", show_default=True)
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@debug_option
def vocab(corpus: tuple[str, ...], output: str, threads: str, force: bool, **settings: Any) -> None:
    """Count the words of CORPUS: one `word count` a line, most frequent first."""
    from .run import run_vocab

    run_vocab(corpus, output, threads, force, **settings)


@cli.group(name="eval")
def evaluate() -> None:
    """Score vectors on analogies or word similarity."""


def scoring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What both evaluations share."""
    for option in (
        debug_option,
        click.option("--fail-under", type=float, metavar="X", help="Exit with 1 if the total is below X."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option("--case-sensitive", is_flag=True, help="Tell upper from lower case."),
    ):
        command = option(command)
    return command


@evaluate.command()
@click.argument("vectors")
@click.argument("questions")
@click.option("--restrict-vocab", type=click.IntRange(0), default=30_000, show_default=True, help="0 takes all words.")
@scoring_options
def analogies(vectors: str, questions: str, **options: Any) -> None:
    """Answer the analogy QUESTIONS (`a b c d` a line, `: section`) with VECTORS: d nearest to b - a + c."""
    from .queries import print_analogies

    print_analogies(vectors, questions, **options)


@evaluate.command()
@click.argument("vectors")
@click.argument("pairs")
@click.option("--restrict-vocab", type=click.IntRange(0), default=0, show_default=True, help="0 takes all words.")
@scoring_options
def similarity(vectors: str, pairs: str, **options: Any) -> None:
    """Correlate VECTORS' cosines with the scores of PAIRS (`word word score` a line)."""
    from .queries import print_similarity

    print_similarity(vectors, pairs, **options)


@cli.command()
@click.argument("vectors")
@click.argument("words", nargs=-1)
@click.option("-n", "--topn", type=click.IntRange(1), default=10, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@debug_option
def neighbors(vectors: str, words: tuple[str, ...], topn: int, as_json: bool) -> None:
    """Print the words nearest to each of WORDS; without WORDS, to each line of stdin."""
    from .queries import print_neighbors

    print_neighbors(vectors, [[word] for word in words] or lines_of_words(1), topn, as_json)


@cli.command()
@click.argument("vectors")
@click.argument("words", nargs=-1)
@click.option("-n", "--topn", type=click.IntRange(1), default=10, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@debug_option
def analogy(vectors: str, words: tuple[str, ...], topn: int, as_json: bool) -> None:
    """Solve `king man woman`: the words nearest to king - man + woman; without words, of each line of stdin."""
    from .queries import print_analogy

    if words and len(words) != 3:
        raise click.UsageError(f"expected three words, as in `king man woman`, got {len(words)}")
    print_analogy(vectors, [list(words)] if words else lines_of_words(3), topn, as_json)


def lines_of_words(count: int) -> Iterator[list[str]]:
    """The words of each line of stdin; empty lines are passed over."""
    for number, line in enumerate(sys.stdin, 1):
        words = line.split()
        if words and len(words) != count:
            raise click.UsageError(f"stdin, line {number}: expected {count} word{'s' * (count > 1)}, got {len(words)}")
        if words:
            yield words


@cli.command()
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@debug_option
def info(file: str, as_json: bool) -> None:
    """Say what FILE is: vectors, a model, a vocabulary."""
    from .queries import print_info

    print_info(file, as_json)


@cli.command()
@click.argument("name", required=False)
@debug_option
def objectives(name: str | None) -> None:
    """List the output objectives, or show the formula, the paper and the options of one."""
    from .queries import print_objectives

    print_objectives(name)


def main() -> None:
    """Run the command line; every error is one line on stderr and an exit code."""
    try:
        code = cli.main(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Abort:
        code = 130
    except KeyboardInterrupt:
        code = 130
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = 2
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"; see {context.command_path} --help" if context else ""
        code = fail(error.format_message().replace("\n", " ").rstrip(".") + hint, error.exit_code)
    except W2VError as error:
        code = fail(str(error), error.exit_code)
    except BrokenPipeError:  # the reader of a pipe has gone: nothing to say, nobody to say it to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except MemoryError as error:
        code = fail(f"out of memory{f': {error}' if str(error) else ''}; try a smaller --max-vocab or --vector-size", 71)
    except Exception as error:
        code = fail(f"internal error: {type(error).__name__}: {error}; run again with --debug for a traceback", 70)
    sys.exit(code)


def fail(message: str, code: int) -> int:
    """Print the one line, after the traceback where --debug asks for it."""
    if "--debug" in sys.argv:
        traceback.print_exc()
    click.echo(f"w2vtrain: error: {message}", err=True)
    return code

