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
    {"Total": ["p", "q", "r", "t", "u"]},
    {"Total": {"G": {"H": ["h1", "h2"], "K": ["k1"]}, "L": ["l1", "l2"]}},
)
RULES = (
    [PPercent(10)],
    [PPercent(60)],
    [PPercent(15, n=2), Threshold(3, units=2, sliding_units=7)],
    [PriorPosterior(20, 50), Dominance(1, 70)],
    [Dominance(2, 85)],
    [Dominance(3, 90), PPercent(5), Threshold(2, percent=25, sliding_units=3)],
)
SEEDS = range(48)
KEPT = 3
"""How many of the largest contributions a table keeps unless it is told otherwise."""


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

    def __init__(self, seed, *, negative=False, weighted=False):
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
        # What a unit contributes, times its weight in weighted tables; ``plain`` without.
        self.parts, self.plain = (defaultdict(lambda: defaultdict(int)) for _ in range(2))
        self.leaves, self.weights = defaultdict(set), []
        by_unit = defaultdict(lambda: int(rng.integers(1, 4)))
        for k, (leaf, firm, group, amount) in enumerate(self.records, 1):
            unit = ("h", group) if group else ("c", firm) if firm else ("r", str(k))
            self.leaves[unit].add(leaf)
            self.weights.append(by_unit[unit] if weighted else 1)
            for cell in product(*(above[code] for (above, _), code in zip(self.paths, leaf, strict=True))):
                self.parts[cell][unit] += amount * self.weights[-1]
                self.plain[cell][unit] += amount
        self.weighted = weighted
        self.weight = by_unit
        # Units are numbered by mark and name, short names first; of equal contributions the smaller number comes first.
        self.number = {
            unit: k for k, unit in enumerate(sorted(self.leaves, key=lambda unit: (unit[0], len(unit[1]), unit[1])))
        }
        self.named = {self.name(unit): unit for unit in self.leaves}
        self.near = {cell: {cell} for cell in self.parts}
        for parent, children in self.equations():
            for cell in (parent, *children):
                self.near[cell] |= {parent, *children}

    def table(self, **options):
        leaf, firm, group, amount = zip(*self.records, strict=True)
        columns = {dim: [codes[k] for codes in leaf] for k, dim in enumerate(self.dims)}
        trees = {dim: Hierarchy.from_dict(tree) for dim, tree in zip(self.dims, self.trees, strict=True)}
        if self.weighted:
            columns["w"] = self.weights
            options["weight"] = "w"
        return Table.from_microdata(
            {**columns, "firm": list(firm), "group": list(group), "v": list(amount)}, dims=self.dims, measure="v",
            contributor="firm", holding="group", hierarchies=trees, negative="absolute", **options,
        )  # fmt: skip

    def ranked(self, cell):
        """(unit, size), largest first; without weights."""
        sizes = [(unit, abs(x)) for unit, x in self.plain[cell].items()]
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

    def contributed(self, cell, units):
        """What these units contribute to a cell together, with their weights."""
        return sum(abs(self.parts[cell].get(unit, 0)) for unit in units)

    def together(self, cells):
        """(unit, what it contributes to a sum of cells), largest first, and the total."""
        sums = defaultdict(int)
        for cell in cells:
            for unit, x in self.parts[cell].items():
                sums[unit] += x
        return sorted(sums.items(), key=lambda pair: (-pair[1], self.number[pair[0]])), sum(sums.values())

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


def score(data, cell, many):
    """The sum of the largest contributions, each counted as often as its weight says (rules.md, sampling weights)."""
    total, left = 0, many
    for unit, x in data.ranked(cell)[:many]:
        total, left = total + x * min(data.weight[unit], left), max(0, left - data.weight[unit])
    return total


def called(data, rule, cell):
    """The level that a rule asks for a cell, rounded up; 0: safe."""
    ranked = [x for _, x in data.ranked(cell)]
    if isinstance(rule, Threshold):
        if not 0 < len(ranked) < rule.n:
            return 0
        share = Fraction(rule.percent or 0) / 100 * abs(data.value(cell))
        return max(1, ceil(share), rule.units or 0)
    if data.weighted:
        share = Fraction(rule.p) / (Fraction(rule.q) if isinstance(rule, PriorPosterior) else 100)
        return max(0, ceil(share * ranked[0] - (data.size(cell) - score(data, cell, rule.n + 1))))
    return max(0, ceil(level(rule, data.size(cell), ranked)))


# ---- attackers -----------------------------------------------------------------------------------------------------------------------------


def behind(data, rules, respondents, *, coalitions, given=()):
    """The attackers, as sorted units: the largest of cells called unsafe, the largest of cells beside one that is to be protected, and pairs."""
    unsafe = {cell for cell in data.parts if cell in given or any(called(data, rule, cell) for rule in rules)}
    found = set()
    for cell in unsafe:
        largest = [unit for unit, _ in data.ranked(cell)]
        found |= {(unit,) for unit in largest[:respondents]}
        if coalitions:
            found |= set(combinations(sorted(largest[:3], key=data.number.get), 2))
    for cell in data.parts:
        if respondents and data.near[cell] & unsafe:
            found.add((data.ranked(cell)[0][0],))
    return unsafe, found


def asked_of(data, rules, cell, units, consenting):
    """(lpl, upl, spl) that the rules ask for a cell against these units, before LPL is capped."""
    own, below, width = data.contributed(cell, units), 0, 0
    others = [(unit, x) for unit, x in data.ranked(cell) if unit not in units]
    target = next(((unit, x) for unit, x in others if unit not in consenting), None)
    for rule in rules:
        by_itself = called(data, rule, cell)
        if by_itself and isinstance(rule, Threshold):
            below, width = max(below, by_itself), max(width, int(rule.sliding_units or 0))
        elif by_itself and target is not None:
            unit, x = target
            heavier = x * (data.weight[unit] - 1) if data.weighted else 0  # its weight is nobody else's
            rest = [x] if not isinstance(rule, Dominance) else [y for _, y in others]
            below = max(below, ceil(against(rule, data.size(cell) - heavier, own, rest)))
    return below, below, width


def expected_attackers(data, rules, respondents, *, coalitions, given=None, consenting=(), sums=()):
    """{sorted units: (bounds by cell, levels by cell, levels by sum)}, all from the records."""
    given = given or {}
    unsafe, everybody = behind(data, rules, respondents, coalitions=coalitions, given=given)
    judging = [rule for rule in rules if not isinstance(rule, Threshold)]
    found = {}
    for units in everybody:
        bounds, levels, of_sums, beside = {}, {}, {}, set()
        for cell, parts in data.parts.items():
            members = [unit for unit in units if unit in parts]
            if members:
                beside |= data.near[cell]
                alone = len(members) == len(parts)
                own = None if data.negative else sum(parts[unit] for unit in members)
                bounds[cell] = (data.value(cell), data.value(cell)) if alone else (own, None)
        known = {cell for cell, both in bounds.items() if None not in both}
        for cell in (beside & unsafe) - known:
            asked = given[cell] if cell in given else asked_of(data, rules, cell, units, consenting)
            if max(asked) > 0:
                room = asked[0] if data.negative else data.value(cell) - data.contributed(cell, units)
                levels[cell] = (min(asked[0], room), *asked[1:])
        for cells in sums:
            if not cells & beside or cells <= known:
                continue
            ranked, total = data.together(cells)
            own = sum(data.contributed(cell, units) for cell in cells)
            others = [x for unit, x in ranked if unit not in units]
            asked = max((ceil(against(rule, total, own, others)) for rule in judging if others), default=0)
            if asked > 0:
                of_sums[cells] = (min(asked, total - own), asked, 0)
        if levels or of_sums:
            found[units] = bounds, levels, of_sums
    return found


def codes(table):
    """The codes of every cell."""
    return list(zip(*table.labels.columns().values(), strict=True))


def columns(levels, name):
    """{name of the cell: (lpl, upl, spl)}."""
    rows = zip(*(column.tolist() for column in (levels.cell, levels.lpl, levels.upl, levels.spl)), strict=True)
    return {name(i): tuple(asked) for i, *asked in rows}


def compare_attackers(data, rules, respondents, *, coalitions, given=None, waivers=(), **options):
    table = data.table(**options).find(*rules, levels=given, waivers=waivers)
    cells = codes(table)
    assert sorted(cells) == sorted(data.parts)
    external, *insiders = Attacker.from_data(table, respondents=respondents, coalitions=coalitions)
    assert external.levels is None
    assert external.sums is None
    sums = [frozenset(cells[i] for i in one.cell.tolist()) for one in table.sensitivity.sums]
    consenting = {data.named[name] for name in waivers}
    expected = expected_attackers(
        data, rules, respondents, coalitions=coalitions, given=given, consenting=consenting, sums=sums
    )
    order = sorted(expected, key=lambda units: [data.number[unit] for unit in units])
    words = [
        ("respondent " if len(units) == 1 else "coalition ") + " and ".join(map(data.name, units)) for units in order
    ]
    assert [one.name for one in insiders] == words
    for one, units in zip(insiders, order, strict=True):
        bounds, levels, of_sums = expected[units]
        assert one.cell.tolist() == sorted(one.cell.tolist())
        assert {
            cells[i]: (None if low == -NO_BOUND else low, None if high == NO_BOUND else high)
            for i, low, high in zip(one.cell.tolist(), one.lower.tolist(), one.upper.tolist(), strict=True)
        } == bounds
        assert columns(one.levels, cells.__getitem__) == levels
        assert columns(one.sums, sums.__getitem__) == of_sums
        assert not one.whole
        own = [0 if data.negative else data.contributed(cells[i], units) for i in one.cell.tolist()]
        assert one.own.tolist() == own
        assert {cells[i] for i in one.known.tolist()} == {cell for cell, both in bounds.items() if None not in both}
    return insiders


@pytest.mark.parametrize("part", range(4))
def test_attackers_are_those_of_the_records(part):
    seen, on_sums, outside, width = 0, 0, 0, 0
    for seed in SEEDS[part::4]:
        data = Data(seed)
        rules, both = RULES[seed // 4 % len(RULES)], bool((seed + seed // 24) % 2)
        found = compare_attackers(data, rules, seed // 4 % 4, coalitions=both, largest=4)
        seen += len(found)
        on_sums += sum(len(one.sums) for one in found)
        outside += sum(len(np.setdiff1d(one.levels.cell, one.cell)) for one in found)
        width += sum(int((one.levels.spl > 0).sum()) for one in found)
    assert seen > 25
    assert on_sums
    assert outside
    assert width


def test_attackers_of_records_of_both_signs():
    for seed in SEEDS[:24]:
        data = Data(seed, negative=True)
        compare_attackers(data, RULES[seed // 2 % len(RULES)], 2, coalitions=bool(seed % 2), largest=4)


def test_attackers_of_weighted_records():
    rules = [[PPercent(10)], [PPercent(60), Threshold(2)], [PriorPosterior(20, 50)]]
    heavier = 0
    for seed in SEEDS:
        data = Data(seed, weighted=True)
        heavier += len(compare_attackers(data, rules[seed % 3], 2, coalitions=bool(seed % 2)))
    assert heavier > 50


def test_attackers_where_levels_are_given():
    taken = 0
    for seed in SEEDS[:24]:
        data = Data(seed)
        some = [cell for cell in data.parts if data.rng.random() < 0.3]
        given = {cell: tuple(int(x) for x in data.rng.integers(0, 30, 3)) for cell in some}
        rules = RULES[seed // 2 % len(RULES)]
        found = compare_attackers(data, rules, 2, coalitions=bool(seed % 2), given=given, largest=4)
        cells = codes(data.table())
        taken += sum(cells[i] in given for one in found for i in one.levels.cell.tolist())
    assert taken > 100


def test_attackers_where_units_have_consented():
    """Rules that aim at one unit; everybody is kept."""
    let_go = 0
    for seed in SEEDS[:24]:
        data = Data(seed)
        names = sorted(name for name in data.named if data.rng.random() < 0.3)
        rules = [[PPercent(60)], [PriorPosterior(20, 50)]][seed % 2]
        table = data.table(largest=20).find(*rules, waivers=names)
        cells, consenting = codes(table), {data.named[name] for name in names}
        unsafe = {cells[i] for i in table.sensitivity.unsafe.tolist()}
        called_so = {cell for cell in data.parts if called(data, rules[0], cell)}
        let_go += len(called_so - unsafe)
        for one in Attacker.from_data(table)[1:]:
            units = tuple(data.named[name] for name in one.name.removeprefix("respondent ").split(" and "))
            for cell, (_, upl, _) in columns(one.levels, cells.__getitem__).items():
                assert cell in unsafe
                assert upl == asked_of(data, rules, cell, units, consenting)[1]
    assert let_go > 10


# ---- sums ----------------------------------------------------------------------------------------------------------------------------------


def together(data, cells):
    """What every unit contributes to a sum of cells, largest first, and the total."""
    ranked, total = data.together(cells)
    return [x for _, x in ranked], total


def looked_at(rule):
    """How many of the largest contributions a rule looks at."""
    return rule.n if isinstance(rule, Dominance) else rule.n + 1


def too_much(data, rule, cell, unit, partner):
    """Whether a unit, its partner and as many of the largest others as the rule has room for are too much of a cell, for the unit's sake."""
    pair = [data.parts[cell].get(one, 0) for one in (unit, partner) if one is not None]
    others = [x for one, x in data.ranked(cell) if one not in (unit, partner)]
    return level(rule, data.value(cell), [*pair, *others[: max(0, looked_at(rule) - 2)]]) > 0


def expected_sums(data, rules):
    """{cells: level} by the letter of rules.md, and for each the units that it may be named after."""
    judging = [rule for rule in rules if not isinstance(rule, Threshold)]
    seen = max(map(looked_at, judging))
    at_risk = {cell for cell in data.parts if any(called(data, rule, cell) for rule in judging)}
    found, units = {}, defaultdict(set)
    for _, children in data.equations():
        risky = [cell for cell in children if cell in at_risk]
        for unit in {unit for cell in risky for unit, _ in data.ranked(cell)[:seen] if len(data.leaves[unit]) > 1}:
            mine = [cell for cell in children if data.parts[cell].get(unit, 0) > 0]
            own = [cell for cell in mine if cell in at_risk]
            partners = {one for cell in own for one, _ in data.ranked(cell)[:KEPT]} - {unit} | {None}
            candidates = [mine, *combinations(own, 2)]
            for rule, partner in product(judging, partners):
                candidates.append([cell for cell in own if too_much(data, rule, cell, unit, partner)])
            for cells in candidates:
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
        rules = RULES[seed // 4 % len(RULES)]
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
            largest = [(table.contributions.name(unit), x) for unit, x in one.largest]
            ranked, _ = data.together(members)
            assert largest[:KEPT] == [(data.name(unit), x) for unit, x in ranked[:KEPT]]
        seen += len(own)
    assert seen


@pytest.mark.parametrize("rule", [PPercent(10), PPercent(60), PriorPosterior(20, 50)], ids=lambda rule: rule.short)
def test_the_worst_sum_of_every_pair_is_looked_at(rule):
    """For a unit and a partner among the largest, no sum of parts at risk has a larger measure than one that is asked, unless it is a cell."""
    compared, three = 0, 0
    for seed in range(2000, 2030):
        data = Data(seed)
        table = data.table().find(rule)
        cells = codes(table)
        asked = {frozenset(cells[i] for i in one.cell.tolist()): one.upl for one in table.sensitivity.sums}
        at_risk = {cell for cell in data.parts if called(data, rule, cell)}
        share = Fraction(rule.p) / (Fraction(rule.q) if isinstance(rule, PriorPosterior) else 100)
        for _, children in data.equations():
            risky = [cell for cell in children if cell in at_risk]
            pairs = {pair for cell in risky for pair in product([unit for unit, _ in data.ranked(cell)[:2]], repeat=2)}
            for unit, partner in pairs:
                if unit == partner or len(data.leaves[unit]) < 2:
                    continue
                worst = [
                    cell
                    for cell in risky
                    if (1 + share) * data.parts[cell].get(unit, 0) + data.parts[cell].get(partner, 0) > data.value(cell)
                    and data.parts[cell].get(unit, 0) > 0
                ]
                if 2 <= len(worst) < len(children):
                    ranked, total = together(data, worst)
                    assert asked[frozenset(worst)] == ceil(level(rule, total, ranked))
                    compared += 1
                    three += len(worst) > 2
    assert compared > 20
    assert three


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
