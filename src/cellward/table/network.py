"""Network: the node–arc form of tables whose equations, once the implied ones are dropped, have every cell in at most two of them.

Which implied equations to drop matters. A 2-D table with one hierarchy states the total of each parent row twice, along
the row and down the hierarchy; with the row equations of parent rows dropped every cell is left in two equations, with
the others dropped it is not. So we keep one defining sum for each total, such that a total is a term of at most one kept
sum and a leaf of at most two: sums without a rival are kept first, and each one kept rules out those that would use one
of its terms too often. Then the signs must allow every cell to leave one node and enter another (a 2-colouring of the
equations), and the kept equations must have the rank of all: a graph's incidence rows are independent but for one a
component without the ground.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.exact import Bools, Ints
from cellward.table.components import components
from cellward.table.relations import Relations, distinct, ranges

_KEPT, _OPEN, _DROPPED = 1, 0, -1
_ROUNDS = 200  # choices that keep waiting for each other longer than this are not worth it: the general engines take such a table


@dataclass(frozen=True, eq=False)
class Network:
    """Cells as arcs: cell i runs from node ``tail[i]`` to ``head[i]``; each kept equation is a node, and the last node is the ground.

    ``equations[k]`` is the equation of node k and ``sign[k]`` = ±1 its orientation: inflow − outflow = sign·rhs. A cell in no kept equation has
    tail = head = −1.
    """

    tail: Ints
    head: Ints
    equations: Ints
    sign: Ints

    @property
    def nodes(self) -> int:
        """Nodes, the ground included."""
        return len(self.equations) + 1


def network_of_rows_and_columns(rows: int, columns: int) -> Network:
    """What :func:`find_network` finds for rows × columns inner cells with their margins last, cells in C order: first the equations of columns.

    Cell (i, j) has α = −1 in the equation of column j where i is the margin, else 1, and β in that of row i likewise. With the signs β for columns
    and −α for rows it has αβ in one and −αβ in the other.
    """
    alpha, beta = (np.append(np.ones(size, np.int64), -1) for size in (rows, columns))
    down, across = np.arange(columns + 1), np.arange(columns + 1, columns + rows + 2)[:, None]
    enters = np.outer(alpha, beta) > 0
    head, tail = np.where(enters, down, across), np.where(enters, across, down)
    return Network(tail.ravel(), head.ravel(), np.arange(rows + columns + 2), np.concatenate((beta, -alpha)))


def find_network(relations: Relations) -> Network | None:
    """The node–arc form, or None."""
    r = relations
    if max(int(r.coefs.max(initial=0)), -int(r.coefs.min(initial=0))) > 1:
        return None
    repeats = _repeats(r)
    kept = _keep_equations(r, repeats)
    if kept is None:
        return None
    network = _orient(r, np.flatnonzero(kept))
    if network is None or np.all(kept | repeats):
        return network
    arcs = network.tail >= 0
    label = components(network.nodes, network.tail[arcs], network.head[arcs])
    rank = network.nodes - len(np.unique(label))
    return network if rank == r.structure.rank else None


def _keep_equations(r: Relations, repeats: Bools) -> Bools | None:
    """Choose the equations to keep, or None when a cell is used too often whatever is chosen."""
    # Where no cell of a block is in more than two equations there is nothing to choose.
    used = r.indices[~repeats[r.row]] if repeats.any() else r.indices
    busy = np.bincount(used, minlength=r.cells) > 2
    if not busy.any():
        return ~repeats
    total, block = r.total, r.blocks()
    crowded = np.zeros(r.cells, bool)
    crowded[block[busy]] = True
    choose = np.zeros(r.equations, bool)
    choose[r.row[crowded[block[r.indices]]]] = True
    state = np.where(repeats, _DROPPED, np.where(choose & (total >= 0), _OPEN, _KEPT))
    is_total = np.zeros(r.cells, bool)
    is_total[total[state == _OPEN]] = True
    room = np.where(is_total, 1, 2)
    kept_at_most = int(is_total.sum()) + int((state == _KEPT).sum())
    if np.any(state == _OPEN) and kept_at_most < r.structure.rank:
        return None  # some total has several sums and none of them is implied
    term = total[r.row] != r.indices
    np.subtract.at(room, r.indices[(state == _KEPT)[r.row]], 1)
    ptr, entry = r.by_cell
    for _ in range(_ROUNDS):
        if int(room.min(initial=0)) < 0:
            return None
        open_ = np.flatnonzero(state == _OPEN)
        if not len(open_):
            return np.asarray(state == _KEPT)
        rivals = np.bincount(total[open_], minlength=r.cells)
        keep = open_[rivals[total[open_]] == 1]
        if not len(keep):
            block = r.take(open_).blocks()  # totals whose open sums share no cell choose independently of each other
            keep = open_[np.unique(block[total[open_]], return_index=True)[1]]
            same = np.flatnonzero(np.isin(total[open_], total[keep]))
            state[open_[same]] = _DROPPED
        state[keep] = _KEPT
        used = ranges(r.indptr[keep], r.indptr[keep + 1])
        cells = r.indices[used[term[used]]]
        np.subtract.at(room, cells, 1)
        full = distinct(cells[room[cells] <= 0], r.cells)
        touching = entry[ranges(ptr[full], ptr[full + 1])]
        rows = r.row[touching[term[touching]]]
        rows = distinct(rows[state[rows] == _OPEN], r.equations)
        state[rows] = _DROPPED
        lost = np.setdiff1d(total[rows], total[(state == _KEPT) | (state == _OPEN)])
        if len(lost):
            return None
    return None


def _repeats(r: Relations) -> Bools:
    """Equations whose coefficients, up to the sign of all, an earlier one has (by fingerprint; see leaves.py on why a false verdict is harmless)."""
    seed = np.random.default_rng(20040402).integers(0, 2**64, r.cells, dtype=np.uint64).view(np.int64)
    entries = seed[r.indices]
    entries *= r.coefs
    mark = r.sums(entries)
    repeats = np.ones(r.equations, bool)
    repeats[np.unique(np.minimum(mark, -mark), return_index=True)[1]] = False
    return repeats


def _orient(r: Relations, equations: Ints) -> Network | None:
    """Give every kept equation a sign so that each cell leaves one node and enters another; None when the signs do not allow it."""
    m = len(equations)
    part = r if m == r.equations else r.take(equations)
    # The first and the last entry of every cell: it has two at most, and where an index is repeated numpy lets the last value stand.
    entry = np.arange(len(part.indices), dtype=np.int64)
    first, last = np.full(r.cells, -1, np.int64), np.full(r.cells, -1, np.int64)
    last[part.indices] = entry
    first[part.indices[::-1]] = entry[::-1]
    used, two = first >= 0, first != last
    if not len(entry):
        return Network(first, last, equations, np.ones(m, np.int64))
    u, v = part.row[first], part.row[last]
    out, back = part.coefs[first], part.coefs[last]
    joint = np.flatnonzero(two)
    sign = _signs(m, u[joint], v[joint], out[joint] != back[joint])
    if sign is None:
        return None
    v[~two] = m
    enters = out * sign[u] > 0
    tail, head = np.where(enters, v, u), np.where(enters, u, v)
    if not used.all():
        tail[~used] = head[~used] = -1
    return Network(tail, head, equations, sign)


def _signs(m: int, u: Ints, v: Ints, agree: Bools) -> Ints | None:
    """A sign for each of m nodes, those of u[e] and v[e] the same where they agree and opposite elsewhere; None where there are none."""
    if len(u) > 16 * m:  # a few edges at random say nearly always what all say
        some = np.random.default_rng(0).integers(0, len(u), 8 * m)
        sign = _signs(m, u[some], v[some], agree[some])
        if sign is None or np.array_equal(sign[u] == sign[v], agree):
            return sign
    # Two copies of each node, one a sign: the signs exist exactly when no node is joined to its own other copy.
    copy, other = np.where(agree, v, v + m), np.where(agree, v + m, v)
    label = components(2 * m, np.concatenate((u, u + m)), np.concatenate((copy, other)))
    if np.any(label[:m] == label[m:]):
        return None
    return np.where(label[:m] < label[m:], 1, -1)
