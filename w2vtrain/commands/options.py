"""The options that several commands share, generated from the settings table or declared once here.

Options of one command are declared beside it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import click

from w2vtrain.commands.classes import Command
from w2vtrain.commands.request import Export
from w2vtrain.config import FIELDS, ROWS, option
from w2vtrain.errors import EXIT_CODES, shown
from w2vtrain.formats import vector_formats
from w2vtrain.parsers import MAX_WORDS, Number, Real, Truth, Whole

CODES = f"Exit codes: {'; '.join(f'{code} {summary}' for code, (summary, _) in EXIT_CODES.items())}."
"""The end of the help of commands with several exit codes."""
command: Any = partial(click.command, cls=Command)
"""Decorator that declares a command; parameters: those of `click.command`."""

COUNTING = ("min_count", "max_vocab", "column", "tokenizer", "encoding_errors", "allow_nul", "phrases", "threads")
TRAINING = tuple(name for name in FIELDS if name != "options")
COMPARING = tuple(name for name in TRAINING if name not in ("objective", "seed"))


class Within(click.ParamType):  # type: ignore[type-arg]
    """A number within the range of a parser, as the settings have them. click's own ranges contain NaN."""

    def __init__(self, parser: Number) -> None:
        self.parser, self.name = parser, parser.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; UsageError says what was expected."""
        try:
            return self.parser.parse(value)
        except ValueError as error:
            self.fail(f"{error}, got {shown(value)}", param, ctx)


COUNT, COUNT_OR_NONE = Within(Whole(1, MAX_WORDS)), Within(Whole(0, MAX_WORDS))

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

allow_changed_option: Any = click.option(
    "--allow-changed", is_flag=True, help="Start over if the corpus has changed since the run began."
)
cache_option: Any = click.option(
    "--cache-dir", metavar="DIR", help="Folder for the encoded corpus during training.  [default: the output's folder]"
)
config_option: Any = click.option(
    "--config", metavar="FILE", help="TOML file of settings; options and W2VTRAIN_* variables override it."
)
force_option: Any = click.option(
    "--force", is_flag=True, help="Overwrite output files; `fit` also discards an unfinished run with other settings."
)
OUTPUT = (
    "File for the word vectors: .txt or .vec for text, .glove for GloVe's, .bin for binary, .npy, .npz, .parquet,"
    " .arrow, .feather, or .tsv for TensorBoard; with --format spacy or model2vec, a folder; - for stdout. After text"
    " and binary, .gz, .bz2, .xz or .zst compresses."
)
json_option: Any = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
quiet_option: Any = click.option("-q", "--quiet", is_flag=True, help="Print only errors.")


def all_of(*options: Decorator) -> Decorator:
    """Return one decorator that applies several; the help lists the options in this order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(options):
            function = decorator(function)
        return function

    return decorate


code_options: Any = all_of(
    *(
        click.option(f"--{kind}", metavar="NAME", help=f"Allow the code of the {kind} NAME, a file or module, to run.")
        for kind in ("objective", "architecture")
    )
)


def setting_options(*names: str) -> Decorator:
    """Return the options of these settings. Their values stay text, so that all are checked in one place."""
    return all_of(*map(setting_option, names))


def setting_option(name: str) -> Decorator:
    """Return the option of one setting; its help shows the possible values and the default."""
    row, default = ROWS[name], FIELDS[name].default
    flag, text = f"--{option(name)}", row.text
    if isinstance(row.parser, Truth):
        if default is not None:
            text += f"  [default: {'on' if default else 'off'}]"
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=text)
    if default is not None:
        text += f"  [default: {default:,}]" if isinstance(default, int) else f"  [default: {default}]"
    return click.option(
        flag, *(f"--{option(other)}" for other in row.names), name, default=None, metavar=row.parser.metavar, help=text,
        shell_complete=lambda context, parameter, start: [word for word in row.parser.words if word.startswith(start)],
    )  # fmt: skip


def given(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Remove these options from a command's arguments and return those that the user gave."""
    taken = {name: values.pop(name) for name in names}
    return {name: value for name, value in taken.items() if value is not None}


def objective_options(short: dict[str, Any], pairs: tuple[str, ...]) -> dict[str, Any]:
    """Return the objective's options from -O and its short forms; UsageError for one given twice or without a value."""
    options = short
    for pair in pairs:
        key, equals, value = pair.partition("=")
        name = key.strip().replace("-", "_")
        if not equals:
            raise click.UsageError(f"-O {pair}: expected KEY=VALUE")
        if name in options:
            raise click.UsageError(f"-O {pair}: {name} is given twice")
        options[name] = value.strip()
    return options


def restrict_option(default: int, shown: str | None = None) -> Decorator:
    """Return --restrict-vocab with the default of one command; shown: what the help says of it."""
    return click.option(
        "--restrict-vocab", type=COUNT_OR_NONE, default=default, show_default=shown or True, metavar="N",
        help="Use only the N most frequent words; 0 uses all.",
    )  # fmt: skip


scored_options = all_of(
    click.option("--questions", metavar="FILE", help="Analogy questions to score the vectors on."),
    click.option("--pairs", multiple=True, metavar="FILE", help="Word pairs to score the vectors on; repeatable."),
)
"""Options of commands that score what they train."""
vectors_options: Any = all_of(
    click.option(
        "--format", "format_", type=click.Choice([*vector_formats.names(), *vector_formats.MODELS]),
        help="Format of the vectors.  [default: by the file suffix]",
    ),
    click.option(
        "--dtype", type=click.Choice(vector_formats.DTYPES), default="float32", show_default=True,
        help="Write values in fewer bytes: float16 or int8, with one scale per word, in the formats that have them.",
    ),
    click.option(
        "--export", type=click.Choice(get_args(Export)), default="auto", show_default=True,
        help="Vectors to write: input vectors, output vectors, their sums, or `blend`, the centered input vectors plus"
        " a share of the centered output vectors, which depends on the architecture. `auto` is `blend` for skip-gram"
        " with neg or nce on 2 million words or more, and for others with neg on 8 million or more, otherwise `in`; for"
        " a model or a run folder, it is what `fit` chose.",
    ),
)  # fmt: skip
"""Options that choose the vectors to write, and their format."""
writing_options = all_of(click.option("-o", "--output", required=True, metavar="FILE", help=OUTPUT), vectors_options)
"""Options of commands that write vectors."""
case_option: Any = click.option("--case-sensitive", is_flag=True, help="Distinguish upper from lower case.")
method_option: Any = click.option(
    "--method", type=click.Choice(["3cosadd", "3cosmul"]), default="3cosadd", show_default=True,
    help="Answer analogies by b - a + c, or by the product of cosines (Levy and Goldberg 2014).",
)  # fmt: skip
scoring_options = all_of(
    case_option,
    json_option,
    click.option(
        "--fail-under", type=Within(Real(-1e9, 1e9)), metavar="X", help="Exit with code 1 if the score is below X."
    ),
)
"""Options of the evaluations of one set."""
lookup_options = all_of(
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line."),
    click.option(
        "--strict", is_flag=True, help="Stop at the first unknown word, or line with a wrong number of words."
    ),
)
"""Options of `similarity` and `vector`."""
query_options = all_of(
    click.option("-n", "--topn", type=COUNT, default=10, show_default=True, metavar="N", help="Number of answers."),
    lookup_options,
)
"""Options of `neighbors` and `analogy`."""
