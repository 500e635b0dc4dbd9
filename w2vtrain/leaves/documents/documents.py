"""Documents as a source of text: a tag, or several, for each line, each row of a table, or each object of Python.

The lines are encoded as any text is, but each sentence ends with the number of its document.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, DataError, TokenError, UsageError, label, shown
from w2vtrain.formats.model_file import DOCUMENT_TAGS
from w2vtrain.formats.safetensors import encode_words
from w2vtrain.text.counting import OnRead
from w2vtrain.text.encoded import EncodedCorpus, Tags, read
from w2vtrain.text.source import Blocks, File, Source
from w2vtrain.text.token_lists import Sentences
from w2vtrain.training.inputs import Generator, Inputs, Sources, corpus_of, sources_of


class TaggedDocument(NamedTuple):
    """A document for `Documents`.

    Parameters
    ----------
    words : list of str
        Its words.
    tags : list of str or int
        Its tags, such as its number, its author and its genre. Each tag gets one vector.

    Examples
    --------
    >>> import w2vtrain
    >>> w2vtrain.TaggedDocument(["so", "it", "goes"], ["slaughterhouse", "vonnegut"]).tags
    ['slaughterhouse', 'vonnegut']

    """

    words: Sequence[str]
    tags: Sequence[str | int]

    def __str__(self) -> str:
        return f"{type(self).__name__}<{self.words}, {self.tags}>"


@dataclass(frozen=True, eq=False)
class DocumentCorpus(EncodedCorpus):
    """Encoded documents. names: the tags in the order of their rows, as `encode_words` returns them."""

    names: bytes = b""

    def about(self) -> str:
        """Return how many documents there are."""
        assert self.tags
        return f"{len(self.tags.starts) - 1:,} documents with {self.tags.size:,} tags"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tags, as a model file has words."""
        return {DOCUMENT_TAGS: np.frombuffer(self.names, np.uint8)}

    def checksum(self) -> int:
        """Return the CRC-32 of the documents and their tags."""
        assert self.tags
        value = super().checksum()
        arrays: list[NDArray[Any]] = [self.tags.starts, self.tags.rows, *self.arrays().values()]
        for array in arrays:
            value = zlib.crc32(array.data, value)
        return value


class Documents(Generator):
    """Documents with tags: a corpus for `w2vtrain.train` with an architecture such as pv-dbow or pv-dm.

    Parameters
    ----------
    documents : str, path, list of these, or iterable of TaggedDocument
        Text files, each line of which is a document whose tag is its number, counted from 1; or tables, with the
        setting `column`; or objects with `words` and `tags`, such as pairs of both, or those of gensim. A row or object
        without a tag gets "row_" and its number, counted from 1.
    tag : str, optional
        The column of the tables that has the tag of each row, or a list of its tags. Rows may share a tag. White space
        in a tag becomes "_".

    Examples
    --------
    >>> import w2vtrain
    >>> plays = [(["to", "be", "or", "not", "to", "be"], ["hamlet"]), (["to", "bed", "to", "bed"], ["macbeth"])]
    >>> model = w2vtrain.train(
    ...     w2vtrain.Documents(plays), architecture="pv-dbow", vector_size=10, min_count=1, sample=0
    ... )
    >>> sorted(model.dv.index_to_key)
    ['hamlet', 'macbeth']

    """

    errors = "strict"
    rate_factor, architecture = 1.0, "pv-dbow"
    phrases = None

    def __init__(self, documents: Any, tag: str | None = None) -> None:
        sources, self.tag = sources_of(documents), tag
        self._given = _Words(sources.sentences) if isinstance(sources, Sentences) else None
        self._sources: Sources = Sentences(self._given) if self._given else sources
        self._text: Source | None = self._sources if isinstance(self._sources, Sentences) else None
        self._column: Source | None = None  # of tags

    @property
    def files(self) -> Sequence[File]:
        """The files of the documents, if any."""
        return self._opened().files

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._opened().name

    @property
    def size(self) -> int | None:
        """The bytes of the files, if that is known."""
        return self._opened().size

    def _opened(self) -> Source:
        """Return the text as `check` opened it, or as default settings read it."""
        if self._text is None:
            self._text = corpus_of(self._sources, Settings(), whole_rows=True)
        return self._text

    def check(self, inputs: Inputs, settings: Settings) -> None:
        """Open the text and the column of tags. Raise ConfigError for what does not fit documents."""
        unfit = {"subwords": settings.subwords, "heldout": inputs.heldout, "init_from": inputs.start}
        for name, value in unfit.items():
            if value:
                raise ConfigError(f"{label(name)}: does not go with documents; leave it out")
        if self.tag is not None and settings.column is None:
            raise ConfigError("tag: names a column of tables, so that the column of their text must be named, too")
        self._text = corpus_of(self._sources, settings, whole_rows=True)
        if self.tag is not None:
            if pipe := next((file for file in self.files if file.size is None), None):
                raise UsageError(f"tag: {pipe.name} can be read only once, and tags are read after the text; save it")
            how = replace(settings, column=self.tag, tokenizer="whitespace", phrases=None)
            self._column = corpus_of(self._sources, how, whole_rows=True, numbers=True)

    def generated(
        self, settings: Settings, folder: Path | None = None, progress: OnRead | None = None
    ) -> DocumentCorpus:
        """Return the encoded documents, with their tags."""
        with read(self._opened(), threads=int(settings.threads), folder=folder, progress=progress) as counted:
            words, lines = counted.vocabulary(settings.min_count, settings.max_vocab), counted.lines
            ids = counted.encode(
                words, max_sentence=settings.max_sentence, sentence_end=settings.sentence_end, numbered=True
            )
        names, tags = rows_of(self._tags(lines), len(ids.vocabulary))
        encoded = encode_words(names, "tags of documents", spaces=True)  # now, not after training, if one is invalid
        return DocumentCorpus(**vars(ids) | {"tags": tags}, names=encoded)

    def _tags(self, lines: int) -> Iterable[Sequence[Any]]:
        """Return the tags of each document."""
        if self._given:
            return self._given.tags
        if self._column is None:
            return ([line + 1] for line in range(lines))
        column = self._column
        rows = b"".join(column.read()).split(b"\n")[:-1]
        if len(rows) != lines:
            raise DataError(
                f"{self.name}: column {shown(self.tag)} has {len(rows):,} rows, and the text, which was read before,"
                f" {lines:,}: pass what does not change and can be read again, such as a table instead of its reader"
            )
        if getattr(column, "lists", False):  # a token per tag
            return (self._tags_of(column.words_of(row.split())) for row in rows)
        return (self._tags_of([row]) for row in rows)

    def _tags_of(self, names: Sequence[bytes]) -> list[str]:
        """Return the tags in a row of a table, without white space, which files of vectors could not have.

        Raise DataError for one that is not UTF-8: two such tags could be the same if they were repaired.
        """
        try:
            tags = ["_".join(name.decode().split()) for name in names]
        except UnicodeDecodeError as error:
            raise DataError(f"{self.name}: the tag {error.object[:80]!r} is not UTF-8: convert the file") from error
        return [tag for tag in tags if tag]

    def read(self) -> Blocks:
        """Start a pass over the text."""
        return self._opened().read()

    def tokens_of(self, words: Sequence[str]) -> list[bytes]:
        """Return the token of each word, as the text has it."""
        return self._opened().tokens_of(words)

    def words_of(self, tokens: list[bytes]) -> list[bytes]:
        """Return the word of each token."""
        return self._opened().words_of(tokens)


class _Words:
    """The words of documents from Python, whose tags are noted when they are read."""

    def __init__(self, documents: Iterable[Any]) -> None:
        self.documents, self.tags = documents, []  # type: Iterable[Any], list[Sequence[Any]]

    def __iter__(self) -> Iterator[Sequence[str]]:
        self.tags = []
        for index, document in enumerate(self.documents):
            words, tags = tagged(document, index)
            self.tags.append(tags)
            yield words


def tagged(document: Any, index: int) -> tuple[Sequence[str], Sequence[Any]]:
    """Return the words and the tags of a document from Python. Raise TokenError for another object, or another tag."""
    words: Any = getattr(document, "words", None)
    tags: Any = getattr(document, "tags", None)
    if words is None and isinstance(document, tuple | list) and len(document) == 2:
        words, tags = document
    if words is None or isinstance(words, str) or isinstance(tags, str) or not hasattr(tags, "__iter__"):
        raise TokenError(
            f"document {index}: expected a list of words and a list of tags, such as TaggedDocument(words, tags), got"
            f" {shown(document)}"
        )
    return words, [_tag(tag, index) for tag in tags]


def _tag(tag: Any, index: int) -> str | int:
    """Return a tag as Python's str or int. Raise TokenError if it is neither."""
    if isinstance(tag, str):
        return tag
    if isinstance(tag, int | np.integer):
        return int(tag)
    raise TokenError(f"document {index}: its tag {shown(tag)} must be a string or a whole number")


def rows_of(tags: Iterable[Sequence[str | int]], words: int) -> tuple[list[str], Tags]:
    """Return the distinct tags, as text, and the rows of each document's, which follow those of `words` words.

    A document without tags gets one of its own. Raise DataError for different tags of the same text, as 1 and "1".
    """
    numbers: dict[str, int] = {}
    known: list[Any] = []

    def row_of(tag: Any) -> int:
        row = numbers.setdefault(str(tag), len(numbers))
        if row == len(known):
            known.append(tag)
        if known[row] != tag:
            raise DataError(f"two tags are the same as text, {known[row]!r} and {tag!r}: rename one of them")
        return row

    each: Iterator[Sequence[Any]] = (own or [_NoTag(number)] for number, own in enumerate(tags, 1))
    packed = pack((list(map(row_of, own)) for own in each), numbers, words)
    return list(numbers), packed


@dataclass(frozen=True)
class _NoTag:
    """The tag of a document that has none."""

    number: int

    def __str__(self) -> str:
        return f"row_{self.number}"

    def __repr__(self) -> str:
        return f"{self} of document {self.number}, which has none"


def pack(numbered: Iterable[Sequence[int]], known: Sized, words: int) -> Tags:
    """Return the tags of each document, given as numbers of those that are `known` when all were numbered.

    Their rows follow those of `words` words.
    """
    rows: list[int] = []
    starts = [0]
    for numbers in numbered:
        rows += numbers
        starts.append(len(rows))
    offsets = np.array(starts, np.int64)
    most = int(np.diff(offsets).max(initial=0))
    return Tags(offsets, words + np.array(rows, np.int32), len(known), most)
