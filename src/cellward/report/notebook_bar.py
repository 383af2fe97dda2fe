"""Notebook bar: how far a protection is, drawn in a notebook while it runs."""

from __future__ import annotations

import importlib
from html import escape
from time import perf_counter
from typing import Any

from cellward.errors import InputError
from cellward.solve.watch import Standing

DRAWN_S = 0.2


class NotebookBar:
    """Given as ``progress=``: phase, best objective, bound, gap and time, drawn anew at every phase and five times a second at most.

    ``time_limit_s``: that of the protection, for the time that is left. Needs IPython, which every notebook has.
    """

    def __init__(self, time_limit_s: float | None = None) -> None:
        try:
            self._display = importlib.import_module("IPython.display")
        except ImportError:
            raise InputError(
                "IPython is not installed, and this is no notebook; give progress= a function of a Standing, or leave it out"
            ) from None
        self.time_limit_s = time_limit_s
        self._handle: Any = None
        self._phase, self._drawn = "", 0.0

    def __call__(self, standing: Standing) -> None:
        """Draw it, where it is time."""
        now = perf_counter()
        if standing.phase == self._phase and now - self._drawn < DRAWN_S:
            return
        self._phase, self._drawn = standing.phase, now
        shown = self._display.HTML(self.html(standing))
        if self._handle is None:
            self._handle = self._display.display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def html(self, standing: Standing) -> str:
        """A standing as a bar and a line; the bar is the time that has passed of the limit, or else how near the bound is."""
        limit, gap = self.time_limit_s, standing.gap
        share = min(standing.seconds / limit, 1.0) if limit else None if gap is None else max(1.0 - gap, 0.0)
        bar = "<progress></progress>" if share is None else f'<progress value="{share:.3f}"></progress>'
        left = f", {max(limit - standing.seconds, 0.0):.0f} s left" if limit else ""
        return f"<div>{bar} {escape(str(standing))} ({standing.seconds:.0f} s{left})</div>"
