"""Load keyed vectors from what KeyedVectors.save writes, or from any file of vectors. keyed_file.py has the format."""

from pathlib import Path

from w2vtrain.errors import DataError
from w2vtrain.formats.keyed_file import KIND, Parts, parts
from w2vtrain.formats.safetensors import open_safetensors
from w2vtrain.formats.sniff import sniff
from w2vtrain.formats.vectors import read_vectors


def load_keys(path: str | Path, mmap: str | None = None) -> Parts:
    """Read what `keyed_file.save_keys` wrote, or the words, vectors and counts of any file that `read_vectors` reads.

    mmap: None, or the mode in which vectors are mapped instead of read ("r", "r+" or "c").

    Raise InputMissing if the file cannot be opened, and DataError if it is invalid.
    """
    if sniff(path).kind == "model":  # any safetensors file
        with open_safetensors(path) as box:
            box.check_format()
            if box.metadata.get("kind") == KIND:
                return parts(box, mmap)
    if mmap is not None:
        raise DataError(f"{path}: only files written by KeyedVectors.save can be mapped: leave out mmap")
    vectors = read_vectors(path)
    return vectors.words, vectors.matrix, {} if vectors.counts is None else {"count": vectors.counts}
