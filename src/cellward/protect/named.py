"""Named: the protection methods by the names that the command line and job files call them, with their options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from cellward.errors import InputError
from cellward.protect.method import Method
from cellward.protect.perturbation import CellPerturbation
from cellward.protect.rounding import ControlledRounding

METHODS: dict[str, type[Method]] = {"round": ControlledRounding, "perturb": CellPerturbation}


def method_named(name: str, options: Mapping[str, Any], *, calling: str, option: str = "{}") -> Method:
    """The method with these options, those that are None left out; ``calling`` and ``option``: how a user would write name and options."""
    if name not in METHODS:
        raise InputError(f"{calling} is not known; use {' or '.join(METHODS)}")
    kind = METHODS[name]
    given = {key: value for key, value in options.items() if value is not None}
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := [key for key in given if key not in known]:
        words = option.format(unknown[0].replace("_", "-") if option.startswith("--") else unknown[0])
        raise InputError(f"{words} does not go with {calling}; leave it out")
    return kind(**given)
