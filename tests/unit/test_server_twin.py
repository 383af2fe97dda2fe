"""The twin: every cell at risk of the lattice at least its level away, judged by a slow count of its own; headlines kept; parts that stay."""

from collections import defaultdict
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from served_records import REGIONS, SECTORS, rows_of, served

from cellward.errors import InputError
from cellward.key import read_key, write_new_key
from cellward.server.vault.numbers import joined, numbers_of_records
from cellward.server.vault.records import Records
from cellward.server.vault.twin.build import build_twin
from cellward.server.vault.twin.kept import read_twin, write_twin
from cellward.solve.budget import Budget
from cellward.solve.sum_moves import SumMoves

ROWS = rows_of(500, 3)
ABOVE = {code: top for nested in (REGIONS, SECTORS) for top, own in nested.items() for code in own}


def read(folder, rows, **more):
    config = served(folder, rows, **more)
    key = read_key(config.key_file)
    return Records.read(config.datasets[0], key), key


def ways(code):
    """A code and those above it."""
    return [code, ABOVE[code], "Total"] if code in ABOVE else [code, "Total"]


def judged(rows, part_of, part_true, part_value, depth=2):
    """Cells at risk by the p% rule with p = 10 and by a minimum of 3 units, that are nearer to their true value than they may be."""
    cells = defaultdict(list)
    for k, row in enumerate(rows):
        for cell in product(*map(ways, row[3:6])):
            crossed = sum(code != "Total" for code in cell)
            if crossed <= depth or cell == tuple(row[3:6]):
                cells[cell].append(k)
    near, risky = [], 0
    for cell, own in cells.items():
        units = defaultdict(int)
        for k in own:
            units[rows[k][2] or rows[k][1]] += round(Decimal(rows[k][6]) * 10)
        top = sorted(units.values(), reverse=True)
        total = sum(top)
        level = -(-(top[0] * 10 - (total - sum(top[:2])) * 100) // 100)
        if len(top) < 3:
            level = max(level, -(-total // 10), 1)
        if level <= 0:
            continue
        risky += 1
        parts = {part_of[k] for k in own}
        off = sum(part_value[p] - part_true[p] for p in parts)
        if abs(off) < level:
            near.append((cell, off, level))
    return near, risky


def amounts(rows, part, many):
    true = np.zeros(many, np.int64)
    np.add.at(true, part, [round(Decimal(row[6]) * 10) for row in rows])
    return true


@pytest.mark.parametrize("seed", range(3))
def test_every_cell_at_risk_is_at_least_its_level_away(tmp_path, seed):
    rows = rows_of(220, seed)
    records, key = read(tmp_path, rows)
    twin = build_twin(records, key)
    near, risky = judged(rows, twin.part, amounts(rows, twin.part, twin.parts), twin.value[0])
    assert risky > 60
    assert near == []
    assert (twin.value >= 0).all()


def test_counts_of_few_records_are_never_the_true_ones(tmp_path):
    records, key = read(tmp_path, ROWS)
    twin = build_twin(records, key)
    true = np.bincount(twin.part)
    few = true < 3
    assert few.any()
    assert (np.abs(twin.value[1] - true)[few] >= np.minimum(true, 2)[few]).all()
    assert twin.value[1].sum() == len(ROWS)


def test_a_safe_headline_keeps_its_true_totals(tmp_path):
    records, key = read(tmp_path, ROWS, more='headline = "sector"')
    twin = build_twin(records, key)
    sector = np.array([row[4][0] for row in ROWS])
    first = np.unique(twin.part, return_index=True)[1]
    for top in SECTORS:
        true = sum(round(Decimal(row[6]) * 10) for row in ROWS if row[4][0] == top)
        assert twin.value[0][sector[first] == top].sum() == true


def test_new_records_are_protected_by_themselves_and_with_the_old(tmp_path):
    records, key = read(tmp_path, ROWS)
    before = build_twin(records, key)
    fresh = rows_of(40, 9, first=500)
    rows = [*fresh[:20], *ROWS, *fresh[20:]]
    records, key = read(tmp_path, rows)
    twin = build_twin(records, key, before)
    old_value = dict(zip(before.part.tolist(), before.value[0][before.part].tolist(), strict=True))
    for k in range(len(ROWS)):
        assert twin.value[0][twin.part[20 + k]] == old_value[before.part[k]]
    true = amounts(rows, twin.part, twin.parts)
    assert judged(rows, twin.part, true, twin.value[0])[0] == []
    part = twin.part[[*range(20), *range(20 + len(ROWS), len(rows))]]
    assert judged(fresh, part, true, twin.value[0])[0] == []


def test_a_part_that_lost_a_record_is_drawn_anew_and_the_others_stay(tmp_path):
    records, key = read(tmp_path, ROWS)
    before = build_twin(records, key)
    twin = build_twin(read(tmp_path, ROWS[1:])[0], key, before)
    stays = before.part[1:] != before.part[0]
    assert (twin.value[0][twin.part[stays]] == before.value[0][before.part[1:][stays]]).all()


def test_those_who_stay_are_not_drawn_anew_when_others_leave(tmp_path):
    """Mostly on the same side of the truth: the mean over many versions is no nearer to it."""
    same = []
    records, key = read(tmp_path, ROWS)
    before = build_twin(records, key)
    for left in range(0, 60, 12):
        rows = ROWS[:left] + ROWS[left + 12 :]
        twin = build_twin(read(tmp_path, rows)[0], key, before)
        true = amounts(rows, twin.part, twin.parts)
        was = amounts(ROWS, before.part, before.parts)
        old = np.concatenate((before.part[:left], before.part[left + 12 :]))
        off, off_before = (twin.value[0] - true)[twin.part], (before.value[0] - was)[old]
        moved = (was[old] != true[twin.part]) & (off != 0) & (off_before != 0)
        same += (np.sign(off) == np.sign(off_before))[moved].tolist()
    assert len(same) > 50
    assert np.mean(same) > 0.7


def test_the_same_key_draws_the_same_twin_and_another_key_another(tmp_path):
    records, key = read(tmp_path, ROWS[:200])
    one, two = (build_twin(records, key) for _ in range(2))
    assert (one.value == two.value).all()
    (tmp_path / "key.txt").unlink()
    records, other = read(tmp_path, ROWS[:200])
    assert (build_twin(records, other).value[0] != one.value[0]).mean() > 0.5


def test_the_file_of_a_twin_is_sealed(tmp_path):
    records, key = read(tmp_path, ROWS[:100])
    twin = build_twin(records, key)
    file = write_twin(tmp_path / "t.npz", twin, key)
    assert file.stat().st_mode & 0o077 == 0
    again = read_twin(file, key)
    assert all((getattr(twin, name) == getattr(again, name)).all() for name in ("low", "high", "part", "value"))
    assert (again.names, again.rules, again.codes) == (twin.names, twin.rules, twin.codes)
    other = read_key(write_new_key(tmp_path / "other.txt"))
    for data, own in ((file.read_bytes(), other), (file.read_bytes()[:-9], key), (b"", key)):
        (tmp_path / "u.npz").write_bytes(data)
        with pytest.raises(InputError, match="no twin made with this key"):
            read_twin(tmp_path / "u.npz", own)
    assert read_twin(tmp_path / "none.npz", key) is None


def test_numbers_follow_names_and_how_often_they_came():
    key = bytes(range(7, 39))
    low, high = numbers_of_records(key, ["a", "b", "a"])
    again = numbers_of_records(key, ["b", "a", "new", "a"])
    assert sorted(zip(low, high, strict=True)) == sorted(
        (lo, hi) for k, (lo, hi) in enumerate(zip(*again, strict=True)) if k != 2
    )
    assert len({*low.tolist(), *again[0].tolist()}) == 4
    assert joined(2**64 + 5, 2**64 - 1) == 5  # the sum of halves carries, and ends at 2^128


def test_moves_reach_what_sums_ask_and_leave_the_others_near():
    rng = np.random.default_rng(0)
    sums = sparse.csr_array((rng.random((40, 60)) < 0.15).astype(np.int64))
    up = np.where(rng.random(40) < 0.5, rng.integers(1, 30, 40), 0)
    down = np.where(up, rng.integers(1, 30, 40), 0)
    moves = SumMoves(sums, up, down, np.full(40, 5.0), np.full(60, -50), np.full(60, 50))
    z, d = moves.run(np.zeros(60, np.int64), np.zeros(40, np.int64), 100.0, Budget(seed=1))
    assert (d == sums @ z).all()
    assert not moves.lacking(d).any()
    assert np.abs(d[up == 0]).mean() < 12
    assert (np.abs(z) <= 50).all()
