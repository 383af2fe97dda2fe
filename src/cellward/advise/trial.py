"""Trial: one method tried on the table for some seconds: whether it protects, what that costs, or what is in the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Literal

import numpy as np

from cellward.errors import InputError, ResourceError, SolverError, VerificationError
from cellward.exact import Floats
from cellward.protect.method import Method
from cellward.protection import Protection
from cellward.risk.attacker import Attacker
from cellward.solve.budget import Budget
from cellward.table.table import Table

Answer = Literal["protects", "public only", "none exists", "undecided", "refused"]
"""Found and shown to protect; the same against the public, but not decided against all attackers; proven that there is none; not decided in its time;
not what the method is for."""


@dataclass(frozen=True)
class Cost:
    """Σ|v − a| and the largest of them in the table's units; shares are of Σ|a|: of all cells, of the sums, of the cells that are no sum."""

    sum_abs: float
    largest: float
    share: float
    totals: float
    leaves: float

    @staticmethod
    def of(table: Table, found: Protection) -> Cost:
        """What the published values cost."""
        publication, instance = found.publication, found.instance
        assert publication is not None
        unit = 10.0**instance.decimals
        moved, size = publication.deviations(instance.a) / unit, np.abs(instance.a) / unit
        sums = table.relations.height > 0
        return Cost(
            float(moved.sum()),
            float(moved.max(initial=0.0)),
            _share(moved, size),
            _share(moved[sums], size[sums]),
            _share(moved[~sums], size[~sums]),
        )


def _share(moved: Floats, size: Floats) -> float:
    whole = float(size.sum())
    return float(moved.sum()) / whole if whole else 0.0


@dataclass(frozen=True, eq=False)
class Trial:
    """``reason``: why it does not protect, with the remedy; ``cells``: where that comes from, as far as it was found."""

    method: Method
    answer: Answer
    seconds: float = 0.0
    cost: Cost | None = None
    steps: int = 1
    reason: str = ""
    cells: tuple[int, ...] = ()

    def after(self, public: Trial) -> Trial:
        """This trial against all attackers, after one against the public that protects."""
        if self.answer != "undecided":
            return self
        why = f"against all attackers not decided in {self.seconds:.0f} s, {self.reason}"
        return replace(public, answer="public only", reason=why)


def most_steps(found: Protection) -> int:
    """The most steps that a release says of any cell."""
    said = found.method.get("steps", 1)
    return max(said, default=1) if isinstance(said, list) else int(said)


@dataclass(frozen=True, eq=False)
class Trials:
    """The table, against whom it is protected (None: the public), the time there is, and the secret of draws."""

    table: Table
    attackers: Sequence[Attacker] | None
    budget: Budget
    key: bytes

    def public(self, known: Sequence[Attacker]) -> Trials:
        """The same against those who know no cells; what does not exist against them does not exist against all."""
        public = [attacker for attacker in known if not len(attacker.cell)]
        return replace(self, attackers=public) if 0 < len(public) < len(known) else self

    def of(self, method: Method, seconds: float | None) -> Trial:
        """Try a method for so many seconds of those that are left; none left: nothing is tried."""
        return self.with_result(method, seconds)[0]

    def with_result(self, method: Method, seconds: float | None) -> tuple[Trial, Protection | None]:
        """The same with what came of it, where anything did."""
        left = self.budget.left
        given = min((limit for limit in (seconds, left) if limit is not None), default=None)
        if given is not None and given <= 0:
            return Trial(method, "undecided", reason="there was no time left to try it"), None
        began = perf_counter()
        try:
            found = method.protect(
                self.table,
                attackers=self.attackers,
                time_limit_s=None if given is None else max(round(given, 2), 0.01),
                seed=self.budget.seed,
                threads=self.budget.threads,
                key=self.key,
            )
            protects = found.releasable
        except InputError as error:
            return Trial(method, "refused", perf_counter() - began, reason=str(error)), None
        except KeyboardInterrupt:  # what was found before is still worth saying
            self.budget.stop()
            return Trial(method, "undecided", perf_counter() - began, reason="it was interrupted"), None
        except (SolverError, VerificationError, ResourceError) as error:
            return Trial(method, "undecided", perf_counter() - began, reason=str(error)), None
        spent = perf_counter() - began
        if found.publication is None:
            answer: Answer = "none exists" if found.status == "infeasible" else "undecided"
            cells = () if found.failure is None else found.failure.cells
            return Trial(method, answer, spent, reason=found.reason, cells=cells), found
        if not protects:
            why = found.reason or (found.given_away if found.ignore_levels else found.missing)[0]
            return Trial(method, "undecided", spent, reason=why), found
        cost = Cost.of(self.table, found)
        return Trial(method, "protects", spent, cost, steps=most_steps(found)), found
