"""BLAS threads: dense linear algebra runs on as many threads as were granted; two that wait for each other on busy cores are slower than one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def blas_threads(threads: int) -> Iterator[None]:
    """Within this block, numpy's and scipy's linear algebra use at most so many threads."""
    import scipy.linalg  # noqa: F401 (only libraries that are loaded can be limited)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=threads, user_api="blas"):
        yield
