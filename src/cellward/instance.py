"""Instance: exact integers, bounds, levels, attackers; the only thing a method sees.

Legend: a true values, M·a = b in ``relations``, lower ≤ a ≤ upper the public bounds, w the weights of the objective
Σ w·|v − a|; everything an integer in units of 10^−decimals (weights: 10^−weight_decimals).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import Ints, Numbers, finer, freeze
from cellward.risk.alike import merged
from cellward.risk.attacker import Attacker, check_attackers
from cellward.risk.findings import Findings
from cellward.table.labels import Labels
from cellward.table.relations import Relations
from cellward.table.sensitivity import Sensitivity
from cellward.table.table import Table

WEIGHT_DIGITS = 5
"""Digits of the least relative weight: those of large totals, which count little. More would leave less room for costs in 64 bits."""
Weights = str | Mapping[int, float] | Sequence[float] | NDArray[np.float64] | Ints | None


def named_levels(given: Mapping[Any, Any], what: str) -> dict[int, Any]:
    """Entries by level of sums; level 0, cells that are no sum, is among them."""
    try:
        named = {int(level): entry for level, entry in given.items()}
    except (TypeError, ValueError):
        raise InputError(
            f"{what}: levels are whole numbers, 0 for cells that are no sum; write {{0: 5, 1: 10}}"
        ) from None
    if min(named, default=1) != 0:
        raise InputError(f"{what}: name level 0 (cells that are no sum) and the levels above it; write {{0: 5, 1: 10}}")
    return named


def by_level(relations: Relations, given: Mapping[Any, Any], what: str) -> list[Any]:
    """One entry a cell from one a level of sums; a level that is not named takes that of the next one below it."""
    named = named_levels(given, what)
    last, ladder = named[0], []
    highest = int(relations.height.max(initial=0))
    if max(named) > highest:
        has = "no sums, so level 0 only" if not highest else f"the levels 0 to {highest}"
        raise InputError(
            f"{what}: there is no level {max(named)}, the table has {has} (0: cells that are no sum, a total one above the highest of its parts); "
            "leave it out"
        )
    for level in range(highest + 1):
        last = named.get(level, last)
        ladder.append(last)
    return [ladder[level] for level in relations.height.tolist()]


def relative_weights(a: Ints, decimals: int) -> tuple[Ints, int]:
    """1/max(|a|, one unit) as whole numbers with their decimals: the least weight has WEIGHT_DIGITS digits, as far as numbers have room."""
    size = np.maximum(np.abs(a), 1)
    places = min(len(str(int(size.max(initial=1)))) + WEIGHT_DIGITS - decimals, 18 - decimals)
    numerator = 10 ** (max(places, 0) + decimals)
    weight = numerator // size
    weight += 2 * (numerator - weight * size) >= size
    return weight, max(places, 0)


def value_weights(table: Table) -> tuple[Ints, int]:
    """max(|a|, one unit)."""
    return np.maximum(np.abs(table.scaled), 1), table.decimals


def logarithm_weights(table: Table) -> tuple[Ints, int]:
    """The natural logarithm of 1 + max(|a|, one unit) in the user's units, to LOGARITHM_DIGITS decimals; the same on every machine."""
    sizes, where = np.unique(np.maximum(np.abs(table.scaled), 1), return_inverse=True)
    exactly, unit = Context(prec=28), Decimal(10) ** table.decimals
    each = [
        int((exactly.ln(1 + exactly.divide(Decimal(size), unit)) * 10**LOGARITHM_DIGITS).to_integral_value())
        for size in sizes.tolist()
    ]
    return np.maximum(np.array(each, np.int64)[where], 1), LOGARITHM_DIGITS


def frequency_weights(table: Table) -> tuple[Ints, int]:
    """How many stand behind a cell, at least 1."""
    if table.contributions is None:
        raise InputError(
            "weights='frequency': the table does not say how many stand behind a cell; make it from records, or name the column (frequency=)"
        )
    return np.maximum(table.contributions.rows, 1), 0


def distance_weights(table: Table) -> tuple[Ints, int]:
    """How many equations away the next cell at risk is: 1 for those in one equation with it (and for itself), one more where there is none."""
    r, away = table.relations, np.full(table.cells, -1, np.int64)
    away[table.sensitivity.levels.cell] = 0
    while True:
        near = np.zeros(r.equations, bool)
        near[r.row[away[r.indices] >= 0]] = True
        new = r.indices[near[r.row]]
        new = new[away[new] < 0]
        if not len(new):
            break
        away[new] = int(away.max(initial=0)) + 1
    return np.maximum(np.where(away < 0, int(away.max(initial=0)) + 1, away), 1), 0


LOGARITHM_DIGITS = 6
NAMED: dict[str, Callable[[Table], tuple[Ints, int]]] = {
    "relative": lambda table: relative_weights(table.scaled, table.decimals),
    "value": value_weights,
    "logarithm": logarithm_weights,
    "frequency": frequency_weights,
    "distance": distance_weights,
}
"""Weights that follow from the table, by name."""


def _with_the_public(table: Table, attackers: Iterable[Attacker] | None) -> tuple[Attacker, ...]:
    """The attackers; before them the external one where the table's levels, or sums, would otherwise be kept from nobody."""
    found = (Attacker.external(),) if attackers is None else tuple(attackers)
    s = table.sensitivity
    asked = Attacker.external().wanted(s.levels).cell
    judged = [attacker for attacker in found if isinstance(attacker, Attacker) and attacker.levels is None]
    kept = np.zeros(table.cells, bool)
    for attacker in judged:
        kept |= ~np.isin(np.arange(table.cells), attacker.known)
    missing = not kept[asked].all() or (bool(s.sums) and not judged)
    return (Attacker.external(), *found) if found and missing else found


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Instance:
    """One problem for a protection method."""

    relations: Relations
    a: Ints
    decimals: int
    lower: Ints
    upper: Ints
    weight: Ints
    weight_decimals: int
    sensitivity: Sensitivity
    labels: Labels
    attackers: tuple[Attacker, ...] = (Attacker.external(),)
    frequency: Ints | None = None
    """How many stand behind each cell, where that is known; for people to look at."""
    beyond: int = 0
    """Decimals more than those of the table that it was made of."""
    findings: Findings | None = None
    """Why cells are at risk, where rules found them, by the cells' numbers in the table that it was made of."""

    @staticmethod
    def of(table: Table, *, weights: Weights = None, attackers: Iterable[Attacker] | None = None) -> Instance:
        """The instance of a table; no attackers: the external one.

        ``weights``: None or ``"equal"`` for 1 each, ``"relative"`` for 1/max(|a|, one unit), ``"value"`` for max(|a|, one unit), ``"logarithm"`` for
        that of 1 + it, ``"frequency"`` for the number of contributors, ``"distance"`` for how many equations away the next cell at risk is,
        ``"table"`` for the table's own, one a cell, or one a level of sums such as {0: 1, 1: 10, 2: 100} (0: cells that are no sum); ``"totals"`` is
        that, ten times more from level to level.
        """
        if isinstance(weights, str) and weights == "totals":
            weights = {level: 10**level for level in range(min(int(table.relations.height.max(initial=0)), 12) + 1)}
        if isinstance(weights, Mapping):
            weights = by_level(table.relations, weights, "weights")
        if weights is None or (isinstance(weights, str) and weights == "equal"):
            weight, weight_decimals = np.ones(table.cells, np.int64), 0
        elif isinstance(weights, str) and weights in NAMED:
            weight, weight_decimals = NAMED[weights](table)
        elif isinstance(weights, str):
            if weights != "table":
                raise InputError(
                    f"weights={weights!r} is not known; use 'equal', {', '.join(map(repr, NAMED))}, 'table', 'totals', one number a cell or a level, "
                    "or leave it out"
                )
            if table.weight is None:
                raise InputError(
                    "weights='table': the table has no weights of its own; name the column of costs with cost= (--cost), or weight by something else"
                )
            weight, weight_decimals = table.weight, table.weight_decimals
        else:
            numbers = Numbers.read(np.asarray(weights).ravel(), lambda i: f"weight of {table.labels.name(i)}")
            weight, weight_decimals = numbers.scaled(), numbers.decimals
            if len(weight) != table.cells:
                raise InputError(f"weights: {len(weight)} for {table.cells} cells; give one a cell")
            if int(weight.min(initial=0)) < 0:
                raise InputError(
                    f"weights: that of {table.labels.name(int(weight.argmin()))} is negative; weights are costs"
                )
        return Instance(
            relations=table.relations,
            a=table.scaled,
            decimals=table.decimals,
            lower=table.lower,
            upper=table.upper,
            weight=weight,
            weight_decimals=weight_decimals,
            sensitivity=table.sensitivity,
            labels=table.labels,
            attackers=_with_the_public(table, attackers),
            frequency=table.frequency,
            findings=table.findings,
        )

    def __post_init__(self) -> None:
        freeze(self.a, self.lower, self.upper, self.weight)
        check_attackers(self.attackers, self.a, self.labels, self.decimals)
        if knows := next((attacker.name for attacker in self.attackers if attacker.method), None):
            raise InputError(
                f"attackers: no method promises anything against one who knows the method ({knows}); leave him out, and audit the result"
            )

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.a)

    @property
    def asks(self) -> bool:
        """Whether a positive level is asked against any attacker."""
        return any(len(attacker.wanted(self.sensitivity.levels)) for attacker in self.attackers)

    def __repr__(self) -> str:
        return f"Instance({self.cells:,} cells, {self.relations.equations:,} equations, {len(self.sensitivity.unsafe):,} unsafe)"

    def distinct(self) -> Instance:
        """The same instance where many attackers who know the same beyond the public are one; not where sums of cells are at risk too."""
        if self.sensitivity.sums:
            return self
        known = merged(self.attackers, self.sensitivity.levels, self.lower, self.upper)
        return self if len(known) == len(self.attackers) else replace(self, attackers=known)

    def finer(self, places: int) -> Instance:
        """The same instance counted in units of 10^−``places`` of its own."""
        if not places:
            return self
        factor = 10**places
        r = self.relations
        return replace(
            self,
            relations=r if not r.rhs.any() else Relations(r.cells, r.indptr, r.indices, r.coefs, r.rhs * factor),
            a=self.a * factor,
            decimals=self.decimals + places,
            beyond=self.beyond + places,
            lower=finer(self.lower, factor),
            upper=finer(self.upper, factor),
            sensitivity=self.sensitivity.scaled_by(factor),
            attackers=tuple(attacker.times(factor) for attacker in self.attackers),
        )

    def permuted(self, order: Ints) -> Instance:
        """The same instance when cell order[k] becomes cell k."""
        place = np.argsort(order)
        return replace(
            self,
            relations=self.relations.permuted(order),
            a=self.a[order],
            lower=self.lower[order],
            upper=self.upper[order],
            weight=self.weight[order],
            sensitivity=self.sensitivity.permuted(order),
            labels=self.labels.permuted(order),
            frequency=None if self.frequency is None else self.frequency[order],
            attackers=tuple(attacker.permuted(place) for attacker in self.attackers),
        )
