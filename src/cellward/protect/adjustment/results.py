"""The result of an adjustment: a table with what was sought, how near it comes, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from cellward import exact
from cellward.exact import LARGEST, Floats, Ints
from cellward.protect.adjustment import engines
from cellward.protect.adjustment.caps import CHANGES, headlines
from cellward.protect.adjustment.choice.choose import Chosen
from cellward.protect.adjustment.choice.tree import preorder
from cellward.protect.adjustment.details import AdjustmentDetails
from cellward.protect.adjustment.insiders import Guesses, guesses
from cellward.protect.adjustment.question import AdjustmentQuestion
from cellward.protect.adjustment.senses import Senses
from cellward.protection import Failure, Protection
from cellward.publication.allowed import AllowedSet, Gaps
from cellward.publication.knowledge import Knowledge
from cellward.publication.values import Values
from cellward.table.cell_sums import add_up

OPTIMAL = 1e-6
"""What is published of a continuous optimum is called optimal when it is dearer by at most this share."""
MOST_TURNED = 1 / 8
"""The share of the cells at risk that is turned at most for the sake of caps: in small tables senses would be few that anyone has to guess."""
FEW_SENSES = 20
"""Cells at risk up to which a share of them says little."""


@dataclass(frozen=True)
class AdjustmentResults:
    """Tables of one question as results."""

    asked: AdjustmentQuestion

    def of(self, v: Ints, allowed: AllowedSet, engine: str, sensed: engines.Sensed) -> Protection:
        """A table as a result; one that does not hold is the engine's fault. What stands for sums is not part of it."""
        answer, senses = sensed.answer, sensed.senses
        if sensed.chosen is not None:
            answer = replace(answer, bound=min(sensed.chosen.bound, answer.bound), whole=None)
        objective = self.asked.distance.exact(v - self.asked.wide.a, self.asked.fine.decimals)
        n, m = self.asked.fine.cells, self.asked.fine.relations.equations
        v = v[:n]
        bound = min(Fraction(answer.bound), objective) if np.isfinite(answer.bound) else Fraction(0)
        near = Fraction(OPTIMAL) * max(objective, Fraction(1, 10**9)) if self.asked.method.grid is None else Fraction(0)
        # On a grid whole costs may prove more than the floats of the bound tell: within their error they are the same.
        error = Fraction(OPTIMAL) / 1000 * max(objective, Fraction(1, 10**9))
        if answer.whole is not None:
            bound = objective
        status: Literal["optimal", "feasible"] = "optimal" if objective - bound <= max(near, error) else "feasible"
        units = 10 ** (self.asked.fine.decimals + self.asked.instance.weight_decimals)
        scale = 10.0 ** (self.asked.instance.decimals + self.asked.instance.weight_decimals)
        hint: tuple[tuple[int, int] | Floats, ...] = ()
        if sensed.chosen is not None:
            allowed, hint = self._over_all_senses(sensed.chosen, scale)
        sought = replace(
            self.asked.sought_within(allowed.permuted(np.arange(n))),
            tree=hint,
            bound=bound * units,
            tolerance=max(near, error) * units,
            multipliers=None if answer.multipliers is None else answer.multipliers[:m] * scale,
        )
        own = senses.cell[senses.cell < n]
        guessed = self._guesses(v) if self.asked.insiders else None
        details = AdjustmentDetails(
            form=answer.form,
            continuous=answer.objective,
            check=answer.check,
            flipped=senses.flipped,
            bent=senses.bent,
            senses={int(i): int(s) for i, s in zip(own, senses.sense[: len(own)], strict=True)},
            levels=dict(
                zip(own.tolist(), exact.texts(senses.least[: len(own)], self.asked.fine.decimals), strict=True)
            ),
            notes=(
                *self.asked.method.readable(self.asked.places),
                *self._moved(v),
                *self._turned(senses),
                *([] if guessed is None else [str(guessed)]),
            ),
            insiders=guessed,
        )
        told = Values(Knowledge.adjusted(v))
        made = self.asked.result_of(told, sought, status=status, engine=engine, details=details)
        return replace(made, failure=Failure(reason=self._bent(v))) if made.protected is False else made

    def _over_all_senses(self, chosen: Chosen, scale: float) -> tuple[AllowedSet, tuple[tuple[int, int] | Floats, ...]]:
        """What may be published with any senses, and the tree that proves how near that comes, with its multipliers times ``scale``."""
        s, n, m = chosen.senses, self.asked.fine.cells, self.asked.fine.relations.equations
        both = s.can_up & s.can_down
        only = replace(s, up=np.where(both, -LARGEST, s.up), down=np.where(both, -LARGEST, s.down))
        room = self.asked.allowed(only.room(chosen.room))
        o, step = self.asked.origin[s.cell[both]], self.asked.step
        from_o = self.asked.wide.a[s.cell[both]] - o
        below, above = o + (from_o - s.down[both]) // step * step, o - (-(from_o + s.up[both]) // step) * step
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
        if self.asked.bends or self.asked.lowered is not None:
            return
        if self.asked.method.keeps != "nothing":
            own = headlines(self.asked.fine.relations, first=self.asked.method.keeps == "headlines")
            moved = np.flatnonzero(own & (v != self.asked.fine.a))
            risky = np.isin(moved, self.asked.needs.cell)
            if risky.any():
                yield f"{self.asked.names(moved[risky])}: headline totals that are at risk themselves, so they could not stay as they are"
            if not risky.all():
                yield (
                    f"{self.asked.names(moved[~risky])}: headline totals that moved, as little as was found to keep every sum and level; "
                    "name those that must not move as fixed"
                )
        if self.asked.method.secret and self.asked.method.max_change is None:
            safe = np.abs(v - self.asked.fine.a) > CHANGES[0] * np.abs(self.asked.fine.a)
            safe[self.asked.needs.cell[self.asked.needs.cell < self.asked.fine.cells]] = False
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
        at_risk = self.asked.needs.cell[self.asked.needs.cell < self.asked.fine.cells]
        return guesses(self.asked.fine, self.asked.insiders_finer, at_risk, v)

    def _bent(self, v: Ints) -> str:
        """Why what came out is not protected."""
        n = self.asked.asked_first
        z = (add_up(v, self.asked.fine.sensitivity.sums) - self.asked.wide.a)[n.cell]
        near = n.cell[~(((z >= n.up) & (n.up > 0)) | ((-z >= n.down) & (n.down > 0)))]
        named = self.asked.names(near)
        return f"levels had to give way so that every sum holds, those of {named}; ask for lower levels, or free fixed cells or zeros"
