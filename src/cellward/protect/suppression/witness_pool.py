"""WitnessPool: the tables found so far, which of the demands they show, and which cells they move."""

from __future__ import annotations

import numpy as np

from cellward.audit.ends import Witness
from cellward.exact import Bools, Floats, Ints
from cellward.protect.suppression.demand import Demand


class WitnessPool:
    """Tables that move withheld cells alone; an entry of the demand is open until some table shows each of its ways."""

    def __init__(self, demand: Demand) -> None:
        self.demand = demand
        self.witnesses: list[Witness] = []
        self._shows: list[tuple[Ints, Ints]] = []
        self._times = np.zeros((2, len(demand.cell)), np.int64)

    def add(self, witness: Witness) -> None:
        """One table more, and its mirror image where that is one."""
        for one in (witness, self.demand.mirrored(witness)):
            if one is not None:
                up, down = map(np.flatnonzero, self.demand.reached(one))
                self.witnesses.append(one)
                self._shows.append((up, down))
                self._times[0][up] += 1
                self._times[1][down] += 1

    @property
    def open(self) -> tuple[Bools, Bools]:
        """Entries that no table shows upwards, and downwards."""
        d = self.demand
        return np.asarray((d.up > 0) & (self._times[0] == 0)), np.asarray((d.down > 0) & (self._times[1] == 0))

    @property
    def many_open(self) -> int:
        """How many entries are open in some way."""
        up, down = self.open
        return int((up | down).sum())

    @property
    def moved(self) -> Bools:
        """The cells that some table moves."""
        out = np.zeros(self.demand.room.shape[1], bool)
        for one in self.witnesses:
            out |= one.shift != 0
        return out

    def without(self, withheld: Bools) -> WitnessPool:
        """The tables that move none but these cells."""
        return self.some([not one.shift[~withheld].any() for one in self.witnesses])

    def only_needed(self, cost: Floats | None = None) -> WitnessPool:
        """Tables that show all of it together, none of which the others make superfluous; with costs, those that move dear cells go first."""
        times, d, kept = self._times.copy(), self.demand, [True] * len(self._shows)
        wanted = (d.up > 0, d.down > 0)
        order = list(range(len(kept)))
        if cost is not None:
            order.sort(key=lambda k: -float(cost[self.witnesses[k].shift != 0].sum()))
        for k in order:
            shows = self._shows[k]
            kept[k] = any(np.any(wanted[way][at] & (times[way][at] == 1)) for way, at in enumerate(shows))
            if not kept[k]:
                for way, at in enumerate(shows):
                    times[way][at] -= 1
        return self.some(kept)

    def some(self, keep: list[bool]) -> WitnessPool:
        """These of the tables."""
        out = WitnessPool(self.demand)
        for one, (up, down), stays in zip(self.witnesses, self._shows, keep, strict=True):
            if stays:
                out.witnesses.append(one)
                out._shows.append((up, down))
                out._times[0][up] += 1
                out._times[1][down] += 1
        return out
