"""`Doc2Vec`, a class with the constructor and methods of gensim 4's, for vectors of documents.

It is Word2Vec with one more input row per tag: nearly all is in word2vec.py and the other modules of this folder, and
leaves/documents infers vectors of new documents.
"""

import logging
import operator
import warnings
import zlib
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from os import fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.config import WHOLE_SENTENCE
from w2vtrain.embeddings.keyed_rows import SINGLE
from w2vtrain.embeddings.keyed_vectors import KeyedVectors, TextKeyedVectors
from w2vtrain.embeddings.model import Model
from w2vtrain.embeddings.neighbors import cosine
from w2vtrain.errors import DataError, InvalidType, InvalidValue, shown
from w2vtrain.formats.model_file import DOCUMENT_TAGS, DOCUMENTS
from w2vtrain.formats.safetensors import encode_words
from w2vtrain.gensim_names import refuse_arguments
from w2vtrain.leaves.documents.documents import pack
from w2vtrain.leaves.documents.inference import Inference
from w2vtrain.leaves.gensim import saving
from w2vtrain.leaves.gensim.building import Path
from w2vtrain.leaves.gensim.claim import claiming
from w2vtrain.leaves.gensim.matrices import initial_vectors, require_shape
from w2vtrain.leaves.gensim.parameters import PARAMETERS, SEED_COUNT, checked
from w2vtrain.leaves.gensim.tagged_documents import TaggedLineDocument, Words, vectors_of_tags, words_of
from w2vtrain.leaves.gensim.word2vec import NO_VOCABULARY, Word2Vec
from w2vtrain.leaves.gensim.word_choice import Rule
from w2vtrain.text.encoded import Counted, EncodedCorpus
from w2vtrain.text.source import Source
from w2vtrain.text.token_lists import Sentences

logger = logging.getLogger(__name__)

ARCHITECTURES = {
    "pv-dbow": {"sg": 1, "dbow_words": 0}, "pv-dbow-words": {"sg": 1, "dbow_words": 1},
    "pv-dm-concat": {"sg": 0, "dm_concat": 1},
    "pv-dm": {"sg": 0, "cbow_mean": 1}, "pv-dm-sum": {"sg": 0, "cbow_mean": 0},
}  # fmt: skip
"""The architectures of documents, and the parameters that choose each; the first that fits is used."""
TAG_SEED_STEP = 7919
"""Added to the seed for the initial vectors of tags, which must differ from those of words; gensim adds it, too."""
INTEGERS = "doc2vec.integers"
"""The array that says which tags are numbers: a file has them as text. Models of `fit` and `train` have none."""
ATTRIBUTE = "doc2vec.attribute."
"""The array of each attribute of the tags is called this and its name."""


class Doc2Vec(Word2Vec):
    """A model of documents, which has a vector for each of their tags, trained from Python with gensim's interface.

    Parameters
    ----------
    documents : iterable of TaggedDocument, optional
        The corpus: objects with `words` and `tags`. A tag is a str or an int, and documents may share tags. It is read
        once, as for `Word2Vec`; so are all parameters that are not listed here.
    corpus_file : str or path, optional
        A text file with one document per line, instead of `documents`; the tags are the numbers of the lines, from 0.
    dm : {1, 0}
        PV-DM (1): the vectors of tags and of context words together predict a word. PV-DBOW (0): each tag predicts
        each word of its documents.
    dm_mean : {1, 0}, optional
        With PV-DM, use the mean (1, the default) or the sum (0) of the vectors.
    dbow_words : {1, 0}
        With PV-DBOW, train vectors of words, too, by skip-gram (1), or leave them at their initial values (0).
    dm_concat : {1, 0}
        With PV-DM, concatenate the vectors: the tags' sum, and the words at each position of the window. Output vectors
        then have ``layer1_size = (1 + 2 * window) * vector_size`` columns.
    dm_tag_count
        Without effect: with `dm_concat`, too, documents may have any number of tags.
    dv, dv_mapfile
        Not supported: leave them out.
    vector_size, window, epochs, shrink_windows, trim_rule, callbacks, comment, **
        As for `Word2Vec`; the default of `epochs` is 10.

    Attributes
    ----------
    dv : KeyedVectors
        The vectors of tags, by tag: whole numbers in ascending order, then strings in the order in which they occur.
        The attributes "word_count" and "doc_count" are the words and the number of the documents of a tag. Tags that
        are the numbers of lines of a file have none.
    wv : KeyedVectors
        The input vectors of words. In PV-DBOW without `dbow_words`, they are not trained.
    dm, dbow : bool
        Whether the model is PV-DM or PV-DBOW.

    Raises
    ------
    TypeError, ValueError, RuntimeError, W2VError
        As for `Word2Vec`.

    Examples
    --------
    >>> import w2vtrain
    >>> texts = [["red", "green", "blue", "green"], ["cat", "dog", "cow", "dog"]] * 30
    >>> documents = [w2vtrain.TaggedDocument(words, [number]) for number, words in enumerate(texts)]
    >>> model = w2vtrain.Doc2Vec(documents, dm=0, vector_size=8, min_count=1, sample=0, epochs=40, workers=1)
    >>> vector = model.infer_vector(["green", "red"])
    >>> model.dv.most_similar([vector], topn=1)[0][0] % 2
    0

    """

    load = saving.OnClass()
    parameters = (*PARAMETERS, "dbow_words", "dm_concat")
    architectures = ARCHITECTURES

    def __init__(
        self, documents: Any = None, corpus_file: Path | None = None, vector_size: int = 100,
        dm_mean: int | None = None, dm: int = 1, dbow_words: int = 0, dm_concat: int = 0, dm_tag_count: int = 1,
        dv: None = None, dv_mapfile: None = None, comment: str | None = None, trim_rule: Rule | None = None,
        callbacks: Iterable[Any] = (), window: int | str = 5, epochs: int = 10, shrink_windows: bool = True,
        *, alpha: float = 0.025, min_count: int = 5, max_vocab_size: int | None = None, sample: float | None = 1e-3,
        seed: int = 1, workers: int = 3, min_alpha: float = 0.0001, hs: int = 0, negative: int = 5,
        ns_exponent: float = 0.75, cbow_mean: int = 1, hashfxn: Any = hash, sorted_vocab: int = 1,
        batch_words: int = 10_000, compute_loss: bool = False, max_final_vocab: int | None = None,
        reread: bool | None = None, **other: Any,
    ) -> None:  # fmt: skip
        refuse_arguments(type(self).__name__, other, Doc2Vec)
        dm, dm_mean = checked("dm", dm), checked("dm_mean", dm_mean)
        if dm and dm_concat and window == WHOLE_SENTENCE:
            raise InvalidValue("dm_concat=1 has output vectors for each position of a window: window must be a number")
        if dv is not None or dv_mapfile is not None:
            raise NotImplementedError("dv, dv_mapfile: call build_vocab, and then set the rows of model.dv.vectors")
        self.dm_concat, self.dm_tag_count = checked("dm_concat", dm_concat), dm_tag_count
        self.dbow_words = checked("dbow_words", dbow_words)
        if window == 0 and not (dm or self.dbow_words):
            window = 1  # has no effect, since tags alone predict words: graph2vec passes 0
        self.vector_size = checked("vector_size", vector_size)
        self.dv = KeyedVectors(self.vector_size)
        self._found: dict[str | int, list[int] | None] = {}  # tags of a corpus that was read for its words
        # What infers vectors, and the parameters and arrays of the model of which it has a copy.
        self._inference: tuple[Inference, list[Any]] | None = None
        super().__init__(
            documents, corpus_file, vector_size, alpha, window, min_count, max_vocab_size, sample, seed, workers,
            min_alpha, int(not dm), hs, negative, ns_exponent, cbow_mean if dm_mean is None else dm_mean, hashfxn,
            epochs, 0, trim_rule, sorted_vocab, batch_words, compute_loss, callbacks, comment, max_final_vocab,
            shrink_windows, reread,
        )  # fmt: skip

    @property
    def dm(self) -> bool:
        """Whether the vectors of tags and of context words together predict a word (PV-DM)."""
        return not self.sg

    @property
    def dbow(self) -> bool:
        """Whether each tag predicts each word of its documents (PV-DBOW)."""
        return bool(self.sg)

    @property
    def docvecs(self) -> KeyedVectors:
        """The former name of `dv`, which gensim has deprecated."""
        warnings.warn("docvecs is deprecated: use dv", DeprecationWarning, stacklevel=2)
        return self.dv

    @property
    def random(self) -> np.random.RandomState:
        """A generator from which nothing is drawn, for programs that seed it so that `infer_vector` repeats itself."""
        return np.random.RandomState(0)

    @property
    def layer1_size(self) -> int:
        """The columns of output vectors: `vector_size`, or as many as those of all vectors that are concatenated."""
        return self.vector_size * (1 + 2 * int(self.window) if self.dm and self.dm_concat else 1)

    # The corpus and its tags.

    def _source(self, documents: Any, file: Path | None) -> Source:
        if isinstance(documents, TaggedLineDocument) and file is None and (lines := documents.files()):
            return lines
        if documents is None or file is not None:
            return super()._source(documents, file)
        return Sentences(self._listed(documents, None))

    def _listed(self, documents: Any, file: Path | None) -> Words:
        return Words(documents if file is None else TaggedLineDocument(file))

    def _scanned(self, source: Source, lines: int) -> None:
        words = words_of(source)
        self._found = dict(words.counts) if words else dict.fromkeys(range(lines))

    def _sentences(self, sentences: Any, source: Source, counted: Counted) -> int:
        return counted.lines  # a document may be empty, and is not cut

    def _encode(self, source: Source, counted: Counted, numbered: bool = True) -> EncodedCorpus | None:
        encoded = super()._encode(source, counted, numbered)
        if encoded is None:
            return None
        words, row_of = words_of(source), self.dv._row
        tags: Iterable[Sequence[Any]] = words.tags if words else ([line] for line in range(counted.lines))
        known = ([row for row in map(row_of, own) if row >= 0] for own in tags)
        packed = pack(known, self.dv, len(encoded.vocabulary))
        if len(self.dv) and not len(packed.rows):
            logger.warning("no document has a tag of the model: build_vocab(..., update=True) adds tags")
            if self.dbow and not self.dbow_words:
                return None
        return replace(encoded, tags=packed)

    @claiming
    def _make_weights(self, update: bool) -> None:
        """Give every word and every tag an initial vector or, with `update`, those that are new."""
        super()._make_weights(update)
        found, self._found = self._found, {}
        if not update:
            keys, attributes = _in_order(found) or self.dv.index_to_key, {} if found else self.dv.expandos
            self.dv = vectors_of_tags(keys, initial_vectors(len(keys), self.vector_size, self._tag_seed(0)))
            self.dv.expandos = attributes
        else:
            new, known = _in_order(tag for tag in found if self.dv._row(tag) < 0), len(self.dv)
            self.dv.add_vectors(new, initial_vectors(len(new), self.vector_size, self._tag_seed(known)))
        self._count(found)

    def _tag_seed(self, known: int) -> int:
        return (self.seed + TAG_SEED_STEP + known) % SEED_COUNT

    def _count(self, found: dict[str | int, list[int] | None]) -> None:
        """Add to the attributes of tags, which those of a file do not have: they are numbers of lines."""
        counts = {self.dv._row(tag): count for tag, count in found.items() if count}
        if counts:
            rows, columns = list(counts), np.array(list(counts.values()), np.int64).T
            self.dv.allocate_vecattrs(("word_count", "doc_count"), (int, int))
            for name, column in zip(("word_count", "doc_count"), columns, strict=True):
                self.dv.expandos[name][rows] += column

    @claiming
    def reset_from(self, other_model: "Doc2Vec") -> None:  # type: ignore[override]
        """Take over the vocabulary and the tags of another model, and reset all vectors to their initial values."""
        self._found, self.dv = {}, deepcopy(other_model.dv)
        super().reset_from(other_model)

    def fit_matrices(self) -> None:
        """Let the output vectors follow changes of `wv`. Raise RuntimeError for vectors of a different shape."""
        require_shape("dv", self.dv, self.vector_size)
        if self._read and (read := self._read[1].encoded) and read.tags and read.tags.size != len(self.dv):
            self._read = None
        super().fit_matrices()

    def locked(self) -> NDArray[np.int64]:
        """Return the words that `wv.vectors_lockf` locks. Raise NotImplementedError if tags are locked."""
        if (np.asarray(getattr(self.dv, "vectors_lockf", 1)) != 1).any():
            raise NotImplementedError("dv.vectors_lockf: tags cannot be locked; leave all values at 1")
        return super().locked()

    # Vectors of new documents.

    def infer_vector(
        self, doc_words: Sequence[str], alpha: float | None = None, min_alpha: float | None = None,
        epochs: int | None = None, **other: Any,
    ) -> NDArray[np.float32]:  # fmt: skip
        """Return the vector of a new document (vector_size,), which is always the same for the same words.

        The weights of the model do not change. A document without known words gets zeros, with a warning.

        Parameters
        ----------
        doc_words : list of str
            The words of the document.
        alpha, min_alpha : float, optional
            The learning rate at the beginning and at the end, which may be higher; by default, those of the model.
        epochs : int, optional
            The number of passes over the document; by default, that of the model.
        **other
            Refused; names of other versions and programs with what to use.

        Notes
        -----
        The weights are copied at the first call after training. After changes of `wv.vectors` or `syn1neg` in place,
        call ``wv.fill_norms(force=True)``.

        """
        refuse_arguments("infer_vector", other, Doc2Vec.infer_vector)
        if isinstance(doc_words, str):
            raise InvalidType("doc_words must be a list of words, not a string: pass doc_words.split()")
        words = list(doc_words)
        if others := [word for word in words if not isinstance(word, str)]:
            raise InvalidType(f"doc_words must be the words of one document, each a str; got {shown(others[0])}")
        if self.matrices is None or not len(self.wv):
            raise RuntimeError(NO_VOCABULARY)
        rates = (checked("alpha", alpha or self.alpha), checked("min_alpha", min_alpha or self.min_alpha))
        vector, known = self._ready().vector(words, checked("epochs", epochs or self.epochs), *rates)
        if not known:
            logger.warning("no word of the document is in the vocabulary: its vector is 0")
        elif not vector.any():
            logger.warning("no step changed the vector of the document, which is random: has the model been trained?")
            vector = initial_vectors(1, self.vector_size, zlib.crc32(" ".join(words).encode("utf-8", "replace")))[0]
        return vector

    def _ready(self) -> Inference:
        """Return what infers vectors with the present weights: the last one, if nothing has changed since."""
        assert self.matrices
        self.wv.fill_norms()  # any later change of a vector drops them
        if not np.array_equal(self.wv.expandos.get("count", ()), self.matrices.counts):
            self.follow_words()  # counts change subsampling and noise
        parts = [getattr(self, name) for name in self.parameters]
        parts += [self.wv.vectors, self.wv.norms, self.matrices, self.matrices.words, self.matrices.nodes]
        if (last := self._inference) and not self.is_training and all(map(operator.is_, last[1], parts)):
            return last[0]
        model = saving.as_model(self)
        none: dict[str, NDArray[Any]] = {DOCUMENTS: model.input[:0], DOCUMENT_TAGS: np.empty(0, np.uint8)}
        inference = Inference(replace(model, arrays={**model.arrays, **none}))
        self._inference = inference, parts
        return inference

    def _begin(self, epochs: int, start: float, end: float, compute_loss: bool) -> None:
        self._inference = None  # its copy of the weights would take memory while others are trained
        super()._begin(epochs, start, end, compute_loss)

    def similarity_unseen_docs(
        self, doc_words1: Sequence[str], doc_words2: Sequence[str], alpha: float | None = None,
        min_alpha: float | None = None, epochs: int | None = None,
    ) -> np.float32:  # fmt: skip
        """Return the cosine of the vectors that `infer_vector` returns for two documents; 0 if one is all zeros."""
        first, second = (self.infer_vector(words, alpha, min_alpha, epochs) for words in (doc_words1, doc_words2))
        return np.float32(cosine(first, second))

    # Files.

    def to_model(self) -> Model:
        """Return a Model of this package, which shares the matrices; `w2vtrain infer` reads it from a file."""
        model, names = super().to_model(), [str(tag) for tag in self.dv.index_to_key]
        arrays: dict[str, NDArray[Any]] = {
            DOCUMENTS: np.asarray(self.dv.vectors, np.float32),
            DOCUMENT_TAGS: np.frombuffer(encode_words(names, "tags of documents", spaces=True), np.uint8),
        }
        if not isinstance(self.dv, TextKeyedVectors):
            arrays[INTEGERS] = np.array([isinstance(tag, int) for tag in self.dv.index_to_key], np.uint8)
        arrays |= saving.stored_attributes(self.dv, ATTRIBUTE)
        # As `fit` does: words have no other vectors that were trained.
        is_output = self.dbow and not self.dbow_words and len(model.output) == len(model.words)
        record = model.record | {"vectors": "out" if is_output else "in"}
        return replace(model, arrays={**model.arrays, **arrays}, record=record)

    def take_rest(self, stored: Model, path: str) -> None:
        """Take over the vectors and attributes of tags. Raise NotAModel if there are none, or if they are damaged."""
        try:
            names, vectors = stored.documents
        except DataError as error:
            raise saving.NotAModel(str(error)) from error
        if INTEGERS in stored.arrays:
            tags: list[Any] = list(names)
            try:
                for row in np.flatnonzero(stored.arrays[INTEGERS]).tolist():
                    tags[row] = int(names[row])
            except (IndexError, ValueError) as error:
                raise saving.NotAModel(f"{path}: the array {INTEGERS} marks a tag that is not an integer") from error
            self.dv = vectors_of_tags(tags, vectors)
        else:  # of `fit` or `train`, whose tags are text
            self.dv = stored.dv
            self.dv.vectors_lockf = np.ones(1, np.float32)
        self.dv.expandos.update(
            {
                name.removeprefix(ATTRIBUTE): values
                for name, values in stored.arrays.items()
                if name.startswith(ATTRIBUTE)
            }
        )

    def save_word2vec_format(
        self, fname: Path, doctag_vec: bool = False, word_vec: bool = True, prefix: str = "*dt_",
        fvocab: Path | None = None, binary: bool = False,
    ) -> None:  # fmt: skip
        """Write vectors of words, of tags, or of both, in word2vec's format.

        Parameters
        ----------
        fname : str or path
            The file to write; an existing file is replaced.
        doctag_vec, word_vec : bool
            Whether to write the vectors of tags, and those of words, which come first.
        prefix : str, default ``"*dt_"``
            What to put before each tag.
        fvocab : str or path, optional
            A file for the words and their counts.
        binary : bool, default False
            Write the binary format.

        """
        path = fspath(fname)
        if word_vec:
            total = len(self.wv) + len(self.dv) if doctag_vec else None
            self.wv.save_word2vec_format(path, None if fvocab is None else fspath(fvocab), binary, total)
        if doctag_vec:
            self.dv.save_word2vec_format(
                path, None, binary, None, not word_vec, prefix, append=word_vec, sort_attr="doc_count"
            )

    # Other things that gensim's has.

    def init_sims(self, replace: bool = False) -> None:
        """Compute the lengths of the vectors of tags; `replace` scales all to length 1. gensim has deprecated it."""
        self.dv.init_sims(replace=replace)

    def estimated_lookup_memory(self) -> int:
        """Return the bytes that looking up tags takes, roughly."""
        return 200 * len(self.dv)

    def estimate_memory(self, vocab_size: int | None = None, report: dict[str, int] | None = None) -> dict[str, int]:
        """Return the bytes that the words, the tags and the matrices take, by name and in total."""
        sizes = super().estimate_memory(vocab_size, report)
        more = {"doctag_lookup": self.estimated_lookup_memory(), "doctag_syn0": len(self.dv) * self.vector_size * 4}
        return {**sizes, **more, "total": sizes["total"] + sum(more.values())}

    @staticmethod
    def _get_offsets_and_start_doctags_for_corpusfile(corpus_file: Path, workers: int) -> tuple[list[int], list[int]]:
        """Return where each of gensim's threads begins: bytes and numbers of lines, as gensim's own tests expect."""
        text = np.fromfile(corpus_file, np.uint8)
        starts = np.append(0, np.flatnonzero(text == ord("\n")) + 1)
        numbers = np.searchsorted(starts, text.size // workers * np.arange(workers), side="right") - 1
        return starts[numbers].tolist(), numbers.tolist()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_inference": None}

    def __getitem__(self, tag: Any) -> NDArray[Any]:  # type: ignore[override]
        """Return the vector of a word or, if there is no such word, of a tag; of several, a matrix."""
        if not isinstance(tag, SINGLE):
            return np.vstack([self[one] for one in tag])
        key: Any = tag
        return self.wv[key] if key in self.wv else self.dv[key]

    def __str__(self) -> str:
        way = "dm/c" if self.dm_concat else "dm/m" if self.cbow_mean else "dm/s"
        name = ("dbow+w" if self.dbow_words else "dbow") if self.dbow else way
        parts = [f'"{self.comment}"'] if self.comment else []
        parts += [name, f"d{self.vector_size}"]
        parts += [f"n{self.negative}"] if self.negative else []
        parts += ["hs"] if self.hs else []
        parts += [f"w{self.window}"] if self.dm or self.dbow_words else []
        parts += [f"mc{self.min_count}"] if self.min_count > 1 else []
        parts += [f"s{self.sample:g}"] if self.sample else []
        parts += [f"t{self.workers}"] if self.workers > 1 else []
        return f"{type(self).__name__}<{','.join(parts)}>"

    __repr__ = __str__


def _in_order(tags: Iterable[str | int]) -> list[Any]:
    """Return whole numbers in ascending order, then strings in their order, as gensim numbers its rows."""
    listed = list(tags)
    return sorted(tag for tag in listed if isinstance(tag, int)) + [tag for tag in listed if isinstance(tag, str)]
