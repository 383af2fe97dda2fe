"""Cell suppression: patterns beside all there are, cuts that every safe pattern keeps, options, files, and certificates that do not hold."""

import copy
import json
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from safe_patterns import is_safe, least, patterns

import cellward as cw
from cellward.audit import verify as checker
from cellward.audit.pattern_bound import Cuts
from cellward.audit.sums_as_cells import joined
from cellward.instance import Instance
from cellward.protect.suppression.method import asked
from cellward.publication.withheld import Withheld
from cellward.table.sensitivity import CellStatus, Sensitivity


def small_table(rng, kind):
    """A small table with one or two cells at risk."""
    if kind == "grid":
        table = cw.Table.from_array(rng.integers(0, 9, (2, 3)), upper=None if rng.random() < 0.5 else 40)
    elif kind == "line":
        table = cw.Table.from_array(rng.integers(0, 9, int(rng.integers(2, 5))))
    else:
        tree = cw.Hierarchy.from_dict({"Total": {"N": ["n1", "n2"], "S": ["s1", "s2", "s3"]}})
        frame = {"r": list(tree.leaves), "n": rng.integers(0, 9, 5).tolist()}
        table = cw.Table.from_frame(frame, dims=["r"], value="n", hierarchies={"r": tree})
    held = np.flatnonzero(table.scaled)
    risk = np.sort(rng.choice(held, min(len(held), int(rng.integers(1, 3))), replace=False))
    lpl, upl = np.minimum(rng.integers(0, 3, len(risk)), table.scaled[risk]), rng.integers(0, 4, len(risk))
    spl = rng.integers(0, 5, len(risk)) * (rng.random(len(risk)) < 0.3)
    return table.with_sensitivity(Sensitivity.of(table.cells, risk, lpl, upl, spl))


def attackers_of(table, rng):
    """The external attacker, at times one who knows a cell."""
    known = [cw.Attacker.external()]
    if rng.random() < 0.4:
        cell = int(rng.integers(table.cells))
        known.append(cw.Attacker.knowing(table, "insider", exactly=[cell]))
    return known


CASES = [(kind, k) for kind in ("grid", "line", "tree") for k in range(12)]


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_patterns_are_safe_and_bounds_hold_beside_all_patterns(kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    table = small_table(rng, kind)
    known = attackers_of(table, rng)
    method = cw.CellSuppression(zeros=("published", "candidates")[seed % 2])
    p = method.protect(table, attackers=known, weights=("value", "equal")[seed % 2])
    instance = p.instance
    best = least(instance, method.candidate(instance), method.hidden(instance))
    if p.publication is None:
        assert (p.status, best) == ("infeasible", None)
        assert p.certificate().check()
        return
    assert is_safe(instance, tuple(p.publication.withheld.tolist()))
    assert p.certified_bound * 10**instance.weight_decimals <= best <= p.objective_scaled
    assert p.sought.bound <= best
    assert p.status != "optimal" or p.objective_scaled == best


@pytest.mark.parametrize("seed", range(20))
def test_no_exact_disclosure_is_a_weaker_promise(seed):
    rng = np.random.default_rng([seed, 99])
    table = small_table(rng, "grid")
    method = cw.CellSuppression("exact")
    p = method.protect(table)
    instance = p.instance
    if p.publication is None:
        return
    assert is_safe(instance, tuple(p.publication.withheld.tolist()), exact=True)
    assert p.certificate().content["protection"] == "ignored"
    assert p.release()


# ---- cuts -------------------------------------------------------------------------------------------------------------------------------------


def stated_cut(rng, instance):
    """A cut of a random requirement with random multipliers of a few equations."""
    attacker = instance.attackers[int(rng.integers(len(instance.attackers)))]
    r = instance.relations
    many = int(rng.integers(1, min(r.equations, 4) + 1))
    equations = np.sort(rng.choice(r.equations, many, replace=False))
    sense = str(rng.choice(["up", "down", "slide", "bridge"]))
    mine = attacker.asked(instance.sensitivity.levels).cell
    cells = np.arange(instance.cells) if sense == "bridge" or not len(mine) else mine
    return {
        "attacker": attacker.name, "cell": int(rng.choice(cells)), "sense": sense, "scale": int(rng.integers(1, 4)),
        "equation": equations.tolist(), "multiplier": rng.integers(-3, 4, many).tolist(),
    }  # fmt: skip


def derived_by_the_verifier(p, cut):
    """The row and right-hand side of a cut as verify.py has it; None where it refuses the cut."""
    number = [attacker.name for attacker in p.instance.attackers].index(cut["attacker"])
    content = copy.deepcopy(json.loads(p.certificate().text))
    c = checker.Certificate(content)
    try:
        rows, rhs = checker._cuts(c, checker.check_attackers(c), [{**cut, "attacker": number}])
    except checker.Refused:
        return None
    return dict(rows[0]), rhs[0]


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_every_safe_pattern_keeps_every_cut_that_is_derived(kind, seed):
    """Whatever the multipliers; and both derivations agree. Bridges of cells not at risk are kept by the least of the patterns."""
    rng = np.random.default_rng([seed, 7])
    table = small_table(rng, kind)
    p = cw.CellSuppression(zeros="candidates").protect(table, attackers=attackers_of(table, rng))
    if p.publication is None:
        return
    instance, method = p.instance, cw.CellSuppression(zeros="candidates")
    free, forced = method.candidate(instance), method.hidden(instance)
    safe = [one for one in patterns(free, forced) if is_safe(instance, one)]
    weights = instance.weight.tolist()
    costs = [sum(w for w, x in zip(weights, one, strict=True) if x) for one in safe]
    lean = [one for one, cost in zip(safe, costs, strict=True) if cost == min(costs)]
    cuts = Cuts(instance, p.sought.allowed)
    for _ in range(40):
        cut = stated_cut(rng, instance)
        mine, theirs = cuts.derive(cut), derived_by_the_verifier(p, cut)
        if theirs is None or (mine is None and not theirs[0]):
            assert mine is None
            continue
        assert mine is not None and (dict(mine.row), mine.least) == theirs
        bridge = cut["sense"] == "bridge" and not forced[cut["cell"]]
        for one in lean if bridge else safe:
            assert sum(coef for i, coef in theirs[0].items() if one[i]) >= theirs[1]


# ---- certificates that do not hold ------------------------------------------------------------------------------------------------------------


def mutate(content, rng):
    """A certificate of a suppression with one thing changed that its claims hang on."""
    out = copy.deepcopy(content)
    n, bound = len(out["nominal"]), out["bound"]
    what = rng.choice(
        (
            "print",
            "hide",
            "value",
            "objective",
            "lo",
            "hi",
            "weight",
            "level",
            "multiplier",
            "scale",
            "cut",
            "leaf",
            "denominator",
            "guarantee",
            "status",
            "unit",
        )
    )
    i = rng.randrange(n)
    for name in ("lo", "hi", "step"):
        if type(out["allowed"][name]) is int:
            out["allowed"][name] = [out["allowed"][name]] * n
    if type(out["weight"]) is int:
        out["weight"] = [out["weight"]] * n
    if what == "print":
        out["printed"]["value"][i] = out["nominal"][i]
    elif what == "hide":
        out["printed"]["value"][i] = None
    elif what == "value":
        bound["value"] = str(int(bound["value"] or 0) + rng.choice((1, 2, 10)))
    elif what == "objective":
        out["objective"] += rng.choice((-1, 1))
    elif what in ("lo", "hi"):
        out["allowed"][what][i] = 1 - out["allowed"][what][i]
        out["allowed"]["step"][i] = out["allowed"]["hi"][i] - out["allowed"]["lo"][i]
    elif what == "weight":
        out["weight"][i] += rng.choice((-1, 1, 5))
    elif what == "level":
        out["levels"] = (
            {**out["levels"], "upl": [x + 1 for x in [out["levels"]["upl"]] * len(out["levels"]["cell"])]}
            if type(out["levels"]["upl"]) is int
            else out["levels"]
        )
    elif what == "guarantee":
        out["method"]["guarantee"] = "exact"
    elif what == "status":
        out["status"] = "optimal"
    elif what == "unit":
        bound["unit"]["size"] += 1
    elif bound["cuts"]:
        cut, leaf = rng.choice(bound["cuts"]), rng.choice([node for node in bound["tree"] if "multiplier" in node])
        if what == "multiplier":
            k = rng.randrange(len(cut["multiplier"]))
            cut["multiplier"][k] += rng.choice((-2, -1, 1, 2))
        elif what == "scale":
            cut["scale"] += 1
        elif what == "cut":
            cut[rng.choice(("cell", "attacker"))] += 1
        elif what == "leaf" and leaf["multiplier"]:
            leaf["multiplier"][rng.randrange(len(leaf["multiplier"]))] += rng.choice((-10, -1, 1, 10))
        else:
            leaf["denominator"] = max(1, leaf["denominator"] - 1)
    return what, out


def restated(content):
    """The same with the bound's value as a verifier would have it, so that only what it proves can be wrong."""
    try:
        checker.check(content)
    except checker.Refused as refusal:
        words = str(refusal)
        if words.startswith("the bound is "):
            value = words.removeprefix("the bound is ").partition(",")[0]
            content["bound"]["value"] = None if value == "None" else value
    return content


@pytest.mark.parametrize("seed", range(12))
def test_what_a_mutant_certifies_is_true_or_it_is_refused(seed):
    rng, draw = np.random.default_rng([seed, 3]), Random(seed)
    table = small_table(rng, ("grid", "tree")[seed % 2])
    p = cw.CellSuppression().protect(table)
    if p.publication is None:
        return
    original = json.loads(p.certificate().text)
    assert checker.check(original)
    refused = 0
    for _ in range(150):
        _, mutant = mutate(original, draw)
        mutant = restated(mutant)
        try:
            verdict = checker.check(mutant)
        except checker.Refused:
            refused += 1
            continue
        assert true_of(p.instance, mutant, verdict)
    assert refused > 30


def true_of(instance, content, verdict):
    """Whether a certificate that is accepted says nothing false of its own table, levels, weights and choice."""
    n = instance.cells
    column = lambda x: np.array([x] * n if type(x) is int else x, np.int64)  # noqa: E731
    lo, hi = (column(content["allowed"][name]) == 1 for name in ("lo", "hi"))
    levels = content["levels"]
    size = len(levels["cell"])
    each = [
        np.array([x] * size if type(x) is int else x, np.int64) for x in (levels["lpl"], levels["upl"], levels["spl"])
    ]
    own = Instance(
        **{
            **{name: getattr(instance, name) for name in instance.__dataclass_fields__},
            "weight": column(content["weight"]),
            "sensitivity": Sensitivity.of(n, levels["cell"], *each),
        }
    )
    hidden = tuple(x is None for x in content["printed"]["value"])
    exact = content["method"]["guarantee"] == "exact"
    if content["protection"] == "shown" and not is_safe(own, hidden):
        return False
    best = least(own, hi, lo, exact=exact)
    claimed = verdict.bound
    if claimed is not None and claimed != "infeasible" and best is not None and claimed > best:
        return False
    return not verdict.proven or best is None or content["objective"] == best


def test_a_release_that_hides_or_prints_another_cell_is_refused(run, tmp_path):
    out = suppressed(run, tmp_path)
    assert run("verify", out).code == 0
    text = (out / "release.csv").read_text()
    for old, new in (("N,a,20,published", "N,a,,withheld"), ("S,a,,withheld", "S,a,8,published"), ("S,a,,withheld", "S,a,,published"),
                     ("N,a,20,published", "N,a,21,published"), ("value,status", "value,state")):  # fmt: skip
        assert old in text
        (out / "release.csv").write_text(text.replace(old, new))
        assert run("verify", out / "certificate.json.gz", out / "release.csv").code == 1


# ---- options ----------------------------------------------------------------------------------------------------------------------------------

GRID = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]


def grid(**levels):
    table = cw.Table.from_array(GRID, dims=["region", "kind"], codes=[["N", "S", "W"], ["a", "b", "c"]])
    return table.find(levels=levels.get("levels", {("S", "a"): (2, 2, 0)}))


def hidden(p):
    return {p.instance.labels.tuple_of(int(i)) for i in np.flatnonzero(p.publication.withheld)}


def test_cells_are_published_withheld_preferred_and_forbidden_as_told():
    assert hidden(cw.CellSuppression().protect(grid())) == {("S", "a"), ("S", "c"), ("W", "a"), ("W", "c")}
    p = cw.CellSuppression(publish=[("W", "c")]).protect(grid())
    assert ("W", "c") not in hidden(p) and p.method["printed"] == "1 cells" and p.release()
    p = cw.CellSuppression(withhold=[("N", "b")]).protect(grid())
    assert ("N", "b") in hidden(p) and p.method["withheld"] == "1 cells" and p.release()
    p = cw.CellSuppression(preferred=[("N", "a"), ("N", "c")]).protect(grid())
    assert hidden(p) == {("S", "a"), ("S", "c"), ("N", "a"), ("N", "c")} and p.objective == 25
    p = cw.CellSuppression(forbidden="leaves").protect(grid())
    assert hidden(p) == {("S", "a"), ("S", "Total"), ("Total", "a"), ("Total", "Total")}
    p = cw.CellSuppression(forbidden="totals").protect(grid())
    assert all("Total" not in codes for codes in hidden(p))


def test_zeros_are_candidates_only_when_asked():
    table = cw.Table.from_array([[5, 0], [0, 7]]).find(levels={("0", "0"): (1, 0, 0)})
    assert not hidden(cw.CellSuppression().protect(table)) & {("0", "1"), ("1", "0")}
    assert cw.CellSuppression(forbidden="totals").protect(table).status == "infeasible"
    assert len(hidden(cw.CellSuppression(forbidden="totals", zeros="candidates").protect(table))) == 4


def test_levels_that_reach_zero_are_noted_where_zeros_are_published():
    table = cw.Table.from_array([[2, 5], [4, 7]]).find(levels={("0", "0"): (2, 2, 0)})
    assert "1 level reaches down to 0" in cw.CellSuppression.notes(cw.CellSuppression().protect(table))[1]
    assert len(cw.CellSuppression.notes(cw.CellSuppression(zeros="candidates").protect(table))) == 1


def test_a_cell_at_risk_that_must_be_published_is_a_conflict_in_one_sentence():
    with pytest.raises(
        cw.InputError,
        match=r"^\(S, a\) is at risk and is to be published as it is \(fixed, or publish\); let it go on one side$",
    ):
        cw.CellSuppression(publish=[("S", "a")]).protect(grid())
    table = grid()
    s = table.sensitivity
    fixed = table.with_sensitivity(
        Sensitivity(
            np.where(s.status == CellStatus.UNSAFE, CellStatus.FIXED, s.status).astype(np.uint8), s.lpl, s.upl, s.spl
        )
    )
    with pytest.raises(cw.InputError, match=r"\(S, a\) is at risk and is to be published"):
        cw.CellSuppression().protect(fixed)
    with pytest.raises(cw.InputError, match=r"\(N, b\) is to be withheld and is to be published"):
        cw.CellSuppression(publish=[("N", "b")], withhold=[("N", "b")]).protect(grid())


def test_a_bridge_of_a_cell_that_must_be_published_says_nothing():
    p = cw.CellSuppression(publish=[("W", "c")]).protect(grid())
    cell = p.instance.labels.find(("W", "c"))
    r = p.instance.relations
    equation = int(r.row[np.flatnonzero(r.indices == cell)[0]])
    cut = {
        "attacker": "external",
        "cell": cell,
        "sense": "bridge",
        "scale": 1,
        "equation": [equation],
        "multiplier": [1],
    }
    row, least = derived_by_the_verifier(p, cut)
    assert not row and least <= 0


def test_cells_called_secondary_are_withheld():
    table = grid()
    status = table.sensitivity.status.copy()
    status[table.labels.find(("N", "b"))] = CellStatus.SECONDARY
    s = table.sensitivity
    p = cw.CellSuppression().protect(table.with_sensitivity(Sensitivity(status, s.lpl, s.upl, s.spl)))
    assert ("N", "b") in hidden(p)
    assert not asked(p.instance)[table.labels.find(("N", "b"))]


def test_what_cannot_be_met_is_refuted_by_a_cut():
    p = cw.CellSuppression(publish=[("S", "b"), ("S", "c"), ("S", "Total")]).protect(grid())
    assert p.status == "infeasible"
    assert "(S, a): attacker external comes as near as 0 below" in p.reason
    assert p.certificate().content["bound"]["value"] == "infeasible"
    verdict = p.certificate().check()
    assert verdict.proven and "that no allowed table exists is proven" in verdict.reason


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ("value", [8, 19, 22]),
        ("equal", [1, 1, 1]),
        ("logarithm", [2.197225, 2.995732, 3.135494]),
        ("distance", [1, 1, 1]),
    ],
)
def test_weights_by_name(weights, expected):
    instance = Instance.of(grid(), weights=weights)
    found = (instance.weight / 10**instance.weight_decimals).tolist()
    assert found[4:7] == pytest.approx(expected)
    assert weights != "distance" or found[:2] == [1, 2]


def test_frequencies_are_weights_where_they_are_known():
    with pytest.raises(cw.InputError, match="weights='frequency': the table does not say how many stand behind a cell"):
        Instance.of(grid(), weights="frequency")
    rows = {"r": ["a", "a", "b"], "n": [5, 6, 7]}
    table = cw.Table.from_microdata(rows, dims=["r"], measure="n")
    assert sorted(Instance.of(table, weights="frequency").weight.tolist()) == [1, 2, 3]


def test_weights_of_zero_cells_are_not_zero():
    table = cw.Table.from_array([[0, 3], [4, 5]])
    assert Instance.of(table, weights="value").weight.tolist()[0] == 1


# ---- command line and jobs --------------------------------------------------------------------------------------------------------------------

ROWS = [
    f"{r},{k},{GRID[i][j]},{'u' if (r, k) == ('S', 'a') else 's'},{2 * ((r, k) == ('S', 'a'))}"
    for i, r in enumerate("NSW")
    for j, k in enumerate("abc")
]
READING = ["--dims", "region,kind", "--value", "n", "--status", "status", "--lpl", "level", "--upl", "level"]


def written(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["region,kind,n,status,level", *ROWS]) + "\n")
    return file


def suppressed(run, tmp_path, *options):
    out = tmp_path / "out"
    assert run("suppress", written(tmp_path), *READING, "--out", out, *options).code == 0
    return out


def test_the_command_writes_a_release_that_its_verifier_and_audit_take(run, tmp_path):
    out = suppressed(run, tmp_path)
    assert (out / "release.csv").read_text().splitlines()[:2] == ["region,kind,value,status", "N,a,20,published"]
    assert "S,a,,withheld" in (out / "release.csv").read_text()
    assert run("verify", out, "--table", tmp_path / "t.csv", *READING).code == 0
    assert run("audit", tmp_path / "t.csv", *READING, "--release", out).code == 0
    assert json.loads((out / "release.json").read_text())["printed"] == "withheld"


def test_a_job_is_rechecked_with_its_preferred_cells(run, tmp_path):
    written(tmp_path)
    (tmp_path / "job.toml").write_text(
        '[input]\nfile = "t.csv"\nkind = "table"\n[roles]\ndims = ["region", "kind"]\nvalue = "n"\nstatus = "status"\nlpl = "level"\nupl = "level"\n'
        '[method]\nname = "suppress"\npreferred = [["N", "a"], ["N", "c"]]\nforbidden = "totals"\n[output]\nfolder = "out"\n'
    )
    assert run("run", tmp_path / "job.toml").code == 0
    assert "N,a,,withheld" in (tmp_path / "out" / "release.csv").read_text()
    assert run("verify", "--job", tmp_path / "job.toml", tmp_path / "out").code == 0


def test_values_are_not_a_number_where_withheld():
    p = cw.CellSuppression().protect(grid())
    assert np.isnan(p.values[p.publication.withheld]).all()
    assert p.release().values[0] == 20
    assert p.certified_bound <= p.objective == 51
    assert isinstance(p.sought.bound, Fraction)


# ---- proofs by trees ----------------------------------------------------------------------------------------------------------------------


def called_optimal(seed):
    """A small table's least pattern, found by trying all, with cuts of random multipliers; None where there is none."""
    rng = np.random.default_rng([seed, 21])
    p = cw.CellSuppression().protect(small_table(rng, ("grid", "tree")[seed % 2]))
    if p.publication is None:
        return None
    instance, method = p.instance, cw.CellSuppression()
    free, forced = method.candidate(instance), method.hidden(instance)
    weights = np.where(forced, 0, instance.weight)
    cost, best = min((int(weights[list(one)].sum()), one) for one in patterns(free, forced) if is_safe(instance, one))
    cuts = tuple(stated_cut(rng, instance) for _ in range(400))
    sought = replace(p.sought, bound=Fraction(cost), cuts=cuts, cut_weights=())
    publication = Withheld.of(instance.a, np.flatnonzero(best))
    return replace(p, publication=publication, sought=sought, status="optimal")


def test_a_least_pattern_is_proven_so_by_a_tree_over_its_cuts():
    """Whatever the cuts, nothing false is proven; most optima are, some of them by branching."""
    proven = {}
    for seed in range(14):
        p = called_optimal(seed)
        if p is not None:
            verdict = p.certificate().check()
            assert verdict, verdict.reason
            assert verdict.bound <= p.objective_scaled
            proven[seed] = len(p.certificate().content["bound"]["tree"]) if verdict.proven else 0
    assert sum(nodes > 0 for nodes in proven.values()) > len(proven) / 2
    assert max(proven.values()) > 1


def test_cuts_without_weights_get_those_of_their_relaxation_and_large_ones_are_cut_down():
    p = cw.CellSuppression().protect(grid())
    bare = replace(p, sought=replace(p.sought, cut_weights=()))
    assert bare.certified_bound >= p.certified_bound > 0
    assert bare.certificate().check()
    large = replace(
        p.sought, cut_weights=tuple(10**45 * x for x in p.sought.cut_weights), cut_scale=10**45 * p.sought.cut_scale
    )
    huge = replace(p, sought=large)
    assert huge.certificate().check().bound >= p.certified_bound - 1
    beyond = tuple({**cut, "multiplier": [x * 10**45 for x in cut["multiplier"]]} for cut in p.sought.cuts)
    assert replace(p, sought=replace(p.sought, cuts=beyond)).certificate().check().bound == 0


def test_sums_at_risk_are_kept_as_cells_are():
    """One unit dominates a sum of two cells that are both withheld: the sum is not to follow either."""
    rows = {
        "r": ["a", "a", "b", "b", "c", "c", "d", "d", "d"],
        "firm": ["A", "x", "A", "y", "B", "z", "C", "D", "E"],
        "n": [90, 3, 80, 4, 70, 60, 50, 40, 45],
    }
    table = cw.Table.from_microdata(rows, dims=["r"], measure="n", contributor="firm").find(cw.PPercent(10))
    assert table.sensitivity.sums
    p = cw.CellSuppression().protect(table)
    assert p.protected and p.release() and p.certificate_of_sums().check()
    whole = joined(p.instance)
    assert whole.cells == table.cells + len(table.sensitivity.sums)
    assert set(whole.sensitivity.unsafe.tolist()) >= set(range(table.cells, whole.cells))
    assert is_safe(whole, (*p.publication.withheld.tolist(), *[True] * (whole.cells - table.cells)))
