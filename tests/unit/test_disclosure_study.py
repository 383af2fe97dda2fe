"""The disclosure study of an adjustment: rates against solves anew, ranges of all optima against a linear program written out, and its reports."""

import io

import numpy as np
import pytest
from fixed_keys import key_of
from rich.console import Console
from scipy.optimize import linprog

import cellward as cw
from cellward.protect.adjustment.study import DisclosureStudy
from cellward.report.sections.study import study_lines, study_section
from cellward.report.terminal import render

LINEAR = ("l1", "linf")
KEY = key_of(0)


def tables(seed, count):
    """Small two-way tables with levels of some cells."""
    draw = np.random.default_rng(seed)
    for _ in range(count):
        rows, columns = draw.integers(2, 5, 2)
        inner = draw.integers(1, 40, (rows, columns))
        cell = np.arange((rows + 1) * (columns + 1)).reshape(rows + 1, columns + 1)
        matrix = np.zeros((rows + columns + 2, cell.size), int)
        for equation, members in zip(matrix, [*cell, *cell.T], strict=True):
            equation[members], equation[members[-1]] = 1, -1
        full = np.pad(inner, (0, 1))
        full[-1], full[:, -1] = full.sum(0), 0
        full[:, -1] = full.sum(1)
        many = int(draw.integers(1, 5))
        risky, levels = draw.choice(cell.size, many, replace=False).tolist(), draw.integers(1, 6, many).tolist()
        yield cw.Table.from_equations(full.ravel(), matrix, sensitive=risky, lpl=levels, upl=levels), draw


def studies(seed, count, norm):
    for table, draw in tables(seed, count):
        method = cw.ControlledAdjustment(
            norm=norm, jitter=float(draw.integers(2)), grid=(None, "table")[draw.integers(2)], fixed=(None, "margins")[draw.integers(2)]
        )  # fmt: skip
        p = method.protect(table, weights=("equal", "relative")[draw.integers(2)], key=draw.bytes(32))
        if p.scaled is not None:
            yield DisclosureStudy(p), draw


@pytest.mark.parametrize("norm", ["l1", "linf", "l2", "l1-2"])
def test_rates_are_those_of_solves_anew(norm):
    """The least distance is convex in the levels, and for small errors grows as the multipliers say."""
    seen = 0
    for study, draw in studies(1, 12, norm):
        near = 1e-7 * (1 + study.objective)
        for size in (1e-4, 1.0):
            found = study.resolve(draw.uniform(-size, size, len(study.cells)))
            if found.status == "optimal":
                assert found.predicted - near <= found.rate <= found.growth + near
                if size < 1:
                    assert found.growth <= found.rate + near + (0 if norm in LINEAR else 1e-6)
                seen += 1
        low, high = study.multiplier_ranges()
        near = 1e-5 * (1 + study.multipliers)
        assert np.all((low <= study.multipliers + near) & (study.multipliers <= high + near))
    assert seen >= 8


@pytest.mark.parametrize("norm", LINEAR)
def test_ranges_of_all_optima_are_those_of_a_linear_program(norm):
    for study, _ in studies(2, 6, norm):
        p = study.problem
        n, w, own = len(p.lo), p.costs.absolute, p.distance.sensitive
        m = np.zeros((p.relations.equations, n))
        m[p.relations.row, p.relations.indices] = p.relations.coefs
        # Columns z, t ≥ |z|, and for L∞ the two maxima.
        eye, none = np.eye(n), np.zeros((n, n))
        sizes = np.block([[eye, -eye], [-eye, -eye]])
        top = np.column_stack((own, ~own)) * -1.0
        rows = np.block([[sizes, np.zeros((2 * n, 2))], [none, np.diag(w), top]])
        last = np.concatenate((np.zeros(n), w, [0, 0])) if norm == "l1" else np.concatenate((np.zeros(2 * n), [1, 1]))
        rows = np.vstack((rows if norm == "linf" else rows[: 2 * n], last))
        most = np.append(np.zeros(len(rows) - 1), study.objective * (1 + 1e-9))
        equal = np.hstack((m, np.zeros((len(m), n + 2))))
        bounds = [*zip(p.lo, p.hi, strict=True), *[(0, None)] * (n + 2)]
        found = study.alternatives(count=2, seed=1)
        assert found.settled
        for cell, low, high in zip(found.cell, found.lower, found.upper, strict=True):
            cost = np.zeros(2 * n + 2)
            for sign, mine in ((1, low), (-1, high)):
                cost[cell] = sign
                answer = linprog(cost, rows, most, equal, np.zeros(len(m)), bounds)
                assert mine == pytest.approx(answer.x[cell], abs=1e-4)
        for other in found.deviations:
            assert np.abs(m @ other).max() <= 1e-6


def small(**options):
    table = cw.Table.from_equations([12, 8, 20], [[1, 1, -1]], sensitive=[2], lpl=[4], upl=[4])
    return table, cw.ControlledAdjustment(**options)


def test_a_study_takes_senses_and_levels_as_drawn():
    table, method = small(norm="l2")
    p = method.protect(table, key=KEY)
    one, two = DisclosureStudy(p), DisclosureStudy.of(method, table, key=KEY)
    assert one.levels.tolist() == two.levels.tolist()
    assert one.senses.tolist() == two.senses.tolist() == list(p.details.senses.values())
    assert 4 <= one.levels[0] <= 8
    assert np.sign(one.deviations[2]) == one.senses[0]
    assert one.objective <= one.published_objective + 1e-6
    assert one.published_objective == pytest.approx(p.objective)


def test_two_levels_of_cells_that_move_alike_share_their_multiplier():
    table = cw.Table.from_equations(
        [12, 12, 8, 20], [[1, -1, 0, 0], [0, 1, 1, -1]], sensitive=[0, 1], lpl=[3, 3], upl=[3, 3]
    )
    study = DisclosureStudy.of(cw.ControlledAdjustment(senses="up", jitter=0), table, weights="equal")
    assert study.ambiguous
    assert study.multipliers.sum() == pytest.approx(3)
    low, high = study.multiplier_ranges()
    assert (low, high) == (pytest.approx([0, 0]), pytest.approx([3, 3]))
    assert study.resolve([1, 0]).growth == study.resolve([1, 0]).rate == pytest.approx(3)
    assert study.resolve([-1, 0]).growth == pytest.approx(0)
    assert study.resolve(-1).growth == pytest.approx(-3)


def test_levels_that_cannot_grow():
    """Margins are fixed, so that what one cell rises another falls, here down to 0."""
    table = cw.Table.from_equations([12, 4, 16], [[1, 1, -1]], sensitive=[0], lpl=[4], upl=[4], fixed=[2])
    study = DisclosureStudy.of(
        cw.ControlledAdjustment(norm="l2", senses="up", jitter=0, zeros_stay=False), table, weights="equal"
    )
    assert study.multipliers == pytest.approx([16])
    assert study.multiplier_ranges()[1].tolist() == [np.inf]
    found = study.resolve(1)
    assert (found.status, found.rate) == ("infeasible", np.inf)
    assert study.resolve(-1e-3).growth == pytest.approx(-16e-3, rel=1e-3)


@pytest.mark.parametrize("errors", [[1, 2], [[1.0]], float("nan"), [float("inf")]])
def test_errors_are_refused_that_are_not_one_a_cell(errors):
    table, method = small()
    with pytest.raises(cw.InputError, match="errors: give a number, or one for each of the 1 cells at risk"):
        DisclosureStudy.of(method, table).resolve(errors)


def test_only_adjustments_are_studied():
    table, _ = small()
    with pytest.raises(cw.InputError, match="only a result of ControlledAdjustment"):
        DisclosureStudy(cw.ControlledRounding(5, ignore_levels=True).protect(table))
    with pytest.raises(cw.VerificationError, match="nothing to study"):
        DisclosureStudy(cw.ControlledAdjustment(fixed=[2]).protect(table))


@pytest.mark.parametrize("norm", ["l1", "l2", "linf", "huber"])
def test_reports(norm):
    table, method = small(norm=norm)
    study = DisclosureStudy.of(method, table, key=KEY)
    others = study.alternatives()
    lines = study_lines(study, alternatives=others)
    assert "2-norm" in str(study)
    assert len(lines) == 5
    assert study.to_dict()["cells"][0]["cell"] == 2
    assert study.resolve(1.0).to_dict()["growth"] > 0
    assert list(others.to_dict()["ranges"]) == [2]
    out = io.StringIO()
    render([study_section(study, alternatives=others)], Console(file=out, width=200))
    assert "cell 2" in out.getvalue()
    assert "in all optima" in out.getvalue()


def test_optima_of_least_l1_are_some_of_those_of_l_infinity():
    for study, _ in studies(3, 4, "linf"):
        wide, narrow = study.alternatives(count=0), study.alternatives(count=0, least_l1=True)
        assert np.all((wide.lower <= narrow.lower + 1e-5) & (narrow.upper <= wide.upper + 1e-5))
