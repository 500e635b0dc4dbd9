"""Turn what gensim's users pass as a corpus into a source of text: any iterable of sentences, or the name of a file.

Nothing is read here.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from w2vtrain.errors import InvalidValue, MissingFile
from w2vtrain.leaves.gensim.line_sentence import MAX_SENTENCE_LENGTH
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.text.source import HasSource, Source
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.token_lists import Sentences, is_frame, is_tiny

STRINGS = (
    "Each 'sentences' item should be a list of words (usually unicode strings). First item here is instead plain %s."
)

logger = logging.getLogger(__name__)


class Reading(NamedTuple):
    """What was read of a corpus: its words as ids, None if the model has none of them, and how much it has in all."""

    source: Source
    encoded: EncodedCorpus | None
    sentences: int
    words: int


def source_of(sentences: Any, file: str | PathLike[str] | None) -> Source:
    """Return the source for the arguments `corpus_iterable` and `corpus_file`.

    Raise TypeError if they name no corpus or two, and InputMissing if there is no such file.
    """
    if (sentences is None) == (file is None):
        raise TypeError(
            "give one corpus: either corpus_iterable, an iterable of lists of words, or corpus_file, a path"
        )
    if file is not None:
        if not isinstance(file, str | PathLike):
            raise TypeError(
                f"corpus_file must be a path, not {type(file).__name__}; pass lists of words as corpus_iterable"
            )
        if not Path(file).exists() or Path(file).is_dir():  # a Corpus would take a pattern or a directory, too
            raise MissingFile(f"{fspath(file)}: no such file")
        return Corpus([fspath(file)], "unicode", options=False)
    if isinstance(sentences, HasSource):
        source = sentences.as_source(MAX_SENTENCE_LENGTH)
        if not isinstance(source, Sentences):
            return source
    source = Sentences(Listed(sentences))
    source.is_tiny = is_tiny(sentences)
    return source


def repeats(sentences: Any) -> bool:
    """Return whether a corpus can be read more than once: an iterator, such as a generator, cannot."""
    return not isinstance(sentences, Iterator)


def refuse_iterator(sentences: Any, reread: bool | None) -> None:
    """Raise InvalidValue if a corpus that can be read only once is to be read in each epoch."""
    if reread and not repeats(sentences):
        raise InvalidValue(
            f"reread=True needs a corpus that can be read again, not a {type(sentences).__name__}: pass a list, or an"
            " object whose __iter__ starts from the beginning"
        )


def may_differ(sentences: Any) -> bool:
    """Return whether a corpus may yield other sentences when it is read again, judged by its type.

    Collections, files and the classes of gensim and of this folder do not; an iterator cannot be read again.
    """
    same = sentences is None or isinstance(sentences, Collection | Iterator | HasSource)
    return not same and not type(sentences).__module__.startswith(("gensim.", "w2vtrain.leaves.gensim."))


class Listed:
    """The sentences of an iterable, each a list of words; a string becomes its characters, with gensim's warning.

    Raise TypeError if the iterable or a sentence cannot be one.
    """

    def __init__(self, sentences: Any) -> None:
        if isinstance(sentences, str) or not isinstance(sentences, Iterable):
            instead = ": pass the name of a file as corpus_file" * isinstance(sentences, str | PathLike)
            raise TypeError(
                f"corpus_iterable must be an iterable of lists of words, not {type(sentences).__name__}{instead}"
            )
        if hasattr(sentences, "columns"):  # iterating over a frame yields their names, or all of a column
            raise TypeError(f"corpus_iterable is a {type(sentences).__name__}: pass its column of lists of words")
        self.sentences = sentences

    def __iter__(self) -> Iterator[Sequence[Any]]:
        """Yield the sentences."""
        warned = False
        for sentence in self.sentences:
            if isinstance(sentence, str) and not warned:
                logger.warning(STRINGS, type(sentence))
                warned = True
            yield sentence if isinstance(sentence, list | tuple) else _words(sentence)


def _words(sentence: Any) -> list[Any]:
    """Return the words of a sentence that is neither a list, a tuple nor a string, such as a NumPy array."""
    if isinstance(sentence, Iterator | Mapping) or is_frame(sentence) or not isinstance(sentence, Iterable):
        raise TypeError(f"each sentence must be a list of words, not {type(sentence).__name__}")
    return list(sentence)
