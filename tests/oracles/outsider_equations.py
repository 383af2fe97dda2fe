"""How an outsider puts up the equations of a table: from the codes in its rows, who stands below whom, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Codes = tuple[str, ...]
Parents = Mapping[str, str]
"""Each code and the one above it; the total of a dimension stands above no other."""


@dataclass(frozen=True)
class Equation:
    """Σ coefficient·cell = right."""

    terms: tuple[tuple[Codes, int], ...]
    right: Fraction = Fraction(0)

    def missed_by(self, values: Mapping[Codes, Fraction]) -> Fraction:
        """What is left over."""
        return sum((coef * values[codes] for codes, coef in self.terms), Fraction(0)) - self.right


def equations_of(cells: Iterable[Codes], trees: Sequence[Sequence[Parents]]) -> list[Equation]:
    """One for every total that has a row and every way it is split; cells without a row are empty.

    ``trees``: for every dimension one or more hierarchies, each a mapping of codes to the code above.
    """
    there = set(cells)
    out = []
    for k, own in enumerate(trees):
        for parents in own:
            below: dict[str, list[str]] = {}
            for child, parent in parents.items():
                below.setdefault(parent, []).append(child)
            for codes in sorted(there):
                parts = [(*codes[:k], child, *codes[k + 1 :]) for child in below.get(codes[k], ())]
                parts = [part for part in parts if part in there]
                if parts:
                    out.append(Equation(((codes, -1), *((part, 1) for part in parts))))
    return out
