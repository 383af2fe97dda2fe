"""Parts of the front, each for itself: forms, sizes, limits, tokens, metrics, and what the vault may say."""

import sqlite3
import stat
import subprocess
import sys

import pytest

from cellward.cli.token import seconds_until
from cellward.errors import InputError
from cellward.server.front.answer import Answer
from cellward.server.front.fault import Fault, told_by_the_vault
from cellward.server.front.metrics import Metrics
from cellward.server.front.people import Limits, People
from cellward.server.front.rights import Buckets
from cellward.server.front.sizes import Codes
from cellward.server.front.twins import CSV, FORMS, JSON, PARQUET, SDMX_CSV, wanted, without_ending
from cellward.server.front.writers import TABLE_FORMS, write_answer

ANSWER = {"id": "a1", "dataset": "d", "columns": ["r", "n"], "rows": [["N", "1.50"], ["S", "-2.00"]], "decimals": 2, "engine": "twin",
          "statement": "s", "from_ledger": False}  # fmt: skip


@pytest.mark.parametrize("accept, form", [
    ("", JSON), ("*/*", JSON), ("text/csv", CSV), ("text/*", CSV), ("application/*;q=0.5, text/csv;q=0.4", JSON),
    ("application/json;q=0, */*", SDMX_CSV), ("text/html, application/xhtml+xml, */*;q=0.8", JSON), ("TEXT/CSV ; q=1.0", CSV),
    ("application/x-parquet", PARQUET), ("application/vnd.sdmx.data+csv;version=1.0.0", SDMX_CSV), ("application/json;q=x, text/csv;q=0.1", CSV),
])  # fmt: skip
def test_accept_chooses_the_form_it_likes_best(accept, form):
    assert wanted(None, accept, FORMS) is form


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "image/*", ";;;", "*/*;q=0"])
def test_forms_that_are_not_there(accept):
    with pytest.raises(Fault) as fault:
        wanted(None, accept, (JSON, CSV))
    assert fault.value.status == 406
    with pytest.raises(Fault):
        wanted(SDMX_CSV, "*/*", (JSON, CSV))


def test_endings():
    assert without_ending("/v1/tables/a.sdmx.csv") == ("/v1/tables/a", SDMX_CSV)
    assert without_ending("/v1/tables/a.csv.csv") == ("/v1/tables/a.csv", CSV)
    assert without_ending("/v1/.csv") == ("/v1/.csv", None)
    assert without_ending("/v1/firms.2020") == ("/v1/firms.2020", None)


def test_sizes_count_what_conditions_leave_and_the_total():
    codes = Codes(
        level={"T": 0, "N": 1, "S": 1, "N1": 2, "N2": 2, "S1": 2, "S2": 2},
        parent={"T": None, "N": "T", "S": "T", "N1": "N", "N2": "N", "S1": "S", "S2": "S"},
    )
    assert [codes.shown(level, None) for level in (0, 1, 2)] == [1, 3, 5]
    assert [codes.shown(2, only) for only in (["N"], ["N1"], ["N1", "S"], ["T"], ["none"])] == [3, 2, 4, 5, 1]
    assert [codes.shown(1, only) for only in (["N1"], ["N1", "S2"], ["N", "N1"])] == [2, 3, 2]
    assert codes.shown(0, ["N1"]) == 1
    assert Codes({"a": 0, "b": 1}, {"a": "b", "b": "a"}).shown(1, ["a"]) == 2  # a circle ends


def test_buckets_fill_again_little_by_little():
    now = [0.0]
    buckets = Buckets(clock=lambda: now[0])
    assert [buckets.take("a", 3, 60.0) for _ in range(4)] == [0, 0, 0, 20.0]
    assert buckets.take("b", 3, 60.0) == 0
    now[0] = 19.0
    assert buckets.take("a", 3, 60.0) == pytest.approx(1.0)
    now[0] = 20.1
    assert buckets.take("a", 3, 60.0) == 0
    now[0] = 1e6
    assert [buckets.take("a", 3, 60.0) > 0 for _ in range(4)] == [False, False, False, True]


@pytest.fixture
def people(tmp_path):
    made = People(tmp_path / "people.sqlite")
    yield made
    made.close()


def test_tokens_are_stored_as_hashes_alone(people):
    token = people.add("rita", "reader", 60)
    held = b"".join(file.read_bytes() for file in people.path.parent.iterdir())
    assert token.encode() not in held
    assert token[20:].encode() not in held
    assert stat.S_IMODE(people.path.stat().st_mode) == 0o600
    assert people.remembered(token) is None
    assert people.recognise(token).name == "rita"
    assert people.remembered(token).role == "reader"


def test_only_the_whole_token_is_recognised(people):
    one, two = people.add("rita", "reader", 60), people.add("ada", "admin", 60)
    for wrong in (
        one[:-1],
        one + "x",
        one[:-1] + ("A" if one[-1] != "A" else "B"),
        one[:20] + two[20:],
        "",
        one.upper(),
        f"{one}\n",
    ):
        assert people.recognise(wrong) is None
        assert people.remembered(wrong) is None


def test_a_name_has_one_token_at_a_time(people):
    first = people.add("rita", "reader", 60)
    with pytest.raises(InputError, match="rita: has a token already; take it back first"):
        people.add("rita", "admin", 60)
    people.revoke("rita")
    second = people.add("rita", "reviewer", 60)
    assert people.recognise(first).revoked is not None
    assert people.recognise(second).role == "reviewer"
    assert [(person.name, person.revoked is None) for person in people.listed()] == [("rita", False), ("rita", True)]
    with pytest.raises(InputError, match="ron: has no token"):
        people.revoke("ron")


def test_an_expired_token_makes_room(people):
    people.add("rita", "reader", -1)
    assert people.recognise(people.add("rita", "reader", 60)).revoked is None


@pytest.mark.parametrize("name", ["", " rita", "a" * 65, "rita\n", "ri/ta", "ríta", "{}"])
def test_names_that_are_none(name, people):
    with pytest.raises(InputError, match="choose such a name"):
        people.add(name, "reader", 60)


def test_roles_limits_and_files_that_are_none(people, tmp_path):
    with pytest.raises(InputError, match="take one of reader, reviewer, admin"):
        people.add("rita", "root", 60)
    with pytest.raises(InputError, match="each must be at least 1"):
        Limits(per_minute=0)
    other = tmp_path / "other"
    other.write_text("no base at all, but long enough to be looked at by SQLite" * 40)
    other.chmod(0o600)
    with pytest.raises(InputError, match="cannot be used as the file of tokens"):
        People(other)
    people.path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        People(people.path)
    newer = tmp_path / "newer"
    with sqlite3.connect(newer) as base:
        base.execute("PRAGMA user_version = 99")
    base.close()
    newer.chmod(0o600)
    with pytest.raises(InputError, match="use a newer cellward"):
        People(newer)


def test_cells_of_a_day_add_up_and_yesterdays_are_forgotten(people):
    for cells in (3, 4):
        people.spend("rita", 7, cells)
    people.spend("ron", 7, 1)
    assert (people.spent("rita", 7), people.spent("rita", 8), people.spent("ron", 7)) == (7, 0, 1)
    people.spend("rita", 8, 2)
    assert (people.spent("rita", 7), people.spent("rita", 8)) == (0, 2)


@pytest.mark.parametrize("change", [
    {"rows": [["N"]]}, {"rows": [["N", 1.5]]}, {"rows": [["N", "1e5"]]}, {"rows": [["N", "nan"]]}, {"rows": [[1, "1"]]}, {"rows": None},
    {"columns": []},
    {"id": "a/b"}, {"id": 3}, {"decimals": "2"}, {"columns": 3}, {"statement": None},
])  # fmt: skip
def test_answers_in_no_order_are_not_passed_on(change):
    with pytest.raises(Fault) as fault:
        Answer.read(ANSWER | change)
    assert (fault.value.status, fault.value.code) == (500, "internal")


@pytest.mark.parametrize("form", TABLE_FORMS, ids=lambda form: form.name)
def test_each_form_is_the_same_bytes_each_time_and_keeps_the_digits(form):
    body = write_answer(Answer.read(ANSWER), form)
    assert body == write_answer(Answer.read(ANSWER), form)
    assert form is PARQUET or (b"1.50" in body and b"-2.00" in body)


def test_names_that_a_form_needs_itself_stay_apart():
    answer = Answer.read(ANSWER | {"columns": ["measure", "n"]})
    assert b'"id":["measure","measure_"]' in write_answer(answer, TABLE_FORMS[3])
    answer = Answer.read(ANSWER | {"columns": ["MEASURE", "n"], "dataset": "a b"})
    assert write_answer(answer, SDMX_CSV).startswith(
        b"DATAFLOW,MEASURE,MEASURE_,OBS_VALUE\r\nCELLWARD:a_b(1.0),N,n,1.50\r\n"
    )


def test_what_the_vault_complains_of_has_the_right_status():
    said = {"sentence": "a\nb", "remedy": "c"}
    assert told_by_the_vault(said | {"code": "dataset"}).status == 404
    assert told_by_the_vault(said | {"code": "resources"}).headers == {"Retry-After": "2"}
    assert told_by_the_vault(said | {"code": "too_large"}).status == 422
    assert told_by_the_vault(said | {"code": "union"}, refusal=True).status == 409
    assert "\n" not in told_by_the_vault(said | {"code": "union"}).sentence
    for broken in (None, 3, {}, said, said | {"code": "A B"}, {"code": "x", "sentence": 3, "remedy": "c"}):
        assert told_by_the_vault(broken).code == "internal"


def test_metrics_in_the_words_of_prometheus():
    metrics = Metrics()
    for seconds in (0.001, 0.03, 99.0):
        metrics.time("/a", seconds)
    metrics.add("cellward_requests_total", 1234567, route="/a", method="GET", status="200")
    text = metrics.text()
    assert 'cellward_requests_total{method="GET",route="/a",status="200"} 1234567\n' in text
    assert 'cellward_request_seconds_bucket{le="0.05",route="/a"} 2\n' in text
    assert 'cellward_request_seconds_bucket{le="+Inf",route="/a"} 3\n' in text
    assert 'cellward_request_seconds_count{route="/a"} 3\n' in text
    for k in range(5000):
        metrics.add("cellward_refusals_total", code=f"c{k}")
    assert len(metrics.text().splitlines()) < 2100


@pytest.mark.parametrize("text, seconds", [("30m", 1800), ("12h", 43_200), ("90d", 7_776_000)])
def test_spans(text, seconds):
    assert seconds_until(text) == seconds


@pytest.mark.parametrize("text", ["", "0d", "d", "90", "-1d", "1y", "2030-13-01", "2001-01-01", "tomorrow"])
def test_spans_that_are_none(text):
    with pytest.raises(InputError, match="--expires"):
        seconds_until(text)


def test_tokens_from_the_command_line(run, tmp_path):
    file = tmp_path / "people.sqlite"
    made = run("token", "add", "rita", "--role", "reviewer", "--expires", "2d", "--per-minute", 7, "--people", file)
    assert (made.code, made.err) == (0, "")
    assert made.out.startswith("cw_") and made.out.count("\n") == 1
    listed = run("token", "list", "--people", file).out
    assert "rita: reviewer, until 20" in listed and "7 requests a minute" in listed
    assert made.out.strip() not in listed
    assert run("token", "add", "rita", "--people", file).code == 2
    assert run("token", "revoke", "rita", "--people", file).code == 0
    assert "rita: reviewer, taken back" in run("token", "list", "--people", file).out
    for wrong in (("list",), ("revoke", "rita")):
        said = run("token", *wrong, "--people", tmp_path / "none")
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert not (tmp_path / "none").exists()


def test_the_command_line_loads_no_server_until_one_is_asked_for():
    code = "import cellward.cli, sys; print([m for m in ('fastapi', 'uvicorn', 'starlette', 'pydantic') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
