"""The BLAS under NumPy and SciPy: one thread a worker. No product is computed here."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Products run in the thread that asks for them: the trainer has its own threads."""
    import scipy.linalg.cython_blas  # noqa: F401  # limits reach only what is loaded
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
