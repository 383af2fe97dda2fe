"""What a solver is asked: a linear (or integer) model, or a minimum-cost flow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Floats, Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel:
    """min cost·x subject to row_lower ≤ A·x ≤ row_upper, lower ≤ x ≤ upper, x integer where marked.

    A is stored by rows (CSR): the entries of row j are positions ``indptr[j]:indptr[j + 1]`` of ``indices`` (columns) and ``coefs``.
    """

    cost: Floats
    lower: Floats
    upper: Floats
    indptr: Ints
    indices: Ints
    coefs: Floats
    row_lower: Floats
    row_upper: Floats
    integer: NDArray[np.bool_] | None = None

    @property
    def columns(self) -> int:
        """Number of variables."""
        return len(self.cost)

    @property
    def rows(self) -> int:
        """Number of constraints."""
        return len(self.row_lower)


@dataclass(frozen=True, eq=False, kw_only=True)
class FlowModel:
    """min cost·x over flows 0 ≤ x ≤ capacity with outflow − inflow = supply at every node (all integers, supplies sum to 0)."""

    tail: Ints
    head: Ints
    capacity: Ints
    cost: Ints
    supply: Ints

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return len(self.tail)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.supply)
