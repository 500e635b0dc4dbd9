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

from .errors import ConfigError, InputMissing, shown

ENVIRONMENT = "W2VTRAIN_"
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
    if problems := [_unknown(name, known) for name in given if name not in known]:
        raise ConfigError("; ".join(problems))
    return {known[name]: value for name, value in given.items()}


def read_toml(path: str | Path) -> dict[str, Any]:
    """The settings in a TOML file; `[objective]` may be a table with a name and a table of options."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputMissing(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise ConfigError(f"{path}: not TOML: {error}") from None
    data = {name.replace("-", "_"): value for name, value in data.items()}
    if isinstance(objective := data.get("objective"), dict):
        if problems := [_unknown(name, ("name", "options")) for name in objective if name not in ("name", "options")]:
            raise ConfigError(f"{path}: [objective]: {'; '.join(problems)}")
        data["options"] = _table(path, data) | _table(path, objective)
        if "name" in objective:
            data["objective"] = objective["name"]
        else:
            del data["objective"]
    if problems := [_unknown(name, FIELDS) for name in data if name not in FIELDS]:
        raise ConfigError(f"{path}: {'; '.join(problems)}")
    return {**data, "options": _table(path, data)}


def _table(path: str | Path, data: Mapping[str, Any]) -> dict[str, Any]:
    options = data.get("options", {})
    if not isinstance(options, dict):
        raise ConfigError(f"{path}: options: expected a table, got {shown(options)}")
    return options


def _unknown(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1, 0.5)
    return f"unknown setting {name!r}" + (f" (did you mean {close[0]!r}?)" if close else "")


def validated(values: Mapping[str, Any]) -> Settings:
    """Settings with every value in its field's type and range; ConfigError names all that are not."""
    problems, good = [], {}
    for name, value in values.items():
        if name not in FIELDS:
            problems.append(_unknown(name, FIELDS))
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
