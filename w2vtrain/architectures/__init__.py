"""Look up architectures, which turn context words into hidden vectors, by name.

Nothing here depends on a particular architecture or on an objective. Every module of this folder except contract.py
is an architecture: it defines a class and assigns it to `ARCHITECTURE`. contract.py specifies that class.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from w2vtrain.architectures.contract import Layout, verify, verify_built
from w2vtrain.registry import Registry, built

REGISTRY = Registry(__name__, "architecture", ("ARCHITECTURE",), verify)
allow_code, require_allowed, sources = REGISTRY.allow_code, REGISTRY.require_allowed, REGISTRY.sources


def architectures() -> dict[str, Any]:
    """Import every registered architecture, and return their classes by name."""
    return {name: module.ARCHITECTURE for name, module in REGISTRY.modules().items()}


def architecture_class(name: str) -> Any:
    """Return the class of an architecture. Raise ConfigError if the name is unknown or the module is invalid."""
    return REGISTRY.module(name).ARCHITECTURE


def build(name: str, layout: Layout, arrays: Mapping[str, np.ndarray]) -> Any:
    """Return an architecture, built for a layout.

    arrays: the arrays of a trained model by name, or an empty mapping for a new model. Raise ConfigError if the
    class's `build` fails or returns something that does not satisfy the contract.
    """
    subject = f"architecture {name}"
    architecture = built(architecture_class(name), subject, layout, arrays)
    verify_built(architecture, len(layout.words), subject)
    return architecture
