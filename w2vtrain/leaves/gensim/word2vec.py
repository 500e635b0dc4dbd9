"""`Word2Vec`, a class with the constructor and methods of gensim 4's, which trains with this package's trainer.

The vocabulary, the way to the trainer, scoring and files are in the other modules of this folder.
"""

import logging
import time
from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any, NoReturn, Self

from w2vtrain.embeddings.model import Model, save_model
from w2vtrain.errors import InvalidType, NoSentences, shown
from w2vtrain.formats.model_file import DOCUMENTS
from w2vtrain.gensim_names import refuse_arguments, with_successors
from w2vtrain.leaves.gensim import saving
from w2vtrain.leaves.gensim.building import NOTHING_TO_LEARN, Path, TrainableVocabulary, cores
from w2vtrain.leaves.gensim.callbacks import call, listed
from w2vtrain.leaves.gensim.claim import claiming
from w2vtrain.leaves.gensim.conversion import take_over
from w2vtrain.leaves.gensim.corpora import Reading, may_differ, refuse_iterator, repeats
from w2vtrain.leaves.gensim.learning import ARCHITECTURES, Learner, TrainCall, refuse_totals
from w2vtrain.leaves.gensim.parameters import PARAMETERS, check, checked
from w2vtrain.leaves.gensim.scoring import Predictions
from w2vtrain.leaves.gensim.word_choice import Rule
from w2vtrain.text.encoded import read

logger = logging.getLogger(__name__)

READ_ONCE = (
    "the corpus is read once for all %d epochs; if it yields other sentences each time, such as random walks, pass"
    " reread=True (reread=False silences this note)"
)
ITERATOR = (
    "; of an iterator, build_vocab keeps what it reads for one call of train, if the words, their order by count and"
    " the tags have not changed since"
)
NO_VOCABULARY = "you must first build vocabulary before training the model: call build_vocab, or pass sentences"


@with_successors
class Word2Vec(TrainableVocabulary, Predictions):
    """A word2vec model that is trained from Python, with gensim's interface.

    Parameters
    ----------
    sentences : iterable of lists of str, optional
        The corpus. It is read once, also if there are several epochs, unless `reread` is True. Without a corpus, the
        model is empty: call `build_vocab` and `train`.
    corpus_file : str or path, optional
        A text file with one sentence per line, instead of `sentences`; may be compressed.
    vector_size, window, min_count, sample, seed, epochs : numbers
        As in gensim: dimensions, maximum distance between words, minimum count of a word, subsampling threshold (a
        share of the text, or a number of occurrences from 1 on), seed, passes over the corpus. The window may also be
        "sentence": every word of a sentence is then context of every other, and `shrink_windows` has no effect.
    alpha : float
        The learning rate at the beginning, from which it falls linearly. The default is gensim's, 0.025; with negative
        sampling, `w2vtrain.train` uses 0.05 for skip-gram and 0.075 for CBOW, which score higher on most texts.
    min_alpha : float
        The learning rate at the end.
    workers : int
        Number of threads; at most as many as there are cores are used, and all of them for -1.
    sg, hs, negative, ns_exponent, cbow_mean
        Skip-gram (1) or CBOW (0); hierarchical softmax (1); number of noise words, 0 for none; the exponent of their
        distribution; the mean (1) or the sum (0) of the context vectors.
    max_vocab_size, max_final_vocab, trim_rule, sorted_vocab
        Which words are kept: see `w2vtrain.leaves.gensim.word_choice`.
    shrink_windows : bool
        Draw the size of each window from 1 to `window`.
    callbacks : iterable of CallbackAny2Vec
        Called before and after training and each epoch.
    reread : bool, optional
        Read the corpus again for each epoch, as gensim does: for iterables that yield different sentences each time,
        such as random walks. The first reading chooses the words. False silences the note that a corpus is read once.
    comment : str, optional
        Saved with the model.
    hashfxn, batch_words, compute_loss
        Accepted and not needed: results do not depend on a hash function or on batches, and the loss is always
        computed.
    null_word
        Only 0 is accepted.

    Attributes
    ----------
    wv : KeyedVectors
        The input vectors, with which words are compared. While a model is trained, they change.
    syn1neg : ndarray of float32, shape (V, vector_size)
        Output vectors of words, if `negative` is more than 0.
    syn1 : ndarray of float32, shape (V, vector_size)
        A copy of the vectors of the Huffman tree's V - 1 inner nodes, if `hs` is 1. The last row is 0.
    corpus_count, corpus_total_words : int
        The sentences and words of the corpus from which the vocabulary was built.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As in gensim: for arguments of the wrong type, invalid values, and training without a vocabulary.
    W2VError
        If anything goes wrong in reading or training; see `w2vtrain.train`.

    Examples
    --------
    >>> import w2vtrain
    >>> sentences = [["red", "green", "blue"], ["cat", "dog", "cow"]] * 50
    >>> model = w2vtrain.Word2Vec(sentences, vector_size=8, sample=0, epochs=20, workers=1)
    >>> sorted(model.wv.index_to_key)
    ['blue', 'cat', 'cow', 'dog', 'green', 'red']

    """

    load = saving.OnClass()
    parameters: tuple[str, ...] = PARAMETERS
    architectures = ARCHITECTURES

    def subword_settings(self) -> dict[str, Any]:
        """Return the settings that a model with subwords has besides: none."""
        return {}

    def __init__(
        self, sentences: Any = None, corpus_file: Path | None = None, vector_size: int = 100,
        alpha: float = 0.025,
        window: int | str = 5, min_count: int = 5, max_vocab_size: int | None = None, sample: float | None = 1e-3,
        seed: int = 1, workers: int = 3, min_alpha: float = 0.0001, sg: int = 0, hs: int = 0, negative: int = 5,
        ns_exponent: float = 0.75, cbow_mean: int = 1, hashfxn: Any = hash, epochs: int = 5, null_word: int = 0,
        trim_rule: Rule | None = None, sorted_vocab: int = 1, batch_words: int = 10_000, compute_loss: bool = False,
        callbacks: Iterable[Any] = (), comment: str | None = None, max_final_vocab: int | None = None,
        shrink_windows: bool = True, reread: bool | None = None, **other: Any,
    ) -> None:  # fmt: skip
        refuse_arguments(type(self).__name__, other, saving.base_of(type(self)))
        self.vector_size, self.window, self.shrink_windows = vector_size, window, shrink_windows
        self.min_count = self.effective_min_count = min_count
        self.max_vocab_size, self.max_final_vocab, self.sorted_vocab = max_vocab_size, max_final_vocab, sorted_vocab
        self.sample, self.seed, self.epochs = sample, seed, epochs
        self.workers = cores() if workers == -1 else workers
        self.sg, self.hs, self.cbow_mean = sg, hs, cbow_mean
        self.negative = max(0, negative) if isinstance(negative, int) else negative
        self.ns_exponent, self.comment = ns_exponent, comment
        self.reread = reread
        self.hashfxn, self.batch_words, self.compute_loss = hashfxn, batch_words, compute_loss
        self.running_training_loss, self.train_count, self.total_train_time = 0.0, 0, 0.0
        self.null_word = 0
        if null_word:
            raise NotImplementedError("null_word pads windows of models that concatenate vectors: leave it at 0")
        check(self)
        super().__init__()
        if self.hs and self.negative:
            logger.warning(
                "Both hierarchical softmax and negative sampling are activated."
                " Set either hs=0 or negative=0 to train only one."
            )
        self.alpha = checked("alpha", alpha)
        self.min_alpha, self.min_alpha_yet_reached = checked("min_alpha", min_alpha), self.alpha
        if sentences is None and corpus_file is None:
            if trim_rule is not None:
                logger.warning("trim_rule is used only if there is a corpus; pass it to build_vocab instead")
            return
        refuse_iterator(sentences, reread)
        self._trains_at_once = True
        # By the names and in the order of gensim's, for subclasses that have their own.
        self.build_vocab(corpus_iterable=sentences, corpus_file=corpus_file, trim_rule=trim_rule)
        del self._trains_at_once
        self.train(
            corpus_iterable=sentences, corpus_file=corpus_file, total_examples=self.corpus_count,
            total_words=self.corpus_total_words, epochs=self.epochs, callbacks=callbacks,
        )  # fmt: skip
        self._read = None

    @classmethod
    def from_gensim(cls, model: Any) -> Self:
        """Return a model with the words, counts, vectors, output vectors and settings of gensim's, and train on.

        Parameters
        ----------
        model : gensim.models.Word2Vec or, for `FastText` and `Doc2Vec`, gensim's class of that name
            The model to convert, of gensim 4; it is not changed, and nothing is shared with it.

        Returns
        -------
        Word2Vec, FastText or Doc2Vec

        Raises
        ------
        TypeError
            If `model` is of another class, or has words that are not strings.
        ValueError
            If a setting is out of range, or the parts of the model do not fit each other.

        """
        converted: Self = saving.empty(cls)
        take_over(converted, model)
        return converted

    @claiming
    def train(
        self, corpus_iterable: Any = None, corpus_file: Path | None = None, total_examples: int | None = None,
        total_words: int | None = None, epochs: int | None = None, start_alpha: float | None = None,
        end_alpha: float | None = None, word_count: int = 0, queue_factor: int = 2, report_delay: float = 1.0,
        compute_loss: bool = False, callbacks: Iterable[Any] = (), reread: bool | None = None, **other: Any,
    ) -> tuple[int, int]:  # fmt: skip
        """Train on a corpus; the vocabulary must have been built.

        As in gensim, `epochs` and one of `total_examples` and `total_words` are required. The learning rate falls from
        `start_alpha` to `end_alpha` (by default, `alpha` and `min_alpha`) over all epochs of this call, and is
        `end_alpha` throughout if that is more than `start_alpha`. If it is one epoch, `total_examples` or `total_words`
        may be more than the corpus has: the rate then falls by the fraction that the corpus is of them, starting
        `word_count` words later. With `reread`, the corpus is read again for each epoch, as gensim does; by default,
        the model's `reread` applies. As in gensim, a warning says if an iterable has another number of sentences than
        `total_examples` or, without it, of words than `total_words`.

        Returns
        -------
        tuple of int
            The number of words that subsampling is expected to have kept, and the number of words of the corpus, both
            over all epochs.

        Raises
        ------
        RuntimeError
            If there is no vocabulary; if the model is being trained already; if callbacks change its words; or if an
            iterable that may have been read before, which neither a list nor a file can be, has no sentences. Epochs
            before the error keep their effect.

        """
        refuse_arguments("train", other, Word2Vec.train)
        callbacks = listed(callbacks)
        reread = checked("reread", self.reread if reread is None else reread)
        refuse_iterator(corpus_iterable, reread)
        check(self)
        self._source(corpus_iterable, corpus_file)  # raises TypeError; nothing is read yet
        refuse_totals(total_examples, total_words, epochs)
        if self.matrices is None or not len(self.wv):
            raise RuntimeError(self._emptied or NO_VOCABULARY)
        if not self._counts().any():
            raise RuntimeError("all words of wv have the count 0: set their counts with wv.set_vecattr")
        self.fit_matrices()
        self.locked()
        passes = checked("epochs", epochs)
        rates = [self.alpha if start_alpha is None else start_alpha, self.min_alpha if end_alpha is None else end_alpha]
        start, end = (checked("alpha", rate) for rate in rates)
        highest, readings = max(start, end), passes if reread else 1
        train_call = TrainCall(passes, highest, end, readings, total_examples, total_words, word_count)
        reading = self._reading(corpus_iterable, corpus_file, train_call)
        settings = train_call.settings(self, reading)
        if reread is None and passes > 1 and may_differ(corpus_iterable):
            logger.warning(READ_ONCE, passes)
        self._begin(passes, start, end, bool(compute_loss))
        learner, started = Learner(self, callbacks), time.monotonic()
        try:
            call(callbacks, "on_train_begin", self)
            for earlier in range(train_call.readings):
                if earlier:
                    reading = self._reading(corpus_iterable, corpus_file, train_call, earlier)
                    settings = train_call.settings(self, reading, earlier)
                learner.tokens += reading.words * settings.epochs
                if len(self.wv) > 1 and reading.encoded:
                    learner.run(reading.source, reading.encoded, settings)
                    continue
                if len(self.wv) == 1:
                    logger.warning("nothing was learned: the vocabulary has only one word")
                learner.skip(settings.epochs)
            call(callbacks, "on_train_end", self)
        finally:
            self.is_training = False
            self.train_count += 1
            self.total_train_time += time.monotonic() - started
        self.min_alpha_yet_reached = settings.min_alpha
        return learner.kept, learner.tokens

    def _begin(self, epochs: int, start: float, end: float, compute_loss: bool) -> None:
        """Set the parameters of a call of `train`, which has been checked."""
        if start > self.min_alpha_yet_reached:
            logger.warning("Effective 'alpha' higher than previous training cycles")
        self.epochs, self.alpha, self.min_alpha = epochs, start, end
        self.compute_loss = self.compute_loss or compute_loss
        self.running_training_loss, self.is_training = 0.0, True

    def _reading(self, sentences: Any, file: Path | None, train_call: TrainCall, earlier: int = 0) -> Reading:
        """Read a corpus for a call of `train`, which has read it `earlier` times.

        Raise NoSentences if an iterable has none that should have some and may have been read before.
        """
        if self._read and self._read[0] is (sentences if file is None else file):
            (_, reading), self._read = self._read, None  # it may be different when it is read again
        else:
            source = self._source(sentences, file)
            try:
                with read(source, threads=self.threads()) as counted:
                    count = self._sentences(sentences, source, counted)
                    reading = Reading(source, self._encode(source, counted), count, counted.token_count)
            except NoSentences as error:
                if train_call.examples or train_call.words:
                    if may_differ(sentences) or not repeats(sentences):
                        why = "" if repeats(sentences) else ITERATOR
                        raise NoSentences(f"epoch {earlier + 1}: {error}{why}") from None
                    logger.warning(NOTHING_TO_LEARN, error)
                return Reading(source, None, 0, 0)
        if file is None:  # as gensim does
            train_call.check_count(earlier + 1, reading.sentences, reading.words)
        if reading.encoded and reading.encoded.stats.overlong:
            logger.warning("%d words of more than 1,000 bytes are left out", reading.encoded.stats.overlong)
        return reading

    def to_model(self) -> Model:
        """Return a Model of this package, which shares the matrices; `w2vtrain.save_model` writes it."""
        return saving.as_model(self)

    def take_rest(self, stored: Model, path: str) -> None:
        """Take over what else a file has besides words: nothing. Raise NotAModel for a model of documents."""
        if DOCUMENTS in stored.arrays:
            raise saving.NotAModel(f"{path}: a model of documents: load it with w2vtrain.Doc2Vec.load")

    def get_latest_training_loss(self) -> float:
        """Return the sum of the losses of all examples so far in the most recent call to `train`, in float64."""
        return self.running_training_loss

    def save(self, fname_or_handle: Path, *_: Any, **__: Any) -> None:
        """Save the model to a safetensors file, completely or not at all, overwriting what is there.

        `w2vtrain info`, `eval`, `neighbors` and all other commands read it. Nothing is pickled.
        """
        if not isinstance(fname_or_handle, str | PathLike):
            raise InvalidType(f"save needs the path of a file, got {shown(fname_or_handle)}")
        save_model(fspath(fname_or_handle), self.to_model(), force=True)

    def __getitem__(self, word: object) -> NoReturn:
        raise InvalidType(f"a model has no items since gensim 4.0: use model.wv[{shown(word)}]")

    def __contains__(self, word: object) -> NoReturn:
        raise InvalidType(f"a model has no items since gensim 4.0: use {shown(word)} in model.wv")

    def __str__(self) -> str:
        return f"{type(self).__name__}<vocab={len(self.wv)}, vector_size={self.vector_size}, alpha={self.alpha}>"

    __repr__ = __str__
