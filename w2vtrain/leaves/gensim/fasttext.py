"""`FastText`, a class with the constructor and methods of gensim 4's, and readers and writers of fastText's files.

It is Word2Vec with subwords: nearly all is in word2vec.py and the other modules of this folder.
"""

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any

import numpy as np

from w2vtrain.formats.subwords import Ngrams, NgramVectors
from w2vtrain.leaves.gensim import saving
from w2vtrain.leaves.gensim.building import Path
from w2vtrain.leaves.gensim.claim import claiming
from w2vtrain.leaves.gensim.fasttext_vectors import FastTextKeyedVectors
from w2vtrain.leaves.gensim.matrices import initial_vectors
from w2vtrain.leaves.gensim.parameters import PARAMETERS, SEED_COUNT, checked
from w2vtrain.leaves.gensim.word2vec import Word2Vec
from w2vtrain.leaves.gensim.word_choice import Rule, WordChoice


class FastText(Word2Vec):
    """A model whose words are composed of n-grams, trained from Python, with gensim's interface.

    Parameters
    ----------
    min_n, max_n : int
        The lengths of n-grams, in characters of ``<word>``. If max_n is 0 or less than min_n, words have none.
    bucket : int
        The number of hash buckets; 0 for no n-grams. Only buckets that occur take memory.
    word_ngrams
        Only 1 is accepted: it concerns classifiers.
    sentences, corpus_file, **
        As for `Word2Vec`, in gensim's order for FastText.

    Attributes
    ----------
    wv : FastTextKeyedVectors
        ``wv["unseen"]`` composes the vector of any word.

    Raises
    ------
    TypeError, ValueError, RuntimeError, W2VError
        As for `Word2Vec`.

    Examples
    --------
    >>> import w2vtrain
    >>> model = w2vtrain.FastText([["red", "green"], ["cat", "dog"]] * 50, vector_size=8, min_count=1)
    >>> model.wv.similarity("green", "greenish") > 0
    np.True_

    """

    load = saving.OnClass()
    parameters = (*PARAMETERS, "min_n", "max_n", "bucket")
    wv: FastTextKeyedVectors

    def __init__(
        self, sentences: Any = None, corpus_file: Path | None = None, sg: int = 0, hs: int = 0, vector_size: int = 100,
        alpha: float = 0.025, window: int | str = 5, min_count: int = 5, max_vocab_size: int | None = None,
        word_ngrams: int = 1, sample: float | None = 1e-3, seed: int = 1, workers: int = 3, min_alpha: float = 0.0001,
        negative: int = 5, ns_exponent: float = 0.75, cbow_mean: int = 1, hashfxn: Any = hash, epochs: int = 5,
        null_word: int = 0, min_n: int = 3, max_n: int = 6, sorted_vocab: int = 1, bucket: int = 2_000_000,
        trim_rule: Rule | None = None, batch_words: int = 10_000, callbacks: Iterable[Any] = (),
        max_final_vocab: int | None = None, shrink_windows: bool = True, comment: str | None = None,
        reread: bool | None = None, **other: Any,
    ) -> None:  # fmt: skip
        if word_ngrams != 1:
            raise NotImplementedError("word_ngrams concerns classifiers: leave it at 1")
        self.min_n, self.max_n = checked("min_n", min_n), checked("max_n", max_n)
        self.bucket = checked("bucket", bucket) if self.max_n >= max(1, self.min_n) else 0
        super().__init__(
            sentences, corpus_file, vector_size, alpha, window, min_count, max_vocab_size, sample, seed, workers,
            min_alpha, sg, hs, negative, ns_exponent, cbow_mean, hashfxn, epochs, null_word, trim_rule, sorted_vocab,
            batch_words, callbacks=callbacks, comment=comment, max_final_vocab=max_final_vocab,
            shrink_windows=shrink_windows, reread=reread, **other,
        )  # fmt: skip

    def subword_settings(self) -> dict[str, Any]:
        """Return the settings of the n-grams; none if words have none."""
        if not self.bucket:
            return {}
        return {"subwords": True, "minn": max(1, self.min_n), "maxn": self.max_n, "bucket": self.bucket}

    def _keyed(self, words: Any, vectors: Any, counts: Any = None) -> FastTextKeyedVectors:
        ngrams = NgramVectors.empty(Ngrams(max(1, self.min_n), self.max_n, self.bucket), self.vector_size)
        return FastTextKeyedVectors.of(words, vectors, counts, ngrams)

    @claiming
    def _make_weights(self, update: bool) -> None:
        """Give every word and every n-gram an initial row or, with `update`, those that are new."""
        super()._make_weights(update)
        if self.bucket and not update:
            self.wv.ngrams = NgramVectors.empty(self.wv.ngrams.ngrams, self.vector_size)
            self._grow(0)

    def _join(self, choice: WordChoice) -> None:
        """Add words to the model, and their n-grams, with initial rows."""
        known = len(self.wv.vectors_vocab)  # which now fit the vectors
        super()._join(choice)
        if self.bucket:
            self._grow(known)

    def _grow(self, known: int) -> None:
        seed = (self.seed + 1 + len(self.wv)) % SEED_COUNT
        self.wv.grow(known, lambda rows: initial_vectors(rows, self.vector_size, seed))

    def locked(self) -> Any:
        """Return the words that `wv.vectors_lockf` locks, which must be none if words have n-grams."""
        names = ("vectors_lockf", "vectors_vocab_lockf", "vectors_ngrams_lockf")
        for name in names if self.bucket else ():
            if (np.asarray(getattr(self.wv, name, 1)) != 1).any():
                raise NotImplementedError(f"{name}: with n-grams, rows cannot be locked; leave all values at 1")
        return super().locked()

    def estimate_memory(self, vocab_size: int | None = None, report: dict[str, int] | None = None) -> dict[str, int]:
        """Return the bytes that the words and the matrices take, by name and in total; n-grams those that occur."""
        sizes = super().estimate_memory(vocab_size, report)
        more = {"syn0_vocab": sizes["vectors"], "syn0_ngrams": int(self.wv.ngrams.matrix.nbytes)} if self.bucket else {}
        return {**sizes, **more, "total": sizes["total"] + sum(more.values())}


def load_facebook_model(path: str | PathLike[str], encoding: str = "utf-8") -> FastText:
    """Return a model of fastText (.bin), whose training can be continued.

    Parameters
    ----------
    path : str or Path
        The file to read.
    encoding : str, default "utf-8"
        Only UTF-8 is supported: fastText hashes the bytes of n-grams. Bytes of a word that are not UTF-8 become
        escapes such as ``\\xe6``.

    Raises
    ------
    AttributeError, NotImplementedError, FileNotFoundError
        If the file is not a model, is a classifier or quantized, or cannot be opened.

    Examples
    --------
    >>> import w2vtrain
    >>> model = w2vtrain.FastText([["red", "green"], ["cat", "dog"]] * 50, vector_size=8, min_count=1, bucket=1000)
    >>> w2vtrain.save_facebook_model(model, "small.bin")
    >>> w2vtrain.load_facebook_model("small.bin")
    FastText<vocab=4, vector_size=8, alpha=0.025>

    """
    _check_encoding(encoding)
    model: FastText = FastText.load(fspath(path))
    return model


def load_facebook_vectors(path: str | PathLike[str], encoding: str = "utf-8") -> FastTextKeyedVectors:
    """Return the vectors of a model of fastText (.bin), for queries; parameters and errors as `load_facebook_model`.

    The rows of n-grams stay in the file until they are used.

    Examples
    --------
    >>> import w2vtrain
    >>> model = w2vtrain.FastText([["red", "green"], ["cat", "dog"]] * 50, vector_size=8, min_count=1, bucket=1000)
    >>> w2vtrain.save_facebook_model(model, "small.bin")
    >>> w2vtrain.load_facebook_vectors("small.bin")["greenish"].shape
    (8,)

    """
    _check_encoding(encoding)
    return FastTextKeyedVectors.load(fspath(path))


def save_facebook_model(
    model: FastText, path: str | PathLike[str], encoding: str = "utf-8", lr_update_rate: int = 100, word_ngrams: int = 1
) -> None:
    """Write a model in fastText's format, overwriting what is there.

    Parameters
    ----------
    model : FastText
        The model.
    path : str or Path
        The file to write.
    encoding : str, default "utf-8"
        Only UTF-8 is supported.
    lr_update_rate, word_ngrams
        Without effect.

    Raises
    ------
    OutputError, WriteError
        If the file cannot be created or written.

    Examples
    --------
    >>> import w2vtrain
    >>> model = w2vtrain.FastText([["red", "green"], ["cat", "dog"]] * 50, vector_size=8, min_count=1, bucket=1000)
    >>> w2vtrain.save_facebook_model(model, "small.bin")

    """
    _check_encoding(encoding)
    model.to_model().save_fasttext(fspath(path), force=True)


def _check_encoding(encoding: str) -> None:
    if encoding.lower().replace("-", "") != "utf8":
        raise NotImplementedError(f"encoding {encoding!r}: only UTF-8 is supported")
