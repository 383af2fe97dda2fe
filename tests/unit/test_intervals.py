"""Interval publication: widths beside one linear program of all attackers at once, ends on the grid, files."""

import numpy as np
import pytest
from scipy.optimize import linprog

import cellward as cw
from cellward.exact import NO_BOUND
from cellward.table.sensitivity import Sensitivity


def least_width(instance, candidate):
    """Σ w·(b + t) at least, by one program over widths and a move for every requirement."""
    n, r = instance.cells, instance.relations
    matrix = np.zeros((r.equations, n))
    np.add.at(matrix, (r.row, r.indices), r.coefs)
    asked = [
        (attacker, i, sense, level)
        for attacker in instance.attackers
        for one in [attacker.asked(instance.sensitivity.levels)]
        for i, lpl, upl in zip(one.cell.tolist(), one.lpl.tolist(), one.upl.tolist(), strict=True)
        for sense, level in ((1, upl), (-1, lpl))
        if level
    ]
    size = 2 * n + len(asked) * n
    upper, equal, levels = [], [], []
    bounds = [(0, None if candidate[i] else 0) for i in range(n)] * 2
    for k, (attacker, p, sense, level) in enumerate(asked):
        at = 2 * n + k * n
        lower, high = attacker.narrow(instance.lower, instance.upper)
        for j in range(r.equations):
            row = np.zeros(size)
            row[at : at + n] = matrix[j]
            equal.append(row)
        for i in range(n):
            for way, widths in ((-1, 0), (1, n)):
                row = np.zeros(size)
                row[at + i], row[widths + i] = way, -1
                upper.append(row)
            low = None if lower[i] == -NO_BOUND else int(lower[i] - instance.a[i])
            bounds.append((low, None if high[i] == NO_BOUND else int(high[i] - instance.a[i])))
        row = np.zeros(size)
        row[at + p] = -sense
        levels.append((row, -level))
    cost = np.concatenate((instance.weight, instance.weight, np.zeros(len(asked) * n)))
    found = linprog(
        cost, A_ub=np.array([*upper, *(row for row, _ in levels)]), b_ub=[0] * len(upper) + [x for _, x in levels],
        A_eq=np.array(equal), b_eq=np.zeros(len(equal)), bounds=bounds,
    )  # fmt: skip
    return found.fun if found.status == 0 else None


@pytest.mark.parametrize("seed", range(12))
def test_widths_are_least(seed):
    rng = np.random.default_rng(seed)
    table = cw.Table.from_array(rng.integers(1, 30, (2, 3) if seed % 2 else (2, 2)))
    risk = np.sort(rng.choice(table.cells, 2, replace=False))
    lpl = np.minimum(rng.integers(1, 5, 2), table.scaled[risk])
    table = table.with_sensitivity(Sensitivity.of(table.cells, risk, lpl, rng.integers(1, 5, 2), np.zeros(2, np.int64)))
    known = [cw.Attacker.external(), cw.Attacker.knowing(table, "insider", exactly=[int(rng.integers(table.cells))])]
    method = cw.IntervalPublication()
    p = method.protect(table, attackers=known)
    best = least_width(p.instance, method.candidate(p.instance))
    if p.publication is None:
        assert best is None
        return
    assert p.protected and p.release()
    assert best - 1e-6 <= p.bound <= best + 1
    assert best - 1e-6 <= p.objective <= best + 2 * p.instance.cells


def test_ends_are_round_and_cells_are_published_as_told():
    table = cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]).find(levels={("1", "0"): (2, 2, 0)})
    p = cw.IntervalPublication(5, publish=[("1", "1")]).protect(table)
    lower, upper = p.publication.lower, p.publication.upper
    wide = lower < upper
    assert not (lower[wide] % 5).any() and not (upper[wide] % 5).any()
    assert not wide[table.labels.find(("1", "1"))]
    with pytest.raises(cw.InputError, match=r"\(1, 0\) is at risk and is to be published"):
        cw.IntervalPublication(publish=[("1", "0")]).protect(table)


def test_levels_that_no_ranges_meet_are_named():
    table = cw.Table.from_array([[20, 50], [8, 19]]).find(levels={("1", "0"): (2, 2, 0)})
    p = cw.IntervalPublication(publish=[("1", "1"), ("1", "Total")]).protect(table)
    assert p.status == "infeasible" and p.reason.startswith("(1, 0): no ranges keep attacker external")
    assert p.certificate().check()


def test_the_command_writes_ranges(run, tmp_path):
    (tmp_path / "t.csv").write_text("r,n,s,l\na,20,s,0\nb,8,u,2\nc,30,s,0\n")
    reading = ["--dims", "r", "--value", "n", "--status", "s", "--lpl", "l", "--upl", "l"]
    said = run("intervals", tmp_path / "t.csv", *reading, "--grid", "5", "--out", tmp_path / "out")
    assert said.code == 0 and "total width" in said.out
    head, *rows = (tmp_path / "out" / "release.csv").read_text().splitlines()
    assert head == "r,lower,upper" and "b,5,10" in rows
    assert run("verify", tmp_path / "out").code == 0
    assert run("audit", tmp_path / "t.csv", *reading, "--release", tmp_path / "out").code == 0
