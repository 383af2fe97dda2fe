"""Engine: the one shape of whatever solves a problem (lattice engines, forms of an adjustment), and the choice from a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from cellward.errors import InputError
from cellward.solve.budget import Budget
from cellward.solve.outcome import Outcome

Problem_contra = TypeVar("Problem_contra", contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)
P = TypeVar("P")
A = TypeVar("A")

Adapter = Callable[..., Outcome]
"""A function of solve/ that answers one kind of model."""


class Engine(Protocol[Problem_contra, Answer_co]):
    """What solves a problem, or says why not. Sizes from which it pays and the solver it asks are fields, so that others can be passed."""

    @property
    def name(self) -> str:
        """What results call it."""

    def accepts(self, problem: Problem_contra, /) -> str | None:
        """None when it can take the problem; otherwise the reason why not, in one sentence."""

    def solve(self, problem: Problem_contra, budget: Budget, /) -> Answer_co | None:
        """The answer; None where only the attempt could show that the problem is not for it."""


def first_answer(problem: P, budget: Budget, engines: Iterable[Engine[P, A]]) -> A:
    """The answer of the first engine that accepts the problem and does not give it up; raises InputError, with the reasons, where there is none."""
    reasons = []
    for engine in engines:
        reason = engine.accepts(problem)
        if reason is None:
            answer = engine.solve(problem, budget)
            if answer is not None:
                return answer
            reason = f"{engine.name} has given this table up; choose another way"
        reasons.append(reason)
    raise InputError("; ".join(reasons) or "there is no engine to choose from; give one")
