"""Ask: the one way to put a question to a solver; whatever goes wrong behind it comes back as a named error, never as a wrong answer's shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cellward.errors import CellwardError, SolverError, described
from cellward.solve.budget import Budget
from cellward.solve.outcome import Outcome


def ask(
    adapter: Callable[..., Outcome],
    *question: Any,
    columns: int,
    rows: int | None = None,
    budget: Budget | None = None,
    **options: Any,
) -> Outcome:
    """``adapter(*question, **options)``: an Outcome with a finite value for each of ``columns`` variables, or with no point at all.

    A ``budget`` is the adapter's limit, and is over once Ctrl-C has ended the search. Adapters that end at once take none.

    Duals that are not a finite number for each of ``rows`` are dropped: they are hints, and nothing is believed of them unproven.
    """
    name = getattr(adapter, "__name__", type(adapter).__name__)
    try:
        outcome = adapter(*question, **options) if budget is None else adapter(*question, budget=budget, **options)
    except CellwardError:
        raise
    except Exception as error:
        raise SolverError(f"{name} failed on {columns} variables: {described(error)}") from error
    if not isinstance(outcome, Outcome):
        raise SolverError(f"{name} answered with {type(outcome).__name__} and not with an outcome")
    if (
        outcome.interrupted and budget is not None and not budget.stopped
    ):  # a part that was ended says nothing about the whole
        budget.stop()
    x, duals = outcome.x, outcome.row_duals
    if x is not None and (np.shape(x) != (columns,) or not np.isfinite(x).all()):
        raise SolverError(
            f"{name} gave a point of shape {np.shape(x)} for {columns} variables, or one that is no number"
        )
    if x is None and outcome.status in ("optimal", "feasible"):
        raise SolverError(f"{name} says {outcome.status} and gives no point")
    if duals is not None and ((rows is not None and np.shape(duals) != (rows,)) or not np.isfinite(duals).all()):
        return replace(outcome, row_duals=None)
    return outcome
