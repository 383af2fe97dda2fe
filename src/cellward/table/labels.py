"""Labels: what the cells are called, by dimension and code or by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Labels:
    """For each dimension its name, its codes, the code of every cell (a position in ``codes``) and the code that stands for the total (or None).

    Without dimensions the cells are called by their numbers.
    """

    cells: int
    dims: tuple[str, ...] = ()
    codes: tuple[tuple[str, ...], ...] = ()
    index: tuple[Ints, ...] = ()
    totals: tuple[str | None, ...] = ()

    def tuple_of(self, cell: int) -> tuple[str, ...]:
        """The codes of one cell."""
        return tuple(codes[int(index[cell])] for codes, index in zip(self.codes, self.index, strict=True))

    def name(self, cell: int) -> str:
        """The cell as a sentence calls it: ``(North, Total)`` or ``cell 7``."""
        return f"({', '.join(self.tuple_of(cell))})" if self.dims else f"cell {cell}"

    def columns(self) -> dict[str, Sequence[str]]:
        """The label columns of a long table: one a dimension, or ``cell``."""
        if not self.dims:
            return {"cell": [str(i) for i in range(self.cells)]}
        return {
            dim: np.array(codes, dtype=object)[index].tolist()
            for dim, codes, index in zip(self.dims, self.codes, self.index, strict=True)
        }

    def permuted(self, order: Ints) -> Labels:
        """The labels when cell order[k] becomes cell k."""
        return Labels(self.cells, self.dims, self.codes, tuple(index[order] for index in self.index), self.totals)
