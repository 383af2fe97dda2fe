"""What a solver answers: a status in one word, a point, a bound, and the residuals we measured ourselves; engines that tell more extend it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from cellward.exact import Floats

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """One solver's answer to one model.

    ``optimal``: a point, and the engine's proof of it within its tolerance. ``feasible``: a point within tolerance, no proof. ``infeasible``: the
    engine claims that no point exists. ``unknown``: nothing was found; a point, where there is one, violates the model and is there to be looked at.
    ``bound`` is the engine's lower bound on the optimum (−inf when it has none; of a maximum an upper one).
    ``residual`` is the largest violation of rows, bounds and integrality at ``x``, computed by us and not by the solver (nan without a point).
    ``limit_reached``: a limit of time or work ended the search. ``interrupted``: the user pressed Ctrl-C and the solver was stopped for it; whoever
    sees this must not go on to the next question. ``row_duals``: one multiplier a row y, with reduced costs cost − Aᵀ·y; of an infeasible model
    they contradict it.
    """

    status: Status
    x: Floats | None = field(default=None, repr=False)
    objective: float = float("nan")
    bound: float = float("-inf")
    residual: float = float("nan")
    seconds: float = 0.0
    solver: str = ""
    limit_reached: bool = False
    interrupted: bool = False
    row_duals: Floats | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """How far objective and bound are apart, as a share of the objective (nan without a point).

        >>> Outcome(status="feasible", objective=8.0, bound=6.0).gap
        0.25
        """
        apart = abs(self.objective - self.bound)
        if apart == 0:
            return 0.0
        return apart / abs(self.objective) if self.objective else float("inf")
