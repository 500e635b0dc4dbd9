"""Registry of vector formats: every module in this folder is one, except contract.py and names with an underscore.

To add a format, add a module with a `FORMAT` (see contract.py). The choice by suffix, `--format`, `sniff`,
`read_vectors` and `write_vectors` find it here. Models are not among the formats, because vectors alone do not make a
model; model_file.py reads their vectors.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line needs only the names, and starts without NumPy
    from w2vtrain.formats.vector_formats.contract import VectorFormat

DEFAULT = "text"
"""The format that is written to standard output if none is named."""


MODELS = {"fasttext": (), "model": (".safetensors",)}
"""Formats of models, which vectors alone do not make, and their suffixes: embeddings.model writes them."""


DTYPES = ("float32", "float16", "int8")
"""The dtypes in which values are written; each format has some of them."""


def names() -> list[str]:
    """Return the names of all formats, DEFAULT first, without importing their modules."""
    return list(_names(tuple(__path__)))


@cache
def _names(folders: tuple[str, ...]) -> list[str]:
    modules = {module.name for module in iter_modules(folders) if not module.name.startswith("_")} - {"contract"}
    return sorted(modules, key=lambda name: (name != DEFAULT, name))


def formats() -> "dict[str, VectorFormat]":
    """Return all formats by name, DEFAULT first."""
    return {name: import_module(f"{__name__}.{name}").FORMAT for name in names()}
