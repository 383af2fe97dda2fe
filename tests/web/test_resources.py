"""Resources over real sockets: every address, its twins, its pages, and tables that never change."""

import csv
import io
import json
import time
from decimal import Decimal

import duckdb
import pyjstat.pyjstat
import pytest
from fake_vault import CODES, value_of
from served import table

ASK = "/v1/datasets/firms/tables"
TWINS = {
    ".json": "application/json",
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".jsonstat": "application/vnd.json-stat+json",
    ".sdmx.csv": "application/vnd.sdmx.data+csv",
}
ROWS = [[code, value_of([code])] for code in ("N", "S", "Total")]


def test_datasets_and_codes_hold_what_is_agreed_and_nothing_else(server):
    told = server("GET", "/v1/datasets", "rita").json
    assert [one["name"] for one in told["datasets"]] == ["firms"]
    assert told["datasets"][0].keys() == {"name", "title", "records", "measures", "dimensions"}
    assert server("GET", "/v1/datasets/firms", "rita").json["dimensions"][0]["levels"][1]["codes"] == 2
    found = server("GET", "/v1/datasets/firms/codes?dimension=region&level=1", "rita").json
    assert [one["code"] for one in found["codes"]] == ["N", "S"]
    assert server("GET", "/v1/datasets/none", "rita").status == 404
    assert server("GET", "/v1/datasets/none/codes?dimension=region", "rita").status == 404


def test_pages_come_one_after_the_other_and_hold_everything_once(server):
    address, seen = "/v1/datasets/firms/codes?dimension=activity&limit=17", []
    while address:
        told = server("GET", address, "rita").json
        assert len(told["codes"]) <= 17
        seen += [one["code"] for one in told["codes"]]
        address = told["next"]
    assert seen == [code for code, _, _ in CODES["activity"]]
    rows = server("GET", "/v1/datasets/firms/codes.csv?dimension=activity&limit=17", "rita")
    assert rows.headers["link"].startswith("</v1/datasets/firms/codes.csv?") and 'rel="next"' in rows.headers["link"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:pyjstat")
@pytest.mark.parametrize("by", ["ending", "accept"])
@pytest.mark.parametrize("ending", TWINS)
def test_a_table_is_the_same_in_all_its_forms(ending, by, server, tmp_path):
    if by == "ending":
        reply = server("POST", ASK + ending, "rita", table())
    else:
        reply = server("POST", ASK, "rita", table(), Accept=f"{TWINS[ending]}, */*;q=0.1")
    assert reply.status == 201
    assert reply.headers["content-type"].startswith(TWINS[ending])
    assert in_rows(ending, reply.body, tmp_path) == ROWS
    number = reply.headers["location"]
    assert server("GET", number + ending, "rita").body == reply.body


def in_rows(ending, body, folder):
    if ending == ".json":
        return json.loads(body)["rows"]
    if ending == ".csv":
        return list(csv.reader(io.StringIO(body.decode())))[1:]
    if ending == ".sdmx.csv":
        rows = list(csv.DictReader(io.StringIO(body.decode())))
        assert {(row["DATAFLOW"], row["MEASURE"]) for row in rows} == {("CELLWARD:firms(1.0)", "count")}
        return [[row["region"], row["OBS_VALUE"]] for row in rows]
    if ending == ".parquet":
        (folder / "t.parquet").write_bytes(body)
        rows = duckdb.sql(f"SELECT * FROM '{folder}/t.parquet'").fetchall()
        assert all(isinstance(value, Decimal) for _, value in rows)
        return [[code, str(value)] for code, value in rows]
    frame = pyjstat.pyjstat.Dataset.read(body.decode()).write("dataframe", naming="id")
    return [[code, str(value)] for code, value in zip(frame["region"], frame["value"], strict=True)]


def test_a_cube_with_holes_has_its_values_in_their_places(server):
    body = server(
        "POST", ASK + ".jsonstat", "rita", table((("region", 2), ("activity", 1)), where={"activity": ["A07"]})
    ).json
    assert body["size"] == [4, 2, 1]
    codes = [body["dimension"][name]["category"]["index"] for name in ("region", "activity")]
    wanted = {str(a * 2 + b): float(value_of([x, y])) for a, x in enumerate(codes[0]) for b, y in enumerate(codes[1])}
    assert body["value"] == wanted


def test_the_grand_total_alone_is_a_table(server):
    for ending in TWINS:
        assert server("POST", ASK + ending, "rita", table(())).status == 201
    assert server("POST", ASK, "rita", table(())).json["rows"] == [["0.0"]]


def test_lists_have_no_form_for_observations(server):
    for ending in (".json", ".csv", ".parquet", ".jsonstat"):
        assert server("GET", "/v1/datasets" + ending, "rita").status == 200
    for reply in (
        server("GET", "/v1/datasets.sdmx.csv", "rita"),
        server("GET", "/v1/datasets", "rita", Accept="text/html"),
    ):
        assert (reply.status, reply.json["code"]) == (406, "no-such-form")
        assert ".parquet" in reply.json["remedy"]


def test_a_published_table_is_kept_for_good_and_not_sent_twice(server):
    number = server("POST", ASK, "rita", table()).headers["location"]
    first = server("GET", number, "rita")
    assert "immutable" in first.headers["cache-control"] and "private" in first.headers["cache-control"]
    again = server("GET", number, "rita", If_None_Match=f'"other", {first.headers["etag"]}')
    assert (again.status, again.body) == (304, b"")
    assert server("GET", number + ".csv", "rita").headers["etag"] != first.headers["etag"]
    assert server("GET", number, "ron", If_None_Match=first.headers["etag"]).status == 404


def test_a_table_published_before_says_so_and_is_the_same(server):
    asked = table((("region", 2),), measure="turnover")
    one, two = server("POST", ASK, "rita", asked), server("POST", ASK, "ron", asked)
    assert [reply.headers["cellward-from-ledger"] for reply in (one, two)] == ["no", "yes"]
    assert one.body == two.body


def test_the_same_key_is_the_same_answer_and_nobody_elses(server):
    lines = server.folder / "ledger.jsonl"
    for who in ("rita", "ron"):
        before = len(lines.read_text().splitlines())
        replies = [server("POST", ASK, who, table(where={"region": ["N"]}), Idempotency_Key="one") for _ in range(3)]
        assert len({reply.body for reply in replies}) == 1
        assert len(lines.read_text().splitlines()) == before + 1
    other = server("POST", ASK, "ron", table(), Idempotency_Key="one")
    assert (other.status, other.json["code"]) == (422, "idempotency_key")


def test_slow_tables_are_told_of_at_an_address_of_their_own(server):
    reply = server("POST", ASK, "rita", table(measure="slow"))
    assert (reply.status, reply.json["status"]) == (202, "under way")
    address = reply.headers["location"]
    assert server("GET", address, "rita").json["status"] == "under way"
    assert server("GET", address, "ron").status == 404
    assert server("GET", address, "ada").status == 404
    told = until_done(server, address)
    assert server("GET", told["address"], "rita").json["rows"] == ROWS
    now = server("POST", ASK, "rita", table(), Prefer="respond-async")
    assert now.status == 202
    assert until_done(server, now.json["address"])["status"] == "done"


def until_done(server, address):
    for _ in range(400):
        told = server("GET", address, "rita").json
        if told["status"] == "done":
            return told
        time.sleep(0.05)
    raise AssertionError(told)


def test_a_refusal_that_takes_long_is_told_in_the_same_words(server):
    asked = table(where={"activity": ["A13"]}, measure="slow")
    reply = server("POST", ASK, "rita", asked)
    assert reply.status == 202
    line = server("GET", reply.json["address"], "rita")
    while line.status == 200:
        line = server("GET", reply.json["address"], "rita")
    assert (line.status, line.json["code"]) == (409, "union")
    assert line.json == server("POST", ASK, "rita", table(where={"activity": ["A13"]})).json


def test_heads_have_no_body_and_the_page_needs_nothing_from_elsewhere(server):
    head = server("HEAD", "/v1/datasets", "rita")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) == len(server("GET", "/v1/datasets", "rita").body)
    page = server("GET", "/docs").body.decode()
    assert "/v1/datasets/{name}/tables" in page
    assert "<script" not in page and "http://" not in page and "https://" not in page.replace("https://HOST", "")
    assert server("GET", "/openapi.json").json["openapi"].startswith("3.")
