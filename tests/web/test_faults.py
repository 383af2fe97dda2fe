"""Whatever goes wrong: one shape, one sentence, one remedy, and nothing of what was sent or of what is inside."""

import json
import re
import socket
from urllib.parse import urlsplit

import pytest
from served import table

ASK = "/v1/datasets/firms/tables"
JSON = "application/json"
WRONG = {
    "no token": (401, "token-missing", ("GET", "/v1/datasets")),
    "no such token": (401, "token-unknown", ("GET", "/v1/datasets", "cw_0123456789abcdef_" + "x" * 43)),
    "half a token": (401, "token-unknown", ("GET", "/v1/datasets", "secret")),
    "no token and no JSON": (401, "token-missing", ("POST", ASK, None, b"{")),
    "no such address": (404, "unknown-address", ("GET", "/v2/nothing", "rita")),
    "a slash too many": (404, "unknown-address", ("GET", "/v1/datasets/", "rita")),
    "no such dataset": (404, "dataset", ("POST", "/v1/datasets/none/tables", "rita", table())),
    "no such table": (404, "unknown-table", ("GET", "/v1/tables/0123", "rita")),
    "no such table, and a reviewer": (404, "answer", ("GET", "/v1/tables/0123", "vera")),
    "no number of a table": (404, "unknown-table", ("GET", "/v1/tables/%00%0a", "vera")),
    "no such request": (404, "unknown-request", ("GET", "/v1/requests/0123", "rita")),
    "method": (405, "unknown-method", ("DELETE", "/v1/datasets", "rita")),
    "form": (406, "no-such-form", ("GET", "/v1/ledger.csv", "ada")),
    "long body": (413, "body-too-long", ("POST", ASK, "rita", b"[" * (1 << 20) + b"[")),
    "long address": (414, "address-too-long", ("GET", "/v1/datasets?x=" + "y" * 9000, "rita")),
    "no JSON": (422, "not-json", ("POST", ASK, "rita", b'{"dimensions": ')),
    "deep JSON": (400, "bad-request", ("POST", ASK, "rita", b"[" * 100_000)),
    "no level": (422, "form", ("POST", ASK, "rita", {"dimensions": [{"name": "region"}]})),
    "level in words": (422, "form", ("POST", ASK, "rita", {"dimensions": [{"name": "region", "level": "1"}]})),
    "unknown key": (422, "form", ("POST", ASK, "rita", {"dimensions": [], "filter": {}})),
    "twice": (422, "form", ("POST", ASK, "rita", table((("region", 1), ("region", 2))))),
    "no codes": (422, "form", ("POST", ASK, "rita", table(where={"region": []}))),
    "half a letter": (422, "form", ("POST", ASK, "rita", b'{"dimensions": [], "measure": "\\ud800"}')),
    "unknown code": (422, "code", ("POST", ASK, "rita", table(where={"region": ["Z"]}))),
    "unknown dimension": (422, "dimension", ("POST", ASK, "rita", table((("age", 1),)))),
    "page": (422, "form", ("GET", "/v1/datasets?limit=0", "rita")),
    "refusal": (409, "union", ("POST", ASK, "rita", table(where={"activity": ["A13"]}))),
    "the vault in no order": (500, "internal", ("POST", ASK, "rita", table(measure="broken"))),
}  # fmt: skip


@pytest.mark.parametrize("status, code, request_", WRONG.values(), ids=WRONG)
def test_one_shape_for_everything(status, code, request_, server):
    body = request_[3] if len(request_) > 3 else None
    headers = {"Content_Type": JSON} if isinstance(body, bytes) else {}
    reply = server(*request_, **headers)
    assert (reply.status, reply.json["code"]) == (status, code)
    in_shape(reply)


def in_shape(reply):
    told = json.loads(reply.body)
    assert told.keys() == {"code", "sentence", "remedy"}
    assert reply.headers["content-type"] == JSON
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"
    assert re.fullmatch(r"[\w.-]{1,64}", reply.headers["x-request-id"])
    for text in (told["sentence"], told["remedy"]):
        assert text and text.isprintable() and not text.endswith(".")
        assert "Traceback" not in text and ".py" not in text and "pydantic" not in text


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_bodies_that_are_no_json_by_their_own_word(media, server):
    reply = server("POST", ASK, "rita", json.dumps(table()).encode(), Content_Type=media)
    assert (reply.status, reply.json["code"]) == (415, "not-json")
    in_shape(reply)


def test_a_body_in_pieces_is_counted_too(server):
    line = server.line()
    line.putrequest("POST", ASK)
    for name, text in (
        ("Authorization", f"Bearer {server.tokens['rita']}"),
        ("Content-Type", JSON),
        ("Transfer-Encoding", "chunked"),
    ):
        line.putheader(name, text)
    line.endheaders()
    try:
        for _ in range(40):
            line.send(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        line.send(b"0\r\n\r\n")
    except OSError:
        pass  # it was told before the end
    assert line.getresponse().status == 413
    line.close()


RAW = {
    "no HTTP": (b"\x16\x03\x01 this is no HTTP\r\n\r\n", 400),
    "two lengths": (
        b"POST /v1/datasets/firms/tables HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n{}\r\n{}",
        400,
    ),
    "length below none": (b"POST /v1/datasets/firms/tables HTTP/1.1\r\nContent-Length: -2\r\n{}\r\n", 400),
    "length beyond all": (b"POST /v1/datasets/firms/tables HTTP/1.1\r\nContent-Length: 999999999999\r\n{}\r\n", 413),
    "a length and pieces": (
        b"POST /v1/datasets/firms/tables HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n{}\r\n2\r\n{}\r\n0\r\n\r\n",
        422,
    ),
    "a way around": (b"GET /docs/../v1/ledger HTTP/1.1\r\n{}\r\n", 404),
    "two slashes": (b"GET //v1/ledger HTTP/1.1\r\n{}\r\n", 404),
    "whole address": (b"GET http://other/v1/ledger HTTP/1.1\r\n{}\r\n", 404),
    "letters in numbers": (b"GET /v1/%6cedger HTTP/1.1\r\n{}\r\n", 403),
    "large letters": (b"GET /V1/LEDGER HTTP/1.1\r\n{}\r\n", 404),
    "an own method": (b"BREW /v1/ledger HTTP/1.1\r\n{}\r\n", 405),
    "no letters": (b"GET /v1/datasets/%zz%ff.csv HTTP/1.1\r\n{}\r\n", 404),
    "a zero": (b"GET /v1/data\0sets HTTP/1.1\r\n{}\r\n", 400),
    "two tokens": (b"GET /v1/datasets HTTP/1.1\r\nAuthorization: Bearer x\r\n{}\r\n", 401),
}


@pytest.mark.parametrize("sent, status", list(RAW.values()), ids=list(RAW))
def test_what_no_client_sends_is_told_in_the_same_shape(sent, status, server):
    at, token = urlsplit(server.url), server.tokens["rita"]
    common = (
        f"Host: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nConnection: close\r\n".encode()
    )
    said = b""
    with socket.create_connection((at.hostname, at.port), timeout=10) as line:
        line.sendall(sent.replace(b"{}", common, 1))
        while piece := line.recv(4096):
            said += piece
    assert said.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(said.split(b"\r\n\r\n", 1)[1]).keys() == {"code", "sentence", "remedy"}


def test_a_number_of_the_clients_own_comes_back_and_nothing_that_breaks_a_log(server):
    assert server("GET", "/health", X_Request_Id="mine-1").headers["x-request-id"] == "mine-1"
    assert server("GET", "/health", X_Request_Id="a b").headers["x-request-id"] != "a b"


@pytest.mark.parametrize("host", ["[", "a b", "x" * 300, "évil", ""])
def test_whatever_the_client_calls_the_host(host, server):
    line = server.line()
    line.putrequest("GET", "/v1/datasets/firms/codes?dimension=region&limit=1", skip_host=True)
    line.putheader("Host", host.encode())
    line.putheader("Authorization", f"Bearer {server.tokens['rita']}")
    line.endheaders()
    reply = line.getresponse()
    assert reply.status in (200, 400)
    told = json.loads(reply.read())
    assert reply.status == 400 or told["next"] == "/v1/datasets/firms/codes?dimension=region&limit=1&offset=1"
    line.close()


def test_405_names_the_methods(server):
    assert server("PUT", ASK, "rita", {}).headers["allow"] == "POST"


def test_security_headers_are_on_every_answer(server):
    for reply in (
        server("GET", "/health"),
        server("GET", "/docs"),
        server("GET", "/nothing"),
        server("GET", "/v1/datasets", "rita"),
    ):
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        assert reply.headers["x-frame-options"] == "DENY"
        assert "server" not in reply.headers
