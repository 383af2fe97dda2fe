"""Comparisons: rivals are what their literature says, attacks are what enumeration finds, and nothing unsafe is recommended or released."""

import csv
import itertools
import json
import stat
import subprocess
import sys
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from random_levels import with_levels
from typer.testing import CliRunner

import cellward as cw
from cellward.cli.app import build
from cellward.compare.chart import apart, svg
from cellward.compare.codes import CodeTree
from cellward.compare.entries import read, usual
from cellward.compare.estimate import estimate
from cellward.compare.recommendation import choose
from cellward.compare.risk import attacked, shown_risk
from cellward.compare.rivals.all import RIVALS
from cellward.compare.rivals.cell_key import EXAMPLE, CellKey
from cellward.compare.rivals.conventional_rounding import ConventionalRounding
from cellward.compare.rivals.noise import AdditiveNoise, MultiplicativeNoise
from cellward.compare.rivals.random_rounding import RandomRounding
from cellward.compare.rivals.recoding import Recoding
from cellward.compare.rivals.rival import Drawn, Rival
from cellward.compare.rivals.small_counts import SmallCounts
from cellward.compare.trials import key_of
from cellward.compare.utility import Yardstick, association, rank_correlation
from cellward.errors import InputError
from cellward.instance import Instance
from cellward.protect.method import Method
from cellward.publication.knowledge import Knowledge
from cellward.publication.ranges import Ranges
from cellward.publication.withheld import Withheld
from cellward.solve.budget import Budget

ROOT = Path(__file__).parents[2]
FIRMS = ROOT / "examples" / "firms.csv"
HRC = ROOT / "examples" / "business" / "region.hrc"
LONG = ["--dims", "region,sector", "--value", "firms", "--hierarchy", f"region={HRC}", "--status", "status"]
EVERY = [
    RandomRounding(3), RandomRounding(5), ConventionalRounding(3), ConventionalRounding(10), SmallCounts(3), SmallCounts(5), CellKey(),
    AdditiveNoise(4), MultiplicativeNoise(0.2), Recoding(),
]  # fmt: skip


def firms():
    tree = {"region": cw.Hierarchy.from_hrc(HRC)}
    return cw.read(FIRMS, dims=["region", "sector"], value="firms", status="status", hierarchies=tree)


def counts(seed, shape=(5, 6)):
    rng = np.random.default_rng(seed)
    return cw.Table.from_array(rng.poisson(rng.choice([0.7, 3, 40], shape)))


def asking(values, levels):
    return with_levels(cw.Table.from_array(values), levels)


def printed(rival, table, seed=0):
    return rival.drawn(Instance.of(table), seed).publication


# ---- rivals --------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rival", EVERY, ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_what_a_rival_tells_is_true(rival, seed):
    table = counts(seed)
    told = printed(rival, table, seed).knowledge
    assert (told.lo <= table.scaled).all()
    assert (table.scaled <= told.hi).all()


def outcomes(rival, y):
    """All that a rival can print of a count, by its literature."""
    if isinstance(rival, RandomRounding):
        base = rival.base
        return {y} if y % base == 0 else {y - y % base, y - y % base + base}
    if isinstance(rival, ConventionalRounding):
        return {rival.base * ((2 * y + rival.base) // (2 * rival.base))}
    if isinstance(rival, AdditiveNoise):
        return {max(y + k, 0) for k in range(-rival.within, rival.within + 1)}
    row = EXAMPLE[min(y, 4)]
    return {v + y - min(y, 4) for v in row}


@pytest.mark.parametrize(
    "rival",
    [
        RandomRounding(3),
        RandomRounding(5),
        ConventionalRounding(3),
        ConventionalRounding(10),
        CellKey(),
        AdditiveNoise(2),
    ],
    ids=repr,
)
def test_attackers_know_no_more_and_no_less_than_the_published_rule(rival):
    table = cw.Table.from_array(np.arange(80))
    publication = printed(rival, table)
    v, told = publication.v, publication.knowledge
    for i in range(80):
        assert v[i] in outcomes(rival, i)
        possible = [y for y in range(200) if v[i] in outcomes(rival, y)]
        assert (max(int(told.lo[i]), 0), int(told.hi[i])) == (min(possible), max(possible))


def test_random_rounding_is_right_on_average():
    table = cw.Table.from_array(np.tile(np.arange(1, 6), 4000))
    off = (printed(RandomRounding(5), table).v - table.scaled)[:-1].reshape(4000, 5)
    assert np.abs(off.mean(axis=0)).max() < 0.15
    assert not off[:, 4].any()
    assert (off[:, 1] == 3).mean() == pytest.approx(2 / 5, abs=0.03)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_cell_key_draws_with_the_published_probabilities(count):
    table = cw.Table.from_array(np.full(20_000, count))
    off = printed(CellKey(), table).v[:-1] - count
    for v, p in EXAMPLE[min(count, 4)].items():
        assert (off == v - min(count, 4)).mean() == pytest.approx(p, abs=0.015)


def test_the_published_probabilities_have_the_published_mean_and_variance():
    for i, row in enumerate(EXAMPLE):
        assert sum(p * (v - i) for v, p in row.items()) == pytest.approx(0, abs=1e-6)
        assert 1 not in row
    for i in (1, 2, 3, 4):
        assert sum(p * (v - i) ** 2 for v, p in EXAMPLE[i].items()) == pytest.approx(1.05, abs=1e-5)


def test_the_same_records_have_the_same_noise_and_empty_cells_none():
    table = cw.Table.from_array([[7, 0], [0, 0], [2, 0]])
    v = printed(CellKey(), table, 3).v.reshape(4, 3)
    assert v[0, 0] == v[0, 2]
    assert v[2, 0] == v[2, 2]
    assert not v[:, 1].any()


@pytest.mark.parametrize("base", [3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_small_counts_go_and_everything_adds_up(base, seed):
    table = counts(seed, (8, 9))
    v = printed(SmallCounts(base), table).v
    leaf = table.relations.height == 0
    assert not table.relations.residual(v).any()
    assert not ((v[leaf] > 0) & (v[leaf] < base)).any()
    large = leaf & ((table.scaled >= base) | (table.scaled == 0))
    assert (v[large] == table.scaled[large]).all()
    assert abs(int(v[-1] - table.scaled[-1])) <= base / 2
    nothing_up = np.where((v == base) & (table.scaled < base), 0, v)[leaf].sum()
    assert abs(int(v[-1]) - int(table.scaled[-1])) <= abs(int(nothing_up) - int(table.scaled[-1]))


def test_recoding_takes_the_finest_codes_of_one_dimension():
    table = firms()
    hidden = printed(Recoding("region"), table).hidden
    height = CodeTree.of(table.relations, table.labels).height[0]
    assert hidden.tolist() == (height[table.labels.index[0]] == 0).tolist()
    assert 0 < hidden.sum() < table.cells


def test_recoding_by_default_leaves_fewest_cells_at_risk():
    table = firms()
    risky = table.sensitive
    left = {dim: (~printed(Recoding(dim), table).hidden[risky]).sum() for dim in ("region", "sector")}
    assert (~printed(Recoding(), table).hidden[risky]).sum() == min(left.values())


@pytest.mark.parametrize(
    ("rival", "values", "word"),
    [
        (CellKey(), [[0.5, 1.0]], "decimals"),
        (SmallCounts(3), [[0.5, 1.0]], "decimals"),
    ],
)
def test_methods_for_counts_refuse_other_tables(rival, values, word):
    with pytest.raises(InputError, match=word):
        printed(rival, cw.Table.from_array(values))


def test_other_probabilities_are_taken_and_wrong_ones_refused():
    assert CellKey(({0: 1.0}, {0: 0.5, 2: 0.5})).deviation == 1
    with pytest.raises(InputError, match="count 1"):
        CellKey(({0: 1.0}, {0: 0.5, 2: 0.4}))


def test_draws_do_not_depend_on_the_company_or_on_how_a_number_is_written():
    table = counts(1)
    one = printed(RandomRounding(5), table, 4).v
    assert (printed(read("random-rounding base=5"), table, 4).v == one).all()
    assert (printed(RandomRounding(5), table, 5).v != one).any()


# ---- attacks -------------------------------------------------------------------------------------------------------------------------------------


def by_enumeration(drawn, shape):
    """The cells whose level is unmet, found by going through all whole tables that the attacker must think possible."""
    told, instance = drawn.publication.knowledge, drawn.instance
    low = np.maximum(told.lo, 0).reshape(shape[0] + 1, shape[1] + 1)[:-1, :-1].ravel()
    high = np.minimum(told.hi, 400).reshape(shape[0] + 1, shape[1] + 1)[:-1, :-1].ravel()
    inner = np.array(list(itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))))
    tables = inner.reshape(-1, *shape)
    for axis in (1, 2):
        tables = np.concatenate((tables, tables.sum(axis=axis, keepdims=True)), axis=axis)
    tables = tables.reshape(len(tables), -1)
    tables = tables[((tables >= told.lo) & (tables <= told.hi)).all(axis=1)]
    levels, a = instance.sensitivity.levels, instance.a
    least, most = tables.min(axis=0)[levels.cell], tables.max(axis=0)[levels.cell]
    bad = (a[levels.cell] - least < levels.lpl) | (most - a[levels.cell] < levels.upl) | (most - least < levels.spl)
    return int(bad.sum()), int((least == most).sum())


@pytest.mark.parametrize(
    "rival",
    [RandomRounding(3), ConventionalRounding(3), ConventionalRounding(4), CellKey(), SmallCounts(3), AdditiveNoise(2)],
    ids=repr,
)
@pytest.mark.parametrize("seed", range(6))
def test_attacks_find_what_enumeration_finds(rival, seed):
    rng = np.random.default_rng(seed)
    shape = (2, 2)
    values = rng.poisson(2.5, shape)
    levels = {i: (int(rng.integers(1, 3)), int(rng.integers(1, 4)), 0) for i in rng.choice(9, 4, replace=False)}
    table = asking(values, levels)
    drawn = rival.drawn(Instance.of(table), seed)
    risk = attacked(drawn, Budget())
    assert risk.undecided == 0
    assert (risk.unmet, risk.exact) == by_enumeration(drawn, shape)
    assert (risk.narrowest == 1.0) == (risk.unmet == 0)


def test_rounding_each_cell_by_itself_can_be_undone_by_adding_up():
    """Two halves of 1 that become 0 beside a total of 3 that stays: together they tell each other exactly."""
    table = asking([[1, 1, 1]], {0: (1, 1, 0)})
    v = np.array([0, 0, 0, 3, 0, 0, 0, 3])
    told = Knowledge(np.where(v == 3, 3, 0), np.where(v == 3, 3, 1), False, {"rule": "rival"}, v)
    drawn = Drawn(instance=Instance.of(table), publication=printed(RandomRounding(3), table).__class__(told))
    risk = attacked(drawn, Budget())
    assert (risk.unmet, risk.exact, risk.narrowest) == (1, 1, 0.0)
    assert (risk.equations, risk.largest) == (2, 3.0)


@pytest.mark.parametrize(
    "method",
    [
        cw.ControlledRounding(5, max_steps=2),
        cw.CellSuppression(),
        cw.IntervalPublication(),
        cw.CellPerturbation(5, max_steps=2),
    ],
    ids=repr,
)
def test_what_is_said_of_ours_is_what_the_same_attack_finds(method):
    table = asking([[2, 5, 9], [7, 3, 8], [6, 4, 11]], {0: (1, 1, 0), 5: (2, 2, 0)})
    found = method.protect(table, key=key_of(0))
    assert found.protected
    said, measured = shown_risk(found), attacked(found, Budget())
    assert (said.asking, said.unmet, said.undecided, said.narrowest) == (2, 0, 0, 1.0)
    assert measured == said


def test_no_time_is_undecided_and_not_safe():
    table = firms()
    over = Budget(time_limit_s=1e-9)
    risk = attacked(RandomRounding(3).drawn(Instance.of(table), 0), over)
    assert risk.unmet + risk.undecided > 0
    assert not risk.safe


# ---- utility -------------------------------------------------------------------------------------------------------------------------------------


def test_a_user_fills_crosses_by_the_sums_and_takes_the_middle_of_ranges():
    table = cw.Table.from_array([[2, 6], [4, 4]])
    instance = Instance.of(table)
    crossed = estimate(instance, Withheld.of(table.scaled, np.array([0, 1, 3, 4])))
    assert crossed.values == pytest.approx([3, 5, 8, 3, 5, 8, 6, 10, 16])
    assert crossed.unprinted == pytest.approx(4 / 9)
    lower, upper = table.scaled.copy(), table.scaled.copy()
    lower[0], upper[0] = 0, 8
    taken = estimate(instance, Ranges(lower, upper))
    assert (taken.values[0], taken.doubt[0], taken.doubt[1:].any()) == (4.0, 2.0, False)


def test_measures_of_a_table_worked_out_by_hand():
    table = cw.Table.from_array([[10, 20], [30, 40]])
    v = np.array([10, 25, 35, 30, 45, 75, 40, 70, 110])
    told = Knowledge(v, v, True, {"rule": "rival"}, v)
    u = Yardstick(Instance.of(table)).measure(Instance.of(table), printed(RandomRounding(3), table).__class__(told))
    assert u.leaves == pytest.approx(10 / 100)
    assert u.margins == pytest.approx(30 / 300)
    assert u.by_level == pytest.approx((10 / 100, 20 / 200, 10 / 100))
    assert u.loss == pytest.approx(40 / 400)
    assert (u.bias, u.total_change, u.changed) == pytest.approx((0.1, 0.1, 6 / 9))
    assert u.rank == pytest.approx(1.0)
    true, seen = (association(x, np.array([[0, 1], [3, 4]])) for x in (table.scaled.astype(float), v.astype(float)))
    assert u.cramers_v == pytest.approx(abs(true[1] - seen[1]))
    assert u.chi_square == pytest.approx(abs(true[0] - seen[0]) / true[0])


def test_nothing_is_lost_where_nothing_changes():
    table = firms()
    told = Knowledge(table.scaled, table.scaled, True, {"rule": "rival"}, table.scaled)
    u = Yardstick(Instance.of(table)).measure(Instance.of(table), printed(RandomRounding(3), table).__class__(told))
    assert (u.loss, u.margin_change, u.bias, u.cramers_v, u.chi_square, u.slope, u.changed) == (0, 0, 0, 0, 0, 0, 0)
    assert u.rank == pytest.approx(1.0)


def test_rank_correlation_shares_ties():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(1)
    a, e = rng.poisson(3, 40).astype(float), rng.poisson(3, 40).astype(float)
    assert rank_correlation(a, e) == pytest.approx(spearmanr(a, e).statistic)
    assert rank_correlation(np.ones(5), np.arange(5.0)) is None


# ---- the comparison ------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    return cw.compare(firms(), time_limit_s=60, seed=1)


def plain(comparison):
    """Without what depends on the clock."""
    out = comparison.to_dict()
    for row in out["rows"]:
        del row["seconds"]
    del out["seconds"]
    return out


def test_every_method_that_fits_is_a_row(found):
    assert {type(row.entry) for row in found.rows} == {type(one) for one in usual(Instance.of(firms()))}
    assert [row.rival for row in found.rows] == sorted(row.rival for row in found.rows)
    assert len({row.mark for row in found.rows}) == len(found.rows)
    assert all(row.answer == ("rival" if row.rival else "protects") for row in found.rows)


def test_the_recommended_method_protects(found):
    assert found.recommended.safe
    assert found.method.protect(firms()).release() is not None
    assert found.recommended.setting in found.recommendation


def test_the_same_seed_gives_the_same_comparison(found):
    methods = [row.entry for row in found.rows]
    again = cw.compare(firms(), methods, time_limit_s=60, seed=1)
    assert plain(again) == plain(found)
    assert svg(again) == svg(found)


def reachable(thing, seen):
    """Everything that hangs on an object."""
    if id(thing) in seen or isinstance(thing, str | bytes | int | float | type(None)):
        return
    seen[id(thing)] = thing
    if is_dataclass(thing) and not isinstance(thing, type):
        parts = [getattr(thing, one.name) for one in fields(thing)] + list(
            vars(thing).values() if hasattr(thing, "__dict__") else ()
        )
    elif isinstance(thing, dict):
        parts = list(thing.values())
    elif isinstance(thing, list | tuple | set):
        parts = list(thing)
    else:
        parts = list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    for part in parts:
        reachable(part, seen)


def test_nothing_of_a_comparison_can_be_released(found):
    seen = {}
    reachable(found, seen)
    assert not [
        thing
        for thing in seen.values()
        if isinstance(thing, cw.Protection | cw.Release | cw.Table | Drawn | np.ndarray)
    ]
    for kind in (*RIVALS, Rival, Drawn, type(found), type(found.rows[0])):
        assert not [name for name in dir(kind) if "release" in name or name == "protect"]


def test_rivals_are_called_rivals_everywhere(found):
    rivals = [row for row in found.rows if row.rival]
    picture = svg(found).decode()
    for row in rivals:
        assert f"{row.setting} (rival)" in found.to_markdown()
        assert f"{row.setting} (rival)" in found._repr_html_()
        assert f"{row.setting} (rival)" in str(found)
        assert row.flat()["rival"] is True
    assert "Rivals: for comparison, never released" in picture
    with pytest.raises(InputError, match="no method"):
        cw.compare(firms(), [rivals[0].entry.drawn(Instance.of(firms()), 0)])


def test_rivals_alone_are_never_recommended():
    only = cw.compare(firms(), EVERY[:4], time_limit_s=30)
    assert only.recommended is None
    assert only.method is None
    assert only.recommendation.startswith("Nothing that was tried is safe")


def test_what_does_not_exist_is_a_row_and_the_rest_goes_on():
    table = asking([[20, 50, 10], [8, 19, 22], [17, 32, 12]], {0: (9, 9, 0)})
    found = cw.compare(table, ["round base=3 max_steps=1", "round base=20 max_steps=1"], time_limit_s=30)
    assert [row.answer for row in found.rows] == ["none exists", "protects"]
    assert found.recommended is found.rows[1]
    nothing = cw.compare(table, ["round base=3 max_steps=1"], time_limit_s=30)
    assert nothing.recommended is None
    assert "none exists" in nothing.recommendation


@dataclass(frozen=True)
class Broken(Rival):
    word = "broken"
    title = "broken"
    tells = "nothing"

    def accepts(self, instance):
        return None

    def print_of(self, instance, rng):
        raise RuntimeError("it broke")


def test_a_method_that_breaks_is_a_row_and_not_an_end():
    found = cw.compare(firms(), [Broken(), "round base=5"], time_limit_s=30)
    assert [row.answer for row in found.rows] == ["protects", "failed"]
    assert found.rows[1].reason == "RuntimeError: it broke"


def test_no_time_at_all_gives_rows_and_recommends_nothing():
    found = cw.compare(firms(), time_limit_s=1e-6)
    assert len(found.rows) > 10
    assert {row.answer for row in found.rows} == {"undecided"}
    assert found.recommended is None
    assert svg(found)


def test_nothing_at_risk_recommends_nothing():
    found = cw.compare(counts(2), ["round base=5", "random-rounding base=5"], time_limit_s=30)
    assert found.recommended is None
    assert found.recommendation.startswith("No cell of this table is at risk")
    assert found.rows[0].risk.asking == 0


def test_weaker_promises_are_recommended_only_where_they_lose_half(found):
    safe = [row for row in found.rows if row.safe]
    whole = [row for row in safe if row.kind == "values" and not row.distances]
    best = min(whole, key=lambda row: row.utility.loss)
    assert choose(whole) is best
    for row in safe:
        if row not in whole:
            assert (choose([best, row]) is row) == (row.utility.loss <= best.utility.loss / 2)


def test_attackers_count():
    table = asking([[20, 50, 10], [8, 19, 22], [17, 32, 12]], {0: (3, 3, 0)})
    knows = cw.Attacker.knowing(table, "insider", exactly=[1, 2])
    public, insider = (
        cw.compare(table, [ConventionalRounding(5)], attackers=who, time_limit_s=30).rows[0].risk
        for who in (None, [cw.Attacker.external(), knows])
    )
    assert insider.unmet >= public.unmet
    assert (
        cw.compare(table, ["round base=10"], attackers=[cw.Attacker.external(), knows], time_limit_s=30).attackers == 2
    )


# ---- shown and written ---------------------------------------------------------------------------------------------------------------------------


def test_the_map_has_every_mark_as_text_and_leaves_pyplot_alone(found):
    picture = svg(found).decode()
    for row in found.rows:
        assert f">{row.mark}</text>" in picture
    code = (
        "import cellward as cw, sys\n"
        "found = cw.compare(cw.Table.from_array([[3, 4], [5, 6]]), ['round base=5'], time_limit_s=20)\n"
        "found.plot()\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_badges_keep_their_distance():
    there = np.zeros((12, 2)) + 200.0
    at = apart(there, 20.0, (0.0, 0.0, 500.0, 400.0))
    gaps = [np.hypot(*(a - b)) for a, b in itertools.combinations(at, 2)]
    assert min(gaps) > 19
    assert (apart(there, 20.0, (0.0, 0.0, 500.0, 400.0)) == at).all()


def test_a_frame_and_html(found):
    frame = found.to_pandas()
    assert frame["method"].tolist() == [row.setting for row in found.rows]
    assert frame["rival"].sum() == sum(row.rival for row in found.rows)
    assert found._repr_html_().count("<table>") == 2


def test_a_folder_holds_table_map_and_words(found, tmp_path):
    written = found.save(tmp_path / "out")
    assert [path.name for path in written] == ["comparison.csv", "map.svg", "recommendation.md"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}
    with written[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["mark"] for row in rows] == [row.mark for row in found.rows]
    assert found.recommendation in written[2].read_text()
    assert found.save(tmp_path / "out") == written


def test_the_command_line_compares(tmp_path):
    run = CliRunner()
    arguments = [
        "compare",
        str(FIRMS),
        *LONG,
        "--method",
        "round base=5",
        "--method",
        "random-rounding base=3",
        "--time-limit",
        "30",
    ]
    done = run.invoke(build(), [*arguments, "--json", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["recommended"] == "A"
    assert [row["rival"] for row in said["rows"]] == [False, True]
    assert (tmp_path / "out" / "comparison.csv").exists()
    shown = run.invoke(build(), arguments)
    assert "(rival)" in shown.stdout
    rivals = run.invoke(build(), ["compare", str(FIRMS), *LONG, "--method", "recoding", "--time-limit", "30"])
    assert rivals.exit_code == 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("juggle", "no method 'juggle'"),
        ("", "no method"),
        ("round bas=5", "is no option"),
        ("round 5", "written name=value"),
        ("small-counts base=x", "no number"),
        ("small-counts base=1", "whole number from 2"),
        ("suppress ranges=maybe", "yes or no"),
        ("cell-key base=5", "takes no options"),
    ],
)
def test_texts_that_name_no_method_are_refused_in_a_sentence(text, word):
    with pytest.raises(InputError, match=word):
        read(text)


def test_methods_are_read_as_on_the_command_line():
    assert read("round base=10") == cw.ControlledRounding("10", max_steps="auto")
    assert read("adjust norm=l2 jitter=0.5") == cw.ControlledAdjustment("l2", jitter=0.5)
    assert read("recoding dim=region") == Recoding("region")
    assert isinstance(read("suppress ranges=yes"), Method)


@pytest.mark.parametrize("wrong", [3, [3], [], None])
def test_what_is_no_table_or_method_is_refused(wrong):
    with pytest.raises(InputError):
        cw.compare(wrong if wrong is None else firms(), wrong, time_limit_s=5)
