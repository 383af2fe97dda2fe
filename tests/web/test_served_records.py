"""The real vault behind the real front: one command on the bundled example answers its first table, and the same after a restart."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import cellward
from cellward.client import connect

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "business"
WORDS = [
    "records.csv", "--dims", "activity,region", "--measure", "turnover", "--contributor", "firm", "--holding", "holding",
    "--hierarchy", "activity=activity.hrc", "--policy", "policy.toml", "--port", "0",
]  # fmt: skip


@contextlib.contextmanager
def serving(folder, words):
    """``cellward serve`` as users give it; its address, and what it says on the way."""
    env = {**os.environ, "PYTHONPATH": str(Path(cellward.__file__).parents[1])}
    command = [sys.executable, "-c", "from cellward.cli import main; main()", "serve", *words]
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=said, text=True)
    try:
        url = process.stdout.readline().strip()
        assert url, (folder / "said").read_text()
        yield url, (folder / "said").read_text()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stdout.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("business")
    for name in ("records.csv", "activity.hrc", "policy.toml"):
        shutil.copy(EXAMPLE / name, made)
    return made


def test_one_command_answers_the_first_table_and_the_same_after_a_restart(folder):
    with serving(folder, WORDS) as (url, said):
        token = re.search(r"cw_[0-9a-f]{16}_[\w-]{43}", said)[0]
        server = connect(url, token)
        first = server.table("records", ("activity", 1), "region", measure="turnover")
        assert len(first.rows) == 5 * 6
        by_codes = {row[:2]: row[2] for row in first.rows}
        regions = {region for _, region in by_codes} - {"Total"}
        for activity in {activity for activity, _ in by_codes}:
            assert by_codes[activity, "Total"] == sum(by_codes[activity, region] for region in regions)
        counted = server.table("records", "region", where={"activity": ["B"]})
        assert server._ask("GET", "/v1/ledger")[1]["ok"] is True
    with serving(folder, ["records.server.toml", "--port", "0"]) as (url, said):
        assert "cw_" not in said  # the token of the first time holds
        server = connect(url, token)
        assert server.table("records", ("activity", 1), "region", measure="turnover") == first
        assert server.published(counted.id).rows == counted.rows
        assert [entry["id"] for entry in server.tables()] == [first.id, counted.id, first.id]
    for name in ("records.server.toml", "records.server.key", "records.server.sqlite", "people.sqlite"):
        assert (folder / name).stat().st_mode & 0o077 == 0


def test_other_words_for_the_same_records_are_refused(folder):
    env = {**os.environ, "PYTHONPATH": str(Path(cellward.__file__).parents[1])}
    command = [sys.executable, "-c", "from cellward.cli import main; main()", "serve"]
    for words, said in (
        ([*WORDS[:1], "--dims", "region", "--port", "0"], "serve it as it is with cellward serve records.server.toml"),
        (["activity.hrc"], "name its dimension columns with --dims"),
    ):
        done = subprocess.run(
            [*command, *words], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert said in done.stderr
