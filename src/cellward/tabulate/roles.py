"""Roles: which columns of a file of records mean what, and what to do with records that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cellward.errors import InputError
from cellward.exact import check_decimals
from cellward.hierarchy import Hierarchy, check_hierarchies
from cellward.table.code_words import Given, check_labels, label_columns
from cellward.table.frame import EMPTIES
from cellward.tabulate.formula import Formula

MOST_LARGEST = 20
POLICIES = ("refuse", "drop", "keep")
BLANKS = ("refuse", "drop", "zero")
NEGATIVES = ("refuse", "absolute")
SPELLINGS = ("folded", "as written")


@dataclass(frozen=True, kw_only=True)
class Roles:
    """See :meth:`Table.from_microdata` for each."""

    dims: str | Sequence[str]
    measure: str | None = None
    contributor: str | None = None
    holding: str | None = None
    weight: str | None = None
    request: str | None = None
    request_codes: Sequence[str] = ("1",)
    hierarchies: Mapping[str, Hierarchy | Sequence[Hierarchy]] | None = None
    total: str | Mapping[str, str] = "Total"
    missing: str | Mapping[str, str] = "refuse"
    missing_codes: Mapping[str, Sequence[str]] | None = None
    labels: Given | None = None
    pad: Mapping[str, int] | None = None
    blank: str = "refuse"
    negative: str = "refuse"
    empty: str = "absent"
    spelling: str = "folded"
    largest: int = 3
    decimals: int | None = None
    decimal: str = "."
    lower: Any = None
    upper: Any = None

    def __post_init__(self) -> None:
        known = self.formula.dims
        for role in ("measure", "contributor", "holding", "weight", "request"):
            if not isinstance(getattr(self, role), str | None):
                raise InputError(f"{role}={getattr(self, role)!r}: give the name of a column")
        for option, given in (
            ("missing_codes", self.missing_codes),
            ("pad", self.pad),
            ("total", None if isinstance(self.total, str) else self.total),
            ("missing", None if isinstance(self.missing, str) else self.missing),
        ):
            if given is not None and not isinstance(given, Mapping):
                raise InputError(f"{option}={given!r}: give a mapping from dimensions, such as {{{known[0]!r}: …}}")
            if lost := [name for name in given or () if name not in known]:
                raise InputError(
                    f"{option}: {lost[0]!r} is not among the dimensions {', '.join(known)}; name one of them"
                )
        choices = [
            ("blank", self.blank, BLANKS),
            ("negative", self.negative, NEGATIVES),
            ("empty", self.empty, EMPTIES),
            ("spelling", self.spelling, SPELLINGS),
        ]
        policies = self.missing.values() if isinstance(self.missing, Mapping) else [self.missing]
        for option, chosen, words in [*choices, *(("missing", policy, POLICIES) for policy in policies)]:
            if chosen not in words:
                raise InputError(f"{option}={chosen!r} is not known; use one of {', '.join(map(repr, words))}")
        for dim, width in (self.pad or {}).items():
            if not isinstance(width, int) or isinstance(width, bool) or not 0 < width <= 100:
                raise InputError(
                    f"pad: {width!r} for {dim} is no width; give a whole number of characters from 1 to 100"
                )
        for dim, codes in (self.missing_codes or {}).items():
            if not isinstance(codes, list | tuple) or not all(isinstance(code, str) for code in codes):
                raise InputError(f"missing_codes: {dim} needs a list of codes, as text")
        check_hierarchies(self.hierarchies, known)
        check_labels(self.labels, known)
        if not isinstance(self.largest, int) or isinstance(self.largest, bool) or not 1 <= self.largest <= MOST_LARGEST:
            raise InputError(f"largest={self.largest!r}: give a whole number from 1 to {MOST_LARGEST}")
        codes = self.request_codes
        if (
            not isinstance(codes, list | tuple)
            or not codes
            or not all(isinstance(code, str) and code not in ("", "0") for code in codes)
        ):
            raise InputError(
                f"request_codes={codes!r}: give a list of codes as text, such as ['1', '2']; blank and 0 mean no request"
            )
        if self.decimal not in (".", ","):
            raise InputError(f"decimal={self.decimal!r}: give '.' or ','")
        check_decimals(self.decimals)
        used = [name for name in (self.measure, self.weight) if name is not None]
        if clash := [name for name in used if name in known]:
            raise InputError(f"the column {clash[0]!r} cannot be a dimension and a number at once; name another")
        if self.measure is not None and self.measure == self.weight:
            raise InputError(f"the column {self.measure!r} cannot be the measure and the weight at once; name another")

    @cached_property
    def formula(self) -> Formula:
        """The dimensions and the tables made of them."""
        return Formula.of(self.dims)

    @property
    def wanted(self) -> list[str]:
        """Every column named, each once."""
        others = (self.measure, self.contributor, self.holding, self.weight, self.request)
        named = [name for name in others if name is not None]
        return list(dict.fromkeys([*self.formula.dims, *named, *label_columns(self.labels).values()]))

    def total_of(self, dim: str) -> str:
        """The code that stands for the total of a dimension."""
        return self.total if isinstance(self.total, str) else self.total.get(dim, "Total")

    def missing_of(self, dim: str) -> str:
        """What to do with records without a code."""
        return self.missing if isinstance(self.missing, str) else self.missing.get(dim, "refuse")
