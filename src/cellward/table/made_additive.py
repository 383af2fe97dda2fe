"""Made additive: the wish that a table which does not add up be made to, and what was moved for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import NOISE, Bools, Ints, Numbers
from cellward.table.labels import Labels
from cellward.table.relations import Relations

NORMS = ("l1", "l2")
WEIGHTS = ("equal", "relative", "table")
WORDS = ("total", "margins", "inner")
"""Cells that are kept, in a word: the grand totals, all sums, all cells that are no sum."""
REMEDY = "have the nearest table that does made of them with additive='l1' (--additive l1)"
SHOWN = 3
FINE = 10
"""Numbers of so many decimals are what floats have left behind, where fewer do."""


@dataclass(frozen=True)
class Additive:
    """The wish: the nearest table that adds up in ``norm``, with some cells as they are, changes weighted so."""

    norm: Literal["l1", "l2"]
    keep: Any = ()
    weights: str = "equal"

    @staticmethod
    def of(norm: str | None, keep: Any = (), weights: str = "equal") -> Additive | None:
        """Of the options of a reader, in their words; None where nothing is wished."""
        if norm is None:
            if len(keep) if isinstance(keep, Sequence) else keep is not None:
                raise InputError(
                    "keep_values: nothing moves unless the table is made additive; give additive='l1' too (--additive l1), or leave it out"
                )
            return None
        if norm not in NORMS:
            raise InputError(
                f"additive={norm!r} is not known; use 'l1' (the least sum of changes) or 'l2' (the least sum of their squares)"
            )
        if weights not in WEIGHTS:
            raise InputError(f"additive_weights={weights!r} is not known; use one of {', '.join(map(repr, WEIGHTS))}")
        if isinstance(keep, str) and keep not in WORDS:
            raise InputError(
                f"keep_values={keep!r} is not known; use one of {', '.join(map(repr, WORDS))}, or a list of cells by their codes"
            )
        if not isinstance(keep, Iterable):
            raise InputError("keep_values: give a list of cells by their codes, or by number")
        return Additive(norm, keep if isinstance(keep, str) else tuple(keep), weights)  # type: ignore[arg-type]

    def decimals(self, numbers: Numbers) -> int | None:
        """The decimals of a table of such numbers where floats have left noise behind them: those that the numbers had before; else None."""
        if numbers.too_fine(numbers.decimals) is None and numbers.decimals < FINE:
            return None
        found = (d for d in range(numbers.decimals) if numbers.too_fine(d) is None and numbers.moved(d) <= NOISE)
        return next(found, None)

    def kept(self, relations: Relations, labels: Labels) -> Bools:
        """The cells that are kept."""
        height, out = relations.height, np.zeros(relations.cells, bool)
        if self.keep == "margins":
            return np.asarray(height > 0)
        if self.keep == "inner":
            return np.asarray(height == 0)
        if self.keep == "total":
            part = np.zeros(relations.cells, bool)
            total = relations.total[relations.row]
            part[relations.indices[(total >= 0) & (total != relations.indices)]] = True
            return np.asarray(~part & (height > 0))
        try:
            for cell in self.keep:
                bare = not labels.dims and isinstance(cell, str) and cell.isdecimal()
                out[labels.find(int(cell) if bare else tuple(cell) if isinstance(cell, list) else cell)] = True
        except InputError as error:
            raise InputError(f"keep_values: {error}") from None
        return out


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MadeAdditive:
    """What was moved so that a table adds up, confidential: ``cell`` by number, what it ``was`` and what it ``is``, as whole units of the table.

    ``missed``: how many equations did not hold. ``distance`` and ``bound``: Σ w·|change| or Σ w·change², and what no additive table with these cells
    kept is below, both in the weights' and the table's units; equal where it is ``proven`` in whole numbers that nothing is nearer. ``claimed``: a
    solver says so. Of linked tables, each made additive by itself, these are sums; None where their norms or weights differ.
    """

    norm: str
    weights: str
    labels: Labels
    decimals: int
    missed: int
    cell: Ints
    was: Ints
    now: Ints
    kept: int
    distance: float | None
    bound: float | None
    proven: bool
    claimed: bool
    engine: str

    def columns(self) -> dict[str, list[str]]:
        """A row a cell that moved: its codes, what it was, what it is, and the change; for any data frame."""
        labels = {name: list(column) for name, column in self.labels.columns().items()}
        out = {name: [column[i] for i in self.cell.tolist()] for name, column in labels.items()}
        numbers = {"was": self.was, "is": self.now, "change": self.now - self.was}
        for name, column in numbers.items():
            out[name if name not in out else f"cell {name}"] = exact.texts(column, self.decimals)
        return out

    def to_dict(self) -> dict[str, Any]:
        """In numbers, as ``--json`` and protection.json say it."""
        change = np.abs(self.now - self.was)
        return {
            "norm": self.norm,
            "weights": self.weights,
            "missed": self.missed,
            "moved": len(self.cell),
            "sum_abs": exact.unit(int(change.sum()), self.decimals),
            "max_abs": exact.unit(int(change.max(initial=0)), self.decimals),
            "distance": self.distance,
            "bound": self.bound,
            "proven": self.proven,
            "engine": self.engine,
        }

    def permuted(self, order: Ints, labels: Labels) -> MadeAdditive:
        """The same when cell order[k] becomes cell k of these labels."""
        cell = np.argsort(order)[self.cell]
        own = np.argsort(cell)
        return replace(self, labels=labels, cell=cell[own], was=self.was[own], now=self.now[own])

    @staticmethod
    def linked(parts: Sequence[tuple[MadeAdditive, Ints, int]], labels: Labels, decimals: int) -> MadeAdditive:
        """What was moved in tables that are linked: each with the places of its cells there, and by how much its units are finer there."""
        rows = (np.stack((place[one.cell], one.was * factor, one.now * factor), axis=1) for one, place, factor in parts)
        moved = np.unique(np.concatenate(list(rows)), axis=0)
        made = [one for one, _, _ in parts]
        norms, weights = (
            list(dict.fromkeys(words)) for words in zip(*((x.norm, x.weights) for x in made), strict=True)
        )
        distances, bounds = ([x.distance for x in made], [x.bound for x in made])
        alike = len(norms) == len(weights) == 1
        return MadeAdditive(
            norm=" and ".join(norms),
            weights=" and ".join(weights),
            labels=labels,
            decimals=decimals,
            missed=sum(x.missed for x in made),
            cell=moved[:, 0],
            was=moved[:, 1],
            now=moved[:, 2],
            kept=sum(x.kept for x in made),
            distance=_sum(distances) if alike else None,
            bound=_sum(bounds) if alike else None,
            proven=all(x.proven for x in made),
            claimed=all(x.proven or x.claimed for x in made),
            engine=" and ".join(dict.fromkeys(x.engine for x in made)),
        )

    @property
    def sentence(self) -> str:
        """What was done, in a sentence."""
        if not self.missed:
            return "the table adds up as it is; nothing was moved"
        change = self.now - self.was
        size = np.abs(change)
        order = np.argsort(-size, kind="stable")[:SHOWN]
        shown = ", ".join(
            f"{self.labels.name(int(self.cell[k]))} {'+' if change[k] > 0 else '−'}{exact.short(int(size[k]), self.decimals)}"
            for k in order.tolist()
        )
        more = f" and {len(self.cell) - SHOWN:,} more" if len(self.cell) > SHOWN else ""
        equations = f"{self.missed:,} equation{'s' * (self.missed > 1)} did not hold"
        cells = f"{len(self.cell):,} cell{'s' * (len(self.cell) > 1)}"
        return (
            f"made additive: {equations}; {cells} moved by {exact.short(int(size.sum()), self.decimals)} in all, "
            f"at most {exact.short(int(size.max()), self.decimals)} ({self.how_near}): {shown}{more}"
        )

    @property
    def how_near(self) -> str:
        """How far it is known that no table is nearer."""
        kinds = {"l1": "sum of changes", "l2": "sum of squared changes"}
        what = kinds.get(self.norm, "sums of changes and of squared changes")
        what = what if self.weights == "equal" else f"weighted {what}"
        if self.proven:
            return f"proven to be the least {what}"
        if self.claimed:
            return f"the least {what} by the solver's word"
        if not self.bound or self.distance is None:
            return f"the {what} is not shown to be near the least"
        return f"the {what} is at most {100 * (self.distance / self.bound - 1):.2g} % above the least"

    def __repr__(self) -> str:
        return f"MadeAdditive({len(self.cell):,} of {self.labels.cells:,} cells moved)"


def _sum(numbers: Sequence[float | None]) -> float | None:
    """Their sum; None where one is not known."""
    known = [x for x in numbers if x is not None]
    return sum(known) if len(known) == len(numbers) else None
