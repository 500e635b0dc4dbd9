"""The Python side of `w2vtrain fit`: one function. It writes no file."""

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from .config import validated
from .model import Model
from .pipeline import Events, effective, fit
from .vocab import Vocabulary


def train(
    corpus: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    vocabulary: Vocabulary | None = None,
    events: Events | None = None,
    **settings: Any,
) -> Model:
    """Train on text files, directories or globs; settings are those of `w2vtrain fit --help`, with underscores.

    `train("corpus.txt", vector_size=200, objective="hs").input[i]` is the vector of `words[i]`. `vocabulary` takes the
    place of counting; `events` are told how things go. Raises ConfigError for settings and other W2VError's for input.
    """
    sources = [corpus] if isinstance(corpus, str | PathLike) else corpus
    resolved, _ = effective(validated(settings))
    return fit([fspath(source) for source in sources], resolved, vocabulary=vocabulary, events=events)
