"""Two processes: what the front has of the vault, what others can reach, and what becomes of one when the other dies."""

import contextlib
import http.client
import json
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from served import children_of, served, table

from cellward.client import connect
from cellward.errors import ResourceError

ASK = "/v1/datasets/firms/tables"
CANARY = "CANARY-90417-of-the-vault"
SECRET_VARIABLE = "CELLWARD_TEST_SECRET"


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A server whose vault holds a word that must not be found anywhere else."""
    with served(
        tmp_path_factory.mktemp("own"), canary=CANARY, seconds=0.5, wait=0.1, env={SECRET_VARIABLE: CANARY}
    ) as running:
        for who in ("rita", "vera", "ada"):
            for address in (
                "/v1/datasets",
                "/v1/tables",
                "/metrics",
                "/v1/ledger",
                "/v1/datasets.csv",
                "/v1/tables.parquet",
                "/v1/nothing",
            ):
                running("GET", address, who)
            for asked in (
                table(),
                table(measure="broken"),
                table(measure="slow"),
                table(where={"region": [CANARY[:6]]}),
                {"x": 1},
            ):
                running("POST", ASK + ".parquet", who, asked)
        yield running


def test_the_front_has_nothing_of_the_vault(own):
    front, vault = own.pid("front"), own.pid("vault")
    names = opened(front)
    allowed = re.compile(
        r"(socket|pipe|anon_inode):.*|/dev/(null|urandom)|.*/people\.sqlite(-wal|-shm)?|.*/log|.*/cellward-scratch-[^/]*"
    )
    assert [name for name in names if not allowed.fullmatch(name)] == []
    others = opened(vault) | opened(own.process.pid)
    assert not names & others - {"/dev/null", str(own.folder / "log")} - sockets(own)
    environment = read(front, "environ")
    assert CANARY.encode() in read(vault, "environ")
    assert CANARY.encode() not in environment
    assert {entry.split(b"=")[0].decode() for entry in environment.split(b"\0") if entry} <= {
        "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "CELLWARD_SCRATCH", "PYTHONPATH",
    }  # fmt: skip
    assert b"config" not in read(front, "cmdline")
    assert Path(f"/proc/{front}/cwd").readlink() == socket_of(own).parent


def opened(pid):
    """What a process has open; a handle may be closed while the others are read."""
    names = set()
    for handle in list(Path(f"/proc/{pid}/fd").iterdir()):
        with contextlib.suppress(FileNotFoundError):
            names.add(str(handle.readlink()))
    return names


def sockets(server):
    """The one on which the front listens, which the process above both made."""
    return {name for name in opened(server.process.pid) if name.startswith("socket:")}


def read(pid, name):
    return Path(f"/proc/{pid}/{name}").read_bytes()


def socket_of(server):
    words = read(server.pid("front"), "cmdline").split(b"\0")
    return Path(words[words.index(b"--vault") + 1].decode())


def test_the_socket_is_its_owners_alone(own):
    name = socket_of(own)
    assert stat.S_ISSOCK(name.stat().st_mode)
    assert stat.S_IMODE(name.stat().st_mode) == 0o600
    assert stat.S_IMODE(name.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((own.folder / "people.sqlite").stat().st_mode) == 0o600


def test_a_word_of_the_vaults_is_nowhere_else(own):
    for address in ("/metrics", "/v1/tables", "/v1/datasets", "/v1/people", "/v1/ledger"):
        assert CANARY.encode() not in own("GET", address, "ada").body
    assert CANARY not in own.log
    for file in socket_of(own).parent.iterdir():
        assert not file.is_file() or CANARY.encode() not in file.read_bytes()
    assert CANARY.encode() not in (own.folder / "people.sqlite").read_bytes()


def test_the_fronts_memory_holds_no_token_at_rest_and_nothing_of_the_vaults_environment(tmp_path):
    with served(tmp_path / "s", env={SECRET_VARIABLE: CANARY}) as server:
        for _ in range(20):
            server("POST", ASK, "rita", table())
        memory = memory_of(server.pid("front"))
        assert b"cellward.server.front" in memory  # the search works
        assert CANARY.encode() not in memory
        assert server.tokens["ada"].encode() not in memory  # never sent, and stored as a hash alone


def memory_of(pid):
    """All that a process has in its memory and may be read."""
    found = bytearray()
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights = line.split()[:2]
            if "w" not in rights:
                continue
            start, end = (int(each, 16) for each in span.split("-"))
            with contextlib.suppress(OSError, ValueError, OverflowError):
                memory.seek(start)
                found += memory.read(end - start)
    return bytes(found)


def test_the_log_names_no_code_no_token_and_no_number(own):
    own("GET", f"/v1/datasets/firms/codes?dimension={CANARY}", "rita")
    own("GET", "/v1/tables/0123456789", "rita", X_Request_Id="the-last")
    until = time.monotonic() + 20
    while '"the-last"' not in own.log and time.monotonic() < until:  # a line is written after its answer
        time.sleep(0.02)
    lines = [json.loads(line) for line in own.log.splitlines() if '"the-last"' in line]
    assert lines[-1].keys() == {"at", "request", "method", "route", "status", "ms", "bytes", "who"}
    assert (lines[-1]["route"], lines[-1]["who"]) == ("/v1/tables/{number}", "rita")
    for word in (CANARY, '0123456789"', *own.tokens.values(), "A13"):
        assert word not in own.log


@pytest.mark.parametrize("name", ["vault", "front"])
def test_a_process_that_dies_is_begun_again_and_nothing_is_lost(name, tmp_path):
    with served(tmp_path / "s") as server:
        told, wrong, stop = [], [], threading.Event()

        def ask(k):
            while not stop.is_set():
                where = {"activity": [f"A{len(told) % 12:02}"]}
                with contextlib.suppress(OSError, http.client.HTTPException):
                    reply = server("POST", ASK, "rita", table(where=where))
                    (told if reply.status == 201 else wrong).append(reply)

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            before = len(told)
            killed = server.kill(name)
            until = time.monotonic() + 20
            while (len(told) < before + 8 or server.pid(name) == killed) and time.monotonic() < until:
                time.sleep(0.02)
            assert len(told) >= before + 8
        stop.set()
        for thread in threads:
            thread.join()
        assert [reply.json for reply in wrong] == []
        for reply in told[::5]:
            assert (
                server("GET", reply.json["id"] and reply.headers["location"], "rita").json["rows"] == reply.json["rows"]
            )
        assert f"the {name} was killed by SIGKILL; it is begun again, and nothing is lost" in server.log


def test_ctrl_c_ends_both_and_takes_the_folder_away(tmp_path):
    with served(tmp_path / "s") as server:
        pids, folder = [server.pid("front"), server.pid("vault")], socket_of(server).parent
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 0
        assert not folder.exists()
        assert not any(alive(pid) for pid in pids)
    assert "Traceback" not in server.log


def test_both_end_with_the_one_above_them(tmp_path):
    with served(tmp_path / "s") as server:
        pids = children_of(server.process.pid)
        server.process.kill()
        server.process.wait()
        until = time.monotonic() + 20
        while any(map(alive, pids)) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(map(alive, pids))


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_vault_that_does_not_begin_ends_the_server_in_a_sentence(tmp_path):
    with (
        pytest.raises(AssertionError, match="the vault ended before it was ready") as said,
        served(tmp_path / "s", fails=True),
    ):
        pass
    assert "this vault does not begin" in str(said.value)


def test_tls_by_the_names_of_its_files(tmp_path):
    """The certificate is for 127.0.0.1, and its key in the same file; they are for this test alone."""
    pem = Path(__file__).with_name("tls_for_tests.pem")
    with served(tmp_path / "s", tls=(pem, pem)) as server:
        assert server.url.startswith("https://")
        reply = server("GET", "/v1/datasets", "rita")
        assert reply.status == 200
        assert reply.headers["strict-transport-security"].startswith("max-age=")
        assert connect(server.url, server.tokens["rita"], ca=pem).datasets()
        with pytest.raises(ResourceError, match="CERTIFICATE_VERIFY_FAILED"):
            connect(server.url, server.tokens["rita"]).datasets()


def test_the_command_line_says_what_is_missing(tmp_path):
    (tmp_path / "c.toml").write_text("")
    (tmp_path / "no.pem").write_text("no certificate")
    for options, said in (
        ([str(tmp_path / "none.toml")], "no such file"),
        ([str(tmp_path / "c.toml"), "--tls-cert", "x.pem"], "give both, or neither"),
        ([str(tmp_path / "c.toml"), "--tls-cert", "x.pem", "--tls-key", "y.pem"], "x.pem: cannot be read"),
        ([str(tmp_path / "c.toml"), "--tls-cert", "no.pem", "--tls-key", "no.pem"], "give both in PEM"),
        ([str(tmp_path / "c.toml"), "--dims", "region"], "says itself what is served"),
        ([str(tmp_path / "c.toml"), "--host", "192.0.2.1", "--port", "0"], "192.0.2.1 port 0: cannot listen there"),
    ):
        code = "from cellward.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, "serve", *options, "--people", str(tmp_path / "people.sqlite")],
            capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
        )  # fmt: skip
        assert done.returncode == 2
        last = done.stderr.splitlines()[-1]
        assert last.startswith("cellward: ") and said in last
