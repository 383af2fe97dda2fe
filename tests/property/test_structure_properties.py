"""Structure of random systems: rank, redundancy, contradictions, leaf form and network against exact elimination."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellward import Hierarchy, Table
from cellward.table.array import margins
from cellward.table.network import find_network
from cellward.table.relations import Relations

Row = tuple[int, list[int], list[int]]
"""(right-hand side, cells, coefficients), as Relations.from_rows takes them."""

SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)
randoms = st.randoms(use_true_random=False)


# ---- the oracle: Gaussian elimination in fractions, which shares nothing with cellward ------------------------------------------------------


@dataclass
class Exact:
    """Reduced echelon form of the augmented system; column n is the right-hand side and becomes a pivot only in 0 = 1."""

    n: int
    pivots: dict[int, dict[int, Fraction]] = field(default_factory=dict)

    @staticmethod
    def of(n: int, rows: list[Row]) -> Exact:
        exact = Exact(n)
        for row in rows:
            exact.add(row)
        return exact

    def add(self, row: Row) -> None:
        rhs, cells, coefs = row
        entries: dict[int, Fraction] = {}
        for i, c in [*zip(cells, coefs, strict=True), (self.n, rhs)]:
            entries[i] = entries.get(i, Fraction(0)) + c
        self._subtract(entries, self.pivots)
        entries = {i: c for i, c in entries.items() if c}
        if not entries:
            return
        pivot = min(entries)
        new = {i: c / entries[pivot] for i, c in entries.items()}
        for other in self.pivots.values():
            self._subtract(other, {pivot: new})
        self.pivots[pivot] = new

    @staticmethod
    def _subtract(entries: dict[int, Fraction], pivots: dict[int, dict[int, Fraction]]) -> None:
        for i in sorted(set(entries) & set(pivots)):
            factor = entries[i]
            for k, c in pivots[i].items():
                entries[k] = entries.get(k, Fraction(0)) - factor * c
                if not entries[k]:
                    del entries[k]

    @property
    def rank(self) -> int:
        """Rank of the coefficients alone."""
        return len(self.pivots) - (self.n in self.pivots)

    @property
    def augmented_rank(self) -> int:
        return len(self.pivots)

    @property
    def consistent(self) -> bool:
        return self.n not in self.pivots

    def solution(self, rng: random.Random) -> list[Fraction]:
        """Any solution: random whole numbers for the free cells, the pivots from them."""
        a = [Fraction(rng.randint(-50, 50)) for _ in range(self.n)]
        for pivot, row in self.pivots.items():
            a[pivot] = row.get(self.n, Fraction(0)) - sum(c * a[i] for i, c in row.items() if i not in (pivot, self.n))
        return a


def integer_solution(n: int, rows: list[Row], particular: list[int], rng: random.Random) -> list[int]:
    """A known solution plus a random combination of null vectors, each multiplied out to whole numbers."""
    null = Exact.of(n, [(0, cells, coefs) for _, cells, coefs in rows])
    a = list(particular)
    for free in set(range(n)) - set(null.pivots):
        vector = {free: Fraction(1)} | {pivot: -row[free] for pivot, row in null.pivots.items() if free in row}
        scale = rng.randint(-5, 5) * math.lcm(*(c.denominator for c in vector.values()))
        for i, c in vector.items():
            a[i] += int(scale * c)
    return a


# ---- the systems -----------------------------------------------------------------------------------------------------------------------------


@dataclass
class System:
    """A consistent system with one of its solutions."""

    n: int
    rows: list[Row]
    solution: list[int]

    @property
    def relations(self) -> Relations:
        return Relations.from_rows(self.n, self.rows)


Sums = list[tuple[int, list[int]]]
"""The sums of one dimension, (code, its parts), over codes 0, 1, …"""


def tree(parents: list[int]) -> Sums:
    """Code 0 is the top; code k + 1 lies under code parents[k] ≤ k."""
    children: dict[int, list[int]] = {}
    for k, parent in enumerate(parents):
        children.setdefault(parent, []).append(k + 1)
    return sorted(children.items())


def product(dims: list[Sums]) -> tuple[int, list[Row]]:
    """All cells of the cross product of dimensions, and every sum of every dimension at every combination of the other codes."""
    sizes = [1 + max((max(total, *parts) for total, parts in sums), default=0) for sums in dims]
    place = {codes: i for i, codes in enumerate(itertools.product(*map(range, sizes)))}
    rows: list[Row] = []
    for axis, sums in enumerate(dims):
        for others in itertools.product(*(range(s) for k, s in enumerate(sizes) if k != axis)):
            for total, parts in sums:
                cells = [place[(*others[:axis], code, *others[axis:])] for code in [*parts, total]]
                rows.append((0, cells, [1] * len(parts) + [-1]))
    return len(place), rows


def top(dims: list[Sums]) -> list[bool]:
    """Which cells of the product have a top code in some dimension: several linked tables rather than one large one."""
    sizes = [1 + max((max(total, *parts) for total, parts in sums), default=0) for sums in dims]
    return [0 in codes for codes in itertools.product(*map(range, sizes))]


def with_solution(n: int, rows: list[Row], rng: random.Random, shifted: bool) -> System:
    """The system with right-hand sides that a random vector satisfies (all 0 unless shifted)."""
    a = [rng.randint(-20, 20) if shifted else 0 for _ in range(n)]
    rows = [(sum(c * a[i] for i, c in zip(x, w, strict=True)), x, w) for _, x, w in rows]
    return System(n, rows, a)


def disguised(system: System, rng: random.Random, *, negate: bool = True) -> System:
    """The same system: equations repeated, negated and reordered, cells renumbered, terms shuffled."""
    rows = system.rows + [row for row in system.rows if rng.random() < 0.2]
    rng.shuffle(rows)
    new = list(range(system.n))
    rng.shuffle(new)
    out: list[Row] = []
    for rhs, cells, coefs in rows:
        s = rng.choice([1, -1]) if negate else 1
        entries = [(new[i], s * c) for i, c in zip(cells, coefs, strict=True)]
        rng.shuffle(entries)
        out.append((s * rhs, [i for i, _ in entries], [c for _, c in entries]))
    solution = [0] * system.n
    for i, value in enumerate(system.solution):
        solution[new[i]] = value
    return System(system.n, out, solution)


@st.composite
def trees(draw, most: int = 6, *, branching: bool = False) -> Sums:
    parents = [draw(st.integers(0, k)) for k in range(draw(st.integers(1, most)))]
    if branching:  # a code with a single part gets a second one
        parents += [code for code, parts in tree(parents) if len(parts) == 1]
    return tree(parents)


@st.composite
def groupings(draw) -> Sums:
    """Several partitions of the same codes under one top: overlapping, and no tree."""
    base = list(range(1, draw(st.integers(2, 5)) + 1))
    sums: Sums = [(0, base)] if draw(st.booleans()) else []
    code = len(base)
    for _ in range(draw(st.integers(1, 3))):
        label = [draw(st.integers(0, 2)) for _ in base]
        groups = []
        for group in sorted(set(label)):
            code += 1
            groups.append(code)
            sums.append((code, [b for b, own in zip(base, label, strict=True) if own == group]))
        sums.append((0, groups))
    return sums


@st.composite
def tables(draw) -> System:
    """Tables: k-dimensional, hierarchical, overlapping, or linked; disguised or not."""
    rng = draw(randoms)
    kind = draw(st.sampled_from(["margins", "hierarchical", "overlapping", "linked"]))
    if kind == "margins":
        shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
        r = margins(shape)
        n, rows = r.cells, [r.equation(j) for j in range(r.equations)]
    elif kind == "hierarchical":
        n, rows = product([draw(trees()), draw(trees(3))])
    elif kind == "overlapping":
        n, rows = product([draw(groupings()), draw(trees(2))])
    else:
        dims = [draw(trees(3)), draw(trees(3)), draw(trees(2))]
        n, rows = product(dims)
        inside = top(dims)
        place = list(itertools.accumulate(inside, initial=0))
        rows = [(b, [place[i] for i in x], w) for b, x, w in rows if all(inside[i] for i in x)]
        n = sum(inside)
    system = with_solution(n, rows, rng, draw(st.booleans()))
    return disguised(system, rng) if draw(st.booleans()) else system


@st.composite
def sparse_systems(draw, coefs: tuple[int, ...] = (-2, -1, 1, 2)) -> System:
    """Any sparse integer matrix, empty equations included, with repeated and combined equations."""
    n = draw(st.integers(1, 9))
    coef = st.sampled_from(coefs)
    rows: list[Row] = []
    for _ in range(draw(st.integers(0, 9))):
        cells = draw(st.lists(st.integers(0, n - 1), max_size=5, unique=True))
        rows.append((0, cells, [draw(coef) for _ in cells]))
    rng = draw(randoms)
    system = with_solution(n, rows, rng, draw(st.booleans()))
    return disguised(system, rng) if draw(st.booleans()) else system


def contradicted(system: System, rng: random.Random) -> System:
    """The system with one or two more equations: a combination of the others, with another right-hand side."""
    rows = list(system.rows)
    for _ in range(rng.randint(1, 2)):
        total: dict[int, int] = {}
        rhs = rng.choice([-3, -1, 1, 2])
        for b, cells, coefs in rng.sample(system.rows, rng.randint(1, min(3, len(system.rows)))):
            s = rng.choice([1, -1])
            rhs += s * b
            for i, c in zip(cells, coefs, strict=True):
                total[i] = total.get(i, 0) + s * c
        rows.insert(rng.randint(0, len(rows)), (rhs, list(total), list(total.values())))
    return System(system.n, rows, system.solution)


# ---- what must hold --------------------------------------------------------------------------------------------------------------------------


def check_structure(n: int, rows: list[Row]) -> None:
    """Rank, redundancy and contradictions.

    Whether consistent or not, `rank` is that of the coefficients alone: a contradictory equation repeats in its coefficients what others say.
    Dropping all redundant equations together loses nothing, neither a coefficient's rank nor a contradiction; dropping the contradictory ones as
    well leaves exactly `rank` independent equations.
    """
    s = Relations.from_rows(n, rows).structure
    exact = Exact.of(n, rows)
    redundant, contradictory = set(s.redundant.tolist()), set(s.contradictory.tolist())
    assert not redundant & contradictory
    assert s.rank == exact.rank
    assert bool(contradictory) == (not exact.consistent)
    without = Exact.of(n, [row for j, row in enumerate(rows) if j not in redundant])
    assert (without.rank, without.augmented_rank) == (exact.rank, exact.augmented_rank)
    core = Exact.of(n, [row for j, row in enumerate(rows) if j not in redundant | contradictory])
    assert core.rank == core.augmented_rank == len(rows) - len(redundant) - len(contradictory)
    defining = s.definition[s.definition >= 0].tolist()
    assert len(set(defining)) == len(defining)
    assert not set(defining) & (redundant | contradictory)
    for i, j in enumerate(s.definition.tolist()):
        if j >= 0:
            _, cells, coefs = rows[j]
            assert abs(coefs[cells.index(i)]) == 1
            assert all(s.level[k] < s.level[i] for k, c in zip(cells, coefs, strict=True) if c and k != i)


def check_leaf_form(system: System, rng: random.Random) -> None:
    n, rows = system.n, system.rows
    form = system.relations.leaf_form
    exact = Exact.of(n, rows)
    N, c, leaves = form.matrix.toarray().tolist(), form.constant.tolist(), form.leaves.tolist()
    R, r = form.condition.toarray().tolist(), form.condition_rhs.tolist()
    assert form.matrix.shape == (n, len(leaves))
    assert form.condition.shape == (len(r), len(leaves))

    def cells_from(u):
        return [shift + sum(w * x for w, x in zip(row, u, strict=True) if w) for row, shift in zip(N, c, strict=True)]

    # The leaves' own rows are the identity, so N has full column rank and a[leaves] = u.
    assert [N[i] for i in leaves] == np.eye(len(leaves), dtype=int).tolist()
    assert all(c[i] == 0 for i in leaves)
    conditions = Exact.of(len(leaves), [(b, list(range(len(leaves))), row) for row, b in zip(R, r, strict=True)])
    assert conditions.consistent
    assert len(leaves) - conditions.rank == n - exact.rank
    for _ in range(3):  # whatever the leaves, the equations hold
        a = cells_from(conditions.solution(rng))
        for b, cells, coefs in rows:
            assert sum(w * a[i] for i, w in zip(cells, coefs, strict=True)) == b
    for _ in range(3):  # whatever the table, the leaves give it back
        a = integer_solution(n, rows, system.solution, rng)
        u = [a[i] for i in leaves]
        assert cells_from(u) == a
        assert (form.matrix @ np.array(u, np.int64) + form.constant).tolist() == a
        assert [sum(w * x for w, x in zip(row, u, strict=True)) for row in R] == r


def check_network(system: System, rng: random.Random) -> bool:
    """Whether there is a node–arc form; when there is, it says what the equations say."""
    net = system.relations.network
    if net is None:
        return False
    n, rows = system.n, system.rows
    ground = net.nodes - 1
    kept = net.equations.tolist()
    assert len(set(kept)) == len(kept) == ground
    exact = Exact.of(n, rows)
    basis = Exact.of(n, [rows[j] for j in kept])
    assert (
        basis.rank == basis.augmented_rank == exact.rank
    )  # consistent and of the same rank: the kept equations imply the others
    # Node by node the arcs are the kept equation up to its sign; with one tail and one head a cell, that is the whole of M.
    for k, (j, sign) in enumerate(zip(kept, net.sign.tolist(), strict=True)):
        row = np.zeros(n, np.int64)
        np.add.at(row, rows[j][1], rows[j][2])
        assert sign in (1, -1)
        assert ((net.head == k).astype(int) - (net.tail == k) == sign * row).all()
    arcs = net.head >= 0
    assert np.array_equal(arcs, net.tail >= 0)
    assert (net.head[arcs] != net.tail[arcs]).all()
    assert max(net.head.max(initial=-1), net.tail.max(initial=-1)) <= ground
    for _ in range(2):
        a = np.array(integer_solution(n, rows, system.solution, rng), np.int64)
        flow = np.zeros(net.nodes, np.int64)
        np.add.at(flow, net.head[arcs], a[arcs])
        np.subtract.at(flow, net.tail[arcs], a[arcs])
        assert flow[:ground].tolist() == [s * rows[j][0] for j, s in zip(kept, net.sign.tolist(), strict=True)]
    return True


# ---- rank, redundancy, contradictions ----------------------------------------------------------------------------------------------------------


@SETTINGS
@given(tables())
def test_structure_of_tables(system):
    check_structure(system.n, system.rows)


@SETTINGS
@given(sparse_systems((-1, 1)))
def test_structure_of_systems_with_unit_coefficients(system):
    check_structure(system.n, system.rows)


@SETTINGS
@given(sparse_systems())
def test_structure_of_any_sparse_system(system):
    check_structure(system.n, system.rows)


@SETTINGS
@given(tables(), randoms)
def test_contradicted_tables_are_found_out(system, rng):
    false = contradicted(system, rng)
    check_structure(false.n, false.rows)


@SETTINGS
@given(sparse_systems().filter(lambda system: system.rows), randoms)
def test_contradicted_sparse_systems_are_found_out(system, rng):
    false = contradicted(system, rng)
    check_structure(false.n, false.rows)


def test_equations_without_a_unit_coefficient_are_reduced_among_themselves():
    repeated = Relations.from_rows(2, [(4, [0, 1], [2, 2]), (6, [0, 1], [3, 3])])
    assert (repeated.structure.rank, repeated.redundant.tolist(), repeated.contradictory.tolist()) == (1, [1], [])
    assert repeated.leaf_form.condition.shape == (1, 2)
    opposed = Relations.from_rows(2, [(4, [0, 1], [2, 2]), (7, [0, 1], [3, 3])])
    assert (opposed.structure.rank, opposed.redundant.tolist(), opposed.contradictory.tolist()) == (1, [], [1])


def test_empty_equations_say_nothing_or_contradict():
    r = Relations.from_rows(2, [(0, [], []), (5, [], []), (0, [0, 1], [1, -1])])
    assert (r.structure.rank, r.redundant.tolist(), r.contradictory.tolist()) == (1, [0], [1])


# ---- leaf form ---------------------------------------------------------------------------------------------------------------------------------


@SETTINGS
@given(tables(), randoms)
def test_leaf_form_of_tables(system, rng):
    check_leaf_form(system, rng)


@SETTINGS
@given(sparse_systems((-1, 1)), randoms)
def test_leaf_form_of_systems_with_unit_coefficients(system, rng):
    check_leaf_form(system, rng)


@SETTINGS
@given(sparse_systems(), randoms)
def test_leaf_form_of_any_sparse_system(system, rng):
    check_leaf_form(system, rng)


def test_a_condition_keeps_its_right_hand_side_when_a_leaf_in_it_is_substituted():
    rows = [(0, [1], [-2]), (-2, [1, 0, 2, 3], [1, -2, -2, -2]), (-2, [0, 1, 3, 2], [-2, -1, -2, 1])]
    check_leaf_form(System(4, rows, [0, 0, 0, 1]), random.Random(0))


@SETTINGS
@given(trees(), trees(4), randoms)
def test_a_table_of_trees_has_one_free_leaf_for_each_inner_cell(rows, columns, rng):
    """The cells with bottom codes on both sides determine all others, whichever cells the leaf form prefers to call leaves."""
    inner = math.prod(1 + max(max(parts) for _, parts in sums) - len(sums) for sums in (rows, columns))
    form = disguised(with_solution(*product([rows, columns]), rng, shifted=False), rng).relations.leaf_form
    assert form.condition.shape[0] == 0
    assert len(form.leaves) == inner


@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 3, 4), (2, 2, 2, 2)])
def test_the_leaves_of_an_array_are_as_many_as_its_inner_cells(shape):
    r = margins(shape)
    assert len(r.leaf_form.leaves) == math.prod(shape) == r.cells - r.structure.rank


# ---- network -----------------------------------------------------------------------------------------------------------------------------------


@SETTINGS
@given(tables() | sparse_systems((-1, 1)), randoms)
def test_a_network_says_what_the_equations_say(system, rng):
    check_network(system, rng)


def flat(size: int) -> Sums:
    return tree([0] * size)


def side_by_side(*parts: tuple[int, list[Row]]) -> tuple[int, list[Row]]:
    """Independent tables together."""
    n, rows = 0, []
    for own, equations in parts:
        rows += [(b, [n + i for i in cells], coefs) for b, cells, coefs in equations]
        n += own
    return n, rows


def must_be_network(parts: tuple[int, list[Row]], rng: random.Random, *, shifted: bool, negate: bool = True) -> None:
    system = with_solution(*parts, rng, shifted)
    assert check_network(system, rng)
    assert check_network(disguised(system, rng, negate=negate), rng)


sizes = st.integers(1, 5)


@SETTINGS
@given(sizes, sizes, randoms, st.booleans())
def test_two_dimensional_tables_are_networks(rows, columns, rng, shifted):
    must_be_network(product([flat(rows), flat(columns)]), rng, shifted=shifted)


@SETTINGS
@given(trees(10), randoms, st.booleans())
def test_one_dimensional_hierarchies_are_networks(hierarchy, rng, shifted):
    must_be_network(product([hierarchy]), rng, shifted=shifted)


@SETTINGS
@given(trees(8, branching=True), sizes, st.booleans(), randoms, st.booleans())
def test_two_dimensional_tables_with_one_hierarchy_are_networks(hierarchy, size, first, rng, shifted):
    dims = [hierarchy, flat(size)]
    must_be_network(product(dims if first else dims[::-1]), rng, shifted=shifted)


@SETTINGS
@given(trees(8), sizes, st.booleans(), randoms)
def test_codes_with_one_part_are_no_obstacle_when_the_total_has_the_minus(hierarchy, size, first, rng):
    """x = y alone does not say which is the total; the sign does, so these are not negated."""
    dims = [hierarchy, flat(size)]
    must_be_network(product(dims if first else dims[::-1]), rng, shifted=False, negate=False)


@SETTINGS
@given(trees(6, branching=True), st.lists(sizes, min_size=3, max_size=5), randoms, st.booleans())
def test_independent_two_dimensional_tables_are_one_network(hierarchy, size, rng, shifted):
    flats = [product([flat(a), flat(b)]) for a, b in itertools.pairwise(size)]
    must_be_network(side_by_side(product([flat(2), hierarchy]), *flats), rng, shifted=shifted)


@pytest.mark.parametrize("seed", range(40))
def test_repeated_equations_do_not_hide_a_network(seed):
    """Most equations several times over: a repeated sum is not a rival of itself."""
    rng = random.Random(seed)
    n, rows = product([tree([0, 0, 1, 1, 3, 3]), flat(2)])
    rows += [row for row in rows if rng.random() < 0.6]
    assert check_network(disguised(System(n, rows, [0] * n), rng), rng)


@pytest.mark.parametrize("seed", range(5))
def test_a_cube_is_no_network(seed):
    rng = random.Random(seed)
    r = margins((2, 2, 2))
    cube = System(r.cells, [r.equation(j) for j in range(r.equations)], [0] * r.cells)
    assert cube.relations.network is None
    assert disguised(cube, rng).relations.network is None


@pytest.mark.parametrize("shape", [(40, 40), (3, 70)])
def test_a_single_wrong_sign_is_found_among_many_cells(shape):
    """Signs are tried out on a few of many cells; the others must agree."""
    r = margins(shape)
    rng = random.Random(0)
    system = System(r.cells, [r.equation(j) for j in range(r.equations)], [0] * r.cells)
    assert check_network(disguised(system, rng), rng)
    for entry in (0, len(r.coefs) // 2, len(r.coefs) - 1):
        coefs = r.coefs.copy()
        coefs[entry] *= -1
        assert find_network(Relations(r.cells, r.indptr, r.indices, coefs, r.rhs)) is None


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1), (3, 5), (30, 20)])
def test_the_network_of_an_array_is_the_one_that_would_be_found(shape):
    r = margins(shape)
    found = find_network(r)
    for name in ("tail", "head", "equations", "sign"):
        known, own = getattr(r.network, name), getattr(found, name)
        assert np.array_equal(known, own) and known.dtype == own.dtype


def test_two_hierarchies_crossed_are_no_network():
    n, rows = product([tree([0, 0, 1, 1]), tree([0, 0, 1, 1])])
    assert Relations.from_rows(n, rows).network is None


@pytest.mark.parametrize("hierarchical", ["region", "sex"])
def test_a_frame_with_a_hierarchy_is_a_network(hierarchical):
    """From codes to arcs: the builder's own equations, the hierarchy on either dimension."""
    hierarchy = Hierarchy((("Total", ("N", "S")), ("N", ("N1", "N2", "N3")), ("S", ("S1", "S2"))))
    other = "sex" if hierarchical == "region" else "region"
    cells = list(itertools.product(["N1", "N2", "N3", "S1", "S2"], ["m", "f"]))
    data = {hierarchical: [a for a, _ in cells], other: [b for _, b in cells], "count": list(range(1, 11))}
    frame = pd.DataFrame(data)
    table = Table.from_frame(frame, dims=["region", "sex"], value="count", hierarchies={hierarchical: hierarchy})
    r = table.relations
    assert r.cells == 8 * 3
    system = System(r.cells, [r.equation(j) for j in range(r.equations)], table.scaled.tolist())
    assert check_network(system, random.Random(0))
    check_leaf_form(system, random.Random(0))
    assert len(r.leaf_form.leaves) == 10
