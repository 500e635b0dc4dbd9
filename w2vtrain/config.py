"""The settings of a run: names, ranges, defaults, and where each value came from.

It reads settings and checks them; it opens no corpus and starts nothing.

A value is looked for on the command line, then in W2VTRAIN_<NAME>, then in the TOML file of --config; else it is the
default. The command line, the environment, TOML and the Python API all take their names from the one table below.
"""

import dataclasses
import difflib
import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from w2vtrain.errors import ConfigError, shown

ENVIRONMENT = "W2VTRAIN_"
LARGEST = 1 << 20
"""Bytes of a file of settings."""
MOST_DOTS = 300
"""Dots in a line of such a file, but for comments."""
MOST_PROBLEMS = 10
"""Problems that a message names."""
TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def setting(default: Any, text: str, *, low: Any = None, high: Any = None, **metadata: Any) -> Any:
    """A row of the table: default, help, inclusive range, and `choices` or `aliases`."""
    return field(default=default, metadata={"help": text, "low": low, "high": high, **metadata})


@dataclass(frozen=True)
class Settings:
    """Everything that decides what is learned. Lengths in words or tokens, rates per example."""

    model: str = setting(
        "skipgram", "What predicts a word: each context word, or their mean.", choices=("skipgram", "cbow")
    )
    objective: str = setting("neg", "Output objective; `w2vtrain objectives` lists them.")
    vector_size: int = setting(100, "Dimensions of the vectors.", low=1, high=100_000, aliases=("--size", "--dim"))
    window: int = setting(5, "Context words on either side, at most.", low=1, high=50, aliases=("--ws",))
    shrink_windows: bool | None = setting(
        None, "Draw each window's size from 1 to --window, as word2vec.c does; by default, unless --context-weights."
    )
    context: str = setting(
        "symmetric", "Which side of a word is its context; left makes a language model.",
        choices=("symmetric", "left", "right"),
    )  # fmt: skip
    context_weights: bool = setting(False, "CBOW with a learned weight vector a position, in place of the mean.")
    bias: bool = setting(False, "Output rows have a bias.")
    sentence_end: bool = setting(False, "Predict the end of a sentence, too, as the word `</s>`.")
    sample: float = setting(1e-3, "Subsampling threshold for frequent words; 0 keeps all.", low=0.0, high=1.0)
    alpha: float | None = setting(
        None, "Learning rate at the start; by default the one measured best for the model and objective.",
        low=0.0, aliases=("--lr",),
    )  # fmt: skip
    min_alpha: float | None = setting(None, "Learning rate at the end; by default alpha / 10,000.", low=0.0)
    weight_decay: float = setting(0.0, "Share of every weight, times the rate, lost an example.", low=0.0, high=1.0)
    init: float = setting(
        0.0, "Standard deviation of normal initial vectors; 0 starts as word2vec.c does.", low=0.0, high=100.0
    )
    block: int | None = setting(
        None, "Examples a step, for objectives that score whole blocks; by default the objective's own number.",
        low=1, high=65_536,
    )  # fmt: skip
    epochs: int = setting(5, "Passes over the corpus.", low=1, high=1_000_000, aliases=("--iter",))
    seconds: float | None = setting(
        None,
        "Train this long, or --epochs if that is sooner; the rate falls with whichever is nearer its end.",
        low=0.0,
    )
    patience: int | None = setting(
        None, "Stop when --heldout's perplexity has not fallen for this many epochs.", low=1, high=1_000_000
    )
    min_count: int = setting(5, "Leave out words that occur less often.", low=1)
    max_vocab: int | None = setting(None, "Keep this many of the most frequent words.", low=2)
    max_sentence: int = setting(10_000, "Cut longer lines into sentences of this many tokens.", low=2, high=10_000_000)
    tokenizer: str = setting(
        "whitespace", "Split at ASCII white space, at all that Unicode has, or lower-case and keep Unicode words only.",
        choices=("whitespace", "unicode", "simple"),
    )  # fmt: skip
    encoding_errors: str = setting(
        "replace", "Bytes that are not UTF-8: make U+FFFD of them, stop at the first, or leave them out.",
        choices=("replace", "strict", "ignore"),
    )  # fmt: skip
    allow_nul: bool = setting(False, "Take a NUL byte for white space; by default it ends the run, as in binary data.")
    cbow_gradient: str = setting(
        "word2vec", "CBOW: a context row takes the mean's whole gradient as in word2vec.c, or its share, 1/n of it.",
        choices=("corrected", "word2vec"),
    )  # fmt: skip
    shuffle: bool | None = setting(
        None,
        "Learn chunks of 1,000 words in a new order each epoch; by default what was measured best for the objective.",
    )
    seed: int = setting(1, "Seed of every random stream.", low=0, high=2**63 - 1)
    threads: int | str = setting("auto", "Threads, or auto.", low=1, high=1024, aliases=("--workers",))
    stall_timeout: float = setting(
        600.0, "End the run when a thread finishes no chunk for so many seconds.", low=1.0, high=1e9
    )
    options: dict[str, Any] = field(default_factory=dict, metadata={"help": "Options of the objective."})


FIELDS = {f.name: f for f in dataclasses.fields(Settings)}


def resolve(
    flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ, config: str | Path | None = None
) -> tuple[Settings, dict[str, str]]:
    """Settings and the origin of each: "command line", "W2VTRAIN_X", the file's name, or "default".

    Where a later one of these names another objective, options go with the objective that they were given for.
    ConfigError names every problem at once; InputMissing if the file cannot be read.
    """
    values: dict[str, Any] = {}
    origins = dict.fromkeys(FIELDS, "default")
    options: dict[str, Any] = {}
    layers = [(str(config), read_toml(config))] if config else []
    from_environment = _environment(environment)
    layers += [(ENVIRONMENT + name.upper(), {name: value}) for name, value in from_environment.items()]
    layers.append(("command line", dict(flags)))
    for origin, layer in layers:
        if "objective" in values and layer.get("objective", values["objective"]) != values["objective"]:
            options = {}  # those of the objective that is not taken
        options |= layer.pop("options", {})
        for name, value in layer.items():
            values[name], origins[name] = value, origin
        if layer and options:
            origins["options"] = origin
    return validated({**values, "options": options}), origins


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    known = {ENVIRONMENT + name.upper(): name for name in FIELDS if name != "options"}
    given = {name: value for name, value in environment.items() if name.startswith(ENVIRONMENT)}
    if unknown := [name for name in given if name not in known]:
        raise ConfigError(_unknown(unknown, known))
    return {known[name]: value for name, value in given.items()}


def read_toml(path: str | Path) -> dict[str, Any]:
    """The settings in a TOML file; `[objective]` may be a table with a name and a table of options."""
    from w2vtrain.system.reading import read_small  # what `--help` needs no module for

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
    if unknown := [name for name in data if name not in FIELDS]:
        raise ConfigError(f"{path}: {_unknown(unknown, FIELDS)}")
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
    """Settings with every value in its field's type and range; ConfigError names all that are not."""
    unknown = [name for name in values if name not in FIELDS]
    problems, good = [_unknown(unknown, FIELDS)] if unknown else [], {}
    for name, value in values.items():
        if name not in FIELDS:
            continue
        try:
            good[name] = _checked(name, value)
        except ValueError as error:
            problems.append(f"{name.replace('_', '-')}: {error}, got {shown(value)}")
    settings = Settings(**good)
    if settings.alpha is not None and settings.min_alpha is not None and settings.min_alpha > settings.alpha:
        problems.append(f"min-alpha: {settings.min_alpha} is more than alpha, {settings.alpha}")
    if problems:
        raise ConfigError("; ".join(problems))
    return settings


def _checked(name: str, value: Any) -> Any:
    """One value in its field's type; ValueError says what was expected."""
    annotation, metadata = str(FIELDS[name].type), FIELDS[name].metadata
    if name == "options":
        if not isinstance(value, Mapping):
            raise ValueError("expected a table")
        return dict(value)
    if value is None and "None" in annotation:
        return None
    if "choices" in metadata or annotation == "<class 'str'>":
        if not isinstance(value, str) or value not in metadata.get("choices", (value,)):
            raise ValueError(f"expected {' or '.join(metadata.get('choices', ('text',)))}")
        return value
    if "bool" in annotation:
        return _bool(value)
    if name == "threads" and value == "auto":
        return value
    return _number(value, float if "float" in annotation else int, metadata["low"], metadata["high"])


def _bool(value: Any) -> bool:
    if str(value).lower() not in TRUTH:
        raise ValueError("expected true or false")
    return TRUTH[str(value).lower()]


def _number(value: Any, kind: type, low: Any, high: Any) -> Any:
    what = "a whole number" if kind is int else "a number"
    bounds = f"{what} of {low:,} or more" if high is None else f"{what} from {low:,} to {high:,}"
    try:
        number = kind(value)
        exact = not isinstance(value, bool) and math.isfinite(number) and (kind is float or float(value) == number)
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact or number < low or (high is not None and number > high):
        raise ValueError(f"expected {bounds}")
    return number
