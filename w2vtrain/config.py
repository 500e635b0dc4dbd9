"""The settings of a run: their table, the rules between them, and the origin of each value.

This module reads and checks settings. It opens no corpus and starts nothing.

The sources of a value, in order of precedence, are the command line, W2VTRAIN_<NAME>, the TOML file of --config, and
the default. The command line, the environment, TOML files and the Python API all take their names from the table below.
"""

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from w2vtrain.errors import ConfigError, label, shown, spelled
from w2vtrain.other_programs import Ours, hint_for, replaced
from w2vtrain.parsers import (
    MAX_LEARNING_RATE,
    MAX_SECONDS,
    MAX_WORDS,
    Choice,
    FileName,
    Parser,
    Real,
    Row,
    Table,
    Text,
    Truth,
    Whole,
)
from w2vtrain.registry import is_same_member, member_name, members, our_name

ENVIRONMENT = "W2VTRAIN_"
INIT_FROM = "--init-from"
"""The origin of settings that are taken from the model that a run starts from."""
HERE = ("default", "command line")
"""The origins that messages do not name."""
MAX_TOML_BYTES = 1 << 20
"""Maximum size of a settings file in bytes."""
MAX_DOTS = 300
"""Maximum number of dots in a line of a settings file, except in comments."""
MAX_PROBLEMS = 10
"""Maximum number of unknown settings that one message names."""
WHOLE_SENTENCE = "sentence"
"""The value of `window` that makes every word of a sentence a context word of every other."""
MAX_WINDOW = 2**31 - 1
"""The largest number for `window`, which is gensim's, too."""


MAX_NGRAM_BUCKETS = 1_000_000_000
"""The largest number for `bucket`."""


def setting(section: str, default: Any, parser: Parser, text: str, *names: str) -> Any:
    """Return a field of Settings with its table row. None is a valid value only if it is the default."""
    return field(default=default, metadata={"row": Row(section, parser, text, names)})


MODEL, WORDS, TRAINING = "Model (settings)", "Words (settings)", "Training (settings)"
"""Sections of the help."""
model_setting, text_setting, training_setting = (partial(setting, title) for title in (MODEL, WORDS, TRAINING))


@dataclass(frozen=True)
class Settings:
    """All settings of a run. Lengths are in words or tokens, rates per example."""

    architecture: str = model_setting(
        "skipgram", Text(words=members("architectures")),
        "What predicts the target word: each context word (skipgram), their mean (cbow; cbow-corrected uses its exact"
        " gradient), their sum (cbow-sum), or their sum with a learned weight vector per position (vlbl). May also be a"
        " file or module.", "model",
    )  # fmt: skip
    objective: str = model_setting(
        "neg", Text(words=members("objectives")),
        "Output objective; `w2vtrain objectives` explains them. May also be a file or module.",
    )  # fmt: skip
    vector_size: int = model_setting(100, Whole(1, 100_000), "Dimensions of the vectors.", "size", "dim")
    window: int | str = model_setting(
        5, Whole(1, MAX_WINDOW, (WHOLE_SENTENCE,)),
        "Maximum number of context words on each side of the target word; `sentence` takes all other words of the"
        " sentence, for sets and sessions.", "ws",
    )  # fmt: skip
    shrink_windows: bool | None = model_setting(
        None, Truth(),
        "Draw the size of each window from 1 to --window, as word2vec.c does.  [default: on, except for vlbl and"
        " --window sentence]",
    )  # fmt: skip
    context: str = model_setting(
        "symmetric", Choice(("symmetric", "left", "right")),
        "Take context words from both sides of the target word, or from one; left trains a language model.",
    )  # fmt: skip
    sentence_end: bool = model_setting(False, Truth(), "Also predict the end of each sentence, as the word `</s>`.")
    bias: bool = model_setting(False, Truth(), "Add a bias to each output vector.")
    subwords: bool = model_setting(
        False, Truth(),
        "Build each word's input vector from rows for the word and for its character n-grams, as fastText does; words"
        " that are not in the text then have vectors, too.",
    )  # fmt: skip
    minn: int = model_setting(3, Whole(1, 1000), "With --subwords, the length of the shortest n-grams of `<word>`.")
    maxn: int = model_setting(6, Whole(0, 1000), "With --subwords, the length of the longest n-grams.")
    bucket: int = model_setting(
        2_000_000,
        Whole(1, MAX_NGRAM_BUCKETS),
        "With --subwords, the number of hash buckets; n-grams in the same bucket share a row.",
    )
    column: str | None = text_setting(
        None, Text(),
        "Read this column of tables (Parquet, Arrow, JSON lines, CSV or TSV with a header) instead of text files; `a.b`"
        " is field b of column a. Rows are lines of text, or lists of words.",
    )  # fmt: skip
    tokenizer: str = text_setting(
        "whitespace", Choice(("whitespace", "unicode", "simple")),
        "Split at ASCII white space (whitespace), at any Unicode white space (unicode), or lowercase the text and keep"
        " only words of letters (simple): digits and _ separate them.",
    )  # fmt: skip
    phrases: str | None = text_setting(
        None, FileName(), "Join each phrase in this table, written by `w2vtrain phrases --save-table`, into one word."
    )
    min_count: int = text_setting(5, Whole(1, 10**12), "Ignore words that occur fewer times than this.")
    max_vocab: int | None = text_setting(
        None, Whole(2, MAX_WORDS), "Keep only this many words, the most frequent ones."
    )
    max_sentence: int = text_setting(
        10_000, Whole(2, 10_000_000), "Split longer lines into sentences of this many tokens."
    )
    encoding_errors: str = text_setting(
        "replace", Choice(("replace", "strict", "ignore")),
        "What to do with bytes that are not UTF-8: replace them with U+FFFD, stop (strict), or ignore them.",
    )  # fmt: skip
    allow_nul: bool = text_setting(
        False, Truth(), "Treat NUL bytes as white space; otherwise they are an error, since they suggest binary data."
    )
    epochs: int = training_setting(5, Whole(1, 1_000_000), "Number of passes over the corpus.", "iter")
    seconds: float | None = training_setting(
        None, Real(0.0, MAX_SECONDS),
        "Stop after this many seconds of training (for `compare`, CPU seconds of all threads) unless --epochs is"
        " reached first; the learning rate follows whichever limit is closer.",
    )  # fmt: skip
    patience: int | None = training_setting(
        None, Whole(1, 1_000_000), "Stop when the perplexity of --heldout has not improved for this many epochs."
    )
    alpha: float | None = training_setting(
        None, Real(0.0, MAX_LEARNING_RATE),
        "Initial learning rate.  [default: the best measured for the architecture and objective]", "lr",
    )  # fmt: skip
    min_alpha: float | None = training_setting(
        None, Real(0.0, MAX_LEARNING_RATE), "Final learning rate, reached linearly.  [default: alpha / 10,000]"
    )
    sample: float = training_setting(
        1e-3, Real(0.0, 1.0), "Subsampling threshold for frequent words, as in word2vec.c; 0 keeps all words."
    )
    weight_decay: float = training_setting(
        0.0,
        Real(0.0, 1.0),
        "Weight decay: at each word and sentence end of the text, all vectors, but not biases, shrink by this fraction"
        " times the learning rate.",
    )
    init: float = training_setting(
        0.0, Real(0.0, 100.0), "Standard deviation of normal initial vectors; 0 uses the initialization of word2vec.c."
    )
    block: int | None = training_setting(
        None, Whole(1, 65_536),
        "Examples per step, for objectives that score blocks of examples.  [default: depends on the objective]",
    )  # fmt: skip
    shuffle: bool | None = training_setting(
        None, Truth(),
        "Train on chunks of 1,000 words in a new random order in each epoch.  [default: the best measured for the"
        " architecture and objective]",
    )  # fmt: skip
    seed: int = training_setting(1, Whole(0, 2**63 - 1), "Seed of all random numbers.")
    threads: int | str = training_setting(
        "auto",
        Whole(1, 1024, ("auto",)),
        "Number of threads; auto uses all cores available to the process.",
        "workers",
    )
    options: dict[str, Any] = field(
        default_factory=dict, metadata={"row": Row(MODEL, Table(), "Options of the objective.")}
    )


FIELDS = {f.name: f for f in dataclasses.fields(Settings)}
ROWS: dict[str, Row] = {name: f.metadata["row"] for name, f in FIELDS.items()}
SYNONYMS = {other: name for name, row in ROWS.items() for other in row.names}
"""The other names of settings, such as those of word2vec.c, gensim and fastText."""
SHORT = ("negative", "ns_exponent", "learn_z", "tree")
"""Options of objectives that may be given like settings."""
NAMES = (*ROWS, *SYNONYMS, *SHORT)
"""All names that are accepted wherever settings are."""


def resolve(
    flags: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
    config: str | Path | None = None,
    start: Mapping[str, Any] | None = None,
) -> tuple[Settings, dict[str, Any]]:
    """Return the settings and the origin of each: "command line", "W2VTRAIN_X", the file's name, or "default".

    start: settings of the model that a run starts from, in place of the defaults; their origin is "--init-from". The
    origin of "options" is a dictionary, with the origin of each option that is given.

    If a later source names another objective, the options given for the earlier one are dropped. Raise ConfigError,
    which names every problem at once, and InputMissing if the file cannot be read.
    """
    values: dict[str, Any] = {}
    origins = dict.fromkeys(FIELDS, "default")
    options: dict[str, Any] = {}
    of_options: dict[str, str] = {}
    layers: tuple[tuple[Mapping[str, Any], str | None], ...] = (
        (start or {}, INIT_FROM),
        (read_toml(config) if config else {}, str(config)),
        (_environment(environment), None),  # the origin is the name of each variable
        (flags, "command line"),
    )
    for given, source in layers:
        layer, spelled, problems = canonical(given)
        if problems:
            where = f"{source or f'{ENVIRONMENT}*'}: " if source != "command line" else ""
            raise ConfigError(where + "; ".join(problems))
        if "objective" in values and "objective" in layer:
            mine, theirs = str(layer["objective"]), str(values["objective"])
            of_model = origins["objective"] == INIT_FROM and member_name(mine) == member_name(theirs)
            if not (of_model or is_same_member(mine, theirs)):
                options, of_options = {}, {}  # they belong to the objective that is replaced
        more = layer.pop("options", None) or {}
        of_options |= {name: source or ENVIRONMENT + name.upper() for name in more}
        options |= more
        origins |= {name: source or ENVIRONMENT + spelled[name].upper() for name in layer}
        values |= layer
    places = {name: f"{source}: " for name, source in origins.items() if source not in HERE}
    return validated({**values, "options": options}, places), {**origins, "options": of_options}


def option(name: str) -> str:
    """Return the name of a setting's command-line option, without the leading hyphens."""
    return name.replace("_", "-")


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    known = {ENVIRONMENT + name.upper(): name for name in NAMES if name != "options"}
    given = {name: value for name, value in environment.items() if name.startswith(ENVIRONMENT)}
    if unknown := [name for name in given if name not in known]:
        raise ConfigError(_unknown(unknown, known.values()))
    return {known[name]: value for name, value in given.items()}


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the settings in a TOML file. `[objective]` may be a table with a name and a table of options.

    Raise ConfigError if the file is not TOML or is too large, and InputMissing if it cannot be read. The names and
    values of settings are checked with those of other sources.
    """
    from w2vtrain.system.compression import recognize  # these are not needed for --help
    from w2vtrain.system.foreign import foreign
    from w2vtrain.system.reading import read_small

    content = read_small(path, MAX_TOML_BYTES, ConfigError, ": too many for a settings file; name another file")
    if kind := "compressed: decompress it" if recognize(content) else foreign(content):
        raise ConfigError(f"{path}: {kind}")
    try:
        text = content.decode("utf-8-sig")
        _check_keys(text, path)
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        why = str(error).partition("; use sys.")[0]  # advice on numbers of thousands of digits, for programmers
        raise ConfigError(f"{path}: not TOML: {why}") from None
    data = _merged(path, *({name.replace("-", "_"): value} for name, value in data.items()))
    if isinstance(objective := data.get("objective"), dict):
        if unknown := [name for name in objective if name not in ("name", "options")]:
            hint = "options of the objective are in [objective.options], and other settings above all tables"
            raise ConfigError(f"{path}: [objective]: {_unknown(unknown, ('name', 'options'))}; {hint}")
        data["options"] = _merged(path, _table(path, data), _table(path, objective))
        if "name" in objective:
            data["objective"] = objective["name"]
        else:
            del data["objective"]
    return {**data, "options": _table(path, data)}


def _check_keys(text: str, path: str | Path) -> None:
    """Raise ConfigError for a line that may be a key of hundreds of parts: tomllib takes time quadratic in them."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS and not line.lstrip().startswith("#"):
            raise ConfigError(
                f"{path}:{number}: {line.count('.'):,} dots in a line: a settings key has at most three parts"
            )


def _table(path: str | Path, data: Mapping[str, Any]) -> dict[str, Any]:
    options = data.get("options", {})
    if not isinstance(options, dict):
        raise ConfigError(f"{path}: options: expected a table, got {shown(options)}")
    return options


def _merged(path: str | Path, *tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return one table. Raise ConfigError for a name that two of the tables have."""
    merged: dict[str, Any] = {}
    for table in tables:
        if twice := merged.keys() & table:
            raise ConfigError(f"{path}: {min(twice)}: is given twice")
        merged |= table
    return merged


def _unknown(names: list[str], known: Iterable[str]) -> str:
    """Return a message that names unknown settings (only the first MAX_PROBLEMS), each with the closest known name."""
    problems = []
    for name in names[:MAX_PROBLEMS]:
        bare = name.removeprefix(ENVIRONMENT).lower()
        close = difflib.get_close_matches(bare, list(known), 1)
        ours = replaced(bare)
        theirs = hint_for(name) or hint_for(bare)
        if name.startswith(ENVIRONMENT):
            close = [ENVIRONMENT + guess.upper() for guess in close]
            if isinstance(ours, Ours) and ours.name in NAMES:
                value = "" if ours.values is None else f"={next(iter(ours.values.values()))}"
                theirs = f"use {ENVIRONMENT}{ours.name.upper()}{value}"
        hint = f" ({theirs})" if theirs else f" (did you mean {close[0]!r}?)" if close else ""
        problems.append(f"unknown setting {shown(name)}{hint}")
    if len(names) > MAX_PROBLEMS:
        problems.append(f"and {len(names) - MAX_PROBLEMS:,} more")
    return "; ".join(problems)


def canonical(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """Return the values by the names of Settings, the names by which they were given, and the problems.

    Other names of settings, objectives and architectures are replaced, and options of objectives are moved to
    "options". A value that is given by two names is a problem.
    """
    values, spelled, problems = dict[str, Any](), dict[str, str](), list[str]()
    options = given.get("options", {})
    for name, value in given.items():
        known = SYNONYMS.get(name, name)
        if name in SHORT:
            if isinstance(options, Mapping) and name in options:
                problems.append(f"{label(name)}: is given twice, also in options")
            elif isinstance(options, Mapping):
                options = {**options, name: value}
        elif known in values or (known != name and known in given):
            problems.append(f"{label(name)}: is another name of {label(known)}; give one of them")
        else:
            values[known], spelled[known] = our_name(known, value), name
    if options or "options" in given:
        values["options"] = options
    return values, spelled, problems


def validated(values: Mapping[str, Any], places: Mapping[str, str] = MappingProxyType({})) -> Settings:
    """Return settings with every value converted and checked; ConfigError names all problems.

    places: what to write before the message about a setting.
    """
    values, _, problems = canonical(values)
    good: dict[str, Any] = {}
    if unknown := [name for name in values if name not in ROWS]:
        problems.insert(0, places.get(unknown[0], "") + _unknown(unknown, NAMES))
    for name, value in values.items():
        try:
            if name in ROWS:
                is_unset = value is None and FIELDS[name].default is None
                good[name] = None if is_unset else ROWS[name].parser.parse(value)
        except ValueError as error:
            problems.append(f"{places.get(name, '')}{label(name)}: {error}, got {shown(value)}")
    settings = Settings(**good)
    if problems := [*problems, *broken_rules(settings, places)]:
        raise ConfigError("; ".join(problems))
    return settings


def broken_rules(settings: Settings, places: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return a message for each broken rule between settings. The single values must have been checked already.

    places: what to write before the message about a setting.
    """
    alpha, low, crossed = settings.alpha, settings.min_alpha, settings.minn > settings.maxn
    rules = (
        (
            "minn", settings.subwords and crossed,
            f"{settings.minn} is more than maxn, {settings.maxn}; for words without n-grams, leave out"
            f" {spelled('subwords')}",
        ),
        ("alpha", alpha == 0, "0 would learn nothing"),
        ("seconds", settings.seconds == 0, "0 would learn nothing"),
        ("sample", 0 < settings.sample < 1e-12, f"{settings.sample:g} would keep no words; 0 keeps all"),
        (
            "shrink_windows", settings.window == WHOLE_SENTENCE and settings.shrink_windows is True,
            f"draws window sizes from 1 to {spelled('window')}, but {spelled('window', WHOLE_SENTENCE)} has no size;"
            " leave it out",
        ),
        (
            "min_alpha", alpha is not None and low is not None and low > alpha,
            f"{low} is more than alpha, {alpha}",
        ),
    )  # fmt: skip
    return [f"{places.get(name, '')}{label(name)}: {message}" for name, is_broken, message in rules if is_broken]


def check_patience(settings: Settings, heldout: bool) -> None:
    """Raise ConfigError if there is patience but no held-out text."""
    if settings.patience is not None and not heldout:
        raise ConfigError(f"patience: needs {spelled('heldout')}, whose perplexity it watches")
