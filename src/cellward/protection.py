"""Protection: values, status, bound and evidence; the only thing a method returns.

Confidential: it holds the instance. The public side is made by :meth:`Protection.release`, which refuses unless the independent check passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.allowed import AllowedSet
from cellward.errors import VerificationError
from cellward.exact import freeze
from cellward.instance import Instance
from cellward.loss import Loss
from cellward.release import Release

if TYPE_CHECKING:
    from cellward.audit.certificate import Certificate

Ints = NDArray[np.int64]
Status = Literal["optimal", "feasible", "infeasible", "failed"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Protection:
    """What came of one method on one instance.

    ``status``: ``optimal``; ``feasible`` (a limit was reached, the gap says how far the optimum may be); ``infeasible``
    (no such table exists; ``reason`` says why); ``failed`` (a limit was reached with nothing found). ``scaled`` holds the
    published integers, or None. ``method`` is what the public may know of the method: its name and parameters.
    ``bound_scaled`` is the solver's word on the least objective possible.
    """

    instance: Instance
    method: Mapping[str, Any]
    status: Status
    allowed: AllowedSet
    scaled: Ints | None = None
    bound_scaled: Fraction | None = None
    reason: str = ""
    engine: str = ""
    seconds: float = 0.0
    limit_reached: bool = False

    def __post_init__(self) -> None:
        freeze(self.scaled)
        if self.status == "optimal" and self.bound_scaled is not None and self.bound_scaled != self.objective_scaled:
            raise VerificationError("a result called optimal must meet its bound; nothing is released")
        if (self.scaled is None) != (self.status in ("infeasible", "failed")):
            raise VerificationError(
                f"a result called {self.status} must {'not ' if self.scaled is not None else ''}hold values; nothing is released"
            )
        if self.scaled is None:
            return
        missed = np.flatnonzero(self.instance.relations.residual(self.scaled))
        if len(missed):
            raise VerificationError(f"the protected values miss equation {int(missed[0])}; nothing is released")
        outside = self.allowed.outside(self.scaled)
        if len(outside):
            name = self.instance.labels.name(int(outside[0]))
            raise VerificationError(f"the protected value of {name} is outside its allowed set; nothing is released")
        if self.bound_scaled is not None and self.bound_scaled > self.objective_scaled:
            raise VerificationError("the solver's bound exceeds the value of its own answer; nothing is released")

    # ---- what came out ---------------------------------------------------------------------------------------------------------------------

    @property
    def values(self) -> NDArray[np.int64] | NDArray[np.float64] | None:
        """The protected values in the user's units, in cell order; None when there are none."""
        return None if self.scaled is None else exact.units(self.scaled, self.instance.decimals)

    @cached_property
    def objective_scaled(self) -> int:
        """Σ w·|v − a|, exact, in units of 10^−(decimals + weight_decimals)."""
        if self.scaled is None:
            raise VerificationError(f"a result called {self.status} has no objective")
        deviation = np.abs(self.scaled - self.instance.a)
        if float(deviation.astype(float) @ self.instance.weight.astype(float)) < 2**62:
            return int(deviation @ self.instance.weight)
        return sum(d * w for d, w in zip(deviation.tolist(), self.instance.weight.tolist(), strict=True))

    @property
    def _places(self) -> int:
        return self.instance.decimals + self.instance.weight_decimals

    @property
    def objective(self) -> int | float | None:
        """Σ w·|v − a| in the user's units."""
        return None if self.scaled is None else exact.unit(self.objective_scaled, self._places)

    @property
    def bound(self) -> int | float | None:
        """The solver's word on the least objective possible, in the user's units."""
        return None if self.bound_scaled is None else exact.unit(self.bound_scaled, self._places)

    @property
    def gap(self) -> float | None:
        """(objective − bound) / objective: 0.0 when proven optimal, None without values or a bound."""
        if self.scaled is None or self.bound_scaled is None:
            return None
        if self.objective_scaled == self.bound_scaled:
            return 0.0
        return float((self.objective_scaled - self.bound_scaled) / self.objective_scaled)

    def loss(self) -> Loss:
        """Information loss of the protected values."""
        if self.scaled is None:
            raise VerificationError(f"a result called {self.status} has no values to measure; {self.reason}")
        return Loss.between(self.instance.a, self.scaled, self.instance.decimals)

    # ---- proof and release -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def _certificate(self) -> Certificate:
        from cellward.audit.certificate import Certificate

        if self.scaled is None:
            raise VerificationError(f"a result called {self.status} has nothing to certify; {self.reason}")
        bound = None if self.bound_scaled is None else str(self.bound_scaled)
        claims = {"status": self.status, "bound": bound, "engine": self.engine}
        return Certificate.of(self.instance, self.scaled, self.allowed, self.method, self.objective_scaled, claims)

    def certificate(self) -> Certificate:
        """The certificate of this result (confidential)."""
        return self._certificate

    def release(self) -> Release:
        """The public side; refuses unless the certificate passes the independent check."""
        if self.scaled is None:
            raise VerificationError(f"nothing can be released: the result is {self.status}; {self.reason}")
        certificate = self.certificate()
        verdict = certificate.check()
        if not verdict:
            raise VerificationError(f"the certificate does not hold: {verdict.reason}; nothing is released")
        checked = np.array(certificate.content["published"], np.int64)
        return Release(self.instance.labels, checked, self.instance.decimals, dict(self.method))

    def __repr__(self) -> str:
        parts = [str(self.method.get("name", "")), self.status]
        if self.scaled is not None:
            parts.append(f"objective {self.objective}")
            if self.status == "feasible" and self.gap is not None:
                parts.append(f"gap {100 * self.gap:.3g} %")
        elif self.reason:
            parts.append(self.reason)
        return f"Protection({', '.join(parts)})"
