"""Interrupt: Ctrl-C as a wish to stop a search, which then gives the best it has; a second one is heard as it would be without us."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from cellward.solve.budget import Budget


@contextlib.contextmanager
def heeding_interrupt(search: Budget) -> Iterator[None]:
    """While in here, the first Ctrl-C stops this budget; only the main thread hears it, and not where it is ignored."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield
        return

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        search.stop()

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
