"""One attempt at an adjustment: senses and levels, the continuous optimum, flips where senses do not go together, and the values published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cellward import exact
from cellward.audit.bound import farkas_leaf
from cellward.errors import InputError
from cellward.exact import LARGEST, Bools, Floats, Ints, Numbers
from cellward.instance import Instance
from cellward.objective import Objective
from cellward.protect.adjustment import engines, publish
from cellward.protect.adjustment.caps import CHANGES, Caps, headlines
from cellward.protect.adjustment.choice.choose import Chosen, choose
from cellward.protect.adjustment.choice.slack import Wish
from cellward.protect.adjustment.choice.tree import preorder
from cellward.protect.adjustment.conflict import Conflict
from cellward.protect.adjustment.continuous import AdjustmentProblem, Continuous, Form, PublishedGrid, untouched
from cellward.protect.adjustment.details import AdjustmentDetails
from cellward.protect.adjustment.distance import Distance
from cellward.protect.adjustment.equation import nearest_whole
from cellward.protect.adjustment.insiders import Guesses, guesses, worked_out
from cellward.protect.adjustment.needs import DOWN, UP, Needs, Room, capped_room, drawn_levels, free_room, given_senses
from cellward.protect.adjustment.obstacles import obstacles, obstacles_of_one, together
from cellward.protect.adjustment.repaired import Lowered
from cellward.protect.adjustment.senses import Senses
from cellward.protect.adjustment.turning import conflicting
from cellward.protect.adjustment.widened import padded, widened, with_needs_of_sums
from cellward.protect.attempt import Attempt
from cellward.protect.draws import Draws
from cellward.protect.named_cells import named_cells
from cellward.protection import Failure, Protection
from cellward.publication.allowed import AllowedSet, Gaps
from cellward.publication.knowledge import Knowledge
from cellward.publication.values import Values
from cellward.risk.attacker import Attacker
from cellward.solve.blas import blas_threads
from cellward.solve.budget import Budget
from cellward.table.cell_sums import add_up
from cellward.table.relations import Relations

if TYPE_CHECKING:
    from cellward.protect.adjustment.method import ControlledAdjustment


PLAIN_PLACES, MOST_PLACES = 3, 7
"""Decimals more than the table's that an optimum may turn out to have, and those published where it has no end of them."""
PLAIN = 1e-7
"""How near to such a value an optimum must be."""
NEARLY = (1e-5, 1e-3)
"""The same where nothing else leads to a table."""
OPTIMAL = 1e-6
"""What is published of a continuous optimum is called optimal when it is dearer by at most this share."""
MOST_ROUNDINGS = 25
"""How often an optimum is moved inside, so that its leaves can be rounded."""
FEW_CELLS, SNAPPING_S = 600, 20.0
"""Cells that move up to which the least table on the grid is looked for, and for how long."""
SHOWN = 3
MOST_TURNED = 1 / 8
"""The share of the cells at risk that is turned at most for the sake of caps: in small tables senses would be few that anyone has to guess."""
FEW_SENSES = 20
"""Cells at risk up to which a share of them says little."""
CAPPED = 0.8
"""The share of the time left after which a table is looked for without caps."""
LARGEST_WEIGHT = 10**18
"""Weights that would become larger lose their last digits."""


@dataclass(frozen=True)
class AdjustmentAttempt(Attempt):
    """One adjustment of one instance."""

    method: ControlledAdjustment
    insiders: tuple[Attacker, ...] = ()
    """Attackers that know cells, against whom nothing is claimed."""
    bends: bool = False
    """Whether levels of the senses at hand are bent where they do not go together."""
    lowered: Lowered | None = None
    """Levels that gave way already."""

    # ---- what is asked -------------------------------------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> int:
        """Decimals more than the table's that are published."""
        grid = self.method.grid
        if isinstance(grid, str) and grid == "table":
            return 0
        if grid is None:
            most = MOST_PLACES
            while most and 4 * self._size * 10**most > LARGEST:
                most -= 1
            return most
        for places in range(MOST_PLACES + 1):
            try:
                step = exact.scale_one(grid, self.instance.decimals + places, "grid", strict=True)
            except InputError:
                continue
            if not 0 < step <= LARGEST:
                break
            if places and 2 * self._size * 10**places > LARGEST:
                raise InputError(
                    f"grid={grid!r}: values as large as these have no room for so many decimals; give a coarser grid, or 'table'"
                )
            return places
        raise InputError(
            f"grid={grid!r}: give a positive number of at most {self.instance.decimals + MOST_PLACES} decimals, such as 1, 'table' or None"
        )

    @cached_property
    def _size(self) -> int:
        i = self.instance
        return max(int(np.abs(i.a).max(initial=1)), int(np.abs(i.relations.rhs).max(initial=1)))

    @cached_property
    def fine(self) -> Instance:
        """The instance in the unit of what is published."""
        return self.instance.finer(self.places)

    @cached_property
    def wide(self) -> Instance:
        """The same with its sums at risk as further cells: what is adjusted."""
        return widened(self.fine)

    @property
    def draws(self) -> Draws:
        """Secret draws for cells and sums."""
        return Draws(self.key, self.wide.labels)

    @property
    def factor(self) -> int:
        """How many of these make one of the table's."""
        return int(10**self.places)

    @cached_property
    def step(self) -> int:
        """The grid, in that unit."""
        if self.method.grid is None or (isinstance(self.method.grid, str) and self.method.grid == "table"):
            return 1
        return int(exact.scale_one(self.method.grid, self.fine.decimals, "grid", strict=True))

    @cached_property
    def origin(self) -> Ints:
        """What values on the grid are multiples of it away from: 0, or the true values where deviations are on it."""
        return self.wide.a if self.method.grid_of == "deviations" else np.zeros_like(self.wide.a)

    @property
    def needs(self) -> Needs:
        """Which cells and sums must move, and how far at least."""
        if self.lowered is None:
            return self._asked_first
        left = (self.lowered.up > 0) | (self.lowered.down > 0)
        return Needs(self.lowered.cell[left], self.lowered.up[left], self.lowered.down[left])

    @cached_property
    def _asked_first(self) -> Needs:
        """The same before any level gave way."""
        i, attackers = self.fine, (*self.fine.attackers, *self._insiders_finer)
        needs = Needs.of(replace(i, attackers=attackers))
        return with_needs_of_sums(needs, attackers, i.sensitivity.sums, i.cells)

    @cached_property
    def _insiders_finer(self) -> tuple[Attacker, ...]:
        return tuple(attacker.times(self.factor) for attacker in self.insiders)

    @cached_property
    def _kept(self) -> Bools:
        return self.method.fixed_cells(self.instance)

    @cached_property
    def still(self) -> Bools:
        """Cells that stay: fixed ones, and zeros that are not at risk."""
        fixed = self._kept if self.method.soft_margins is None else self.instance.sensitivity.fixed
        stays = self._over_sums(fixed)
        if self.method.zeros_stay:
            zero = self.wide.a == 0
            zero[self._asked_first.cell] = False
            stays = stays | zero
        return stays

    @cached_property
    def one_way(self) -> tuple[Bools, Bools]:
        """Cells that may only go up, and those that may only go down."""
        rises, falls = self.method.one_way(self.instance)
        return self._over_sums(rises), self._over_sums(falls)

    def _over_sums(self, cells: Bools) -> Bools:
        """A choice of cells among those and the sums."""
        return np.concatenate((cells, np.zeros(self.wide.cells - len(cells), bool)))

    @cached_property
    def free(self) -> tuple[Ints, Ints]:
        """What cells may move by but for their levels."""
        lo, hi = free_room(self.wide, self.still)
        rises, falls = self.one_way
        lo, hi = np.where(rises, np.maximum(lo, 0), lo), np.where(falls, np.minimum(hi, 0), hi)
        if self.method.max_change is None:
            return lo, hi
        return capped_room(self.wide.a, (lo, hi), self.method.decimal("max_change"), self.needs.cell, self.fine.cells)

    @cached_property
    def distance(self) -> Distance:
        """What is made small."""
        o, i = self.method, self.instance
        weight, second, places = i.weight, i.weight, i.weight_decimals
        if o.second_weights is not None:
            numbers = Numbers.read(
                np.asarray(o.second_weights).ravel(), lambda k: f"second weight of {i.labels.name(k)}"
            )
            more = numbers.decimals - places
            second = numbers.scaled() * 10 ** max(-more, 0)
            weight, places = weight * 10 ** max(more, 0), max(places, numbers.decimals)
            if len(second) != i.cells or int(second.min(initial=0)) < 0:
                raise InputError(f"second_weights: give one number of at least 0 for each of {i.cells} cells")
        if o.subset is not None:
            inside = np.zeros(i.cells, bool)
            inside[named_cells(i, o.subset, "subset")] = True
            second = np.where(inside, second, 0)
        if o.soft_margins is not None:
            dearer = np.where(self._kept & ~i.sensitivity.fixed, o.soft_margins, 1.0)
            most = float(max((w * dearer).max(initial=0.0) for w in (weight, second)))
            cut = max(0, int(np.ceil(np.log10(max(most, 1.0) / LARGEST_WEIGHT))))
            weight, second = (np.rint(w * dearer / 10.0**cut).astype(np.int64) for w in (weight, second))
            places -= cut
        sensitive = np.zeros(self.wide.cells, bool)
        sensitive[self.needs.cell] = True
        if len(weight) < self.wide.cells:
            weight, second = (padded(w, self.wide.cells) for w in (weight, second))
        shares = (o.decimal("first"), o.decimal("second")) if o.norm == "l1-2" else (Fraction(1), Fraction(0))
        delta = o.decimal("delta") if o.norm == "huber" else Fraction(0)
        return Distance(o.norm, weight, second, places, sensitive, shares, delta)  # type: ignore[arg-type]

    @cached_property
    def relations(self) -> Relations:
        """M·z = 0."""
        r = self.wide.relations
        return r if not r.rhs.any() else Relations(r.cells, r.indptr, r.indices, r.coefs, np.zeros_like(r.rhs))

    def problem(self, room: Room) -> AdjustmentProblem:
        """The continuous problem with this room."""
        grid = PublishedGrid(self.wide.a - self.origin, self.step, self.factor)
        return AdjustmentProblem.of(self.relations, room, self.distance, self.instance.decimals, grid)

    @property
    def _forms(self) -> tuple[Form, ...]:
        return engines.forms_of(self.method.form)

    @property
    def asked(self) -> tuple[Ints, Ints]:
        """How far cells at risk must move up or down at least so that values on the grid are as far off as is asked; 0: not that way."""
        n, a, step = self.needs, (self.wide.a - self.origin)[self.needs.cell], self.step
        up, down = -(-(a + n.up) // step) * step - a, a - (a - n.down) // step * step
        return np.where(n.up > 0, up, 0), np.where(n.down > 0, down, 0)

    def senses(self) -> Senses:
        """Senses and levels as given or drawn."""
        cell, (lo, hi) = self.needs.cell, self.free
        jitter = self.method.jitter
        up = drawn_levels(self.draws, cell, self.needs.up, hi[cell], jitter, self.step, "up")
        down = drawn_levels(self.draws, cell, self.needs.down, -lo[cell], jitter, self.step, "down")
        asked_up, asked_down = self.asked
        up = np.where(up > 0, np.maximum(up, asked_up), 0)
        down = np.where(down > 0, np.maximum(down, asked_down), 0)
        can_up, can_down = (up > 0) & (asked_up <= hi[cell]), (down > 0) & (asked_down <= -lo[cell])
        up, down = np.minimum(up, np.maximum(hi[cell], asked_up)), np.minimum(down, np.maximum(-lo[cell], asked_down))
        secret = self.method.secret or self.method.chosen
        if secret:
            drawn = self.draws.bits("sense", cell) if self.method.secret else self._begun_with(len(cell))
            sense = np.where(drawn, UP, DOWN)
            sense = np.where(can_up & ~can_down, UP, np.where(can_down & ~can_up, DOWN, sense))
        else:
            sense = given_senses(self.method.senses, self.wide, cell)
        return Senses(cell, sense, up, down, asked_up, asked_down, can_up, can_down, secret)

    def _wish(self, senses: Senses) -> Wish | None:
        """Senses as drawn, which are taken as far as that costs little; None where none are drawn."""
        if self.method.slack is None:
            return None
        order = np.argsort(self.draws.fractions("turn towards the draw", senses.cell), kind="stable")
        return Wish(senses.sense, order, float(self.method.decimal("slack")))

    def _begun_with(self, many: int) -> Bools:
        """Senses that the search for the best begins with: no matter of secrecy, so not of the key."""
        return np.random.default_rng(self.budget.seed).integers(2, size=many).astype(bool)

    # ---- the way to a result -------------------------------------------------------------------------------------------------------------------

    def solve(self) -> Protection:
        """What comes of it."""
        lo, hi = self.free
        still = (lo == hi)[: self.instance.cells]
        if told := next(worked_out(self.instance, self.insiders, still, self.budget), None):
            return self._worked_out(*told)
        senses = self.senses()
        lost = senses.stuck
        if len(lost) and not self.bends:
            reason = f"the bounds of {self.names(lost)} leave no value that is far enough off; {self._remedy}"
            found = self.infeasible(
                reason, "levels of single cells", self._cells(lost), conflict=obstacles_of_one(self, int(lost[0]))
            )
            return self._with_proof(found, senses, (Conflict.of_nothing(),)) if self._cells(lost) else found
        with blas_threads(self.budget.threads):
            if not len(senses.cell):
                return self._of(engines.Sensed(untouched(self.relations), senses, Room(lo, hi)))
            best: Protection | None = None
            for caps in self._caps(senses):
                sensed = self._sensed(senses, caps)
                found = self._of(sensed)
                if found.status == "infeasible" or (caps is not None and self.budget.over):
                    return found if best is None else best
                if found.publication is not None and (
                    caps is None
                    or self.method.slack is not None
                    or sensed.senses.flipped <= MOST_TURNED * len(senses.cell)
                ):
                    return found
                best = best or (found if found.publication is not None else None)
            return best or found

    def _sensed(self, senses: Senses, caps: Caps | None) -> engines.Sensed:
        soft = self.bends
        part = self.budget if caps is None or self.budget.left is None else self.budget.part(CAPPED * self.budget.left)
        if self.method.chosen or self.method.slack is not None:
            return choose(self.problem(Room(*self.free)), senses, part, self._forms, caps, self._wish(senses))
        return engines.solve_with_senses(
            self.problem(Room(*self.free)), senses, part, self._forms, soft_levels=soft, caps=caps
        )

    def _of(self, sensed: engines.Sensed) -> Protection:
        """The table published of a continuous optimum, or why there is none."""
        answer = sensed.answer
        if answer.status == "infeasible" or answer.z is None:
            return self._without(sensed)
        made = (self._made(*one, sensed) for one in self._published(sensed))
        found = next(made, None) if self.bends or self.lowered is not None else self.first_protected(made)
        if found is not None:
            return found
        reason = f"no additive table on {self._grid_words} was found near the optimum ({answer.engine})"
        remedy = "give a grid, such as grid=1" if self.method.grid is None else "give a finer grid, or grid=None"
        remedy = "give more time" if self.budget.over else remedy
        return self.failed(f"{reason}; {remedy}", answer.engine, limit_reached=self.budget.over)

    def _caps(self, senses: Senses) -> Iterator[Caps | None]:
        """How far cells should move at most, in the order in which that is tried; in very large tables, and last, as far as they like.

        Beside senses that are given there are no caps but for headlines.
        """
        n, headline, top = self.fine.cells, np.zeros(self.wide.cells, bool), np.zeros(self.wide.cells, bool)
        if self.wide.cells < engines.DIRECT:
            if self.method.keeps != "nothing":
                moves = (self.wide.a - self.origin) % self.step != 0  # what is off the grid cannot stay
                moves[self.needs.cell] = True
                headline[:n] = headlines(self.fine.relations, first=self.method.keeps == "headlines")
                top[:n] = headlines(self.fine.relations, first=False)
                headline, top = headline & ~moves, top & headline & ~moves
            for capped in (True, False):
                if self.method.capped if capped else headline.any():
                    yield Caps.of(
                        self.wide.a,
                        Room(*self.free),
                        senses,
                        headline,
                        top,
                        n,
                        capped=capped,
                        least=2 * (self.step - 1),
                    )
        yield None

    def _with_proof(self, found: Protection, s: Senses, tree: Sequence[int | Conflict]) -> Protection:
        """The result with the tree of its certificate: branchings between the sides of cells at risk, and conflicts.

        Senses that are given are sides of ``allowed``. A proof that leans on sums at risk is not one of the table's equations alone.
        """
        n, m = self.fine.cells, self.fine.relations.equations
        conflicts = [node for node in tree if isinstance(node, Conflict)]
        if any(int(one.equation.max(initial=0)) >= m for one in conflicts):
            return found
        free = Room(*self.free)
        allowed = self.allowed(free if s.secret else s.lowered(s.asked).room(free)).permuted(np.arange(n))
        nodes = tuple(
            farkas_leaf(node.equation, node.multiplier)
            if isinstance(node, Conflict)
            else {"cell": int(s.cell[node]), "at": int(self.fine.a[s.cell[node]] - self.needs.down[node])}
            for node in tree
        )
        sought = replace(found.sought, allowed=allowed, refutation=nodes)
        return replace(found, sought=sought, shown=None)  # type: ignore[arg-type] # made of the other fields

    def stands_for(self, cell: int) -> int:
        """The cell of the table, or the first of the sum, that a cell stands for."""
        n = self.fine.cells
        return cell if cell < n else int(self.fine.sensitivity.sums[cell - n].cell[0])

    def _cells(self, cells: Ints) -> list[int]:
        """Those that are cells of the table."""
        return [int(i) for i in cells if i < self.fine.cells]

    def _worked_out(self, name: str, cell: int) -> Protection:
        named = self.instance.labels.name(cell)
        why = f"attacker {name} works out {named} from its own cells and those that stay as they are, whatever is published of the others"
        remedy = "free fixed cells, or round or perturb the table"
        return self.infeasible(f"{why}; {remedy}", "sums of what an insider knows", [cell])

    def _without(self, sensed: engines.Sensed) -> Protection:
        """Why there is no adjustment: none can be, which is proven, or none was found."""
        answer, turned = sensed.answer, sensed.turned
        if turned is not None and turned.tree:
            cells = conflicting(turned.tree, sensed.senses)
            conflict = obstacles(self, turned.tree)
            where = (
                f", {self.names(cells)} among the cells that cannot be far enough off together" if len(cells) else ""
            )
            where = f": {together(conflict)} do not go together" if conflict else where
            reason = f"no table keeps every sum and reaches every level{where} ({answer.engine}); {self._remedy}"
            return self._with_proof(
                self.infeasible(reason, answer.engine, self._cells(cells), conflict=conflict),
                turned.senses,
                turned.tree,
            )
        short = (
            ""
            if turned is None or turned.found
            else (
                f": {turned.short:,} of {len(sensed.senses.cell):,} cells at risk fall short of their levels in the nearest table seen"
            )
        )
        cap = "" if self.method.max_change is None else "give a larger max_change, "
        remedy = f"{cap}give more time, or {'ask for lower levels' if short else 'another form'}"
        reason = f"no adjustment was found{self.within} ({answer.engine}; {self.took}){short}; {remedy}"
        return self.failed(reason, answer.engine, limit_reached=self.budget.over)

    # ---- what is published ---------------------------------------------------------------------------------------------------------------------

    def allowed(self, room: Room) -> AllowedSet:
        """What may be published with this room, on the grid."""
        a = self.wide.a
        lo, hi = a + room.lo, a + room.hi
        stays = room.lo == room.hi
        step = np.where(stays, 0, self.step)
        if self.step > 1:
            o, unit = self.origin, self.step
            lo = np.where(stays, lo, o - (o - lo) // unit * unit)
            hi = np.where(stays, hi, o + (hi - o) // unit * unit)
        return AllowedSet(lo, hi, np.where(lo == hi, 0, step))

    def _published(self, sensed: engines.Sensed) -> Iterator[tuple[Ints, AllowedSet, str]]:
        """Additive tables within the room, on the grid, next to the optimum: with what was allowed, and the engine."""
        answer, room, budget = sensed.answer, sensed.room, self.budget
        allowed = self.allowed(room)
        assert answer.z is not None
        if len(allowed.empty):
            return
        problem = self.problem(room)
        if answer.whole is not None:
            yield self.wide.a + answer.whole, allowed, answer.engine
            return
        plain = publish.plain(self.wide, answer.z, self.factor, min(PLAIN_PLACES, self.places), PLAIN)
        if plain is not None and self._holds(plain, allowed):
            yield plain, allowed, answer.engine
        quick = len(problem.moving) <= FEW_CELLS or (
            self.relations.array_shape is None and self.relations.network is not None
        )
        if self.method.grid is not None and quick:
            yield from self._snapped(answer, allowed, problem, budget.part(SNAPPING_S))
        yield from self._rounded(answer, allowed, problem, budget, 1)
        if (
            self.method.grid is not None
            and not np.any((self.wide.a - self.origin)[problem.moving] % self.step)
            and not budget.over
        ):
            whole = nearest_whole(problem, answer.z, budget)
            if whole is not None and self._holds(self.wide.a + whole, allowed):
                yield self.wide.a + whole, allowed, f"{answer.engine}; on the grid by a linear program"
        yield from self._rounded(answer, allowed, problem, budget, MOST_ROUNDINGS)
        for near in NEARLY:  # where the room leaves single values, an engine comes only so near to them
            plain = publish.plain(self.wide, answer.z, self.factor, min(PLAIN_PLACES, self.places), near)
            if plain is not None and self._holds(plain, allowed):
                yield plain, allowed, answer.engine
        if not budget.over:
            yield from self._snapped(answer, allowed, problem, budget)

    def _snapped(
        self, answer: Continuous, allowed: AllowedSet, problem: AdjustmentProblem, budget: Budget
    ) -> Iterator[tuple[Ints, AllowedSet, str]]:
        """Tables on the grid by the rounding machinery, which looks for the least one next to the optimum."""
        assert answer.z is not None
        for v, engine in publish.snapped(self.wide, problem, answer.z, allowed, self.factor, budget):
            if self._holds(v, allowed):
                yield v, allowed, f"{answer.engine}; on the grid by {engine}"

    def _rounded(
        self, answer: Continuous, allowed: AllowedSet, problem: AdjustmentProblem, budget: Budget, most: int
    ) -> Iterator[tuple[Ints, AllowedSet, str]]:
        """The leaves of the optimum rounded; where that leaves the room, those of an optimum a little inside, up to ``most`` times in all."""
        leaves = publish.RoundedLeaves.of(self.wide, problem, self.factor, self.step)
        if leaves is None:
            return
        z, lo, hi, unit = answer.z, problem.lo, problem.hi, self.step / self.factor
        for turn in range(most):
            assert z is not None
            v = leaves.rounded(z)
            if self._holds(v, allowed):
                if self.method.grid is not None and self.distance.norm != "linf":
                    v = leaves.descended(v, allowed, budget)
                yield v, allowed, f"{answer.engine}; leaves rounded"
                return
            if self.method.grid is None:  # room for the rounding of its leaves costs a cell next to nothing
                margin = 2.0**turn * unit * np.sqrt(leaves.parts)
                off = np.where(problem.hi - problem.lo > 4 * margin, margin, 0.0)
                lo, hi = problem.lo + off, problem.hi - off
            else:
                below, above = (np.maximum(x, 0) / self.factor for x in (allowed.lo - v, v - allowed.hi))
                lo, hi = (
                    lo + np.where(below > 0, below + unit / 2, 0.0),
                    hi - np.where(above > 0, above + unit / 2, 0.0),
                )
            if np.any(lo > hi) or budget.over or turn + 1 == most:
                return
            z = engines.again(problem.between(lo, hi), budget, answer, self._forms).z
            if z is None:
                return

    def _holds(self, v: Ints, allowed: AllowedSet) -> bool:
        return not len(allowed.outside(v)) and not self.wide.relations.residual(v).any()

    def _made(self, v: Ints, allowed: AllowedSet, engine: str, sensed: engines.Sensed) -> Protection:
        """A table as a result; one that does not hold is the engine's fault. What stands for sums is not part of it."""
        answer, senses = sensed.answer, sensed.senses
        if sensed.chosen is not None:
            answer = replace(answer, bound=min(sensed.chosen.bound, answer.bound), whole=None)
        objective = self.distance.exact(v - self.wide.a, self.fine.decimals)
        n, m = self.fine.cells, self.fine.relations.equations
        v = v[:n]
        bound = min(Fraction(answer.bound), objective) if np.isfinite(answer.bound) else Fraction(0)
        near = Fraction(OPTIMAL) * max(objective, Fraction(1, 10**9)) if self.method.grid is None else Fraction(0)
        # On a grid whole costs may prove more than the floats of the bound tell: within their error they are the same.
        error = Fraction(OPTIMAL) / 1000 * max(objective, Fraction(1, 10**9))
        if answer.whole is not None:
            bound = objective
        status: Literal["optimal", "feasible"] = "optimal" if objective - bound <= max(near, error) else "feasible"
        units = 10 ** (self.fine.decimals + self.instance.weight_decimals)
        scale = 10.0 ** (self.instance.decimals + self.instance.weight_decimals)
        hint: tuple[tuple[int, int] | Floats, ...] = ()
        if sensed.chosen is not None:
            allowed, hint = self._over_all_senses(sensed.chosen, scale)
        sought = replace(
            self._sought(allowed.permuted(np.arange(n))),
            tree=hint,
            bound=bound * units,
            tolerance=max(near, error) * units,
            multipliers=None if answer.multipliers is None else answer.multipliers[:m] * scale,
        )
        own = senses.cell[senses.cell < n]
        guessed = self._guesses(v) if self.insiders else None
        details = AdjustmentDetails(
            form=answer.form,
            continuous=answer.objective,
            check=answer.check,
            flipped=senses.flipped,
            bent=senses.bent,
            senses={int(i): int(s) for i, s in zip(own, senses.sense[: len(own)], strict=True)},
            levels=dict(zip(own.tolist(), exact.texts(senses.least[: len(own)], self.fine.decimals), strict=True)),
            notes=(
                *self.method.readable(self.places),
                *self._moved(v),
                *self._turned(senses),
                *([] if guessed is None else [str(guessed)]),
            ),
            insiders=guessed,
        )
        told = Values(Knowledge.adjusted(v))
        made = self.result_of(told, sought, status=status, engine=engine, details=details)
        return replace(made, failure=Failure(reason=self._bent(v))) if made.protected is False else made

    def _over_all_senses(self, chosen: Chosen, scale: float) -> tuple[AllowedSet, tuple[tuple[int, int] | Floats, ...]]:
        """What may be published with any senses, and the tree that proves how near that comes, with its multipliers times ``scale``."""
        s, n, m = chosen.senses, self.fine.cells, self.fine.relations.equations
        both = s.can_up & s.can_down
        only = replace(s, up=np.where(both, -LARGEST, s.up), down=np.where(both, -LARGEST, s.down))
        room = self.allowed(only.room(chosen.room))
        a, step = self.wide.a[s.cell[both]], self.step
        below, above = (a - s.down[both]) // step * step, -(-(a + s.up[both]) // step) * step
        own = np.flatnonzero(s.cell[both] < n)
        gaps = Gaps(s.cell[both][own], below[own], above[own])
        allowed = AllowedSet(room.lo, room.hi, room.step, gaps)
        if chosen.searched is None or (s.cell >= n).any():
            return allowed, ()
        end = dict(zip(gaps.cell.tolist(), gaps.below.tolist(), strict=True))
        nodes: list[tuple[int, int] | Floats] = []
        for node in preorder(chosen.searched.root):
            if node.split is not None:
                cell = int(s.cell[node.split])
                nodes.append((cell, end[cell]))
            else:
                y = node.relaxed.multipliers
                nodes.append(np.zeros(m) if y is None else y[:m] * scale)
        return allowed, tuple(nodes)

    def _moved(self, v: Ints) -> Iterator[str]:
        """Which headline totals could not be kept, and whether other cells change by more than one would like."""
        if self.bends or self.lowered is not None:
            return
        if self.method.keeps != "nothing":
            own = headlines(self.fine.relations, first=self.method.keeps == "headlines")
            moved = np.flatnonzero(own & (v != self.fine.a))
            risky = np.isin(moved, self.needs.cell)
            if risky.any():
                yield f"{self.names(moved[risky])}: headline totals that are at risk themselves, so they could not stay as they are"
            if not risky.all():
                yield (
                    f"{self.names(moved[~risky])}: headline totals that moved, as little as was found to keep every sum and level; name those that "
                    "must not move as fixed"
                )
        if self.method.secret and self.method.max_change is None:
            safe = np.abs(v - self.fine.a) > CHANGES[0] * np.abs(self.fine.a)
            safe[self.needs.cell[self.needs.cell < self.fine.cells]] = False
            if many := int(safe.sum()):
                yield f"{many:,} cells that are not at risk change by more than {float(CHANGES[0]):.0%}; no table was found in which none does"

    def _turned(self, senses: Senses) -> Iterator[str]:
        """Whether so many senses were turned that those left are few to guess."""
        if senses.flipped > 2 * MOST_TURNED * len(senses.cell) and len(senses.cell) > FEW_SENSES:
            yield (
                f"{senses.flipped:,} of {len(senses.cell):,} cells at risk move the other way than drawn, so that senses are easier to guess; "
                "give more time, or ask for lower levels"
            )

    def _guesses(self, v: Ints) -> Guesses:
        at_risk = self.needs.cell[self.needs.cell < self.fine.cells]
        return guesses(self.fine, self._insiders_finer, at_risk, v)

    # ---- what is said --------------------------------------------------------------------------------------------------------------------------

    @property
    def _grid_words(self) -> str:
        if self.method.grid is None:
            return f"{self.fine.decimals} decimals"
        return "the table's own grid" if self.method.grid == "table" else f"multiples of {self.method.grid}"

    @property
    def _remedy(self) -> str:
        cap = "" if self.method.max_change is None else "give a larger max_change, "
        allow = "" if self.method.repairs else ", or allow soft_levels or repair='bounds'"
        return f"{cap}ask for lower levels, free fixed cells or zeros, choose other senses{allow}"

    def _bent(self, v: Ints) -> str:
        """Why what came out is not protected."""
        n = self._asked_first
        z = (add_up(v, self.fine.sensitivity.sums) - self.wide.a)[n.cell]
        near = n.cell[~(((z >= n.up) & (n.up > 0)) | ((-z >= n.down) & (n.down > 0)))]
        return f"levels had to give way so that every sum holds, those of {self.names(near)}; ask for lower levels, or free fixed cells or zeros"

    def stated(self) -> dict[str, Any]:
        """The options: nothing of senses or drawn levels."""
        return self.method.stated()

    def untold(self) -> tuple[Objective, Knowledge]:
        """Over the room of the cells."""
        a, n = self.fine.a, self.fine.cells
        lo, hi = (end[:n] for end in self.free)
        return self._sought(AllowedSet(a + lo, a + hi, (lo < hi).astype(np.int64))), Knowledge.adjusted(a)

    def _sought(self, allowed: AllowedSet) -> Objective:
        linear = self.distance.norm == "l1" and self.method.soft_margins is None
        measure = None if linear else self.distance.permuted(np.arange(self.fine.cells))
        return Objective(allowed=allowed, measure=measure, search=False)

    def names(self, cells: Sequence[int] | Ints) -> str:
        """A few cells, or sums, by name."""
        n, sums = self.instance.cells, self.instance.sensitivity.sums
        if not sums or not len(cells) or int(np.max(np.asarray(cells)[:SHOWN])) < n:
            return super().names(cells)
        named = (
            self.instance.labels.name(i)
            if i < n
            else f"the sum of {super(AdjustmentAttempt, self).names(sums[i - n].cell)}"
            for i in map(int, cells[:SHOWN])
        )
        return f"{', '.join(named)}{'' if len(cells) <= SHOWN else f' and {len(cells) - SHOWN} more'}"
