"""Building a table from records: leaf states, the codes they use, every cell above them, and who stands behind each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellward.errors import InputError, brief
from cellward.exact import Ints
from cellward.files.database import sql_text
from cellward.files.frames import with_index
from cellward.hierarchy import Hierarchy
from cellward.table.assemble import bounds
from cellward.table.code_words import Words, label_columns, words_from_pairs, words_of
from cellward.table.coded import Axis, CodedCells
from cellward.table.contributions import Contributions, Held, Parts
from cellward.table.labels import Labels, LinkedTable
from cellward.table.lattice import MOST_CELLS, Lattice
from cellward.table.sensitivity import Sensitivity
from cellward.table.spelling import Alike, alike
from cellward.table.table import Table
from cellward.table.told_by_rows import least_of_sums
from cellward.tabulate.leaf_states import LeafStates, Members, code_text, read_leaves
from cellward.tabulate.roles import Roles
from cellward.tabulate.rollup import roll_up
from cellward.tabulate.source import Source, open_source
from cellward.tabulate.spread import with_spread_units
from cellward.tabulate.states import NOBODY, States
from cellward.tabulate.warehouse import build_from_ibis, is_ibis

MISSING = "missing"
"""The code of records without a code, where they are kept."""


def build_from_microdata(
    rows: Any,
    roles: Roles,
    *,
    query: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    threads: int | None = None,
    memory_mb: int | None = None,
) -> Table:
    """See :meth:`Table.from_microdata`."""
    if is_ibis(rows):
        if given := [
            name for name, value in (("query", query), ("separator", separator), ("sheet", sheet)) if value is not None
        ]:
            raise InputError(f"{given[0]}: an ibis table says itself what it reads; leave it out")
        return build_from_ibis(rows, roles, threads)
    rows = with_index(rows, roles.wanted)
    with open_source(
        rows, query=query, separator=separator, sheet=sheet, threads=threads, memory_mb=memory_mb
    ) as source:
        for name in roles.wanted:
            source.column(name)
        leaves = read_leaves(source, roles)
        table = build_from_leaves(leaves, roles, Places(source, roles), threads)
        return table.called(words_of(roles.hierarchies, roles.labels, _words(source, roles)))


def _words(source: Source, roles: Roles) -> Words:
    """What the records call their codes."""
    found: Words = {}
    for dim, name in label_columns(roles.labels).items():
        pairs = f"{code_text(source, roles, dim)} AS code, CAST({source.column(name)} AS VARCHAR) AS label"
        rows = source.run(f"SELECT code, label FROM (SELECT {pairs} FROM {source.relation}) GROUP BY ALL ORDER BY ALL")
        found[dim] = words_from_pairs(dim, rows.fetchall(), lambda _: source.name)
    return found


@dataclass(frozen=True)
class Places:
    """Finds the first record with a code, for the sentence that refuses it."""

    source: Source
    roles: Roles

    def __call__(self, dim: str, code: str | None) -> str:
        """Where it stands, and how many records have it."""
        text = code_text(self.source, self.roles, dim)
        test = f"{text} IS NULL" if code is None else f"{text} = {sql_text(code)}"
        first, many = self.source.one(f"SELECT min(rn), count(*) FROM {self.source.relation} WHERE {test}")
        more = "" if many == 1 else f" (and {many - 1:,} more records)"
        return f"{self.source.place(first)}, column {dim}{more}"


def build_from_leaves(leaves: LeafStates, roles: Roles, places: Any, threads: int | None = None) -> Table:
    """The table of leaf states, wherever these were computed."""
    dims = roles.formula.dims
    axes, number = zip(
        *(
            axis_of(roles, dim, texts, places, blank=bool((leaves.leaf[k] < 0).any()))
            for k, (dim, texts) in enumerate(zip(dims, leaves.codes, strict=True))
        ),
        strict=True,
    )
    lattice = Lattice(axes, tuple(tuple(dims.index(name) for name in term) for term in roles.formula.terms))
    leaf, states = _placed(leaves.leaf, leaves.states, number)
    dropped = leaves.dropped + int(leaves.states.rows.sum()) - int(states.rows.sum())
    members = _placed_members(leaves.members, number)
    if not len(states.rows):
        raise InputError("no record is left to tabulate; check what missing= and blank= drop")
    if roles.empty == "zero":
        leaf, states = _with_empty(lattice, leaf, states)
    key, every = roll_up(lattice, leaf, states)
    every = with_spread_units(lattice, members, key, every, threads)
    code = lattice.codes(key)
    cells = CodedCells(list(axes), code)
    relations, labels = cells.relations()[0], _labels(lattice, code)
    codes = (alike(dim, texts, merged=False) for dim, texts in zip(dims, leaves.codes, strict=True))
    near = tuple(one for one in (leaves.alike, *codes) if one is not None)
    lower = bounds(
        roles.lower if roles.lower is not None else None if leaves.negative else 0, len(key), leaves.decimals, "lower"
    )
    if roles.measure is None and roles.empty == "absent":
        # A row stands only where there is a record, which everybody knows: it counts at least one, or something where records have weights.
        told = 10**leaves.decimals if roles.weight is None else np.minimum(every.value, 1)
        lower = least_of_sums(relations, np.maximum(lower, told))
    return Table(
        relations=relations,
        scaled=every.value,
        decimals=leaves.decimals,
        lower=lower,
        upper=bounds(roles.upper, len(key), leaves.decimals, "upper"),
        labels=labels,
        sensitivity=Sensitivity.none(len(key)),
        contributions=_contributions(
            leaves, lattice, key, every, leaf, states, members, dropped, near, folded=roles.spelling == "folded"
        ),
    )


def _labels(lattice: Lattice, code: Ints) -> Labels:
    """What the cells are called, in the whole and in each of several tables: those that stand at the total of every dimension it lacks."""
    axes = lattice.axes

    def of(dims: Sequence[int], cell: Ints) -> Labels:
        own = [axes[dim] for dim in dims]
        names, codes, totals = zip(*((axis.name, axis.codes, axis.total) for axis in own), strict=True)
        return Labels(len(cell), names, codes, tuple(code[dim][cell] for dim in dims), totals)

    tables = []
    for term in lattice.terms if len(lattice.terms) > 1 else ():
        inside = np.ones(code.shape[1], bool)
        for dim in set(range(len(axes))) - set(term):
            inside &= code[dim] == lattice.total(dim)
        cell = np.flatnonzero(inside)
        tables.append(LinkedTable(of(term, cell), cell))
    return replace(of(range(len(axes)), np.arange(code.shape[1])), tables=tuple(tables))


def axis_of(roles: Roles, dim: str, texts: tuple[str, ...], places: Any, *, blank: bool) -> tuple[Axis, Ints]:
    """A dimension's codes and sums, and for each text that occurs (and last, for no text) its code; −1 drops the record."""
    policy, total = roles.missing_of(dim), roles.total_of(dim)
    declared = set((roles.missing_codes or {}).get(dim, ()))
    absent = [text for text in texts if text in declared]
    if policy == "refuse" and (blank or absent):
        code = None if blank else absent[0]
        what = "no code" if blank else f"the code {brief(str(code))}, which stands for a missing one"
        raise InputError(
            f"{places(dim, code)}: {what}; fill it in, or say what to do with missing='drop' or missing='keep' (--missing)"
        )
    kept = [text for text in texts if text not in declared]
    hung = [*absent, *([MISSING] if blank else [])] if policy == "keep" else []
    if policy == "keep" and blank and MISSING in kept:
        raise InputError(
            f"{places(dim, MISSING)}: the code {brief(MISSING)} is in the data and is ours for records without one; rename it"
        )
    given = (roles.hierarchies or {}).get(dim)
    if given is None:
        if total in kept:
            raise InputError(
                f"{places(dim, total)}: the code {brief(total)} stands for the total, and a record belongs to a part of it; correct it, or name the "
                "total with total= (--total)"
            )
        if not kept and not hung:
            raise InputError(f"{dim}: no record has a code; check the column")
        hierarchy = Hierarchy.flat([*kept, *hung], total=total)
    else:
        several = [given] if isinstance(given, Hierarchy) else list(given)
        hierarchy = several[0].merge(*several[1:])
        if lost := hierarchy.unknown(kept):
            more = "" if len(lost) == 1 else f" (nor are {len(lost) - 1:,} more)"
            raise InputError(
                f"{places(dim, lost[0])}: the code {brief(lost[0])} is not in the hierarchy of {dim}{more}; add it there, or declare it missing with "
                "missing_codes= (--missing-codes)"
            )
        hierarchy = hierarchy.adding(*hung)
    parents = {parent for parent, _ in hierarchy.sums}
    if above := [text for text in [*kept, *(absent if policy == "keep" else [])] if text in parents]:
        raise InputError(
            f"{places(dim, above[0])}: the code {brief(above[0])} is a sum of others in the hierarchy of {dim}, and a record belongs to one of its "
            "parts; give the part, or add one to the hierarchy"
        )
    _refuse_partial_sums(hierarchy, {*kept, *hung}, dim)
    at = {code: k for k, code in enumerate(hierarchy.codes)}
    sums = tuple((at[parent], tuple(at[child] for child in children)) for parent, children in hierarchy.sums)
    top = total if total in hierarchy.roots else hierarchy.roots[0] if len(hierarchy.roots) == 1 else None
    number = [at[text] if text in at and (text not in declared or policy == "keep") else -1 for text in texts]
    number.append(at[MISSING] if blank and policy == "keep" else -1)
    return Axis(dim, hierarchy.codes, sums, np.zeros(0, np.int64), top), np.array(number, np.int64)


def _refuse_partial_sums(hierarchy: Hierarchy, occurring: set[str], dim: str) -> None:
    """Refuse two sums of one code of which one lacks a code that records have: its total would depend on the sum taken."""
    several = Counter(parent for parent, _ in hierarchy.sums)
    if max(several.values(), default=0) < 2:
        return
    below: dict[str, set[str]] = {}
    for leaf, above in hierarchy.closure:
        if leaf in occurring:
            below.setdefault(above, set()).add(leaf)
    for parent, children in hierarchy.sums:
        covered = set().union(*(below.get(child, set()) for child in children))
        if several[parent] > 1 and (lost := sorted(below.get(parent, set()) - covered)):
            raise InputError(
                f"hierarchies: a sum of {brief(parent)} in {dim} lacks {brief(lost[0])}, which records have and another sum of it holds; give every "
                "grouping all the codes, or hang the rest below a code of its own"
            )


def _placed(leaf: Ints, states: States, number: Sequence[Ints]) -> tuple[Ints, States]:
    """Leaf states by the codes of the axes, without those dropped."""
    code = np.stack([own[texts] for own, texts in zip(number, leaf, strict=True)])  # −1 finds the last entry
    keep = np.asarray((code >= 0).all(axis=0))
    return (code, states) if keep.all() else (code[:, keep], states.take(keep))


def _placed_members(members: Members, number: Sequence[Ints]) -> Members:
    code = np.stack([own[texts] for own, texts in zip(number, members.leaf, strict=True)])
    keep = (code >= 0).all(axis=0)
    return Members(
        members.unit[keep], code[:, keep], members.amount[keep], members.weighted[keep], members.requested[:, keep]
    )


def _with_empty(lattice: Lattice, leaf: Ints, states: States) -> tuple[Ints, States]:
    """Every combination of bottom codes, those without a record included."""
    size = 1
    for axis in lattice.axes:
        size *= len(axis.bottom)
    if size > MOST_CELLS:
        raise InputError(f"empty='zero' would make {size:,} cells; leave empty cells absent")
    every = np.stack([grid.ravel() for grid in np.meshgrid(*(axis.bottom for axis in lattice.axes), indexing="ij")])
    fresh = every[:, ~np.isin(lattice.key(every), lattice.key(leaf))]
    empty = States.empty(fresh.shape[1], len(states.top), len(states.requested), weighted=states.weighted is not None)
    return np.concatenate((leaf, fresh), axis=1), states.then(empty)


def _contributions(
    leaves: LeafStates,
    lattice: Lattice,
    key: Ints,
    every: States,
    leaf: Ints,
    states: States,
    members: Members,
    dropped: int,
    found: tuple[Alike, ...],
    *,
    folded: bool,
) -> Contributions:
    """What the rules and the attackers need."""
    names, unit, whose, spread = leaves.names, every.unit, states.unit, members.unit
    if callable(
        names
    ):  # number those whose names are wanted: whoever is among the largest of a cell is so in a leaf, or spread
        used = _distinct(np.concatenate((whose[whose != NOBODY], spread)))
        names = names(used)
        unit, whose, spread = (
            np.where(own == NOBODY, NOBODY, np.searchsorted(used, own)) for own in (unit, whose, spread)
        )
    return Contributions(
        records=int(states.rows.sum()),
        dropped=dropped,
        rows=every.rows,
        units=every.units,
        size=every.size,
        top=np.maximum(every.top, 0),
        unit=np.where(unit == NOBODY, -1, unit),
        names=names,
        weighted=every.weighted,
        negative=leaves.negative,
        requested=dict(zip(leaves.requests, every.requested, strict=True)),
        folded=folded,
        alike=found,
        parts=Parts(
            alone=Held(
                np.where(whose == NOBODY, -1, whose), leaf, states.top if states.weighted is None else states.weighted
            ),
            spread=Held(spread, members.leaf, members.weighted),
            lattice=lattice,
            key=key,
            cell=np.arange(len(key)),
        ),
    )


def _distinct(numbers: Ints) -> Ints:
    """The distinct numbers in order; by sorting, which is faster than numpy's own where nearly all are distinct."""
    ordered = np.sort(numbers)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]]
