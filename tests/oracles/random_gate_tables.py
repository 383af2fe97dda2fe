"""Random tables for the gate, as plain data: codes, who stands below whom, true values, cells at risk with levels and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from random import Random

from outsider import PublicTable, Secret
from outsider_equations import Codes, Equation, Parents, equations_of

TOTAL = "Total"
SHAPES = ((3,), (5,), (2, 2), (2, 3), (3, 3), (4, 3), (4, 4), (2, 2, 2), (3, 2, 2), (3, 3, 2), (2, 2, 2, 2))
ODD = ("=1+1", "a b", " x", "ü", "a,b", 'q"q', "-", "0", "01", "@sum", "value", "missing")
"""Codes that files and spreadsheets stumble over."""


@dataclass(frozen=True, kw_only=True)
class RandomTable:
    """A table with its margins; ``shown`` are the cells that an input file has a row for, ``kind`` what its values are.

    ``endless``: sides (0 below, 1 above) that a level without an end closes. ``given``: values in the file that do not add up, ``additive`` and
    ``keep``: how they are made the true ones.
    """

    public: PublicTable
    secret: Secret
    kind: str
    decimals: int
    shown: tuple[Codes, ...]
    empty: str
    endless: Mapping[Codes, int] = field(default_factory=dict)
    given: Mapping[Codes, Fraction] = field(default_factory=dict)
    additive: str | None = None
    keep: str | tuple[Codes, ...] = ()

    @property
    def trees(self) -> Mapping[str, Sequence[Parents]]:
        """The hierarchies by dimension."""
        return dict(zip(self.public.dims, self.public.trees, strict=True))


def random_trees(rng: Random, shape: Sequence[int], *, odd: bool, several: bool) -> tuple[tuple[Parents, ...], ...]:
    """One or more hierarchies for every dimension: flat, of two levels, or with an overlapping grouping below the same total."""
    out = []
    for k, size in enumerate(shape):
        letter = "abcd"[k]
        codes = [f"{letter}{i}" for i in range(1, size + 1)]
        if odd and rng.random() < 0.5:
            codes[rng.randrange(size)] = rng.choice(ODD)
        tree = dict.fromkeys(codes, TOTAL)
        if size >= 3 and rng.random() < 0.4:
            cut = rng.randint(1, size - 1)
            top, rest = f"{letter}A", f"{letter}B"
            tree = {top: TOTAL, rest: TOTAL} | {code: top if i < cut else rest for i, code in enumerate(codes)}
        own: list[Parents] = [tree]
        if several and size >= 3 and rng.random() < 0.2:
            odds = {code: f"{letter}odd" if i % 2 else f"{letter}even" for i, code in enumerate(codes)}
            own.append({f"{letter}odd": TOTAL, f"{letter}even": TOTAL} | odds)
        out.append(tuple(own))
    return tuple(out)


def leaves_of(trees: Sequence[Parents]) -> list[str]:
    """The codes that are no sum."""
    above = {parent for tree in trees for parent in tree.values()}
    return [code for code in trees[0] if code not in above]


def height(trees: Sequence[Sequence[Parents]]) -> int:
    """How many levels of sums stand above the inner cells."""
    return sum(max(2 if parent != TOTAL else 1 for tree in own for parent in tree.values()) for own in trees)


def closed(inner: Mapping[Codes, Fraction], trees: Sequence[Sequence[Parents]]) -> dict[Codes, Fraction]:
    """The inner cells and all their sums."""
    ups = []
    for own in trees:
        up: dict[str, set[str]] = {}
        for code in leaves_of(own):
            met = {code}
            for tree in own:
                at = code
                while at in tree:
                    at = tree[at]
                    met.add(at)
            up[code] = met
        ups.append(up)
    out: dict[Codes, Fraction] = {}
    for codes, value in inner.items():
        for cell in product(*(sorted(up[code]) for up, code in zip(ups, codes, strict=True))):
            out[cell] = out.get(cell, Fraction(0)) + value
    return out


def random_table(rng: Random, *, array: bool = False, several: bool = True) -> RandomTable:
    """A table of cells; ``array``: flat, every combination there."""
    shape = rng.choice(SHAPES)
    trees = random_trees(rng, shape, odd=not array and rng.random() < 0.15, several=several and not array)
    if array:
        trees = tuple((dict.fromkeys(leaves_of(own), TOTAL),) for own in trees)
    kind = rng.choices(("counts", "amounts", "decimals", "negatives"), (5, 4, 2, 1))[0]
    decimals = rng.randint(1, 2) if kind == "decimals" else 0
    inner = {
        codes: _value(rng, kind, decimals)
        for codes in product(*(leaves_of(own) for own in trees))
        if array or rng.random() > 0.06
    }
    if not inner:
        return random_table(rng, array=array, several=several)
    empty = "absent" if array or rng.random() < 0.6 else "zero"
    if empty == "zero":
        inner |= {codes: Fraction(0) for codes in product(*map(leaves_of, trees)) if codes not in inner}
    truth = closed(inner, trees)
    upper = None
    if kind == "counts" and rng.random() < 0.05:
        upper = max(truth.values()) + rng.randint(0, 10)
    at_risk, fixed = _at_risk(rng, truth, set(inner), decimals, kind)
    public = PublicTable(
        dims=tuple("ABCD"[: len(shape)]),
        trees=trees,
        lower=None if kind == "negatives" else Fraction(0),
        upper=upper,
        counts=kind == "counts",
    )
    totals = rng.random() < 0.5 or any(codes not in inner for codes in (*at_risk, *fixed))
    shown = [codes for codes in truth if totals or codes in inner]
    if empty == "zero":  # rows of 0 may be left out, and are then put in
        shown = [codes for codes in shown if truth[codes] or codes in at_risk or codes in fixed or rng.random() < 0.5]
        for k, own in enumerate(trees):  # every code stands somewhere: a flat dimension has no others
            for code in sorted(set(leaves_of(own)) - {codes[k] for codes in shown}):
                shown.append(next(codes for codes in inner if codes[k] == code))
    if rng.random() < 0.3:
        rng.shuffle(shown)
    secret = Secret(truth=truth, at_risk=at_risk, fixed=frozenset(fixed))
    return RandomTable(public=public, secret=secret, kind=kind, decimals=decimals, shown=tuple(shown), empty=empty)


def one_sided(rng: Random, table: RandomTable) -> RandomTable:
    """The same with levels without an end, which close a side of some cells that have levels to both."""
    both = [codes for codes, levels in table.secret.at_risk.items() if levels[0] and levels[1] and not levels[2]]
    endless = {codes: rng.randrange(2) for codes in both if rng.random() < 0.6}
    at_risk = {
        codes: tuple(Fraction(0) if endless.get(codes) == k else level for k, level in enumerate(levels))
        for codes, levels in table.secret.at_risk.items()
    }
    return replace(table, endless=endless, secret=replace(table.secret, at_risk=at_risk))


def not_additive(rng: Random, table: RandomTable) -> RandomTable:
    """The same with sums in its file that are off; the inner cells are kept, so that the true table is the one that is made of it."""
    truth = table.secret.truth
    inner = [
        codes for codes in table.shown if all(c in leaves_of(t) for c, t in zip(codes, table.public.trees, strict=True))
    ]
    unit = Fraction(1, 10**table.decimals)
    sums = [codes for codes in table.shown if codes not in inner and codes not in table.secret.fixed]
    given = {codes: truth[codes] + unit * rng.randint(1, 3) for codes in sums if rng.random() < 0.5}
    keep = rng.choice(("inner", tuple(inner)))
    return replace(table, given=given, additive=rng.choice(("l1", "l2")), keep=keep)


def as_equations(table: RandomTable) -> RandomTable:
    """The same table by numbers of cells and equations between them, as a JJ file has it."""
    cells = list(table.secret.truth)
    name = {codes: (str(k),) for k, codes in enumerate(cells)}
    equations = [
        Equation(tuple((name[codes], coef) for codes, coef in one.terms))
        for one in equations_of(cells, table.public.trees)
    ]
    public = PublicTable(
        dims=("cell",),
        equations=tuple(equations),
        lower=table.public.lower,
        upper=table.public.upper,
        counts=table.public.counts,
    )
    secret = Secret(
        truth={name[codes]: value for codes, value in table.secret.truth.items()},
        at_risk={name[codes]: levels for codes, levels in table.secret.at_risk.items()},
        fixed=frozenset(name[codes] for codes in table.secret.fixed),
    )
    return RandomTable(
        public=public,
        secret=secret,
        kind=table.kind,
        decimals=table.decimals,
        shown=tuple(secret.truth),
        empty="absent",
    )


def _value(rng: Random, kind: str, decimals: int) -> Fraction:
    if rng.random() < 0.1:
        return Fraction(0)
    if kind == "counts":
        return Fraction(rng.choice((rng.randint(1, 3), rng.randint(1, 12), rng.randint(1, 80))))
    size = Fraction(round(10 ** rng.uniform(0.3, 2.8) * 10**decimals), 10**decimals)
    return -size if kind == "negatives" and rng.random() < 0.4 else size


def _at_risk(
    rng: Random, truth: Mapping[Codes, Fraction], inner: set[Codes], decimals: int, kind: str
) -> tuple[dict[Codes, tuple[Fraction, Fraction, Fraction]], set[Codes]]:
    """Some cells at risk, small ones first, with levels, without, or both; some fixed ones."""
    unit = Fraction(1, 10**decimals)
    small = sorted(truth, key=lambda codes: (codes not in inner, abs(truth[codes]) + rng.random()))
    chosen = [codes for codes in small[: rng.randint(1, 4)] if rng.random() < 0.9]
    chosen += [codes for codes in rng.sample(list(truth), 1) if codes not in chosen and rng.random() < 0.3]
    how = rng.choices(("levels", "none", "mixed"), (5, 3, 2))[0]
    out = {}
    for codes in chosen:
        a = truth[codes]
        levels = (Fraction(0),) * 3
        if how == "levels" or (how == "mixed" and rng.random() < 0.5):
            most = max(abs(a) * rng.choice((Fraction(1, 10), Fraction(1, 5), Fraction(1, 2))), unit)
            above = -(-most // unit) * unit
            below = above if kind == "negatives" else min(above, a)
            width = rng.choice((Fraction(0), Fraction(0), Fraction(0), 2 * above))
            if rng.random() < 0.1:
                below = Fraction(0)
            levels = (below, above, width)
        out[codes] = levels
    fixed = set()
    if rng.random() < 0.12:
        fixed = {codes for codes in rng.sample(list(truth), min(len(truth), 2)) if codes not in out}
    return out, fixed
