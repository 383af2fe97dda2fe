"""The ledger: one value a cell, a chain that shows every change, nothing lost when the process or the disk fails."""

import datetime as dt
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap

import pytest

from cellward.cli import main
from cellward.errors import InputError, ResourceError
from cellward.server.ledger.ledger import Answer, Asked, ConflictError, Ledger, UsedOnceError
from cellward.server.ledger.verify import verify_ledger


def publish(ledger, k, *, values=(5, 6), who="ann", once=None, identities=None):
    """An answer of two cells, one of them its own."""
    identities = identities or (k + 1, 2**127 + 1)
    asked = Asked(who, "firms", f'{{"k":{k}}}', once)
    return ledger.publish(
        asked, Answer(f"id{k}", "firms", f"r{k}", {"values": list(values)}), "turnover", identities, values
    )


@pytest.fixture
def ledger(tmp_path):
    own = Ledger(tmp_path / "l.sqlite")
    yield own
    own.close()


def test_a_cell_has_one_value_for_ever(ledger):
    assert publish(ledger, 1) is False
    assert publish(ledger, 2) is False
    assert publish(ledger, 1) is True
    with pytest.raises(ConflictError):
        publish(ledger, 3, values=(5, 7))
    with pytest.raises(ConflictError):
        publish(ledger, 4, identities=(9, 9), values=(1, 2))
    assert ledger.known("firms", "turnover", [2, 2**127 + 1, 77]) == {2: 5, 2**127 + 1: 6}
    assert ledger.known("others", "turnover", [2]) == ledger.known("firms", "count", [2]) == {}
    assert ledger.counts() == {"answer": 2, "cell": 3, "entry": 3}


def test_what_was_refused_leaves_nothing_but_its_entry(ledger):
    publish(ledger, 1)
    ledger.refuse(Asked("bob", "firms", "{}", "k"), "withheld")
    assert ledger.counts() == {"answer": 1, "cell": 2, "entry": 2}
    assert ledger.entries()[0]["said"] == "withheld"
    assert [one["who"] for one in ledger.entries(kind="answer")] == ["ann"]
    assert verify_ledger(ledger.path)


def test_an_idempotency_key_stands_for_one_request_of_one_analyst(ledger):
    publish(ledger, 1, once="a")
    assert ledger.again(Asked("ann", "firms", '{"k":1}', "a")).body == {"values": [5, 6]}
    assert ledger.again(Asked("bob", "firms", '{"k":1}', "a")) is None
    with pytest.raises(UsedOnceError):
        ledger.again(Asked("ann", "firms", '{"k":2}', "a"))
    with pytest.raises(UsedOnceError):
        publish(ledger, 2, once="a")
    assert ledger.counts()["entry"] == 1


CHANGES = [
    ("UPDATE cell SET value = value + 1 WHERE rowid_of = 1", "cell published with it, was changed"),
    ("UPDATE entry SET who = 'eve' WHERE seq = 2", "Entry 2 was changed"),
    ("UPDATE entry SET at = '2000' WHERE seq = 1", "Entry 1 was changed"),
    ("UPDATE entry SET digest = x'00' WHERE seq = 3", "Entry 3 was changed"),
    ("DELETE FROM entry WHERE seq = 2", "Entry 2 is missing"),
    ("DELETE FROM answer WHERE id = 'id2'", "answer of entry 2 is missing"),
    ("UPDATE answer SET body = x'00' WHERE id = 'id2'", "was changed"),
    ("UPDATE answer SET request = 'other' WHERE id = 'id2'", "was changed"),
    ("DELETE FROM cell WHERE seq = 2", "was changed"),
    ("INSERT INTO cell VALUES ('firms', 'turnover', x'07', 1, 9)", "belong to no entry"),
    ("INSERT INTO answer VALUES ('id9', 'firms', 'r', x'00', 9)", "belong to no entry"),
]


@pytest.mark.parametrize(("change", "said"), CHANGES)
def test_every_change_is_seen(ledger, change, said):
    for k in range(1, 5):
        publish(ledger, k)
    assert verify_ledger(ledger.path)
    with sqlite3.connect(ledger.path) as database:
        database.execute(change.replace("rowid_of", "seq"))
    found = verify_ledger(ledger.path)
    assert not found
    assert said in found.sentence


def test_a_damaged_file_does_not_hold(ledger):
    for k in range(200):
        publish(ledger, k)
    ledger.close()
    data = bytearray(ledger.path.read_bytes())
    for at in range(len(data) // 2, len(data) // 2 + 3000):
        data[at] ^= 0x5A
    ledger.path.write_bytes(bytes(data))
    assert not verify_ledger(ledger.path)


def test_a_file_that_is_no_ledger_is_refused_in_one_sentence(tmp_path):
    file = tmp_path / "x.sqlite"
    file.write_bytes(b"not a database" * 100)
    with pytest.raises(InputError, match="cannot be opened"):
        Ledger(file)
    with sqlite3.connect(tmp_path / "y.sqlite") as database:
        database.execute("CREATE TABLE mine (a)")
    with pytest.raises(InputError, match="no ledger of schema"):
        Ledger(tmp_path / "y.sqlite")
    with pytest.raises(InputError, match="no such ledger"):
        verify_ledger(tmp_path / "z.sqlite")


def test_a_clock_that_goes_back_publishes_nothing(tmp_path):
    now = [dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)]
    ledger = Ledger(tmp_path / "l.sqlite", now=lambda: now[0])
    publish(ledger, 1)
    now[0] -= dt.timedelta(seconds=20)
    publish(ledger, 2)
    assert ledger.entries()[0]["at"] == ledger.entries()[1]["at"]
    now[0] -= dt.timedelta(hours=2)
    with pytest.raises(ResourceError, match="clock of this machine stands 120 minutes before"):
        publish(ledger, 3)
    assert ledger.counts() == {"answer": 2, "cell": 3, "entry": 2}
    ledger.close()


def test_a_full_disk_publishes_nothing_and_loses_nothing(ledger):
    publish(ledger, 1)
    pages = ledger._database.execute("PRAGMA page_count").fetchone()[0]
    ledger._database.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ResourceError, match="disk is full"):
        ledger.publish(
            Asked("ann", "firms", "{}"),
            Answer("big", "firms", "r", {"v": list(range(40_000))}),
            "turnover",
            range(100, 2100),
            range(2000),
        )
    assert ledger.answer("big") is None
    ledger._database.execute("PRAGMA max_page_count = 100000")
    publish(ledger, 2)
    assert verify_ledger(ledger.path).rows == 2


def test_a_copy_made_while_others_write_is_whole(ledger, tmp_path):
    publish(ledger, 1)
    reader = Ledger(ledger.path, readonly=True)
    publish(ledger, 2)
    reader.copy(tmp_path / "copy.sqlite")
    publish(ledger, 3)
    assert verify_ledger(tmp_path / "copy.sqlite").rows == 2
    assert (tmp_path / "copy.sqlite").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="exists already"):
        reader.copy(tmp_path / "copy.sqlite")
    with pytest.raises(InputError, match="cannot be written"):
        publish(reader, 4)


def test_no_acknowledged_answer_is_lost_when_the_process_is_killed(tmp_path):
    """A writer says which answers it kept, and is killed in the middle of its work, again and again."""
    code = textwrap.dedent(
        """
        import sys
        from cellward.server.ledger.ledger import Answer, Asked, Ledger
        ledger = Ledger(sys.argv[1])
        k = ledger.counts()["answer"]
        while True:
            k += 1
            ledger.publish(Asked("ann", "d", "{}"), Answer(f"id{k}", "d", "r", {"k": k}), "m", (k, 2**100 + k), (k, -k))
            sys.stdout.write(f"{k}\\n")
            sys.stdout.flush()
        """
    )
    told, file = 0, tmp_path / "l.sqlite"
    for round_ in range(3):
        child = subprocess.Popen([sys.executable, "-c", code, str(file)], stdout=subprocess.PIPE, text=True)
        for _ in range(3 + 15 * round_):
            told = int(child.stdout.readline())
        os.kill(child.pid, signal.SIGKILL)
        rest, _ = child.communicate()
        told = max([told, *(int(line) for line in rest.split("\n")[:-1])])
        found = verify_ledger(file)
        assert found.ok
        assert found.rows >= told
    ledger = Ledger(file)
    assert all(ledger.answer(f"id{k}").body == {"k": k} for k in range(1, told + 1))
    assert ledger.known("d", "m", range(1, told + 1)) == {k: k for k in range(1, told + 1)}
    ledger.close()


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["cellward", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code, capsys.readouterr()


def test_the_command_verifies_shows_and_exports(ledger, tmp_path, monkeypatch, capsys):
    for k in range(1, 4):
        publish(ledger, k, who=f"a{k}")
    code, said = run(monkeypatch, capsys, "ledger", "verify", ledger.path)
    assert code == 0
    assert "chain of 3 entries holds" in said.out
    assert "a2" in run(monkeypatch, capsys, "ledger", "show", ledger.path, "--limit", 2)[1].out
    assert run(monkeypatch, capsys, "ledger", "export", ledger.path, tmp_path / "t.csv")[0] == 0
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 4
    assert run(monkeypatch, capsys, "ledger", "export", ledger.path, tmp_path / "c.sqlite")[0] == 0
    assert verify_ledger(tmp_path / "c.sqlite")
    assert run(monkeypatch, capsys, "ledger", "export", ledger.path, tmp_path / "t.txt")[0] == 2
    assert run(monkeypatch, capsys, "ledger", "verify", tmp_path / "none.sqlite")[0] == 2
    with sqlite3.connect(ledger.path) as database:
        database.execute("UPDATE cell SET value = 0 WHERE seq = 1")
    assert run(monkeypatch, capsys, "ledger", "verify", ledger.path)[0] == 1
