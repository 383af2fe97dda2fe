"""What the unit tests share: the command line, run in this process."""

import sys
from types import SimpleNamespace

import duckdb
import pytest

from cellward import ControlledRounding, cli
from cellward.files import database


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process; gives the exit code and what was printed."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["cellward", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        printed = capsys.readouterr()
        return SimpleNamespace(code=stopped.value.code, out=printed.out, err=printed.err)

    return call


class Fake:
    """An engine that accepts everything, and answers as it is told."""

    name = "no engine"

    def __init__(self, solve):
        self.solve = solve

    def accepts(self, _):
        return None


@pytest.fixture
def round_by(monkeypatch):
    """Let roundings be done by another engine."""
    return lambda solve: monkeypatch.setattr(ControlledRounding, "engines", (Fake(solve),))


INSTANCES = {}


@pytest.fixture(scope="module")
def one_instance():
    """Keep the instance of DuckDB for each configuration: it takes longer to start than a small table to add up; connections stay apart."""
    connect = duckdb.connect

    def reused(database=":memory:", *args, config=None, **kwargs):
        if database != ":memory:" or not config:
            return connect(database, *args, config=config or {}, **kwargs)
        name = f":memory:{sorted(config.items())}"
        if name not in INSTANCES:
            INSTANCES[name] = connect(name, config=config)
        return connect(name, config=config)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "connect", reused)
        patch.setattr(
            database, "_confine", lambda *_: None
        )  # for good, which the next file of another name would not survive
        yield
