"""Random cases for the gate, as plain data: a table or records, the way they take, a method with its options; one seed a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any

from direct_tabulation import DirectTable, Records, Rule, judge, tabulate, together
from outsider import PublicTable, Secret
from outsider_equations import Codes, Parents
from random_gate_tables import (
    TOTAL,
    RandomTable,
    as_equations,
    height,
    leaves_of,
    not_additive,
    one_sided,
    random_table,
    random_trees,
)  # fmt: skip

INSIDERS = 3
"""So many units that stand behind cells at risk attack."""


@dataclass(frozen=True, kw_only=True)
class RandomRecords:
    """A file of records with the rules by which its cells are at risk; ``empty`` is None where the default is taken.

    ``waivers``: units that consent; ``frozen``: cells that were published before; ``levels``: levels given by cell.
    """

    records: Records
    trees: Mapping[str, tuple[Parents, ...]]
    rules: tuple[Rule, ...]
    public: PublicTable
    secret: Secret
    empty: str | None
    insiders: bool
    waivers: tuple[str, ...] = ()
    frozen: tuple[Codes, ...] = ()
    levels: Mapping[Codes, tuple[int, int, int]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GateCase:
    """One case: where cells come from, the route they take, the method's word and its options by name.

    ``known``: what an attacker by name knows of cells, beyond the public.
    """

    seed: int
    source: str
    route: str
    table: RandomTable | None
    records: RandomRecords | None
    method: str
    options: Mapping[str, Any]
    weights: Any = None
    known: Mapping[Codes, Fraction] = field(default_factory=dict)
    key: str = ""

    @property
    def public(self) -> PublicTable:
        """What anyone knows."""
        own = self.table or self.records
        assert own is not None
        return own.public

    @property
    def secret(self) -> Secret:
        """The truth."""
        own = self.table or self.records
        assert own is not None
        return own.secret


def random_gate_case(seed: int) -> GateCase:
    """The case of this seed."""
    case, rng = _plain_case(seed), Random(f"senses {seed}")
    table, options = case.table, dict(case.options)
    if table is not None and case.source == "frame" and table.public.upper is None and rng.random() < 0.15:
        table = not_additive(rng, table)
    if case.method == "adjust" and case.route != "batch":
        options = _senses_and_sides(rng, options, case)
        if table is not None and rng.random() < 0.25:
            table = one_sided(rng, table)
    return replace(case, table=table, options=options)


def _senses_and_sides(rng: Random, options: dict[str, Any], case: GateCase) -> dict[str, Any]:
    """How senses are chosen or drawn, which way cells may move, what deviations are multiples of, and what gives way."""
    chosen = rng.random()
    if chosen < 0.2:
        options = {k: v for k, v in options.items() if k not in ("soft_levels", "form")}
        options |= {"senses": "choose", "norm": rng.choice(("l1", "l2"))}
    elif chosen < 0.35:
        options = {k: v for k, v in options.items() if k not in ("senses", "soft_levels", "form")}
        options |= {"slack": rng.choice((0, 0.05, 0.5)), "norm": rng.choice(("l1", "l2"))}
    if rng.random() < 0.15:
        options |= {"grid": rng.choice((1, 2, 5)), "grid_of": "deviations"}
    if rng.random() < 0.2:
        options["repair"] = rng.choice(("bounds", "levels", "both"))
    cells = sorted(case.secret.truth)
    for name in ("only_up", "only_down"):
        if rng.random() < 0.2:
            options[name] = rng.sample(cells, min(len(cells), rng.randint(1, 2)))
    return options


def _plain_case(seed: int) -> GateCase:
    """The same without what only adjustments have, and with a table that adds up."""
    rng = Random(seed)
    source, route = rng.choices(
        (
            ("array", "python"), ("frame", "python"), ("frame", "command line"), ("frame", "job"), ("equations", "python"),
            ("equations", "command line"), ("records", "python"), ("records", "job"), ("records", "batch"),
        ),
        (10, 22, 18, 8, 8, 6, 14, 9, 5),
    )[0]  # fmt: skip
    method = rng.choices(("round", "perturb", "adjust"), (5, 3, 4))[0]
    table, records = None, None
    if source == "records":
        records = random_records(rng, route)
        counts, decimals, levels = records.public.counts, 0, height(records.public.trees)
    else:
        table = random_table(rng, array=source == "array", several=route != "job")
        counts, decimals, levels = table.kind == "counts", table.decimals, height(table.public.trees)
        if source == "equations":
            table = as_equations(table)
    if route == "batch" and method == "perturb":
        method = "round"
    options = _options(rng, method, counts=counts, decimals=decimals, levels=levels, route=route)
    case = GateCase(
        seed=seed, source=source, route=route, table=table, records=records, method=method, options=options,
        weights=None if route == "batch" else rng.choices((None, "totals", "equal", "relative"), (6, 1, 1, 1))[0],
        key="".join(rng.choice("0123456789abcdef") for _ in range(64)),
    )  # fmt: skip
    if route != "batch" and source != "records" and rng.random() < 0.15:
        at_risk = case.secret.at_risk
        free = [codes for codes in case.secret.truth if codes not in at_risk]
        if free:
            chosen = rng.sample(free, min(len(free), rng.randint(1, 3)))
            case = replace(case, known={codes: case.secret.truth[codes] for codes in chosen})
    return case


def suppressed_case(seed: int) -> GateCase:
    """The same table or records with a suppression in place of the method; None of its other options stay."""
    case, rng = _plain_case(seed), Random(f"suppressed {seed}")
    chosen = ((0.3, "zeros", "candidates"), (0.2, "guarantee", "exact"), (0.15, "forbidden", "totals"))
    options = {name: value for share, name, value in chosen if case.route != "batch" and rng.random() < share}
    weights = None if case.route == "batch" else rng.choice((None, None, "equal", "logarithm", "distance"))
    return replace(case, method="suppress", options=options, weights=weights)


# ---- options -----------------------------------------------------------------------------------------------------------------------------


def _options(rng: Random, method: str, *, counts: bool, decimals: int, levels: int, route: str) -> dict[str, Any]:
    """Options of a method, most of them as they are."""
    usual = (3, 5, 10) if counts else (5, 10, 50, 100, 500)
    base: Any = rng.choice(usual)
    roll = rng.random()
    if roll < 0.06:
        base = 1
    elif roll < 0.12:
        base = 2
    elif roll < 0.2 and route != "batch":
        base = {0: base} | {level: base * rng.choice((1, 2)) for level in range(1, levels + 1)}
    elif roll < 0.23 and decimals:
        base = "0.5" if decimals == 1 else "0.25"
    out: dict[str, Any] = {}

    def maybe(share: float, name: str, *values: Any) -> None:
        if rng.random() < share:
            out[name] = rng.choice(values)

    if route == "batch":
        return {"base": base, "steps": rng.choice((0, 0, 0, 1))} if method == "round" else {}
    if method == "round":
        out["base"] = base
        maybe(0.25, "knowledge", "paper")
        maybe(0.2, "max_steps", 2, 3)
        if "max_steps" not in out:
            maybe(0.15, "unbiased", True)
            maybe(0.15, "small_counts", "up", "zero")
        if not {"unbiased", "small_counts"} & out.keys() and out.get("knowledge") != "paper":
            maybe(0.12, "only", "leaves", "totals")
        maybe(0.05, "goal", "any")
        maybe(0.06, "ignore_levels", True)
    elif method == "perturb":
        if rng.random() < 0.45:
            out["within"] = rng.choice((1, 2, 3, 5, 10)) if counts else rng.choice((5, 20, 60, 100))
        else:
            out["base"] = base
            maybe(0.3, "objective", "nearest", "between")
        maybe(0.25, "knowledge", "paper")
        maybe(0.4, "grid", 1)
        maybe(0.06, "ignore_levels", True)
    else:
        maybe(0.6, "norm", "l1", "l2", "linf", "l1-2", "huber")
        maybe(0.25, "senses", "up", "down")
        maybe(0.25, "jitter", 0, 0.5, 2)
        maybe(0.2, "grid", None, 1, 5)
        maybe(0.25, "fixed", "margins")
        if "fixed" in out:
            maybe(0.3, "soft_margins", 100)
        maybe(0.1, "soft_levels", True)
        maybe(0.2, "zeros_stay", False)
        maybe(0.15, "form", "equation", "leaf", "network")
    return out


# ---- records -----------------------------------------------------------------------------------------------------------------------------


def random_records(rng: Random, route: str) -> RandomRecords:
    """Records of counts or amounts, with holdings, requests, weights now and then, and rules of every kind."""
    batch = route == "batch"
    shape = rng.choice(((3,), (2, 2), (3, 2), (3, 3), (4, 3), (2, 2, 2)))
    trees = random_trees(rng, shape, odd=False, several=False)
    if batch:
        trees = tuple((dict.fromkeys([str(k) for k in range(1, size + 1)], TOTAL),) for size in shape)
    dims = tuple("ABCD"[: len(shape)])
    n = rng.randint(5, 40)
    columns: dict[str, list[str | None]] = {
        dim: [rng.choice(leaves_of(own)) for _ in range(n)] for dim, own in zip(dims, trees, strict=True)
    }
    trees = tuple(
        own if set(own[0].values()) != {TOTAL} else _occurring(own, columns[d])
        for d, own in zip(dims, trees, strict=True)
    )
    counts = rng.random() < 0.45
    columns["unit"] = [f"u{rng.randint(1, max(2, n // 2))}" for _ in range(n)]
    columns["group"] = [rng.choice((f"g{rng.randint(1, 5)}", None)) for _ in range(n)]
    columns["amount"] = [str(0 if rng.random() < 0.06 else round(10 ** rng.uniform(0, 2.7))) for _ in range(n)]
    columns["asked"] = [rng.choice(("0", "0", "1")) for _ in range(n)]
    columns["asked"][0] = "1"
    who = rng.choice(("records", "units", "holdings")) if not batch else "records"
    request = not batch and rng.random() < 0.2
    if request and who != "records":  # a unit asks in any of its records, and everywhere
        columns["asked"] = ["1" if unit == columns["unit"][0] else "0" for unit in columns["unit"]]
    empty = rng.choice(("absent", "absent", "zero", None)) if not batch else None
    weighted = not batch and rng.random() < 0.12
    columns["weight"] = [str(rng.randint(1, 3)) for _ in range(n)]
    records = Records(
        columns=columns,
        terms=(dims,),
        measure=None if counts else "amount",
        contributor=None if who == "records" else "unit",
        holding="group" if who == "holdings" else None,
        weight="weight" if weighted else None,
        request="asked" if request else None,
        sums={dim: _sums(own[0]) for dim, own in zip(dims, trees, strict=True)},
        empty=empty or "absent",
    )
    rules = _rules(rng, counts=counts, request=request, batch=batch)
    direct = tabulate(records)
    if not batch and rng.random() < 0.2:
        cells = rng.sample(sorted(direct.cells), 1)
        rules = (*rules, ("manual", {"cells": dict.fromkeys(cells, "expert"), **rng.choice(({}, {"units": 2}))}))
    public = PublicTable(
        dims=dims,
        trees=trees,
        counts=counts and not weighted,
        rows={"absent": "records", "zero": "all", None: "unknown"}[empty],
    )
    waivers, frozen, levels = (), (), {}
    if not batch and who != "records" and rng.random() < 0.15:
        waivers = tuple(sorted({name for name in columns["unit"] if name and rng.random() < 0.3}))
    if not batch and rng.random() < 0.1:
        frozen = tuple(rng.sample(sorted(direct.cells), 1))
    asked = together([judge(direct, rule, waivers) for rule in rules])
    declared = {codes for kind, options in rules if kind == "manual" for codes in options["cells"]}
    if declared & set(frozen):  # unsafe by hand and published already: a contradiction
        frozen = ()
    if not batch and rng.random() < 0.1:
        levels = {codes: (1, 2, 0) for codes in rng.sample(sorted(direct.cells), 1) if codes not in frozen}
    secret = Secret(
        truth={codes: cell.value for codes, cell in direct.cells.items()},
        at_risk={codes: tuple(map(Fraction, own)) for codes, own in {**asked, **levels}.items() if codes not in frozen},
        fixed=frozenset(frozen),
    )
    insiders = rng.random() < 0.5
    if insiders and not {kind for kind, _ in rules} & {"p_percent", "dominance", "prior_posterior"}:
        secret = replace(secret, insiders=_insiders(direct, secret))
    return RandomRecords(
        records=records,
        trees=dict(zip(dims, trees, strict=True)),
        rules=rules,
        public=public,
        secret=secret,
        empty=empty,
        insiders=insiders,
        waivers=waivers,
        frozen=frozen,
        levels=levels,
    )


def _occurring(own: tuple[Parents, ...], column: list[str | None]) -> tuple[Parents, ...]:
    """A flat dimension has the codes that occur."""
    return ({code: parent for code, parent in own[0].items() if code in column},)


def _insiders(table: DirectTable, secret: Secret) -> dict[str, dict[Codes, tuple[Fraction, bool]]]:
    """The largest of the cells at risk: what each contributes to every cell, and whether it is alone there."""
    ranked = [table.cells[codes].ranked[:2] for codes in secret.at_risk]
    units = list(dict.fromkeys(unit for own in ranked for unit, _, _ in own))[:INSIDERS]
    return {
        unit[1]: {
            codes: (cell.units[unit][1], len(cell.units) == 1)
            for codes, cell in table.cells.items()
            if unit in cell.units
        }
        for unit in units
    }


def _sums(tree: Parents) -> tuple[tuple[str, tuple[str, ...]], ...]:
    below: dict[str, list[str]] = {}
    for child, parent in tree.items():
        below.setdefault(parent, []).append(child)
    return tuple((parent, tuple(children)) for parent, children in below.items())


def _rules(rng: Random, *, counts: bool, request: bool, batch: bool) -> tuple[Rule, ...]:
    """One to three rules."""
    if batch:
        threshold: Rule = ("threshold", {"n": 3, "by": "records", "percent": rng.choice((10, 30))})
        more: tuple[Rule, ...] = (("p_percent", {"p": 10, "n": 1}), ("dominance", {"n": 1, "k": 80}))
        return (threshold,) if counts or rng.random() < 0.4 else (threshold, rng.choice(more))
    units = rng.choice(({}, {"units": 1}, {"units": 2}, {"percent": 20}, {"sliding_units": 3}))
    found: list[Rule] = [("threshold", {"n": rng.choice((2, 3)), **units})]
    if not counts:
        found += rng.sample(
            [
                ("p_percent", {"p": rng.choice((5, 10, 20))}),
                ("dominance", {"n": rng.choice((1, 2)), "k": rng.choice((75, 90))}),
                ("prior_posterior", {"p": 10, "q": 50}),
                ("zero", {}),
            ],
            rng.randint(0, 2),
        )
        if rng.random() < 0.3 and len(found) > 1:
            found = found[1:]
    if request:
        found.append(("request", {"percent_of_total": 30, "code": "1"}))
    return tuple(found)
