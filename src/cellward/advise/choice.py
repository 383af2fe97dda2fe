"""Choice: which of the methods that protect is recommended, and why, in a clause."""

from __future__ import annotations

from collections.abc import Sequence

from cellward.advise.trial import Cost, Trial
from cellward.protect.adjustment import ControlledAdjustment
from cellward.protect.method import Method
from cellward.protect.perturbation import CellPerturbation
from cellward.protect.rounding import ControlledRounding

LITTLE = 0.02
"""A rounding that changes no more than this share of all values is taken whatever the others cost: it promises most."""
COUNTS = 10
"""Bases up to this, of values without decimals, are those of counts, for which rounding is expected whatever share of small counts it is."""
WORTH = 0.5
"""An adjustment promises less than a rounding; it is worth it where it costs at most this part."""


def choose(trials: Sequence[Trial], base: float | None, decimals: int) -> tuple[Trial | None, str]:
    """The trial to follow and why; None where nothing was found to protect. ``base``: the smallest at which a rounding does, in the table's units."""
    adjusted = next((one for one in trials if _is(one, ControlledAdjustment) and one.answer == "protects"), None)
    bounding = [one for one in trials if not _is(one, ControlledAdjustment)]
    working = [one for one in bounding if one.answer == "protects"]
    working = working or [one for one in bounding if one.answer == "public only"]
    rounding = _rounding([one for one in working if _is(one, ControlledRounding)])
    perturbed = [one for one in working if _is(one, CellPerturbation)]
    nearest = min((*perturbed, *([] if rounding is None else [rounding])), key=_loss, default=None)
    if rounding is not None and base is not None and not decimals and base <= COUNTS:
        return rounding, f"a small base does, and {_bounds(rounding)}"
    if rounding is not None and _cost(rounding).share <= LITTLE:
        return rounding, f"it changes little, and {_bounds(rounding)}"
    if adjusted is not None and (nearest is None or _loss(adjusted) <= WORTH * _loss(nearest)):
        return adjusted, (
            "few large cells ask for levels that every cell would have to bear in a rounding, and an adjustment leaves the others near their values; "
            "it promises distances only, no intervals, and nothing against respondents who know cells"
        )
    if nearest is None:
        return None, "nothing was found to protect in the time there was"
    return nearest, f"it changes least of what was found, and {_bounds(nearest)}"


def _is(trial: Trial, kind: type[Method]) -> bool:
    return isinstance(trial.method, kind)


def _bounds(trial: Trial) -> str:
    """What it promises against whom."""
    if trial.answer == "public only":
        return (
            "it bounds what the public can conclude; against all attackers it was not decided in time, so give it more"
        )
    return "it bounds what every attacker can conclude"


def _rounding(found: Sequence[Trial]) -> Trial | None:
    """The one that changes least; more steps tell more to those who know the method, and must be worth it."""
    plain = min((one for one in found if one.steps == 1), key=_loss, default=None)
    stepped = min((one for one in found if one.steps > 1), key=_loss, default=None)
    if plain is None or stepped is None:
        return plain or stepped
    return stepped if _loss(stepped) <= WORTH * _loss(plain) else plain


def _cost(trial: Trial) -> Cost:
    assert trial.cost is not None
    return trial.cost


def _loss(trial: Trial) -> float:
    return _cost(trial).sum_abs
