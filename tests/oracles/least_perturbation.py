"""Least perturbation: the least protected perturbation of a small table, and what attackers work out of one, by definition; to judge cellward by.

Plain integers and equations, nothing of the package. Where what an attacker reads moves with the published value, the least perturbation is one
linear program, Figure 3 of paper 000 with x between 0 and 1: exact where it is small (exact_lp.py), otherwise by HiGHS as scipy has it. Where it
changes when a value reaches a multiple (``strict``, between multiples), all choices of cells that sit on a multiple are gone through, in exact
arithmetic. What attackers work out of a published table is settled in exact arithmetic everywhere.

Legend: a true values, M·a = b in ``rows``, β the bases (or t, the largest distances) in ``grid.base``, w weights, v a perturbation, y a table that an
attacker must still think possible, f and g the tables of Figure 3. Amounts are in scaled units of the table; v may be a fraction of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

import exact_lp
import numpy as np
from exact_lp import EmptyRegionError, Row
from rounding_grid import Bound, Grid, TooManyError
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_matrix
from spies import Level, Spy

MOST_EXACT = 250
"""Linear programs with at most so many columns are solved in exact arithmetic."""
MOST_CHOICES = 400
"""Choices of cells on multiples that are looked at for one table; one that needs more is given up."""

Form = Literal["base", "distance"]
Knowledge = Literal["strict", "paper"]
Objective = Literal["between", "nearest", "distance"]
Status = Literal["optimal", "infeasible"]
Values = Sequence[Fraction]
End = Fraction | None
Interval = tuple[End, End]


# ---- linear programs in whole numbers ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Program:
    """The least Σ cost·x with lower ≤ x ≤ upper and the rows given; whole numbers."""

    lower: list[Bound] = field(default_factory=list)
    upper: list[Bound] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    cost: dict[int, int] = field(default_factory=dict)

    def column(self, low: Bound, high: Bound) -> int:
        self.lower.append(low)
        self.upper.append(high)
        return len(self.lower) - 1

    def least(self, *, exactly: bool | None = None) -> Fraction | None:
        """The optimum, None where there is none; in exact arithmetic where the program is small, unless told."""
        exactly = len(self.lower) <= MOST_EXACT if exactly is None else exactly
        if exactly:
            found = self.vertex()
            return None if found is None else found[0]
        value = self._by_highs()
        return None if value is None else Fraction(value)

    def vertex(self) -> tuple[Fraction, list[Fraction]] | None:
        """The optimum and a vertex that attains it: the cost becomes one more column, without bounds."""
        at = len(self.lower)
        cells = [i for i, c in self.cost.items() if c]
        row: Row = (0, [*cells, at], [*(self.cost[i] for i in cells), -1])
        try:
            made = _Vertex([*self.rows, row], [*self.lower, None], [*self.upper, None])
        except EmptyRegionError:
            return None
        value = made.end(at, -1)
        assert value is not None, "the cost has no least value"
        return value, made.values()[:at]

    def matrix(self) -> csr_matrix:
        entries = [
            (c, j, i) for j, (_, cells, coefs) in enumerate(self.rows) for i, c in zip(cells, coefs, strict=True)
        ]
        coefs, at, cells = zip(*entries, strict=True) if entries else ((), (), ())
        return csr_matrix((np.array(coefs, float), (at, cells)), shape=(len(self.rows), len(self.lower)))

    def _by_highs(self) -> float | None:
        ends = list(zip(self.lower, self.upper, strict=True))
        if any(low is not None and high is not None and low > high for low, high in ends):
            return None
        cost = np.zeros(len(ends))
        cost[list(self.cost)] = list(self.cost.values())
        right = [rhs for rhs, _, _ in self.rows]
        tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        for presolve in (True, False):
            found = linprog(cost, A_eq=self.matrix(), b_eq=right, bounds=ends, options={**tight, "presolve": presolve})
            if found.status in (0, 2):
                return None if found.status == 2 else float(found.fun)
        raise ArithmeticError(found.message)

    def has_point(self, whole: Iterable[int]) -> bool:
        """Whether some x has whole numbers in these columns."""
        low = np.array([-np.inf if x is None else x for x in self.lower], float)
        high = np.array([np.inf if x is None else x for x in self.upper], float)
        if (low > high).any():
            return False
        kinds = np.zeros(len(low))
        kinds[list(whole)] = 1
        right = [rhs for rhs, _, _ in self.rows]
        rows = [LinearConstraint(self.matrix(), right, right)] if right else []
        for presolve in (True, False):
            options = {"presolve": presolve}
            found = milp(
                np.zeros(len(low)), integrality=kinds, bounds=Bounds(low, high), constraints=rows, options=options
            )
            if found.status in (0, 2):
                return bool(found.status == 0)
        raise ArithmeticError(found.message)

    def ends_in_decimals(self) -> bool:
        """Whether decimals are not ruled out: by a column that can take but one value, or by what such columns leave of a row."""
        try:
            found = exact_lp.intervals(self.rows, self.lower, self.upper)
        except EmptyRegionError:
            return False
        one = {i: low for i, (low, high) in enumerate(found) if low is not None and low == high}
        steps = []
        for rhs, cells, coefs in self.rows:
            step = math.gcd(*(c for i, c in zip(cells, coefs, strict=True) if i not in one))
            rest = rhs - sum(c * one[i] for i, c in zip(cells, coefs, strict=True) if i in one)
            steps.append(Fraction(rest) / step if step else Fraction(0))
        return not any(10**9 % x.denominator for x in (*one.values(), *steps))


class _Vertex(exact_lp.Vertex):
    def values(self) -> list[Fraction]:
        return [self._value(i) for i in range(self.cells)]


# ---- the problem ---------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """The least perturbation of ``grid`` that keeps the levels from every spy."""

    grid: Grid
    form: Form
    knowledge: Knowledge
    objective: Objective
    levels: dict[int, Level] = field(default_factory=dict)
    spies: list[Spy] = field(default_factory=lambda: [Spy("external")])
    unsafe: frozenset[int] = frozenset()
    """Cells at risk, with levels or without."""

    def wanted(self, spy: Spy) -> dict[int, Level]:
        """The positive levels against this spy."""
        levels = self.levels if spy.levels is None else spy.levels
        return {i: level for i, level in levels.items() if any(level)}

    def asked(self, spy: Spy) -> dict[int, Level]:
        """The same without the cells that it knows."""
        return {i: level for i, level in self.wanted(spy).items() if not spy.knows(i)}

    @property
    def asks(self) -> bool:
        """Whether a positive level is there at all, be it on a cell that its attacker knows."""
        return any(self.wanted(spy) for spy in self.spies)

    @property
    def sensitive(self) -> list[int]:
        """The cells with a level against someone who does not know them."""
        return sorted({i for spy in self.spies for i in self.asked(spy)})

    @property
    def held(self) -> list[int]:
        """Within a distance: the cells whose values are drawn, those at risk or with a level that can move."""
        cells = self.unsafe.union(*(self.wanted(spy) for spy in self.spies))
        return sorted(i for i in cells if self.box[i][0] < self.box[i][1])

    @property
    def too_near(self) -> bool:
        """Within a distance: whether some cell's levels leave less than twice their span to draw its value from, so that the method refuses."""
        for spy in self.spies if self.form == "distance" else ():
            for i, (lpl, upl, _) in self.asked(spy).items():
                t = 0 if self.grid.fixed[i] else self.grid.base[i]
                if 0 <= min(t, self.half[i] - upl) + min(t, self.half[i] - lpl) < 2 * (lpl + upl):
                    return True
        return False

    @cached_property
    def multiple(self) -> list[bool]:
        """Where nothing may move in form ``base``: a is a multiple."""
        return [self.form == "base" and a % b == 0 for a, b in zip(self.grid.a, self.grid.base, strict=True)]

    @cached_property
    def ends(self) -> list[tuple[int, int]]:
        """⌊a⌋ and ⌈a⌉, or a ∓ t; both a where the cell is fixed."""
        out = []
        for a, b, fixed in zip(self.grid.a, self.grid.base, self.grid.fixed, strict=True):
            around = (a - b, a + b) if self.form == "distance" else (a // b * b, -(-a // b) * b)
            out.append((a, a) if fixed else around)
        return out

    @cached_property
    def box(self) -> list[tuple[int, int]]:
        """The same inside the public bounds: what v may be; with a base, a positive value may become the multiple below its bound."""
        least = [
            p - p % b if p is not None and p > 0 and self.form == "base" else p
            for p, b in zip(self.grid.lower, self.grid.base, strict=True)
        ]
        own = zip(self.ends, least, self.grid.upper, strict=True)
        return [(low if p is None else max(low, p), high if q is None else min(high, q)) for (low, high), p, q in own]

    @cached_property
    def half(self) -> list[int]:
        """How far y can be from v, where that is all the release tells."""
        times = 2 if (self.form, self.knowledge) == ("distance", "paper") else 1
        own = zip(self.grid.base, self.grid.fixed, self.multiple, strict=True)
        return [0 if fixed or multiple else times * b for b, fixed, multiple in own]

    @property
    def jumps(self) -> bool:
        """Whether what attackers read changes where a value reaches a multiple."""
        return (self.form, self.knowledge) == ("base", "strict")

    # ---- what is paid -----------------------------------------------------------------------------------------------------------------------

    @cached_property
    def unit(self) -> int:
        """Costs are counted in units of 1/``unit``."""
        return self.grid.weight_unit * (math.lcm(*self.grid.base) if self.objective == "between" else 1)

    @cached_property
    def linear(self) -> list[tuple[int, int]]:
        """Form ``base``: what a cell costs, as constant + slope·v, times ``unit``; between its multiples both objectives are linear."""
        out = []
        for a, b, w, (low, high), fixed in zip(
            self.grid.a, self.grid.base, self.grid.weight, self.ends, self.grid.fixed, strict=True
        ):
            if fixed or low == high:
                out.append((0, 0))
            elif self.objective == "between":
                slope = w * (high + low - 2 * a) * (self.unit // self.grid.weight_unit // b)
                out.append((w * (a - low) * (self.unit // self.grid.weight_unit) - slope * low, slope))
            else:
                out.append((-w * low, w) if a - low <= high - a else (w * high, -w))
        return out

    def cost(self, v: Values) -> Fraction:
        """What a perturbation costs, in scaled units."""
        if self.objective == "distance":
            away = (w * abs(x - a) for w, x, a in zip(self.grid.weight, v, self.grid.a, strict=True))
            return Fraction(sum(away), self.unit)
        return Fraction(sum(c + s * x for (c, s), x in zip(self.linear, v, strict=True)), self.unit)

    def priced(self, program: Program) -> int:
        """Adds the cost of the columns v, the first ones; what is constant is returned."""
        if self.objective != "distance":
            program.cost.update({i: slope for i, (_, slope) in enumerate(self.linear) if slope})
            return sum(constant for constant, _ in self.linear)
        for i, (a, w) in enumerate(zip(self.grid.a, self.grid.weight, strict=True)):
            up, down = program.column(0, None), program.column(0, None)
            program.rows.append((a, [i, up, down], [1, -1, 1]))
            program.cost.update({up: w, down: w})
        return 0

    # ---- what attackers read ----------------------------------------------------------------------------------------------------------------

    def bounds(self, spy: Spy) -> tuple[list[Bound], list[Bound]]:
        """What a spy knows without the release."""
        lower, upper = list(self.grid.lower), list(self.grid.upper)
        for i, bound in spy.lower.items():
            lower[i] = bound if (own := lower[i]) is None else max(own, bound)
        for i, bound in spy.upper.items():
            upper[i] = bound if (own := upper[i]) is None else min(own, bound)
        return lower, upper

    def told(self, v: Values) -> tuple[list[Fraction], list[Fraction]]:
        """lo ≤ y ≤ hi as the public reads it out of v."""
        if not self.jumps:
            pairs = list(zip(v, self.half, strict=True))
            return [x - h for x, h in pairs], [x + h for x, h in pairs]
        lo, hi = [], []
        for x, b, fixed in zip(v, self.grid.base, self.grid.fixed, strict=True):
            on = x % b == 0
            lo.append(x if fixed else x - b if on else Fraction(x // b * b))
            hi.append(x if fixed else x + b if on else Fraction(-(-x // b) * b))
        return lo, hi


def intervals(problem: Problem, spy: Spy, v: Values, cells: Iterable[int]) -> list[Interval]:
    """The least and greatest y of these cells that this spy must think possible, exact."""
    return _intervals(problem, spy, *problem.told(v), cells)


def _intervals(problem: Problem, spy: Spy, lo: Values, hi: Values, cells: Iterable[int]) -> list[Interval]:
    finer = math.lcm(*(x.denominator for x in (*lo, *hi)))
    own_lo, own_hi = problem.bounds(spy)
    low = [int(x * finer) if b is None else max(int(x * finer), b * finer) for x, b in zip(lo, own_lo, strict=True)]
    high = [int(x * finer) if b is None else min(int(x * finer), b * finer) for x, b in zip(hi, own_hi, strict=True)]
    rows = [(rhs * finer, members, coefs) for rhs, members, coefs in problem.grid.rows]
    found = exact_lp.intervals(rows, low, high, cells)
    return [(None if p is None else p / finer, None if q is None else q / finer) for p, q in found]


def meets(level: Level, a: int, interval: Interval) -> bool:
    low, high = interval
    below, above = (math.inf if low is None else a - low), (math.inf if high is None else high - a)
    return below >= level[0] and above >= level[1] and below + above >= level[2]


def missed(problem: Problem, v: Values) -> list[tuple[str, int]]:
    """The requirements that a perturbation does not meet, as (attacker, cell)."""
    return _missed(problem, *problem.told(v))


def _missed(problem: Problem, lo: Values, hi: Values) -> list[tuple[str, int]]:
    out = []
    for spy in problem.spies:
        asked = problem.asked(spy)
        for (i, level), interval in zip(asked.items(), _intervals(problem, spy, lo, hi, asked), strict=True):
            if not meets(level, problem.grid.a[i], interval):
                out.append((spy.name, i))
    return out


# ---- the truth where what is read moves with v ---------------------------------------------------------------------------------------------------


def figure_3(
    problem: Problem, *, held: dict[int, tuple[int, int]] | None = None, levels: bool = True
) -> tuple[Program, int]:
    """The compact model, x continuous, and the constant of its cost; the columns v come first. ``held``: cells that have less room than their box."""
    g, n = problem.grid, len(problem.grid.a)
    ends = [(held or {}).get(i, own) for i, own in enumerate(problem.box)]
    program = Program([low for low, _ in ends], [high for _, high in ends], list(g.rows))
    constant = problem.priced(program)

    def table(spy: Spy) -> int:
        """One more table that the spy must think possible: its first column."""
        first = len(program.lower)
        lower, upper = problem.bounds(spy)
        program.lower.extend(lower)
        program.upper.extend(upper)
        program.rows.extend((rhs, [first + i for i in cells], coefs) for rhs, cells, coefs in g.rows)
        for i in range(n):
            away = program.column(-problem.half[i], problem.half[i])
            program.rows.append((0, [first + i, i, away], [1, -1, -1]))
        return first

    for spy in problem.spies if levels else ():
        for p, (lpl, upl, spl) in problem.asked(spy).items():
            above, below = (table(spy) if own or spl else None for own in (upl, lpl))
            if above is not None:
                bound, most = g.a[p] + upl, program.lower[above + p]
                program.lower[above + p] = bound if most is None else max(most, bound)
            if below is not None:
                bound, least = g.a[p] - lpl, program.upper[below + p]
                program.upper[below + p] = bound if least is None else min(least, bound)
            if spl and above is not None and below is not None:
                wide = program.column(spl, None)
                program.rows.append((0, [above + p, below + p, wide], [1, -1, -1]))
    return program, constant


def least_cost(
    problem: Problem, *, held: dict[int, tuple[int, int]] | None = None, exactly: bool | None = None
) -> Fraction | None:
    """The least cost by Figure 3; None: there is no protected perturbation."""
    program, constant = figure_3(problem, held=held)
    value = program.least(exactly=exactly)
    return None if value is None else (value + constant) / problem.unit


def left(problem: Problem, p: int) -> tuple[int, int]:
    """What the levels of a cell by itself leave of its box, against all spies: v + h and v − h must reach far enough."""
    a, h = problem.grid.a[p], problem.half[p]
    low, high = problem.box[p]
    for spy in problem.spies:
        lpl, upl, spl = problem.asked(spy).get(p, (0, 0, 0))
        lower, upper = (own[p] for own in problem.bounds(spy))
        if upl:
            low = max(low, a + upl - h)
        if lpl:
            high = min(high, a - lpl + h)
        if spl and lower is not None:
            low = max(low, lower + spl - h)
        if spl and upper is not None:
            high = min(high, upper + h - spl)
    return low, high


# ---- the truth where it jumps --------------------------------------------------------------------------------------------------------------------

LOW, HIGH = -1, 1
Suits = Callable[["Program"], bool]
Choice = dict[int, int]
"""Cells whose place is decided: on the multiple below (−1), above (1), or wherever (0)."""


class Jumps:
    """All choices of cells that sit on a multiple: there attackers must reckon with one base more on that side.

    For a choice, attackers' regions do not depend on v, and they are the wider the more cells sit on multiples. So a choice whose cells left open
    give enough when they sit on both ends at once is worth a look, and one that gives enough with none of them ends the search below it.
    ``suits``: what else must be so of the tables of a choice.
    """

    def __init__(self, problem: Problem, suits: Suits = lambda _: True) -> None:
        self.problem, self.suits = problem, suits
        self.best: tuple[Fraction, list[Fraction]] | None = None
        self.looked = 0
        movable = [i for i, (low, high) in enumerate(problem.ends) if low < high]
        self.places = {i: self._places(i) for i in movable if self._places(i)}
        near = set(problem.sensitive)
        beside = {i for _, cells, _ in problem.grid.rows if near & set(cells) for i in cells}
        self.order = sorted(self.places, key=lambda i: (i not in near, i not in beside, i))

    def _places(self, i: int) -> list[int]:
        own, box = self.problem.ends[i], self.problem.box[i]
        return [place for place, k in ((LOW, 0), (HIGH, 1)) if own[k] == box[k]]

    def solve(self) -> tuple[Fraction, list[Fraction]] | None:
        """The least cost and a table that has it; None: there is none. Raises TooManyError."""
        self._descend({})
        return self.best

    def _descend(self, choice: Choice) -> None:
        self.looked += 1
        if self.looked > MOST_CHOICES:
            raise TooManyError
        found = self.cheapest(choice)
        if found is None or (self.best is not None and found[0] >= self.best[0]):
            return
        if self.enough(choice) or not missed(self.problem, found[1]):
            self.best = found  # also where only the ends that it happens to sit on are enough: a choice below has them
            return
        waiting = [i for i in self.order if i not in choice]
        if not waiting or not self.enough(choice, generous=True):
            return
        i = self._next(waiting, choice)
        for place in (*self.places[i], 0):
            self._descend({**choice, i: place})

    def _next(self, waiting: list[int], choice: Choice) -> int:
        """A cell without whose ends it would not be enough, if there is one; else the first."""
        for i in waiting:
            if not self.enough({**choice, i: 0}, generous=True):
                return i
        return waiting[0]

    def cheapest(self, choice: Choice) -> tuple[Fraction, list[Fraction]] | None:
        """The least cost with these cells on their multiples, levels left aside."""
        p = self.problem
        held = {i: (p.ends[i][place > 0],) * 2 for i, place in choice.items() if place}
        program, constant = figure_3(p, held=held, levels=False)
        found = program.vertex()
        if found is None or not self.suits(program):
            return None
        return (found[0] + constant) / p.unit, found[1][: len(p.grid.a)]

    def enough(self, choice: Choice, *, generous: bool = False) -> bool:
        """Whether all levels are met; ``generous``: if cells left open sat on every multiple they can reach."""
        return not _missed(self.problem, *self.told(choice, generous=generous))

    def told(self, choice: Choice, *, generous: bool = False) -> tuple[list[Fraction], list[Fraction]]:
        p = self.problem
        lo, hi = [], []
        for i, ((low, high), b, fixed) in enumerate(zip(p.ends, p.grid.base, p.grid.fixed, strict=True)):
            places = [choice[i]] if i in choice else self.places.get(i, []) if generous else []
            on_low, on_high = LOW in places, HIGH in places
            if low == high and not fixed:
                on_low = on_high = True
            lo.append(Fraction(low - b if on_low else low))
            hi.append(Fraction(high + b if on_high else high))
        return lo, hi


# ---- both ----------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """The least protected perturbation: its cost in scaled units; and what the least of all costs and misses."""

    status: Status
    cost: Fraction | None
    least: Fraction
    requirements: int
    violated: int
    """Requirements that the least perturbation without levels does not meet."""
    fractional: bool
    """Whether the vertex found has fractions of a unit."""


def truth(problem: Problem) -> Truth:
    """Form ``distance``: without a look at where cells with levels are held."""
    program, constant = figure_3(problem, levels=False)
    found = program.vertex()
    assert found is not None, "a itself is a perturbation"
    n = len(problem.grid.a)
    least, v = (found[0] + constant) / problem.unit, found[1][:n]
    requirements, violated = sum(len(problem.asked(spy)) for spy in problem.spies), len(missed(problem, v))
    cost: Fraction | None = least
    if violated and problem.jumps:
        best = Jumps(problem).solve()
        cost, v = (None, []) if best is None else best
    elif violated:
        program, constant = figure_3(problem)
        if len(program.lower) <= MOST_EXACT:
            found = program.vertex()
            cost, v = (None, []) if found is None else ((found[0] + constant) / problem.unit, found[1][:n])
        else:
            cost, v = least_cost(problem), []
    fractional = any(x.denominator > 1 for x in v)
    return Truth("infeasible" if cost is None else "optimal", cost, least, requirements, violated, fractional)


def exists_on_grid(problem: Problem) -> bool:
    """Whether there is a protected perturbation of whole units."""
    cells = range(len(problem.grid.a))
    if problem.jumps:
        return Jumps(problem, lambda program: program.has_point(cells)).solve() is not None
    return figure_3(problem)[0].has_point(cells)


def exists_in_decimals(problem: Problem) -> bool:
    """Whether nothing shows that all protected perturbations have fractions without an end of decimals."""
    if problem.jumps:
        return Jumps(problem, Program.ends_in_decimals).solve() is not None
    return figure_3(problem)[0].ends_in_decimals()
