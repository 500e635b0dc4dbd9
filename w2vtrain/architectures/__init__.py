"""Find the architectures, which make hidden vectors of context words: every module of this folder is one.

No architecture is named here, and none knows an objective. contract.py states what each must have; a module has
`ARCHITECTURE`, the class.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from w2vtrain.architectures.contract import Layout, verify, verify_built
from w2vtrain.registry import Registry, built

REGISTRY = Registry(__name__, "architecture", ("ARCHITECTURE",), verify)
allow_code, require_allowed = REGISTRY.allow_code, REGISTRY.require_allowed


def architectures() -> dict[str, Any]:
    """Name -> class, of every architecture there is: all are imported."""
    return {name: module.ARCHITECTURE for name, module in REGISTRY.modules().items()}


def architecture_class(name: str) -> Any:
    """Return the class of an architecture; ConfigError if there is none of that name."""
    return REGISTRY.module(name).ARCHITECTURE


def build(name: str, layout: Layout, arrays: Mapping[str, np.ndarray]) -> Any:
    """Return an architecture for a layout, with a trained model's arrays by name, or with none.

    ConfigError if `build` of the class returns something that does not keep the contract.
    """
    what = f"architecture {name}"
    made = built(architecture_class(name), what, layout, arrays)
    verify_built(made, len(layout.words), what)
    return made
