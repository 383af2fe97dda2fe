"""SuppressionProblem: which cells to withhold, and Pattern: the answer with what it proves; the seam between the method and its engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cellward.audit.evidence import Evidence
from cellward.exact import Bools, Ints
from cellward.instance import Instance


@dataclass(frozen=True, eq=False)
class SuppressionProblem:
    """Which cells to withhold: the instance, what withholding a cell costs, and which cells may and must be."""

    instance: Instance
    """Sums of cells at risk are cells of it already (audit/sums_as_cells.py); its attackers are those to guard against."""
    cost: Ints
    """What withholding a cell costs, ≥ 0 whole numbers."""
    candidate: Bools
    """Cells that may be withheld (cells at risk always may); published zeros are not, unless asked."""
    forced: Bools
    """Cells that must be withheld: those at risk, and those the user says."""
    exact_only: bool = False
    """Guard against exact disclosure only (what GaussSuppression promises), not the levels."""


@dataclass(frozen=True, eq=False)
class CapacityCut:
    """Σ coef·x ≥ least over 0–1 x (1: withheld), which every safe pattern satisfies; why: the requirement and multipliers of the equations from which
    it is derived anew."""

    attacker: int
    cell: int
    sense: str
    """``up``, ``down`` or ``slide``; ``bridge``: no level, but that a cell is not alone in a combination of equations."""
    multipliers: tuple[tuple[int, int], ...]
    """(equation, whole multiplier)."""
    scale: int
    """The common denominator of the multipliers."""
    covered: tuple[int, ...] = ()
    """Cells that count as withheld: what is asked is left to the others."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """What a search found; where it is the linear one, ``weights`` (over ``weight_scale``) of the cuts prove the bound."""

    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    engine: str
    withheld: Bools | None = None
    bound: int | None = None
    """No safe pattern costs less."""
    cuts: tuple[CapacityCut, ...] = ()
    weights: tuple[int, ...] = ()
    weight_scale: int = 1
    reason: str = ""
    """Why infeasible: names the cell."""
    evidence: Evidence | None = None
    """What shows the levels, where it was looked for already."""
