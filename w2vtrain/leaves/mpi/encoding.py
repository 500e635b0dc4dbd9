"""Count and encode a corpus on all ranks together. The result is that of one process, byte for byte.

Nothing here trains. Each rank reads its own stretch of the corpus once, as one process reads a whole one. The ids are
kept in a folder on shared storage, so a restart reads no text.
"""

from contextlib import ExitStack
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.leaves.mpi.agreement import Gathering, together
from w2vtrain.leaves.mpi.communicator import Communicator, broadcast_bytes
from w2vtrain.leaves.mpi.division import Division, divided
from w2vtrain.leaves.mpi.shared_folder import check_shared
from w2vtrain.leaves.mpi.shared_ids import SharedIds
from w2vtrain.leaves.mpi.word_counts import chosen, dealt
from w2vtrain.system.json_text import json_digest
from w2vtrain.text import word_table
from w2vtrain.text.counting import CorpusStats, OnRead, temporary
from w2vtrain.text.encoded import Counted, EncodedCorpus, Written, naming, read
from w2vtrain.text.source import SAMPLE_BYTES
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import Vocabulary, no_tokens
from w2vtrain.training.fingerprint import vocabulary_checksum

_BLOCKS_PER_THREAD = 4  # at least, so that all threads have work
_MIN_BLOCK_BYTES = 1 << 16


def encode_together(
    comm: Communicator,
    corpus: Corpus,
    settings: Settings,
    folder: Path,
    vocabulary: Vocabulary | None = None,
    progress: OnRead = lambda *_: None,
) -> EncodedCorpus:
    """Count and encode a corpus on all ranks. Return on each what `Counted.encode` returns in one process.

    All ranks pass equal arguments. settings: from `training.plan.effective`; min_count, max_vocab, max_sentence,
    sentence_end and threads (of each rank) are used. folder: exists, on storage that all ranks share. It keeps the
    word ids and the vocabulary, which a restart with any number of ranks uses again; the memory map needs `ids` as long
    as the result is used. vocabulary: words and counts to use instead of those of the corpus. progress: called on every
    rank with the sums over all ranks.

    Raise the errors of `encode`, on all ranks: OutputError also for a folder that is not shared, InputMissing or
    DataError if a rank sees another corpus, and Disconnected if another rank ended.
    """
    check_shared(comm, folder)
    division = divided(comm, corpus)
    given = vocabulary and vocabulary_checksum(vocabulary)
    choice = [given, settings.min_count, settings.max_vocab, settings.max_sentence, settings.sentence_end]
    ids = SharedIds(comm, folder, json_digest([division.identity, choice]))
    encoded = ids.find() or _Reading(comm, corpus, division, folder, progress).run(settings, vocabulary, ids)
    with together(comm):
        progress(encoded.stats.bytes_read, corpus.size, encoded.stats.token_count)
    return replace(encoded, sample=_sample(comm, corpus))


@dataclass(frozen=True)
class _Reading:
    """One pass over a corpus, of which this rank reads its stretch."""

    comm: Communicator
    corpus: Corpus
    division: Division
    folder: Path
    progress: OnRead

    def run(self, settings: Settings, vocabulary: Vocabulary | None, ids: SharedIds) -> EncodedCorpus:
        """Count all words, choose the vocabulary unless it is given, and write the ids.

        Each rank encodes its stretch into a file of its own, and then all write these ids to the file that they share.
        """
        comm, written = self.comm, np.zeros((self.comm.size, 3), np.int64)  # by rank: entries, words and cuts
        with ExitStack() as stack:
            with together(comm, self.report_sums) as gathering:
                counted = stack.enter_context(self.count(int(settings.threads), gathering))
            vocabulary, stats = self.choose(counted, settings, vocabulary)
            with together(comm) as gathering, naming(self.folder):
                spool = stack.enter_context(temporary(self.folder))
                written[comm.rank] = counted.append_to(spool, vocabulary, settings.max_sentence, gathering.report)
            comm.allreduce(written)
            total = Written(*written.sum(axis=0).tolist())
            stats, vocabulary, place = total.described(stats, vocabulary, settings.sentence_end, self.corpus.name)
            return ids.write(spool, written[:, 0], stats, vocabulary, place)

    def report_sums(self, reports: list[Any]) -> None:
        """Report the sums of what all ranks have read: [bytes, tokens]."""
        bytes_read, tokens = (sum(column) for column in zip([0, 0], *filter(None, reports), strict=True))
        self.progress(bytes_read, self.corpus.size, tokens)

    def count(self, threads: int, gathering: Gathering) -> Counted:
        """Read this rank's stretch, in blocks that are small enough for all threads to have work."""
        files = self.division.mine
        size = sum(file.size or 0 for file in files) // (_BLOCKS_PER_THREAD * threads)
        stretch = self.corpus.part(files, min(self.corpus.block_bytes, max(_MIN_BLOCK_BYTES, size)))

        def tick(bytes_read: int, _: int | None, tokens: int) -> None:
            gathering.report([bytes_read, tokens])

        return read(stretch, threads=threads, folder=self.folder, progress=tick)

    def choose(
        self, counted: Counted, settings: Settings, vocabulary: Vocabulary | None
    ) -> tuple[Vocabulary, CorpusStats]:
        """Return the vocabulary, chosen unless it is given, and the statistics of counting the whole corpus."""
        words = [word.encode() for word in counted.words]
        owned = dealt(self.comm, word_table.listed(words, counted.counts))
        # A word of several ranks counts once, for the rank that it belongs to.
        sums = np.array(astuple(replace(counted.stats, types=owned.types)), np.int64)
        self.comm.allreduce(sums)
        stats = replace(CorpusStats(*sums.tolist()), files=len(self.corpus.files))
        if vocabulary is None:
            limits = settings.min_count, settings.max_vocab
            vocabulary = chosen(self.comm, owned, *limits, self.corpus.name, stats.text_bytes, stats.overlong)
        elif not stats.token_count:
            raise no_tokens(self.corpus.name, stats.text_bytes, stats.overlong)
        return vocabulary, stats


def _sample(comm: Communicator, corpus: Corpus) -> bytes:
    """Return the beginning of the text, which rank 0 reads."""
    sample = b""
    with together(comm):
        if comm.rank == 0:
            reader = corpus.read()
            while len(reader.sample) < SAMPLE_BYTES and next(reader, None) is not None:
                pass
            sample = bytes(reader.sample)
    return broadcast_bytes(comm, sample)
