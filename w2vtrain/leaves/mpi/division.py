"""Divide a corpus into stretches of about equal size, one for each rank, and agree on them.

Nothing here looks at words. No sentence crosses the end of a stretch.
"""

import json
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from w2vtrain import __version__
from w2vtrain.errors import DataError, InputMissing, reason
from w2vtrain.leaves.mpi.agreement import Gathering, together
from w2vtrain.leaves.mpi.communicator import Communicator, broadcast_bytes
from w2vtrain.system.json_text import json_digest, json_text, typed
from w2vtrain.text.source import File
from w2vtrain.text.text_files import Corpus, line_ends

Ends = Callable[[File, Sequence[int]], set[int]]

BLOCK_BYTES, MAX_BLOCKS = 1 << 20, 64
"""Size in bytes and maximum number of the blocks, at equal distances in the corpus, that all ranks compare: the whole
of a corpus of up to 64 MiB."""


class Division(NamedTuple):
    """A corpus, divided among the ranks.

    mine: the files and ranges of files of this rank, one after the other in the corpus; identity: a digest of
    everything that the words of the whole corpus depend on: the paths, sizes and modification times of the files, the
    tokenizer and the version of the program.
    """

    mine: list[File]
    identity: str


@dataclass(frozen=True)
class Proposal:
    """How rank 0 reads the corpus, and how it divides it.

    options: all that the words depend on besides the files; files: paths and sizes, in order; identity: see Division;
    stretches: of each rank; samples: digests of blocks, by path.
    """

    options: list[Any]
    files: list[tuple[str, int | None]]
    identity: str
    stretches: list[list[File]]
    samples: dict[str, str]


def divided(comm: Communicator, corpus: Corpus) -> Division:
    """Divide a corpus into one stretch of about equal size for each rank. The ranks agree: rank 0 divides.

    A stretch ends after a newline or at the end of a file. A compressed file is never divided: it belongs to the
    stretch in which it begins.

    Raise InputMissing or DataError if a rank sees other files than rank 0, other sizes, or other bytes in the blocks
    that are compared.
    """
    sent = b""
    with together(comm) as gathering:
        samples = _samples(corpus.files, gathering)
        if comm.rank == 0:
            sent = json_text(asdict(_proposal(corpus, comm.size, samples))).encode()
    proposal = typed(json.loads(broadcast_bytes(comm, sent)), Proposal, "rank 0 divides the corpus in another way")
    with together(comm):
        _compare(corpus, proposal, samples, comm.rank)
    own = {file.path: file.listed for file in corpus.files}  # copies of a file have other times on other hosts
    mine = [replace(file, listed=own[file.path]) for file in proposal.stretches[comm.rank]]
    return Division(mine, proposal.identity)


def stretched(files: Sequence[File], ranks: int, ends: Ends = line_ends) -> list[list[File]]:
    """Divide files, laid end to end, into stretches of equal size, to which the rest of a line is added.

    ends: returns where a file may be divided, at or after some places.
    """
    sizes = [file.size or 0 for file in files]
    bounds = [sum(sizes) * k // ranks for k in range(1, ranks)]
    stretches: list[list[File]] = [[] for _ in range(ranks)]
    for file, size, end in zip(files, sizes, accumulate(sizes), strict=True):
        before = end - size
        places = [bound - before for bound in bounds if before < bound < end]
        for piece in _cut(file, ends(file, places) if places else set()):
            stretches[bisect_right(bounds, before + piece.first)].append(piece)
    return stretches


def _cut(file: File, ends: set[int]) -> list[File]:
    """Divide a file at places, in bytes."""
    whole = file.size or 0
    bounds = sorted({0, whole, *ends}) if whole else [0, 0]
    return [
        replace(file, size=end - first, first=first, last=end == whole, listed=None) for first, end in pairwise(bounds)
    ]


def _samples(files: Sequence[File], gathering: Gathering) -> dict[str, str]:
    """Return a digest of the blocks to compare in each file that has any, by its path. A block may span files."""
    sizes = [file.size or 0 for file in files]
    step = max(BLOCK_BYTES, -(-sum(sizes) // MAX_BLOCKS))
    digests = {}
    for file, size, end in zip(files, sizes, accumulate(sizes), strict=True):
        before = end - size
        first = ((before - BLOCK_BYTES) // step + 1) * step  # of the first block that ends after `before`
        blocks = [(max(at, before) - before, min(at + BLOCK_BYTES, end) - before) for at in range(first, end, step)]
        if blocks:
            digests[file.path] = _digest(file.path, blocks, gathering)
    return digests


def _digest(path: str, blocks: Sequence[tuple[int, int]], gathering: Gathering) -> str:
    """Return a digest of some ranges of a file, each [first, end)."""
    digest = sha256()
    try:
        with Path(path).open("rb") as stream:
            for first, end in blocks:
                stream.seek(first)
                digest.update(stream.read(end - first))
                gathering.report()
    except OSError as error:
        raise InputMissing(f"{path}: cannot be read: {reason(error)}") from error
    return digest.hexdigest()


def _options(corpus: Corpus) -> list[Any]:
    phrases = corpus.phrases and corpus.phrases.digest
    options = [corpus.tokenizer, corpus.errors, corpus.allow_nul, corpus.column, phrases]
    return [__version__, unicodedata.unidata_version, *options]


def _proposal(corpus: Corpus, ranks: int, samples: dict[str, str]) -> Proposal:
    """Divide the corpus for all ranks. samples: of this rank."""
    options, files = _options(corpus), []
    try:
        for file in corpus.files:
            state = Path(file.path).stat()
            files.append([str(Path(file.path).absolute()), state.st_size, state.st_mtime_ns, *astuple(file)[1:]])
    except OSError as error:
        raise InputMissing(f"{error.filename}: cannot be read: {reason(error)}") from error
    stretches = stretched(corpus.files, ranks, corpus.ends)
    return Proposal(options, _listed(corpus), json_digest([options, files]), stretches, samples)


def _listed(corpus: Corpus) -> list[tuple[str, int | None]]:
    return [(file.path, file.size) for file in corpus.files]


def _compare(corpus: Corpus, proposal: Proposal, samples: dict[str, str], rank: int) -> None:
    """Raise an error if rank 0 sees other files, or reads them in another way. samples: by this rank."""
    if proposal.options != _options(corpus):
        raise DataError(
            f"rank {rank} reads text as {_options(corpus)}, and rank 0 as {proposal.options} (version, version of"
            " Unicode, tokenizer, encoding errors, NUL, column, phrases): start all ranks with the same program and"
            " settings"
        )
    mine = {file.path: file.size for file in corpus.files}
    theirs = dict(proposal.files)
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
    if _listed(corpus) != proposal.files:
        raise DataError(f"rank {rank} sees the files of the corpus in another order than rank 0: name each file")
    for path, digest in samples.items():
        if digest != proposal.samples[path]:
            raise DataError(
                f"{path} has other bytes on rank {rank} than on rank 0: all ranks must read the same files, which must"
                " not change during training"
            )
