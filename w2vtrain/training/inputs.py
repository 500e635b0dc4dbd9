"""A run's inputs: what to read as the corpus and as held-out text, and encoded text divided into chunks.

Nothing is trained here; one_process.py reads the corpus. fingerprint.py is how a resumed run detects that they
have changed.
"""

import copy
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.config import Settings, check_patience
from w2vtrain.doors import TABLES, is_there, leaf
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.window_kernel import PLANNED_WORDS
from w2vtrain.errors import ConfigError, InputMissing, NoSentences, TokenError, UsageError, label, shown, spelled
from w2vtrain.system.compression import unpacked
from w2vtrain.system.reading import regular_size
from w2vtrain.text.counting import OnRead
from w2vtrain.text.encoded import Counted, EncodedCorpus, read
from w2vtrain.text.source import Frame, HasSource, Source
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.token_lists import Sentences, TokenLists
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.engine_parts import check_documents, window_size

if TYPE_CHECKING:
    from w2vtrain.text.phrase_table import PhraseTable
    from w2vtrain.training.warm_start import WarmStart

NAME = re.compile(r"[/\\\\*?\[]|\.\w{1,10}$|^-$")
"""What names of files and patterns have: a separator, a wildcard or a suffix; or standard input."""
CHUNK_WORDS = 1000
"""Words per chunk, the unit of shuffling. Shuffling raised analogy accuracy by 2 to 3 percentage points."""


Sources = Sequence[str] | Source | HasSource | Frame
"""What a run reads: text files, folders or glob patterns, or a source of words that are not in files."""
Files = str | PathLike[str] | Sequence[str | PathLike[str]]
Texts = Files | TokenLists | Source | HasSource | Any
"""What a caller in Python may pass: see `sources_of`."""


@dataclass(frozen=True)
class Inputs:
    """The text that a run reads.

    sources: the corpus; heldout: held-out text; vocabulary: used instead of counting the corpus's words; folder: holds
    the encoded corpus during training, by default the system's folder for temporary files; encoded: the corpus if it is
    encoded already, so that `sources` are not read; start: a trained model or vectors that the run starts from, whose
    words are trained; grow: whether new words join those of a model in `start`; freeze: whether the vectors of `start`
    stay as they are; raw: whether the corpus may be raw text, because nobody chose a tokenizer.
    """

    sources: Sources
    heldout: Sources = ()
    vocabulary: Vocabulary | None = None
    folder: Path | None = None
    encoded: EncodedCorpus | None = None
    start: "WarmStart | None" = None
    grow: bool = False
    freeze: bool = False
    raw: bool = False

    def __post_init__(self) -> None:
        """Raise ConfigError for a vocabulary of sources that have words of their own."""
        if self.vocabulary and isinstance(self.sources, Generator):
            raise ConfigError(f"{label('read_vocab')}: this corpus has words of its own; leave it out")

    def check(self, settings: Settings) -> None:
        """Raise ConfigError if these effective settings do not fit what is read or what the run starts from."""
        has_documents = self.encoded is not None and self.encoded.tags is not None
        if isinstance(self.sources, Generator):
            self.sources.check(self, settings)
            has_documents = self.sources.architecture is not None
        check_documents(settings, has_documents)
        check_patience(settings, heldout=bool(self.heldout))
        if self.start:
            self.start.check(settings, self.grow, self.freeze)

    def known_words(self) -> Vocabulary | None:
        """Return the words to use instead of counting the corpus's: those given, or those of `start`, if it has any."""
        return self.vocabulary or (self.start.vocabulary() if self.start else None)

    @property
    def has_words_of_model(self) -> bool:
        """Whether the words are those of the model that the run starts from, whatever the corpus has."""
        is_chosen = self.grow or isinstance(self.sources, Generator)
        return self.start is not None and self.start.model is not None and not is_chosen

    def without_effect(self, settings: Settings) -> dict[str, str]:
        """Return the settings that have no effect on these words, each with the error message for its use."""
        if not (self.start and self.has_words_of_model):
            return {}
        mine = self.start.settings
        more = f"has no effect on the words of a model; leave it out, or add {spelled('grow_vocabulary', True)}"
        names = [name for name in ("min_count", "max_vocab") if getattr(settings, name) != mine.get(name)]
        return {name: f"{label(name)}: {more}" for name in names}

    def more_words(self) -> str:
        """Return, for messages about a text with too few known words, what makes more of its words known."""
        if self.start and self.has_words_of_model:
            return f"{spelled('grow_vocabulary', True)} adds the words that {self.start.name} lacks"
        if self.vocabulary:
            return f"without {spelled('read_vocab')}, the words are those of the text"
        return f"a lower {spelled('min_count')} keeps rare words"

    def words(self, counted: Counted, settings: Settings) -> Vocabulary:
        """Return the words to train on: the known ones, with `grow` also frequent new ones; or the corpus's own."""
        if self.grow and self.start and self.start.model:
            return self.start.grown(counted, settings)
        return self.known_words() or counted.vocabulary(settings.min_count, settings.max_vocab)


class Generated(EncodedCorpus):
    """A corpus whose ids are generated when they are trained on, and stored nowhere, such as random walks over a graph.

    tokens: empty; words: the expected number per epoch. `checksum` is that of what it is generated from.
    """

    def text(self) -> Chunks:
        """Return the corpus in chunks of about CHUNK_WORDS words, whose `read` generates them."""
        raise NotImplementedError


class Generator:
    """Base class of sources that make the ids to train on themselves. As any source, they can also be read as text.

    rate_factor: what the default learning rate for text is multiplied with; architecture: the default one of a source
    of documents, None for others.
    """

    rate_factor: float
    architecture: str | None

    def check(self, inputs: "Inputs", settings: Settings) -> None:
        """Raise ConfigError for other inputs, and for settings, that do not fit or have no effect."""
        raise NotImplementedError

    def generated(
        self, settings: Settings, folder: Path | None = None, progress: OnRead | None = None
    ) -> EncodedCorpus:
        """Return the corpus, with its vocabulary. folder, progress: see `encoded.read`, whose errors it raises."""
        raise NotImplementedError


def sources_of(texts: Texts) -> Sources:
    """Return what to read for a path, a sequence of paths, an iterable of lists of words, or a source.

    A list or another sequence holds paths if its first item is one. An empty one holds none.

    Raise TokenError if `texts` is nothing of that, and InputMissing for a string that is text.
    """
    if isinstance(texts, str | PathLike):
        texts = [texts]
    if not isinstance(texts, list | tuple) and is_there("frames") and (frames := leaf("frames")).is_frame(texts):
        return Sentences(texts) if frames.needs_no_pyarrow(texts) else Frame(texts)  # type: ignore[arg-type]
    if isinstance(texts, Generator | HasSource | Source):  # in this order: looking for a source's size opens files
        return texts  # type: ignore[return-value]
    if instead := _instead(texts):
        raise TokenError(f"the {type(texts).__name__}: pass {instead}")
    if not isinstance(texts, Sequence) or (texts and not isinstance(texts[0], str | PathLike)):
        return Sentences(texts)  # type: ignore[arg-type]
    paths = []
    for i, path in enumerate(texts):
        if not isinstance(path, str | PathLike):
            raise TokenError(f"item {i} is {shown(path)}, although item 0 is a path: pass paths or lists of words")
        paths.append(fspath(path))
    refuse_text([path for path in texts if isinstance(path, str)])
    return paths


def _instead(texts: Texts) -> str | None:
    """Return what to pass instead of a dictionary of corpora or columns, or of a table that is not in memory."""
    if isinstance(texts, Mapping) and isinstance(key := next(iter(texts), None), str):
        return f"one of its values, such as data[{shown(key)}], or list(data.values()) if each is a list of words"
    if hasattr(type(texts), "columns") and not hasattr(type(texts), "__iter__"):
        return "a data frame, such as lazy.collect()"
    return None


def refuse_text(strings: Sequence[str]) -> None:
    """Raise InputMissing for the first string that is text or one of several words, and not the name of a file."""
    for text in strings:
        is_text = "\n" in text or (not NAME.search(text) and (" " in text or len(strings) > 1))
        if is_text and not os.path.exists(text):  # noqa: PTH110 - unlike Path.exists, it accepts names that are too long
            raise InputMissing(
                f"{shown(text)} is not the name of a file: to train on texts, pass lists of words, such as"
                " [text.split() for text in texts], or numpy.array(texts), which is read like the lines of a file"
            )


def corpus_of(sources: Sources, settings: Settings, whole_rows: bool = False, numbers: bool = False) -> Source:
    """Return what to read. Files are read with the tokenizer and encoding of the settings.

    whole_rows: whether each row of a table is one line, even if its text has several; numbers: whether those in tables
    are text, too, and nulls empty text. With the setting `phrases`, the phrases of that table are joined. Raise
    InputMissing or DataError for the table, UsageError for a column that is not named, or named where there is none,
    and NoSentences for an empty list.
    """
    if isinstance(sources, list) and not sources:
        raise NoSentences("the corpus is an empty list: pass text files, or lists of words")
    if isinstance(sources, Generator):
        return sources  # type: ignore[return-value]
    source = _source_of(sources, settings, whole_rows, numbers)
    if settings.phrases:
        source = copy.copy(source)
        size = regular_size(settings.phrases, stdin=False)
        source.phrases = _table(settings.phrases, size, Path(settings.phrases).stat().st_mtime_ns)
    return source


def _source_of(sources: Sources, settings: Settings, *rows: bool) -> Source:
    options = settings.tokenizer, settings.encoding_errors, settings.allow_nul
    if isinstance(sources, Frame):
        return leaf("frames").FrameColumn(sources, settings.column, *options, *rows)  # type: ignore[no-any-return]
    if isinstance(sources, HasSource | Source):
        if settings.column is not None:
            raise UsageError(
                f"{label('column')}: has no effect on lists of words; leave it out, or pass a data frame, such as"
                " pandas.DataFrame(rows)"
            )
        return sources.as_source(settings.max_sentence) if isinstance(sources, HasSource) else sources
    if settings.column is not None:
        return leaf("tables").Tables(sources, settings.column, *options, *rows)  # type: ignore[no-any-return]
    corpus = Corpus(sources, settings.tokenizer, errors=settings.encoding_errors, allow_nul=settings.allow_nul)
    if any(unpacked(file.path)[0].suffix.lower() in TABLES for file in corpus.files):
        leaf("tables").column_needed(corpus)
    return corpus


@lru_cache(1)
def _table(path: str, size: int, modified: int) -> "PhraseTable":
    """Return the table of phrases in a file, which is read once unless its size or time of modification changes."""
    from w2vtrain.text.phrase_table import PhraseTable

    return PhraseTable.load(path)


def heldout_of(sources: Sources, settings: Settings) -> Source:
    """Return what to read as held-out text, which may be of another kind: the column applies only to tables."""
    if settings.column is not None and not leaf("frames").has_columns(sources):
        settings = replace(settings, column=None)
    return corpus_of(sources, settings)


def chunks_of(ids: EncodedCorpus, settings: Settings) -> Chunks:
    """Divide an encoded corpus into chunks. For wide windows, also find the length of its longest sentence."""
    if isinstance(ids, Generated):
        return ids.text()
    (starts, words), longest = ids.chunks(CHUNK_WORDS), settings.max_sentence
    if window_size(settings) > PLANNED_WORDS:
        longest = longest_sentence(ids.tokens, starts)
    return Chunks(ids.tokens, starts, words, ids.vocabulary.counts, longest, ids.tags)


def longest_sentence(tokens: NDArray[np.int32], starts: NDArray[np.int64]) -> int:
    """Return the number of words of the longest sentence in chunks of whole sentences."""
    longest = 0
    for first, last in pairwise(starts.tolist()):
        ends = np.flatnonzero(tokens[first:last] < 0)
        longest = max(longest, int(np.diff(ends, prepend=-1, append=last - first).max()) - 1)
    return longest


def heldout_text(
    sources: Sources, settings: Settings, vocabulary: Vocabulary, folder: Path | None = None,
    warn: Callable[[str], None] = lambda sentence: None,
) -> tuple[Chunks, float]:  # fmt: skip
    """Return held-out text encoded with a vocabulary, and the share of its tokens that are in it, 0 to 1.

    warn: called with what was skipped or replaced. Raise the errors of `read` and of `Counted.encode`.
    """
    source = heldout_of(sources, settings)
    with read(source, folder=folder, warn=warn) as counted:
        ids = counted.encode(vocabulary, max_sentence=settings.max_sentence, sentence_end=settings.sentence_end)
    return chunks_of(ids, settings), ids.words / max(1, ids.stats.token_count)
