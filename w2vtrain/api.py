"""Train from Python: `train` does what `w2vtrain fit` does, and `continue_training` trains a model further.

It writes no output file and prints nothing but the progress bar, if it is requested. See also system/spinner.py.
"""

import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Unpack

from w2vtrain.config import Settings, canonical, validated
from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.embeddings.model import Model
from w2vtrain.errors import ConfigError, DataError, InvalidType, shown
from w2vtrain.formats.safetensors import encode_words
from w2vtrain.formats.vectors import Vectors
from w2vtrain.keywords import FurtherSettings, ReadingSettings, TrainingSettings, with_settings
from w2vtrain.progress_bar import progress_bar
from w2vtrain.text.encoded import EncodedCorpus, read
from w2vtrain.text.phrase_finding import find_in
from w2vtrain.text.phrase_table import PhraseTable, Scoring
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.events import Events
from w2vtrain.training.inputs import Generator, Inputs, Texts, corpus_of, sources_of
from w2vtrain.training.plan import Plan, effective, without_effect
from w2vtrain.training.trainer import train as train_as_planned
from w2vtrain.training.warm_start import WarmStart
from w2vtrain.user_code import Named


@with_settings
def train(
    corpus: Texts,
    *,
    vocabulary: Vocabulary | None = None,
    heldout: Texts = (),
    events: Events | None = None,
    progress: bool = False,
    **settings: Unpack[TrainingSettings],
) -> Model:
    """Train a model on text files, or on sentences from Python.

    Parameters
    ----------
    corpus : str, path, sequence of these, iterable of lists of str, data frame or column
        Text files, directories, or glob patterns. Or sentences, each a list of words, which may contain spaces, as in
        "new york". Sentences are read once, for all epochs, so a generator is enough; it runs in another thread. Their
        words are used unchanged: the settings `tokenizer`, `encoding_errors` and `allow_nul` apply only to files. Or a
        data frame, table or dataset of pandas, Polars, PyArrow or Hugging Face's datasets, with `column`; or one column
        of it, or a NumPy array. Its strings are lines of text, as in files, and its lists of strings are sentences.
        Parquet and Arrow files, tables and datasets need the package pyarrow: ``pip install 'w2vtrain[table]'``. A list
        of strings is a list of file names; ``numpy.array(texts)`` holds texts. Words that are empty or have newlines
        cannot be saved in a model.
    vocabulary : Vocabulary, optional
        Words to use instead of those counted in the corpus. `min_count` and `max_vocab` apply to them only if given.
    heldout : as `corpus`, optional
        Text to score after each epoch. The returned model is that of the epoch that predicts it best.
    events : Events, optional
        Callbacks that report progress. Without a callback for warnings, a warning, such as that a text is not UTF-8, is
        issued as Python's UserWarning.
    progress : bool, default False
        Show a progress bar: a widget in notebooks, otherwise a line on standard error. By default, nothing is printed,
        except on a terminal while kernels are compiled.
    **settings
        The settings that `w2vtrain fit --help` lists, by any of their names, with underscores instead of hyphens:
        ``threads=4`` and ``workers=4`` are the same. Options of the objective are a dictionary, ``options={"negative":
        10}``; the options that `fit --help` lists, such as `negative`, can also be given like settings. If the
        objective or architecture is a file or module, its code is run.

    Returns
    -------
    Model
        ``model.vectors()`` are the vectors that ``w2vtrain fit`` writes, one row per word of ``model.words``;
        ``model.input`` are the input vectors.

    Raises
    ------
    ConfigError
        If a setting is unknown, out of range, or contradicts another.
    W2VError
        If anything else goes wrong: InputMissing or DataError for the input, ResourceError if there is not enough
        memory, Diverged if the weights become NaN or infinite, and so on (see `w2vtrain.errors`). The error for
        sentences that are not lists of str is also a TypeError. Exceptions from an iterable are passed on.

    Examples
    --------
    >>> import w2vtrain
    >>> model = w2vtrain.train("data/simplewiki.txt", vector_size=50, objective="hs", epochs=2)
    >>> model.input.shape == (len(model.words), 50)
    True
    >>> sentences = [["i", "love", "new york"], ["new york", "loves", "me"]]
    >>> model = w2vtrain.train(sentences, vector_size=20, min_count=1, sample=0)
    >>> model.words[0]
    'new york'

    """
    if not isinstance(vocabulary, Vocabulary | None):
        load = f"{Vocabulary.__module__}.Vocabulary.load"
        raise InvalidType(f"vocabulary: expected what {load} returns for a file, got {shown(vocabulary)}")
    sources = sources_of(corpus)
    usual: dict[str, Any] = {} if vocabulary is None else {"min_count": 1}
    if isinstance(sources, Generator) and sources.architecture and "architecture" not in canonical(settings)[0]:
        usual["architecture"] = sources.architecture
    checked = validated({**usual, **settings})
    Named(checked.objective, checked.architecture).allow()  # naming them here is permission
    _check_effect(settings, checked, without_effect(checked))
    known = None if vocabulary is None else Vocabulary.of(vocabulary.words, vocabulary.counts, "the vocabulary")
    return _fit(Inputs(sources, sources_of(heldout), known), checked, events, progress)


def find_phrases(
    corpus: Texts,
    *,
    min_count: int = 5,
    threshold: float | None = None,
    scoring: str = "original",
    delimiter: str = "_",
    passes: int = 1,
    connector_words: Iterable[str] = (),
    **settings: Unpack[ReadingSettings],
) -> PhraseTable:
    """Find phrases such as "new york" in a corpus, as gensim's Phrases does, on all threads.

    Parameters
    ----------
    corpus : as in `train`
        Text files, or sentences, each a list of words.
    min_count : int, default 5
        Minimum count of a phrase.
    threshold : float, optional
        Score that a phrase must exceed. By default, 10 for "original" and 0.5 for "npmi", whose scores are -1 to 1.
    scoring : {"original", "npmi"}, default "original"
        The score of Mikolov et al. (2013), (n_ab - min_count) / (n_a n_b) N, where N is the number of distinct words
        and pairs; or normalized pointwise mutual information (Bouma 2009).
    delimiter : str, default "_"
        Text between the joined words of a phrase.
    passes : int, default 1
        Number of passes. Each also joins the phrases of the passes before it, so two passes find phrases of up to four
        words.
    connector_words : iterable of str, default ()
        Words that a phrase may contain but not begin or end with; `CONNECTOR_WORDS` are gensim's for English.
    **settings
        The settings `threads`, `column`, `tokenizer`, `encoding_errors` and `allow_nul` of `train`.

    Returns
    -------
    PhraseTable
        Its method ``join(sentence)`` joins the phrases in a list of words, and ``save(path)`` writes the table that
        ``train(..., phrases=path)`` joins while it reads.

    Raises
    ------
    W2VError
        ConfigError for a parameter out of range or another setting, InputMissing or DataError for the corpus.

    Examples
    --------
    >>> import w2vtrain
    >>> table = w2vtrain.find_phrases([["new", "york", str(i)] for i in range(9)], threshold=1)
    >>> table.join(["in", "new", "york"])
    ['in', 'new_york']

    """
    how = Scoring(scoring, threshold, min_count, delimiter, passes, connector_words)  # type: ignore[arg-type]
    resolved = effective(validated(settings))
    given = {name for name, value in settings.items() if value is not None}
    if others := given - ReadingSettings.__annotations__.keys():
        raise ConfigError(f"{min(others)}: find_phrases takes only {', '.join(ReadingSettings.__annotations__)}")
    with read(corpus_of(sources_of(corpus), resolved), threads=int(resolved.threads), warn=_warn) as counted:
        lines = counted.text()
    return find_in(lines, how, threads=int(resolved.threads), join_last=False)[0]


def continue_training(
    model: Model | KeyedVectors | Vectors,
    corpus: Texts,
    epochs: int = 5,
    *,
    grow_vocabulary: bool = False,
    freeze: bool = False,
    heldout: Texts = (),
    events: Events | None = None,
    progress: bool = False,
    **settings: Unpack[FurtherSettings],
) -> Model:
    """Train a model further, with a new schedule: the learning rate falls from `alpha` again.

    Parameters
    ----------
    model : Model, KeyedVectors or Vectors
        What to start from; it is not changed. Its settings apply unless others are given, except `threads`,
        `max_vocab` and the settings of its schedule. With a different objective or architecture, only its input vectors
        and the arrays that fit are used. Of KeyedVectors or Vectors, only the vectors of words in `corpus` are used: to
        keep the others, too, add the result to KeyedVectors with ``keyed.add_vectors(result.words, result.input,
        replace=True)``.
    corpus : as in `train`
        Text files or sentences.
    epochs : int, default 5
        Number of passes over the corpus.
    grow_vocabulary : bool, default False
        If False, the model's words and counts do not change, nor do its tree, noise and subsampling; other words of the
        corpus are ignored. If True, the counts of the corpus are added to those of the model, and words that occur at
        least `min_count` times in the corpus are added, up to `max_vocab` words in all. They start like the words of a
        new model. `Walks` have words of their own: in any case, the new model has the nodes of their graph.
    freeze : bool, default False
        Keep the vectors of the model's words unchanged, and train only those of new words, and all else that is
        learned, such as output vectors.
    heldout, events, progress, **settings
        See `train`.

    Returns
    -------
    Model
        A new model. ``record["init_from"]`` has the digest of `model` as "sha256", the numbers of words that it knew
        ("words") and that are new ("new_words"), and the names of the arrays that were taken ("parts").

    Raises
    ------
    ConfigError
        If a setting is invalid, if what was learned does not fit these settings (another `vector_size`, for example),
        or if new words would join an objective whose arrays do not belong to single words: ``hs``, ``hs-neg``,
        ``class-softmax``, ``adaptive-softmax`` and ``dsoftmax``.
    W2VError
        If anything else goes wrong, as in `train`.

    Examples
    --------
    >>> import w2vtrain
    >>> model = w2vtrain.train("data/simplewiki.txt", vector_size=50, epochs=1)
    >>> more = w2vtrain.continue_training(model, "data/simplewiki.txt", epochs=1, alpha=0.01)
    >>> more.words == model.words
    True

    """
    start = WarmStart.of(model)
    if grow_vocabulary and not start.model:
        raise ConfigError(
            f"grow_vocabulary: {start.name} have no counts to add to: leave it out, and add the result to KeyedVectors"
            " with add_vectors(result.words, result.input, replace=True), which keep their other words"
        )
    passes = {} if "iter" in settings and epochs == Settings.epochs else {"epochs": epochs}
    checked, _ = start.resolve({**settings, **passes}, {})
    Named(settings.get("objective"), settings.get("architecture")).allow()  # only naming them here is permission
    inputs = Inputs(sources_of(corpus), sources_of(heldout), start=start, grow=grow_vocabulary, freeze=freeze)
    _check_effect(settings, checked, without_effect(checked) | inputs.without_effect(checked))
    return _fit(inputs, checked, events, progress)


def _check_effect(given: Mapping[str, Any], settings: Settings, reasons: Mapping[str, str]) -> None:
    """Raise ConfigError for arguments that would change a setting without effect, for these reasons.

    Those that have the value it has anyway pass: wrappers give defaults, and the settings of a model have all of them.
    """
    usual = effective(replace(settings, **{name: getattr(Settings(), name) for name in reasons}))
    values = {name: value for name, value in canonical(given)[0].items() if value is not None}
    if unused := [name for name in reasons if name in values and values[name] != getattr(usual, name)]:
        raise ConfigError("; ".join(reasons[name] for name in unused))


def _fit(inputs: Inputs, settings: Settings, events: Events | None, progress: bool) -> Model:
    plan, events = Plan.of(inputs, settings), _with_warnings(events or Events())
    plan.files()  # a missing file is reported before anything is read
    if words := inputs.vocabulary:
        plan = replace(plan, inputs=replace(inputs, vocabulary=words.cut(settings.min_count, settings.max_vocab)))
    with progress_bar(events) if progress else nullcontext(events) as reported:
        return train_as_planned(plan, events=reported)


def _with_warnings(events: Events) -> Events:
    """Return events that also issue Python's warnings, unless the caller has a callback for them."""
    if events.warning is not Events.warning:
        return events

    def read(ids: EncodedCorpus, _: float) -> None:
        for oddity in ids.stats.oddities():
            _warn(f"the text has {oddity}")
        try:
            encode_words(ids.vocabulary.words, "the vocabulary", spaces=True)
        except DataError as error:
            _warn(f"{error}, so the model cannot be saved; model.to_keyed_vectors().save can save its vectors")

    return events.followed_by(Events(warning=_warn, read=read))


def _warn(sentence: str) -> None:
    """Issue a warning that names the line of the program which called this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith("w2vtrain."):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, stacklevel=level)
