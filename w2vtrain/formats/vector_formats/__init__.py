"""Find the formats of word vectors: every module of this folder is one, but contract.py and those with an underscore.

To add a format, add a module with a `FORMAT` (see contract.py): suffixes, `--format`, `sniff`, `read_vectors` and
`write_vectors` find it here. Models are missing, since vectors alone do not make one: model.py reads theirs.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line asks for names alone and starts without NumPy
    from w2vtrain.formats.vector_formats.contract import VectorFormat

DEFAULT = "text"
"""The format for standard output if none is named."""


def names() -> list[str]:
    """Return the formats' names, DEFAULT first, without importing their modules."""
    found = {module.name for module in iter_modules(__path__) if not module.name.startswith("_")} - {"contract"}
    return sorted(found, key=lambda name: (name != DEFAULT, name))


def formats() -> "dict[str, VectorFormat]":
    """Return all formats by name, DEFAULT first."""
    return {name: import_module(f"{__name__}.{name}").FORMAT for name in names()}
