"""Formula: which tables are made of the dimensions, as in ``region*nace + size``; several are linked through the cells they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellward.errors import InputError


@dataclass(frozen=True)
class Formula:
    """All dimensions in the order of their first mention, and for each table the dimensions it crosses."""

    dims: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(dims: str | Sequence[str]) -> Formula:
        """From a list of dimensions (one table), or from text with ``*`` between dimensions and ``+`` between tables.

        >>> Formula.of("region*nace + size").terms
        (('region', 'nace'), ('size',))
        """
        if isinstance(dims, str):
            terms = tuple(tuple(name.strip() for name in term.split("*")) for term in dims.split("+"))
        elif isinstance(dims, Sequence) and all(isinstance(name, str) for name in dims):
            terms = (tuple(dims),)
        else:
            raise InputError(f"dims={dims!r}: give a list of columns, or a formula such as 'region*nace + size'")
        for term in terms:
            if not term or not all(term):
                raise InputError(f"dims={dims!r}: a dimension has no name; write it like 'region*nace + size'")
            if len(set(term)) < len(term):
                raise InputError(
                    f"dims={dims!r}: a table crosses a dimension with itself; name each dimension once in a table"
                )
        kept = tuple(
            term
            for k, term in enumerate(terms)
            if not any(set(term) < set(o) or (set(term) == set(o) and j < k) for j, o in enumerate(terms))
        )  # a table inside another adds no cell
        return Formula(tuple(dict.fromkeys(name for term in terms for name in term)), kept)
