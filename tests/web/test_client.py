"""The client: tables as rows and frames, waiting for slow ones, and exceptions that say what to do."""

import http.server
import json
import subprocess
import sys
import threading
from decimal import Decimal

import pytest
from fake_vault import value_of

from cellward import client
from cellward.client import NotAllowedError, RefusedError, ServerError, connect
from cellward.errors import InputError, ResourceError, TimeLimitError


@pytest.fixture(scope="module")
def rita(server):
    return connect(server.url, server.tokens["rita"])


def test_datasets_codes_and_the_trail(rita, server):
    assert [one["name"] for one in rita.datasets()] == ["firms"]
    assert [one["code"] for one in rita.codes("firms", "region", 2)] == ["N1", "N2", "S1"]
    assert len(rita.codes("firms", "activity")) == 61
    made = rita.table("firms", "region", where={"activity": "A50"})
    assert rita.tables()[0]["id"] == made.id
    assert {entry["who"] for entry in connect(server.url, server.tokens["vera"]).tables("rita")} == {"rita"}


def test_a_table_has_exact_rows_and_frames(rita):
    made = rita.table("firms", "region", ("activity", 0))
    assert made.columns == ("region", "activity", "count")
    wanted = [(code, "Total", Decimal(value_of([code, "Total"]))) for code in ("N1", "N2", "S1", "Total")]
    assert made.rows == wanted
    frame = made.to_pandas()
    assert list(frame.columns) == ["region", "activity", "count"]
    assert frame["count"].tolist() == [float(value) for _, _, value in wanted]
    assert made.to_polars()["region"].to_list() == ["N1", "N2", "S1", "Total"]
    assert rita.published(made.id) == made


def test_pages_are_followed(rita, monkeypatch):
    monkeypatch.setattr(client, "PAGE", 7)
    assert len({one["code"] for one in rita.codes("firms", "activity")}) == 61


def test_a_slow_table_is_waited_for_up_to_its_limit(rita):
    assert rita.table("firms", "region", measure="slow").rows
    with pytest.raises(TimeLimitError, match="larger time_limit_s"):
        rita.table("firms", "region", measure="slow table", time_limit_s=0.05)


def test_what_goes_wrong_is_said_by_kind(rita, server):
    with pytest.raises(RefusedError, match="published tables stand against; take a broader condition") as refused:
        rita.table("firms", "region", where={"activity": ["A13"]})
    assert (refused.value.status, refused.value.code) == (409, "union")
    with pytest.raises(InputError, match="age: firms has no such dimension; it has region, activity, product"):
        rita.table("firms", "age")
    with pytest.raises(ServerError, match="no such code"):
        rita.table("firms", "region", where={"region": ["Z"]})
    with pytest.raises(NotAllowedError, match="no such token"):
        connect(server.url, "cw_0123456789abcdef_" + "x" * 43).datasets()
    with pytest.raises(NotAllowedError, match="for the role reviewer"):
        rita.tables("ron")
    assert server.tokens["rita"] not in repr(rita)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://", "file:///etc/passwd"])
def test_addresses_that_are_none(url):
    with pytest.raises(InputError, match="no address of a server"):
        connect(url, "cw_x")


def test_tokens_that_are_none(server):
    for token in ("", "  ", "a\nb", "é"):
        with pytest.raises(InputError, match="cellward token add"):
            connect(server.url, token)


def test_nobody_there(monkeypatch):
    monkeypatch.setattr(client.time, "sleep", lambda _: None)
    with pytest.raises(ResourceError, match="no answer of a cellward server"):
        connect("http://127.0.0.1:9", "cw_x").datasets()


TOO_MANY = {"code": "too-many-requests", "sentence": "too many", "remedy": "later"}


@pytest.fixture
def told_to_wait(monkeypatch):
    """A server that says to wait before it answers; the seconds that the client then waits are noted and not waited."""
    waits, slept = [], []

    class Late(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(TOO_MANY if waits else {"datasets": [], "next": None}).encode()
            self.send_response(429 if waits else 200)
            if waits:
                self.send_header("Retry-After", waits.pop(0))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    monkeypatch.setattr(client.time, "sleep", slept.append)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Late) as late:
        thread = threading.Thread(target=late.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield connect(f"http://127.0.0.1:{late.server_port}", "cw_x"), waits, slept
        late.shutdown()
        thread.join()


def test_it_waits_where_it_is_told_to(told_to_wait):
    server, waits, slept = told_to_wait
    waits += ["3", "7"]
    assert server.datasets() == []
    assert [seconds for seconds in slept if seconds >= 1] == [3.0, 7.0]


def test_it_does_not_wait_for_tomorrow(told_to_wait):
    server, waits, _ = told_to_wait
    waits += ["40000"]
    with pytest.raises(NotAllowedError, match="too many; later"):
        server.datasets()


def test_it_waits_for_a_process_that_begins_again(server):
    rita = connect(server.url, server.tokens["rita"])
    server.kill("front")
    assert rita.table("firms", "region").rows
    server.kill("vault")
    assert rita.table("firms", "region").rows


def test_it_needs_the_standard_library_alone():
    code = "import cellward.client, sys; print([m for m in ('fastapi', 'uvicorn', 'httpx', 'numpy.linalg', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "fastapi" not in done.stdout and "httpx" not in done.stdout and "pandas" not in done.stdout
