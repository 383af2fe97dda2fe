"""The vault: one value a cell however it is asked for, answers that add up, bad requests in one sentence."""

import itertools
import json
import shutil
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served_records import REGIONS, SECTORS, SIZES, rows_of, served, write_hrc, write_rows

from cellward.errors import InputError
from cellward.key import read_key
from cellward.server.config import ServerConfig, config_text
from cellward.server.vault.records import Records
from cellward.server.vault.vault import Vault

ROWS = rows_of(400, 1)
BOTTOM = {
    "region": [code for own in REGIONS.values() for code in own],
    "sector": [code for own in SECTORS.values() for code in own],
    "size": SIZES,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def vault(folder):
    own = Vault(served(folder, ROWS))
    yield own
    own.close()


def ask(vault, dimensions, measure="turnover", where=None, key=None, who="ann", dataset="firms"):
    request = {"dimensions": dimensions, "measure": measure, "where": where or {}}
    return vault.handle({"id": 7, "call": "ask", "dataset": dataset, "request": request, "who": who, "key": key})


def values(said):
    """Value by codes, with the columns in alphabetical order."""
    answer = said["answer"]
    order = np.argsort(answer["columns"][:-1])
    return {tuple(row[k] for k in order): Decimal(row[-1]) for row in answer["rows"]}


def dims(**levels):
    return [{"name": name, "level": level} for name, level in levels.items()]


def test_every_table_is_a_sum_of_the_finest(vault):
    finest = values(ask(vault, dims(region=2, sector=2, size=1)))
    for levels in itertools.product((0, 1, 2), (0, 1, 2), (0, 1)):
        names = ("region", "sector", "size")
        found = values(ask(vault, dims(**dict(zip(names, levels, strict=True)))))
        for codes, value in found.items():
            below = [
                [own for own in BOTTOM[name] if code in ("Total", own) or own in {**REGIONS, **SECTORS}.get(code, ())]
                for name, code in zip(names, codes, strict=True)
            ]
            assert value == sum(finest[own] for own in itertools.product(*below))


def test_counts_are_whole_and_add_up(vault):
    found = values(ask(vault, dims(region=1, size=1), "count"))
    assert found["Total", "Total"] == 400
    assert found["North", "Total"] + found["South", "Total"] == 400
    assert all(value >= 0 and value == int(value) for value in found.values())


def test_a_condition_in_other_words_gives_the_same_cells(vault):
    plain = values(ask(vault, dims(sector=1), where={"region": ["North"]}))
    parts = values(ask(vault, dims(sector=1), where={"region": ["N3", "N1", "N2", "N1"]}))
    dummy = values(ask(vault, dims(sector=1), where={"region": "North", "size": SIZES, "sector": ["Total"]}))
    crossed = values(ask(vault, dims(region=1, sector=1)))
    assert plain == parts == dummy == {(sector,): crossed["North", sector] for (sector,) in plain}


def test_all_wordings_of_a_request_are_one_answer(vault):
    one = ask(vault, dims(region=2, size=1))["answer"]
    other = ask(vault, [{"name": "size"}, "region"], where={"sector": ["A", "B", "C"]}, who="bob")["answer"]
    assert one["id"] == other["id"]
    assert other["from_ledger"]
    assert values({"answer": one}) == values({"answer": other})
    assert other["columns"] == ["size", "region", "turnover"]


def test_the_same_respondents_are_the_same_cell_after_relabelling_and_restart(tmp_path, folder, vault):
    """Codes get other names, records another order: published values come back, found by identity alone."""
    before = values(ask(vault, dims(region=2, sector=2, size=1)))
    for file in folder.iterdir():
        shutil.copy(file, tmp_path / file.name)
    shuffled = [ROWS[k] for k in np.random.default_rng(0).permutation(len(ROWS))]
    renamed = [(*row[:3], f"x{row[3]}", row[4], row[5].upper(), row[6]) for row in shuffled]
    write_rows(tmp_path / "records.csv", renamed)
    write_hrc(tmp_path / "region.hrc", {f"x{top}": [f"x{code}" for code in own] for top, own in REGIONS.items()})
    config = ServerConfig.read(tmp_path / "server.toml")
    assert b"ledger" not in (tmp_path / "records.csv").read_bytes()
    again = Vault(config)
    said = ask(again, dims(region=2, sector=2, size=1))
    again.close()
    assert said["answer"]["from_ledger"]
    old = {(code.removeprefix("x"), sector, size.lower()): v for (code, sector, size), v in values(said).items()}
    assert old == {(code, sector, size.lower()): v for (code, sector, size), v in before.items()}


def test_another_twin_may_not_contradict_the_ledger(tmp_path, folder, vault):
    ask(vault, dims(region=2))
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "key.txt").unlink()
    (tmp_path / "copy" / "firms.twin.npz").unlink()
    other = Vault(served(tmp_path / "copy", ROWS))  # another key, another twin, the old ledger
    said = ask(other, dims(region=2))
    assert "answer" in said or said["refusal"]["code"] == "inconsistent"
    assert other.handle({"id": 1, "call": "ledger_verify"})["ok"]
    other.close()


def test_new_records_join_without_moving_what_was_published(tmp_path):
    first = Vault(served(tmp_path, ROWS))
    before = {name: values(ask(first, dims(region=2, sector=2, size=1), name)) for name in ("turnover", "count")}
    first.close()
    fresh = rows_of(30, 5, first=400)
    second = Vault(served(tmp_path, [*fresh[:10], *ROWS, *fresh[10:]]))
    touched = {tuple(row[3:6]) for row in fresh}
    for name, old in before.items():
        new = values(ask(second, dims(region=2, sector=2, size=1), name))
        bottom = [codes for codes in old if "Total" not in codes]
        assert {codes: new[codes] for codes in bottom if codes not in touched} == {
            codes: old[codes] for codes in bottom if codes not in touched
        }
        assert any(new[codes] != old[codes] for codes in touched)
        assert new["Total", "Total", "Total"] == sum(new[codes] for codes in bottom)
    assert second.handle({"id": 1, "call": "ledger_verify"})["ok"]
    second.close()


def test_what_was_published_with_other_rules_is_not_served_with_these(tmp_path):
    Vault(served(tmp_path, ROWS[:60])).close()
    with pytest.raises(InputError, match="built for other rules"):
        Vault(served(tmp_path, ROWS[:60], more='rules = ["PPercent(20)"]'))


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"dimensions": ["nowhere"]}, "dimension"),
        ({"dimensions": [{"name": "region", "level": 3}]}, "level"),
        ({"dimensions": [{"name": "region", "level": True}]}, "level"),
        ({"dimensions": ["region", "region"]}, "dimensions"),
        ({"dimensions": "region"}, "dimensions"),
        ({"measure": "salary"}, "measure"),
        ({"measure": ["turnover"]}, "measure"),
        ({"where": {"region": ["N9'; DROP TABLE parts; --"]}}, "code"),
        ({"where": {"region": []}}, "where"),
        ({"where": {"planet": ["x"]}}, "dimension"),
        ({"where": [1]}, "where"),
        ({"having": 1}, "request"),
        (None, "request"),
        ("region", "request"),
    ],
)
def test_a_bad_request_is_one_sentence_with_a_remedy(vault, said, code):
    got = vault.handle({"id": 3, "call": "ask", "dataset": "firms", "request": said, "who": "ann"})
    assert got["id"] == 3
    assert got["error"]["code"] == code
    assert got["error"]["sentence"]
    assert got["error"]["remedy"]


def test_limits_hold_before_anything_is_added_up(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    file = tmp_path / "copy" / "server.toml"
    file.write_text("[limits]\nmax_cells = 20\nmax_dimensions = 2\nmax_codes = 2\n" + file.read_text())
    small = Vault(ServerConfig.read(file))
    for dimensions, where in (
        (dims(region=2, sector=2), {}),
        (dims(region=0, sector=0, size=0), {}),
        ([], {"sector": ["A1", "A2", "B1"]}),
    ):
        assert ask(small, dimensions, where=where)["error"]["code"] == "too_large"
    assert "answer" in ask(small, dims(region=1, sector=1))
    small.close()


@pytest.mark.parametrize(
    "call", [{}, {"call": "drop"}, {"call": ["ask"]}, {"call": "ask"}, {"call": "codes", "dataset": "firms"}, 3, None]
)
def test_a_bad_call_is_an_error(vault, call):
    assert "error" in vault.handle(call)


def test_an_idempotency_key_gives_the_same_answer_and_no_other(vault):
    one = ask(vault, dims(size=1), key="k1", who="kay")
    before = vault.handle({"call": "answers", "who": "kay"})["answers"]
    two = ask(vault, dims(size=1), key="k1", who="kay")
    assert one["answer"]["rows"] == two["answer"]["rows"]
    assert two["answer"]["from_ledger"]
    assert vault.handle({"call": "answers", "who": "kay"})["answers"] == before
    assert ask(vault, dims(region=1), key="k1", who="kay")["error"]["code"] == "idempotency_key"
    assert "answer" in ask(vault, dims(region=1), key="k1", who="lou")


def test_an_answer_is_found_again_by_its_name(vault):
    answer = ask(vault, dims(region=1))["answer"]
    again = vault.handle({"id": 1, "call": "table", "answer": answer["id"]})["answer"]
    assert again["rows"] == answer["rows"]
    assert vault.handle({"id": 1, "call": "table", "answer": "0" * 32})["error"]["code"] == "answer"


def test_codes_come_in_pages_and_by_level(vault):
    every = vault.handle({"call": "codes", "dataset": "firms", "dimension": "sector"})
    assert every["total"] == len(every["codes"]) == 11
    page = vault.handle(
        {"call": "codes", "dataset": "firms", "dimension": "sector", "level": 2, "offset": 2, "limit": 3}
    )
    assert [one["code"] for one in page["codes"]] == ["B1", "B2", "B3"]
    assert page["total"] == 7
    assert {one["parent"] for one in page["codes"]} == {"B"}


def test_racing_clients_get_one_value_a_cell(vault):
    said = {}

    def race(k):
        rng = np.random.default_rng(k)
        for _ in range(10):
            region, sector, size = (int(rng.integers(0, most)) for most in (3, 3, 2))
            for codes, value in values(ask(vault, dims(region=region, sector=sector, size=size), who=f"w{k}")).items():
                said.setdefault(codes, set()).add(value)

    threads = [threading.Thread(target=race, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(own) == 1 for own in said.values())
    assert vault.handle({"call": "ledger_verify"})["ok"]


def test_nothing_confidential_is_public(vault):
    """No contributor, record or holding in anything that leaves, and no true value of a cell of one firm."""
    said = json.dumps([vault.handle({"call": "datasets"}), ask(vault, dims(region=2, sector=2, size=1))])
    assert not any(row[0] in said or row[1] in said for row in ROWS)
    assert '"records": 400' in said


def test_the_process_serves_over_its_socket_and_ends(tmp_path, folder):
    shutil.copytree(folder, tmp_path / "copy")
    name = tmp_path / "s"
    command = [sys.executable, "-m", "cellward.server.vault", str(tmp_path / "copy" / "server.toml"), str(name)]
    child = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        line = socket.socket(socket.AF_UNIX)
        for _ in range(600):
            if child.poll() is not None or name.exists():
                break
            threading.Event().wait(0.05)
        line.settimeout(30)
        for _ in range(100):
            try:
                line.connect(str(name))
                break
            except (ConnectionRefusedError, FileNotFoundError):
                threading.Event().wait(0.05)
        with line, line.makefile("rwb") as file:
            for sent, wanted in (
                (b'{"id": 1, "call": "health"}', "ok"),
                (b"{", "error"),
                (b'{"id": 2, "call": "datasets"}', "datasets"),
            ):
                file.write(sent + b"\n")
                file.flush()
                assert wanted in json.loads(file.readline())
        assert name.stat().st_mode & 0o077 == 0
    finally:
        child.terminate()
        said = child.communicate(timeout=30)[1]
    assert child.returncode == 0, said
    assert not name.exists()


def test_the_vaults_process_says_in_one_sentence_why_it_cannot_begin(tmp_path):
    (tmp_path / "server.toml").write_text("[server]\nkey = 1\n")
    command = [sys.executable, "-m", "cellward.server.vault", str(tmp_path / "server.toml"), str(tmp_path / "s")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "'key' is not known" in done.stderr


def test_a_configuration_is_written_for_one_file(tmp_path):
    served(tmp_path, ROWS[:50])
    text = config_text(
        "records.csv",
        dimensions=["region", "size"],
        measures=["turnover"],
        hierarchies={"region": "region.hrc"},
        contributor="firm",
    )
    (tmp_path / "one.toml").write_text(text)
    own = Vault(ServerConfig.read(tmp_path / "one.toml"))
    assert "answer" in ask(own, dims(region=1), dataset="records")
    own.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('name = "firms"', 'name = "a b"'), "use up to 64 letters"),
        (('contributor = "firm"', 'contributer = "firm"'), "'contributer' is not known"),
        (('file = "records.csv"', 'file = "../records.csv"'), "outside the folder"),
        (('engine = "twin"', 'engine = "twins"'), "engine='twins' is not known"),
        (('"size"]', '"size", "size"]'), "given twice"),
        (('name = "turnover"', 'name = "count"'), "number of records"),
        (("depth = 2", "depth = 9"), "depth=9"),
        (("depth = 2", "start = 3"), "start=3"),
        (("depth = 2", 'headline = "planet"'), "none of its dimensions"),
        (("depth = 2", "missing = 1"), "missing = 1"),
    ],
)
def test_a_wrong_configuration_is_refused_where_it_is_wrong(tmp_path, change, said):
    served(tmp_path, ROWS[:5], more='engine = "twin"\ndepth = 2')
    file = tmp_path / "server.toml"
    assert change[0] in file.read_text()
    file.write_text(file.read_text().replace(*change))
    with pytest.raises(InputError, match=said):
        ServerConfig.read(file)


def test_records_of_the_same_name_are_refused(tmp_path):
    with pytest.raises(InputError, match="two records have the same id"):
        Vault(served(tmp_path, [*ROWS[:5], ROWS[0]]))


def test_a_code_that_no_hierarchy_knows_is_refused_with_its_place(tmp_path):
    with pytest.raises(InputError, match="record 2, column region"):
        Vault(served(tmp_path, [ROWS[0], (*ROWS[1][:3], "Mars", *ROWS[1][4:])]))


def test_records_of_nobody_are_units_of_their_own(tmp_path):
    """Without a contributor's name a record is a unit by itself, and two spellings of a name are one."""
    names = ["Acme", " ACME ", "", "", "Acme"]
    rows = [(f"R{k}", name, "", "N1", "A1", "small", "10.0") for k, name in enumerate(names)]
    config = served(tmp_path, rows)
    records = Records.read(config.datasets[0], read_key(config.key_file))
    assert records.unit[0] == records.unit[1] == records.unit[4]
    assert len(set(records.unit.tolist())) == 3
    nobody = ServerConfig.read(tmp_path / "server.toml")
    without = replace(nobody.datasets[0], contributor=None, holding=None)
    assert len(set(Records.read(without, read_key(config.key_file)).unit.tolist())) == 5


def test_a_table_of_which_nothing_is_at_risk_is_published_as_it_is(tmp_path):
    rows = [(f"R{k}", f"F{k}", "", "N1", f"{'ABC'[k % 3]}1", "small", "10.0") for k in range(30)]
    own = Vault(served(tmp_path, rows))
    assert values(ask(own, dims(sector=1))) == {("A",): 100, ("B",): 100, ("C",): 100, ("Total",): 300}
    assert values(ask(own, dims(sector=1), "count")) == {("A",): 10, ("B",): 10, ("C",): 10, ("Total",): 30}
    own.close()


WORDS = [
    "id",
    "call",
    "dataset",
    "request",
    "who",
    "key",
    "dimensions",
    "measure",
    "where",
    "name",
    "level",
    "offset",
    "limit",
    "region",
]


def _shapes():
    leaf = st.none() | st.booleans() | st.integers(-3, 2**70) | st.text(max_size=8) | st.floats()
    leaf |= st.sampled_from(["region", "N1", "turnover", "ask", "firms", "size"])
    names = st.text(max_size=6) | st.sampled_from(WORDS)
    return st.recursive(
        leaf,
        lambda own: st.lists(own, max_size=3) | st.dictionaries(names, own, max_size=5),
        max_leaves=12,
    )


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(_shapes(), st.sampled_from(["ask", "codes", "table", "answers", "health", "datasets"]))
def test_whatever_is_sent_gets_one_of_the_shapes_and_can_be_written(vault, thing, call):
    sent = [thing, {"call": call, "dataset": "firms", "dimension": "region", "who": "ann", "request": thing}]
    sent += (
        [{"dataset": "firms", "who": "ann", "dimension": "region", **thing, "call": call}]
        if isinstance(thing, dict)
        else []
    )
    for request in sent:
        said = vault.handle(request)
        json.dumps(said)
        if "error" in said:
            assert set(said["error"]) == {"code", "sentence", "remedy"}
            assert said["error"]["code"] != "failed"
