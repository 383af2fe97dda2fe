"""Hierarchies at random: the closure against plain recursion, .hrc there and back, merging as a union."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from cellward.errors import InputError
from cellward.formats.hrc import read_hrc, write_hrc
from cellward.hierarchy import Hierarchy

Sums = tuple[tuple[str, tuple[str, ...]], ...]


@st.composite
def any_sums(draw) -> Sums:
    """Sums from a code to later ones, so without circles, under shuffled names and in any order; they may overlap."""
    names = draw(st.permutations("abcdefghij"))
    sums = []
    for _ in range(draw(st.integers(1, 7))):
        i = draw(st.integers(0, len(names) - 2))
        children = draw(st.lists(st.sampled_from(names[i + 1 :]), min_size=1, max_size=4, unique=True))
        sums.append((names[i], tuple(children)))
    return tuple(sums)


@st.composite
def trees(draw, alphabet: str = "ab@ é.") -> Hierarchy:
    """A tree over codes that an .hrc file can hold, declared in any order."""
    code = st.text(alphabet, min_size=1, max_size=4).filter(lambda c: not c.startswith("@") and not c.endswith(" "))
    codes = draw(st.lists(code, min_size=1, max_size=12, unique=True))
    children: dict[str, list[str]] = {}
    for i, own in enumerate(codes):
        above = draw(st.integers(-1, i - 1))
        children.setdefault("Total" if above < 0 else codes[above], []).append(own)
    return Hierarchy(tuple(draw(st.permutations([(p, tuple(c)) for p, c in children.items()]))))


def below(sums: Sums, code: str) -> list[str]:
    """The leaves of a code by plain recursion over its sums, one entry for each way down within one sum."""
    ways = [[leaf for child in children for leaf in below(sums, child)] for parent, children in sums if parent == code]
    return [leaf for way in ways for leaf in way] if ways else [code]


def everything_below(sums: Sums, code: str) -> set[str]:
    return {code}.union(*(everything_below(sums, c) for parent, children in sums if parent == code for c in children))


def counts_twice(sums: Sums) -> bool:
    """Whether two children of one sum have a code in common."""
    for _, children in sums:
        inner = [everything_below(sums, child) for child in children]
        if sum(map(len, inner)) > len(set().union(*inner)):
            return True
    return False


def made(sums: Sums) -> Hierarchy:
    assume(not counts_twice(sums))
    return Hierarchy(sums)


@given(any_sums())
def test_overlapping_children_are_refused_and_nothing_else(sums):
    try:
        Hierarchy(sums)
    except InputError as error:
        assert "twice" in str(error)
        assert counts_twice(sums)
    else:
        assert not counts_twice(sums)


@given(any_sums())
def test_closure_is_what_recursion_finds(sums):
    hierarchy = made(sums)
    codes = {parent for parent, _ in sums}.union(*(children for _, children in sums))
    assert set(hierarchy.codes) == codes
    assert len(hierarchy.codes) == len(codes)
    assert set(hierarchy.closure) == {(leaf, code) for code in codes for leaf in below(sums, code)}
    assert len(hierarchy.closure) == len(set(hierarchy.closure))
    assert hierarchy.leaves == tuple(dict.fromkeys(leaf for leaf, _ in hierarchy.closure))


@given(any_sums())
def test_parents_come_before_their_children(sums):
    hierarchy = made(sums)
    place = {code: i for i, code in enumerate(hierarchy.codes)}
    assert all(place[parent] < place[child] for parent, children in sums for child in children)
    assert {code for code in hierarchy.codes if all(code not in c for _, c in sums)} == set(hierarchy.roots)


@given(any_sums())
def test_making_it_again_changes_nothing(sums):
    hierarchy = made(sums)
    again = Hierarchy(hierarchy.sums)
    assert again == hierarchy
    assert (again.codes, again.closure, again.roots) == (hierarchy.codes, hierarchy.closure, hierarchy.roots)
    assert {(p, frozenset(c)) for p, c in hierarchy.sums} == {(p, frozenset(c)) for p, c in sums}


@given(any_sums())
def test_one_sum_back_closes_a_circle(sums):
    parent, children = sums[0]
    assume(not counts_twice(sums))
    try:
        Hierarchy((*sums, (children[-1], (parent,))))
    except InputError as error:
        assert "in a circle" in str(error)
        circle = str(error).split("circle, ")[1].split(":")[0].split(" → ")
        edges = {(p, c) for p, cs in sums for c in cs} | {(children[-1], parent)}
        assert circle[0] == circle[-1]
        assert all(edge in edges for edge in pairwise(circle))
    else:
        raise AssertionError("a circle was accepted")


@given(any_sums(), any_sums())
def test_merging_is_the_union_of_sums(one, other):
    assume(not counts_twice(one) and not counts_twice(other))
    h1, h2 = Hierarchy(one), Hierarchy(other)
    try:
        both = h1 | h2
    except InputError:  # a circle, or a code counted twice, that neither has alone
        return
    as_sets = {(p, frozenset(c)) for p, c in (*h1.sums, *h2.sums)}
    assert {(p, frozenset(c)) for p, c in both.sums} == as_sets
    assert set(h1.closure) - {(x, c) for x, c in h1.closure if x not in both.leaves} <= set(both.closure)


@given(trees())
def test_hrc_there_and_back(tree):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tree.hrc")
        write_hrc(tree, file)
        assert read_hrc(file) == tree
        assert len(file.read_text(encoding="utf-8").splitlines()) == len(tree.codes) - 1


@given(trees())
def test_a_tree_through_its_parent_table(tree):
    rows = [(child, parent) for parent, children in tree.sums for child in children]
    assert Hierarchy.from_parents([(tree.total, None), *rows]) == tree


@given(st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=15, unique=True))
def test_prefixes_against_trying_them_all(codes):
    hierarchy = Hierarchy.from_prefixes(codes)
    above = {child: parent for parent, children in hierarchy.sums for child in children}
    for code in codes:
        longest = max((c for c in codes if c != code and code.startswith(c)), key=len, default="Total")
        assert above[code] == longest
