"""The outsider: attacks what was published with what anyone knows, and says what is broken, in exact disclosures and in levels that do not hold.

It shares nothing with the package: its own reading of the files, its own equations, its own programs, and the documentation's words on what a release
tells. The true table is used only to judge what came out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from outsider_equations import Codes, Equation, Parents, equations_of
from outsider_intervals import CLOSE, NoTableError, Region
from outsider_reading import Claim, ClaimedAttacker, Published
from outsider_told import ADJUSTMENT, SUPPRESSION, Bounds, known_before, told, within

MOST_ATTACKERS = 4
"""So many of the attackers that a claim names are tried."""


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """What anyone knows of a table before it is published.

    ``trees``: hierarchies of every dimension; or ``equations`` by the numbers of cells. ``rows``: ``"records"`` where a count has a row only if
    there is a record, ``"all"`` where every combination has one, ``"unknown"`` where the rows themselves must tell.
    """

    dims: tuple[str, ...]
    trees: tuple[tuple[Parents, ...], ...] = ()
    equations: tuple[Equation, ...] | None = None
    lower: Fraction | None = Fraction(0)
    upper: Fraction | None = None
    counts: bool = False
    rows: str = "all"

    def sums(self, cells: Sequence[Codes]) -> list[Equation]:
        """The equations between these cells."""
        return list(self.equations) if self.equations is not None else equations_of(cells, self.trees)

    def rows_tell(self, cells: Mapping[Codes, Fraction]) -> bool:
        """Whether a row says that there is a record: counts of which some combination of codes has none."""
        if not self.counts or self.rows != "unknown":
            return self.counts and self.rows == "records"
        codes = [{own[k] for own in cells} for k in range(len(self.dims))]
        return any(combination not in cells for combination in product(*codes))


@dataclass(frozen=True, kw_only=True)
class Secret:
    """The true table, by which an attack is judged; ``at_risk``: levels below, above and sliding, all 0 where a cell at risk has none.

    ``insiders``: what units know that claims are to hold against: of the cells they contribute to, their contribution and whether nobody else does.
    """

    truth: Mapping[Codes, Fraction]
    at_risk: Mapping[Codes, tuple[Fraction, Fraction, Fraction]]
    fixed: frozenset[Codes] = frozenset()
    insiders: Mapping[str, Mapping[Codes, tuple[Fraction, bool]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Break:
    """One thing that must not be: its kind, the cell, and the numbers."""

    kind: str
    cell: Codes
    words: str


@dataclass
class Attack:
    """What came out of an attack: breaks, how many cells at risk and claimed levels were looked at, and cells that anyone knew before."""

    breaks: list[Break] = field(default_factory=list)
    looked_at: int = 0
    levels: int = 0
    known_anyway: int = 0

    def broken(self, kind: str, cell: Codes, words: str) -> None:
        self.breaks.append(Break(kind, cell, words))


def attack(public: PublicTable, published: Published, claim: Claim | None, secret: Secret) -> Attack:
    """Everything an outsider tries on one release; ``claim``: what its certificate says is met, None where nothing is claimed."""
    out = Attack()
    values = published.values
    if set(values) != set(secret.truth):
        lost, more = secret.truth.keys() - values.keys(), values.keys() - secret.truth.keys()
        out.broken("other rows than the table's", next(iter(lost | more)), f"{len(lost)} lost, {len(more)} more")
        return out
    equations = public.sums(list(values))
    unit = Fraction(1, 10**published.decimals)
    before = known_before(
        values.keys(), public.lower, public.upper, rows_tell=public.rows_tell(values), unit=unit
    )  # in the rows' order
    _adds_up(out, equations, public, published, secret)
    if published.method["name"] == ADJUSTMENT:
        _distances(out, published, claim, secret, unit)
        return out
    exact = _region(published, secret, equations, before, unit, paper=False, whole=True)
    if claim is not None and claim.shown:
        rows = list(values)
        for attacker in claim.attackers[:MOST_ATTACKERS]:
            _levels(out, attacker, claim, rows, published, secret, equations, before, unit)
        for name in secret.insiders:
            try:
                _insider(out, name, published, secret, equations, before, unit)
            except NoTableError as error:
                out.broken("no table is left", next(iter(values)), f"{name}: {error}")
        _asked(out, claim, rows, Region(equations, before, unit, whole=True), secret, unit)
    for codes in secret.at_risk:
        if codes in secret.fixed:
            continue
        out.looked_at += 1
        truth = float(secret.truth[codes] / unit)
        try:
            if not exact.only_value(codes, truth):
                continue
            if Region(equations, before, unit, whole=True).only_value(codes, truth):
                out.known_anyway += 1
                continue
        except NoTableError as error:
            out.broken("no table is left", codes, str(error))
            continue
        out.broken("exactly disclosed", codes, f"{secret.truth[codes]} is all that is left")
    return out


def _adds_up(
    out: Attack, equations: Sequence[Equation], public: PublicTable, published: Published, secret: Secret
) -> None:
    values = published.values
    if published.method["name"] == SUPPRESSION:
        for codes, v in values.items():
            if v is not None and v != secret.truth[codes]:
                out.broken("printed is not the truth", codes, f"{v} for {secret.truth[codes]}")
            if v is None and codes in secret.fixed:
                out.broken("a fixed cell was withheld", codes, "")
        return
    for equation in equations:
        if left := equation.missed_by(values):
            out.broken("does not add up", equation.terms[0][0], f"by {left}")
            break
    for codes, v in values.items():
        if (public.lower is not None and v < public.lower) or (public.upper is not None and v > public.upper):
            out.broken("outside the public bounds", codes, f"{v}")
        if codes in secret.fixed and v != secret.truth[codes]:
            out.broken("a fixed cell was changed", codes, f"{v} for {secret.truth[codes]}")


def _region(
    published: Published,
    secret: Secret,
    equations: Sequence[Equation],
    before: Mapping[Codes, Bounds],
    unit: Fraction,
    *,
    paper: bool,
    whole: bool,
    knows: Mapping[Codes, Bounds] | None = None,
) -> Region:
    """What a reader is left with; ``paper``: it reads as the paper does, with multiples public; ``knows``: what it knows by itself."""
    multiples = _multiples(published, secret) if paper else None
    shown = told(
        published.values, published.method, published.decimals, fixed=secret.fixed, multiples=multiples, public=before
    )
    assert shown is not None
    bounds = {codes: within(before[codes], shown.bounds[codes]) for codes in published.values}
    for codes, own in (knows or {}).items():
        bounds[codes] = within(bounds[codes], own)
    return Region(equations, bounds, unit, whole=whole or shown.whole)


def _multiples(published: Published, secret: Secret) -> set[Codes]:
    method = published.method
    if "base" not in method:
        return set()
    base = method["base"]
    each = map(Fraction, base) if isinstance(base, list) else [Fraction(base)] * len(published.values)
    return {codes for codes, b in zip(published.values, each, strict=True) if secret.truth[codes] % b == 0}


def _levels(
    out: Attack,
    attacker: ClaimedAttacker,
    claim: Claim,
    rows: Sequence[Codes],
    published: Published,
    secret: Secret,
    equations: Sequence[Equation],
    before: Mapping[Codes, Bounds],
    unit: Fraction,
) -> None:
    """Whether an attacker is kept as far away as the certificate claims, by what the rows and values really tell it."""
    knows = {rows[i]: own for i, own in attacker.known.items() if i < len(rows)}
    region = _region(
        published,
        secret,
        equations,
        before,
        unit,
        paper=claim.kind == "paper",
        whole=attacker.whole,
        knows=knows,
    )
    for i, (below, above, width) in attacker.levels.items():
        if not (below or above or width) or i >= len(rows):
            continue
        codes = rows[i]
        own = knows.get(codes)
        if own is not None and own[0] is not None and own[0] == own[1]:
            continue
        out.levels += 1
        a = secret.truth[codes]
        try:
            low, high = (region.end(codes, sign) * float(unit) for sign in (-1, 1))
        except NoTableError as error:
            out.broken("no table is left", codes, f"{attacker.name}: {error}")
            return
        slack = CLOSE * float(unit)
        if low > float(a - below) + slack or high < float(a + above) - slack or high - low < float(width) - slack:
            words = f"{attacker.name}: [{low:g}, {high:g}] around {a}, claimed −{below} +{above} wide {width}"
            out.broken("a claimed level does not hold", codes, words)


def _insider(
    out: Attack,
    name: str,
    published: Published,
    secret: Secret,
    equations: Sequence[Equation],
    before: Mapping[Codes, Bounds],
    unit: Fraction,
) -> None:
    """Whether a unit works out a cell at risk beside one of its own: it knows what it contributes, and cells where it is alone."""
    own = secret.insiders[name]
    knows: dict[Codes, Bounds] = {codes: (share, share if alone else None) for codes, (share, alone) in own.items()}
    region = _region(published, secret, equations, before, unit, paper=False, whole=True, knows=knows)
    near = set(own)
    for equation in equations:
        if any(codes in own for codes, _ in equation.terms):
            near |= {codes for codes, _ in equation.terms}
    for codes in secret.at_risk:
        if codes not in near or codes in secret.fixed or own.get(codes, (0, False))[1]:
            continue
        out.levels += 1
        truth = float(secret.truth[codes] / unit)
        if region.only_value(codes, truth):
            anyway = {c: within(before[c], knows.get(c, (None, None))) for c in published.values}
            if not Region(equations, anyway, unit, whole=True).only_value(codes, truth):
                out.broken("exactly disclosed to an insider", codes, f"{name} knows that it is {secret.truth[codes]}")


def _asked(out: Attack, claim: Claim, rows: Sequence[Codes], before: Region, secret: Secret, unit: Fraction) -> None:
    """Whether all that was asked is claimed; below no more can be asked than what was public ``before`` leaves."""
    place = {codes: i for i, codes in enumerate(rows)}
    for codes, asked in secret.at_risk.items():
        if codes in secret.fixed:
            continue
        claimed = claim.levels.get(place[codes], (Fraction(0),) * 3)
        below = asked[0]
        if claimed[0] < below and (least := before.end(codes, -1)) > -math.inf:
            below = min(below, secret.truth[codes] - round(least) * unit)
        if claimed[0] < below or claimed[1] < asked[1] or claimed[2] < asked[2]:
            out.broken(
                "less is claimed than was asked", codes, f"{tuple(map(str, claimed))} for {tuple(map(str, asked))}"
            )


def _distances(out: Attack, published: Published, claim: Claim | None, secret: Secret, unit: Fraction) -> None:
    """An adjustment promises no intervals: every cell at risk is its level away, a unit where it has none, and so for every claim."""
    rows = list(published.values)
    wanted = {codes: [levels] for codes, levels in secret.at_risk.items() if codes not in secret.fixed}
    if claim is not None and claim.shown:
        for attacker in claim.attackers:
            for i, levels in attacker.levels.items():
                own = attacker.known.get(i, (None, None))
                if own[0] is None or own[0] != own[1]:
                    wanted.setdefault(rows[i], []).append(levels)
                    out.levels += 1
    for codes, several in wanted.items():
        out.looked_at += codes in secret.at_risk
        a, v = secret.truth[codes], published.values[codes]
        if v == a:
            out.broken("published as it is", codes, f"{v}")
            continue
        for below, above, _ in several:
            up, down = max(above, unit), max(below, unit)
            far = (v >= a + up and (above > 0 or not below)) or (v <= a - down and (below > 0 or not above))
            if not far:
                out.broken("nearer than its level", codes, f"{v} for {a}, asked −{below} +{above}")
                break
