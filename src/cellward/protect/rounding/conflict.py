"""Conflict: why no rounding exists: a set of equations, or of levels, that cannot hold together, of which none can be left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellward.instance import Instance
from cellward.protect.lattice.engines import ENGINES, solve
from cellward.protect.lattice.level_rows import LevelRow
from cellward.protect.lattice.linear import blocks
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.problem import LatticeEngine, LatticeProblem
from cellward.protect.lattice.refutation import Constraints, fewest
from cellward.protect.lattice.told_box import Requirement
from cellward.solve.budget import Budget
from cellward.table.levels import Levels
from cellward.table.table import equation_text

MOST_TRIED = 300
"""Most subsets that are tried: counted, and not timed, so that the same table always gives the same sentence."""
MOST_COLUMNS = 3000
"""Larger blocks are named as a whole: each subset would take too long."""
SHOWN = 4


@dataclass(frozen=True, eq=False)
class Conflict:
    """Equations and cells, or requirements, that cannot hold together; ``smallest``: none of them can be left out."""

    equations: tuple[int, ...] = ()
    cells: tuple[int, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    smallest: bool = False

    def sentence(self, instance: Instance) -> str:
        """The conflict in words."""
        if self.requirements:
            names = [
                f"{instance.labels.name(need.cell)} against {instance.attackers[need.attacker].name}"
                for need in self.requirements
            ]
            return f"these levels cannot be met together: {_listed(names)}"
        words = [
            equation_text(instance.relations, instance.labels, j, instance.decimals) for j in self.equations[:SHOWN]
        ]
        if not self.smallest and len(self.equations) > SHOWN:
            around = instance.labels.name(self.cells[0])
            return f"the conflict lies among {len(self.equations):,} equations and {len(self.cells):,} cells around {around}"
        more = f", and {len(self.equations) - SHOWN} more" if len(self.equations) > SHOWN else ""
        cells = "one free cell" if len(self.cells) == 1 else f"{len(self.cells):,} free cells"
        return f"these sums of {cells} cannot hold together: {'; '.join(words)}{more}"


def of_equations(model: LatticeModel, budget: Budget, engines: Sequence[LatticeEngine] = ENGINES) -> Conflict:
    """Equations that no allowed values satisfy together, as few as a filter finds that tries to do without each."""
    relations = model.instance.relations
    block = blocks(model)
    touched = np.full(relations.cells, -1, np.int64)
    touched[model.columns.cell] = block

    def infeasible(kept: Sequence[int]) -> bool:
        part = replace(model.instance, relations=relations.take(np.array(kept, np.int64)))
        return solve(LatticeProblem(replace(model, instance=part)), budget, engines).status == "infeasible"

    for label in np.unique(block).tolist():
        inside = touched[relations.indices] == label
        equations = np.unique(relations.row[inside]).tolist()
        size = int((block == label).sum())
        if size > MOST_COLUMNS:
            if infeasible(equations):
                return _conflict(model, equations, smallest=False)
            continue
        if infeasible(equations):
            kept, smallest = fewest(equations, infeasible, MOST_TRIED, lambda: budget.over)
            return _conflict(model, kept, smallest=smallest)
    return _conflict(model, list(range(relations.equations)), smallest=False)


def _conflict(model: LatticeModel, equations: Sequence[int], *, smallest: bool) -> Conflict:
    relations = model.instance.relations
    chosen = np.isin(relations.row, np.array(equations, np.int64))
    cells = np.unique(relations.indices[chosen & model.free[relations.indices]])
    return Conflict(tuple(equations), tuple(cells.tolist()), smallest=smallest)


def of_levels(
    instance: Instance, asked: Sequence[Levels], infeasible: Callable[[Instance], bool], budget: Budget
) -> Conflict:
    """Requirements that no rounding meets together, as few as a filter finds; ``asked`` are the levels of each attacker."""
    every = [
        Requirement(k, *row)
        for k, levels in enumerate(asked)
        for row in zip(levels.cell.tolist(), levels.lpl.tolist(), levels.upl.tolist(), levels.spl.tolist(), strict=True)
    ]

    def without_rest(kept: Sequence[Requirement]) -> bool:
        return infeasible(asking(instance, kept))

    kept, smallest = fewest(every, without_rest, MOST_TRIED // 5, lambda: budget.over)
    return Conflict(requirements=tuple(kept), cells=tuple(sorted({need.cell for need in kept})), smallest=smallest)


def of_level_rows(model: LatticeModel, rows: Sequence[LevelRow]) -> Conflict | None:
    """Levels and sums that cannot hold together by what follows from one after the other, as few as a filter finds; None where nothing follows."""
    constraints = Constraints.of(model, [one.row for one in rows])
    found = constraints.conflict()
    if found is None:
        return None
    kept, smallest = found
    many = len(constraints.equations)
    needs = [rows[k - many].need for k in kept if k >= many]
    equations = tuple(int(constraints.equations[k]) for k in kept if k < many)
    if not needs:
        return None  # the sums alone, which the engines see too, and name
    cells = tuple(sorted({need.cell for need in needs}))
    return Conflict(equations, cells, tuple(dict.fromkeys(needs)), smallest)


def asking(instance: Instance, kept: Sequence[Requirement]) -> Instance:
    """The instance with these requirements only."""
    attackers = []
    for k, attacker in enumerate(instance.attackers):
        mine = sorted((need.cell, need.lpl, need.upl, need.spl) for need in kept if need.attacker == k)
        columns = np.array(mine, np.int64).reshape(-1, 4).T
        attackers.append(replace(attacker, levels=Levels(*(np.ascontiguousarray(column) for column in columns))))
    return replace(instance, attackers=tuple(attackers))


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
