"""Trained vectors in memory, and what can be asked of them: neighbors, analogies, word similarity, whole models.

Nothing here trains or prints.
"""

TYPE_CHECKING = False  # the package imports this module at once, and importing typing takes time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    continue_training: Callable[..., Any]
    """What `Model.continue_training` calls. Training is above this folder, so the package sets it: see __init__.py."""
