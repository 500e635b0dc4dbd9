"""The BLAS under NumPy and SciPy: which kernels it takes, and one thread a worker. No product is computed here."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEEDED = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


def choose_kernels(environment: os._Environ[str] = os.environ, cpuinfo: str = "/proc/cpuinfo") -> None:
    """Let OpenBLAS use AVX-512 wherever the processor has it; call before NumPy is imported.

    OpenBLAS goes by processor models, and on those that it does not know, recent AMD ones, it takes kernels of half
    the width: 100 in place of 155 GFLOP/s for the full softmax's products.
    """
    try:
        flags = next(line for line in Path(cpuinfo).read_text().splitlines() if line.startswith("flags"))
    except (OSError, StopIteration):
        return
    if set(flags.split()) >= NEEDED:
        environment.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")


@contextmanager
def one_thread() -> Iterator[None]:
    """Products run in the thread that asks for them: the trainer has its own threads."""
    import scipy.linalg.cython_blas  # noqa: F401  # limits reach only what is loaded
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
