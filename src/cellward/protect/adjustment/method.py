"""ControlledAdjustment: the options of the method; model.md beside this file holds model, guarantee and proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import Bools, Ints
from cellward.instance import Instance, Weights
from cellward.protect.adjustment.details import AdjustmentDetails
from cellward.protect.adjustment.distance import NORMS
from cellward.protect.adjustment.insiders import set_apart
from cellward.protect.adjustment.needs import Needs, given_senses
from cellward.protect.method import BatchRun, Method, TauArgus
from cellward.protect.named_cells import named_cells
from cellward.protect.option import Cells, Exact, Flag, Grid, Number, Pair, Word, WordOrNumbers, option
from cellward.protection import Protection
from cellward.publication.knowledge import Knowledge
from cellward.publication.values import Values
from cellward.solve.budget import Budget
from cellward.table.table import Table

FORMS = ("auto", "leaf", "network", "equation", "cone", "sums")
SENSES = ("secret", "up", "down", "choose")
CHOSEN = ("l1", "l2")
"""Norms under which senses can be chosen."""
GRIDS = ("values", "deviations")
KEEPS = ("headlines", "total", "nothing")
REPAIRS = ("bounds", "levels", "both")
JITTER = 1.0
MOST_DEARER = 10**6


@dataclass(frozen=True)
class ControlledAdjustment(Method):
    """Move every cell at risk at least its protection level away from the truth, and all others as little as keeps every sum.

    ``norm``: what little means: ``l1`` (Σ w|z|), ``l2`` (Σ w·z²), ``linf`` (the largest w|z| of the cells at risk plus that of the others; among
    its optima the one of least L1), ``l1-2`` (``shares`` of L1 and L2, the squares with ``second_weights`` and over ``subset`` only), ``huber``
    (the pseudo-Huber function with ``delta``). Weights are 1/max(|a|, one unit) unless others are given to ``protect``. ``senses``: which way
    cells at risk move: ``secret`` (drawn from the key), ``up``, ``down``, +1 and −1, one a cell at risk, or ``choose`` (those of least distance;
    ``optimal`` and the bound are then of all senses; norms l1 and l2). ``slack``: secret senses are drawn among those that lose at most this
    share more than the best found. ``jitter``: each cell's level is drawn from the key between its protection level and this share of it above,
    at least two steps of the grid wide; 0: the protection level itself. ``grid``: publish multiples of it; ``"table"``: of the table's last
    decimal, 1 for counts; None: the continuous optimum; ``grid_of="deviations"``: deviations are multiples of it, and not values. ``only_up``,
    ``only_down``: cells that may move one way only. ``fixed``: cells that keep their value, ``"margins"`` or cells by number or codes. ``keep``:
    totals that stay where levels allow it: ``headlines`` (the grand total and the sums it is made of; the default with secret senses), ``total``
    or ``nothing``. ``max_change``: the share of its value by which a cell that is not at risk changes at most. ``soft_margins``: fixed totals
    may move after all, at so many times their weight. ``repair``: what gives way, as little as can be, where there is no adjustment: ``bounds``
    of the table, ``levels`` (the result is then not protected, and not released), or ``both``, levels last; ``soft_levels`` is
    ``repair="levels"``. ``zeros_stay``: cells of 0 stay 0. ``form``: leaf, network, equation, cone or sums; ``auto`` chooses by structure. What
    attackers ask that know cells is kept as a distance; nothing more is claimed against them.

    For figures as in the papers: ``ControlledAdjustment(senses="up", jitter=0, grid=None)``.

    >>> from cellward import Table
    >>> table = Table.from_equations([10, 20, 30], [[1, 1, -1]], sensitive=[0], lpl=[2], upl=[2])
    >>> p = ControlledAdjustment(senses="up", jitter=0).protect(table)
    >>> p.status, p.values.tolist(), p.protected
    ('optimal', [12, 20, 32], True)
    """

    word: ClassVar[str] = "adjust"
    title: ClassVar[str] = "controlled tabular adjustment"
    summary: ClassVar[str] = (
        "Move the cells at risk at least their protection levels away from the truth, and all others as little as keeps every sum."
    )
    default_weights: ClassVar[Weights] = "relative"
    tauargus: ClassVar[tuple[TauArgus, ...]] = (TauArgus("CTA", "_CTA"),)
    one_sided: ClassVar[bool] = True
    resumes: ClassVar[bool] = True

    norm: str = option("l1", Word(NORMS), "What is made small: l1, l2, linf, l1-2 or huber.", first=True)
    senses: Any = option(
        "secret",
        WordOrNumbers(SENSES, "+1 and −1, one a cell at risk"),
        "Which way cells at risk move: secret (drawn from the key), up, down, or choose (whatever loses least).",
    )
    slack: float | None = option(
        None,
        Number(0, 10, "a share of the least distance found, such as 0.05"),
        "Draw senses among those that lose at most this share more than the best found, such as 0.05; with senses=secret.",
    )
    jitter: float = option(
        JITTER,
        Number(0, 100, "a share of the protection level from 0 (none) to 100, such as 1.0"),
        "Levels are drawn up to this share above what is asked; 0 for none.",
    )
    grid: Any = option(
        "table",
        Grid(("table",)),
        "Publish multiples of this, such as 1; table: of the table's last decimal; none: the optimum with its decimals.",
    )
    grid_of: str = option(
        "values",
        Word(GRIDS),
        "Whether values are multiples of the grid, or their deviations from the truth: values or deviations.",
    )
    shares: tuple[Any, Any] = option(
        ("0.99", "0.01"), Pair(), "Shares of distances and of squares in the norm l1-2, such as 0.99,0.01."
    )
    second_weights: Any = option(
        None, WordOrNumbers((), "one number a cell"), "Weights of the squares in the norm l1-2.", on_command_line=False
    )
    subset: Any = option(
        None, Cells(), "The cells that count among the squares of the norm l1-2.", on_command_line=False
    )
    delta: Any = option("0.001", Exact(), "Where the norm huber turns from squares to distances.")
    fixed: Any = option(
        None,
        Cells(("margins",)),
        "margins, or a cell that keeps its value (its codes A,B; its number in a JJ file); repeatable.",
    )
    only_up: Any = option(
        None, Cells(), "A cell that may only go up (its codes A,B; its number in a JJ file); repeatable."
    )
    only_down: Any = option(None, Cells(), "A cell that may only go down; repeatable.")
    keep: str | None = option(
        None,
        Word(KEEPS),
        "Totals that stay as they are where levels allow it: headlines (the grand total and the sums it is made of), total, or nothing.",
    )
    max_change: float | None = option(
        None,
        Number(0, 100, "the share by which a cell that is not at risk may change at most, such as 0.1", above=True),
        "Cells that are not at risk change by at most this share of their value, such as 0.1.",
    )
    soft_margins: float | None = option(
        None,
        Number(
            0, MOST_DEARER, f"how many times dearer fixed totals are, up to {MOST_DEARER:,}, such as 100", above=True
        ),
        "Fixed cells may move after all, at so many times their weight, such as 100.",
    )
    repair: str | None = option(
        None,
        Word(REPAIRS),
        "What gives way, as little as can be, where there is no adjustment: bounds, levels, or both (levels last); with lower levels nothing is "
        "released.",
    )
    soft_levels: bool = option(
        False, Flag(), "The same as --repair levels: say how near a table comes; it is not released."
    )
    zeros_stay: bool = option(True, Flag(), "Whether cells of 0 stay 0.")
    form: str = option("auto", Word(FORMS), "leaf, network, equation, cone or sums; auto chooses by structure.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for one in fields(self):
            norm = {"shares": "l1-2", "second_weights": "l1-2", "subset": "l1-2", "delta": "huber"}.get(one.name)
            given = getattr(self, one.name)
            if norm not in (None, self.norm) and given is not one.default and given != one.default:
                raise InputError(f"{one.name}: it is for norm={norm!r}, and the norm is {self.norm!r}; leave it out")
        if self.slack is not None and not self.secret:
            raise InputError("slack: it is for senses='secret', which are drawn; leave it out")
        if (self.chosen or self.slack is not None) and (self.norm not in CHOSEN or self.soft_levels):
            what = "senses='choose'" if self.chosen else "slack"
            why = "soft_levels" if self.soft_levels else f"norm={self.norm!r}"
            raise InputError(f"{what} does not go with {why}; use the norm l1 or l2, or leave it out")
        if self.soft_margins is not None and self.fixed is None:
            raise InputError(
                "soft_margins: no cells are fixed that could move after all; give fixed='margins' too, or leave it out"
            )

        if self.soft_levels and self.repair == "bounds":
            raise InputError("soft_levels: repair='bounds' says that levels do not give way; write repair='both'")

    @property
    def repairs(self) -> tuple[str, ...]:
        """What may give way, in this order."""
        if self.repair is None:
            return ("levels",) if self.soft_levels else ()
        return ("bounds", "levels") if self.repair == "both" else (self.repair,)

    def accepts(self, instance: Instance) -> str | None:  # noqa: ARG002
        """Any table."""
        return None

    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """The nearest table in which every cell at risk is off by its level; or that there is none."""
        from cellward.protect.adjustment.attempt import AdjustmentAttempt  # loads scipy
        from cellward.protect.adjustment.repaired import solve_and_repair

        outside, insiders = set_apart(instance)
        return solve_and_repair(AdjustmentAttempt(self, outside, budget, key, insiders))

    def faced(self, instance: Instance) -> Instance:
        """Each attacker by itself: of two levels of a cell neither stands for the other where values are kept off by distance."""
        return instance

    def covered(self, instance: Instance) -> Instance:
        """Without those that know cells, of whom nothing is claimed."""
        return set_apart(instance)[0]

    def permuted(self, instance: Instance, order: Ints) -> Self:
        """Senses of the cells at risk alone become one a cell, which follows the cells."""
        if isinstance(self.senses, str):
            return super().permuted(instance, order)
        cell = Needs.of(instance).cell
        senses = np.ones(instance.cells, np.int64)
        senses[cell] = given_senses(self.senses, instance, cell)
        return replace(super().permuted(instance, order), senses=senses[order])

    def fixed_cells(self, instance: Instance) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which cells keep their value."""
        out = instance.sensitivity.fixed.copy()
        if self.fixed is None:
            return out
        if isinstance(self.fixed, str):
            return np.asarray(out | (instance.relations.height > 0))
        out[named_cells(instance, self.fixed, "fixed")] = True
        return out

    def one_way(self, instance: Instance) -> tuple[Bools, Bools]:
        """Which cells may only go up, and which only down."""
        up, down = np.zeros((2, instance.cells), bool)
        up[named_cells(instance, self.only_up or (), "only_up")] = True
        down[named_cells(instance, self.only_down or (), "only_down")] = True
        return up, down

    def decimal(self, name: str) -> Fraction:
        """An option that is a decimal number, exactly."""
        options = {
            "delta": self.delta,
            "first": self.shares[0],
            "second": self.shares[1],
            "max_change": self.max_change,
            "slack": self.slack,
        }
        given, what = options[name], "shares" if name in ("first", "second") else name
        number = Fraction(exact.scale_one(given, 12, what, strict=True), 10**12)
        if number < 0 or (name == "delta" and number == 0):
            raise InputError(f"{what}: {given} is not a positive number; give one such as 0.001")
        return number

    @property
    def keeps(self) -> str:
        """Which totals stay where they can: unless told, headlines; nothing beside senses that are given, as the papers have it."""
        return self.keep or ("headlines" if self.secret else "nothing")

    @property
    def capped(self) -> bool:
        """Whether cells that are not at risk are held near their values as far as that goes: where senses are drawn."""
        return self.secret

    @property
    def secret(self) -> bool:
        """Whether senses are drawn from the key."""
        return isinstance(self.senses, str) and self.senses == "secret"

    @property
    def gives_senses(self) -> bool:
        """Whether senses are given, so that none may be turned."""
        return not isinstance(self.senses, str) or self.senses in ("up", "down")

    @property
    def chosen(self) -> bool:
        """Whether senses are those of least distance."""
        return isinstance(self.senses, str) and self.senses == "choose"

    def readable(self, places: int) -> list[str]:
        """What makes a release of these options readable for whoever knows them; ``places``: decimals more than the table's that are published."""
        out = []
        if self.chosen:
            out.append(
                "senses were chosen for the least distance: whoever knows that and the levels' rule can tell which true values lead to this table"
            )
        elif not self.secret:
            out.append(
                "senses are not secret: whoever knows them and the levels' rule comes near the true values of cells at risk"
            )
        if not self.jitter:
            out.append("levels have no jitter: whoever knows their rule reads true values off the published ones")
        if self.grid_of == "deviations" and self.grid is not None and self.grid != "table":
            out.append(
                "deviations are multiples of the grid: whoever knows it reads what is left of true values divided by it"
            )
        if places and self.norm != "l1":
            out.append(
                "values have more decimals than the table: what lies behind the true ones' last decimal are deviations"
            )
        return out

    @classmethod
    def publication(cls, stated: Mapping[str, Any], printed: Mapping[str, Any], table: Table) -> Values:  # noqa: ARG003
        """Values of which nothing more is told."""
        return Values(Knowledge.adjusted(printed["value"]))

    @classmethod
    def notes(cls, result: Protection) -> list[str]:
        """What makes a release readable."""
        return list(result.details.notes) if isinstance(result.details, AdjustmentDetails) else []

    @classmethod
    def from_batch(cls, command: str, *parameters: int) -> BatchRun:  # noqa: ARG003
        """CTA(table): the least Σ cost·|v − a| on the table's own grid.

        Senses and levels are drawn from the key; τ-ARGUS leaves senses to its solver and publishes the levels themselves, which can be undone.
        """
        return BatchRun(method=cls(), unit_costs=False)

    def says(self, instance: Instance) -> dict[str, Any]:  # noqa: ARG002
        """The options."""
        return self.stated()

    def stated(self) -> dict[str, Any]:
        """The options as the public may read them: nothing of senses or drawn levels."""
        out: dict[str, Any] = {"norm": self.norm}
        if self.norm == "l1-2":
            out["shares"] = [str(share) for share in self.shares]
        if self.repair in ("bounds", "both"):
            out["repair"] = self.repair
        if self.norm == "huber":
            out["delta"] = str(self.delta)
        if self.grid is not None and self.grid != "table" and self.grid_of == "values":
            out["grid"] = str(self.grid)
        return out
