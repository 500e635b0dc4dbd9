"""Let one call at a time change a model: a second one, of another thread or a callback, is refused at once.

Nothing waits: no lock is held while a model is trained, so a callback cannot deadlock.
"""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

BUSY = "the model is being trained, or its words are being chosen, by another call: wait until that has ended"
IN_CALLBACK = "the model is being trained by the call that runs this callback: call this method after that has returned"

Method = TypeVar("Method", bound=Callable[..., Any])
_LOCK = threading.Lock()


class Claimable:
    """An object that one call at a time may change.

    is_training: whether `train` is running. _owner: the thread whose call has claimed the object, which may make other
    calls while `is_training` is False, as `build_vocab` does.
    """

    def __init__(self) -> None:
        self.is_training = False
        self._owner: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy has: nobody has claimed it, even if a callback makes it."""
        return {**vars(self), "is_training": False, "_owner": None}


def claiming(method: Method) -> Method:
    """Return a method that claims its object until it ends. It raises RuntimeError if another call has claimed it."""

    @wraps(method)
    def run(self: Claimable, *args: Any, **options: Any) -> Any:
        me = threading.get_ident()
        with _LOCK:
            if self.is_training or self._owner not in (None, me):
                raise RuntimeError(IN_CALLBACK if self._owner == me else BUSY)
            outer, self._owner = self._owner, me
        try:
            return method(self, *args, **options)
        finally:
            self._owner = outer

    return cast(Method, run)
