"""What is said on the way: the logger, -q and -v, bars of work that is counted, and the bar of a notebook."""

import json
import logging
import subprocess
import sys
import time

import IPython.display
import pytest

import cellward as cw
from cellward.cli import progress
from cellward.report import notebook_bar
from cellward.solve.budget import Budget
from cellward.solve.watch import LOGGER, Standing

TABLE = "region,n\nN,13\nS,4\n"
ROUND = ("round", "t.csv", "--dims", "region", "--value", "n", "--base", "5", "--out", "out")


@pytest.fixture
def run(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)

    def run(*arguments):
        command = [sys.executable, "-c", "from cellward.cli import main; main()", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    return run


def test_phases_and_better_tables_are_logged_under_one_name(caplog):
    with caplog.at_level(logging.DEBUG, "cellward"):
        cw.ControlledRounding(5).protect(cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))
    assert {record.name for record in caplog.records} == {"cellward"}
    assert "solving" in [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]


def test_better_tables_are_logged_as_they_stand(caplog):
    budget = Budget()
    with caplog.at_level(logging.DEBUG, "cellward"):
        budget.enter("solving")
        budget.counting(0.0, 1.0).found(1250.0, 1000.0)
    assert caplog.messages == ["solving", "solving: best 1,250, bound 1,000, gap 20 %"]


def test_nothing_is_logged_unless_asked_for():
    code = "import cellward as cw; cw.ControlledRounding(5).protect(cw.Table.from_array([1, 2]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
    assert LOGGER.level == logging.NOTSET


def test_quiet_says_nothing_and_json_all_the_same(run, tmp_path):
    done = run(*ROUND, "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "out" / "release.csv").exists()
    done = run(*ROUND, "--quiet", "--json")
    assert json.loads(done.stdout)["verified"]
    assert done.stderr == ""
    done = run("round", "none.csv", "--dims", "region", "--value", "n", "--base", "5", "--out", "out", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "cellward: none.csv: no such file; check the path\n")


def test_verbose_logs_phases_and_twice_verbose_better_tables(run):
    done = run(*ROUND, "-v")
    assert done.returncode == 0
    phases = [line.split(" (")[0] for line in done.stderr.splitlines()]
    assert phases[0] == "cellward: reading"
    assert "cellward: solving" in phases
    assert "release.csv" in done.stdout
    done = run("round", "t.csv", "-q", "-v", "--base", "5", "--out", "out")
    assert (done.returncode, done.stderr) == (
        2,
        "cellward: --quiet: it does not go with --verbose; leave one of them out\n",
    )


def test_counted_work_has_a_bar_with_the_time_left(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "AFTER_S", 0.0)
    monkeypatch.setattr(progress, "DRAWN_S", 0.01)
    with progress.bar("auditing") as tell:
        tell(3, 12)
        time.sleep(0.2)
    assert "auditing, 3 of 12" in capsys.readouterr().err
    latest = progress.Latest("auditing")
    latest.counted(3, 12)
    assert latest.passed(Budget()) == (3.0, 12.0)
    assert latest.clock(Budget()).endswith(" s left")
    with progress.silent(), progress.bar("auditing") as tell, progress.spinner("reading"):
        assert tell is None
    assert capsys.readouterr().err == ""


def test_a_bar_shows_the_time_that_is_left_of_a_limit():
    latest = progress.Latest("reading")
    assert latest.passed(Budget()) == (None, None)
    assert latest.clock(Budget()) == "0 s"
    assert latest.passed(Budget(time_limit_s=60))[1] == 60
    assert latest.clock(Budget(time_limit_s=60)) == "0 s, 60 s left"


class Shown(list):
    """What a notebook was shown."""

    def __call__(self, shown, *, display_id):
        assert display_id
        self.append(shown.data)
        return self

    def update(self, shown):
        self.append(shown.data)


def test_a_notebook_has_a_bar(monkeypatch):
    shown = Shown()
    monkeypatch.setattr(IPython.display, "display", shown)
    cw.ControlledRounding(5).protect(cw.Table.from_array([[20, 50], [8, 19]]), progress=cw.NotebookBar(time_limit_s=60))
    assert "solving" in shown[0]
    assert all(text.startswith("<div><progress") for text in shown)
    bar = cw.NotebookBar()
    assert 'value="0.800"' in bar.html(Standing(phase="solving", incumbent=1250.0, bound=1000.0))
    assert "<progress></progress> a &lt; b (0 s)" in bar.html(Standing(phase="a < b"))
    many = len(shown)
    for k in range(5):
        bar(Standing(phase="solving", incumbent=100.0 - k))
    assert len(shown) == many + 1


def test_without_a_notebook_a_sentence_says_so(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(notebook_bar.importlib, "import_module", missing)
    with pytest.raises(cw.InputError, match="IPython is not installed, and this is no notebook"):
        cw.NotebookBar()
