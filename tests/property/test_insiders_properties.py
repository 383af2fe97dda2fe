"""Attackers from the data and sums of cells against plain Python over the raw records: exact fractions, every cell, every unit, every subset.

Legend: a cell is a tuple of codes; parts[cell] maps units to what they contribute; X total, s own contribution, x_t that of the target.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import combinations, product
from math import ceil

import numpy as np
import pytest

from cellward import Attacker, Dominance, Hierarchy, PPercent, PriorPosterior, Table, Threshold
from cellward.exact import NO_BOUND

TREES = (
    {"Total": {"N": ["n1", "n2", "n3"], "S": ["s1", "s2"], "W": ["w1"]}},
    {"Total": ["p", "q", "r"]},
    {"Total": {"G": {"H": ["h1", "h2"], "K": ["k1"]}, "L": ["l1", "l2"]}},
)
RULES = (
    [PPercent(10)],
    [PPercent(60)],
    [PPercent(15, n=2), Threshold(3, units=2)],
    [PriorPosterior(20, 50), Dominance(1, 70)],
    [Dominance(2, 85)],
    [Dominance(3, 90), PPercent(5), Threshold(2, percent=25)],
)
SEEDS = range(48)


# ---- the data ------------------------------------------------------------------------------------------------------------------------------


def paths(tree):
    """{leaf: all codes above it, itself included}, and {(parent): its children}."""
    above, below = {}, {}

    def walk(code, rest, way):
        children = list(rest) if isinstance(rest, dict | list) else []
        if not children:
            above[code] = [*way, code]
            return
        below[code] = children
        for child in children:
            walk(child, rest[child] if isinstance(rest, dict) else None, [*way, code])

    ((top, rest),) = tree.items()
    walk(top, rest, [])
    return above, below


class Data:
    """Random records, and what plain Python makes of them."""

    def __init__(self, seed, *, negative=False):
        rng = np.random.default_rng(seed)
        self.rng, self.trees = rng, [TREES[k] for k in rng.choice(3, size=rng.integers(1, 3), replace=False)]
        self.dims = [f"d{k}" for k in range(len(self.trees))]
        self.paths = [paths(tree) for tree in self.trees]
        firms, groups = int(rng.integers(2, 9)), int(rng.integers(0, 4))
        size = [1, 2, 5, 10, 10, 100][: int(rng.integers(2, 7))]  # few sizes make ties
        self.records = []
        for _ in range(int(rng.integers(1, 41))):
            leaf = tuple(str(rng.choice(list(above))) for above, _ in self.paths)
            firm = "" if rng.random() < 0.1 else f"f{rng.integers(firms)}"
            group = f"g{rng.integers(groups)}" if groups and rng.random() < 0.4 else ""
            amount = 0 if rng.random() < 0.1 else int(rng.choice(size)) * int(rng.integers(1, 4))
            self.records.append((leaf, firm, group, amount * (-1 if negative and rng.random() < 0.3 else 1)))
        self.negative = any(record[3] < 0 for record in self.records)
        self.parts, self.leaves = defaultdict(lambda: defaultdict(int)), defaultdict(set)
        for k, (leaf, firm, group, amount) in enumerate(self.records, 1):
            unit = ("h", group) if group else ("c", firm) if firm else ("r", str(k))
            self.leaves[unit].add(leaf)
            for cell in product(*(above[code] for (above, _), code in zip(self.paths, leaf, strict=True))):
                self.parts[cell][unit] += amount
        # Units are numbered by mark and name; of equal contributions the smaller number comes first.
        self.number = {unit: k for k, unit in enumerate(sorted(self.leaves))}

    def table(self):
        leaf, firm, group, amount = zip(*self.records, strict=True)
        columns = {dim: [codes[k] for codes in leaf] for k, dim in enumerate(self.dims)}
        trees = {dim: Hierarchy.from_dict(tree) for dim, tree in zip(self.dims, self.trees, strict=True)}
        return Table.from_microdata(
            {**columns, "firm": list(firm), "group": list(group), "v": list(amount)}, dims=self.dims, measure="v",
            contributor="firm", holding="group", hierarchies=trees, negative="absolute",
        )  # fmt: skip

    def ranked(self, cell):
        """(unit, size), largest first."""
        sizes = [(unit, abs(x)) for unit, x in self.parts[cell].items()]
        return sorted(sizes, key=lambda pair: (-pair[1], self.number[pair[0]]))

    def value(self, cell):
        return sum(self.parts[cell].values())

    def size(self, cell):
        return sum(abs(x) for x in self.parts[cell].values())

    def equations(self):
        """The parts of every sum that the hierarchies state, those that hold a record."""
        for dim, (_, below) in enumerate(self.paths):
            for cell in list(self.parts):
                if cell[dim] in below:
                    children = [(*cell[:dim], code, *cell[dim + 1 :]) for code in below[cell[dim]]]
                    yield cell, [child for child in children if child in self.parts]

    def name(self, unit):
        return f"record {unit[1]}" if unit[0] == "r" else unit[1]


# ---- the rules, once more ------------------------------------------------------------------------------------------------------------------


def level(rule, total, largest):
    """The rule's level of a cell (rules.md, the table)."""
    x = [Fraction(y) for y in [*largest, 0, 0, 0, 0]]
    if isinstance(rule, Dominance):
        return 100 / Fraction(rule.k) * sum(x[: rule.n]) - total
    share = Fraction(rule.p) / (Fraction(rule.q) if isinstance(rule, PriorPosterior) else 100)
    return share * x[0] - (total - sum(x[: rule.n + 1]))


def against(rule, total, own, others):
    """The rule's level against one that contributes itself (rules.md, why these are the levels)."""
    if isinstance(rule, Dominance):
        factor = 100 / Fraction(rule.k)
        if rule.n == 1:
            return factor * others[0] - (total - own)
        return factor * (own + sum(others[: rule.n - 1])) - total
    share = Fraction(rule.p) / (Fraction(rule.q) if isinstance(rule, PriorPosterior) else 100)
    return share * others[0] - (total - own - others[0])


def called(data, rule, cell):
    """The level that a rule asks for a cell, rounded up; 0: safe."""
    ranked = [x for _, x in data.ranked(cell)]
    if isinstance(rule, Threshold):
        if not 0 < len(ranked) < rule.n:
            return 0
        share = Fraction(rule.percent or 0) / 100 * abs(data.value(cell))
        return max(1, ceil(share), rule.units or 0)
    return max(0, ceil(level(rule, data.size(cell), ranked)))


# ---- attackers -----------------------------------------------------------------------------------------------------------------------------


def expected_attackers(data, rules, respondents, *, coalitions):
    """{sorted units: (bounds by cell, levels by cell)}, all from the records."""
    unsafe = {cell for cell in data.parts if any(called(data, rule, cell) for rule in rules)}
    targets = defaultdict(set)
    for cell in unsafe:
        present = [unit for unit, _ in data.ranked(cell)[:3]]
        for unit in present[:respondents]:
            targets[unit,].add(cell)
        if coalitions:
            for pair in combinations(sorted(present, key=data.number.get), 2):
                targets[pair].add(cell)
    found = {}
    for units, cells in targets.items():
        bounds, levels = {}, {}
        for cell, parts in data.parts.items():
            members = [unit for unit in units if unit in parts]
            if members:
                alone = len(members) == len(parts)
                own = None if data.negative else sum(parts[unit] for unit in members)
                bounds[cell] = (data.value(cell), data.value(cell)) if alone else (own, None)
        for cell in cells:
            if None not in bounds[cell]:
                continue  # it is alone
            own = sum(abs(data.parts[cell].get(unit, 0)) for unit in units)
            others = [x for unit, x in data.ranked(cell)[:3] if unit not in units]  # three are kept
            asked = 0
            for rule in rules:
                if by_itself := called(data, rule, cell):
                    mine = by_itself
                    if not isinstance(rule, Threshold):
                        mine = ceil(against(rule, data.size(cell), own, others)) if others else 0
                    asked = max(asked, mine)
            if asked > 0:
                room = asked if data.negative else data.value(cell) - max(0, own)
                levels[cell] = (min(asked, room), asked)
        if levels:
            found[units] = bounds, levels
    return found


def codes(table):
    """The codes of every cell."""
    return list(zip(*table.labels.columns().values(), strict=True))


def compare_attackers(data, rules, respondents, *, coalitions):
    table = data.table().find(*rules)
    cells = codes(table)
    assert sorted(cells) == sorted(data.parts)
    external, *insiders = Attacker.from_data(table, respondents=respondents, coalitions=coalitions)
    assert external.levels is None
    expected = expected_attackers(data, rules, respondents, coalitions=coalitions)
    order = sorted(expected, key=lambda units: [data.number[unit] for unit in units])
    words = [
        ("respondent " if len(units) == 1 else "coalition ") + " and ".join(map(data.name, units)) for units in order
    ]
    assert [one.name for one in insiders] == words
    for one, units in zip(insiders, order, strict=True):
        bounds, levels = expected[units]
        assert one.cell.tolist() == sorted(one.cell.tolist())
        assert {
            cells[i]: (None if low == -NO_BOUND else low, None if high == NO_BOUND else high)
            for i, low, high in zip(one.cell.tolist(), one.lower.tolist(), one.upper.tolist(), strict=True)
        } == bounds
        assert {
            cells[i]: (lpl, upl)
            for i, lpl, upl in zip(
                *(x.tolist() for x in (one.levels.cell, one.levels.lpl, one.levels.upl)), strict=True
            )
        } == levels
        assert not one.levels.spl.any()
        assert not one.whole
        own = [0 if data.negative else sum(data.parts[cells[i]].get(u, 0) for u in units) for i in one.cell.tolist()]
        assert one.own.tolist() == own
        assert {cells[i] for i in one.known.tolist()} == {cell for cell, both in bounds.items() if None not in both}
    return len(insiders)


@pytest.mark.parametrize("part", range(4))
def test_attackers_are_those_of_the_records(part):
    seen = 0
    for seed in SEEDS[part::4]:
        data = Data(seed)
        rules = RULES[seed // 2 % len(RULES)]
        seen += compare_attackers(data, rules, 1 + seed % 3, coalitions=bool(seed % 2))
    assert seen > 25


def test_attackers_of_records_of_both_signs():
    for seed in SEEDS[:12]:
        compare_attackers(Data(seed, negative=True), RULES[seed // 2 % len(RULES)], 2, coalitions=bool(seed % 2))


# ---- sums ----------------------------------------------------------------------------------------------------------------------------------


def together(data, cells):
    """What every unit contributes to a sum of cells, largest first, and the total."""
    sums = defaultdict(int)
    for cell in cells:
        for unit, x in data.parts[cell].items():
            sums[unit] += x
    return sorted(sums.values(), reverse=True), sum(sums.values())


def expected_sums(data, rules):
    """{cells: level} by the letter of risk/sums.py, and for each the units that it may be named after."""
    judging = [rule for rule in rules if not isinstance(rule, Threshold)]
    at_risk = {cell for cell in data.parts if any(called(data, rule, cell) for rule in judging)}
    found, units = {}, defaultdict(set)
    for _, children in data.equations():
        for unit, leaves in data.leaves.items():
            largest = [cell for cell in children if cell in at_risk and data.ranked(cell)[0][0] == unit]
            behind = [cell for cell in children if data.parts[cell].get(unit, 0) > 0]
            if len(leaves) < 2 or not largest:
                continue
            for cells in (behind, [cell for cell in behind if cell in largest]):
                ranked, total = together(data, cells)
                asked = max(ceil(level(rule, total, ranked)) for rule in judging)
                if 2 <= len(cells) < len(children) and asked > 0:
                    found[frozenset(cells)] = asked
                    units[frozenset(cells)].add(data.name(unit))
    return found, units


@pytest.mark.parametrize("part", range(4))
def test_sums_are_those_of_the_records(part):
    seen = 0
    for seed in SEEDS[part::4]:
        data = Data(seed)
        rules = RULES[seed // 2 % len(RULES)]
        table = data.table().find(*rules)
        cells = codes(table)
        expected, units = expected_sums(data, rules)
        own = table.sensitivity.sums
        assert len({tuple(one.cell.tolist()) for one in own}) == len(own)
        assert {frozenset(cells[i] for i in one.cell.tolist()): one.upl for one in own} == expected
        for one in own:
            members = frozenset(cells[i] for i in one.cell.tolist())
            assert one.cell.tolist() == sorted(one.cell.tolist())
            assert one.lpl == min(one.upl, sum(map(data.value, members)))
            assert one.unit in units[members]
        seen += len(own)
    assert seen


def test_of_all_sums_an_unsafe_one_holds_an_unsafe_cell_and_the_best_for_a_pair_is_where_its_measure_is_positive():
    """rules.md, two facts and sums of cells: over every subset of the parts of every equation, and every pair of units."""
    unsafe, exceeded = 0, 0
    for seed in range(60):
        data = Data(1000 + seed)
        rule = [PPercent(10), PPercent(60), PriorPosterior(20, 50)][seed % 3]
        share = Fraction(rule.p) / (Fraction(rule.q) if isinstance(rule, PriorPosterior) else 100)

        def measure(cells, t, s, data=data, share=share):  # f_R, R = {t, s}
            total = sum(map(data.value, cells))
            x, y = (sum(data.parts[cell].get(unit, 0) for cell in cells) for unit in (t, s))
            return (1 + share) * x + y - total

        for parent, children in data.equations():
            subsets = [some for k in range(1, len(children) + 1) for some in combinations(children, k)]
            levels = {some: level(rule, together(data, some)[1], together(data, some)[0]) for some in subsets}
            for some in subsets:
                alone = [levels[cell,] for cell in some]
                assert levels[some] <= sum(alone)
                if levels[some] > 0:
                    assert max(alone) > 0
                    unsafe += len(some) > 1
            assert levels[tuple(children)] == level(rule, data.value(parent), [x for _, x in data.ranked(parent)])
            everyone = {unit for cell in children for unit in data.parts[cell]}
            best = dict.fromkeys(subsets, None)
            for t, s in product(everyone, repeat=2):
                if t == s:
                    continue
                positive = tuple(cell for cell in children if measure([cell], t, s) > 0)
                most = measure(positive, t, s) if positive else 0
                for some in subsets:
                    own = measure(some, t, s)
                    assert own <= most
                    best[some] = own if best[some] is None else max(own, best[some])
                exceeded += bool(positive) and most > max(measure([cell], t, s) for cell in children)
            if len(everyone) > 1:  # and the level of a sum is that of its strongest pair
                assert best == levels
    assert unsafe > 100
    assert exceeded > 10
