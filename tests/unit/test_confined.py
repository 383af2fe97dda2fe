"""The confined runtime: scratch space of one's own, a database that reads what it was given, paths that stay in their folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import cellward as cw
from cellward.files import claimed, scratch

ROWS = "region,firm,turnover\n" + "".join(f"R{k % 3},F{k},{10 * k + 5}\n" for k in range(30))


@pytest.fixture
def base(tmp_path, monkeypatch):
    """A place for scratch space of this test's own."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv(scratch.VARIABLE, str(folder))
    scratch.remove_scratch()
    yield folder
    scratch.remove_scratch()


def python(code, *, killed=False):
    """Run code in a process of its own; it says where its scratch space is."""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    said = child.stdout.readline().strip()
    if killed:
        child.kill()
    child.stdout.close()
    assert child.wait() == (-signal.SIGKILL if killed else 0)
    return said


MAKE = "from cellward.files.scratch import scratch; p = scratch(); (p / 'rows.tmp').write_text('secret'); print(p, flush=True)"

# ---- scratch space -----------------------------------------------------------------------------------------------------------------------------


def test_scratch_is_private_and_gone_at_the_end(base):
    seen = python(MAKE)
    assert Path(seen).parent == base.resolve()
    assert list(base.iterdir()) == []
    assert scratch.scratch().stat().st_mode & 0o777 == 0o700
    assert scratch.scratch() == scratch.scratch()


def test_what_a_killed_process_left_is_removed_by_the_next_and_nothing_else(base):
    left = Path(python(MAKE + "; import time; time.sleep(60)", killed=True))
    assert (left / "rows.tmp").exists()
    alive = claimed.claim_new(base, scratch.PREFIX)
    elsewhere = base.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    (base / f"{scratch.PREFIX}link").symlink_to(elsewhere)
    (base / "foreign").mkdir()
    own = scratch.scratch()
    assert {path.name for path in base.iterdir()} == {own.name, alive.path.name, f"{scratch.PREFIX}link", "foreign"}
    assert (elsewhere / "kept").exists()
    alive.give_up()


def test_what_another_user_left_stays(base, monkeypatch):
    (base / f"{scratch.PREFIX}theirs").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    scratch.sweep()
    assert (base / f"{scratch.PREFIX}theirs").exists()
    monkeypatch.undo()


def test_the_command_line_sweeps_when_it_starts(base, run):
    python(MAKE + "; import time; time.sleep(60)", killed=True)
    run("--version")
    assert list(base.iterdir()) == []


def test_no_folder_for_scratch_is_a_sentence(monkeypatch, tmp_path):
    scratch.remove_scratch()
    monkeypatch.setenv(scratch.VARIABLE, str(tmp_path / "none"))
    with pytest.raises(cw.InputError, match=r"no such folder for scratch files; make it, or set CELLWARD_SCRATCH"):
        scratch.scratch()


def test_a_forked_child_leaves_its_parents_scratch_alone(base):
    mine = scratch.scratch()
    child = os.fork()
    if not child:
        scratch.remove_scratch()
        os._exit(0 if mine.exists() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert mine.exists()


def test_records_spill_into_scratch_and_not_into_the_current_folder(base, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    from cellward.files.database import connect_confined

    with connect_confined(config={"memory_limit": "40MB", "threads": 1}) as connection:
        connection.execute("CREATE TEMP TABLE big AS SELECT range AS r, hash(range) AS h FROM range(8000000)")
        spilled = list(scratch.scratch().rglob("*.tmp"))
    assert spilled
    assert list(here.iterdir()) == []
    assert scratch.scratch().stat().st_mode & 0o077 == 0


# ---- the database ------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path):
    """A DuckDB file of records beside files that nobody named."""
    (tmp_path / "other.csv").write_text(ROWS)
    path = tmp_path / "records.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS FROM read_csv('{tmp_path / 'other.csv'}')")
        connection.execute(f"CREATE VIEW away AS FROM read_csv('{tmp_path / 'other.csv'}')")
        connection.execute(f"COPY t TO '{tmp_path / 'other.parquet'}'")
    with duckdb.connect(str(tmp_path / "second.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    return path


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{f}/other.csv')",
        "FROM '{f}/other.csv'",
        "FROM '{f}/other.parquet'",
        "FROM read_text('{f}/other.csv')",
        "FROM read_blob('/etc/hostname')",
        "FROM glob('{f}/*')",
        "FROM sniff_csv('{f}/other.csv')",
        "FROM parquet_metadata('{f}/other.parquet')",
        "FROM 'https://example.org/x.csv'",
        "FROM away",
        "SELECT * FROM t WHERE region IN (SELECT region FROM read_csv('{f}/other.csv'))",
        "COPY t TO '{f}/leak.csv'",
        "COPY (SELECT 42) TO '{f}/leak.csv'",
        "SELECT * FROM query('COPY (SELECT 42) TO ''{f}/leak.csv''')",
        "t; COPY t TO '{f}/leak.csv'",
        "ATTACH '{f}/second.duckdb'",
        "FROM second.t",
        "EXPORT DATABASE '{f}/leak'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "PRAGMA enable_profiling",
        "FROM enable_logging()",
        "CREATE TABLE x AS SELECT 1",
        "DROP TABLE t",
        "INSERT INTO t VALUES (1)",
    ],
)
def test_a_query_reads_its_file_alone(database, query):
    before = {path: path.read_bytes() for path in database.parent.iterdir()}
    with pytest.raises(cw.InputError) as refused:
        cw.Table.from_microdata(database, query=query.format(f=database.parent), dims=["region"], measure="turnover")
    assert str(refused.value).startswith(str(database))
    assert "; " in str(refused.value)
    assert {path: path.read_bytes() for path in database.parent.iterdir()} == before


def test_a_query_that_reads_its_file_works(database):
    table = cw.Table.from_microdata(database, query="SELECT * FROM t", dims=["region"], measure="turnover")
    assert table.cells == 4


@pytest.mark.parametrize("name", ["records.csv", "we[i]rd *'.csv", "records.parquet", "we[i]rd ?'.parquet"])
def test_files_with_any_name_are_read(tmp_path, monkeypatch, name):
    (tmp_path / "plain.csv").write_text(ROWS)
    path = tmp_path / name
    if name.endswith("csv"):
        path.write_text(ROWS)
    else:
        with duckdb.connect() as connection:
            connection.execute(f"COPY (FROM '{tmp_path / 'plain.csv'}') TO '{tmp_path!s}/made'(FORMAT parquet)")
        (tmp_path / "made").rename(path)
    monkeypatch.chdir(tmp_path)
    for given in (path, Path(name)):
        assert cw.Table.from_microdata(given, dims=["region"], measure="turnover").cells == 4


# ---- paths -------------------------------------------------------------------------------------------------------------------------------------

JOB = (
    '[input]\nfile = "{input}"\n[roles]\ndims = ["region"]\nmeasure = "turnover"\n[method]\nbase = 5\n'
    '[output]\nfolder = "{folder}"\ntable = "{table}"\n'
)
AWAY = {
    "absolute": lambda away: str(away),
    "by dots": lambda _: "../away",
    "through a link": lambda _: "link",
}


@pytest.fixture
def apart(tmp_path):
    """A folder with a job's records, one beside it, and a link from one into the other."""
    inside, away = tmp_path / "inside", tmp_path / "away"
    for folder in (inside, away):
        folder.mkdir()
        (folder / "records.csv").write_text(ROWS)
    (inside / "link").symlink_to(away)
    return inside, away


@pytest.mark.parametrize("how", AWAY)
@pytest.mark.parametrize("what", ["input", "folder", "table"])
def test_a_job_names_files_below_its_folder_unless_who_runs_it_allows_more(apart, run, how, what):
    inside, away = apart
    before = {path: path.read_bytes() for path in away.iterdir()}
    ends = {"input": "records.csv", "folder": "out", "table": "table.csv"}
    named = f"{AWAY[how](away)}/{ends[what]}"
    (inside / "job.toml").write_text(JOB.format(**{**ends, what: named}))
    said = run("run", inside / "job.toml")
    assert (said.code, said.out) == (2, "")
    assert "is outside the folder of job.toml; put it there, or allow it with --allow-outside" in said.err
    assert {path: path.read_bytes() for path in away.iterdir()} == before
    assert run("run", inside / "job.toml", "--allow-outside").code == 0
    assert cw.Job.read(inside / "job.toml", outside=True).table().cells == 4


def test_no_job_allows_itself_more(apart, run):
    inside, _ = apart
    (inside / "job.toml").write_text(
        "[job]\noutside = true\n" + JOB.format(input="../away/records.csv", folder="o", table="t.csv")
    )
    assert run("run", inside / "job.toml").code == 2


def test_a_batch_and_its_metadata_name_files_below_their_folders(apart):
    from cellward.files.within import allowing_outside
    from cellward.tauargus.files.references import find_beside, target

    inside, away = apart
    referrer = inside / "b.arb"
    for name in ("../away/records.csv", str(away / "records.csv"), "link/records.csv"):
        for look in (find_beside, target):
            with pytest.raises(cw.InputError, match=r"is outside the folder of b\.arb"):
                look(name, referrer)
            with allowing_outside():
                assert look(name, referrer).samefile(away / "records.csv")
    assert find_beside(r"\\server\share\RECORDS.csv", referrer) == inside / "records.csv"
