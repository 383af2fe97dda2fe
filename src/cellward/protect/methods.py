"""Methods: the protection methods by name; one line makes a method known to the command line, jobs, batches and audits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cellward.errors import InputError
from cellward.protect.adjustment import ControlledAdjustment
from cellward.protect.intervals import IntervalPublication
from cellward.protect.method import Method
from cellward.protect.option import options_of
from cellward.protect.perturbation import CellPerturbation
from cellward.protect.rounding import ControlledRounding
from cellward.protect.suppression import CellSuppression

METHODS: list[type[Method]] = [
    ControlledRounding,
    CellPerturbation,
    ControlledAdjustment,
    CellSuppression,
    IntervalPublication,
]


def method_called(word: str, calling: str) -> type[Method]:
    """The method that the command line and job files call so; ``calling``: how a user would write that."""
    found = next((method for method in METHODS if method.word == word), None)
    if found is None:
        *others, last = (method.word for method in METHODS)
        raise InputError(f"{calling} is not known; use {', '.join(others)} or {last}")
    return found


def method_titled(title: object) -> type[Method] | None:
    """The method that releases and certificates call so."""
    return next((method for method in METHODS if method.title == title), None)


def from_file(method: type[Method], said: Mapping[str, Any], where: str) -> Method:
    """The method with the options of a job file's section; mistakes are told before anything is read."""
    known = options_of(method)
    if unknown := [name for name in said if name not in known]:
        raise InputError(f"{where} {unknown[0]} does not go with name={method.word!r}; use {', '.join(sorted(known))}")
    read = {name: known[name].kind.read_file(given, f"{where} {name}") for name, given in said.items()}
    return method(**{**_unsaid(method), **read})


def from_texts(method: type[Method], given: Mapping[str, Any]) -> Method:
    """The method with the options of a command line; None is not given."""
    known = options_of(method)
    told = {name: value for name, value in given.items() if value is not None and value != []}
    read = {name: known[name].kind.read_text(value, flag_of(name)) for name, value in told.items()}
    return method(**{**_unsaid(method), **read})


def _unsaid(method: type[Method]) -> dict[str, Any]:
    """What command lines and job files take where they say nothing."""
    return {name: one.unsaid for name, one in options_of(method).items() if one.unsaid is not None}


def flag_of(name: str) -> str:
    """An option as it is written on the command line."""
    return f"--{name.replace('_', '-')}"
