"""The part of `Word2Vec` that counts words and chooses among them.

Nothing is trained here; word2vec.py has the constructor, training and queries.
"""

import logging
from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import cache
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import InvalidType, NoKnownWords, NoSentences, shown
from w2vtrain.gensim_names import refuse_arguments
from w2vtrain.leaves.gensim.claim import claiming
from w2vtrain.leaves.gensim.corpora import Listed, Reading, may_differ, repeats, source_of
from w2vtrain.leaves.gensim.line_sentence import MAX_SENTENCE_LENGTH, LineSentence
from w2vtrain.leaves.gensim.matrices import WordMatrices, initial_vectors
from w2vtrain.leaves.gensim.parameters import SEED_COUNT, checked
from w2vtrain.leaves.gensim.word_choice import Pruned, Rule, WordChoice, chosen, nothing_kept, share, thinning
from w2vtrain.system.machine import automatic_threads
from w2vtrain.text.encoded import Counted, EncodedCorpus, read
from w2vtrain.text.source import Source
from w2vtrain.text.token_lists import Sentences
from w2vtrain.text.vocabulary import by_count

logger = logging.getLogger(__name__)

Path = str | PathLike[str]
NOTHING_TO_LEARN = "there is nothing to train on: %s"


class TrainableVocabulary(WordMatrices):
    """The words of a model, which it counts and chooses. `Word2Vec` sets the parameters.

    _counted: what `scan_vocab` has read for `build_vocab`; _emptied: why no word was kept; _trains_at_once: whether the
    constructor calls `build_vocab`.
    """

    min_count: int
    effective_min_count: int
    max_vocab_size: int | None
    max_final_vocab: int | None
    sorted_vocab: int
    sample: float | None
    workers: int
    _is_building = _trains_at_once = False

    def __init__(self) -> None:
        super().__init__()
        self.corpus_count, self.corpus_total_words = 0, 0
        self.raw_vocab: dict[Any, int] = {}
        self._emptied = ""
        self._counted: tuple[Source, Counted] | None = None

    @claiming
    def build_vocab(
        self, corpus_iterable: Any = None, corpus_file: Path | None = None, update: bool = False,
        progress_per: int = 10_000, keep_raw_vocab: bool = False, trim_rule: Rule | None = None, **other: Any,
    ) -> None:  # fmt: skip
        """Read a corpus and choose the words of the model.

        With `update`, the words of this corpus are added to the model's, whose vectors do not change. An iterator, such
        as a generator, can only be read once: its words are kept on disk for `train`. Other arguments, such as
        `min_count`, are those of `prepare_vocab`, except `dry_run`.
        """
        if other.pop("dry_run", False):
            raise InvalidType("build_vocab has no argument dry_run: use scan_vocab and prepare_vocab(dry_run=True)")
        refuse_arguments("build_vocab", other, TrainableVocabulary.build_vocab, TrainableVocabulary.prepare_vocab)
        self._checked(update, **other)  # before a generator is read
        self._check_weights(update)
        self._is_building = True
        try:
            try:
                total, count = self.scan_vocab(corpus_iterable, corpus_file, trim_rule=trim_rule)
            except NoSentences as error:
                if not (update and repeats(corpus_iterable)):  # a generator may have been read before
                    raise
                if may_differ(corpus_iterable):
                    logger.warning("the vocabulary does not change: %s", error)
                self.raw_vocab, total, count = {}, 0, 0
            self.prepare_vocab(update, keep_raw_vocab, trim_rule, **other)
            self.prepare_weights(update)
            self.corpus_count, self.corpus_total_words = count, total
            keeps = self._trains_at_once or not repeats(corpus_iterable)
            if keeps and len(self.wv) and self._counted:
                source, counted = self._counted
                reading = Reading(source, self._encode(source, counted), count, counted.token_count)
                self._read = (corpus_iterable if corpus_file is None else corpus_file, reading)
        finally:
            del self._is_building
            if self._counted:
                self._counted[1].close()
            self._counted = None
        self._warn_if_emptied()

    def _source(self, sentences: Any, file: Path | None) -> Source:
        """Return the source for the arguments that name a corpus; see `source_of`."""
        return source_of(sentences, file)

    def _listed(self, sentences: Any, file: Path | None) -> Iterable[Any]:
        """Return the same corpus as lists of words."""
        return LineSentence(file) if file is not None else Listed(sentences)

    def _scanned(self, source: Source, lines: int) -> None:
        """Take note of what else a corpus has that was read for its words: of sentences, nothing."""

    def _sentences(self, sentences: Any, source: Source, counted: Counted) -> int:
        """Return how many sentences gensim iterates over: blank lines of files are none, and long lines are several."""
        if isinstance(source, Sentences):
            return counted.lines
        return counted.sentences(getattr(sentences, "max_sentence_length", MAX_SENTENCE_LENGTH))

    def _encode(self, source: Source, counted: Counted, numbered: bool = False) -> EncodedCorpus | None:
        """Return the ids of a corpus that was read, None if it has none of the model's words; see `Counted.encode`."""
        try:
            if counted.token_count:
                return counted.encode(self.vocabulary(), max_sentence=MAX_SENTENCE_LENGTH, numbered=numbered)
            logger.warning(NOTHING_TO_LEARN, f"{source.name} has no words")
        except NoKnownWords as error:
            logger.warning(NOTHING_TO_LEARN, error)
        return None

    @claiming
    def build_vocab_from_freq(
        self, word_freq: Mapping[Any, int], keep_raw_vocab: bool = False, corpus_count: int | None = None,
        trim_rule: Rule | None = None, update: bool = False,
    ) -> None:  # fmt: skip
        """Choose the words of the model from a dictionary of words and counts."""
        if others := [word for word in word_freq if not isinstance(word, str)]:
            raise InvalidType(
                f"the word {shown(others[0])} is {type(others[0]).__name__}: words must be str: pass"
                " {str(word): count for word, count in word_freq.items()}"
            )
        self._check_weights(update)
        self.raw_vocab = {word: int(count) for word, count in word_freq.items()}
        total = sum(self.raw_vocab.values())
        self.prepare_vocab(update, keep_raw_vocab, trim_rule)
        self.prepare_weights(update)
        self.corpus_count, self.corpus_total_words = corpus_count or 0, total
        self._warn_if_emptied()

    def _warn_if_emptied(self) -> None:
        """Warn that no word was kept. `train` raises this as an error, so calls that train at once do not warn."""
        if self._emptied and not len(self.wv) and not self._trains_at_once:
            logger.warning(self._emptied)

    @claiming
    def scan_vocab(
        self, corpus_iterable: Any = None, corpus_file: Path | None = None, progress_per: int = 10_000,
        workers: int | None = None, trim_rule: Rule | None = None,
    ) -> tuple[int, int]:  # fmt: skip
        """Count the words of a corpus, without choosing among them. Return the numbers of words and of sentences."""
        source = self._source(corpus_iterable, corpus_file)
        pruned: Pruned | None = None
        if self.max_vocab_size:  # the counts are made while the corpus is read
            pruned = Pruned(self._listed(corpus_iterable, corpus_file), self.max_vocab_size, trim_rule)
            source = Sentences(pruned)
        counted = read(source, threads=self.threads())
        self._scanned(source, counted.lines)
        count = self._sentences(corpus_iterable, source, counted)
        if self._is_building:
            self._counted = source, counted
        else:
            counted.close()
        self.raw_vocab = pruned.counts if pruned else dict(zip(counted.words, counted.counts.tolist(), strict=True))
        logger.info("collected %d words of %d in %d sentences", len(self.raw_vocab), counted.token_count, count)
        return counted.token_count, count

    @claiming
    def prepare_vocab(
        self, update: bool = False, keep_raw_vocab: bool = False, trim_rule: Rule | None = None,
        min_count: int | None = None, sample: float | None = None, dry_run: bool = False,
    ) -> dict[str, int]:  # fmt: skip
        """Choose the words of the model from those that `scan_vocab` counted. Return a report on what is kept.

        With `dry_run`, the model does not change.
        """
        min_count, sample = self._checked(update, min_count, sample)
        choice = chosen(self.raw_vocab, min_count, self.max_final_vocab, trim_rule)
        if not (choice.words or update or dry_run):
            self._emptied = nothing_kept(self.raw_vocab, choice.min_count, trim_rule)
        kept, total = len(choice.words), int(choice.counts.sum())
        thinned, left = thinning(choice.counts, share(sample, total))
        report = {
            "drop_unique": len(self.raw_vocab) - kept,
            "retain_total": total,
            "num_retained_words": kept,
            "downsample_unique": thinned,
            "downsample_total": left,
        }
        logger.info("words kept by min_count=%d: %d of %d", choice.min_count, kept, len(self.raw_vocab))
        if not dry_run:
            if update and self.matrices:
                self.fit_matrices()
            self._join(choice) if update else self._replace(choice)
            self.min_count = self.min_count if update else min_count  # that of an update is not that of the next
            self.sample, self.effective_min_count = sample, choice.min_count  # `train` uses that sample
            if not keep_raw_vocab:
                self.raw_vocab = {}
        return report

    def _checked(self, update: bool, min_count: Any = None, sample: Any = None) -> tuple[int, float | None]:
        """Return both parameters, by default the model's. Raise errors for them, and for an update of no words."""
        if update and not len(self.wv):
            raise RuntimeError("there is no vocabulary to update: call build_vocab without update=True first")
        min_count = checked("min_count", self.min_count if min_count is None else min_count)
        return min_count, checked("sample", self.sample if sample is None else sample)

    def _replace(self, choice: WordChoice) -> None:
        """Let the model have the words of a choice, without vectors."""
        words, counts = choice.words, choice.counts
        if self.sorted_vocab:
            order = by_count(words, counts)
            words, counts = [words[i] for i in order.tolist()], counts[order]
        self.matrices = self._read = None
        self._set_words(words, counts)

    def _set_words(self, words: list[Any], counts: NDArray[np.int64]) -> None:
        """Set `wv` to words with vectors of zeros, none of which is locked."""
        self.wv = self._keyed(words, np.zeros((len(words), self.vector_size), np.float32), counts)
        self.wv.vectors_lockf = np.ones(1, np.float32)
        if unsaved := [word for word in words if not word or (not word.isprintable() and _cannot_be_saved(word))]:
            logger.warning("words such as %r cannot be saved in a model; `wv.save` can save their vectors", unsaved[0])

    def _join(self, choice: WordChoice) -> None:
        """Add words to the model, with initial vectors, and the counts of all words that it has already."""
        counts, known = dict(zip(choice.words, choice.counts.tolist(), strict=True)), self.wv.key_to_index
        new = [word for word in choice.words if word not in known]
        before = [(word, count) for word, count in self.raw_vocab.items() if word in known]
        vectors = initial_vectors(len(new), self.vector_size, (self.seed + len(self.wv)) % SEED_COUNT)
        self.wv.add_vectors(new, vectors, {"count": np.array([counts[word] for word in new], np.int64)})
        for word, count in before:
            self.wv.set_vecattr(word, "count", self.wv.get_vecattr(word, "count") + count)

    @claiming
    def reset_from(self, other_model: "TrainableVocabulary") -> None:
        """Adopt the vocabulary of another model, and reset all vectors to their initial values."""
        words, wv = list(other_model.wv.index_to_key), other_model.wv
        if other_model.matrices and len(words) < len(other_model.matrices.keys):
            other_model.fit_matrices()  # takes the attributes of words that were removed
        counts = np.array([wv.get_vecattr(word, "count") for word in words], np.int64)
        self._set_words(words, counts)
        self.wv.expandos = deepcopy(wv.expandos)
        self.corpus_count, self.corpus_total_words = other_model.corpus_count, other_model.corpus_total_words
        self.prepare_weights()

    def threads(self) -> int:
        """Return the number of threads: `workers`, but not more than this process has cores."""
        return max(1, min(self.workers, cores()))


@cache
def cores() -> int:
    """Return how many cores this process may use, looked up once: it takes a third of a millisecond."""
    return automatic_threads()[0]


def _cannot_be_saved(word: str) -> bool:
    return "\n" in word or any("\ud800" <= character <= "\udfff" for character in word)
