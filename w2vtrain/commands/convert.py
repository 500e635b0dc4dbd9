"""The command `convert`: write vectors in another format, unchanged or changed.

The changes are computed in formats/transforms.py. Nothing is trained.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from w2vtrain.commands.inputs import check_different, readable
from w2vtrain.commands.request import Export
from w2vtrain.embeddings.model import load_model
from w2vtrain.errors import DataError, ResourceError
from w2vtrain.formats.model_file import MODEL, choose_vectors
from w2vtrain.formats.sniff import sniff
from w2vtrain.formats.transforms import exported, transform
from w2vtrain.formats.vectors import format_of, read_vectors, write_vectors
from w2vtrain.system.files import check_writable
from w2vtrain.system.terminal import echo

EXPORTED = {
    "in": "input vectors",
    "out": "output vectors",
    "in+out": "sums of input and output vectors",
    "blend": "blends of input and output vectors",
}


@dataclass(frozen=True)
class Conversion:
    """The arguments of a `convert` command. restrict_vocab: 0 takes all words; the others: see `transforms`."""

    vectors: str
    output: str
    format_: str | None
    export: Export
    restrict_vocab: int
    center: bool
    remove_top: int
    normalize: bool
    force: bool


def convert(asked: Conversion) -> None:
    """Read vectors, change them, write them, and report what was written."""
    format_of(asked.output, asked.format_)
    check_different([asked.output], [asked.vectors])
    check_writable(asked.output, asked.force)
    with readable(asked.vectors) as path:
        try:
            words, matrix, kinds = read(path, asked.export, asked.restrict_vocab or None)
            transform(matrix, path, asked.center, asked.remove_top, asked.normalize)
        except MemoryError as error:
            raise ResourceError(
                f"{path}: not enough memory to convert its vectors; --restrict-vocab N converts the first N"
            ) from error
    write_vectors(asked.output, words, matrix, asked.format_, asked.force)
    facts = [f"{len(words):,} vectors of {matrix.shape[1]:,} dimensions", *kinds, *changes(asked)]
    echo(f"{asked.output}: {', '.join(facts)}", err=True)


def read(path: str, which: Export, limit: int | None) -> tuple[list[str], NDArray[np.float32], list[str]]:
    """Return the first `limit` words of a file, the requested vectors, and what these are if a model has several.

    Raise DataError if the file does not have these vectors, and the errors of `read_vectors` and `load_model`.
    """
    if sniff(path).kind != MODEL.name:
        if which != "auto":
            raise DataError(f"{path}: --export {which} needs a model, as `fit --save-model` writes it")
        loaded = read_vectors(path, limit=limit)
        return loaded.words, loaded.matrix, []
    model = load_model(path)
    kind, share = choose_vectors(model.record, which)
    vectors = exported(model.input, model.output, kind, share, path)
    return model.words[:limit], vectors[:limit], [EXPORTED[kind]]


def changes(asked: Conversion) -> list[str]:
    """Return descriptions of how the vectors were changed."""
    components = f"without {asked.remove_top} principal component{'s' * (asked.remove_top != 1)}"
    return [
        *["centered"] * (asked.center or asked.remove_top > 0),
        *[components] * (asked.remove_top > 0),
        *["of unit length"] * asked.normalize,
    ]
