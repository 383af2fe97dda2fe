"""Cellward's tables of random microdata, and what its rules say of them, beside the direct tabulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import direct_tabulation as direct
from direct_tabulation import Codes, DirectTable, RefusedError, Rule, Verdicts
from given_microdata import given
from random_microdata import Microdata, random_microdata
from tally import Tally

import cellward as cw


@dataclass(frozen=True)
class Comparison:
    """What was compared, and every difference in words."""

    outcome: str
    cells: int = 0
    verdicts: int = 0
    unsafe: int = 0
    faults: tuple[str, ...] = ()


def compare(case: Microdata, kind: str | None = None) -> Comparison:
    """The package's table and verdicts beside the direct ones."""
    try:
        expected = direct.tabulate(case.records)
    except RefusedError as reason:
        expected, why = None, str(reason)
    with given(case, kind) as (rows, options):
        try:
            table = cw.Table.from_microdata(rows, **options)
        except cw.InputError as error:
            if expected is None:
                return Comparison("refused")
            if "near 2^53" in case.features:  # where the package may be more careful than it has to be
                return Comparison("refused near 2^53")
            return Comparison("refused", faults=(f"seed {case.seed}: refused, {error}",))
        except Exception as error:  # noqa: BLE001 (whatever it is, it is a difference)
            return Comparison("failed", faults=(f"seed {case.seed}: {type(error).__name__} {error}",))
    if expected is None:
        return Comparison("tabulated", faults=(f"seed {case.seed}: not refused, though {why}",))
    faults = list(_table_faults(table, expected))
    verdicts = unsafe = 0
    if not faults:
        verdicts, unsafe, wrong = _verdict_faults(case, table, expected)
        faults += wrong
    shown = tuple(f"seed {case.seed} ({kind or case.kind}): {fault}" for fault in faults)
    return Comparison("tabulated", len(expected.cells), verdicts, unsafe, shown)


def _table_faults(table: cw.Table, expected: DirectTable) -> Iterator[str]:
    """Cells, counts, sums, the largest units by name, their parts, equations and bounds."""
    c = table.contributions
    assert c is not None
    if table.labels.dims != expected.records.dims or table.decimals != expected.decimals:
        yield f"{table.labels.dims}, {table.decimals} decimals for {expected.records.dims}, {expected.decimals}"
        return
    unit = Fraction(1, 10**table.decimals)
    codes = [table.labels.tuple_of(i) for i in range(table.cells)]
    if len(codes) != len(set(codes)) or set(codes) != set(expected.cells):
        yield f"cells {sorted(set(codes) ^ set(expected.cells))} are in one of the two only, or twice"
        return
    kept = expected.records.largest
    for i, own in enumerate(codes):
        cell = expected.cells[own]
        ranked = cell.ranked[:kept]
        short = kept - len(ranked)
        pairs: list[tuple[str, Any, Any]] = [
            ("records", int(c.rows[i]), cell.rows),
            ("units", int(c.units[i]), len(cell.units)),
            ("value", int(table.scaled[i]) * unit, cell.value),
            ("size", int(c.size[i]) * unit, cell.size),
            ("largest", [x * unit for x in c.top[:, i].tolist()], [x for _, x, _ in ranked] + [0] * short),
            (
                "names",
                [c.names[u] if u >= 0 else None for u in c.unit[:, i].tolist()],
                [who[1] for who, _, _ in ranked] + [None] * short,
            ),
        ]
        if expected.records.weight is not None:
            assert c.weighted is not None
            pairs.append(
                ("weighted", [x * unit for x in c.weighted[:, i].tolist()], [wx for *_, wx in ranked] + [0] * short)
            )
        pairs += [
            (f"asked {code}", int(c.requested[code][i]) * unit, expected.requested(code, cell))
            for code in expected.asked
        ]
        yield from (f"{what} of {own}: {ours}, should be {right}" for what, ours, right in pairs if ours != right)
    yield from _part_faults(table, expected, codes)
    sums = set()
    for j in range(table.relations.equations):
        rhs, members, coefs = table.relations.equation(j)
        (total,) = [i for i, coef in zip(members, coefs, strict=True) if coef < 0]
        sums.add((codes[total], frozenset(codes[i] for i in members if i != total)))
        if rhs or {abs(coef) for coef in coefs} != {1}:
            yield f"equation {j} is no sum"
    if sums != expected.equations:
        yield f"equations {sums ^ expected.equations} are in one of the two only"
    for own, found in zip(codes, table.lower.tolist(), strict=True):
        lower = expected.lower[own]
        if lower is not None and found != lower:
            yield f"the lower bound of {own} is {found}, should be {lower}"
    if bool(c.negative) != expected.negative:
        yield f"negative is {c.negative}"


def _part_faults(table: cw.Table, expected: DirectTable, codes: Sequence[Codes]) -> Iterator[str]:
    """The size of what each of the largest units contributes to every cell, weighted."""
    c = table.contributions
    assert c is not None and c.parts is not None
    names = Counter(c.names)
    unit = Fraction(1, 10**table.decimals)
    shared = Counter(name for _, name in {own for cell in expected.cells.values() for own in cell.units})
    for u in sorted(set(c.unit[c.unit >= 0].tolist())):
        name = c.names[u]
        if names[name] > 1 or shared[name] > 1:  # a holding and a contributor of the same name
            continue
        cell, amount = c.parts.of(u)
        ours = {codes[i]: x * unit for i, x in zip(cell.tolist(), amount.tolist(), strict=True)}
        right = {
            own: abs(wx)
            for own, direct_cell in expected.cells.items()
            for (_, who), (_, wx) in direct_cell.units.items()
            if who == name
        }
        if ours != right:
            yield f"parts of {name}: {ours}, should be {right}"


def _verdict_faults(case: Microdata, table: cw.Table, expected: DirectTable) -> tuple[int, int, list[str]]:
    """Each rule by itself, and all of them together with the waivers: (cells judged, unsafe ones, differences)."""
    from cellward.risk.policy import RULES

    judged = unsafe = 0
    faults = []
    asked: list[tuple[list[Rule], tuple[str, ...]]] = [([rule], ()) for rule in case.rules]
    asked.append((list(dict(_named(case.rules)).values()), case.waivers))
    for rules, waivers in asked:
        try:
            plain = [
                direct.judge(expected, rule) for rule in rules
            ]  # what is too large to be exact is so before anyone consents
            right = direct.together([direct.judge(expected, rule, waivers) for rule in rules] if waivers else plain)
        except RefusedError:
            right = None
        try:
            found = table.find(*(RULES[kind](**options) for kind, options in rules), waivers=waivers)
        except cw.InputError as error:
            if right is not None and "near 2^53" not in case.features:
                faults.append(f"{rules}: refused, {error}")
            continue
        if right is None:
            faults.append(f"{rules}: not refused, though a level is beyond 2^53")
            continue
        s = found.sensitivity
        ours: Verdicts = {
            found.labels.tuple_of(i): (int(s.lpl[i]), int(s.upl[i]), int(s.spl[i])) for i in s.unsafe.tolist()
        }
        judged += len(expected.cells)
        unsafe += len(right)
        faults += [
            f"{rules} waiving {waivers}: {own} is {ours.get(own)}, should be {right.get(own)}"
            for own in sorted(set(ours) | set(right))
            if ours.get(own) != right.get(own)
        ]
    return judged, unsafe, faults


def _named(rules: Sequence[Rule]) -> Iterator[tuple[str, Rule]]:
    for kind, options in rules:
        yield f"{kind} {sorted(options.items(), key=str)}", (kind, options)


def summary(seeds: Iterable[int], *, tell: Callable[[str], None] | None = None) -> Tally:
    """What these seeds show; ``tell`` takes the differences as they come."""
    seen = Tally()
    for seed in seeds:
        case = random_microdata(seed)
        compared = compare(case)
        seen.count.update(tables=1, cells=compared.cells, verdicts=compared.verdicts, unsafe=compared.unsafe)
        seen.by["kind"][case.kind] += 1
        seen.by["feature"].update(set(case.features))
        seen.by["outcome"][compared.outcome] += 1
        seen.differ(list(compared.faults), tell)
    return seen
