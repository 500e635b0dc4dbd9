"""The Python side of `w2vtrain fit`: one function. It writes no file."""

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from w2vtrain.config import validated
from w2vtrain.errors import DataError
from w2vtrain.formats.model import Model
from w2vtrain.permission import Named
from w2vtrain.text.vocab import Vocabulary
from w2vtrain.training.events import Events
from w2vtrain.training.fit import effective, fit
from w2vtrain.training.inputs import Inputs

Files = str | PathLike[str] | Sequence[str | PathLike[str]]


def train(
    corpus: Files,
    *,
    vocabulary: Vocabulary | None = None,
    heldout: Files = (),
    events: Events | None = None,
    **settings: Any,
) -> Model:
    """Train on text files, directories or globs; settings are those of `w2vtrain fit --help`, with underscores.

    `train("corpus.txt", vector_size=200, objective="hs").input[i]` is the vector of `words[i]`. An objective's own
    options are `options={"negative": 10}`. `vocabulary` takes the place of counting; `min_count` and `max_vocab` cut
    it only if they are given. With `heldout` files the model is that of the epoch that predicts them best. `events`
    are callbacks: see `training.events`. Raises ConfigError for settings and other W2VError's for input.
    """
    if vocabulary is not None:
        settings = {"min_count": 1, **settings}
    checked = validated(settings)
    Named(checked.objective, checked.architecture).allow()  # the caller named them
    resolved, _ = effective(checked)
    if vocabulary is not None:
        vocabulary = cut_vocabulary(vocabulary, resolved.min_count, resolved.max_vocab)
    return fit(Inputs(_paths(corpus), _paths(heldout), vocabulary), resolved, events=events)


def _paths(files: Files) -> list[str]:
    return [fspath(file) for file in ([files] if isinstance(files, str | PathLike) else files)]


def cut_vocabulary(vocabulary: Vocabulary, min_count: int, max_vocab: int | None) -> Vocabulary:
    """The words that occur `min_count` times, of these the first `max_vocab`; DataError if fewer than 2 are left."""
    kept = int((vocabulary.counts >= min_count).sum())  # they stand by falling count
    kept = kept if max_vocab is None else min(kept, max_vocab)
    if kept < 2:
        raise DataError(
            f"min_count {min_count:,} keeps {kept} of the vocabulary's {len(vocabulary):,} words;"
            f" training needs at least 2: the highest count is {vocabulary.counts[0]:,}"
        )
    return Vocabulary(vocabulary.words[:kept], vocabulary.counts[:kept])
