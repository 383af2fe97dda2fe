"""The command line from records on: tabulate and run, what they print, write and exit with."""

from __future__ import annotations

import csv
import json
import os
import re
import stat
import subprocess
import sys

import polars as pl
import pytest
from fixed_keys import key_file

import cellward as cw
from cellward.risk.policy import Policy
from cellward.risk.threshold import Threshold

pytestmark = pytest.mark.usefixtures("one_instance")

RECORDS = """region,nace,firm,turnover,ask
N1,A,f1,90,
N1,A,f2,5,0
N1,A,f3,4,
N1,B,f4,40,1
N1,B,f5,38,
N1,B,f6,37,
N2,A,f1,25,
N2,A,f8,24,
N2,A,f9,23,
N2,B,f10,51,
N2,B,f11,50,
N2,B,f12,49,
S1,A,f13,66,
S1,A,f14,60,
S1,A,f15,61,
S1,B,f16,31,
S1,B,f17,30,
S1,B,f2,33,
"""
ROLES = ["--dims", "region,nace", "--measure", "turnover", "--contributor", "firm"]


def bug(why):
    """Known and reported; strict, so that the repair shows."""
    return pytest.mark.xfail(reason=why)


def piped(*arguments):
    """Run it in a process of its own, its output going into pipes."""
    quiet = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS")}
    script = "from cellward.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, env=quiet, check=False
    )


@pytest.fixture
def records(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "records.csv"
    path.write_text(RECORDS)
    (tmp_path / "region.hrc").write_text("North\n@N1\n@N2\nSouth\n@S1\n")
    return path


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(said, words):
    """One sentence that starts with our name and says these words; exit code 2."""
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("cellward: ")
    assert said.err.endswith("\n")
    assert len(said.err.splitlines()) == 1
    assert len(said.err) < 700
    assert "Traceback" not in said.err
    assert re.search(words, said.err), said.err


def added(records, dims):
    out = {}
    for row in csv.DictReader(records.splitlines()):
        for k in range(2 ** len(dims)):
            cell = tuple("Total" if k >> d & 1 else row[dim] for d, dim in enumerate(dims))
            out[cell] = out.get(cell, 0) + int(row["turnover"])
    return out


# ---- tabulate ------------------------------------------------------------------------------------------------------------------------------


def test_tabulate_says_what_it_found(records, run):
    said = run("tabulate", records, *ROLES, "--policy", "default", "--out", "t.csv", "--findings", "f.csv")
    assert said.code == 0
    assert re.fullmatch(
        r"note: the file holds statuses and levels, not who stands behind .*\(cellward run\)\n", said.err
    )
    first, *rest = said.out.splitlines()
    assert rest[0] == "18 records added up."
    assert re.fullmatch(r"Table\(region × nace, 12 cells, 7 equations, \d+ unsafe\)", first)
    assert any("p % rule, p = 10" in line for line in rest)
    assert any(re.match(r"To be protected: \d+ cells? of 12\.", line) for line in rest)
    assert rest[-2:] == ["  t.csv  (confidential)", "  f.csv  (confidential)"]
    with open("t.csv", newline="") as file:  # noqa: PTH123
        rows = list(csv.DictReader(file))
    assert {(row["region"], row["nace"]): int(row["value"]) for row in rows} == added(RECORDS, ["region", "nace"])
    unsafe = {(row["region"], row["nace"]) for row in rows if row["status"] == "u"}
    with open("f.csv", newline="") as file:  # noqa: PTH123
        findings = list(csv.DictReader(file))
    assert {(row["region"], row["nace"]) for row in findings} == unsafe
    assert ("N1", "A") in unsafe
    assert all(row["reasons"] and row["rules"] for row in findings)


def test_tabulate_in_json_is_one_object_and_nothing_else(records, run):
    said = run(
        "tabulate", records, *ROLES, "--rule", "PPercent(10)", "--rule", "Threshold(4)", "--out", "t.csv", "--json"
    )
    assert (said.code, said.err) == (0, "")
    assert said.out.count("\n") == 1
    facts = json.loads(said.out)
    assert list(facts) == ["cells", "equations", "sensitive", "records", "dropped", "sums", "rules"]
    assert (facts["cells"], facts["equations"], facts["records"], facts["dropped"]) == (12, 7, 18, 0)
    assert list(facts["rules"]) == ["PPercent(10)", "Threshold(4)"]
    assert facts["rules"]["Threshold(4)"] == 6


def test_confidential_files_are_their_owners_alone(records, run, tmp_path):
    assert run("tabulate", records, *ROLES, "--policy", "default", "--out", "t.csv", "--findings", "f.csv").code == 0
    for name in ("t.csv", "f.csv"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_tabulate_without_rules_only_adds_up(records, run):
    said = run("tabulate", records, *ROLES)
    assert (said.code, said.err) == (0, "")
    assert said.out == "Table(region × nace, 12 cells, 7 equations)\n18 records added up.\n"


def test_records_that_are_left_out_are_told(records, run):
    left = ["--dims", "region", "--missing", "drop", "--missing-codes", "region=S1"]
    assert (
        run("tabulate", records, *left).out.splitlines()[1] == "12 records added up, 6 left out (no value or no code)."
    )
    facts = json.loads(run("tabulate", records, *left, "--json").out)
    assert (facts["records"], facts["dropped"]) == (12, 6)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jj"])
def test_every_format_of_table(records, run, name, tmp_path):
    assert run("tabulate", records, *ROLES, "--rule", "Threshold(4)", "--out", name).code == 0
    long = {} if name.endswith("jj") else {"dims": ["region", "nace"], "value": "value", "status": "status"}
    table = cw.read(tmp_path / name, **long)
    assert sorted(table.values.tolist()) == sorted(added(RECORDS, ["region", "nace"]).values())
    assert len(table.sensitive) == 6


def test_a_table_goes_on_to_protect_and_audit(records, run):
    assert run("tabulate", records, *ROLES, "--policy", "default", "--out", "t.csv").code == 0
    levels = ["--dims", "region,nace", "--value", "value", "--status", "status", "--lpl", "lpl", "--upl", "upl"]
    assert run("round", "t.csv", *levels, "--base", "20", "--out", "out").code == 0
    assert run("verify", "out/certificate.json.gz").code == 0


OPTIONS = {
    "a formula": (["--dims", "region*nace + nace"], 12),
    "linked tables": (["--dims", "region + nace"], 6),
    "blanks between dims": (["--dims", " region , nace "], 12),
    "a hierarchy": (["--dims", "region", "--hierarchy", "region=region.hrc"], 6),
    "padding": (["--dims", "region", "--pad", "region=4"], 4),
    "missing codes": (["--dims", "region", "--missing-codes", "region=S1", "--missing", "drop"], 3),
    "missing codes by dimension": (["--dims", "region", "--missing-codes", "region=S1,N2", "--missing", "region=keep"], 4),
    "a total of one's own": (["--dims", "region", "--total", "All"], 4),
    "empty cells": (["--dims", "region,firm", "--empty", "zero"], 68),
    "requests": (["--dims", "region", "--request", "ask", "--request-codes", "1,2", "--rule", "Request(5)"], 4),
    "a separator": (["--dims", "region", "--separator", ","], 4),
    "decimals": (["--dims", "region", "--measure", "turnover", "--decimals", "2"], 4),
    "one thread": (["--dims", "region", "--threads", "1"], 4),
    "more of the largest": (["--dims", "region", "--largest", "5", "--rule", "Dominance(5, 90)"], 4),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_tabulate(records, run, name):
    options, cells = OPTIONS[name]
    said = run("tabulate", records, *options, "--json")
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out)["cells"] == cells


def test_blank_negative_and_decimal(tmp_path, run):
    path = tmp_path / "t.csv"
    path.write_text("r;v\na;1,5\nb;\nb;-2\n")
    out = tmp_path / "out.csv"
    options = ["--dims", "r", "--measure", "v", "--decimal", ",", "--out", out]
    refused(run("tabulate", path, *options), r"t\.csv record 2, column v: no value .*\(--blank\)")
    refused(
        run("tabulate", path, *options, "--blank", "zero"), r"record 3, column v: a negative .*\(--negative absolute\)"
    )
    assert not out.exists()
    assert run("tabulate", path, *options, "--blank", "zero", "--negative", "absolute").code == 0
    with out.open(newline="") as file:
        assert {row["r"]: row["value"] for row in csv.DictReader(file)} == {"Total": "-0.5", "a": "1.5", "b": "-2.0"}


def test_parquet_and_duckdb(records, run, tmp_path):
    import duckdb

    pl.read_csv(records).write_parquet("t.parquet")
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("CREATE TABLE t AS FROM 't.parquet'")
    plain = run("tabulate", records, *ROLES, "--policy", "default", "--json").out
    assert run("tabulate", "t.parquet", *ROLES, "--policy", "default", "--json").out == plain
    assert run("tabulate", "t.duckdb", "--query", "t", *ROLES, "--policy", "default", "--json").out == plain
    refused(run("tabulate", "t.duckdb", *ROLES), r"t\.duckdb: say which records are meant with query=")
    refused(run("tabulate", records, "--query", "t", *ROLES), "query: only a DuckDB file")


def test_policies(records, run, tmp_path):
    Policy("N", (Threshold(4),)).lock().write(tmp_path / "policy.toml")
    said = run("tabulate", records, *ROLES, "--policy", "policy.toml", "--json")
    assert json.loads(said.out)["rules"] == {"Threshold(4)": 6}
    for name in ("default", "default for counts"):
        assert run("tabulate", records, *ROLES, "--policy", name).code == 0
    (tmp_path / "policy.toml").write_text((tmp_path / "policy.toml").read_text().replace("n = 4", "n = 2"))
    refused(run("tabulate", records, *ROLES, "--policy", "policy.toml"), r"policy\.toml: .*changed after it was locked")


# ---- what is refused -----------------------------------------------------------------------------------------------------------------------

BAD = {
    "no dims": ([], r"Missing option '--dims'; see cellward --help"),
    "an empty dim": (["--dims", "region,"], r"a dimension has no name"),
    "a column that is not there": (["--dims", "sex"], r"records\.csv: there is no column 'sex'; it has region, nace"),
    "a measure that is not there": (["--dims", "region", "--measure", "x"], r"there is no column 'x'"),
    "a measure of text": (["--dims", "region", "--measure", "firm"], r"record 1, column firm: 'f1' is not a number"),
    "a hierarchy without a file": (["--dims", "region", "--hierarchy", "region"], r"--hierarchy region: write DIM=FILE\.hrc"),
    "a hierarchy that is not there": (["--dims", "region", "--hierarchy", "region=none.hrc"], r"none\.hrc: no such file"),
    "a hierarchy of no dim": (["--dims", "region", "--hierarchy", "sex=region.hrc"], r"'sex' is not among the dims region"),
    "a pad of nothing": (["--dims", "region", "--pad", "region"], r"--pad region: write DIM=WIDTH"),
    "a pad in words": (["--dims", "region", "--pad", "region=wide"], r"--pad wide: write DIM=WIDTH, such as region=2"),
    "a pad of no dim": (["--dims", "region", "--pad", "sex=2"], r"pad: 'sex' is not among the dimensions region"),
    "an unknown missing": (["--dims", "region", "--missing", "guess"], r"missing='guess' is not known; use one of"),
    "two ways of missing": (["--dims", "region", "--missing", "drop", "--missing", "region=keep"], r"--missing: give one word .*or DIM=word"),
    "missing codes without codes": (["--dims", "region", "--missing-codes", "region"], r"--missing-codes region: write DIM=CODE,CODE"),
    "an unknown blank": (["--dims", "region", "--blank", "guess"], r"blank='guess' is not known"),
    "a largest in words": (["--dims", "region", "--largest", "many"], r"'--largest': .*integer"),
    "a largest of none": (["--dims", "region", "--largest", "0"], r"largest=0: give a whole number from 1 to 20"),
    "a rule that is none": (["--dims", "region", "--rule", "Nonsense(3)"], r"rule 'Nonsense\(3\)': it is none of PPercent"),
    "a rule that would run": (["--dims", "region", "--rule", "__import__('os').system('touch pwned')"], r"it is none of PPercent"),
    "a parameter that would run": (["--dims", "region", "--rule", "PPercent(open('pwned', 'w'))"], r"parameters are not readable"),
    "a tower of brackets": (["--dims", "region", "--rule", "(" * 250 + "PPercent(10)"], r"not readable"),
    "a rule twice": (["--dims", "region", "--rule", "Threshold", "--rule", "Threshold(3)"], r"Threshold\(3\) is given twice"),
    "a rule beyond the largest": (["--dims", "region", "--rule", "Dominance(5, 90)"], r"but 3 were kept; tabulate with largest=5 \(--largest 5\)"),
    "a request nobody made": (["--dims", "region", "--rule", "Request(70)"], r"it holds no requests"),
    "a request that is not declared": (["--dims", "region", "--request", "ask", "--request-codes", "2"], r"the request code '1' is not declared"),
    "findings of nothing": (["--dims", "region", "--findings", "f.csv"], r"--findings: there are no rules .*give --rule or --policy"),
    "a policy that is not there": (["--dims", "region", "--policy", "none.toml"], r"none\.toml: no such file"),
    "a policy almost built in": (["--dims", "region", "--policy", "defaults"], r"defaults: no such file"),
    "a table of an unknown kind": (["--dims", "region", "--out", "t.xlsx"], r"t\.xlsx: the extension '\.xlsx' is not known"),
    "a table in no folder": (["--dims", "region", "--out", "none/t.csv"], r"none/t\.csv: cannot be written"),
    "no threads": (["--dims", "region", "--threads", "0"], r"thread"),
    "an unknown option": (["--dims", "region", "--colour", "red"], r"--colour"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_tabulate_refuses_in_a_sentence_and_writes_nothing(records, run, name, tmp_path):
    options, words = BAD[name]
    before = content(tmp_path)
    for more in ([], ["--json"]) if name in ("no dims", "a rule that is none", "a table in no folder") else ([],):
        refused(run("tabulate", records, *options, *more), words)
    assert content(tmp_path) == before


def test_records_that_are_not_there(run, tmp_path):
    refused(run("tabulate", tmp_path / "none.csv", "--dims", "r"), r"none\.csv: no such file")
    refused(run("tabulate", tmp_path, "--dims", "r"), "a folder or device")
    refused(run("tabulate"), r"Missing argument 'RECORDS'")


@pytest.mark.parametrize("option", ["--out", "--findings"])
def test_the_records_are_never_overwritten(records, run, option):
    said = run("tabulate", records, *ROLES, "--policy", "default", option, records)
    refused(said, r"records\.csv: is read and written, .*give each output a name of its own")
    assert records.read_text() == RECORDS


def test_what_is_no_file_is_not_replaced(records, run, tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    (tmp_path / "l.csv").symlink_to(records)
    refused(run("tabulate", records, *ROLES, "--out", "l.csv"), r"records\.csv: is read and written")
    (tmp_path / "m.csv").symlink_to(tmp_path / "elsewhere.csv")
    refused(
        run("tabulate", records, *ROLES, "--out", "m.csv"),
        r"m\.csv: cannot be written, it is a link, .*choose another name",
    )
    refused(run("tabulate", records, *ROLES, "--out", "t.csv"), r"t\.csv")
    assert stat.S_ISFIFO((tmp_path / "t.csv").stat().st_mode)


def test_two_outputs_need_two_names(records, run, tmp_path):
    refused(run("tabulate", records, *ROLES, "--policy", "default", "--out", "t.csv", "--findings", "t.csv"), r"t\.csv")
    assert not (tmp_path / "t.csv").exists()


def test_all_or_nothing_is_written(records, run, tmp_path):
    refused(run("tabulate", records, *ROLES, "--policy", "default", "--out", "t.csv", "--findings", "none/f.csv"), "cannot be written")  # fmt: skip
    assert not (tmp_path / "t.csv").exists()


def test_no_threads_are_named_by_their_option(records, run):
    refused(run("tabulate", records, "--dims", "region", "--threads", "0"), r"^cellward: (threads=|--threads )0")


# ---- run -----------------------------------------------------------------------------------------------------------------------------------

JOB = """
[job]
name = "Turnover"
[input]
file = "records.csv"
[roles]
dims = ["region", "nace"]
measure = "turnover"
contributor = "firm"
[risk]
policy = "default"
[method]
base = 20
[output]
folder = "out"
key_file = "key.txt"
"""
FAR = 'rules = ["Threshold(3)"]\nlevels = [{cell = ["N1", "A"], lpl = 60, upl = 60}]'
"""Levels that no rounding to 20 can meet."""


@pytest.fixture
def job(records, tmp_path):
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    key_file(tmp_path / "key.txt")
    return path


def test_run_says_what_it_did(job, run, tmp_path):
    said = run("run", job)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == "Turnover"
    assert any(line.startswith("To be protected: ") for line in lines)
    assert any(line.startswith("optimal: sum of changes ") for line in lines)
    assert any(line.startswith("protected: ") for line in lines)
    written = {line.split()[0].rsplit("/", 1)[1] for line in lines if line.startswith("  ")}
    assert written == {path.name for path in (tmp_path / "out").iterdir()}
    assert "note: the job names no key" not in said.out
    with (tmp_path / "out" / "release.csv").open(newline="") as file:
        release = {(row["region"], row["nace"]): int(row["value"]) for row in csv.DictReader(file)}
    truth = added(RECORDS, ["region", "nace"])
    assert release.keys() == truth.keys()
    assert all(value % 20 == 0 and abs(value - truth[cell]) < 20 for cell, value in release.items())
    assert run("verify", "out/certificate.json.gz").code == 0
    for name, mode in (("protection.json", 0o600), ("findings.csv", 0o600)):
        assert stat.S_IMODE((tmp_path / "out" / name).stat().st_mode) == mode


def test_run_in_json_is_one_object_and_the_same_bytes_in_a_process_of_its_own(job, run, tmp_path):
    done = piped("run", job, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    facts = json.loads(done.stdout)
    assert (facts["status"], facts["verified"], facts["protected"]) == ("optimal", True, True)
    first = content(tmp_path / "out")
    assert run("run", job).code == 0
    again = content(tmp_path / "out")
    assert first.keys() == again.keys()
    for name in first.keys() - {"protection.json", "manifest.json"}:
        assert first[name] == again[name], name


def test_run_without_a_key_says_how_to_repeat(job, run):
    job.write_text(JOB.replace('key_file = "key.txt"', ""))
    assert "note: the job names no key_file, so a key was drawn" in run("run", job).out
    assert "note: the key of the release that stood in the folder was used again" in run("run", job).out


def test_run_without_a_method_writes_the_table(job, run, tmp_path):
    (tmp_path / "key.txt").unlink()
    written = JOB.replace("[method]\nbase = 20\n", "").replace('key_file = "key.txt"', "")
    job.write_text(written.replace('folder = "out"', 'table = "t.csv"'))
    said = run("run", job)
    assert (said.code, said.err) == (0, "")
    assert f"  {tmp_path / 't.csv'}  (confidential)" in said.out.splitlines()
    as_json = run("run", job, "--json")
    assert list(json.loads(as_json.out)) == ["cells", "sensitive"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.toml", "records.csv", "region.hrc", "t.csv"]


def test_run_without_a_method_needs_no_output(job, run, tmp_path):
    job.write_text(JOB.replace("[method]\nbase = 20\n", "").split("[output]")[0])
    before = content(tmp_path)
    said = run("run", job)
    assert (said.code, said.err) == (0, "")
    assert "Table(" in said.out
    assert content(tmp_path) == before


def test_a_protection_that_fails_exits_1_and_releases_nothing(job, run, tmp_path):
    job.write_text(JOB.replace('policy = "default"', FAR) + 'table = "t.csv"\n')
    before = content(tmp_path)
    said = run("run", job)
    assert (said.code, said.err) == (1, "")
    assert said.out.rstrip().endswith("Nothing was written.")
    assert content(tmp_path) == before
    as_json = run("run", job, "--json")
    assert as_json.code == 1
    assert json.loads(as_json.out)["verified"] is False
    assert len(as_json.err.splitlines()) == 1


BAD_JOBS = {
    "a job that is not there": (None, r"job\.toml: no such file"),
    "no TOML": ("region,n\n", r"job\.toml: not TOML"),
    "an unknown key": (JOB.replace("base = 20", "base = 20\ncolour = 1"), r"job\.toml: \[method\] colour does not go with name='round'; use base"),
    "records that are not there": (JOB.replace("records.csv", "none.csv"), r"none\.csv: no such file"),
    "a rule that would run": (JOB.replace('policy = "default"', "rules = [\"__import__('os').system('touch pwned')\"]"), r"it is none of PPercent"),
    "a base that is none": (JOB.replace("base = 20", "base = -1"), r"base: -1 is not a base"),
    "a column that is not there": (JOB.replace('"turnover"', '"x"'), r"records\.csv: there is no column 'x'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_JOBS)
def test_run_refuses_in_a_sentence_and_writes_nothing(job, run, name, tmp_path):
    text, words = BAD_JOBS[name]
    if text is None:
        job.unlink()
    else:
        job.write_text(text)
    before = content(tmp_path)
    refused(run("run", job, "--json"), words)
    if name != "a base that is none":  # told after the findings, which may be said by then
        refused(run("run", job), words)
    assert content(tmp_path) == before


def test_a_base_that_is_none_is_told_first(job, run):
    job.write_text(JOB.replace("base = 20", "base = -1"))
    refused(run("run", job), "base: -1 is not a base")


def test_a_folder_is_no_job(run, tmp_path):
    refused(run("run", tmp_path), r"a folder or device and not a file")


# ---- help ----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["tabulate", "run"])
def test_help_names_every_option_and_explains_it(command, run, monkeypatch):
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)
    said = run(command, "--help")
    assert (said.code, said.err) == (0, "")
    assert "\x1b" not in said.out
    assert max(map(len, said.out.splitlines())) <= 100
    from cellward.cli.reading import RECORDS

    names = [name.replace("_", "-") for name in RECORDS] if command == "tabulate" else ["json", "show"]
    for name in names:
        assert re.search(rf"--{name}\s+<[^>]+>\s+\w", said.out), name


def test_the_commands_are_in_the_help(run):
    listed = run("--help").out
    assert all(re.search(rf"\b{name}\b", listed) for name in ("tabulate", "run"))
