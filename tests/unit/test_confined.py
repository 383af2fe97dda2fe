"""The confined runtime: scratch space of one's own, a database that reads what it was given, paths that stay in their folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

import cellward as cw
from cellward.cli import finish as finish_module
from cellward.errors import ResourceError
from cellward.files import claimed, scratch
from cellward.files import folder as folder_module
from cellward.files.database import translated
from cellward.files.folder import replacing
from cellward.files.whole import Whole, private_files, write_all, write_whole
from cellward.solve import crash
from cellward.solve.model import FlowModel

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


# ---- folders that are replaced whole -----------------------------------------------------------------------------------------------------------

OURS = ("release.csv", "certificate.json.gz")


def put(folder, text, *names):
    with replacing(folder, OURS) as target:
        for name in names or OURS:
            write_whole(target / name, text.encode(), confidential=name != "release.csv")


def texts(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(params=[True, False], ids=["exchange", "moved aside"])
def out(request, tmp_path, monkeypatch):
    """A folder with a release, replaced in a single step or, where the system cannot, in three."""
    if not request.param:
        monkeypatch.setattr(folder_module, "_exchange_call", lambda: None)
    put(tmp_path / "home" / "out", "old")
    return tmp_path / "home" / "out"


def test_a_folder_is_replaced_whole_and_what_is_not_ours_stays(out):
    (out / "notes.txt").write_text("mine")
    (out / "sub").mkdir()
    (out / "sub" / "more.txt").write_text("mine too")
    out.chmod(0o750)
    put(out, "new", "release.csv")
    assert texts(out) == {"release.csv": "new", "notes.txt": "mine"}
    assert (out / "sub" / "more.txt").read_text() == "mine too"
    assert out.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
def test_what_fails_on_the_way_leaves_the_old_one(out, error):
    with pytest.raises(type(error)) as stopped, replacing(out, OURS) as target:
        assert target.stat().st_mode & 0o777 == 0o700
        write_whole(target / "certificate.json.gz", b"new", confidential=True)
        raise error
    assert not hasattr(stopped.value, "__notes__")
    assert set(texts(out).values()) == {"old"}
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_what_ends_after_the_exchange_says_that_it_was_written(out, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_module, "_clear", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        put(out, "new")
    assert stopped.value.__notes__ == [f"the release was written to {out}"]
    assert set(texts(out).values()) == {"new"}


@pytest.mark.parametrize("step", ["_dress", "_swap", "_clear", "rename"])
def test_a_killed_run_leaves_a_whole_release_and_the_next_sets_things_right(out, step):
    (out / "notes.txt").write_text("mine")
    (out / "sub").mkdir()
    aside = out.parent / ".out.cellward-abc-old"
    if step == "rename":  # killed between moving the old one aside and the new one in
        out.rename(aside)
    else:
        code = (
            "import os, signal, sys; from pathlib import Path; from cellward.files import folder, whole\n"
            f"setattr(folder, {step!r}, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))\n"
            f"with folder.replacing(Path({str(out)!r}), {OURS!r}) as target:\n"
            f"    [whole.write_whole(target / name, b'new') for name in {OURS!r}]\n"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
        found = texts(out)
        assert found.pop("notes.txt") == "mine"
        assert set(found.values()) == ({"new"} if step == "_clear" else {"old"})
    put(out, "newest")
    assert texts(out) == {**dict.fromkeys(OURS, "newest"), "notes.txt": "mine"}
    assert (out / "sub").is_dir()
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_folders_that_cannot_be_replaced_are_refused(out, monkeypatch):
    monkeypatch.chdir(out)
    with pytest.raises(cw.InputError, match=r"is the folder you stand in, and would be replaced whole; choose another"):
        put(out, "new")
    monkeypatch.chdir(out.parent)
    with pytest.raises(
        cw.InputError, match=r"is where a disk is mounted, and cannot be replaced whole; choose a folder"
    ):
        put(Path("/proc"), "new")
    (out / "release.csv").unlink()
    (out / "release.csv").mkdir()
    with pytest.raises(cw.InputError, match=r"release\.csv: cannot be written, it is a link, a folder or a device"):
        put(out, "new")


def test_several_files_are_written_together_or_not_at_all(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("old")
    two.mkdir()
    with pytest.raises(cw.InputError, match="two: cannot be written"):
        write_all([Whole(one, b"new"), Whole(two, b"new")])
    assert one.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [one, two]


def test_libraries_make_private_files_and_public_ones_keep_the_umask(tmp_path):
    before = os.umask(0o022)
    try:
        with private_files():
            (tmp_path / "a library's").touch()
            write_whole(tmp_path / "public", b"")
            write_whole(tmp_path / "confidential", b"", confidential=True)
    finally:
        assert os.umask(before) == 0o022
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"a library's": 0o600, "public": 0o644, "confidential": 0o600}


# ---- sentences ---------------------------------------------------------------------------------------------------------------------------------


def release_job(folder):
    folder.mkdir(exist_ok=True)
    (folder / "records.csv").write_text(ROWS)
    (folder / "job.toml").write_text(JOB.format(input="records.csv", folder="out", table="table.csv"))
    return folder / "job.toml"


@pytest.mark.parametrize("place", ["finish", "table"])
def test_an_interrupt_after_the_release_says_that_it_was_written(tmp_path, run, monkeypatch, place):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    job = release_job(tmp_path / "job")
    monkeypatch.setattr(*((finish_module, "render") if place == "finish" else (cw.Job, "write_table")), interrupted)
    said = run("run", job)
    assert (said.code, said.err) == (130, f"cellward: interrupted; the release was written to {job.parent / 'out'}\n")
    assert (job.parent / "out" / "release.csv").exists()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "memory ran out on the way; close other programs"),
        (RuntimeError("can't start new thread"), "memory ran out on the way"),
        (KeyError(4711), "this is a bug: KeyError in "),
    ],
)
def test_what_nobody_foresaw_is_a_sentence_without_values(tmp_path, run, monkeypatch, error, words):
    def fails(*_):
        raise error

    monkeypatch.setattr(cw.Job, "table", fails)
    said = run("run", release_job(tmp_path / "job"))
    assert said.code == 3
    assert said.err.startswith(f"cellward: {words}")
    assert "4711" not in said.err
    assert len(said.err.splitlines()) == 1


def test_memory_and_disk_that_duckdb_lacks_are_sentences(tmp_path):
    (tmp_path / "r.csv").write_text("a,b,x\n" + "".join(f"a{k},b{k % 999},{k}\n" for k in range(200_000)))
    with pytest.raises(ResourceError, match=r"memory ran out while .*r\.csv was added up; close other programs"):
        cw.Table.from_microdata(tmp_path / "r.csv", dims=["a"], measure="x", contributor="b", memory_mb=1)
    full = duckdb.IOException("IO Error: Could not write file: No space left on device")
    said = translated(full, "r.csv", cw.InputError("other"))
    assert "ran full while r.csv was added up; free some space, or set CELLWARD_SCRATCH" in str(said)


def test_a_crash_is_kept_on_request_alone(base, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    arc = np.zeros(1, np.int64)
    model = FlowModel(tail=arc, head=arc, capacity=arc, cost=arc, supply=np.zeros(1, np.int64))
    assert "Run it again with CELLWARD_CRASH=1" in crash.save(crash.load, model, None)
    assert list(base.iterdir()) == []
    monkeypatch.setenv(crash.VARIABLE, "1")
    assert "CONFIDENTIAL" in crash.save(crash.load, model, None)
    (folder,) = base.iterdir()
    (saved,) = folder.iterdir()
    assert (folder.stat().st_mode & 0o777, saved.stat().st_mode & 0o777) == (0o700, 0o600)
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


SECRET = 7919
WRONG = {
    "it does not add up": lambda: cw.Table.from_frame(
        {"a": ["x", "y", "Total"], "n": [SECRET, 2, 4]}, dims=["a"], value="n"
    ),
    "a bound above it": lambda: cw.Table.from_array([SECRET, 2], lower=SECRET + 1),
    "an attacker who errs": lambda: cw.Attacker.knowing(cw.Table.from_array([SECRET, 2]), "S", lower={0: SECRET + 1}),
    "tables that differ": lambda: cw.link(
        *(cw.Table.from_frame({"a": ["x", "y"], "n": [n, 2]}, dims=["a"], value="n") for n in (SECRET, 5))
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_sentences_do_not_quote_what_may_be_confidential(what):
    with pytest.raises(cw.InputError) as refused:
        WRONG[what]()
    assert str(SECRET) not in str(refused.value)
