"""The memory that Python and NumPy allocate while a test computes."""

import tracemalloc
from contextlib import contextmanager
from types import SimpleNamespace


@contextmanager
def traced():
    """Yield an object whose attribute `peak` is, after the block, the most bytes that were allocated in it at once."""
    found = SimpleNamespace(peak=None)
    tracemalloc.start()
    try:
        yield found
        found.peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
