"""Nearby: better senses of large tables under L1, block by block: cells of a part of the table choose anew while all others stay as they are.

A block is made along the table's own structure: some cells of one equation, all cells of the other equations that these are in. In a table of regions
by branches those are some regions of one country with all their branches, or some branches with all regions of it. What others contribute to the
equations of a block stays, so each is an integer program of a few hundred columns, whatever the size of the table; its gain is one of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack, vstack

from cellward.errors import SolverError
from cellward.exact import Floats, Ints
from cellward.protect.adjustment.choice.sides import Sides
from cellward.protect.adjustment.continuous import AdjustmentProblem
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip
from cellward.solve.in_order import in_order
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome
from cellward.table.relations import ranges

Order = Literal["tree", "random"]
LEAST_CELLS, CELLS, MOST_CELLS = 100, 600, 5000
"""Cells of a block at least, at first and at most, about: more where blocks are solved in their time, fewer where not."""
BLOCK_SHARE, LEAST_BLOCK_S, BLOCK_S = 0.02, 0.2, 4.0
"""The time of a block: this share of what is left, between these."""
PAYS = 1e-9
"""A gain of less than this share of what the block costs is none."""


@dataclass(frozen=True, eq=False)
class Block:
    """Cells that choose anew, ``risky`` among them at risk: z = start + p − q + wide·y; what is ``known`` of them costs so much."""

    cells: Ints
    risky: Ints
    model: LinearModel
    known_start: Floats
    start: Floats
    wide: Floats
    constant: float
    known: float

    def solve(self, budget: Budget) -> Outcome | None:
        """The answer, which is none where no side is open or HiGHS fails."""
        model = self.model
        if not len(self.cells) or np.any(model.lower > model.upper):
            return None
        try:
            return solve_mip(model, budget=budget.counting(self.constant, 1.0), start=self.known_start, stoppable=True)
        except SolverError:
            return None


@dataclass(eq=False)
class Nearby:
    """``sense`` of the cells at risk ``at`` with deviations ``z`` of all cells, made better in place."""

    problem: AdjustmentProblem
    at: Ints
    sides: Sides
    sense: Ints
    z: Floats
    rng: np.random.Generator
    cells: int = CELLS

    def __post_init__(self) -> None:
        r = self.problem.relations
        self.place = np.full(r.cells, -1, np.int64)
        self.place[self.at] = np.arange(len(self.at))
        self.moves = self.problem.lo < self.problem.hi
        self.busy = np.zeros(r.cells, bool)
        """Cells of the blocks that are under way."""
        self.ptr, self.entry = r.by_cell

    def block(self) -> Ints:
        """Cells of some equations that meet one equation, which is drawn by one of its cells at risk."""
        r = self.problem.relations
        start = int(self.rng.choice(self.at))
        own = r.row[self.entry[self.ptr[start] : self.ptr[start + 1]]]
        if not len(own):
            return self.at[:0]
        first = int(self.rng.choice(own))
        line = r.indices[r.indptr[first] : r.indptr[first + 1]]
        line = self.rng.permutation(line[line != start])
        found, many = {start: None}, 0
        for cell in (start, *line.tolist()):
            for j in r.row[self.entry[self.ptr[cell] : self.ptr[cell + 1]]].tolist():
                if j != first:
                    new = r.indices[r.indptr[j] : r.indptr[j + 1]]
                    found |= dict.fromkeys(new[self.moves[new]].tolist())
            many = len(found)
            if many >= self.cells:
                break
        return np.array(sorted(found)[: 4 * self.cells], np.int64)

    def scattered(self) -> Ints:
        """The same of as many cells from two equations drawn at random."""
        half = [self.block() for _ in range(2)]
        return np.union1d(*(self.rng.choice(one, min(len(one), self.cells // 2), replace=False) for one in half))

    def gains(self, budget: Budget, order: Order = "tree") -> Iterator[float]:
        """What one block after the other gains, until the time is up; blocks without a common cell are asked side by side.

        What a block moves adds up to nothing in every equation, so that the moves of blocks without a common cell go together.
        """
        own, part = budget.silent(), budget.part(threads=1)
        with ThreadPoolExecutor(budget.threads) as pool:

            def asked() -> Iterator[tuple[Block, Callable[[], Future[Outcome | None]]]]:
                while not own.over:
                    drawn = self.block() if order == "tree" else self.scattered()
                    block = self._asking(drawn[self.moves[drawn] & ~self.busy[drawn]])
                    self.busy[block.cells] = True
                    yield block, partial(pool.submit, block.solve, part.silent().part(self.seconds(budget)))

            try:
                for block, outcome in in_order(asked(), lambda: budget.threads):
                    self.busy[block.cells] = False
                    gain, bound, cost = self._taken(block, outcome)
                    in_time = bound >= cost * (1 - PAYS)
                    size = self.cells * 5 // 4 if in_time else self.cells * 4 // 5
                    self.cells = min(max(size, LEAST_CELLS), MOST_CELLS)
                    yield gain
            finally:
                part.end()

    @staticmethod
    def seconds(budget: Budget) -> float:
        """The time of one block."""
        return BLOCK_S if budget.left is None else min(max(BLOCK_SHARE * budget.left, LEAST_BLOCK_S), BLOCK_S)

    def all_at_once(self, budget: Budget) -> tuple[float, float]:
        """What choosing all senses anew gains, and what no senses cost less than."""
        block = self._asking(np.flatnonzero(self.moves))
        gain, bound, _ = self._taken(block, block.solve(budget))
        return gain, bound

    def _asking(self, cells: Ints) -> Block:
        """The question of these cells with all others as they are."""
        p, s = self.problem, self.sides
        r, w, z = p.relations, p.costs.absolute[cells], self.z[cells]
        risky = np.flatnonzero(self.place[cells] >= 0)
        k = self.place[cells[risky]]
        known = float(w @ np.abs(z))
        up, down, only = s.up[k], s.down[k], s.only[k]
        nearest = np.where(only > 0, up, np.where(only < 0, down, np.minimum(up, down)))
        own = np.zeros(len(cells))
        own[risky] = w[risky] * nearest
        with np.errstate(divide="ignore", invalid="ignore"):
            far = np.where(w > 0, (known - own.sum() + own) / w, np.inf) * (1 + 1e-6)
        lo, hi = np.maximum(p.lo[cells], -far), np.minimum(p.hi[cells], far)
        pick = self.entry[ranges(self.ptr[cells], self.ptr[cells + 1])]
        rows, row = np.unique(r.row[pick], return_inverse=True)
        column = np.repeat(np.arange(len(cells)), self.ptr[cells + 1] - self.ptr[cells])
        matrix = csr_matrix((r.coefs[pick].astype(float), (row, column)), (len(rows), len(cells)))
        many, n, wide = len(risky), len(cells), up + down
        above, below = (np.maximum(np.minimum(x, 2.0**53), 0) for x in (hi[risky] - up, -lo[risky] - down))
        plus, minus = np.maximum(hi, 0), np.maximum(-lo, 0)
        plus[risky], minus[risky] = above, below
        pick_risky = csr_matrix((np.ones(many), (np.arange(many), risky)), (many, n))
        none = csr_matrix((many, n))
        model_rows = vstack(
            (
                hstack((matrix, -matrix, matrix[:, risky] @ diags(wide))),
                hstack((pick_risky, none, -diags(above))),
                hstack((none, pick_risky, diags(below))),
            )
        ).tocsr()
        start = np.zeros(n)
        start[risky] = -down
        right = matrix @ (z - start)
        can_up, can_down = (only >= 0) & (up <= hi[risky]), (only <= 0) & (down <= -lo[risky])
        model = LinearModel(
            cost=np.concatenate((w, w, w[risky] * (up - down))),
            lower=np.concatenate(
                (np.maximum(np.where(self.place[cells] >= 0, 0, lo), 0), 0 * w, np.where(can_down, 0.0, 1.0))
            ),
            upper=np.concatenate((plus, minus, np.where(can_up, 1.0, 0.0))),
            indptr=model_rows.indptr.astype(np.int64),
            indices=model_rows.indices.astype(np.int64),
            coefs=model_rows.data.astype(np.float64),
            row_lower=np.concatenate((right, np.full(2 * many, -np.inf))),
            row_upper=np.concatenate((right, np.zeros(many), below)),
            integer=np.arange(2 * n + many) >= 2 * n,
        )
        y = (self.sense[k] > 0).astype(float)
        standing = z - start
        standing[risky] -= wide * y
        known_start = np.concatenate((np.maximum(standing, 0), np.maximum(-standing, 0), y))
        return Block(cells, risky, model, known_start, start, wide, float(w[risky] @ down), known)

    def _taken(self, block: Block, outcome: Outcome | None) -> tuple[float, float, float]:
        """What the cells of a block gain, what they cost at least, and what they cost now."""
        known, cells = block.known, block.cells
        if outcome is None:
            return 0.0, float("-inf"), known
        bound = min(outcome.bound + block.constant, known)
        if outcome.x is None:
            return 0.0, bound, known
        n = len(cells)
        y = np.rint(outcome.x[2 * n :])
        moved = block.start + outcome.x[:n] - outcome.x[n : 2 * n]
        moved[block.risky] += block.wide * y
        gain = known - float(self.problem.costs.absolute[cells] @ np.abs(moved))
        if gain <= PAYS * known:
            return 0.0, bound, known
        self.z[cells] = moved
        self.sense[self.place[cells[block.risky]]] = np.where(y > 0, 1, -1)
        return gain, bound, known - gain
