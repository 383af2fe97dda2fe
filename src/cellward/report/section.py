"""Section: one thing said of a result, as small typed blocks; renderers put them on a terminal, into a page or into JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lines:
    """Sentences, one a line."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """A small table of texts: a heading a column, names to the left (``names`` columns of them), numbers to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    marked: frozenset[tuple[int, int]] = frozenset()
    """Places (row, column) of what is at risk."""


@dataclass(frozen=True)
class Beside:
    """Two tables of the same rows, to be compared."""

    left: Figures
    right: Figures


Block = Lines | Figures | Beside


@dataclass(frozen=True)
class Section:
    """``confidential``: for the data holder's eyes."""

    name: str
    blocks: tuple[Block, ...]
    confidential: bool = True

    @property
    def sentences(self) -> list[str]:
        """All lines."""
        return [line for block in self.blocks if isinstance(block, Lines) for line in block.lines]
