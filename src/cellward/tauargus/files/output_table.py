"""What is written of a table: its cells in the order of τ-ARGUS, the values shown, and the options of its output types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from cellward import exact
from cellward.errors import InputError, brief
from cellward.exact import Ints
from cellward.hierarchy import Hierarchy
from cellward.table.lattice import MOST_CELLS
from cellward.table.table import Table
from cellward.tauargus.files.statuses import EMPTY, CellState, states_of
from cellward.tauargus.files.trees import hierarchies_of

OPTIONS = {
    "AS": "statuses",
    "SE": "skip_empty",
    "FL": "names",
    "QU": "quotes",
    "HL": "levels",
    "SO": "status_only",
    "AR": "audit",
    "HI": "holdings",
    "TR": "skip_trivial",
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of an output, each on or off: statuses (or the true value of a changed one) beside values, empty cells left out, names in the
    first line, codes in quotes, levels of codes (SBS), the short intermediate form, intervals, holdings instead of records,
    trivial levels left out (JJ)."""

    statuses: bool = False
    skip_empty: bool = False
    names: bool = False
    quotes: bool = True
    levels: bool = False
    status_only: bool = False
    audit: bool = False
    holdings: bool = False
    skip_trivial: bool = False

    @staticmethod
    def read(text: str, output: int, where: str) -> Options:
        """Options as a batch writes them, ``AS+FL-``; what is not named is as τ-ARGUS has it: quotes, and names in a pivot file."""
        chosen: dict[str, bool] = {"names": output == 2}
        rest = text.replace(" ", "").upper()
        while rest:
            if rest[:2] not in OPTIONS or rest[2:3] not in ("+", "-"):
                raise InputError(
                    f"{where}: the options {brief(text)} are not known; write {', '.join(OPTIONS)}, each with + or -"
                )
            chosen[OPTIONS[rest[:2]]] = rest[2] == "+"
            rest = rest[3:]
        return Options(**chosen)


@dataclass(frozen=True, kw_only=True)
class Written:
    """A table on its way to a file.

    ``published`` are the values that a method made of the true ones (None: they are shown as they are, and withheld cells by a mark), ``suffix``
    what the response is then called. ``more_codes`` are codes that have no cell and still a place. ``largest``: so many of the largest
    contributions are written. ``cost``: whether a table without costs gets its values as such. ``intervals``: what an attacker can
    narrow withheld cells down to. ``trees``: hierarchies of dimensions, where they are known better than the cells tell them.
    """

    table: Table
    response: str = "value"
    counts: bool = False
    published: Ints | None = None
    suffix: str = ""
    more_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    largest: int | None = None
    cost: bool = True
    intervals: Mapping[int, tuple[Fraction, Fraction]] | None = None
    trees: Mapping[str, Hierarchy] = field(default_factory=dict)

    @cached_property
    def codes(self) -> list[list[str]]:
        """The codes of each dimension, the total first; those of a hierarchy that have no cell keep their place, as in τ-ARGUS."""
        labels, out = self.table.labels, []
        if not labels.dims:
            raise InputError("the table has cells by number only, and this file wants dimensions; write it as .jj")
        for dim, codes, total in zip(labels.dims, labels.codes, labels.totals, strict=True):
            first = [total] if total in codes else []
            more = [code for code in self.more_codes.get(dim, ()) if code not in codes]
            out.append([*first, *(code for code in codes if code != total), *more])
        return out

    @cached_property
    def cell_at(self) -> Ints:
        """The cell of each combination of codes, or −1; the last dimension varies fastest."""
        size = 1
        for codes in self.codes:
            size *= len(codes)
        if size > MOST_CELLS:
            raise InputError(
                f"the table has {size:,} combinations of codes, and this output has a place for each; leave empty ones out, or use another"
            )
        key = np.zeros(self.table.cells, np.int64)
        for codes, place in zip(self.codes, self._places, strict=True):
            key = key * len(codes) + place
        out = np.full(size, -1, np.int64)
        out[key] = np.arange(self.table.cells)
        return out

    @cached_property
    def _places(self) -> list[Ints]:
        """Where the code of every cell stands among the codes, by dimension."""
        out = []
        for codes, own, index in zip(self.codes, self.table.labels.codes, self.table.labels.index, strict=True):
            place = {code: k for k, code in enumerate(codes)}
            out.append(np.array([place.get(code, 0) for code in own], np.int64)[index])
        return out

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchy of every dimension; codes that have a place and are in none hang below the total."""
        found = hierarchies_of(self.table) | dict(self.trees)
        return {dim: found[dim].adding(*codes) for dim, codes in zip(self.table.labels.dims, self.codes, strict=True)}

    @cached_property
    def states(self) -> list[CellState]:
        """The state of every cell."""
        return states_of(self.table)

    def rows(self, *, cells_only: bool = False) -> Iterator[tuple[tuple[str, ...], int]]:
        """Every combination of codes, and its cell or −1; or the cells only, in the same order."""
        if cells_only:
            for cell in np.lexsort(tuple(reversed(self._places))).tolist():
                yield self.table.labels.tuple_of(cell), cell
        else:
            yield from zip(product(*self.codes), self.cell_at.tolist(), strict=True)

    def is_empty(self, cell: int) -> bool:
        """Whether nothing stands there."""
        return cell < 0 or self.states[cell].state == EMPTY

    @cached_property
    def true_texts(self) -> list[str]:
        """The true values."""
        return exact.texts(self.table.scaled, self.table.decimals)

    @cached_property
    def texts(self) -> list[str]:
        """The values that are shown: published, or true."""
        return self.true_texts if self.published is None else exact.texts(self.published, self.table.decimals)

    def shown(self, cell: int) -> str:
        """A value as the public sees it: ``-`` where nothing stands, ``x`` where it is withheld."""
        if self.is_empty(cell):
            return "-"
        return "x" if self.published is None and self.states[cell].withheld else self.texts[cell]

    @property
    def name(self) -> str:
        """What the column of values is called."""
        return f"{'Freq' if self.counts else self.response}{self.suffix}"
