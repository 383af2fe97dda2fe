"""Named: the protection methods by the names that the command line and job files call them, with their options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from cellward.errors import InputError
from cellward.protect.adjustment import ControlledAdjustment
from cellward.protect.method import Method
from cellward.protect.perturbation import CellPerturbation
from cellward.protect.rounding import ControlledRounding

METHODS: dict[str, type[Method]] = {
    "round": ControlledRounding,
    "perturb": CellPerturbation,
    "adjust": ControlledAdjustment,
}


def method_named(
    name: str, options: Mapping[str, Any], *, calling: str, option: str = "{}", called: Mapping[str, str] | None = None
) -> Method:
    """The method with these options, those that are None left out; ``calling`` and ``option`` (``called``: single ones): how a user
    would write name and options.

    A grid that is called ``none`` is none: where options are texts, nothing else can say so.
    """
    if name not in METHODS:
        *others, last = METHODS
        raise InputError(f"{calling} is not known; use {', '.join(others)} or {last}")
    kind = METHODS[name]
    given = {key: value for key, value in options.items() if value is not None}
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := [key for key in given if key not in known]:
        words = option.format(unknown[0].replace("_", "-") if option.startswith("--") else unknown[0])
        words = (called or {}).get(unknown[0], words)
        raise InputError(f"{words} does not go with {calling}; leave it out")
    if given.get("grid") == "none":
        given["grid"] = None
    return kind(**given)
