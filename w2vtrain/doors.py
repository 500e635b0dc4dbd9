"""What the core asks of leaves, by name: a leaf is imported when it is used.

A leaf is a folder that imports the core, and without which all else works: readers of tables, several processes,
comparisons and checks, pictures, graphs, gensim's interface, writers for other programs. Only this table, that of the
commands in cli.py and that of the public names in `__init__` name leaves.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from w2vtrain.errors import ConfigError

LEAVES = {
    "tables": "w2vtrain.tables.source",
    "frames": "w2vtrain.tables.frames",
    "tables of vectors": "w2vtrain.tables.vectors",
    "spacy": "w2vtrain.export.spacy",
    "model2vec": "w2vtrain.export.model2vec",
    "tensorboard": "w2vtrain.export.tensorboard",
    "mpi": "w2vtrain.distributed.mpi",
    "ranks": "w2vtrain.distributed.ranks",
    "objective checks": "w2vtrain.evaluation.objective_checks",
    "architecture checks": "w2vtrain.evaluation.architecture_checks",
    "comparisons": "w2vtrain.evaluation.comparison",
    "graphs": "w2vtrain.graphs.walks",
    "gensim": "w2vtrain.compat.conversion",
}
TABLES = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".arrows", ".jsonl", ".ndjson", ".json", ".csv", ".tsv")
"""Suffixes of files that are tables."""


def is_there(name: str) -> bool:
    """Return whether this installation has a leaf. Import nothing of it."""
    return find_spec(LEAVES[name].rpartition(".")[0]) is not None


def leaf(name: str) -> Any:
    """Return the module of a leaf. Raise ConfigError if this installation does not have it."""
    try:
        return import_module(LEAVES[name])
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("w2vtrain."):
            raise ConfigError(f"{name}: this installation has no {error.name}: install the whole package") from error
        raise
