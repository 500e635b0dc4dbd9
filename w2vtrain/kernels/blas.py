"""A limit of one BLAS thread per worker, for NumPy and SciPy. This module computes no products."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Run matrix products in the calling thread inside this context, because the trainer has its own threads."""
    import scipy.linalg.cython_blas  # noqa: F401  # the limit applies only to libraries that are already loaded
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
