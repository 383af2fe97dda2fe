"""What the unit tests share: the command line, run in this process."""

import sys
from types import SimpleNamespace

import pytest

from cellward import cli


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
