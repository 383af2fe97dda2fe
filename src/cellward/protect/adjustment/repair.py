"""Repair: a flow that is the least but for a few cells is made the least, by sending what is worth while round the cycles through them.

Potentials π are at hand under which no single step of a cell is worth while, save for a few. A step from u to v of reduced cost r < 0 is worth while
with a way back from v to u shorter than −r: as much is sent round as fits, and the search is repeated. Without one π rises by min(distance from v,
−r), and the step is not worth while any more; all other reduced costs stay ≥ 0 (Ahuja, Magnanti and Orlin 1993, section 9.7). The search stops at −r,
so it stays near the cell. Everything is a whole number.

Legend: cell k has moved by z[k] from its base, may still go to −down[k] or up[k], and every unit away from 0 costs w[k].
"""

from __future__ import annotations

from typing import Final

import numpy as np

from cellward.exact import Ints
from cellward.table.relations import ranges

EFFORT: Final = 30
"""Steps looked at for each cell, after which the repair is given up: a solver would be as fast. A round of the search counts ROUND of them."""
ROUND: Final = 1000
_FAR: Final = 2**62


class Repair:
    """Some cells of a network with their moves z and potentials, both changed in place: arc k runs from ``tail[k]`` to ``head[k]``."""

    def __init__(
        self, tail: Ints, head: Ints, up: Ints, down: Ints, weight: Ints, z: Ints, potential: Ints, effort: int = EFFORT
    ) -> None:
        self.up, self.down, self.weight, self.z, self.potential = up, down, weight, z, potential
        # Step k < n is cell k up, step n + k the same cell down.
        self.cells, self.left = len(tail), effort * len(tail)
        self.start, self.end = np.concatenate((tail, head)), np.concatenate((head, tail))
        self.order = np.argsort(self.start.astype(np.min_scalar_type(len(potential))), kind="stable")
        count = np.bincount(self.start, minlength=len(potential))
        self.ptr = np.concatenate(([0], np.cumsum(count))).astype(np.int64)
        self.cost, self.room = np.zeros((2, 2 * self.cells), np.int64)
        self._look(np.arange(self.cells))

    def _look(self, cells: Ints) -> None:
        """What a step of these cells costs now, and how far it can go at that cost."""
        z, w = self.z[cells], self.weight[cells]
        self.cost[cells] = np.where(z < 0, -w, w)
        self.room[cells] = np.where(z < 0, -z, self.up[cells] - z)
        self.cost[cells + self.cells] = np.where(z > 0, -w, w)
        self.room[cells + self.cells] = np.where(z > 0, z, self.down[cells] + z)

    def run(self) -> bool:
        """Make every step not worth while; False when that takes too long (z is then still a flow, and potentials are of no use)."""
        reduced = self.cost + self.potential[self.start] - self.potential[self.end]
        wrong = np.flatnonzero((reduced < 0) & (self.room > 0))
        self.closed = np.zeros(2 * self.cells, bool)
        self.closed[wrong] = True  # ways of negative length; each is opened once it is settled
        return all(self._settle_step(step) for step in wrong.tolist())

    def _settle_step(self, step: int) -> bool:
        u, v = int(self.start[step]), int(self.end[step])
        while self.room[step] > 0:
            gain = int(self.potential[v] - self.potential[u] - self.cost[step])
            if gain <= 0:
                break
            if self.left < 0:
                return False
            distance, parent = self._search(v, u, gain)
            self.potential += np.minimum(distance, min(gain, int(distance[u])))
            if distance[u] >= gain:
                break
            path, node = [step], u
            while node != v:
                path.append(int(parent[node]))
                node = int(self.start[path[-1]])
            self._send(np.array(path))
        self.closed[step] = False
        return True

    def _send(self, path: Ints) -> None:
        amount = self.room[path].min()
        cells = path % self.cells
        self.z[cells] += np.where(path < self.cells, amount, -amount)
        self._look(cells)

    def _search(self, source: int, target: int, limit: int) -> tuple[Ints, Ints]:
        """Reduced distances from the source, as far as they are below the limit and that to the target, and the last step to each node."""
        distance = np.full(len(self.potential), _FAR)
        parent = np.full(len(self.potential), -1)
        distance[source] = 0
        changed = np.array([source])
        while len(changed):
            steps = self.order[ranges(self.ptr[changed], self.ptr[changed + 1])]
            self.left -= len(steps) + ROUND
            steps = steps[(self.room[steps] > 0) & ~self.closed[steps]]
            start, end = self.start[steps], self.end[steps]
            new = distance[start] + (self.cost[steps] + self.potential[start] - self.potential[end])
            better = np.flatnonzero(new < np.minimum(distance[end], min(limit, int(distance[target]))))
            steps, end, new = steps[better], end[better], new[better]
            np.minimum.at(distance, end, new)
            best = new == distance[end]
            parent[end[best]] = steps[best]
            changed = np.unique(end)
        return distance, parent
