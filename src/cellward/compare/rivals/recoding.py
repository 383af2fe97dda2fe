"""Recoding: the finest codes of one dimension are not published, everything else is, as it is: a level of detail less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.compare.codes import CodeTree
from cellward.compare.rivals.rival import Rival
from cellward.errors import InputError
from cellward.exact import Bools
from cellward.instance import Instance
from cellward.protect.option import Kind, option
from cellward.publication.withheld import Withheld


class Dimension(Kind):
    """The name of a dimension."""

    def check(self, given: Any, name: str) -> None:
        """A text."""
        if not isinstance(given, str) or not given:
            raise InputError(f"{name}={given!r}: give the name of a dimension")


@dataclass(frozen=True)
class Recoding(Rival):
    """A level away: of one dimension, or of the one that leaves fewest cells at risk (then fewest cells away); without dimensions, all cells that are
    no sum."""

    word = "recoding"
    title = "recoding a level away"
    tells = "all that is published is true"

    dim: str | None = option(None, Dimension(), "The dimension that loses its finest codes.", first=True)

    def accepts(self, instance: Instance) -> str | None:
        """Tables in which something is left."""
        if not instance.relations.height.any():
            return f"{self.title} needs a level above the finest, and no cell of this table is a sum"
        return None

    def print_of(self, instance: Instance, rng: np.random.Generator) -> Withheld:  # noqa: ARG002
        """True values above the finest level."""
        return Withheld.of(instance.a, np.flatnonzero(self._away(instance)))

    def _away(self, instance: Instance) -> Bools:
        dims = instance.labels.dims
        if self.dim is not None and self.dim not in dims:
            has = f"it has {', '.join(dims)}" if dims else "it has none"
            raise InputError(f"dim={self.dim!r} is no dimension of this table; {has}")
        tree = CodeTree.of(instance.relations, instance.labels)
        choices = [tree.finest(k) for k, name in enumerate(dims) if self.dim in (None, name)]
        choices = [away for away in choices if away.any() and not away.all()]
        if not choices:
            return np.asarray(instance.relations.height == 0)
        risky = np.zeros(instance.cells, bool)
        risky[instance.sensitivity.levels.cell] = True
        return min(choices, key=lambda away: (int((risky & ~away).sum()), int(away.sum())))
