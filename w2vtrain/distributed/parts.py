"""Divide a corpus into parts of about equal size, which the ranks count and encode, and agree on them.

Nothing here looks at words. A part ends after a newline or at the end of a file, so no sentence crosses its end.
"""

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

from w2vtrain import __version__
from w2vtrain.distributed.agreement import Phase, share, together
from w2vtrain.distributed.communicator import Communicator
from w2vtrain.errors import DataError, InputMissing, UsageError, reason
from w2vtrain.system.compression import HEAD, recognize
from w2vtrain.system.json_text import json_digest, json_text
from w2vtrain.text.source import File
from w2vtrain.text.text_files import Corpus

PART = 1 << 26
"""Default size of a part in bytes on disk."""
BLOCK, BLOCKS = 1 << 20, 64
"""Size in bytes and maximum number of the blocks, at equal distances in the corpus, that all ranks compare: the whole
of a corpus of up to 64 MiB."""
_READ = 1 << 16  # bytes read at a time in search of a newline


@dataclass(frozen=True)
class Part:
    """Files or ranges of files that one rank counts.

    identity: a digest of everything that its words and counts depend on: the paths, sizes and modification times of the
    files, the ranges, the tokenizer and the version of the program.
    """

    files: tuple[File, ...]
    identity: str

    @property
    def size(self) -> int:
        """The number of bytes on disk."""
        return sum(file.size or 0 for file in self.files)


def agreed_parts(team: Communicator, corpus: Corpus, size: int) -> list[Part]:
    """Return the parts of a corpus, the same on all ranks: those that rank 0 found.

    size: the size of a part in bytes, to which the rest of a line is added. A compressed file is never divided; small
    files share a part.

    Raise UsageError for standard input and pipes, which several processes cannot read; InputMissing or DataError if a
    rank sees other files than rank 0, other sizes, or other bytes in the blocks that are compared.
    """
    found = b""
    with together(team) as phase:
        _require_files(corpus)
        samples = _samples(corpus.files, phase)
        if team.rank == 0:
            parts = _packed([piece for file in corpus.files for piece in ranges(file, size)], size)
            found = json_text(_description(corpus, parts) | {"samples": samples}).encode()
    plan = json.loads(share(team, found))
    with together(team):
        _compare(corpus, plan, samples, team.rank)
    return [Part(tuple(File(*file) for file in part["files"]), part["identity"]) for part in plan["parts"]]


def ranges(file: File, size: int) -> list[File]:
    """Divide an uncompressed file after the first newline at or after each multiple of `size` bytes, and at its end."""
    whole = file.size or 0
    try:
        ends = _ends(file.path, whole, size) if whole > size else [whole]
    except OSError as error:
        raise InputMissing(f"{file.path}: cannot be read: {reason(error)}") from error
    starts = [0, *ends[:-1]]
    return [File(file.path, end - first, first, end == whole) for first, end in zip(starts, ends, strict=True)]


def _ends(path: str, whole: int, size: int) -> list[int]:
    ends: list[int] = []
    at = size
    with Path(path).open("rb", buffering=0) as stream:
        if recognize(stream.read(HEAD)):
            return [whole]
        while at < whole:
            end = whole
            stream.seek(at)
            while at < whole and (data := stream.read(min(_READ, whole - at))):
                if (place := data.find(b"\n")) >= 0:
                    end = at + place + 1
                    break
                at += len(data)
            if end == whole:
                break
            ends.append(end)
            at = -(-end // size) * size
    return [*ends, whole]


def _samples(files: Sequence[File], phase: Phase) -> dict[str, str]:
    """Return a digest of the blocks to compare in each file that has any, by its path. A block may span files."""
    sizes = [file.size or 0 for file in files]
    step = max(BLOCK, -(-sum(sizes) // BLOCKS))
    found = {}
    for file, size, end in zip(files, sizes, accumulate(sizes), strict=True):
        before = end - size
        first = ((before - BLOCK) // step + 1) * step  # of the first block that ends after `before`
        blocks = [(max(at, before) - before, min(at + BLOCK, end) - before) for at in range(first, end, step)]
        if blocks:
            found[file.path] = _digest(file.path, blocks, phase)
    return found


def _digest(path: str, blocks: Sequence[tuple[int, int]], phase: Phase) -> str:
    """Return a digest of some ranges of a file, each [first, end)."""
    digest = sha256()
    try:
        with Path(path).open("rb") as stream:
            for first, end in blocks:
                stream.seek(first)
                digest.update(stream.read(end - first))
                phase.report()
    except OSError as error:
        raise InputMissing(f"{path}: cannot be read: {reason(error)}") from error
    return digest.hexdigest()


def _packed(pieces: Sequence[File], size: int) -> list[list[File]]:
    """Join neighbors as long as they have at most `size` bytes together."""
    parts: list[list[File]] = []
    room = 0
    for piece in pieces:
        bytes_on_disk = piece.size or 0
        if not parts or bytes_on_disk > room:
            parts.append([])
            room = size
        parts[-1].append(piece)
        room -= bytes_on_disk
    return parts


def _require_files(corpus: Corpus) -> None:
    for file in corpus.files:
        if file.size is None:
            name = "standard input" if file.path == "-" else file.path
            raise UsageError(
                f"{name} is not a regular file, so several processes cannot read it: save the text in a file on storage"
                " that all hosts share"
            )


def _options(corpus: Corpus) -> list[Any]:
    return [__version__, unicodedata.unidata_version, corpus.tokenizer, corpus.errors, corpus.allow_nul]


def _description(corpus: Corpus, parts: list[list[File]]) -> dict[str, Any]:
    """Describe the corpus and its parts for the other ranks."""
    try:
        states = {file.path: Path(file.path).stat() for file in corpus.files}
    except OSError as error:
        raise InputMissing(f"{error.filename}: cannot be read: {reason(error)}") from error
    options = _options(corpus)

    def identity(part: list[File]) -> str:
        files = [
            [str(Path(file.path).absolute()), states[file.path].st_size, states[file.path].st_mtime_ns, *_range(file)]
            for file in part
        ]
        return json_digest([options, files])

    return {
        "options": options,
        "files": [[file.path, file.size] for file in corpus.files],
        "parts": [
            {"files": [[file.path, *_range(file)] for file in part], "identity": identity(part)} for part in parts
        ],
    }


def _range(file: File) -> list[Any]:
    return [file.size, file.first, file.last]


def _compare(corpus: Corpus, plan: dict[str, Any], samples: dict[str, str], rank: int) -> None:
    """Raise an error if rank 0 sees other files, or reads them in another way. samples: by this rank."""
    if plan["options"] != _options(corpus):
        raise DataError(
            f"rank {rank} reads text as {_options(corpus)}, and rank 0 as {plan['options']} (version, version of"
            " Unicode, tokenizer, encoding errors, NUL): start all ranks with the same program and settings"
        )
    mine = {file.path: file.size for file in corpus.files}
    theirs = dict(map(tuple, plan["files"]))
    for path in theirs:
        if path not in mine:
            raise InputMissing(
                f"{path} is missing, and rank 0 reads it: put the corpus on storage that all hosts share"
            )
    for path, size in mine.items():
        if theirs.get(path) != size:
            other = f"rank 0 sees {theirs[path]:,}" if path in theirs else "rank 0 does not see it"
            raise DataError(
                f"{path} has {size:,} bytes on rank {rank}, and {other}: all ranks must read the same files, which must"
                " not change during training"
            )
    if [[file.path, file.size] for file in corpus.files] != plan["files"]:
        raise DataError(f"rank {rank} sees the files of the corpus in another order than rank 0: name each file")
    for path, digest in samples.items():
        if digest != plan["samples"][path]:
            raise DataError(
                f"{path} has other bytes on rank {rank} than on rank 0: all ranks must read the same files, which must"
                " not change during training"
            )
