"""Cell perturbation keeps the contract."""

from fractions import Fraction

import numpy as np
from additive_values import AdditiveValues, KnownOptimum, OneOptimum, TellsOnlyValues, absolute
from levels import LevelsByIntervals
from method_contract import MethodContract
from scipy.optimize import linprog

import cellward as cw
from cellward.protect.perturbation.intervals import PerturbationIntervals

BASE, WITHIN = 5, 3


def slopes(instance):
    """⌊a⌋, ⌈a⌉ and the cost of a unit of v between them."""
    base = BASE * 10**instance.decimals
    for a, w, fixed in zip(
        instance.a.tolist(), instance.weight.tolist(), instance.sensitivity.fixed.tolist(), strict=True
    ):
        lo, hi = (a, a) if fixed else (a // base * base, -(-a // base) * base)
        yield lo, hi, Fraction(w * (hi + lo - 2 * a), hi - lo) if hi > lo else Fraction(0)


class BetweenMultiples(MethodContract, AdditiveValues, OneOptimum, KnownOptimum, LevelsByIntervals):
    """Its optimum is that of the linear relaxation of the rounding."""

    close = 1e-6

    def asking(self, kind):
        return cw.CellPerturbation(base=BASE, knowledge=kind)

    def cost(self, instance, v):
        terms = zip(instance.weight.tolist(), v.tolist(), instance.a.tolist(), slopes(instance), strict=True)
        return sum(w * (a - lo) + slope * (x - lo) for w, x, a, (lo, _, slope) in terms)

    def least_objective(self, instance):
        cells = list(slopes(instance))
        lo = [max(x, y) for (x, _, _), y in zip(cells, np.minimum(instance.lower, instance.a).tolist(), strict=True)]
        hi = [min(x, y) for (_, x, _), y in zip(cells, np.maximum(instance.upper, instance.a).tolist(), strict=True)]
        m = np.zeros((instance.relations.equations, instance.cells))
        right = np.zeros(instance.relations.equations)
        for j in range(instance.relations.equations):
            right[j], members, coefs = instance.relations.equation(j)
            m[j, members] = coefs
        unit = 10**instance.decimals  # programs of moderate numbers are solved more exactly
        found = linprog(
            [float(slope) for _, _, slope in cells],
            A_eq=m if len(m) else None,
            b_eq=right / unit if len(m) else None,
            bounds=[(x / unit, y / unit) for x, y in zip(lo, hi, strict=True)],
        )
        start = self.cost(instance, np.zeros(instance.cells, np.int64))
        return float(start) + found.fun * unit


class TestCellPerturbation(BetweenMultiples, TellsOnlyValues):
    method = cw.CellPerturbation(base=BASE)
    knowledge_kinds = ("strict",)

    def own(self, published):
        """What is allowed lies around the true values."""
        intervals = PerturbationIntervals.of(published, "base", np.full(published.cells, BASE * 10**published.decimals))
        return {"allowed": intervals.allowed, "aim": intervals.aim("between")}


class TestCellPerturbationOnPaper(BetweenMultiples):
    """Which values were multiples is taken to be public, so that a release tells more than its values."""

    method = cw.CellPerturbation(base=BASE, knowledge="paper")
    knowledge_kinds = ("paper",)


class TestCellPerturbationWithin(MethodContract, AdditiveValues, OneOptimum, KnownOptimum, LevelsByIntervals):
    method = cw.CellPerturbation(within=WITHIN)
    knowledge_kinds = ("strict", "paper")

    def asking(self, kind):
        return cw.CellPerturbation(within=WITHIN, knowledge=kind)

    def cost(self, instance, v):
        return absolute(instance, v)

    def least_objective(self, instance):
        return 0  # nobody is at risk, so nothing moves
