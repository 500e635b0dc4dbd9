"""Words and their counts as bytes: in messages between ranks, and in files that keep what was counted.

Nothing here reads text. A file is believed only if its owner, identity, checksum and contents are right.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import NamedTuple

import numpy as np

from w2vtrain.distributed.parts import Part
from w2vtrain.errors import DataError
from w2vtrain.system.files import atomic_write
from w2vtrain.system.json_text import json_text, record
from w2vtrain.system.trust import Trusted, read_trusted
from w2vtrain.text import word_table
from w2vtrain.text.counting import CorpusStats
from w2vtrain.text.word_table import Int64, Table

_COUNT = np.dtype("<i8")


class PartCounts(NamedTuple):
    """What is known of a part once it was counted. words: in UTF-8, joined by newlines; counts (n,) int64."""

    words: bytes
    counts: Int64
    stats: CorpusStats

    @property
    def table(self) -> Table:
        """The words and counts, as the source of `word_table.merge`."""
        return _listed(self.words, self.counts)


def packed(words: Sequence[bytes], counts: Int64) -> bytes:
    """Return n words without white space and their counts as bytes: n, the counts, and the words."""
    return _packed(b"\n".join(words), counts)


def unpacked(data: bytes) -> Table:
    """Return the words and counts in what `packed` returned, as the source of `word_table.merge`."""
    return _listed(*_parted(data))


def write(folder: Path, number: int, part: Part, found: PartCounts) -> None:
    """Save the counts of a part. Raise OutputError or WriteError if that fails."""
    head = json_text({"identity": part.identity, "stats": asdict(found.stats)}).encode()
    data = head + b"\n" + _packed(found.words, found.counts)
    with atomic_write(_path(folder, number), force=True, size=len(data) + 4, follow=False) as file:
        file.write(data)
        file.write(zlib.crc32(data).to_bytes(4, "little"))


def saved(folder: Path, number: int, part: Part, trusted: Trusted) -> PartCounts | None:
    """Return the counts of a part from its file. Return None if there is no valid file for this part.

    No more is read than the counts of a text of the part's size can take; a compressed text with more is counted again.
    """
    try:
        data = read_trusted(_path(folder, number), (1 << 20) + 8 * part.size, trusted)
        if zlib.crc32(data[:-4]).to_bytes(4, "little") != data[-4:]:
            return None
        head, _, rest = data[:-4].partition(b"\n")
        about = json.loads(head)
        if about["identity"] != part.identity:
            return None
        words, counts = _parted(rest)
        found = PartCounts(words, counts, record(about["stats"], CorpusStats, "stats"))
        return found if _is_valid(found) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, DataError):
        return None


def _path(folder: Path, number: int) -> Path:
    return folder / f"counts-{number:05}"


def _packed(words: bytes, counts: Int64) -> bytes:
    return b"".join([counts.size.to_bytes(8, "little"), counts.astype(_COUNT).tobytes(), words])


def _parted(data: bytes) -> tuple[bytes, Int64]:
    """Return the words and counts. Raise ValueError if the data are too short."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 * (size + 1):
        raise ValueError("cut off")
    counts = np.frombuffer(data, _COUNT, size, 8).astype(np.int64)
    return data[8 * (size + 1) :], counts


def _listed(words: bytes, counts: Int64) -> Table:
    return word_table.listed(words.split(b"\n") if words else [], counts)


def _is_valid(found: PartCounts) -> bool:
    """Return whether the words have no white space and are as many as the counts, which add up.

    Raise ValueError if they are not UTF-8.
    """
    words = found.words.split()
    together = b"\n".join(words)
    together.decode()
    counts = found.counts
    return (
        together == found.words
        and len(words) == counts.size == found.stats.types
        and bool(np.all(counts > 0))
        and int(counts.sum()) == found.stats.tokens
        and min(astuple(found.stats)) >= 0
    )
