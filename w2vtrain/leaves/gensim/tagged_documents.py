"""gensim's readers of documents, TaggedLineDocument and TaggedBrownCorpus; the words of documents; vectors of tags.

Nothing here trains; the class of a document is w2vtrain.TaggedDocument.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.errors import TokenError
from w2vtrain.leaves.documents.documents import TaggedDocument, tagged
from w2vtrain.leaves.gensim.line_sentence import LineSentence
from w2vtrain.leaves.gensim.word_choice import Pruned
from w2vtrain.text.source import Source

STRINGS = "Each 'words' should be a list of words (usually unicode strings). First 'words' here is instead plain %s."

logger = logging.getLogger(__name__)


class TaggedLineDocument:
    """Iterate over the documents of a text file that has one per line, in which white space separates the words.

    The tag of a document is the number of its line, counted from 0.

    Parameters
    ----------
    source : str, path or file object
        As for `LineSentence`.

    Raises
    ------
    W2VError
        As for `LineSentence`.

    Examples
    --------
    >>> import w2vtrain
    >>> documents = w2vtrain.TaggedLineDocument("data/simplewiki.txt")
    >>> next(iter(documents)).tags
    [0]

    """

    def __init__(self, source: str | PathLike[str] | IO[Any]) -> None:
        self._lines = LineSentence(source)
        self.source = source

    def files(self) -> Source | None:
        """Return the file as a source of lines; None for a file object, and for a subclass, which may differ."""
        is_plain = type(self) is TaggedLineDocument and isinstance(self.source, str | PathLike)
        return self._lines._files() if is_plain else None

    def __iter__(self) -> Iterator[TaggedDocument]:
        words: list[str] = []
        number = 0
        for text, ended in self._lines._pieces():
            words += text.split()
            if ended:
                yield TaggedDocument(words, [number])
                words, number = [], number + 1


class TaggedBrownCorpus:
    """Iterate over the sentences of the Brown corpus, as NLTK distributes it: a folder of files of words with tags.

    A word becomes, for example, ``county/nn``, and punctuation is left out. The tag of a sentence names its file and
    its line.

    Parameters
    ----------
    dirname : str or path
        The folder. Its files are read in the order of their names.

    Examples
    --------
    >>> from pathlib import Path
    >>> import w2vtrain
    >>> Path("brown").mkdir()
    >>> _ = Path("brown/ca01").write_text("The/at County/nn-tl jury/nn ./.")
    >>> next(iter(w2vtrain.TaggedBrownCorpus("brown"))).words
    ['the/at', 'county/nn', 'jury/nn']

    """

    def __init__(self, dirname: str | PathLike[str]) -> None:
        self.dirname = dirname

    def __iter__(self) -> Iterator[TaggedDocument]:
        for path in sorted(path for path in Path(self.dirname).iterdir() if path.is_file()):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
                pairs = [pair for token in line.split() if len(pair := token.split("/")) == 2]
                words = [f"{word.lower()}/{tag[:2]}" for word, tag in pairs if tag[:2].isalpha()]
                if words:
                    yield TaggedDocument(words, [f"{path}_SENT_{number}"])


class Words:
    """The words of tagged documents, one list after the other; what else they have is noted while they are read.

    tags: of each document; counts: for each tag, the words and the number of its documents. A string of words becomes
    its characters, with gensim's warning. An iteration raises TokenError for what is no document, or for a tag that is
    neither a string nor a whole number.
    """

    def __init__(self, documents: Iterable[Any]) -> None:
        if isinstance(documents, str) or not isinstance(documents, Iterable):
            raise TokenError(f"documents must be an iterable of TaggedDocument, not {type(documents).__name__}")
        self.documents = documents
        self.tags: list[list[str | int]] = []
        self.counts: dict[str | int, list[int]] = {}

    def __iter__(self) -> Iterator[Sequence[str]]:
        self.tags, self.counts, warned = [], {}, False
        for index, document in enumerate(self.documents):
            if isinstance(letters := getattr(document, "words", None), str):
                if not warned:
                    logger.warning(STRINGS, str)
                    warned = True
                document = TaggedDocument(list(letters), document.tags)
            words, tags = tagged(document, index)
            self.tags.append(list(tags))
            for tag in tags:
                count = self.counts.setdefault(tag, [0, 0])
                count[0] += len(words)
                count[1] += 1
            yield words


def vectors_of_tags(tags: Sequence[Any], vectors: NDArray[Any]) -> KeyedVectors:
    """Return the vectors of tags (T, d), none of which is locked.

    As in gensim, `key_to_index` leaves out whole numbers that are the numbers of their own rows.
    """
    dv = KeyedVectors.of(tags, vectors)
    for row, tag in enumerate(tags):
        if tag != row:
            break
        del dv.key_to_index[tag]
    dv.vectors_lockf = np.ones(1, np.float32)
    return dv


def words_of(source: Source) -> Words | None:
    """Return the words of tagged documents that were read through a source; None for the lines of a file."""
    sentences = getattr(source, "sentences", None)
    listed = sentences.sentences if isinstance(sentences, Pruned) else sentences
    return listed if isinstance(listed, Words) else None
