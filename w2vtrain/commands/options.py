"""The options that several commands share, generated from the settings table or declared once here.

Options of one command are declared beside it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Literal, get_args

import click

from w2vtrain.commands.click_classes import INPUT, MESSAGES, OUTPUTS, RUN, Command, Option
from w2vtrain.config import FIELDS, ROWS, option
from w2vtrain.errors import EXIT_CODES, shown
from w2vtrain.formats import vector_formats
from w2vtrain.parsers import MAX_WORDS, Number, Real, Truth, Whole
from w2vtrain.registry import is_code
from w2vtrain.system.terminal import warning

CODES = f"Exit codes: {'; '.join(f'{code} {summary}' for code, (summary, _) in EXIT_CODES.items())}."
"""The end of the help of commands with several exit codes."""
command: Any = partial(click.command, cls=Command)
"""Decorator that declares a command; parameters: those of `click.command`."""

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

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

Export = Literal["auto", "in", "out", "in+out", "blend"]
"""Which vectors of a model to write: see formats.transforms.exported."""


@dataclass(frozen=True)
class Declared:
    """The declaration of an option, and a decorator that gives the option to a command.

    names: as click takes them; default: of its parameter, which the help shows unless it is empty; attributes: further
    ones of the option.
    """

    names: tuple[str, ...]
    default: Any
    attributes: dict[str, Any]

    def __call__(self, function: Function) -> Function:
        """Return a decorated function."""
        shown = bool(self.default)
        return click.option(*self.names, default=self.default, show_default=shown, **self.attributes)(function)


def declared(section: str, *names: str, **attributes: Any) -> Declared:
    """Return the declaration of an option that the help lists in this section; attributes: those of `click.option`."""
    empty = False if attributes.get("is_flag") else () if attributes.get("multiple") else None
    default = attributes.pop("default", empty)
    return Declared(names, default, {**attributes, "cls": Option, "section": section})


class Role(Enum):
    """What an argument of `fit` affects, besides the settings."""

    LEARNED = "what is learned"
    FILE = "what is written: it names a file"
    FORM = "what is written: it says how"


def shared_argument(option: Declared, affects: Role | None = None) -> Any:
    """Return a field of FitRequest with an option that other commands have, too."""
    return field(default=option.default, metadata={"option": option, "affects": affects})


def argument(section: str, *names: str, affects: Role | None = None, **attributes: Any) -> Any:
    """Return a field of FitRequest with an option of its own: see `declared`."""
    return shared_argument(declared(section, *names, **attributes), affects)


allow_changed_option = declared(
    RUN, "--allow-changed", is_flag=True, help="Start over if the corpus has changed since the run began."
)
cache_option = declared(
    INPUT, "--cache-dir", metavar="DIR",
    help="Folder for the encoded corpus during training.  [default: the output's folder]",
)  # fmt: skip
config_option = declared(
    MESSAGES, "--config", metavar="FILE",
    help="TOML file of settings; options and W2VTRAIN_* variables override it.",
)  # fmt: skip
force_option = declared(
    OUTPUTS, "--force", is_flag=True,
    help="Overwrite output files, and remove records of their runs; `fit` also discards an unfinished run with other"
    " settings, once the new text is read.",
)  # fmt: skip
OUTPUT = (
    "File for the word vectors: .txt or .vec for text, .glove for GloVe's, .bin for binary, .npy, .npz, .parquet,"
    " .arrow, .feather, or .tsv for TensorBoard; with --format spacy or model2vec, a folder; - for stdout. After a"
    " suffix of text or binary, .gz, .bz2, .xz or .zst compresses the file."
)
json_option = declared(MESSAGES, "--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
quiet_option = declared(MESSAGES, "-q", "--quiet", is_flag=True, help="Print only errors.")


def warn(text: str) -> None:
    """Print a one-line warning on standard error, unless the command has the option --quiet and it is given."""
    context = click.get_current_context(silent=True)
    if not (context and context.params.get("quiet")):
        warning(text)


def all_of(*options: Decorator) -> Decorator:
    """Return one decorator that applies several; the help lists the options in this order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(options):
            function = decorator(function)
        return function

    return decorate


def _code(context: click.Context, option: click.Parameter, name: str | None) -> str | None:
    """Return the name of code. UsageError for a member of ours, which needs no permission and would be ignored."""
    if name is not None and not is_code(name):
        raise click.BadParameter(f"{name!r} is not a file or module of code: it would change nothing, so leave it out")
    return name


code_options: Any = all_of(
    *(
        click.option(
            f"--{kind}", metavar="NAME", callback=_code,
            help=f"Allow the code of the {kind} NAME, a file or module, to run.",
        )
        for kind in ("objective", "architecture")
    )
)  # fmt: skip


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
        return declared(row.section, f"{flag}/--no-{flag[2:]}", name, help=text)
    if default is not None:
        text += f"  [default: {default:,}]" if isinstance(default, int) else f"  [default: {default}]"
    return declared(
        row.section, flag, *(f"--{option(other)}" for other in row.names), name, metavar=row.parser.metavar, help=text,
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
format_option = declared(
    OUTPUTS, "--format", "format_", type=click.Choice([*vector_formats.formats(), *vector_formats.MODELS]),
    help="Format of the vectors.  [default: by the file suffix]",
)  # fmt: skip
dtype_option = declared(
    OUTPUTS, "--dtype", type=click.Choice(vector_formats.DTYPES), default="float32",
    help="Write values in fewer bytes: float16 or int8, with one scale per word, in the formats that support them.",
)  # fmt: skip
export_option = declared(
    OUTPUTS, "--export", type=click.Choice(get_args(Export)), default="auto",
    help="Vectors to write: input vectors, output vectors, their sums, or `blend`, the centered input vectors plus"
    " a share of the centered output vectors, which depends on the architecture. `auto` is `blend` for skip-gram"
    " with neg or nce on 2 million words or more, and for other architectures with neg on 8 million or more,"
    " otherwise `in`; for a model or a run folder, it is what `fit` chose.",
)  # fmt: skip
writing_options = all_of(
    click.option("-o", "--output", required=True, metavar="FILE", help=OUTPUT), format_option, dtype_option
)
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
