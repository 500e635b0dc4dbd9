"""Fingerprint a corpus, so that a resumed run can detect that its corpus has changed.

This module does not decide what happens then: fit.py does.
"""

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.errors import CorpusChanged
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.text.source import Source
from w2vtrain.text.vocabulary import Vocabulary


def fingerprint(corpus: Source, ids: EncodedCorpus) -> dict[str, Any]:
    """Return checksums of the token ids and the vocabulary, and the path, size and modification time of each file."""
    files = []
    for file in corpus.files:
        if file.path != "-":
            about = Path(file.path).stat()
            files.append({"path": file.path, "bytes": about.st_size, "modified": about.st_mtime_ns})
    tokens = zlib.crc32(np.asarray(ids.tokens).data)
    return {"tokens": tokens, "vocabulary": vocabulary_checksum(ids.vocabulary), "files": files}


def vocabulary_checksum(vocabulary: Vocabulary) -> int:
    """Return the CRC-32 of the words and counts in their order."""
    words = "\n".join(vocabulary.words).encode("utf-8", "surrogatepass")
    return zlib.crc32(words, zlib.crc32(vocabulary.counts.tobytes()))


def check_fingerprint(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise CorpusChanged if tokens, vocabulary or initial model differ from `before`; name what has changed."""
    if (start := now.get("init_from")) and start["sha256"] != before.get("init_from", {}).get("sha256"):
        raise CorpusChanged(f"{start['name']}, which the run started from, changed since the run began")
    if all(before.get(key) == now[key] for key in ("tokens", "vocabulary")):
        return
    old = {file["path"]: file for file in before.get("files", [])}
    new = {file["path"]: file for file in now["files"]}
    changed = []
    for path in [*new, *(path for path in old if path not in new)]:
        if path not in old or path not in new:
            changed.append(f"{path} is {'missing' if path in old else 'new'}")
        elif old[path]["bytes"] != new[path]["bytes"]:
            changed.append(f"{path} had {old[path]['bytes']:,} bytes, now has {new[path]['bytes']:,}")
        elif old[path]["modified"] != new[path]["modified"]:
            changed.append(f"{path} was modified")
    raise CorpusChanged(
        f"the corpus changed since the run began: {'; '.join(changed) or 'different words in the same files'}"
    )
