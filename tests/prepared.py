"""Change the initial weights of a run."""

from collections.abc import Callable
from typing import Any

from w2vtrain.engines.base import Engine
from w2vtrain.training.memory_and_disk import engine_that_fits


def prepared(change: Callable[[Any], Any]) -> Callable[..., Engine]:
    """Return what `trained` takes as `make`: the usual engine, after `change` was called with it."""

    def make(*parts: Any) -> Engine:
        engine = engine_that_fits(*parts)
        change(engine)
        return engine

    return make
