"""EquationCuts: the cuts of single equations: what the other cells of an equation can give must reach what is asked of one of them.

Legend: z = y − a; in an equation Σ c·z = 0 with c_p = ±1, z_p is at most what the other cells give, each as far as its room goes.
"""

from __future__ import annotations

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.suppression.demand import FAR, Demand
from cellward.protect.suppression.problem import CapacityCut
from cellward.table.relations import Relations, ranges

HAIR = 1e-6


def equation_cuts(demand: Demand, relations: Relations, forced: Bools) -> list[CapacityCut]:
    """For every equation, cell and way the cut of those attackers alike to whom most is missing; only such as say something."""
    found: list[CapacityCut] = []
    for way, sense, level in ((1, "up", demand.upl), (0, "down", demand.lpl)):
        found += _one_way(demand, relations, forced, way, sense, level)
    return found


def bridges(relations: Relations, forced: Bools, free: Bools, x: Floats) -> list[CapacityCut]:
    """Of every equation without a cell that must be withheld: none of its cells is withheld alone; only those that these x do not keep."""
    r = relations
    closed = np.bincount(r.row[forced[r.indices]], minlength=r.equations) > 0
    use = ~closed[r.row] & free[r.indices]
    cell, row = r.indices[use], r.row[use]
    together = np.bincount(row, weights=x[cell], minlength=r.equations)
    alone = 2 * x[cell] > together[row] + HAIR
    return [
        CapacityCut(0, i, "bridge", ((j, 1),), 1)
        for i, j in zip(cell[alone].tolist(), row[alone].tolist(), strict=True)
    ]


def lone_cells(relations: Relations, demand: Demand, forced: Bools) -> list[CapacityCut]:
    """Of every equation with one cell that must be withheld and of which something is asked: it is not withheld alone. All that exact disclosure asks
    of single equations."""
    r = relations
    mine = np.flatnonzero(forced[r.indices])
    alone = mine[np.bincount(r.row[mine], minlength=r.equations)[r.row[mine]] == 1]
    who = np.full(r.cells, -1, np.int64)
    who[demand.cell[::-1]] = demand.of[::-1]
    found = zip(r.indices[alone].tolist(), r.row[alone].tolist(), strict=True)
    return [CapacityCut(demand.groups[who[i]].members[0], i, "bridge", ((j, 1),), 1) for i, j in found if who[i] >= 0]


def _one_way(demand: Demand, r: Relations, forced: Bools, way: int, sense: str, level: Ints) -> list[CapacityCut]:
    """What is missing of each level in each equation of its cell, where the cells that must be withheld give all they can."""
    ptr, by_cell = r.by_cell
    asked = np.flatnonzero(level > 0)
    entry = by_cell[ranges(ptr[demand.cell[asked]], ptr[demand.cell[asked] + 1])]
    e = np.repeat(asked, ptr[demand.cell[asked] + 1] - ptr[demand.cell[asked]])
    whole = np.abs(r.coefs[entry]) == 1
    e, entry = e[whole], entry[whole]
    if not len(e):
        return []
    # With c_p > 0, z_p grows as the others' Σ c·z falls: cells with c > 0 give what they have below.
    other = np.where(r.coefs[entry] > 0, 1 - way, way)
    give, endless = _given(demand, r, forced)
    at = r.row[entry]
    total, ends = give[other, at], endless[other, at]
    less, fewer = _known(demand, r, forced, demand.of[e], at, other)
    total, ends = total - less, ends - fewer
    # The cell itself is among those that give; its coefficient is of the side that it is asked for.
    own = np.stack(demand.own_room())[1 - way, e]
    total, ends = (
        total - np.where(own >= FAR, 0, own) * forced[demand.cell[e]],
        ends - (own >= FAR) * forced[demand.cell[e]],
    )
    missing = np.where(ends > 0, 0, level[e] - total)
    keep = np.flatnonzero(missing > 0)
    keep = keep[np.lexsort((e[keep], -missing[keep], entry[keep]))]
    first = np.concatenate(([True], entry[keep][1:] != entry[keep][:-1])) if len(keep) else np.zeros(0, bool)
    out = []
    for k in keep[first].tolist():
        j, p = int(at[k]), int(demand.cell[e[k]])
        sign = -int(r.coefs[entry[k]]) if way else int(r.coefs[entry[k]])
        out.append(CapacityCut(demand.groups[int(demand.of[e[k]])].members[0], p, sense, ((j, sign),), 1))
    return out


def _given(demand: Demand, r: Relations, forced: Bools) -> tuple[Ints, Ints]:
    """What the cells of each equation that must be withheld add to Σ c·z falling (row 0) and growing (row 1), and how many give without end."""
    give, endless = np.zeros((2, r.equations), np.int64), np.zeros((2, r.equations), np.int64)
    at = np.flatnonzero(forced[r.indices])
    for grows in (0, 1):
        side = np.where(r.coefs[at] > 0, grows, 1 - grows)
        room = demand.room[side, r.indices[at]]
        far = room >= FAR
        np.add.at(give[grows], r.row[at], np.where(far, 0, room * np.abs(r.coefs[at])))
        np.add.at(endless[grows], r.row[at], far)
    return give, endless


def _known(demand: Demand, r: Relations, forced: Bools, of: Ints, at: Ints, other: Ints) -> tuple[Ints, Ints]:
    """By how much less the cells give to attackers who know more of some of them, and how many fewer without end."""
    ptr, by_cell = r.by_cell
    mine = np.flatnonzero(forced[demand.own])
    entry = by_cell[ranges(ptr[demand.own[mine]], ptr[demand.own[mine] + 1])]
    o = np.repeat(mine, ptr[demand.own[mine] + 1] - ptr[demand.own[mine]])
    key = demand.whose[o] * r.equations + r.row[entry]
    keys, where = np.unique(key, return_inverse=True)
    less, fewer = np.zeros((2, len(keys) + 1), np.int64), np.zeros((2, len(keys) + 1), np.int64)
    size = np.abs(r.coefs[entry])
    for grows in (0, 1):
        up = np.where(r.coefs[entry] > 0, grows, 1 - grows)
        public = demand.room[up, demand.own[o]]
        own = np.where(up == 1, demand.high[o], -demand.low[o])
        np.add.at(less[grows], where, (np.where(public >= FAR, 0, public) - np.where(own >= FAR, 0, own)) * size)
        np.add.at(fewer[grows], where, (public >= FAR).astype(np.int64) - (own >= FAR))
    wanted = of * r.equations + at
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    found = keys[place] == wanted if len(keys) else np.zeros(len(wanted), bool)
    place = np.where(found, place, len(keys))
    return less[other, place], fewer[other, place]
