"""The file of word ids that all ranks write together, each its own, and that all map into memory; and their words.

Nothing here encodes text. A manifest, written last, lets a restart use the file.
"""

import os
import zlib
from dataclasses import asdict, dataclass, replace
from io import BufferedReader
from itertools import accumulate
from pathlib import Path
from typing import IO

import numpy as np

from w2vtrain.errors import DataError, OutputError, WriteError, reason
from w2vtrain.leaves.mpi.agreement import Gathering, together
from w2vtrain.leaves.mpi.communicator import Communicator, broadcast_bytes
from w2vtrain.leaves.mpi.shared_folder import await_shared, not_shared
from w2vtrain.leaves.mpi.word_counts import packed, unpacked
from w2vtrain.system.files import atomic_write, open_regular, sync
from w2vtrain.system.json_text import json_object, json_text, typed
from w2vtrain.text.counting import CorpusStats, append
from w2vtrain.text.encoded import EncodedCorpus, make_room, naming
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.text.word_table import Int32, Int64

MAX_MANIFEST_NUMBER = 1 << 50
"""In a manifest: no corpus has as many bytes."""
_PIECE_IDS = 1 << 20  # ids that are copied or checked at a time


@dataclass(frozen=True)
class Manifest:
    """The fields of ids.json.

    identity: a digest of everything that the ids depend on; sizes: the number of ids that each rank wrote, including
    sentence ends; checksums: their CRC-32; stats: of the corpus, see `CorpusStats.to_json`; words_bytes,
    words_checksum: of the file of words.
    """

    identity: str
    sizes: list[int]
    checksums: list[int]
    stats: dict[str, int]
    words_bytes: int
    words_checksum: int

    @property
    def starts(self) -> list[int]:
        """The index of the first id of each rank, and the number of ids."""
        return [0, *accumulate(self.sizes)]


class SharedIds:
    """The files `ids`, `words` and `ids.json` in a folder on shared storage. All ranks call the same methods.

    identity: a digest of everything that the ids depend on.
    """

    def __init__(self, comm: Communicator, folder: Path, identity: str) -> None:
        self._comm, self._folder, self._identity = comm, folder, identity
        self._path, self._words, self._manifest = folder / "ids", folder / "words", folder / "ids.json"

    def find(self) -> EncodedCorpus | None:
        """Return the corpus that an earlier run encoded, if all is complete and undamaged; without a sample."""
        manifest = _valid(broadcast_bytes(self._comm, self._saved() if self._comm.rank == 0 else b""), self._identity)
        if manifest is None:
            return None
        try:
            corpus = self._loaded(manifest)
        except (OSError, ValueError):
            corpus = None
        return corpus if self._is_intact(corpus, manifest) else None

    def write(
        self, spool: IO[bytes], sizes: Int64, stats: CorpusStats, vocabulary: Vocabulary, place: int | None
    ) -> EncodedCorpus:
        """Write the ids of all ranks and the words. Return the encoded corpus, without a sample.

        spool: the ids of this rank; sizes: (ranks,) int64, how many each has; place: an id that must become free for
        another word, so that all ids from it on increase by one.

        Raise OutputError if a file cannot be created or is not the same on all ranks, WriteError if the disk is full.
        """
        words = packed([word.encode() for word in vocabulary.words], vocabulary.counts)
        manifest = Manifest(self._identity, sizes.tolist(), [], stats.to_json(), len(words), zlib.crc32(words))
        with together(self._comm):
            if self._comm.rank == 0:
                self._create(words)
        checksums = np.zeros(self._comm.size, np.int64)
        with together(self._comm) as gathering, naming(self._folder):
            spool.seek(0)
            handle = await_shared(gathering, lambda: open_regular(self._path, os.O_WRONLY), self._folder)
            with os.fdopen(handle, "wb", buffering=0) as file:
                rank = self._comm.rank
                file.seek(4 * manifest.starts[rank])
                checksums[rank] = _copy(spool, file, manifest.sizes[rank], place, gathering)
                _sync(file)
        self._comm.allreduce(checksums)
        manifest = replace(manifest, checksums=checksums.tolist())
        with together(self._comm) as gathering:
            corpus = await_shared(gathering, lambda: self._loaded(manifest), self._folder)
        if not self._is_intact(corpus, manifest):
            raise not_shared(self._folder, "checksums of the word ids differ")
        with together(self._comm):
            if self._comm.rank == 0:
                with atomic_write(self._manifest, force=True, follow=False) as file:
                    file.write(json_text(asdict(manifest)).encode())
        return corpus

    def _create(self, words: bytes) -> None:
        """Create an empty file under the name of an older one, which processes that use it keep; write the words."""
        try:
            self._manifest.unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
            self._path.touch(exist_ok=False)
        except OSError as error:
            raise OutputError(f"{self._path} cannot be created: {reason(error)}") from error
        with naming(self._folder), atomic_write(self._words, force=True, follow=False) as file:
            file.write(words)

    def _loaded(self, manifest: Manifest) -> EncodedCorpus:
        """Return the ids and the words. Raise OSError if a file cannot be opened or has another size or content."""
        entries = manifest.starts[-1]
        with os.fdopen(open_regular(self._path, os.O_RDONLY), "rb") as file:
            if os.fstat(file.fileno()).st_size != 4 * entries:
                raise OSError(f"{self._path.name} has another size")
            array = np.memmap(file, np.int32, "r", shape=(entries,))
        with os.fdopen(open_regular(self._words, os.O_RDONLY), "rb") as file:
            words = file.read(manifest.words_bytes + 1)
        if len(words) != manifest.words_bytes or zlib.crc32(words) != manifest.words_checksum:
            raise OSError(f"{self._words.name} has another content")
        table = unpacked(words)
        vocabulary = Vocabulary([word.decode() for word in table.words(np.arange(table.types))], table.counts)
        stats = CorpusStats.from_json(manifest.stats)
        return EncodedCorpus(array, vocabulary, stats.token_count - stats.out_of_vocabulary, stats)

    def _is_intact(self, corpus: EncodedCorpus | None, manifest: Manifest) -> bool:
        """Return whether all ranks have the corpus, and its checksums are right. The next rank verifies each."""
        wrong, starts, ranks = np.array([corpus is None], np.int64), manifest.starts, self._comm.size
        with together(self._comm) as gathering:
            if corpus:
                for writer in range((self._comm.rank - 1) % ranks, len(manifest.sizes), ranks):
                    ids = corpus.tokens[starts[writer] : starts[writer + 1]]
                    wrong += _checksum(ids, gathering) != manifest.checksums[writer]
        self._comm.allreduce(wrong)
        return not wrong[0]

    def _saved(self) -> bytes:
        try:
            return self._manifest.read_bytes()
        except OSError:
            return b""


def _valid(data: bytes, identity: str) -> Manifest | None:
    """Return a manifest, or None if it is invalid or describes other ids."""
    try:
        manifest = typed(json_object(data, "the manifest is"), Manifest, "the manifest is damaged")
        stats = CorpusStats.from_json(manifest.stats)
    except (DataError, TypeError):
        return None
    numbers = [*manifest.sizes, *manifest.checksums, *manifest.stats.values()]
    entries = stats.token_count - stats.out_of_vocabulary + stats.sentences
    fits = len(manifest.sizes) == len(manifest.checksums) and 0 < sum(manifest.sizes) == entries
    is_valid = manifest.identity == identity and fits and min(numbers) >= 0 and max(numbers) < MAX_MANIFEST_NUMBER
    return manifest if is_valid else None


def _copy(spool: IO[bytes], file: IO[bytes], size: int, place: int | None, gathering: Gathering) -> int:
    """Copy ids to the current position of `file`, and close the spool. Return their checksum."""
    checksum = 0
    with BufferedReader(spool) as source:  # type: ignore[type-var]  # a raw file may read less than requested
        for first in range(0, size, _PIECE_IDS):
            ids = np.empty(min(size - first, _PIECE_IDS), np.int32)
            if source.readinto(ids.data) != ids.nbytes:
                raise WriteError("the encoded text of this rank is shorter than what it wrote")
            if place is not None:
                make_room(ids, place)
            checksum = zlib.crc32(ids.data, checksum)
            append(file, ids)
            gathering.report()
    return checksum


def _checksum(ids: Int32, gathering: Gathering) -> int:
    checksum = 0
    for first in range(0, ids.size, _PIECE_IDS):
        checksum = zlib.crc32(ids[first : first + _PIECE_IDS].data, checksum)
        gathering.report()
    return checksum


def _sync(file: IO[bytes]) -> None:
    try:
        sync(file.fileno())
    except OSError as error:
        raise WriteError(f"cannot write the word ids of the corpus: {reason(error)}") from error
