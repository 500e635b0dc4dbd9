"""Train from Python: `train` does what `w2vtrain fit` does.

It prints nothing and writes no output file.
"""

from typing import Any

from w2vtrain.config import validated
from w2vtrain.embeddings.model import Model
from w2vtrain.errors import DataError
from w2vtrain.permission import Named
from w2vtrain.text.vocab import Vocabulary
from w2vtrain.training.events import Events
from w2vtrain.training.fit import effective, fit
from w2vtrain.training.inputs import Inputs, Texts, sources_of


def train(
    corpus: Texts,
    *,
    vocabulary: Vocabulary | None = None,
    heldout: Texts = (),
    events: Events | None = None,
    **settings: Any,
) -> Model:
    """Train a model on text files, or on sentences from Python.

    Parameters
    ----------
    corpus : str, path, sequence of these, or iterable of lists of str
        Text files, directories, or glob patterns; or sentences, each a list of words, which may contain anything, such
        as the space in "new york". Sentences are read once, whatever the number of epochs, so a generator will do; it
        runs in other threads, one at a time. The words are used as they are: the settings `tokenizer`,
        `encoding_errors` and `allow_nul` apply only to files.
    vocabulary : Vocabulary, optional
        Words to use instead of those counted in the corpus. `min_count` and `max_vocab` apply to them only if given.
    heldout : as `corpus`, optional
        Text to score after each epoch. The returned model is that of the epoch that predicts it best.
    events : Events, optional
        Callbacks that report progress; see `w2vtrain.training.events.Events`.
    **settings
        The settings that `w2vtrain fit --help` lists, with underscores instead of hyphens. Options of the objective
        are a dictionary: ``options={"negative": 10}``. If the objective or architecture is a file or module, its code
        is run.

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
        sentences that are not lists of str is also a TypeError. What an iterable raises is not changed.

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
    if vocabulary is not None:
        settings = {"min_count": 1, **settings}
    checked = validated(settings)
    Named(checked.objective, checked.architecture).allow()  # naming them here is permission
    resolved, _ = effective(checked)
    if vocabulary is not None:
        vocabulary = cut_vocabulary(vocabulary, resolved.min_count, resolved.max_vocab)
    return fit(Inputs(sources_of(corpus), sources_of(heldout), vocabulary), resolved, events=events)


def cut_vocabulary(vocabulary: Vocabulary, min_count: int, max_vocab: int | None) -> Vocabulary:
    """Return the words that occur at least `min_count` times, and of these only the `max_vocab` most frequent.

    Raise DataError if fewer than 2 words are left.
    """
    kept = int((vocabulary.counts >= min_count).sum())  # counts are in descending order
    kept = kept if max_vocab is None else min(kept, max_vocab)
    if kept < 2:
        raise DataError(
            f"min_count {min_count:,} keeps {kept} of the vocabulary's {len(vocabulary):,} words;"
            f" training needs at least 2 (the highest count is {vocabulary.counts[0]:,})"
        )
    return Vocabulary(vocabulary.words[:kept], vocabulary.counts[:kept])
