"""The text that an engine trains on, as word ids in chunks."""

from dataclasses import dataclass

import numpy as np

from w2vtrain.text.encoded import Tags


def read_only(tokens: np.ndarray) -> np.ndarray:
    """Return a view of tokens that cannot be written to, the type that kernels are compiled for.

    The text of a run is a file that is open for reading. For any other type, Numba would compile all kernels again.
    """
    view = tokens.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True)
class Chunks:
    """An encoded corpus, divided into C chunks. Each chunk is shuffled, assigned to a thread, and seeded as a whole.

    tokens (n,) int32: word ids, with -1 at the end of each sentence, or -2 - k if it belongs to document k; starts
    (C + 1,) int64: the offsets of the chunks in tokens; words (C,) int64: the number of words per chunk; counts (V,)
    int64: the word counts, in descending order; longest_sentence: the most words in a sentence, or more; tags: those of
    the documents, if sentences belong to documents. Engines read what they train on by `read`, which a corpus that is
    not stored overrides: its `tokens` are a sample, for objectives that count pairs, and `starts` is empty.
    """

    tokens: np.ndarray
    starts: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    longest_sentence: int = 10_000
    tags: Tags | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", read_only(self.tokens))

    def read(self, order: np.ndarray, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Return read-only tokens that contain the chunks `order` (n,) of an epoch, and offsets in them, (C + 1,).

        Chunk c is tokens[offsets[c] : offsets[c + 1]], if it is in `order`. Called by any thread.
        """
        return self.tokens, self.starts

    def mean_length(self) -> float:
        """Return the mean number of words and sentence ends per chunk; 0 without chunks, as in inference."""
        return float(self.starts[-1] - self.starts[0]) / max(1, len(self.words))
