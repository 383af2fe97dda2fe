"""Rights: every role at every address on everybody's tables, tokens that end, and limits."""

import contextlib
import itertools
import sqlite3
import threading
import time

import pytest
from served import served, table

from cellward.server.front.people import Limits

ASK = "/v1/datasets/firms/tables"
EVERYBODY = {"rita": "reader", "ron": "reader", "vera": "reviewer", "ada": "admin"}
OPEN = ("/health", "/docs", "/", "/openapi.json")
FOR = {
    "/v1/datasets": "reader", "/v1/datasets/firms": "reader", "/v1/datasets/firms/codes?dimension=region": "reader", "/v1/tables": "reader",
    "/v1/people": "admin", "/v1/ledger": "admin", "/metrics": "reviewer",
}  # fmt: skip
RANK = ("reader", "reviewer", "admin")


@pytest.mark.parametrize("address", OPEN)
def test_who_has_no_token_sees_what_tells_nothing(address, server):
    assert server("GET", address).status == 200


@pytest.mark.parametrize("address, role", list(FOR.items()))
@pytest.mark.parametrize("who", [None, *EVERYBODY])
def test_every_role_at_every_address(who, address, role, server):
    reply = server("GET", address, who)
    wanted = 401 if who is None else 200 if RANK.index(EVERYBODY[who]) >= RANK.index(role) else 403
    assert reply.status == wanted
    if wanted == 403:
        assert reply.json["sentence"] == f"this is for the role {role}, and yours is {EVERYBODY[who]}"


def test_no_address_is_forgotten(server):
    told = {path for path, methods in server("GET", "/openapi.json").json["paths"].items() if "get" in methods}
    known = {address.partition("?")[0].replace("/firms", "/{name}") for address in FOR} | set(OPEN)
    assert told <= known | {"/v1/tables/{number}", "/v1/requests/{number}"}


@pytest.fixture(scope="module")
def owned(server):
    """A table of each, that nobody else asked for."""
    return {
        who: server("POST", ASK, who, table(where={"activity": [f"A{20 + k}"]})).headers["location"]
        for k, who in enumerate(EVERYBODY)
    }


@pytest.mark.parametrize("who, whose", list(itertools.product([None, *EVERYBODY], EVERYBODY)))
@pytest.mark.parametrize("ending", ["", ".csv", ".parquet", ".jsonstat", ".sdmx.csv", ".json"])
def test_whose_tables_one_may_read(who, whose, ending, server, owned):
    allowed = who is not None and (who == whose or EVERYBODY[who] != "reader")
    reply = server("GET", owned[whose] + ending, who)
    assert reply.status == (401 if who is None else 200 if allowed else 404)
    if who is not None and not allowed:
        assert reply.json == server("GET", "/v1/tables/none", who).json


def test_the_trail_of_others_is_for_reviewers(server, owned):
    for who, role in EVERYBODY.items():
        seen = {entry["who"] for entry in server("GET", "/v1/tables?limit=1000", who).json["tables"]}
        assert seen == ({who} if role == "reader" else set(EVERYBODY))
        for whose in EVERYBODY:
            reply = server("GET", f"/v1/tables?who={whose}&limit=1000", who)
            assert reply.status == (200 if role != "reader" or who == whose else 403)
            if reply.status == 200:
                assert {entry["who"] for entry in reply.json["tables"]} == {whose}
                assert all(entry.keys() == {"id", "dataset", "request", "who", "at"} for entry in reply.json["tables"])


def test_who_asks_for_a_table_of_somebody_else_owns_it_too(server):
    asked = table(where={"activity": ["A40"]})
    number = server("POST", ASK, "rita", asked).headers["location"]
    assert server("GET", number, "ron").status == 404
    assert server("POST", ASK, "ron", asked).headers["location"] == number
    assert server("GET", number, "ron").status == 200


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic cml0YTo=",
        "Token {token}",
        "Bearer {token}x",
        "Bearer x{token}",
        "{token}",
        "Bearer {other}",
    ],
)
def test_headers_that_hold_no_token(header, server):
    token = server.tokens["rita"]
    other = token[:20] + server.tokens["ada"][20:]  # the number of one and the secret of the other
    assert server("GET", "/v1/datasets", Authorization=header.format(token=token, other=other)).status in (401, 429)


def test_small_letters_and_blanks_do_not_matter(server):
    assert server("GET", "/v1/datasets", Authorization=f"bearer  {server.tokens['rita']}").status == 200


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    limits = Limits(per_minute=40, cells_a_table=100, cells_a_day=150)
    with served(
        tmp_path_factory.mktemp("strict"), limits=limits, roles={"rita": "reader", "ron": "reader", "max": "reader"}
    ) as running:
        yield running


def test_a_token_ends_when_it_is_taken_back_or_its_time_is_over(strict):
    token = strict.people.add("eva", "reader", 3600)
    assert strict("GET", "/v1/datasets", token).status == 200
    with contextlib.closing(sqlite3.connect(strict.people.path)) as base, base:
        base.execute("UPDATE tokens SET expires = 1 WHERE name = 'eva'")
    assert strict("GET", "/v1/datasets", token).json["code"] == "token-expired"
    token = strict.people.add("eva", "reader", 3600)
    assert strict("GET", "/v1/datasets", token).status == 200
    strict.people.revoke("eva")
    assert strict("GET", "/v1/datasets", token).json["code"] == "token-revoked"


def test_tables_beyond_the_limits_are_refused_before_the_vault_sees_them(strict):
    lines = strict.folder / "ledger.jsonl"
    reply = strict("POST", ASK, "ron", table((("region", 2), ("activity", 1))))
    assert (reply.status, reply.json["code"]) == (422, "table-too-large")
    assert "can have 244 cells, and your limit is 100" in reply.json["sentence"]
    assert not lines.exists()
    assert (
        strict("POST", ASK, "ron", table((("region", 2), ("activity", 1)), where={"activity": ["A01"]})).status == 201
    )
    assert strict("POST", ASK, "ron", table((("region", 1), ("activity", 1)), where={"region": ["N1"]})).status == 422
    for k in range(3):
        reply = strict("POST", ASK, "ron", table((("activity", 1),), where={"region": [("N", "S", "N1")[k]]}))
        assert reply.status == 201  # 8, 69, 130, 191 cells by now
    late = strict("POST", ASK, "ron", table((("activity", 1),), measure="turnover"))
    assert (late.status, late.json["code"]) == (429, "cells-of-today")
    assert 0 < int(late.headers["retry-after"]) <= 86_400
    assert strict("GET", reply.headers["location"], "ron").status == 200


def test_requests_beyond_the_limit_of_a_minute_are_told_when_to_come_again(strict):
    replies = [strict("GET", "/v1/datasets", "rita") for _ in range(60)]
    late = [reply for reply in replies if reply.status == 429]
    assert 10 <= len(late) <= 20
    assert {reply.status for reply in replies} == {200, 429}
    assert all(reply.json["code"] == "too-many-requests" and int(reply.headers["retry-after"]) >= 1 for reply in late)
    assert strict("GET", "/v1/datasets", "max").status == 200


def test_guesses_at_a_token_do_not_keep_its_owner_out(server):
    server("GET", "/v1/datasets", "vera")
    wrong = server.tokens["vera"][:-4] + "xxxx"
    seen = {server("GET", "/v1/datasets", wrong).status for _ in range(12)}
    assert seen == {401, 429}
    assert server("GET", "/v1/datasets", "vera").status == 200


def test_one_person_has_only_so_many_requests_under_way(server):
    replies = []

    def ask(k):
        asked = table(measure="slow", where={"activity": [f"A{k + 40}"]})
        replies.append(server("POST", ASK, "ron", asked, Prefer="respond-async"))

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(reply.status for reply in replies) == [202] * 8 + [429] * 4
    assert {reply.json["code"] for reply in replies if reply.status == 429} == {"too-many-under-way"}
    for reply in replies:
        if reply.status == 202:
            while server("GET", reply.json["address"], "ron").json["status"] != "done":
                time.sleep(0.05)
