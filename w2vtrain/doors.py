"""What the core asks of leaves, by name: a leaf is imported when it is used.

A leaf is a folder that imports the core, and without which all else works: readers of tables, several processes,
comparisons and checks, pictures, graphs, documents, gensim's interface, writers for other programs. Only this table,
that of the commands in cli.py and that of the public names in `__init__` name leaves.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

CORPORA = {
    "graph": "w2vtrain.leaves.graphs.arguments",
    "documents": "w2vtrain.leaves.documents.arguments",
}
"""What makes the corpus of `fit` from its files, by the option that asks for it.

Each module has `Arguments`, a dataclass with the fields that `commands.fit_request.FitRequest` gets, of which one has
the name here, and `source_of`, which returns the `training.inputs.Generator` that a request asks for.
"""
LEAVES = {
    **CORPORA,
    "tables": "w2vtrain.leaves.tables.source",
    "frames": "w2vtrain.leaves.tables.frames",
    "tables of vectors": "w2vtrain.leaves.tables.vectors",
    "spacy": "w2vtrain.leaves.export.spacy",
    "model2vec": "w2vtrain.leaves.export.model2vec",
    "tensorboard": "w2vtrain.leaves.export.tensorboard",
    "mpi": "w2vtrain.leaves.mpi.mpi",
    "ranks": "w2vtrain.leaves.mpi.ranks",
    "objective checks": "w2vtrain.leaves.compare.objective_checks",
    "architecture checks": "w2vtrain.leaves.compare.architecture_checks",
    "comparisons": "w2vtrain.leaves.compare.comparison",
    "gensim": "w2vtrain.leaves.gensim.conversion",
}
TABLES = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".arrows", ".jsonl", ".ndjson", ".json", ".csv", ".tsv")
"""Suffixes of files that are tables."""


@cache
def is_there(name: str) -> bool:
    """Return whether this installation has a leaf. Import nothing of it."""
    return find_spec(LEAVES[name].rpartition(".")[0]) is not None


def corpora() -> dict[str, Any]:
    """Return the modules of CORPORA that this installation has."""
    return {name: leaf(name) for name in CORPORA if is_there(name)}


def leaf(name: str) -> Any:
    """Return the module of a leaf."""
    return import_module(LEAVES[name])
