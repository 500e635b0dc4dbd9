"""What a run reads: its corpus, held-out text, and both in chunks of word indices. Nothing is trained here."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from w2vtrain.config import Settings
from w2vtrain.engines.schedule import Text
from w2vtrain.text.corpus import Corpus
from w2vtrain.text.encoded import EncodedCorpus, encode
from w2vtrain.text.vocab import Vocabulary

CHUNK = 1000
"""Words a chunk, the unit of shuffling: 1,000 gave 2 to 3 points of analogy accuracy over the corpus's own order."""


@dataclass(frozen=True)
class Inputs:
    """What to learn from.

    sources: text files, folders or patterns of names; heldout: the same of held-out text; vocabulary: takes the place
    of counting words; folder: where the encoded corpus lies meanwhile, by default the system's for temporary files.
    """

    sources: Sequence[str]
    heldout: Sequence[str] = ()
    vocabulary: Vocabulary | None = None
    folder: Path | None = None


def corpus_of(sources: Sequence[str], settings: Settings) -> Corpus:
    """Return the text that the sources name, to be read as the settings say."""
    return Corpus(sources, settings.tokenizer, errors=settings.encoding_errors, allow_nul=settings.allow_nul)


def text_of(ids: EncodedCorpus, settings: Settings) -> Text:
    """Return an encoded corpus in chunks."""
    starts = ids.chunks(CHUNK)
    return Text(ids.tokens, starts, ids.chunk_words(starts), ids.vocabulary.counts, settings.max_sentence)


def heldout_text(
    sources: Sequence[str], settings: Settings, vocabulary: Vocabulary, folder: Path | None = None
) -> tuple[Text, float]:
    """Return held-out text in a model's words, and the share of its tokens that they are. Errors as `encode`'s."""
    ids = encode(
        corpus_of(sources, settings),
        vocabulary=vocabulary,
        max_sentence=settings.max_sentence,
        sentence_end=settings.sentence_end,
        threads=1,
        folder=folder,
    )
    return text_of(ids, settings), ids.words / max(1, ids.stats.tokens)
