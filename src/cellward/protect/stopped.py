"""Stopped: Ctrl-C in the middle of a protection, with the best result that there was."""

from __future__ import annotations

from cellward.protection import Protection


class Stopped(KeyboardInterrupt):
    """Raised by ``protect`` after Ctrl-C; ``best`` is the result so far, ``feasible`` where a table was found and ``failed`` where none was."""

    def __init__(self, best: Protection) -> None:
        super().__init__(f"stopped: {best!r}")
        self.best = best
