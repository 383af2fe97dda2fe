"""Problem: what engines are given (a model and rows that cut tables off, or one block of them), and what they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Floats, Ints
from cellward.protect.engine import Engine
from cellward.protect.lattice.linear import Row, independent, linear, tellable
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.moves import Moves
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome
from cellward.table.network import Network

LARGEST_COEFFICIENT = 10**6
"""Equations with larger coefficients cannot be told apart from their neighbours either: a solver's word that no table exists is then not taken."""


@dataclass(frozen=True, eq=False)
class LatticeProblem:
    """The least table of a model, among those that satisfy all ``rows``."""

    model: LatticeModel
    rows: Sequence[Row] = ()

    @property
    def size(self) -> int:
        """Columns to decide."""
        return len(self.model.columns)

    @cached_property
    def network(self) -> Network | None:
        """The node–arc form of the equations, where it is one of the columns too."""
        return self.model.instance.relations.network if self.model.one_step else None

    @cached_property
    def equations(self) -> Ints:
        """The equations that are left without the implied ones, those of the network where there is one."""
        return independent(self.model.instance.relations) if self.network is None else self.network.equations

    @cached_property
    def moves(self) -> Moves:
        """As a flow; for networks only."""
        assert self.network is not None
        return Moves.of(self.model, self.network)

    @property
    def no_flow(self) -> str | None:
        """Why it is no flow; None where it is one."""
        if self.rows:
            return "rows cut tables off, which a flow does not see"
        return "the equations of the columns are no network" if self.network is None else None

    @cached_property
    def tellable(self) -> bool:
        """Whether HiGHS' tolerances can tell the costs apart."""
        return tellable(self.model.columns.cost)


@dataclass(frozen=True, eq=False)
class Vertex:
    """A vertex of the linear relaxation; without ``x`` there is none, or the limit came first."""

    status: Literal["optimal", "infeasible", "unknown"]
    x: Floats | None = None
    multipliers: Floats | None = None


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of a problem that share no equation and no row with any others, ``x`` of a vertex there and the share of it that is fractional.

    ``multipliers``: those of the whole problem's equations at the vertex. ``leaf_costs``: what columns cost up to a constant (see linear.py).
    """

    problem: LatticeProblem
    part: Ints
    x: Floats
    multipliers: Floats
    fractional: float
    leaf_costs: Ints

    def question(self, costs: Ints) -> tuple[LinearModel, int, Ints]:
        """The block as solvers see it, the unit of its cost, and the equations of its first rows."""
        return linear(self.problem.model, self.problem.equations, self.part, costs, self.problem.rows)


@dataclass(frozen=True, eq=False)
class Found:
    """An engine's answer: x of all columns, and a lower bound on cost·x in the cost's own units."""

    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    engine: str
    x: Ints | None = None
    bound: int | None = None
    multipliers: Floats | None = None
    """The root's duals, one an equation, as cost per unit of v: a hint at a proof."""


LatticeEngine: TypeAlias = Engine[LatticeProblem, Found]
BlockEngine: TypeAlias = Engine[Block, Found]


def none_found(outcome: Outcome, question: LinearModel, engine: str) -> Literal["infeasible", "unknown"]:
    """No point: none exists, or the limit came first."""
    if outcome.status != "infeasible":
        return "unknown"
    if float(np.abs(question.coefs).max(initial=0.0)) > LARGEST_COEFFICIENT:
        raise SolverError(
            f"{engine} finds no table, but with coefficients beyond {LARGEST_COEFFICIENT:,} its word is not enough; nothing is released"
        )
    return "infeasible"
