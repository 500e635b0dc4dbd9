"""The types of the settings that functions in Python take, for completion and type checkers.

config.py has the table that converts and checks them; tests/test_typing.py compares the two.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from os import PathLike
from typing import Any, Literal, TypedDict, TypeVar, cast

from w2vtrain.config import FIELDS, Settings, validated

F = TypeVar("F", bound=Callable[..., Any])


class ReadingSettings(TypedDict, total=False):
    """The settings that decide how a text is read."""

    column: str | None
    tokenizer: Literal["whitespace", "unicode", "simple"]
    encoding_errors: Literal["replace", "strict", "ignore"]
    allow_nul: bool
    threads: int | Literal["auto"]
    workers: int | Literal["auto"]


class FurtherSettings(ReadingSettings, total=False):
    """The settings of training, except for names that `continue_training` declares itself."""

    architecture: str
    objective: str
    options: Mapping[str, Any]
    negative: int
    ns_exponent: float
    learn_z: bool
    tree: str
    vector_size: int
    size: int
    dim: int
    window: int | Literal["sentence"]
    ws: int | Literal["sentence"]
    shrink_windows: bool | None
    context: Literal["symmetric", "left", "right"]
    sentence_end: bool
    bias: bool
    subwords: bool
    minn: int
    maxn: int
    bucket: int
    phrases: str | PathLike[str] | None
    min_count: int
    max_vocab: int | None
    max_sentence: int
    seconds: float | None
    patience: int | None
    alpha: float | None
    lr: float | None
    min_alpha: float | None
    sample: float
    weight_decay: float
    init: float
    block: int | None
    shuffle: bool | None
    seed: int


class TrainingSettings(FurtherSettings, total=False):
    """All settings of training, by all of their names."""

    model: str
    epochs: int
    iter: int


def with_settings(function: F) -> F:
    """Let `help` and notebooks, which look at the signature, see the settings and their defaults.

    Without a corpus, which may have another name, the error is the one about unknown settings, if there are any.
    """
    signature = inspect.signature(function)
    *own, rest = signature.parameters.values()
    defaults = {name: default for name, default in vars(Settings()).items() if name not in signature.parameters}
    kind = inspect.Parameter.KEYWORD_ONLY
    more = [
        inspect.Parameter(name, kind, default=default, annotation=FIELDS[name].type)
        for name, default in defaults.items()
    ]

    @wraps(function)
    def with_corpus(*args: Any, **given: Any) -> Any:
        if not args and "corpus" not in given:
            validated({name: value for name, value in given.items() if name not in signature.parameters})
        return function(*args, **given)

    with_corpus.__signature__ = signature.replace(parameters=[*own, *more, rest])  # type: ignore[attr-defined]
    return cast(F, with_corpus)
