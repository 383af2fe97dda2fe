"""Drawn: the kinds of pictures by name, as a figure for Python and as SVG for a report."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from cellward.audit.audit import Audit
from cellward.errors import InputError
from cellward.protection import Protection
from cellward.publication.release import Release
from cellward.report.pictures import deviations, distribution, intervals, levels, search, tree, two_way
from cellward.report.pictures.theme import REMEDY, svg, themed
from cellward.report.section import Block, Drawing

KINDS: dict[str, ModuleType] = {
    "intervals": intervals,
    "levels": levels,
    "distribution": distribution,
    "deviations": deviations,
    "slice": two_way,
    "tree": tree,
    "search": search,
}
OF_THE_QUESTION = ("tree", "search")
"""Those that can be drawn where nothing is published."""
FORMER = {"bias": "levels", "heatmap": "slice", "hierarchy": "tree"}
"""Other names that people look for."""


def missing() -> str | None:
    """Why nothing can be drawn; None where matplotlib is there."""
    return None if find_spec("matplotlib") is not None else REMEDY[0].upper() + REMEDY[1:] + "."


def plot(result: Protection, kind: str, **options: Any) -> Any:
    """One picture as a matplotlib Figure, which nothing else holds on to."""
    name = FORMER.get(kind, kind)
    if name not in KINDS:
        raise InputError(f"plot: {kind!r} is not known; use {', '.join(map(repr, KINDS))}")
    if missing() is not None:
        raise InputError(REMEDY)
    if result.publication is None and name not in OF_THE_QUESTION:
        raise InputError(f"plot: nothing is published, the result is {result.status}; {result.reason}")
    own = {key: options[key] for key in ("audit",) if key in options and name == "intervals"}
    if (why := KINDS[name].refuses(result, **own)) is not None:
        raise InputError(f"plot {kind!r}: {why}")
    try:
        with themed():
            return KINDS[name].draw(result, **options)
    except TypeError as error:
        if options and "unexpected keyword" in str(error):
            raise InputError(f"plot {kind!r}: {', '.join(options)} does not go with it; leave it out") from None
        raise


def drawn(source: Protection | Release, audit: Audit | None = None) -> list[Block]:
    """All pictures that apply, for a page; of a release what is fit for everybody."""
    return list(_each(source, audit))


def _each(source: Protection | Release, audit: Audit | None) -> Iterator[Drawing]:
    if isinstance(source, Release):
        if two_way.refuses(source) is None:
            with themed():
                yield Drawing(two_way.title(source), two_way.caption(source), svg(two_way.draw(source), page=True))
        return
    for name, kind in KINDS.items():
        own = {"audit": audit} if name == "intervals" and audit is not None else {}
        if source.publication is None and name not in OF_THE_QUESTION:
            continue
        if name == "search" or kind.refuses(source, **own) is not None:
            continue
        with themed():
            yield Drawing(kind.title(source), kind.caption(source, **own), svg(kind.draw(source, **own), page=True))
