"""Count and encode a corpus on all ranks together. The result is that of one process, byte for byte.

Nothing here trains. Each rank reads its own parts twice: once to count the words, and once more to encode them, when
the vocabulary is known. Counts and ids are kept in a folder on shared storage, so a restart does not repeat them.
"""

from contextlib import ExitStack
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.distributed import word_counts
from w2vtrain.distributed.agreement import Heard, share, together
from w2vtrain.distributed.communicator import Communicator
from w2vtrain.distributed.merging import chosen, dealt, types
from w2vtrain.distributed.parts import PART, Part, agreed_parts
from w2vtrain.distributed.shared_folder import check_shared
from w2vtrain.distributed.shared_ids import Layout, SharedIds
from w2vtrain.distributed.word_counts import PartCounts
from w2vtrain.errors import DataError
from w2vtrain.system.json_text import json_digest
from w2vtrain.system.trust import Trusted
from w2vtrain.text import word_table
from w2vtrain.text.counting import CorpusStats, Index, OnRead, temporary
from w2vtrain.text.encoded import EncodedCorpus, count_words, naming, no_known_words, read
from w2vtrain.text.source import SAMPLE
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import SENTENCE_END, Vocabulary, no_tokens
from w2vtrain.text.word_table import Int64, Table
from w2vtrain.training.fingerprint import vocabulary_checksum

_BLOCKS = 4  # blocks per thread in each part, so that all threads have work
_LEAST_BLOCK = 1 << 16  # bytes


def encode_together(
    team: Communicator,
    corpus: Corpus,
    settings: Settings,
    folder: Path,
    vocabulary: Vocabulary | None = None,
    progress: OnRead | None = None,
    *,
    part_bytes: int = PART,
) -> EncodedCorpus:
    """Count and encode a corpus on all ranks. Return on each what `text.encoded.encode` returns in one process.

    All ranks pass equal arguments. settings: from `training.fit.effective`; min_count, max_vocab, max_sentence,
    sentence_end and threads (of each rank) are used. folder: exists, on storage that all ranks share. It keeps the
    counts of each part (`counts-00000`, ...) and the word ids (`ids`, `ids.json`), which a restart with any number of
    ranks uses again; the memory map needs `ids` as long as the result is used. vocabulary: words and counts to use
    instead of those of the corpus. progress: called on every rank with the sums over all ranks; the corpus is read
    twice, which the total includes. part_bytes: the size of the parts that ranks take in turn.

    Raise the errors of `encode`, on all ranks: UsageError also for standard input and pipes, OutputError for a folder
    that is not shared or cannot be trusted, InputMissing or DataError if a rank sees another corpus, and Disconnected
    if another rank ended.
    """
    trusted = check_shared(team, folder)
    parts = agreed_parts(team, corpus, part_bytes)
    job = _Job(team, corpus, parts, folder, trusted, int(settings.threads), progress)
    mine, counted = job.count()
    owned = dealt(team, counted)
    stats = job.total(mine, types(team, owned))
    if vocabulary is None:
        vocabulary = chosen(team, owned, settings.min_count, settings.max_vocab, corpus.name, stats.text_bytes)
    elif not stats.tokens:
        raise no_tokens(corpus.name, stats.text_bytes)
    del counted, owned
    return job.encode(mine, stats, vocabulary, settings)


@dataclass(frozen=True)
class _Job:
    """The work on one corpus. threads: of each rank."""

    team: Communicator
    corpus: Corpus
    parts: list[Part]
    folder: Path
    trusted: Trusted
    threads: int
    progress: OnRead | None

    def numbers(self) -> range:
        """Return the numbers of the parts of this rank."""
        return range(self.team.rank, len(self.parts), self.team.size)

    def source(self, part: Part) -> Corpus:
        """Return a part as a corpus, with blocks that are small enough for all threads to have work."""
        size = max(_LEAST_BLOCK, part.size // (_BLOCKS * self.threads))
        return self.corpus.part(part.files, min(self.corpus.block_bytes, size))

    def heard(self, bytes_read: int = 0, tokens: int = 0) -> Heard | None:
        """Return a function that adds up the reports of all ranks, [bytes read, tokens], for `progress`.

        bytes_read, tokens: what had been read and counted when this pass began.
        """
        progress, size = self.progress, self.corpus.size or 0
        if progress is None:
            return None

        def heard(reports: list[Any]) -> None:
            done, found = (sum(column) for column in zip([bytes_read, tokens], *filter(None, reports), strict=True))
            progress(done, 2 * size, found)

        return heard

    def count(self) -> tuple[dict[int, CorpusStats], Table]:
        """Count the words of this rank's parts. Return the statistics of each part, and all words and counts."""
        table, found = word_table.empty(), dict[int, CorpusStats]()
        done = tokens = 0
        with together(self.team, self.heard()) as phase:

            def tick(bytes_read: int, _: int | None, found: int) -> None:
                phase.report([done + bytes_read, tokens + found])

            for number in self.numbers():
                part = self.parts[number]
                counts = word_counts.saved(self.folder, number, part, self.trusted) or self._count(number, part, tick)
                table, _ = word_table.merge(counts.table, table)
                found[number] = counts.stats
                done, tokens = done + part.size, tokens + counts.stats.tokens
                phase.report([done, tokens])
        return found, table

    def _count(self, number: int, part: Part, tick: OnRead) -> PartCounts:
        """Count one part, and keep the result for a restart."""
        counted = count_words(self.source(part), threads=self.threads, progress=tick)
        found = PartCounts("\n".join(counted.words).encode(), counted.counts, counted.stats)
        word_counts.write(self.folder, number, part, found)
        return found

    def total(self, mine: dict[int, CorpusStats], distinct: int) -> CorpusStats:
        """Return the statistics of the whole corpus. distinct: the number of distinct words."""
        total = np.zeros(len(fields(CorpusStats)), np.int64)
        for stats in mine.values():
            total += astuple(stats)
        self.team.sum(total)
        return replace(CorpusStats(*total.tolist()), files=len(self.corpus.files), types=distinct)

    def encode(
        self, mine: dict[int, CorpusStats], stats: CorpusStats, vocabulary: Vocabulary, settings: Settings
    ) -> EncodedCorpus:
        """Encode the corpus, or use the ids of an earlier run. mine: the statistics of this rank's parts."""
        limit, end = settings.max_sentence, settings.sentence_end and SENTENCE_END not in vocabulary.index
        about = [[part.identity for part in self.parts], vocabulary_checksum(vocabulary), limit, end]
        ids = SharedIds(self.team, self.folder, self.trusted, json_digest(about), len(self.parts))
        array, layout = ids.find() or self._write(ids, mine, stats, vocabulary, limit, end)
        sentences = int(layout.starts[-1]) - layout.words
        if end:
            vocabulary, _ = vocabulary.with_sentence_end(sentences)
        missing = stats.tokens - layout.words
        stats = replace(stats, out_of_vocabulary=missing, cut=layout.cuts, sentences=sentences)
        with together(self.team):
            if self.progress:
                self.progress(2 * stats.bytes_read, 2 * stats.bytes_read, stats.tokens)
        return EncodedCorpus(array, vocabulary, layout.words, stats, self._sample())

    def _write(
        self, ids: SharedIds, mine: dict[int, CorpusStats], stats: CorpusStats, vocabulary: Vocabulary, limit: int,
        end: bool,
    ) -> tuple[word_table.Int32, Layout]:  # fmt: skip
        """Encode all parts and write them to the file that all ranks share."""
        with ExitStack() as files:
            with together(self.team):
                spool = files.enter_context(temporary(self.folder))
            written = self._spool(spool, mine, stats.tokens, vocabulary, limit)
            words, cuts = written[:, 1:].sum(axis=0).tolist()
            if not words:
                raise no_known_words(self.corpus.name, stats.tokens)
            layout = Layout(written[:, 0], np.zeros(0, np.int64), words, cuts)
            place = vocabulary.with_sentence_end(int(layout.starts[-1]) - words)[1] if end else None
            return ids.write(spool, layout, place)

    def _spool(
        self, spool: IO[bytes], mine: dict[int, CorpusStats], tokens: int, vocabulary: Vocabulary, limit: int
    ) -> Int64:
        """Encode this rank's parts into a file of its own.

        Return for all parts of all ranks the number of entries, of words and of cuts, (parts, 3) int64.
        """
        written = np.zeros((len(self.parts), 3), np.int64)
        done = 0
        with together(self.team, self.heard(self.corpus.size or 0, tokens)) as phase:
            index = Index(self.corpus, vocabulary)

            def tick(bytes_read: int, _: int | None, __: int) -> None:
                phase.report([done + bytes_read, 0])

            for number in self.numbers():
                source = self.source(self.parts[number])
                with read(source, threads=self.threads, folder=self.folder, progress=tick) as counted:
                    if replace(counted.stats, grown=0) != replace(mine[number], grown=0):
                        raise DataError(f"{source.name} changed while the corpus was being read: start again")
                    with naming(self.folder):
                        written[number] = counted.append_to(spool, index, limit, phase.report)
                done += self.parts[number].size
        self.team.sum(written)
        return written

    def _sample(self) -> bytes:
        """Return the beginning of the text, which rank 0 reads."""
        sample = b""
        with together(self.team):
            if self.team.rank == 0:
                reader = self.corpus.read()
                while len(reader.sample) < SAMPLE and next(reader, None) is not None:
                    pass
                sample = bytes(reader.sample)
        return share(self.team, sample)
