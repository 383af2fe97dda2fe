"""Protection: values, status, bound and evidence; the only thing a method returns.

Confidential: it holds the instance. The public side is made by :meth:`Protection.release`, which refuses unless the independent check passes.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.aim import Aim, Measure
from cellward.allowed import AllowedSet
from cellward.audit.knowledge import Knowledge
from cellward.errors import InputError, VerificationError
from cellward.exact import freeze
from cellward.instance import Instance
from cellward.loss import Loss
from cellward.release import Release
from cellward.table.sums import add_up

if TYPE_CHECKING:
    from cellward.audit.audit import Audit
    from cellward.audit.bound import BoundProof
    from cellward.audit.certificate import Certificate
    from cellward.audit.evidence import Evidence

Ints = NDArray[np.int64]
Status = Literal["optimal", "feasible", "infeasible", "failed"]
KEY_BYTES = 32
LEAST_NODES, MOST_NODES, SEARCHED = 50, 2000, 10**6
"""A search tree is proven up to this many nodes, fewer in large tables: cells times nodes stay near SEARCHED."""


def check_key(key: object) -> None:
    """Refuse a key that is not 32 bytes."""
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise InputError(
            f"key: give {KEY_BYTES} secret bytes, such as secrets.token_bytes({KEY_BYTES}), or none at all"
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Protection:
    """What came of one method on one instance.

    ``status``: ``optimal``; ``feasible`` (a limit was reached, the gap says how far the optimum may be); ``infeasible``
    (no such table exists; ``reason`` says why); ``failed`` (a limit was reached with nothing found). ``scaled`` holds the
    published integers, or None. ``method`` is what the public may know of the method: its name and parameters.
    ``bound_scaled`` is the solver's word on the least objective possible, ``multipliers`` (one an equation) its hint at a proof. ``knowledge`` is
    what the values tell the public. ``conflicting_cells`` and ``conflicting_equations``: where ``infeasible`` comes from, as far as it was found.
    ``proposal``: another method, ready to run, where this one has no answer. ``ignore_levels``: nothing is shown of the protection levels. ``aim``:
    what is made small, where that is not Σ w·|v − a|; ``measure``: the same, where it is no sum of such terms (the certificate then states
    Σ w·|v − a| and no bound); ``tolerance``: how far from its bound a result may be called optimal (methods that work in fractions).
    ``search_bound``: whether the proof of the bound may look for better multipliers than those given. ``details``: what else the method tells,
    confidential. ``key`` (32 bytes, secret) salts the certificate.
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
    knowledge: Knowledge
    ignore_levels: bool = False
    aim: Aim | None = None
    measure: Measure | None = None
    search_bound: bool = True
    details: Mapping[str, Any] = field(default_factory=dict)
    tolerance: Fraction = Fraction(0)
    proposal: Any = None
    conflicting_cells: tuple[int, ...] = ()
    conflicting_equations: tuple[int, ...] = ()
    multipliers: NDArray[np.float64] | None = field(default=None, repr=False)
    key: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES), repr=False)

    def __post_init__(self) -> None:
        freeze(self.scaled)
        check_key(self.key)
        if self.status == "optimal" and self.bound_scaled is not None and not self._meets(self.bound_scaled):
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

    def _meets(self, bound: Fraction) -> bool:
        return abs(self.objective_scaled - bound) <= self.tolerance

    @cached_property
    def _aim(self) -> Aim:
        return Aim(self.instance.a, self.instance.weight) if self.aim is None else self.aim

    @cached_property
    def cost_scaled(self) -> int:
        """What the certificate states and bounds: Σ w·|v − a|, or the cost of the aim."""
        if self.scaled is None:
            raise VerificationError(f"a result called {self.status} has no objective")
        return self._aim.cost(self.scaled)

    @property
    def objective_scaled(self) -> int | Fraction:
        """The objective, exact, in units of 10^−(decimals + weight_decimals)."""
        if self.measure is not None and self.scaled is not None:
            return self._measured
        return self.cost_scaled if self.aim is None else self.aim.objective(self.cost_scaled)

    @cached_property
    def _measured(self) -> Fraction:
        assert self.measure is not None and self.scaled is not None
        value: Fraction = self.measure.exact(self.scaled - self.instance.a, self.instance.decimals)
        return value * Fraction(10**self._places)

    @property
    def _places(self) -> int:
        return self.instance.decimals + self.instance.weight_decimals

    @property
    def objective(self) -> int | float | None:
        """What was made small, Σ w·|v − a| unless the method has another aim, in the user's units."""
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
        if self.objective_scaled == self.bound_scaled or self.status == "optimal":
            return 0.0
        return float((self.objective_scaled - self.bound_scaled) / self.objective_scaled)

    def loss(self) -> Loss:
        """Information loss of the protected values."""
        if self.scaled is None:
            raise VerificationError(f"a result called {self.status} has no values to measure; {self.reason}")
        return Loss.between(self.instance.a, self.scaled, self.instance.decimals)

    # ---- proof and release -----------------------------------------------------------------------------------------------------------------

    def with_key(self, key: bytes) -> Protection:
        """The same result with another key; what was shown of it stays."""
        out = replace(self, key=key)
        if "proof" in self.__dict__:
            out.__dict__["proof"] = self.__dict__["proof"]
        return out.knowing(self)

    def knowing(self, same: Protection) -> Protection:
        """This result, with what was already shown of the same values against the same attackers."""
        for name in {"evidence", "protected"} & same.__dict__.keys():
            self.__dict__[name] = same.__dict__[name]
        if same.__dict__.get("sums") is not None:
            self.__dict__["sums"] = same.__dict__["sums"].with_key(self.key)
        return self

    @cached_property
    def evidence(self) -> Evidence:
        """Witness tables for the levels, or the requirements that fail."""
        from cellward.audit.evidence import show_levels

        if self.scaled is None:
            raise VerificationError(f"a result called {self.status} has nothing to show; {self.reason}")
        return show_levels(self.instance, self.scaled, self.knowledge)

    @cached_property
    def protected(self) -> bool | None:
        """Whether every level is shown to be met against every attacker; None where none is asked, or nothing is published."""
        if self.scaled is None or (not self.instance.asks and not self.instance.sensitivity.sums):
            return None
        return not self.ignore_levels and not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """A sentence for each requirement that is not shown to be met."""
        return self.evidence.missing + (() if self.sums is None else self.sums.evidence.missing)

    @property
    def unsettled(self) -> bool:
        """Whether some requirement is neither shown to be met nor proven to fail."""
        return bool(self.evidence.unsettled or (self.sums is not None and self.sums.evidence.unsettled))

    @cached_property
    def sums(self) -> Protection | None:
        """The same result seen with the sums of cells at risk as further cells, for what is to be shown of them; None where there are none."""
        from cellward.audit.sums import instance_of_sums, knowledge_of_sums

        if self.scaled is None or self.ignore_levels or not self.knowledge.intervals:
            return None
        extended = instance_of_sums(self.instance, self.knowledge)
        if extended is None:
            return None
        sums = self.instance.sensitivity.sums
        v = add_up(self.scaled, sums)
        return Protection(
            instance=extended,
            method={"name": "interval publication", "of": f"sums of cells, {self.method.get('name', '')}"},
            status="feasible",
            allowed=AllowedSet(v, v, np.zeros_like(v)),
            scaled=v,
            knowledge=knowledge_of_sums(self.knowledge, len(sums)),
            key=self.key,
        )

    @cached_property
    def proof(self) -> BoundProof:
        """What is proven of the least objective possible, or that there is no table at all, in exact arithmetic."""
        from cellward.audit.bound import nothing_proven, prove_bound

        if self.measure is not None and self.scaled is not None:
            return nothing_proven()
        # What is not called optimal cannot be proven so: the root's bound is then all there is to get.
        nodes = (
            1
            if self.status == "feasible"
            else max(LEAST_NODES, min(MOST_NODES, SEARCHED // max(self.instance.cells, 1)))
        )
        return prove_bound(
            self.instance,
            self.allowed,
            v=self.scaled,
            aim=self.aim,
            multipliers=self.multipliers,
            most_nodes=nodes,
            search=self.search_bound,
        )

    @property
    def certified_bound(self) -> int | float | None:
        """The least objective possible as far as it is proven, in the user's units; None where nothing is."""
        value = self.proof.value
        return exact.unit(self._aim.objective(value), self._places) if isinstance(value, Fraction) else None

    @cached_property
    def _certificate(self) -> Certificate:
        from cellward.audit.certificate import Certificate

        if self.status == "failed":
            raise VerificationError(f"a result called failed has nothing to certify; {self.reason}")
        if self.sums is not None and self.sums.evidence.missing:
            raise VerificationError(f"not protected: {self.sums.evidence.missing[0]}; nothing is certified")
        return Certificate.of(
            self.instance,
            self.scaled,
            allowed=self.allowed,
            aim=self.aim,
            method=self.method,
            knowledge=self.knowledge,
            evidence=None if self.ignore_levels or self.scaled is None else self.evidence,
            bound=self.proof.content,
            objective=None if self.scaled is None else self.cost_scaled,
            status=self.status,
            engine=self.engine,
            salt=hmac.new(self.key, b"cellward certificate", "sha256").hexdigest(),
        )

    def certificate(self) -> Certificate:
        """The certificate of this result (confidential)."""
        return self._certificate

    def audit(self, **options: Any) -> Audit:
        """What each attacker can work out from the values; options as in :func:`cellward.audit`."""
        from cellward.audit.audit import audit

        return audit(self, **options)

    def release(self) -> Release:
        """The public side; refuses unless every level asked is shown and the certificate passes the independent check."""
        if self.scaled is None:
            raise VerificationError(f"nothing can be released: the result is {self.status}; {self.reason}")
        if self.protected is False and not self.ignore_levels:
            raise VerificationError(f"not protected: {self.missing[0]}; nothing is released")
        certificate = self.certificate()
        for each in (certificate, *([] if self.sums is None else [self.sums.certificate()])):
            if not (verdict := each.check()):
                raise VerificationError(f"the certificate does not hold: {verdict.reason}; nothing is released")
        return Release(
            labels=self.instance.labels,
            scaled=np.array(certificate.content["printed"]["value"], np.int64),
            decimals=self.instance.decimals,
            method=dict(self.method),
            relations=self.instance.relations,
            lower=self.instance.lower,
            upper=self.instance.upper,
            knowledge=self.knowledge,
            digest=certificate.digest,
        )

    def __repr__(self) -> str:
        parts = [str(self.method.get("name", "")), self.status]
        if self.scaled is not None:
            parts.append(f"objective {self.objective}")
            if self.ignore_levels:
                parts.append("levels ignored")
            if self.status == "feasible" and self.gap is not None:
                parts.append(f"gap {100 * self.gap:.3g} %")
        elif self.reason:
            parts.append(self.reason)
        return f"Protection({', '.join(parts)})"
