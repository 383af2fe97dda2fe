"""The two-stage engine: nobody is given away by all answers together, judged by exact fractions and linear programs of the tests' own."""

import itertools
import secrets
import shutil
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from served_records import REGIONS, SECTORS, SIZES, rows_of, served, write_hrc, write_rows

from cellward.errors import InputError, ResourceError
from cellward.server.config import ServerConfig
from cellward.server.ledger.ledger import Ledger
from cellward.server.ledger.verify import verify_ledger
from cellward.server.vault.twostage.elimination import Elimination, nothing
from cellward.server.vault.twostage.measured import Measured
from cellward.server.vault.twostage.sealed import opened, seal
from cellward.server.vault.vault import Vault

ROWS = rows_of(240, 4)
ABOVE = {code: top for nested in (REGIONS, SECTORS) for top, own in nested.items() for code in own}
NAMES = ("region", "sector", "size")
CODES = ({*REGIONS, *itertools.chain(*REGIONS.values())}, {*SECTORS, *itertools.chain(*SECTORS.values())}, {*SIZES})
TWO_STAGE = 'engine = "two-stage"\ndepth = 3\n'


def ask(vault, dimensions, measure="turnover", where=None):
    request = {"dimensions": dimensions, "measure": measure, "where": where or {}}
    return vault.handle({"id": 1, "call": "ask", "dataset": "firms", "request": request, "who": "ann", "key": None})


def random_request(rng):
    """Up to three dimensions at any level, and up to two conditions on a few codes of any level."""
    own = rng.choice(3, rng.integers(0, 4), replace=False).tolist()
    dimensions = [{"name": NAMES[k], "level": int(rng.integers(1, (3, 3, 2)[k]))} for k in own]
    where = {}
    for k in rng.choice(3, rng.integers(0, 3), replace=False).tolist():
        where[NAMES[k]] = rng.choice(sorted(CODES[k]), rng.integers(1, 4), replace=False).tolist()
    return dimensions, where


def within(code, wanted):
    return wanted == "Total" or code == wanted or ABOVE.get(code) == wanted


def cells_of(said, where):
    """The records behind every cell of an answer, by a slow look at each of them, and its value in tenths."""
    answer = said["answer"]
    at = [NAMES.index(name) for name in answer["columns"][:-1]]
    kept = [
        n
        for n, row in enumerate(ROWS)
        if all(any(within(row[3 + NAMES.index(name)], code) for code in codes) for name, codes in where.items())
    ]
    for row in answer["rows"]:
        own = [n for n in kept if all(within(ROWS[n][3 + k], code) for k, code in zip(at, row[:-1], strict=True))]
        yield frozenset(own), int(Decimal(row[-1]) * 10 ** (answer["columns"][-1] == "turnover"))


def units_of(own):
    units = defaultdict(int)
    for n in own:
        units[ROWS[n][2] or ROWS[n][1]] += round(Decimal(ROWS[n][6]) * 10)
    return units


def level_of(own):
    """How far off the default policy wants this set of records: p% with p = 10, fewer than three units by a tenth; 0 where it is safe."""
    top = sorted(units_of(own).values(), reverse=True)
    level = -(-(top[0] * 10 - (sum(top) - sum(top[:2])) * 100) // 100)
    return max(level, -(-sum(top) // 10), 1) if len(top) < 3 else max(level, 0)


def true_of(own):
    return sum(units_of(own).values())


def lattice():
    """The sets of records behind all combinations of codes of any level."""
    ways = [["Total", *sorted(codes)] for codes in CODES]
    for codes in itertools.product(*ways):
        own = frozenset(n for n, row in enumerate(ROWS) if all(map(within, row[3:6], codes)))
        if own:
            yield own


class Fractions:
    """Rows reduced exactly, with what they add up to."""

    def __init__(self):
        self.rows = {}

    def reduce(self, vector, value):
        vector = {k: Fraction(v) for k, v in vector.items()}
        for pivot, (row, own) in self.rows.items():
            if factor := vector.get(pivot, 0):
                value -= factor * own
                for k, v in row.items():
                    vector[k] = vector.get(k, 0) - factor * v
        return {k: v for k, v in vector.items() if v}, value

    def add(self, vector, value):
        """Whether it is new; a combination of those before must have the value that they give."""
        left, rest = self.reduce(vector, Fraction(value))
        if not left:
            assert rest == 0
            return False
        pivot = min(left)
        self.rows[pivot] = ({k: v / left[pivot] for k, v in left.items()}, rest / left[pivot])
        return True

    def value(self, vector):
        """What it must be, or None where that is not told."""
        left, rest = self.reduce(vector, Fraction(0))
        return None if left else -rest


ATOM = {codes: k for k, codes in enumerate(sorted({row[3:6] for row in ROWS}))}


def vector_of(own):
    """A set of records as atoms; every set that a request can name has all records of an atom or none."""
    return dict.fromkeys({ATOM[ROWS[n][3:6]] for n in own}, 1)


def answered(folder, more, seed, many):
    """A vault that was asked so many random requests, every set of records that it published a turnover of, and what was asked and refused."""
    vault = Vault(served(folder, ROWS, more=more))
    rng = np.random.default_rng(seed)
    published, asked, refused = {}, [], []
    for _ in range(many):
        dimensions, where = random_request(rng)
        said = ask(vault, dimensions, where=where)
        if "refusal" in said:
            refused.append(said["refusal"])
            continue
        asked.append((dimensions, where, said["answer"]["rows"]))
        for own, value in cells_of(said, where):
            assert published.setdefault(own, value) == value
    assert published.pop(frozenset(), 0) == 0
    return vault, published, asked, refused


@pytest.fixture(scope="module")
def served_all(tmp_path_factory):
    """A folder, a vault that answered many random requests, every set of records that it published a turnover of, and what was asked."""
    folder = tmp_path_factory.mktemp("two-stage")
    vault, published, asked, _ = answered(folder, TWO_STAGE, 0, 80)
    yield folder, vault, published, asked
    vault.close()


def nearer(published):
    """Published cells at risk, and differences of few respondents between published cells, that are off by less than their level; and how many
    there are of either."""
    risky = [own for own in published if level_of(own)]
    pairs = [
        (one, other)
        for one, other in itertools.permutations(published, 2)
        if other < one and len(units_of(one - other)) < 3
    ]
    near = [own for own in risky if abs(published[own] - true_of(own)) < level_of(own)]
    near += [
        (one, other)
        for one, other in pairs
        if abs(published[one] - published[other] - true_of(one - other)) < level_of(one - other)
    ]
    return near, len(risky), len(pairs)


def test_most_requests_are_answered_and_add_up_exactly(served_all):
    _, vault, published, asked = served_all
    assert len(asked) >= 60
    rows = Fractions()
    for own, value in published.items():
        rows.add(vector_of(own), value)
    found = vault._datasets["firms"].engine.measured[0].published
    assert found.rank == len(rows.rows)
    assert vault.handle({"call": "ledger_verify"})["ok"]


def test_published_cells_at_risk_and_their_thin_differences_are_off_by_their_level(served_all):
    near, risky, thin = nearer(served_all[2])
    assert (risky > 50, thin > 100) == (True, True)
    assert near == []


def test_what_is_published_beside_refusals_is_as_safe(tmp_path):
    """With little protected beforehand, much is refused; what is answered is not."""
    vault, published, _, refused = answered(tmp_path, 'engine = "two-stage"\ndepth = 1', 7, 30)
    near, risky, _ = nearer(published)
    vault.close()
    assert risky
    assert near == []
    assert {one["code"] for one in refused} <= {"protected"}
    assert len({one["sentence"] for one in refused}) <= 1


def test_no_linear_combination_of_what_is_published_gives_a_set_at_risk(served_all):
    rows = Fractions()
    for own, value in served_all[2].items():
        rows.add(vector_of(own), value)
    told = [(own, rows.value(vector_of(own))) for own in lattice() if level_of(own)]
    told = [(own, value) for own, value in told if value is not None]
    assert len(told) > 50
    assert [own for own, value in told if abs(value - true_of(own)) < level_of(own)] == []


def test_what_is_left_of_a_set_at_risk_reaches_as_far_as_its_level(served_all):
    published = served_all[2]
    matrix = sparse.lil_array((len(published), len(ATOM)))
    for k, own in enumerate(published):
        for atom in vector_of(own):
            matrix[k, atom] = 1
    risky = sorted({own for own in lattice() if level_of(own)}, key=sorted)
    for own in risky[:: max(len(risky) // 25, 1)]:
        cost = np.zeros(len(ATOM))
        cost[[*vector_of(own)]] = 1
        ends = []
        for sign in (1, -1):
            end = linprog(
                sign * cost, A_eq=matrix.tocsr(), b_eq=[*published.values()], bounds=(0, None), method="highs"
            )
            ends.append(np.inf if end.status == 3 else sign * end.fun)
        farthest = max(abs(ends[0] - true_of(own)), abs(ends[1] - true_of(own)))
        assert farthest >= level_of(own) - 1e-4


@pytest.mark.parametrize("relabelled", [False, True])
def test_values_and_shadow_are_the_same_after_a_restart(served_all, tmp_path, relabelled):
    """In other order and under other names too: sets of records are found by identity alone."""
    folder, vault, _, asked = served_all
    for name in ("records.csv", "region.hrc", "sector.hrc", "key.txt", "server.toml", "firms.twin.npz"):
        shutil.copy(folder / name, tmp_path / name)
    Ledger(folder / "ledger.sqlite", readonly=True).copy(tmp_path / "ledger.sqlite")
    mark = "x" if relabelled else ""
    if relabelled:
        shuffled = [ROWS[k] for k in np.random.default_rng(0).permutation(len(ROWS))]
        write_rows(tmp_path / "records.csv", [(*row[:3], f"x{row[3]}", *row[4:]) for row in shuffled])
        write_hrc(tmp_path / "region.hrc", {f"x{top}": [f"x{code}" for code in own] for top, own in REGIONS.items()})
    again = Vault(ServerConfig.read(tmp_path / "server.toml"))
    for k in range(2):
        before, after = (own._datasets["firms"].engine.measured[k] for own in (vault, again))
        assert np.array_equal(before.shadow, after.shadow)
        assert (before.seen, before.published.rank) == (after.seen, after.published.rank)
    for dimensions, where, rows in asked:
        where = {name: [mark + code for code in own] if name == "region" else own for name, own in where.items()}
        said = ask(again, dimensions, where=where)["answer"]
        assert [row[-1] for row in said["rows"]] == [row[-1] for row in rows]
        assert said["from_ledger"]
    again.close()


def test_other_records_are_not_served_with_the_ledger_of_these(tmp_path):
    Vault(served(tmp_path, ROWS[:60], more=TWO_STAGE)).close()
    with pytest.raises(InputError, match="that its ledger was begun with"):
        Vault(served(tmp_path, ROWS[:61], more=TWO_STAGE))


def test_one_engine_does_not_answer_from_the_ledger_of_the_other(tmp_path):
    Vault(served(tmp_path, ROWS[:60], more=TWO_STAGE)).close()
    with pytest.raises(InputError, match="published by the engine two-stage"):
        Vault(served(tmp_path, ROWS[:60]))


def test_common_tables_have_their_values_whatever_is_asked_first(tmp_path):
    (tmp_path / "one").mkdir()
    first = Vault(served(tmp_path / "one", ROWS[:80], more=TWO_STAGE + "start = 2"))
    shutil.copytree(tmp_path / "one", tmp_path / "two", ignore=shutil.ignore_patterns("ledger*"))
    second = Vault(ServerConfig.read(tmp_path / "two" / "server.toml"))
    tables = [[{"name": "region", "level": 2}, {"name": "size", "level": 1}], [{"name": "sector", "level": 1}]]
    deep = [{"name": name} for name in NAMES]
    one = [ask(first, own)["answer"]["rows"] for own in tables]
    ask(second, deep)
    two = [ask(second, own)["answer"]["rows"] for own in reversed(tables)]
    assert one == two[::-1]
    first.close()
    second.close()


def test_a_refusal_says_the_same_whatever_the_reason_and_leaves_all_as_it_was(tmp_path, monkeypatch):
    vault = Vault(served(tmp_path, ROWS[:80], more=TWO_STAGE))
    engine = vault._datasets["firms"].engine
    ask(vault, [{"name": "region", "level": 1}])
    own = engine.measured[0]
    before = own.shadow.copy(), own.published.rank, own.published.cells
    monkeypatch.setattr(Measured, "_allowed", lambda *_: False)
    refused = ask(vault, [{"name": "sector"}])["refusal"]
    monkeypatch.undo()
    monkeypatch.setattr(own.published, "differences", lambda *_: None)
    assert ask(vault, [{"name": "sector"}])["refusal"] == refused
    monkeypatch.undo()
    assert refused["code"] == "protected"
    assert not any(character.isdigit() for character in refused["sentence"] + refused["remedy"])
    assert np.array_equal(own.shadow, before[0])
    assert (own.published.rank, own.published.cells) == before[1:]
    assert "answer" in ask(vault, [{"name": "sector"}])
    vault.close()


def test_what_could_not_be_written_was_not_published(tmp_path, monkeypatch):
    vault = Vault(served(tmp_path, ROWS[:80], more=TWO_STAGE))
    own = vault._datasets["firms"].engine.measured[1]
    shadow = own.shadow.copy()

    def full(*_):
        raise ResourceError("the disk is full; free space")

    monkeypatch.setattr(vault._ledger, "publish", full)
    assert "error" in ask(vault, [{"name": "size"}], "count")
    monkeypatch.undo()
    assert own.published.rank == own.published.cells == 0
    assert np.array_equal(own.shadow, shadow)
    assert "answer" in ask(vault, [{"name": "size"}], "count")
    assert verify_ledger(tmp_path / "ledger.sqlite").ok
    vault.close()


def test_answers_that_this_server_did_not_give_stop_it(tmp_path):
    one = Vault(served(tmp_path, ROWS[:60], more=TWO_STAGE))
    other = Vault(ServerConfig.read(tmp_path / "server.toml"))
    assert "answer" in ask(one, [{"name": "size"}])
    assert "answer" in ask(other, [{"name": "size"}])  # all of it stands in the ledger
    assert ask(other, [{"name": "size"}, {"name": "region", "level": 1}])["refusal"]["code"] == "inconsistent"
    one.close()
    other.close()


@pytest.mark.parametrize("seed", range(4))
def test_elimination_agrees_with_fractions(seed):
    rng = np.random.default_rng(seed)
    sets = [np.flatnonzero(rng.random(14) < 0.4) for _ in range(18)]
    sets = [own for own in sets if len(own)]
    rows, exact = Elimination(14), Fractions()
    fresh = [k for k, own in enumerate(sets) if exact.add(dict.fromkeys(own.tolist(), 1), 0)]
    assert rows.take(sets[:5]) + [5 + k for k in rows.take(sets[5:])] == fresh
    assert rows.rank == len(fresh)
    rows.back(3)
    few = Fractions()
    for k in fresh[:3]:
        few.add(dict.fromkeys(sets[k].tolist(), 1), 0)
    asked = sparse.csr_array(rng.integers(0, 2, (200, 14)))
    every = sparse.vstack(
        [asked, sparse.csr_array(np.array([[k in own for k in range(14)] for own in sets], int))], format="csr"
    )
    told = nothing(every, rows.fingerprint(np.random.default_rng()))
    assert told.tolist() == [
        few.value(dict.fromkeys(row.nonzero()[0].tolist(), 1)) is not None for row in every.toarray()
    ]


def test_what_is_sealed_is_read_with_the_key_alone():
    key, text = secrets.token_bytes(32), b"moved by 17" * 40
    sealed = seal(key, text)
    assert opened(key, sealed) == text
    assert seal(key, text) != sealed
    assert text[:11] not in sealed
    for wrong in (sealed[:-1], sealed[:20] + bytes([sealed[20] ^ 1]) + sealed[21:], b""):
        with pytest.raises(InputError, match="was not sealed with this key"):
            opened(key, wrong)
    with pytest.raises(InputError):
        opened(secrets.token_bytes(32), sealed)
