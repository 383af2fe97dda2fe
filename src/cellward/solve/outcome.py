"""What a solver answers: a status in one word, a point, a bound, and the residuals we measured ourselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """One solver's answer to one model.

    ``optimal``: the solver claims a proof. ``feasible``: a point, no proof (limit reached). ``infeasible``: the solver claims that no point exists.
    ``unknown``: a limit was reached before anything was found. ``bound`` is the solver's claimed lower bound on the optimum (−inf when it has none).
    ``residual`` is the largest violation of rows, bounds and integrality at ``x``, computed by us and not by the solver (nan without a point).
    ``interrupted``: the user pressed Ctrl-C and the solver was stopped for it; whoever sees this must not go on to the next question.
    """

    status: Status
    x: NDArray[np.float64] | None = None
    objective: float = float("nan")
    bound: float = float("-inf")
    residual: float = float("nan")
    seconds: float = 0.0
    solver: str = ""
    limit_reached: bool = False
    interrupted: bool = False
    row_duals: NDArray[np.float64] | None = field(default=None, repr=False)
