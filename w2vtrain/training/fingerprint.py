"""What a run has read, for its checkpoints: a resumed run detects that any of it has changed since.

Nothing here decides what happens then: trainer.py does.
"""

import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from w2vtrain import architectures, objectives
from w2vtrain.config import Settings
from w2vtrain.engines.chunks import Chunks
from w2vtrain.errors import CorpusChanged
from w2vtrain.registry import member_name
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.text.source import Source
from w2vtrain.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class FileRead:
    """A file of the corpus: its size, and the time of its last change in nanoseconds."""

    path: str
    bytes: int
    modified: int


@dataclass(frozen=True)
class Origin:
    """What a run started from: the name of a model, and the SHA-256 of its words and weights.

    kept: the number of its words that are not trained and are written nevertheless, see `WarmStart.with_others`.
    """

    name: str
    sha256: str
    kept: int = 0

    def check(self, before: "Origin | None") -> None:
        """Raise CorpusChanged if the run started from something else `before`."""
        if before is None or before.sha256 != self.sha256:
            raise CorpusChanged(f"{self.name}, which the run started from, changed since the run began")


@dataclass(frozen=True)
class Fingerprint:
    """Checksums of the token ids and of the vocabulary, the files that were read, and what the run started from.

    others: checksums of the other inputs, by name: see `other_inputs`.
    """

    tokens: int
    vocabulary: int
    files: list[FileRead]
    init_from: Origin | None = None
    others: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, corpus: Source, ids: EncodedCorpus, init_from: Origin | None, others: dict[str, int]
    ) -> "Fingerprint":  # fmt: skip
        """Return the fingerprint of a corpus. The table of phrases is one of its files."""
        files, phrases = [], [corpus.phrases.name] if corpus.phrases else []
        for path in [*(file.path for file in corpus.files), *phrases]:
            if path == "-":
                continue
            with suppress(OSError):  # it may have been deleted since it was read
                status = Path(path).stat()
                files.append(FileRead(path, status.st_size, status.st_mtime_ns))
        return cls(ids.checksum(), vocabulary_checksum(ids.vocabulary), files, init_from, others)

    def check(self, before: "Fingerprint") -> None:
        """Raise CorpusChanged if what a run has read differs from `before`; name what has changed."""
        if self.init_from:
            self.init_from.check(before.init_from)
        if (self.tokens, self.vocabulary) != (before.tokens, before.vocabulary):
            words = "different words in the same files, or another vocabulary"
            changed = "; ".join(_changes(before.files, self.files)) or words
            raise CorpusChanged(f"the corpus changed since the run began: {changed}")
        for name, checksum in self.others.items():  # last: the vocabulary decides the ids of the held-out text
            if before.others.get(name, checksum) != checksum:  # a new file may have the name of an option's value
                raise CorpusChanged(f"{name} changed since the run began")


def _changes(before: list[FileRead], now: list[FileRead]) -> list[str]:
    """Return what happened to each file that is missing, new or changed."""
    old, new = ({file.path: file for file in files} for files in (before, now))
    changed = []
    for path in [*new, *(path for path in old if path not in new)]:
        if path not in old or path not in new:
            changed.append(f"{path} is {'missing' if path in old else 'new'}")
        elif old[path].bytes != new[path].bytes:
            changed.append(f"{path} had {old[path].bytes:,} bytes, now has {new[path].bytes:,}")
        elif old[path].modified != new[path].modified:
            changed.append(f"{path} was modified")
    return changed


def other_inputs(settings: Settings, heldout: Chunks | None) -> dict[str, int]:
    """Return the CRC-32 of the held-out text, of files that options of the objective name, and of the user's code.

    The code of an objective or architecture has the name of its setting, which may be a file, a module or an entry
    point: see `Registry.sources` for its files.
    """
    defaults = objectives.option_defaults(settings.objective)  # none is a file, but a file may have its name
    options = [name for key, name in settings.options.items() if isinstance(name, str) and name != defaults.get(key)]
    files = {name: [Path(name)] for name in options if "\0" not in name and Path(name).is_file()}
    for name, paths in (
        (settings.objective, objectives.sources(settings.objective)),
        (settings.architecture, architectures.sources(settings.architecture)),
    ):
        name = member_name(name)  # code may move
        files[name] = [*files.get(name, []), *(path for path in paths if path.is_file())]  # it may be in an archive
    found = {name: _checksum(paths) for name, paths in files.items() if paths}
    return found if heldout is None else {"the held-out text": zlib.crc32(np.asarray(heldout.tokens).data), **found}


def _checksum(paths: list[Path]) -> int:
    """Return the CRC-32 of the contents of files, one after another."""
    checksum = 0
    for path in paths:
        checksum = zlib.crc32(path.read_bytes(), checksum)
    return checksum


def vocabulary_checksum(vocabulary: Vocabulary) -> int:
    """Return the CRC-32 of the words and counts in their order."""
    words = "\n".join(vocabulary.words).encode("utf-8", "surrogatepass")
    return zlib.crc32(words, zlib.crc32(vocabulary.counts.tobytes()))
