"""Protected rounding: the least rounding that meets every level, by cuts (paper 000, section 3.1; model.md holds the proof).

A rounding without a look at the levels comes first: it is often protected, and then it is the least protected one too. Otherwise what the levels say
of single equations (level_rows.py) is added, and capacity constraints to the linear relaxation until it satisfies all of them, then to the integer
problem, round after round. What is given at the end is checked by the audit; where attackers know that values are whole, a table may pass all cuts
and still fail, and is then cut off by itself. Large problems have these rows from the start, and a part of the time: with more than one step, values
next to the true ones are tried first, which the wider intervals nearly always protect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Ints
from cellward.protect.lattice.any_table import KNOWN, any_table, near_table
from cellward.protect.lattice.capacity import Capacity
from cellward.protect.lattice.chain_rows import chain_rows, opened
from cellward.protect.lattice.engines import ENGINES, solve
from cellward.protect.lattice.level_rows import LevelRow, level_rows
from cellward.protect.lattice.linear import Row, independent, no_good, row_of
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.portfolio import searcher_of
from cellward.protect.lattice.problem import Found, LatticeEngine, LatticeProblem
from cellward.protect.lattice.vertex import lp_solver, relax
from cellward.protection import Protection
from cellward.solve.budget import Budget

Audited = Callable[[Ints, str], Protection]
"""A table, found by the engine named, as a result, which can tell whether it is shown to meet every level."""

MOST_ROUNDS = 60
"""Rounds of cuts at the root."""
LEAST_GAIN = 1e-4
"""A round that raises the root's bound by less than this share of it, three times in a row, is the last."""
MOST_NO_GOODS = 3000
LARGE = 4000
"""Columns from which a second search is too dear, if the equations are no network: the first one is made with the levels in view."""
SOME_SHARE, MEND_SHARE, BETTER_SHARE, AUDIT_SHARE = 0.6, 0.3, 0.8, 0.85
"""Of the time left, the part of the search for some table, of that for one near it, of that for a better one, and the part that showing the levels of
one table may take."""
FAR_OFF = 0.075
"""Where a table has more than this share of its cells beyond the multiples next to the true values, a better one is not looked for among these."""
LEAST_S, SHOWN_AGAIN = 2.0, 1.3
"""Less than this is too little for a better table, which may take so many times longer to be shown than the first."""


@dataclass
class ProtectedSearch:
    """One model, the levels it has to meet, and the cuts found so far."""

    model: LatticeModel
    guards: Sequence[Capacity]
    audited: Audited
    budget: Budget
    engines: Sequence[LatticeEngine] = ENGINES
    first_share: float = 1.0
    """The part of the time in which some table must be shown to protect; better ones are looked for in all of it."""
    rows: list[Row] = field(default_factory=list)
    cuts: int = 0
    no_goods: int = 0
    stuck: bool = False
    """Whether tables that fail can no longer be cut off one by one: too many, or with too many steps in a cell."""
    doubtful: bool = False
    """Whether a table was cut off that may be protected after all."""
    last: Protection | None = None
    """The table audited last."""
    missing: str = ""
    """What the last table cut off by itself failed in."""
    _seen: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.whole = self.budget
        if self.budget.left is not None and self.first_share < 1.0:
            self.budget = self.budget.part(self.first_share * self.budget.left)

    def solve(self) -> Found:
        """The least protected rounding, or what the limit left of it."""
        found = self._first()
        # With many attackers the audit's exchanges show in seconds what takes a linear program each here.
        if found.x is None or self._protects(found) or self._passes(found):
            return found
        least = found.bound
        self._add(one.row for one in self.level_rows)
        if self._root() == "infeasible":
            none = Found("infeasible", f"HiGHS LP with {self._cuts_in_words}")
            return self._doubted(none, least) if self.doubtful else none
        while True:
            found = solve(self._problem, self.budget, self.engines)
            named = replace(found, engine=f"{found.engine} with {self._cuts_in_words}")
            if found.x is None or self._passes(found):
                return self._doubted(named, least) if self.doubtful else named
            if self.budget.over or self.stuck:
                return Found("unknown", named.engine)

    def _first(self) -> Found:
        """The least rounding without a look at the levels; of a large problem one that keeps to what they say of single equations."""
        plain = self._problem
        if plain.size < LARGE or plain.network is not None or not self.guards:
            return solve(plain, self.budget, self.engines)
        near = self.model.around
        if near is not self.model and self.model.known is None:
            found = self._anytime(LatticeProblem(near, self._rows_of(near)))
            if found.x is not None:
                return found
        self._add(one.row for one in self.level_rows)
        return self._anytime(self._problem)

    def _anytime(self, problem: LatticeProblem) -> Found:
        """The best table of a large problem in a part of the time: some that is shown to protect comes first, a better one in what that leaves."""
        if self.budget.left is None:
            return self._of(problem, solve(problem, self.budget, self.engines))
        part = self.budget.part(SOME_SHARE * self.budget.left)
        some = self._of(problem, any_table(problem, part, searcher_of(self.engines)))
        if some.status == "infeasible" or some.x is None:
            return some
        began = self.budget.spent
        if not self._protects(some):
            some = self._of(problem, self._mended(problem, some))
        took = self.budget.spent - began
        return self._improved(problem, some, took) if self._protects(some) else some

    def _improved(self, problem: LatticeProblem, some: Found, took: float) -> Found:
        """The best that the time allows, among the multiples next to the true values first, of a table that took so many seconds to be shown."""
        assert some.x is not None
        for better_of in (self._nearer(problem, some.x), problem):
            safe, better = self.last, None if better_of is None else self._better(better_of, some, took)
            if better is None:
                continue
            if self._protects(better):
                return better
            self.last = safe
            some = replace(some, bound=better.bound, multipliers=better.multipliers)
        return some

    def _nearer(self, problem: LatticeProblem, x: Ints) -> LatticeProblem | None:
        """The problem of the multiples next to the true values, where a table is not far from these."""
        near = self.model.around
        if problem.model is not self.model or near is self.model:
            return None
        v = self.model.values(x)
        beyond = (v < near.allowed.lo) | (v > near.allowed.hi)
        return LatticeProblem(near, self._rows_of(near)) if float(np.mean(beyond)) <= FAR_OFF else None

    def _better(self, problem: LatticeProblem, some: Found, took: float) -> Found | None:
        """A better table than one that took so many seconds to be shown; None where there is no time to show another, or none was found."""
        assert some.x is not None
        left = self.whole.left or 0.0
        spare = min(BETTER_SHARE * left, left - SHOWN_AGAIN * took)
        if spare < LEAST_S:
            return None
        known = (
            replace(problem.model, known=self.model.values(some.x)) if problem.model is self.model else problem.model
        )
        if len(known.columns) != len(problem.model.columns):
            known = problem.model
        found = solve(LatticeProblem(known, problem.rows), self.whole.part(spare), self.engines)
        named = replace(found, engine=found.engine.replace(KNOWN, some.engine))
        better = self._of(problem, named)
        if better.x is None or np.array_equal(better.x, some.x) or self._cost(better.x) >= self._cost(some.x):
            return None
        return better

    def _cost(self, x: Ints) -> int:
        return self.model.objective(self.model.values(x))

    def _mended(self, problem: LatticeProblem, found: Found) -> Found:
        """The table changed around levels that it is not shown to meet, again and again."""
        assert found.x is not None
        x, seen = problem.model.steps_of(self.model.values(found.x)), {row.mark for row in problem.rows}
        unshown = np.zeros(0, np.int64)
        while not self.budget.over:
            v = problem.model.values(x)
            found_rows = (chain_rows(problem.model, guard, v, unshown, self._over) for guard in self.guards)
            rows = [one.row for some in found_rows for one in some]
            if rows and problem.model is self.model:
                self.cuts += self._add(rows)
            if not rows and not len(unshown):
                if self._protects(self._of(problem, replace(found, x=x))):
                    break
                assert self.last is not None
                unshown = self.last.unshown
                continue
            if (
                not rows
            ):  # not what every table has to satisfy, but what may help this one; nothing is concluded from it
                rows = opened(problem.model, x, self.guards, unshown)
            rows = [row for row in rows if row.mark not in seen]
            seen.update(row.mark for row in rows)
            problem = LatticeProblem(problem.model, (*problem.rows, *rows))
            mended = near_table(problem, x, self._share, searcher_of(self.engines)) if rows else None
            if mended is None or mended.x is None:
                break
            x, found, unshown = mended.x, mended, unshown[:0]
        return replace(found, x=x)

    def _of(self, problem: LatticeProblem, found: Found) -> Found:
        """An answer to a problem of fewer values as one of the model: the least of those need not be the least."""
        if problem.model is self.model:
            return found
        if found.x is None:
            return replace(found, status="unknown")
        x = self.model.steps_of(problem.model.values(found.x))
        return replace(found, status="feasible", x=x, bound=self.model.least_by(found.multipliers))

    def _over(self) -> bool:
        return self.budget.over

    @property
    def _share(self) -> Budget:
        left = self.budget.left
        return self.budget if left is None else self.budget.part(MEND_SHARE * left)

    @cached_property
    def level_rows(self) -> list[LevelRow]:
        """What the levels say of single equations."""
        return [one for guard in self.guards for one in level_rows(self.model, guard)]

    def _rows_of(self, model: LatticeModel) -> tuple[Row, ...]:
        return tuple(one.row for guard in self.guards for one in level_rows(model, guard))

    @property
    def _problem(self) -> LatticeProblem:
        """With the rows so far."""
        return LatticeProblem(self.model, tuple(self.rows))

    def _doubted(self, found: Found, least: int | None) -> Found:
        """What is left of an answer when tables may have been cut off wrongly: none exists no more, nor is it the least."""
        if found.status == "infeasible":
            return replace(found, status="unknown")
        return replace(found, status="feasible", bound=least) if found.status == "optimal" else found

    @property
    def _cuts_in_words(self) -> str:
        counts = ((self.cuts, "cut", ""), (self.no_goods, "table", " cut off"))
        return " and ".join(f"{n} {what}{'' if n == 1 else 's'}{end}" for n, what, end in counts if n) or "no cuts"

    def _audit(self, found: Found) -> Protection:
        assert found.x is not None
        v = self.model.values(found.x)
        if self.last is None or self.last.scaled is None or not np.array_equal(self.last.scaled, v):
            before = None if self.last is None else self.last.shown.found
            self.last = self.audited(v, found.engine)
            self.last.shown.after(before)
            if not self.last.ignore_levels and self.budget.left is not None:
                # One table that is hard to judge must not take the time of all others.
                showing = self.budget.showing
                self.last.within(showing.part(AUDIT_SHARE * (showing.left or 0.0))).protected  # noqa: B018
                self.last.within(showing)
        return self.last

    def _protects(self, found: Found) -> bool:
        """Whether a table is shown to protect, as far as it has to."""
        made = self._audit(found)
        return made.ignore_levels or made.protected is not False

    def _passes(self, found: Found) -> bool:
        """Whether the levels hold; where they do not, the rows that cut the table off are added."""
        assert found.x is not None
        v = self.model.values(found.x)
        if self._separate(v):
            return False
        if self._protects(found):
            return True
        made = self._audit(found)
        self.doubtful |= made.unsettled
        self.missing = made.missing[0]
        column = self._deciding
        self.no_goods += 1
        self.stuck = self.no_goods > MOST_NO_GOODS or bool((self.model.columns.top[column] > 1).any())
        if not self.stuck:
            self.rows += no_good(self.model, self.model.steps_of(v), column)
        return False

    @cached_property
    def _deciding(self) -> Ints:
        """The columns of cells that stand in a block of equations with a cell at risk."""
        relations = self.model.instance.relations
        block = relations.blocks()
        cells = [asked.cell[asked.cell < relations.cells] for guard in self.guards for asked in guard.asked]
        sums = [one.cell for one in self.model.instance.sensitivity.sums]
        risky = np.concatenate([*cells, *sums, np.zeros(0, np.int64)])
        return np.flatnonzero(np.isin(block, block[risky])[self.model.columns.cell])

    def _separate(self, v: NDArray[np.float64] | Ints) -> int:
        """Add the cuts that v violates; how many there are."""
        fresh = 0
        for guard in self.guards:
            for cut in guard.cuts(v, self.budget):
                row = row_of(self.model, cut)
                if row is not None:
                    fresh += self._add((row,))
        self.cuts += fresh
        return fresh

    def _add(self, rows: Iterable[Row]) -> int:
        """Rows that are not there yet; how many there were."""
        new = [row for row in rows if row.mark not in self._seen]
        self._seen.update(row.mark for row in new)
        self.rows += new
        return len(new)

    def _root(self) -> str:
        """Cuts at the linear relaxation, until none is violated or they no longer raise its bound."""
        model, last, poor = self.model, -np.inf, 0
        equations, solver = independent(model.instance.relations), lp_solver(self.engines)
        for _ in range(MOST_ROUNDS):
            if any(row.never(model.columns) for row in self.rows):
                return "infeasible"
            vertex = relax(self._problem, self.budget, equations, solver)
            if vertex.x is None:
                return vertex.status
            bound = float(model.columns.cost @ vertex.x)
            poor = poor + 1 if bound - last < LEAST_GAIN * max(abs(bound), 1.0) else 0
            last = bound
            if poor >= 3 or self.budget.over or not self._separate(self._values(vertex.x)):
                return "optimal"
        return "optimal"

    def _values(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values between the allowed ones."""
        moved = np.bincount(self.model.columns.cell, x, minlength=self.model.instance.cells)
        return np.asarray(self.model.allowed.lo + self.model.r * moved)
