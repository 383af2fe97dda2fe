"""Hierarchy: codes and the sums between them (trees, overlapping groupings), with their closure.

A sum (parent, children) says parent = Σ children. A parent may have several sums (male + female, young + adult), and a
code may be a child in several (a region in its province and in "East"). Everything here walks with a list instead of
recursing: a chain may be a hundred thousand codes deep.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from cellward.errors import InputError
from cellward.files.frames import with_index

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

_SHOWN = 6  # codes named in one message; a sentence stays a sentence when the input is huge


@dataclass(frozen=True, repr=False)
class Hierarchy:
    """The codes of one dimension and the sums between them, checked when made.

    ``sums`` are (parent, children) pairs, kept in reading order (a parent before its children) and without repetitions,
    so it does not matter which sum was declared first. Refused are circles, empty or repeated children, and a sum whose
    children overlap, since it would count a code twice; an overlapping grouping is a sum of its own.

    >>> nuts = Hierarchy.from_dict({"Total": {"North": ["N1", "N2"], "South": ["S1", "S2"]}, "East": ["N2", "S2"]})
    >>> nuts.sums
    (('Total', ('North', 'South')), ('North', ('N1', 'N2')), ('South', ('S1', 'S2')), ('East', ('N2', 'S2')))
    >>> Hierarchy((("A", ("B", "C")), ("B", ("A",))))
    Traceback (most recent call last):
      ...
    cellward.errors.InputError: the hierarchy runs in a circle, A → B → A: remove one of these sums
    """

    sums: tuple[tuple[str, tuple[str, ...]], ...]
    labels: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What codes are called, as far as that is known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", _checked(self.sums))
        place = {code: i for i, code in enumerate(self.codes)}  # making the codes is what finds a circle
        object.__setattr__(self, "sums", tuple(sorted(self.sums, key=lambda s: place[s[0]])))
        for name in ("_below", "_above"):  # needed for the codes; made anew, they follow the reading order too
            object.__delattr__(self, name)
        _refuse_double_counting(self.sums)

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """Every code once, parents before their children, depth first as declared.

        >>> Hierarchy.from_dict({"Total": {"A": ["1", "2"], "B": {}}}).codes
        ('Total', 'A', '1', '2', 'B')
        """
        # The reverse of a post-order is a topological order; walking everything backwards makes it the plain pre-order
        # when the sums are a tree.
        below = self._below
        order: list[str] = []
        done: dict[str, bool] = {}  # False while a code is on the stack
        for start in chain(reversed(self.roots), below):  # a circle without a root is met only through ``below``
            if start in done:
                continue
            done[start] = False
            stack = [(start, reversed(below.get(start, ())))]
            while stack:
                code, children = stack[-1]
                child = next((c for c in children if not done.get(c, False)), None)
                if child is None:
                    done[code] = True
                    order.append(code)
                    stack.pop()
                elif child in done:
                    path = [c for c, _ in stack]
                    circle = _path([*path[path.index(child) :], child])
                    raise InputError(f"the hierarchy runs in a circle, {circle}: remove one of these sums")
                else:
                    done[child] = False
                    stack.append((child, reversed(below.get(child, ()))))
        return tuple(reversed(order))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The codes that are never a parent, in the order of ``codes``.

        >>> Hierarchy.from_dict({"Total": {"A": ["1", "2"], "B": {}}}).leaves
        ('1', '2', 'B')
        """
        return tuple(code for code in self.codes if code not in self._below)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The codes that are never a child, as declared.

        >>> (Hierarchy.flat(["a", "b", "c"]) | Hierarchy.flat(["b", "c"], total="East")).roots
        ('Total', 'East')
        """
        return tuple(code for code in self._below if code not in self._above)

    @property
    def total(self) -> str:
        """The only root; an InputError when there are several.

        >>> Hierarchy.flat(["male", "female"]).total
        'Total'
        """
        if len(self.roots) > 1:
            raise InputError(
                f"the hierarchy has no one total, because nothing stands above any of {_listed(self.roots)}:"
                " add a sum that joins them, or say which of them is meant"
            )
        return self.roots[0]

    @cached_property
    def closure(self) -> tuple[tuple[str, str], ...]:
        """Every (leaf, code at or above it) pair once; the leaves in order, each with its ancestors, nearest first.

        >>> Hierarchy.from_dict({"Total": {"A": ["1"], "B": {}}}).closure
        (('1', '1'), ('1', 'A'), ('1', 'Total'), ('B', 'B'), ('B', 'Total'))
        """
        pairs: list[tuple[str, str]] = []
        for leaf in self.leaves:
            line, met = [leaf], {leaf}
            for code in line:
                for parent in self._above.get(code, ()):
                    if parent not in met:
                        met.add(parent)
                        line.append(parent)
            pairs.extend((leaf, code) for code in line)
        return tuple(pairs)

    @cached_property
    def depth(self) -> int:
        """The number of sums on the longest way from a root down to a leaf; 1 when flat.

        >>> Hierarchy.from_dict({"Total": {"A": ["1", "2"], "B": {}}}).depth
        2
        """
        return max(self.levels.values())

    @property
    def levels(self) -> dict[str, int]:
        """How many sums each code is below its root, on the longest way.

        >>> Hierarchy.from_dict({"Total": {"A": ["1", "2"], "B": {}}}).levels
        {'Total': 0, 'A': 1, '1': 2, '2': 2, 'B': 1}
        """
        level = dict.fromkeys(self.codes, 0)
        for code in self.codes:  # parents come first, so a code's own level is final when its children are lowered
            for child in self._below.get(code, ()):
                level[child] = max(level[child], level[code] + 1)
        return level

    @cached_property
    def _below(self) -> dict[str, tuple[str, ...]]:
        below: dict[str, dict[str, None]] = {}
        for parent, children in self.sums:
            below.setdefault(parent, {}).update(dict.fromkeys(children))
        return {parent: tuple(children) for parent, children in below.items()}

    @cached_property
    def _above(self) -> dict[str, list[str]]:
        above: dict[str, list[str]] = {}
        for parent, children in self._below.items():
            for child in children:
                above.setdefault(child, []).append(parent)
        return above

    def unknown(self, codes: Iterable[str]) -> tuple[str, ...]:
        """Those of the given codes that the hierarchy does not have, each once.

        >>> Hierarchy.flat(["male", "female"]).unknown(["male", "Total", "x", "x"])
        ('x',)
        """
        known = frozenset(self.codes)
        return tuple(code for code in dict.fromkeys(codes) if code not in known)

    def merge(self, *others: Hierarchy) -> Hierarchy:
        """The sums of several hierarchies on one dimension, together; ``h1 | h2`` is the same for two.

        >>> Hierarchy.flat(["male", "female"]).merge(Hierarchy.flat(["young", "adult"])).sums
        (('Total', ('male', 'female')), ('Total', ('young', 'adult')))
        """
        labels = {code: label for one in (self, *others) for code, label in one.labels.items()}
        return Hierarchy(tuple(chain(self.sums, *(other.sums for other in others))), labels)

    def __or__(self, other: Hierarchy) -> Hierarchy:
        return self.merge(other) if isinstance(other, Hierarchy) else NotImplemented

    def adding(self, *codes: str) -> Hierarchy:
        """The same with further codes directly below the root, in every sum of it; codes that it has are left alone.

        >>> Hierarchy.from_dict({"Total": {"A": ["1", "2"]}}).adding("unknown").sums
        (('Total', ('A', 'unknown')), ('A', ('1', '2')))
        """
        fresh = self.unknown(codes)
        if fresh and len(self.roots) != 1:
            raise InputError(
                f"{_quoted(fresh[0])} has no place in a hierarchy of {len(self.roots)} roots: name the sum it belongs to"
            )
        root = self.roots[0]
        sums = tuple((parent, (*below, *fresh) if parent == root else below) for parent, below in self.sums)
        return Hierarchy(sums, self.labels)

    @classmethod
    def flat(cls, codes: Iterable[str], total: str = "Total") -> Hierarchy:
        """One sum: the total of the codes. A code given twice counts once, so a column of data will do.

        >>> Hierarchy.flat(["male", "female"]).sums
        (('Total', ('male', 'female')),)
        """
        return cls(((total, _distinct(codes)),))

    @classmethod
    def from_dict(cls, nested: Mapping[str, Any], total: str | None = None) -> Hierarchy:
        """From nested dicts and lists; leaves are list items, or keys with None, {} or [].

        With ``total`` the outermost keys become its children.

        >>> Hierarchy.from_dict({"A": ["1", "2"], "B": None}, total="Total").sums
        (('Total', ('A', 'B')), ('A', ('1', '2')))
        """
        if not isinstance(nested, Mapping):
            raise InputError(f"a nested hierarchy is a dict of dicts and lists, not {_kind(nested)}")
        sums: list[tuple[str, tuple[str, ...]]] = []
        stack: list[tuple[str, Any]] = list(nested.items()) if total is None else [(total, nested)]
        while stack:
            parent, inner = stack.pop()
            if isinstance(inner, Mapping):
                stack.extend(inner.items())
            elif not isinstance(inner, list | tuple | None):
                raise InputError(f"below {_quoted(parent)} stands {_kind(inner)}: give a dict or a list of codes")
            if inner:
                sums.append((parent, tuple(inner)))
        hierarchy = cls(tuple(reversed(sums)))  # the stack took the outermost keys from behind
        if alone := hierarchy.unknown(nested):
            raise InputError(
                f"{_listed(alone)} has neither children nor parent: name the code above with total=, or leave it out"
            )
        return hierarchy

    @classmethod
    def from_parents(
        cls,
        frame: IntoDataFrame | Sequence[tuple[str | None, ...]],
        child: str = "child",
        parent: str = "parent",
        grouping: str | None = None,
    ) -> Hierarchy:
        """From a parent–child table: a pandas, polars or pyarrow frame, or tuples (child, parent[, grouping]).

        Rows with the same parent and grouping form one sum; a row without a parent names a root and adds no sum.

        >>> sex = [("male", "Total", "sex"), ("female", "Total", "sex")]
        >>> age = [("young", "Total", "age"), ("adult", "Total", "age")]
        >>> Hierarchy.from_parents(sex + age).sums
        (('Total', ('male', 'female')), ('Total', ('young', 'adult')))
        """
        rows = _tuples(frame) if isinstance(frame, Sequence) else _frame_rows(frame, child, parent, grouping)
        children: dict[tuple[str, str | None], list[str]] = {}
        for number, (code, above, group) in enumerate(rows, start=1):
            where = f"row {number} of the parent–child table"
            code = _text(code, where)
            if above is not None and above != "":
                key = _text(above, where), None if group is None else str(group)
                children.setdefault(key, []).append(code)
        return cls(tuple((above, tuple(codes)) for (above, _), codes in children.items()))

    @classmethod
    def from_levels(
        cls, frame: IntoDataFrame | Sequence[Sequence[str]], levels: Sequence[str] | None = None, total: str = "Total"
    ) -> Hierarchy:
        """From a correspondence table: one column a level, the broadest first, one row a path; a frame with the columns ``levels``, or tuples.

        A code that repeats the one above it on its path is that code, and a path may end early, with nothing in its last columns.

        >>> Hierarchy.from_levels([("A", "A1"), ("A", "A2"), ("B", "B")]).sums
        (('Total', ('A', 'B')), ('A', ('A1', 'A2')))
        """
        if isinstance(frame, Sequence):
            rows: Iterable[Sequence[Any]] = frame
        elif frame is None:
            raise InputError("the correspondence table is None: give a pandas or polars frame, or a list of tuples")
        elif not levels:
            raise InputError("levels: name the columns of the correspondence table, the broadest first")
        else:
            rows = _frame_columns(frame, levels, "the correspondence table", "name its columns with levels=")
        children: dict[str, dict[str, None]] = {}
        parent_of: dict[str, str] = {}
        for number, row in enumerate(rows, start=1):
            above = total
            last = max((k for k, entry in enumerate(row) if entry is not None and entry != ""), default=0)
            for entry in row[: last + 1]:
                code = _text(entry, f"row {number} of the correspondence table")
                if code == above:
                    continue
                if parent_of.setdefault(code, above) != above:
                    raise InputError(
                        f"row {number} of the correspondence table puts {_quoted(code)} below {_quoted(above)}, an earlier row below "
                        f"{_quoted(parent_of[code])}: give each code one place"
                    )
                children.setdefault(above, {})[code] = None
                above = code
        return cls(tuple((parent, tuple(below)) for parent, below in children.items()))

    @classmethod
    def from_prefixes(
        cls, codes: Iterable[str], lengths: Sequence[int] | None = None, total: str = "Total"
    ) -> Hierarchy:
        """From codes that begin with their parents: above ``4711`` is the longest of ``471``, ``47``, ``4`` among them.

        With ``lengths=(1, 2, 4)``, ``47`` is above ``4711`` and ``4`` above ``47``, made when they are not among the
        codes. What has nothing above it hangs under the total; a code given twice counts once.

        >>> Hierarchy.from_prefixes(["A", "A1", "A2", "B"]).sums
        (('Total', ('A', 'B')), ('A', ('A1', 'A2')))
        >>> Hierarchy.from_prefixes(["471", "472", "481"], lengths=(1, 2, 3)).codes
        ('Total', '4', '47', '471', '472', '48', '481')
        """
        given = _distinct(codes)
        above = _nearest_prefixes(given, total) if lengths is None else _listed_prefixes(given, tuple(lengths), total)
        children: dict[str, list[str]] = {}
        for code, parent in above.items():
            children.setdefault(parent, []).append(code)
        return cls(tuple((parent, tuple(below)) for parent, below in children.items()))

    @classmethod
    def from_hrc(
        cls, source: str | os.PathLike[str] | Iterable[str], *, lead: str = "@", total: str = "Total"
    ) -> Hierarchy:
        """From a τ-ARGUS ``.hrc`` file (its path), or from its lines (a list of strings).

        >>> Hierarchy.from_hrc(["North", "@N1", "@N2", "South"]).sums
        (('Total', ('North', 'South')), ('North', ('N1', 'N2')))
        """
        from cellward.formats.hrc import parse_hrc, read_hrc

        if isinstance(source, str | os.PathLike) or not isinstance(source, Iterable):
            if str(source).lower().endswith((".csv", ".tsv", ".parquet")):
                raise InputError(f"{source}: a table is no .hrc file; read it with Hierarchy.from_file")
            return read_hrc(source, lead=lead, total=total)
        return parse_hrc(source, lead=lead, total=total)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        total: str = "Total",
        levels: Sequence[str] | None = None,
        child: str | None = None,
        parent: str | None = None,
        grouping: str | None = None,
        lead: str | None = None,
        separator: str | None = None,
    ) -> Hierarchy:
        r"""From a file, by what it is: ``.hrc``, or a CSV or Parquet file of children and parents, or of levels, the broadest first.

        Columns called ``child`` and ``parent`` are taken for that, others for levels; one called ``label``, or ``X label`` beside the level ``X``,
        says what codes are called; ``levels``, or ``child`` and ``parent``, say it where the
        file does not. Several codes without a parent come under ``total``.

        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "region.csv")
        ...     _ = file.write_text("child,parent\nN1,North\nN2,North\nNorth,NL\nSouth,NL\n")
        ...     Hierarchy.from_file(file).sums
        (('NL', ('North', 'South')), ('North', ('N1', 'N2')))
        """
        from cellward.formats.hierarchy_file import read_hierarchy

        return read_hierarchy(
            path,
            total=total,
            levels=levels,
            child=child,
            parent=parent,
            grouping=grouping,
            lead=lead,
            separator=separator,
        )

    def to_hrc(self, path: str | os.PathLike[str], *, lead: str = "@") -> None:
        """Write the hierarchy as a τ-ARGUS ``.hrc`` file, which :meth:`from_hrc` reads again: one tree, and not the total's name.

        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Hierarchy.from_dict({"Total": {"North": ["N1", "N2"], "South": {}}}).to_hrc(pathlib.Path(folder, "region.hrc"))
        ...     Hierarchy.from_hrc(pathlib.Path(folder, "region.hrc")).sums
        (('Total', ('North', 'South')), ('North', ('N1', 'N2')))
        """
        from cellward.formats.hrc import write_hrc

        write_hrc(self, path, lead=lead)

    def __repr__(self) -> str:
        parts = [f"{len(self.codes):,} codes", "1 sum" if len(self.sums) == 1 else f"{len(self.sums):,} sums"]
        if self.depth > 1:
            parts.append(f"{self.depth} deep")
        roots = [repr(code)[:60] for code in self.roots[:3]] + ["…"] * (len(self.roots) > 3)
        return f"Hierarchy({' and '.join(roots)}: {', '.join(parts)})"


def check_hierarchies(given: Any, dims: Sequence[str]) -> None:
    """Refuse what is no mapping from these dimensions to one hierarchy or several."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f"hierarchies={_kind(given)}: give a mapping from dimensions, such as {{{dims[0]!r}: Hierarchy.flat(codes)}}"
        )
    for dim, own in (given or {}).items():
        several = own if isinstance(own, list | tuple) else [own]
        if not several or not all(isinstance(one, Hierarchy) for one in several):
            raise InputError(
                f"hierarchies: {dim} needs a Hierarchy, or a list of several; make one with Hierarchy.from_dict, or read one with Hierarchy.from_file"
            )
        if dim not in dims:
            raise InputError(f"hierarchies: {dim!r} is not among the dims {', '.join(dims)}; name a dimension column")


def _checked(sums: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The sums as tuples of text, repetitions dropped."""
    kept: dict[tuple[str, frozenset[str]], tuple[str, tuple[str, ...]]] = {}
    if not _is_list(sums):
        raise InputError(f"the sums of a hierarchy are a list of (parent, children) pairs, not {_kind(sums)}")
    for number, pair in enumerate(sums, start=1):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"sum {number} of the hierarchy is {_kind(pair)}: give a (parent, children) pair")
        parent = _text(pair[0], f"sum {number} of the hierarchy")
        name = _quoted(parent)
        if not _is_list(pair[1]):
            raise InputError(f"the children of {name} are given as {_kind(pair[1])}: give a list of codes")
        children = tuple(_text(child, f"the sum of {name}") for child in pair[1])
        distinct = frozenset(children)
        if not children:
            raise InputError(f"the sum of {name} has no children: name them, or leave the sum out")
        if parent in distinct:
            raise InputError(f"{name} is among its own children: rename one of the two, or take it out of the sum")
        if len(distinct) < len(children):
            twice = Counter(children).most_common(1)[0][0]
            raise InputError(f"{_quoted(twice)} is more than once among the children of {name}: keep one")
        kept.setdefault((parent, distinct), (parent, children))
    if not kept:
        raise InputError("the hierarchy has no sums: name at least one parent with its children")
    return tuple(kept.values())


def _refuse_double_counting(sums: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    """Refuse a sum whose children overlap.

    If Total = A + B and y is in both, then Total = … + 2y: a total of nothing, and at odds with the closure, which has
    each pair once. The two ways from y up to that sum part at a code which is a child in two sums, so it is enough to
    start from those; a tree has none.
    """
    within: dict[str, list[int]] = {}
    for i, (_, children) in enumerate(sums):
        for child in children:
            within.setdefault(child, []).append(i)
    for shared in (code for code, where in within.items() if len(where) > 1):
        entered: dict[int, str] = {}  # sum → the child through which it holds the shared code
        line, met = [shared], {shared}
        for code in line:
            for i in within.get(code, ()):
                parent = sums[i][0]
                if i in entered:
                    ways = (f"as {_quoted(c)}" if c == shared else f"in {_quoted(c)}" for c in (entered[i], code))
                    raise InputError(
                        f"the sum of {_quoted(parent)} counts {_quoted(shared)} twice, {' and '.join(ways)}:"
                        " let the children of one sum not overlap, and make the other grouping a sum of its own"
                    )
                entered[i] = code
                if parent not in met:
                    met.add(parent)
                    line.append(parent)


def _nearest_prefixes(codes: tuple[str, ...], total: str) -> dict[str, str]:
    """Each code with the longest other code it begins with, or the total."""
    above: dict[str, str] = {}
    open_prefixes: list[str] = []
    for code in sorted(codes):  # what begins with p follows p in one run, so a stack holds the prefixes still open
        while open_prefixes and not code.startswith(open_prefixes[-1]):
            open_prefixes.pop()
        above[code] = open_prefixes[-1] if open_prefixes else total
        open_prefixes.append(code)
    return {code: above[code] for code in codes}


def _listed_prefixes(codes: tuple[str, ...], lengths: tuple[int, ...], total: str) -> dict[str, str]:
    """Each code, and each prefix of a listed length that it implies, with the next shorter one, or the total."""
    if not lengths or lengths[0] < 1 or any(a >= b for a, b in pairwise(lengths)):
        raise InputError(f"the prefix lengths {lengths} do not rise from 1 or more: give them like (1, 2, 4)")
    above: dict[str, str] = {}
    for code in codes:
        if len(code) not in lengths:
            raise InputError(
                f"code {_quoted(code)} has {len(code)} characters, which is none of the lengths {lengths}:"
                " add the length or correct the code"
            )
        parent = total
        for prefix in (code[:n] for n in lengths if n <= len(code)):
            above.setdefault(prefix, parent)
            parent = prefix
    return above


def _tuples(rows: Sequence[Any]) -> Iterable[tuple[Any, Any, Any]]:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, tuple | list) or len(row) not in (2, 3):
            raise InputError(
                f"row {number} of the parent–child table is {_kind(row)}:"
                " give a tuple (child, parent) or (child, parent, grouping)"
            )
        yield row[0], row[1], row[2] if len(row) == 3 else None


def _frame_rows(frame: Any, child: str, parent: str, grouping: str | None) -> Iterable[tuple[Any, Any, Any]]:
    names = [name for name in (child, parent, grouping) if name is not None]
    for row in _frame_columns(
        frame, names, "the parent–child table", "name its columns with child=, parent= and grouping="
    ):
        yield row[0], row[1], row[2] if len(row) == 3 else None


def _frame_columns(frame: Any, names: Sequence[str], what: str, remedy: str) -> Iterable[tuple[Any, ...]]:
    """The rows of some columns of a frame; missing values, whatever the library calls them, are None."""
    import narwhals as nw

    try:
        table = nw.from_native(with_index(frame, names), eager_only=True)
    except TypeError:
        raise InputError(
            f"{what} is {_kind(frame)}: give a pandas or polars frame (a lazy one collected), or a list of tuples"
        ) from None
    if missing := [name for name in names if name not in table.columns]:
        raise InputError(f"{what} has no column {_listed(missing)} but {_listed(table.columns)}: {remedy}")

    def column(name: str) -> list[Any]:
        values = table[name]
        nulls = values.is_null().to_list()
        return [None if null else value for value, null in zip(values.to_list(), nulls, strict=True)]

    return zip(*(column(name) for name in names), strict=True)


def _distinct(codes: Iterable[str]) -> tuple[str, ...]:
    if not _is_list(codes):
        raise InputError(f"the codes are given as {_kind(codes)}: give a list of codes")
    return tuple(dict.fromkeys(_text(code, "the list of codes") for code in codes))


def _is_list(thing: object) -> bool:
    """Whether to take it item by item: a string would fall into letters, a dict lose its values."""
    return isinstance(thing, Iterable) and not isinstance(thing, str | bytes | Mapping)


def _text(code: object, where: str) -> str:
    if not isinstance(code, str):
        raise InputError(f"{where} has {_kind(code)} where a code belongs: give text, since '01' and '1' are two codes")
    if not code:
        raise InputError(f"{where} has an empty code: give it a name")
    return code


def _kind(thing: object) -> str:
    """What a wrong argument is, briefly."""
    return repr(thing) if thing is None or isinstance(thing, bool | int | float) else f"a {type(thing).__name__}"


def _quoted(code: str) -> str:
    shown = repr(code)
    return shown if len(shown) <= 60 else f"{shown[:57]}…'"


def _listed(codes: Sequence[str]) -> str:
    more = f" and {len(codes) - _SHOWN} more" if len(codes) > _SHOWN else ""
    return ", ".join(_quoted(code) for code in codes[:_SHOWN]) + more


def _path(codes: Sequence[str]) -> str:
    return " → ".join(codes if len(codes) <= 2 * _SHOWN else [*codes[:_SHOWN], "…", *codes[-2:]])
