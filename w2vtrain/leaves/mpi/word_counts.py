"""Add up the counts of all ranks, and choose the words of the vocabulary, whatever the number of ranks.

Nothing here reads the corpus. Each word belongs to one rank, which adds up its counts, so no rank needs memory for the
words of the whole corpus, only for those that it has counted and those that are kept.
"""

import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from w2vtrain.leaves.mpi.communicator import Communicator
from w2vtrain.text import word_table
from w2vtrain.text.vocabulary import Vocabulary, require_words, select
from w2vtrain.text.word_table import Int64, WordTable

_COUNT_DTYPE = np.dtype("<i8")
_SLICE_WORDS = 1 << 16  # words whose checksums are computed at a time


def dealt(comm: Communicator, counted: WordTable) -> WordTable:
    """Return the words that belong to this rank, with their counts in the whole corpus.

    counted: the words that this rank has counted. A word belongs to the rank that the CRC-32 of its UTF-8 bytes names.
    """
    every = np.arange(counted.types)
    slices = (counted.words(every[first : first + _SLICE_WORDS]) for first in range(0, every.size, _SLICE_WORDS))
    checksums = (zlib.crc32(word) for words in slices for word in words)
    owners = np.fromiter(checksums, np.uint32, every.size) % np.uint32(comm.size)
    mine = (np.flatnonzero(owners == rank) for rank in range(comm.size))
    return _sum(comm.alltoall([packed(counted.words(numbers), counted.counts[numbers]) for numbers in mine]))


def chosen(
    comm: Communicator, owned: WordTable, min_count: int, max_vocab: int | None, name: str, text_bytes: int,
    overlong: int = 0,
) -> Vocabulary:  # fmt: skip
    """Return the vocabulary, the same on all ranks: see `text.encoded.Counted.vocabulary`.

    owned: the words that belong to this rank, from `dealt`; name, text_bytes, overlong: of the corpus, for messages.
    Raise DataError if fewer than 2 words are kept.
    """
    counts = owned.counts[: owned.types]
    order = select(counts, owned.words, min_count, max_vocab)
    total = _sum(comm.allgather(packed(owned.words(order), counts[order])))
    order = select(total.counts[: total.types], total.words, 1, max_vocab)
    if order.size < 2:
        every = np.concatenate([np.frombuffer(data, np.int64) for data in comm.allgather(counts.tobytes())])
        require_words(every, order.size, min_count, name, text_bytes, overlong)
    return Vocabulary([word.decode() for word in total.words(order)], total.counts[order])


def _sum(messages: Iterable[bytes]) -> WordTable:
    table = word_table.empty()
    for data in messages:
        table, _ = word_table.merge(unpacked(data), table)
    return table


def packed(words: Sequence[bytes], counts: Int64) -> bytes:
    """Return n words without white space and their counts as bytes: n, the counts, and the words."""
    return b"".join([counts.size.to_bytes(8, "little"), counts.astype(_COUNT_DTYPE).tobytes(), b"\n".join(words)])


def unpacked(data: bytes) -> WordTable:
    """Return the words and counts in what `packed` returned, as the source of `word_table.merge`.

    Raise ValueError if the data are too short.
    """
    size = int.from_bytes(data[:8], "little")
    counts = np.frombuffer(data, _COUNT_DTYPE, size, 8).astype(np.int64)
    words = data[8 * (size + 1) :]
    return word_table.listed(words.split(b"\n") if words else [], counts)
