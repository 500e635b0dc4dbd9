"""Saving and loading of trained models: words, counts, both matrices, the objective's arrays, settings and record.

This module does not train or resume (checkpoint_file.py keeps the state of a run), and it never unpickles anything.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.model_text import html, summary
from w2vtrain.errors import DataError, MissingDocuments, ResourceError, UsageError, spelled
from w2vtrain.formats.fasttext_file import write_parts
from w2vtrain.formats.model_file import DOCUMENT_TAGS, DOCUMENTS, MODEL_TENSORS, ModelParts, check_parts
from w2vtrain.formats.safetensors import decode_words, encode_words, write_safetensors
from w2vtrain.formats.sniff import MODEL_READERS, readers, sniff
from w2vtrain.gensim_names import elsewhere, with_successors
from w2vtrain.system.files import Claim
from w2vtrain.system.json_text import json_text

if TYPE_CHECKING:
    from w2vtrain.embeddings.keyed_vectors import KeyedVectors


@with_successors
@dataclass(frozen=True, eq=False, repr=False)
class Model(ModelParts):
    """A trained model.

    Attributes
    ----------
    words : list of str
        V distinct words, most frequent first.
    counts : ndarray of int64, shape (V,)
        Number of occurrences of each word in the corpus.
    input : ndarray of float32, shape (V, d)
        Word vectors, one row per word.
    output : ndarray of float32, shape (R, d)
        Output vectors: one row per word (R is V) or per inner node of a tree.
    arrays : dict of str to ndarray
        Everything else that scoring needs ("tree.start", "noise.prob", ...), without NaN and of the dtypes in
        ``safetensors.DTYPES``.
    settings : dict
        The effective settings.
    record : dict
        Facts about the run: versions, corpus, loss of each epoch, scores. JSON has no NaN: a NaN in `settings` or
        `record` is None after saving and loading.
    name : str
        The name in messages: that of the file that the model was read from.

    wv : KeyedVectors
        The vectors that queries use, with gensim's queries. They share memory with `input` if these are the vectors:
        `save` then writes what was changed in place, such as by ``model.wv[word] = vector``; blends are read-only.
        After other changes (words added or sorted, ``wv.vectors`` assigned, attributes of words set), the model cannot
        be saved or trained further: ``wv.save`` writes them, and ``dataclasses.replace(model)`` is a model without
        them. `vectors` and `to_keyed_vectors` never have them.
    dv : KeyedVectors
        The vectors of documents, if the model was trained on `Documents`: otherwise, ``hasattr(model, "dv")`` is False.

    Notes
    -----
    ``model[word]`` is the word's row of `vectors`, or a matrix for a list of words; an unknown word is a KeyError that
    names similar words or, if the model was trained with subwords, its vector is composed of those of its n-grams.
    ``word in model`` and ``len(model)`` ask for words, and iteration yields them. A number, such as a node of a graph,
    is the word with its digits. Queries use the weights of the first query: call `to_keyed_vectors` again if `input` or
    `output` changed since.

    Examples
    --------
    >>> import w2vtrain
    >>> model = w2vtrain.load_model("model.safetensors")
    >>> model["water"].shape == (model.input.shape[1],)
    True
    >>> "water" in model, len(model) == len(model.words)
    (True, True)

    """

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return self.wv.has_index_for(word)

    def __getitem__(self, word_or_words: str | Sequence[str]) -> NDArray[np.float32]:
        return self.wv[word_or_words]

    if not TYPE_CHECKING:  # type checkers know what a model has

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError, with what to use instead of an attribute that gensim's models have.

            After an AttributeError of a property, such as `documents`, Python asks here, too.
            """
            if name in ("documents", "dv"):
                raise self._without_documents() from None
            from w2vtrain.embeddings.keyed_vectors import KeyedVectors

            raise AttributeError(elsewhere(name, type(self), KeyedVectors, vars(self).get("settings", ())))

    def __repr__(self) -> str:
        return summary(len(self.words), self.input.shape[1], self.settings, self.record)

    def _repr_html_(self) -> str:
        return html(repr(self), self.settings, self.record)

    @cached_property
    def wv(self) -> "KeyedVectors":
        """What answers queries."""
        from w2vtrain.embeddings.keyed_vectors import TextKeyedVectors

        return TextKeyedVectors.of(self.words, self._rows, self.counts, self._ngrams())

    @cached_property
    def _rows(self) -> NDArray[np.float32]:
        """The matrix of `wv`: `input` itself if it is exported; blends are read-only."""
        vectors = self._exported()
        if isinstance(vectors, np.ndarray):
            return vectors
        rows = vectors[:]
        rows.flags.writeable = False
        return rows

    def check_unchanged(self) -> None:
        """Raise UsageError if `wv` or `dv` has words, vectors or attributes that the model itself does not have."""
        held = {"wv": (self.words, self._rows, {"count": self.counts})} if "wv" in vars(self) else {}
        if "dv" in vars(self):
            held["dv"] = (*self.documents, {})
        for name, (words, rows, attributes) in held.items():
            keyed = getattr(self, name)
            same = keyed.expandos.keys() == attributes.keys() and all(
                np.array_equal(keyed.expandos[attribute], values) for attribute, values in attributes.items()
            )
            if keyed.vectors is not rows or list(keyed.index_to_key) != list(words) or not same:
                raise UsageError(
                    f"model.{name} has other words, vectors or attributes than the model: save these with"
                    f" model.{name}.save(...); dataclasses.replace(model) is the model without them"
                )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is copied: `wv` and `dv` only if they were changed; otherwise, they are made again."""
        state = dict(vars(self))
        with suppress(UsageError):
            self.check_unchanged()
            for name in ("wv", "dv", "_rows"):
                state.pop(name, None)
        return state

    @property
    def documents(self) -> tuple[list[str], NDArray[np.float32]]:
        """The tags of documents and their vectors (T, d). Raise DataError if the model has none, or is damaged.

        If it has none, the error is also an AttributeError.
        """
        rows, letters = self.arrays.get(DOCUMENTS), self.arrays.get(DOCUMENT_TAGS)
        if rows is None or letters is None:
            raise self._without_documents()
        tags = decode_words(letters.tobytes(), f"{self.name}: tags of documents")
        if rows.shape != (len(tags), self.input.shape[1]) or rows.dtype != np.float32:
            raise DataError(
                f"{self.name} is damaged: it has {len(tags):,} tags and documents of shape {rows.shape}, {rows.dtype}"
            )
        return tags, rows

    def _without_documents(self) -> MissingDocuments:
        advice = "train it with --documents or w2vtrain.Documents"
        return MissingDocuments(f"{self.name} has no vectors of documents: {advice}")

    @cached_property
    def dv(self) -> "KeyedVectors":
        """The vectors of documents by tag, with gensim's queries. They share memory with the model.

        Tags are text; a number is the tag with its digits, and never the number of a row.
        """
        from w2vtrain.embeddings.keyed_vectors import TextKeyedVectors

        return TextKeyedVectors.of(*self.documents)

    def most_similar(
        self,
        positive: str | Sequence[str] | NDArray[np.float32] = (),
        negative: str | Sequence[str] = (),
        topn: int = 10,
    ) -> list[tuple[str, float]]:
        """Return the words nearest to a word, a vector or a combination of words, by cosine.

        Parameters
        ----------
        positive, negative : str, sequence of str, or ndarray
            What to add and what to subtract, as unit vectors. `to_keyed_vectors` has all of gensim's queries.
        topn : int, default 10
            The number of answers.

        Returns
        -------
        list of (str, float)
            Words and cosines, nearest first, without the words of the query.

        Raises
        ------
        KeyError
            If a word is unknown; the message names similar words. It is also a DataError.
        ValueError
            If there is neither a word nor a vector.

        Examples
        --------
        >>> import w2vtrain
        >>> model = w2vtrain.load_model("model.safetensors")
        >>> len(model.most_similar("water", topn=3))
        3
        >>> answers = model.most_similar(positive=["king", "woman"], negative=["man"])

        """
        return self.wv.most_similar(positive, negative, topn)

    def to_keyed_vectors(self, export: str = "auto") -> "KeyedVectors":
        """Return the vectors as `KeyedVectors`, which have all queries, and gensim's names and results.

        A number is a row there, as in gensim, also if the words are nodes of a graph: pass their names as strings.

        Parameters
        ----------
        export : str, default "auto"
            As for `vectors`.

        Returns
        -------
        KeyedVectors
            It has the counts as the attribute "count", and shares no memory with the model but the rows of n-grams.

        Raises
        ------
        UsageError, DataError
            As for `vectors`.

        Examples
        --------
        >>> import w2vtrain
        >>> vectors = w2vtrain.load_model("model.safetensors").to_keyed_vectors()
        >>> bool(vectors.similarity("water", "water") > 0.999)
        True

        """
        from w2vtrain.embeddings.keyed_vectors import KeyedVectors

        return KeyedVectors.of(self.words, self.vectors(export), self.counts, self._ngrams(export))

    def save_fasttext(self, path: str | Path, force: bool = False) -> None:
        """Write the model in fastText's format (.bin), which its program and gensim read.

        The vectors in the file are the input vectors, whatever `vectors` returns. Without subwords, words have no
        n-grams in it. Output vectors are written if the model has one per word or, for hs, per node of the tree, and
        are otherwise zeros: queries do not need them. For hs-neg, those of words are written.

        Parameters
        ----------
        path : str or Path
            The file to write.
        force : bool, default False
            Overwrite an existing file.

        Raises
        ------
        DataError
            If a word contains white space, or the model has vectors of documents, which the format has not.
        OutputError, WriteError
            If the file exists already, cannot be created, or cannot be written.

        Examples
        --------
        >>> import w2vtrain
        >>> model = w2vtrain.load_model("model.safetensors")
        >>> model.save_fasttext("model.bin", force=True)

        """
        save_as("fasttext", path, self, force)

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the model to a safetensors file: see `save_model`.

        Examples
        --------
        >>> import w2vtrain
        >>> model = w2vtrain.train("data/simplewiki.txt", epochs=1)
        >>> model.save("model.safetensors", force=True)

        """
        save_model(path, self, force)

    def vectors(self, export: str = "auto") -> NDArray[np.float32]:
        """Return the vectors that ``w2vtrain fit`` writes, one row per word, as a new array.

        Parameters
        ----------
        export : str, default "auto"
            "in", "out", "in+out" or "blend", as for ``fit --export``; "auto" is the choice that the record names. By
            default, that is "blend" for skip-gram with neg or nce on texts of 2 million words or more, and for other
            architectures with neg on 8 million or more, otherwise "in".

        Returns
        -------
        ndarray of float32, shape (V, d)

        Raises
        ------
        UsageError
            If `export` is none of these.
        DataError
            If words have no output vectors, and these are requested.

        Examples
        --------
        >>> import w2vtrain
        >>> model = w2vtrain.load_model("model.safetensors")
        >>> w2vtrain.write_vectors("vectors.txt", model.words, model.vectors(), force=True)

        """
        return self._exported(export)[:].copy()


def save_model(path: str | Path, model: Model, force: bool = False, claim: Claim | None = None) -> None:
    """Write a model to a safetensors file, completely or not at all.

    Parameters
    ----------
    path : str or Path
        The file to write.
    model : Model
        The model; its matrices may be strided views, and are not copied.
    force : bool, default False
        Overwrite an existing file.
    claim : callable, optional
        Called before the file gets its name; see `w2vtrain.system.files.atomic_write`.

    Raises
    ------
    DataError
        If the arrays do not match, a value is not finite, or a word is empty or contains a newline or an unpaired
        surrogate: such a file could not be loaded.
    UsageError
        If JSON cannot represent the settings or the record, an extra array has the name of a standard one, or `wv` or
        `dv` was changed: see there.
    OutputError, WriteError
        If the file exists already, cannot be created, or cannot be written.

    Examples
    --------
    >>> import w2vtrain
    >>> model = w2vtrain.train("data/simplewiki.txt", epochs=1)
    >>> w2vtrain.save_model("model.safetensors", model, force=True)

    """
    if clash := sorted(set(MODEL_TENSORS) & set(model.arrays)):
        raise UsageError(f"{path}: an extra array cannot be named {clash[0]!r}")
    words = encode_words(model.words, path, spaces=True)
    check_parts(model, path)
    model.check_unchanged()
    try:
        metadata = {name: json_text(getattr(model, name)) for name in ("settings", "record")}
    except TypeError as error:
        raise UsageError(f"{path}: the settings or record contain a value that JSON cannot store: {error}") from error
    tensors: dict[str, NDArray[Any]] = {
        "words": np.frombuffer(words, np.uint8),
        "counts": model.counts,
        "input": model.input,
        "output": model.output,
        **model.arrays,
    }
    write_safetensors(path, tensors, metadata, force, claim)


def save_as(form: str, path: str | Path, model: Model, force: bool = False, claim: Claim | None = None) -> None:
    """Write a model in a format of `vector_formats.MODELS`. Parameters and errors are those of `save_model`."""
    if form == "model":
        save_model(path, model, force, claim)
    else:
        check_parts(model, path)
        model.check_unchanged()
        write_parts(path, model, force, claim)


def load_model(path: str | Path) -> Model:
    """Read a model that `save_model` or ``w2vtrain fit --save-model`` wrote, or a model of fastText (.bin).

    Everything that later code relies on is checked: sizes, dtypes, words, counts, and that values are finite. Nothing
    is unpickled. The matrices of fastText's models are read-only maps of the file.

    Parameters
    ----------
    path : str or Path
        The file to read.

    Returns
    -------
    Model

    Raises
    ------
    InputMissing
        If the file cannot be opened.
    DataError
        If the file is not a valid model of this format version.
    ResourceError
        If there is not enough memory.

    Examples
    --------
    >>> import w2vtrain
    >>> model = w2vtrain.load_model("model.safetensors")
    >>> model.settings["objective"]
    'neg'

    """
    sniffed = sniff(path)
    if (read := MODEL_READERS.get(sniffed.kind)) is None:
        what = sniffed.note or f"{'vectors' if sniffed.kind in readers() else 'counts'} alone ({sniffed.kind})"
        raise DataError(f"{path} is not a model, as {spelled('save_model')} writes it, but {what}")
    try:
        return Model(**vars(read(path)))
    except MemoryError as error:
        raise ResourceError(f"{path}: not enough memory for this model") from error


def load(path: str | Path) -> "Model | KeyedVectors":
    """Read a model, or vectors in any format; the format is recognized by content.

    Parameters
    ----------
    path : str or Path
        A file that `save_model`, `write_vectors` or `Word2Vec.save` wrote, or one of word2vec.c, GloVe, gensim or
        fastText.

    Returns
    -------
    Model or KeyedVectors
        A model if the file has one. Both have `most_similar`, and ``loaded[word]`` is a vector.

    Raises
    ------
    InputMissing
        If the file cannot be opened.
    DataError
        If the file has no vectors or is damaged.
    ResourceError
        If there is not enough memory.

    Examples
    --------
    >>> import w2vtrain
    >>> w2vtrain.load("model.safetensors").most_similar("water") == w2vtrain.load("vectors.txt").most_similar("water")
    True

    """
    if sniff(path).kind in MODEL_READERS:
        return load_model(path)
    from w2vtrain.embeddings.keyed_vectors import KeyedVectors

    return KeyedVectors.load(path)
