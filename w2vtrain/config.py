"""The settings of a run: their table, the rules between them, and where each value came from.

It reads settings and checks them; it opens no corpus and starts nothing.

A value is looked up on the command line, then in W2VTRAIN_<NAME>, then in the TOML file of --config; else it is the
default. The command line, the environment, TOML and the Python API all take their names from the one table below.
"""

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from w2vtrain.aliases import ALIASES, check_gradient, option, overlaid, translated
from w2vtrain.errors import ConfigError, shown
from w2vtrain.parsers import Choice, Parser, Real, Row, Table, Text, Truth, Whole
from w2vtrain.registry import members

ENVIRONMENT = "W2VTRAIN_"
LARGEST = 1 << 20
"""Bytes that a file of settings may have."""
MOST_DOTS = 300
"""Dots that a line of such a file may have, unless it is a comment."""
MOST_PROBLEMS = 10
"""Problems that a message names."""


def setting(default: Any, parser: Parser, text: str, *flags: str) -> Any:
    """Return a field of Settings with its row; None is a value where it is the default."""
    return field(default=default, metadata={"row": Row(parser, text, flags)})


@dataclass(frozen=True)
class Settings:
    """Everything that decides what is learned. Lengths in words or tokens, rates per example."""

    architecture: str = setting(
        "skipgram", Text(words=tuple(members("architectures"))),
        "What predicts a word: each context word (skipgram), their mean (cbow; cbow-corrected takes its exact"
        " gradient), or their sum with a learned weight vector per position (vlbl).",
    )  # fmt: skip
    objective: str = setting("neg", Text(), "Output objective; `w2vtrain objectives` lists them.")
    vector_size: int = setting(100, Whole(1, 100_000), "Dimensions of the vectors.", "--size", "--dim")
    window: int = setting(5, Whole(1, 50), "Context words on either side, at most.", "--ws")
    shrink_windows: bool | None = setting(
        None, Truth(),
        "Draw each window's size from 1 to --window, as word2vec.c does; the default, except for --architecture vlbl.",
    )  # fmt: skip
    context: str = setting(
        "symmetric", Choice(("symmetric", "left", "right")),
        "Which side of a word is its context; left makes a language model.",
    )  # fmt: skip
    bias: bool = setting(False, Truth(), "Output rows have a bias.")
    sentence_end: bool = setting(False, Truth(), "Predict the end of a sentence, too, as the word `</s>`.")
    sample: float = setting(1e-3, Real(0.0, 1.0), "Subsampling threshold for frequent words; 0 keeps all.")
    alpha: float | None = setting(
        None, Real(0.0),
        "Learning rate at the start; by default the one measured best for the architecture and objective.", "--lr",
    )  # fmt: skip
    min_alpha: float | None = setting(None, Real(0.0), "Learning rate at the end; by default alpha / 10,000.")
    weight_decay: float = setting(
        0.0, Real(0.0, 1.0), "Each example shrinks every weight by this fraction times the learning rate."
    )
    init: float = setting(
        0.0, Real(0.0, 100.0), "Standard deviation of normal initial vectors; 0 starts as word2vec.c does."
    )
    block: int | None = setting(
        None, Whole(1, 65_536),
        "Examples per step, for objectives that score whole blocks; by default the objective's own number.",
    )  # fmt: skip
    epochs: int = setting(5, Whole(1, 1_000_000), "Passes over the corpus.", "--iter")
    seconds: float | None = setting(
        None, Real(0.0),
        "Train this long, or --epochs if that is sooner; the rate falls with whichever is nearer its end.",
    )  # fmt: skip
    patience: int | None = setting(
        None, Whole(1, 1_000_000), "Stop when --heldout's perplexity has not fallen for this many epochs."
    )
    min_count: int = setting(5, Whole(1), "Leave out words that occur less often.")
    max_vocab: int | None = setting(None, Whole(2), "Keep this many of the most frequent words.")
    max_sentence: int = setting(10_000, Whole(2, 10_000_000), "Cut longer lines into sentences of this many tokens.")
    tokenizer: str = setting(
        "whitespace", Choice(("whitespace", "unicode", "simple")),
        "Split at ASCII white space, at all that Unicode has, or lower-case and keep Unicode words only.",
    )  # fmt: skip
    encoding_errors: str = setting(
        "replace", Choice(("replace", "strict", "ignore")),
        "Bytes that are not UTF-8: make U+FFFD of them, stop at the first, or leave them out.",
    )  # fmt: skip
    allow_nul: bool = setting(
        False, Truth(), "Take a NUL byte for white space; by default it ends the run, as in binary data."
    )
    shuffle: bool | None = setting(
        None, Truth(),
        "Learn chunks of 1,000 words in a new order each epoch; by default what was measured best for the objective.",
    )  # fmt: skip
    seed: int = setting(1, Whole(0, 2**63 - 1), "Seed of every random stream.")
    threads: int | str = setting("auto", Whole(1, 1024, ("auto",)), "Threads, or auto.", "--workers")
    stall_timeout: float = setting(
        600.0, Real(1.0, 1e9), "End the run when a thread finishes no chunk for this many seconds."
    )
    options: dict[str, Any] = field(default_factory=dict, metadata={"row": Row(Table(), "Options of the objective.")})


FIELDS = {f.name: f for f in dataclasses.fields(Settings)}
ROWS: dict[str, Row] = {name: f.metadata["row"] for name, f in FIELDS.items()} | ALIASES


def resolve(
    flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ, config: str | Path | None = None
) -> tuple[Settings, dict[str, str]]:
    """Return the settings and the origin of each: "command line", "W2VTRAIN_X", the file's name, or "default".

    Options go with the objective that they were given for, if a later source names another. ConfigError names every
    problem at once; InputMissing if the file cannot be read.
    """
    values: dict[str, Any] = {}
    origins = dict.fromkeys(FIELDS, "default")
    options: dict[str, Any] = {}
    layers: tuple[tuple[dict[str, Any], Callable[[str], str]], ...] = (
        (read_toml(config) if config else {}, lambda _: str(config)),
        (_environment(environment), lambda name: ENVIRONMENT + name.upper()),
        (dict(flags), lambda _: "command line"),
    )
    for layer, origin in layers:
        if "objective" in values and layer.get("objective", values["objective"]) != values["objective"]:
            options = {}  # those of the objective that is not taken
        if more := layer.pop("options", {}):
            options |= more
            origins["options"] = origin("options")
        values = overlaid(values, layer)
        origins |= {"architecture" if name in ALIASES else name: origin(name) for name in layer}
    settings = validated({**values, "options": options})
    if "cbow_gradient" in flags:
        check_gradient(settings.architecture)
    return settings, origins


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    known = {ENVIRONMENT + name.upper(): name for name in ROWS if name != "options"}
    given = {name: value for name, value in environment.items() if name.startswith(ENVIRONMENT)}
    if unknown := [name for name in given if name not in known]:
        raise ConfigError(_unknown(unknown, known))
    return {known[name]: value for name, value in given.items()}


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the settings in a TOML file; `[objective]` may be a table with a name and a table of options."""
    from w2vtrain.system.reading import read_small  # `--help` does without it

    try:
        text = read_small(path, LARGEST, ConfigError, ": settings are short; name another file").decode()
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        _check_keys(text, path)
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise ConfigError(f"{path}: not TOML: {error}") from None
    data = {name.replace("-", "_"): value for name, value in data.items()}
    if isinstance(objective := data.get("objective"), dict):
        if unknown := [name for name in objective if name not in ("name", "options")]:
            raise ConfigError(f"{path}: [objective]: {_unknown(unknown, ('name', 'options'))}")
        data["options"] = _table(path, data) | _table(path, objective)
        if "name" in objective:
            data["objective"] = objective["name"]
        else:
            del data["objective"]
    if unknown := [name for name in data if name not in ROWS]:
        raise ConfigError(f"{path}: {_unknown(unknown, ROWS)}")
    return {**data, "options": _table(path, data)}


def _check_keys(text: str, path: str | Path) -> None:
    """Raise ConfigError for a line that may be a key of hundreds of parts: tomllib's time is their number squared."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MOST_DOTS and not line.lstrip().startswith("#"):
            raise ConfigError(f"{path}:{number}: {line.count('.'):,} dots in a line: keys of settings have two parts")


def _table(path: str | Path, data: Mapping[str, Any]) -> dict[str, Any]:
    options = data.get("options", {})
    if not isinstance(options, dict):
        raise ConfigError(f"{path}: options: expected a table, got {shown(options)}")
    return options


def _unknown(names: list[str], known: Iterable[str]) -> str:
    """Name settings that do not exist, the first of them if there are many, each with the one that was meant."""
    problems = []
    for name in names[:MOST_PROBLEMS]:
        close = difflib.get_close_matches(name, list(known), 1, 0.5)
        problems.append(f"unknown setting {shown(name)}" + (f" (did you mean {close[0]!r}?)" if close else ""))
    if len(names) > MOST_PROBLEMS:
        problems.append(f"and {len(names) - MOST_PROBLEMS:,} more")
    return "; ".join(problems)


def validated(values: Mapping[str, Any]) -> Settings:
    """Return settings with every value in its type and range, aliases translated; ConfigError names all problems."""
    unknown = [name for name in values if name not in ROWS]
    problems, good = [_unknown(unknown, ROWS)] if unknown else [], {}
    for name, value in values.items():
        try:
            if name in ROWS:
                good[name] = _parsed(name, value)
        except ValueError as error:
            problems.append(f"{option(name)}: {error}, got {shown(value)}")
    try:
        settings = Settings(**translated(good))
        problems += broken_rules(settings)
    except ConfigError as error:
        problems.append(str(error))
    if problems:
        raise ConfigError("; ".join(problems))
    return settings


def _parsed(name: str, value: Any) -> Any:
    """Return one value in its type; ValueError says what was expected."""
    if value is None and name in FIELDS and FIELDS[name].default is None:
        return None
    return ROWS[name].parser.parse(value)


def broken_rules(settings: Settings, heldout: bool | None = None) -> list[str]:
    """Return what is wrong with values that are sound one by one.

    heldout: whether there is held-out text; None where that is not known.
    """
    alpha, low = settings.alpha, settings.min_alpha
    rules = (
        (alpha == 0, "alpha: 0 would learn nothing"),
        (settings.seconds == 0, "seconds: 0 would learn nothing"),
        (alpha is not None and low is not None and low > alpha, f"min-alpha: {low} is more than alpha, {alpha}"),
        (
            settings.patience is not None and heldout is False,
            "patience: needs --heldout, the text whose perplexity is watched",
        ),
    )
    return [message for is_broken, message in rules if is_broken]


def check_rules(settings: Settings, heldout: bool | None = None) -> None:
    """Raise ConfigError if settings break a rule; heldout: see `broken_rules`."""
    if problems := broken_rules(settings, heldout):
        raise ConfigError("; ".join(problems))
