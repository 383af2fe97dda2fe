"""The command line: what it writes, prints and exits with."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from bank import BANK, causey_cox_ernst
from fixed_keys import key_file, key_of

import cellward as cw
from cellward.cli import app as application
from cellward.protect.adjustment.attempt import AdjustmentAttempt
from cellward.protect.lattice.problem import Found
from cellward.protect.perturbation.attempt import PerturbationAttempt
from cellward.protect.rounding.attempt import RoundingAttempt

ROOT = Path(__file__).parents[2]
FIRMS = ROOT / "examples" / "firms.csv"
HRC = ROOT / "examples" / "business" / "region.hrc"
LONG = ["--dims", "region,sector", "--value", "firms", "--hierarchy", f"region={HRC}", "--status", "status"]
KEYS = [
    "status", "objective", "bound", "gap", "seconds", "cells", "equations", "sensitive", "sum_abs", "max_abs", "protected", "verified", "notes",
]  # fmt: skip
FILES = {"release.csv", "release.json", "protection.json", "certificate.json.gz", "manifest.json", "report.html"}


def piped(*arguments):
    """Run it in a process of its own, its output going into pipes."""
    quiet = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS")}
    script = "from cellward.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, env=quiet, check=False
    )


def firms():
    tree = {"region": cw.Hierarchy.from_hrc(HRC)}
    return cw.read(FIRMS, dims=["region", "sector"], value="firms", status="status", hierarchies=tree)


def rows(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


# ---- protect -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [["--base", "5"], ["--within", "3", "--grid", "1"], ["--base", "0=5,1=10", "--objective", "nearest"]]
)
def test_cells_perturbed_from_file_to_audit(tmp_path, options):
    out = tmp_path / "out"
    done = piped("perturb", FIRMS, *LONG, *options, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in out.iterdir()} == FILES
    method = json.loads((out / "release.json").read_text())["method"]
    assert method["name"] == "cell perturbation"
    assert piped("verify", out / "certificate.json.gz").returncode == 0
    decimals = json.loads((out / "release.json").read_text())["decimals"]
    audited = piped("audit", FIRMS, *LONG, "--release", out, "--decimals", decimals)
    assert audited.returncode == 0, audited.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["perturb", "--unbiased"], "No such option: --unbiased"),
        (["perturb", "--within", "9", "--max-steps", "2"], "a distance has no steps"),
        (["round", "--grid", "1"], "No such option: --grid"),
        (["perturb", "--base", "5", "--within", "3"], "give one of the two"),
        (["adjust", "--base", "5"], "No such option: --base"),
        (["adjust", "--ignore-levels"], "No such option: --ignore-levels"),
        (["round", "--norm", "l2"], "No such option: --norm"),
        (["perturb", "--zeros-stay"], "No such option: --zeros-stay"),
        (["blur"], "No such command 'blur'"),
    ],
)
def test_options_of_another_method_are_refused(tmp_path, options, words):
    method, *given = options
    done = piped(method, FIRMS, *LONG, *given, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


LEVELS = """region,sector,n,status,lpl,upl
N,A,20,s,0,0
N,B,50,u,5,5
N,C,10,s,0,0
S,A,8,s,0,0
S,B,19,u,2,2
S,C,22,s,0,0
W,A,17,s,0,0
W,B,32,s,0,0
W,C,12,u,3,3
"""
AT_RISK = ["--dims", "region,sector", "--value", "n", "--status", "status", "--lpl", "lpl", "--upl", "upl"]
STUCK = ["--fixed", "N,A", "--fixed", "N,C", "--fixed", "N,Total"]


@pytest.fixture
def levels(tmp_path):
    (tmp_path / "t.csv").write_text(LEVELS)
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--norm", "l2", "--weights", "equal"),
        ("--norm", "huber", "--delta", "0.1", "--grid", "none"),
        ("--norm", "l1-2", "--shares", "0.5,0.5", "--grid", "5"),
        ("--norm", "linf", "--grid", "0.5", "--weights", "totals"),
        ("--senses", "up", "--jitter", "0", "--form", "leaf", "--no-zeros-stay"),
        ("--fixed", "margins", "--zeros-stay"),
        ("--fixed", "margins", "--soft-margins", "100", "--soft-levels"),
        ("--fixed", "N,A", "--fixed", "Total,Total"),
    ],
)
def test_cells_adjusted_from_file_to_audit(tmp_path, levels, run, options):
    out = tmp_path / "out"
    done = run("adjust", levels, *AT_RISK, *options, "--key-file", key_file(tmp_path / "key"), "--out", out)
    assert (done.code, done.err) == (0, "")
    assert "each value is published at least its level away from the truth" in done.out
    assert {path.name for path in out.iterdir()} == FILES
    stated = json.loads((out / "release.json").read_text())
    assert stated["method"]["name"] == "controlled tabular adjustment"
    assert run("verify", out / "certificate.json.gz", out / "release.csv", out / "release.json").code == 0
    audited = run("audit", levels, *AT_RISK, "--release", out, "--decimals", stated["decimals"])
    assert audited.code == 0, audited.err
    assert "3 level met" in audited.out
    assert "no intervals" in audited.out
    assert "protected: every level" not in audited.out


def test_an_adjustment_in_json(tmp_path, levels, run):
    done = run("adjust", levels, *AT_RISK, "--json", "--out", tmp_path / "out")
    facts = json.loads(done.out)
    assert list(facts) == KEYS
    assert (facts["protected"], facts["verified"], facts["sensitive"]) == (True, True, 3)


def test_an_adjustments_secrets_are_in_protection_json_alone(tmp_path, levels, run):
    out = tmp_path / "out"
    done = run("adjust", levels, *AT_RISK, "--key-file", key_file(tmp_path / "key", "secrets"), "--out", out)
    kept = json.loads((out / "protection.json").read_text())
    details = kept["details"]
    assert kept["key"] == key_of("secrets").hex()
    assert set(details["senses"]) == set(details["levels"]) == {"1", "4", "8"}
    assert {"form", "check", "flipped", "bent", "continuous"} <= set(details)
    public = (out / "release.csv").read_text() + (out / "release.json").read_text()
    told = done.out + public + run("audit", levels, *AT_RISK, "--release", out).out
    for word in (kept["key"][:8], "flipped", "bent", "jitter", '"senses"', '"levels"', "+1", "−1"):
        assert word not in told
    with gzip.open(out / "certificate.json.gz") as file:
        assert set(json.load(file)["method"]) == {"name", "norm", "version"}
    assert (out / "protection.json").stat().st_mode & 0o077 == 0
    for words in ("rises", "falls", "up by", "down by", "drawn"):
        assert words not in done.out


def test_the_same_key_makes_the_same_adjustment(tmp_path, levels, run):
    made = {}
    for name, key in (("one", 0), ("two", 0), ("three", 1)):
        run(
            "adjust",
            levels,
            *AT_RISK,
            "--key-file",
            key_file(tmp_path / "key", key),
            "--seed",
            len(made),
            "--out",
            tmp_path / name,
        )
        made[name] = [
            (tmp_path / name / file).read_bytes() for file in sorted(FILES - {"protection.json", "manifest.json"})
        ]
    assert made["one"] == made["two"] != made["three"]


@pytest.mark.parametrize(
    ("options", "files", "pictures"),
    [
        ([], {"report.html"}, False),
        (["--report"], {"report.html"}, True),
        (["--report", "public"], {"report.html", "public.html"}, True),
        (["--no-report"], set(), False),
    ],
)
def test_folders_get_the_report_that_is_asked_for(tmp_path, run, options, files, pictures):
    out = tmp_path / "out"
    done = run("round", FIRMS, *LONG, "--base", "5", *options, "--out", out)
    assert (done.code, done.err) == (0, "")
    assert {path.name for path in out.iterdir()} == FILES - {"report.html"} | files
    assert ("<svg" in (out / "report.html").read_text()) == pictures if files else True
    assert run("verify", out).code == 0


def test_reports_that_are_not_known_are_refused(tmp_path, run):
    for options, words in (
        (["--report=secret"], "--report secret: use internal or public"),
        (["--report", "--no-report"], "--report and --no-report do not go together"),
    ):
        done = run("round", FIRMS, *LONG, "--base", "5", *options, "--out", tmp_path / "out")
        assert done.code == 2 and words in " ".join(done.err.split())


def test_an_adjustment_that_cannot_be_exits_1(tmp_path, levels, run):
    done = run("adjust", levels, *AT_RISK, *STUCK, "--out", tmp_path / "out")
    assert done.code == 1
    assert done.out.startswith(
        "infeasible: no table keeps every sum and reaches every level: the level of (N, B), the fixed value of (N, A)"
    )
    assert not (tmp_path / "out").exists()


def test_levels_that_bent_exit_1_and_release_nothing(tmp_path, levels, run):
    arguments = ("adjust", levels, *AT_RISK, *STUCK, "--soft-levels", "--out", tmp_path / "out")
    done = run(*arguments)
    assert (done.code, done.err) == (1, "")
    assert done.out == (
        "not protected: levels had to give way so that every sum holds, those of (N, B); ask for lower levels, or free fixed cells or zeros. "
        "Nothing was written.\nnote: repaired (repair='levels'): level of (N, B) 5 → 0\n"
    )
    done = run(*arguments, "--json")
    facts = json.loads(done.out)
    assert done.code == 1
    assert (facts["protected"], facts["verified"]) == (False, False)
    assert done.err.startswith("cellward: not protected: levels had to give way")
    assert not (tmp_path / "out").exists()


def test_an_adjusted_release_takes_no_options_of_roundings(tmp_path, levels, run):
    run("adjust", levels, *AT_RISK, "--out", tmp_path / "out")
    done = run("audit", levels, *AT_RISK, "--release", tmp_path / "out", "--base", "5")
    assert done.code == 2
    assert "--base does not go with a release made by controlled tabular adjustment; leave it out" in done.err


def test_an_audit_finds_an_adjustment_that_is_too_near(tmp_path, levels, run):
    run("adjust", levels, *AT_RISK, "--senses", "up", "--jitter", "0", "--out", tmp_path / "out")
    levels.write_text(LEVELS.replace("N,B,50,u,5,5", "N,B,50,u,9,9"))
    done = run("audit", levels, *AT_RISK, "--release", tmp_path / "out")
    assert done.code == 1
    assert "(N, B): its published value lies within the protection levels" in done.out
    assert "NOT PROTECTED" in done.out


@pytest.mark.parametrize("command", ["adjust", "round", "perturb"])
def test_cells_without_levels_are_kept_from_exact_disclosure(command, tmp_path, run):
    """An adjustment published all 40 cells as they were."""
    base = [] if command == "adjust" else ["--base", "5"]
    done = run(command, FIRMS, *LONG, *base, "--out", tmp_path / "out")
    assert done.code == 0
    assert "protected: 5 requirements against 1 attacker" in done.out
    published, true = rows(tmp_path / "out" / "release.csv")[1:], rows(FIRMS)[1:]
    if command == "adjust":
        assert all(new[2] != old[2] for new, old in zip(published, true, strict=True) if old[3] == "u")


@pytest.mark.parametrize("ignoring", [(), ("--ignore-levels",)])
def test_a_base_of_one_publishes_nothing(ignoring, tmp_path, run):
    done = run("round", FIRMS, *LONG, "--base", "1", *ignoring, "--out", tmp_path / "out")
    assert done.code == 1
    assert not (tmp_path / "out").exists()
    assert "(N1, Mines)" in done.out


def test_fixed_cells_of_bare_equations_are_numbers(tmp_path, run):
    table = cw.Table.from_equations([10, 20, 30], [[1, 1, -1]], sensitive=[0, 1], lpl=[2, 2], upl=[2, 2])
    cw.write(table, tmp_path / "t.jj")
    done = run("adjust", tmp_path / "t.jj", "--fixed", "2", "--out", tmp_path / "out")
    assert done.code == 0
    assert rows(tmp_path / "out" / "release.csv")[3] == ["2", "30"]
    done = run("adjust", tmp_path / "t.jj", "--fixed", "9", "--out", tmp_path / "out")
    assert (done.code, "fixed: cell 9 does not exist; the table has cells 0 to 2" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--norm", "l3"), "norm='l3' is not known; use 'l1'"),
        (("--senses", "left"), "senses='left' is not known"),
        (("--jitter", "-1"), "jitter=-1.0: give a share"),
        (("--jitter", "much"), "'--jitter'"),
        (("--grid", "fine"), "grid='fine': give a positive number"),
        (("--norm", "l1-2", "--shares", "1"), "give two numbers that are not both 0"),
        (("--shares", "1,2"), "shares: it is for norm='l1-2'"),
        (("--delta", "2"), "delta: it is for norm='huber'"),
        (("--fixed", "rows"), "fixed: 'rows' is no cell of this table; give its codes in the order region, sector"),
        (("--fixed", "N,Z"), "fixed: sector has no code 'Z'"),
        (("--soft-margins", "5"), "give fixed='margins' too, or leave it out"),
        (("--form", "magic"), "form='magic' is not known"),
        (("--weights", "own"), "weights='own' is not known"),
    ],
)
def test_bad_options_of_an_adjustment_are_one_sentence(tmp_path, levels, run, options, words):
    done = run("adjust", levels, *AT_RISK, *options, "--out", tmp_path / "out")
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_perturbation_is_proposed_where_no_rounding_exists(tmp_path):
    cw.write(causey_cox_ernst(), tmp_path / "cube.csv")
    reading = ["--dims", "axis0,axis1,axis2", "--value", "value"]
    done = piped("round", tmp_path / "cube.csv", *reading, "--base", 2, "--max-steps", 1, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "cellward perturb" in done.stdout
    done = piped("perturb", tmp_path / "cube.csv", *reading, "--base", 2, "--out", tmp_path / "out")
    assert done.returncode == 0


def test_protect_in_a_process_of_its_own(tmp_path):
    out = tmp_path / "out"
    done = piped("round", FIRMS, *LONG, "--base", 5, "--out", out, "--show")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "optimal" in done.stdout
    assert "verified" in done.stdout
    assert {path.name for path in out.iterdir()} == FILES
    checked = piped("verify", out / "certificate.json.gz")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "\x1b" not in checked.stdout
    assert checked.stdout.count("\n") == 1
    assert ": holds: 40 published values satisfy" in checked.stdout


def test_help_in_a_process_of_its_own():
    done = piped("--help")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert all(name in done.stdout for name in ("round", "convert", "verify"))


def test_json_is_one_object_with_the_promised_keys_and_nothing_else(tmp_path):
    done = piped("round", FIRMS, *LONG, "--base", 5, "--out", tmp_path / "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    facts = json.loads(done.stdout)
    assert list(facts) == KEYS
    assert (facts["status"], facts["verified"], facts["protected"]) == ("optimal", True, True)
    assert (facts["cells"], facts["equations"], facts["sensitive"], facts["gap"]) == (40, 23, 5, 0.0)
    table = firms()
    change = [abs(int(row[2]) - a) for row, a in zip(rows(tmp_path / "out" / "release.csv")[1:], table.scaled.tolist(), strict=True)]  # fmt: skip
    assert (facts["sum_abs"], facts["max_abs"]) == (sum(change), max(change))
    assert facts["objective"] == facts["bound"] == sum(change)
    kept = json.loads((tmp_path / "out" / "protection.json").read_text())
    assert {key: kept[key] for key in KEYS} == facts


@pytest.mark.parametrize(
    "command", [("round", "--base", 1000), ("perturb", "--within", 1000), ("adjust", "--senses", "up")]
)
def test_json_carries_every_note_that_the_terminal_prints(tmp_path, run, command):
    method, *options = command
    said = run(method, FIRMS, *LONG, *options, "--out", tmp_path / "one")
    printed = [line.removeprefix("note: ") for line in said.out.splitlines() if line.startswith("note: ")]
    facts = json.loads(run(method, FIRMS, *LONG, *options, "--out", tmp_path / "two", "--json").out)
    assert facts["notes"] == printed != []
    assert json.loads((tmp_path / "two" / "protection.json").read_text())["notes"] == printed
    assert method == "adjust" or any("1000 is larger than every value of the table" in note for note in printed)


def test_the_release_holds_the_dimensions_and_the_value_in_the_files_order(tmp_path, run):
    assert run("round", FIRMS, *LONG, "--base", 5, "--out", tmp_path / "out").code == 0
    source, release = rows(FIRMS), rows(tmp_path / "out" / "release.csv")
    assert release[0] == ["region", "sector", "value"]
    assert [row[:2] for row in release[1:]] == [row[:2] for row in source[1:]]
    values = {tuple(row[:2]): int(row[2]) for row in release[1:]}
    assert all(value % 5 == 0 for value in values.values())
    for row in source[1:]:
        assert abs(values[row[0], row[1]] - int(row[2])) < 5
    for sector in ("Farms", "Mines", "Works", "Trade", "Total"):
        assert values["Total", sector] == values["North", sector] + values["South", sector]
        assert values["South", sector] == values["S1", sector] + values["S2", sector]


@pytest.mark.parametrize("extension", ["csv", "jj", "parquet"])
def test_every_format_gives_the_same_protection(tmp_path, run, extension):
    table = firms()
    source = cw.write(table, tmp_path / f"t.{extension}")
    long = [] if extension == "jj" else ["--dims", "region,sector", "--value", "value", "--hierarchy", f"region={HRC}"]
    out = tmp_path / "out"
    assert run("round", source, *long, "--out", out).code == 0
    release = rows(out / "release.csv")
    assert release[0] == (["cell", "value"] if extension == "jj" else ["region", "sector", "value"])
    if extension == "jj":
        assert [row[0] for row in release[1:]] == [str(i) for i in range(table.cells)]
    objective = sum(abs(int(row[-1]) - a) for row, a in zip(release[1:], table.scaled.tolist(), strict=True))
    assert objective == cw.ControlledRounding(5).protect(table).objective
    assert cw.verify(out / "certificate.json.gz")


def test_decimals_stay_decimals(tmp_path, run):
    source = tmp_path / "t.csv"
    source.write_text("a;n\nx;1.25\ny;3.10\nTotal;4.35\n")
    assert run("round", source, "--dims", "a", "--value", "n", "--base", "0.5", "--out", tmp_path / "out").code == 0
    assert rows(tmp_path / "out" / "release.csv")[1:] in (
        [["x", "1.50", ], ["y", "3.00"], ["Total", "4.50"]],
        [["x", "1.00"], ["y", "3.50"], ["Total", "4.50"]],
        [["x", "1.00"], ["y", "3.00"], ["Total", "4.00"]],
    )  # fmt: skip


def test_no_true_value_or_time_is_in_the_release(tmp_path, run):
    first, second = tmp_path / "one", tmp_path / "two"
    for out in (first, second):
        assert run("round", FIRMS, *LONG, "--out", out, "--key-file", key_file(tmp_path / "key")).code == 0
    for name in ("release.csv", "release.json", "certificate.json.gz"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert len(rows(first / "release.csv")[0]) == 3


def test_confidential_outputs_are_their_owners_alone(tmp_path, run):
    out = tmp_path / "out"
    assert run("round", FIRMS, *LONG, "--out", out).code == 0
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()}
    assert modes["protection.json"] == modes["certificate.json.gz"] == modes["manifest.json"] == 0o600
    assert modes["release.csv"] & 0o400


def test_an_existing_folder_is_written_into(tmp_path, run):
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    (out / "release.csv").write_text("old")
    assert run("round", FIRMS, *LONG, "--out", out).code == 0
    assert {path.name for path in out.iterdir()} == FILES | {"notes.txt"}
    assert (out / "notes.txt").read_text() == "mine"
    assert rows(out / "release.csv")[0] == ["region", "sector", "value"]
    before = (out / "release.csv").read_bytes()
    assert run("round", FIRMS, *LONG, "--base", 10, "--out", out).code == 0
    assert (out / "release.csv").read_bytes() != before
    assert cw.verify(out / "certificate.json.gz")


def test_folders_above_are_made(tmp_path, run):
    assert run("round", FIRMS, *LONG, "--out", tmp_path / "a" / "b" / "out").code == 0
    assert {path.name for path in (tmp_path / "a" / "b" / "out").iterdir()} == FILES
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["out"]


def test_levels_are_met_or_nothing_is_written_unless_they_are_ignored(tmp_path, run):
    source = tmp_path / "t.jj"
    cw.write(cw.Table.from_equations([7, 4, 11], [[1, 1, -1]], sensitive=[0], upl=[2]), source)
    met = run("round", source, "--out", tmp_path / "met", "--json")
    assert (met.code, json.loads(met.out)["protected"]) == (0, True)
    assert "1 requirements against 1 attacker shown by 1 witness" in run("round", source, "--out", tmp_path / "met").out
    cw.write(cw.Table.from_equations([7, 4, 11], [[1, 1, -1]], sensitive=[0], upl=[3]), source)
    dearer = run("round", source, "--out", tmp_path / "dearer", "--json")
    assert (json.loads(dearer.out)["protected"], json.loads(dearer.out)["objective"]) == (
        True,
        8,
    )  # 10, 5 and 15, not 5, 5 and 10
    cw.write(cw.Table.from_equations([7, 4, 11], [[1, 1, -1]], sensitive=[0], upl=[8]), source)
    refused = run("round", source, "--max-steps", "1", "--out", tmp_path / "out")
    assert refused.code == 1
    assert "cell 0 cannot be kept 8 above from attacker external, whatever is published" in refused.out
    assert not (tmp_path / "out").exists()
    ignored = run("round", source, "--ignore-levels", "--out", tmp_path / "out")
    assert ignored.code == 0
    assert "NOT LOOKED AT" in ignored.out
    assert json.loads((tmp_path / "out" / "protection.json").read_text())["protected"] is False


def test_more_steps_where_none_will_do(tmp_path, run):
    source = tmp_path / "t.csv"
    source.write_text("a,n,s,up\nx,7,u,6\ny,12,s,0\n")
    reading = ("--dims", "a", "--value", "n", "--status", "s", "--upl", "up")
    short = run("round", source, *reading, "--base", "4", "--max-steps", "1", "--out", tmp_path / "one")
    assert short.code == 1 and "(x) cannot be kept 6 above from attacker external" in short.out
    said = run("round", source, *reading, "--base", "4", "--max-steps", "3", "--out", tmp_path / "two")
    assert said.code == 0 and "multiples less than 2 bases away" in said.out
    assert json.loads((tmp_path / "two" / "release.json").read_text())["method"]["steps"] == 2
    audited = run("audit", source, *reading, "--release", tmp_path / "two")
    assert audited.code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--base", "0=5,x=2"), "--base 0=5,x=2"),
        (("--goal", "fast"), "goal='fast'"),
        (("--only", "rows"), "only: 'rows' is no cell"),
    ],
)
def test_options_of_rounding_that_are_not_known(tmp_path, run, options, words):
    said = run("round", FIRMS, *LONG, *options, "--out", tmp_path / "out")
    assert said.code == 2 and words in said.err and said.err.count("\n") == 1


def test_bases_and_weights_by_level(tmp_path, run):
    said = run(
        "round",
        FIRMS,
        *LONG,
        "--base",
        "0=5,1=10",
        "--weights",
        "0=1,1=3",
        "--max-steps",
        "3",
        "--json",
        "--out",
        tmp_path / "o",
    )
    assert said.code == 0 and json.loads(said.out)["verified"] is True


def test_weights_of_the_table_are_used_on_request(tmp_path, run):
    source = tmp_path / "t.jj"
    cw.write(BANK["weighted"](), source)
    plain = run("round", source, "--json", "--out", tmp_path / "one")
    weighted = run("round", source, "--weights", "table", "--json", "--out", tmp_path / "two")
    table = BANK["weighted"]()
    for printed, weights in ((plain, None), (weighted, "table")):
        assert (
            json.loads(printed.out)["objective"] == cw.ControlledRounding(5).protect(table, weights=weights).objective
        )


# ---- infeasible and failed ---------------------------------------------------------------------------------------------------------------


def test_infeasible_exits_1_and_writes_nothing(tmp_path, run):
    source = cw.write(causey_cox_ernst(), tmp_path / "t.jj")
    said = run("round", source, "--base", 2, "--max-steps", 1, "--out", tmp_path / "out")
    assert (said.code, said.err) == (1, "")
    assert said.out.startswith("infeasible: ")
    assert said.out.rstrip().endswith("Nothing was written.")
    as_json = run("round", source, "--base", 2, "--max-steps", 1, "--out", tmp_path / "out", "--json")
    facts = json.loads(as_json.out)
    assert (as_json.code, list(facts)) == (1, [*KEYS, "reason"])
    assert as_json.err.startswith("cellward: no table of neighbouring multiples keeps every sum")
    assert (facts["status"], facts["verified"]) == ("infeasible", False)
    assert [facts[key] for key in ("objective", "gap", "sum_abs", "max_abs")] == [None] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["t.jj"]


def test_a_solver_that_fails_exits_3_and_writes_nothing(tmp_path, run, round_by):
    def broken(*_):
        raise cw.SolverError("the solver gave up on block 3; try another seed")

    round_by(broken)
    said = run("round", FIRMS, *LONG, "--out", tmp_path / "out", "--json")
    assert (said.code, said.out) == (3, "")
    assert said.err == "cellward: the solver gave up on block 3; try another seed\n"
    assert not list(tmp_path.iterdir())


def test_a_limit_reached_with_nothing_found_exits_3_and_writes_nothing(tmp_path, run, round_by):
    round_by(lambda *_: Found("unknown", "no engine"))
    said = run("round", FIRMS, *LONG, "--out", tmp_path / "out", "--json", "--time-limit", 1)
    words = "cellward: nothing was found within 1 s (no engine; solving, 0.0 s); give more time\n"
    assert (said.code, re.sub(r"\d\.\d s\)", "0.0 s)", said.err)) == (3, words)
    assert json.loads(said.out)["status"] == "failed"
    assert not list(tmp_path.iterdir())


def test_a_grid_of_nothing_is_refused_in_words_of_the_command_line(tmp_path, run):
    said = run("adjust", FIRMS, *LONG, "--grid", "0", "--out", tmp_path / "out")
    assert (said.code, said.err) == (2, "cellward: grid='0': give a positive number such as 1, 'table', or none\n")


@pytest.mark.parametrize("attempt", [RoundingAttempt, PerturbationAttempt, AdjustmentAttempt])
def test_failed_exits_3_whatever_the_method(tmp_path, run, monkeypatch, attempt):
    monkeypatch.setattr(attempt, "solve", lambda own: own.failed("nothing was found; give more time", "no engine"))
    command = {RoundingAttempt: "round", PerturbationAttempt: "perturb", AdjustmentAttempt: "adjust"}[attempt]
    said = run(command, FIRMS, *LONG, "--out", tmp_path / "out")
    assert (said.code, said.out) == (3, "failed: nothing was found; give more time. Nothing was written.\n")
    assert not list(tmp_path.iterdir())


def test_an_answer_that_does_not_hold_is_never_written(tmp_path, run, round_by):
    import numpy as np

    round_by(lambda problem, _: Found("optimal", "a liar", np.ones(problem.size, np.int64), 0))
    said = run("round", FIRMS, *LONG, "--out", tmp_path / "out")
    assert (said.code, said.out, said.err.count("\n")) == (3, "", 1)
    assert said.err.startswith("cellward: a liar gave an answer that does not hold: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("broken", ["replace", "rename"])
def test_a_disk_that_fails_leaves_no_part_of_a_folder(tmp_path, run, monkeypatch, broken):
    def fail(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, fail)
    try:
        said = run("round", FIRMS, *LONG, "--out", tmp_path / "out")
    finally:
        assert not list(tmp_path.iterdir())
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith("cellward: ")


def test_a_disk_that_fails_leaves_the_old_files(tmp_path, run, monkeypatch):
    out = tmp_path / "out"
    assert run("round", FIRMS, *LONG, "--out", out).code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def fail(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert run("round", FIRMS, *LONG, "--base", 10, "--out", out).code == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


# ---- verify ------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def certificate(tmp_path, run):
    assert run("round", FIRMS, *LONG, "--out", tmp_path / "out").code == 0
    return tmp_path / "out" / "certificate.json.gz"


def test_a_good_certificate_holds(certificate, run):
    said = run("verify", certificate, certificate)
    assert (said.code, said.err) == (0, "")
    assert said.out.count(": holds: ") == 2


def tampered(path, change):
    content = json.loads(gzip.decompress(path.read_bytes()))
    change(content)
    target = path.with_name("tampered.json.gz")
    target.write_bytes(gzip.compress(json.dumps(content).encode()))
    return target


def _add(key, i, amount):
    def change(content):
        content[key][i] += amount

    return change


def _print(i, amount):
    def change(content):
        content["printed"]["value"][i] += amount

    return change


def _one_less(content):
    content["objective"] -= 1


def _drop(content):
    del content["nominal"]


def _float(content):
    content["printed"]["value"][0] = float(content["printed"]["value"][0])


def _no_equations(content):
    content["printed"]["value"] = [v + 5 for v in content["printed"]["value"]]


@pytest.mark.parametrize(
    "change",
    [
        _print(0, 5), _print(39, 1), _add("nominal", 3, 1), _one_less, _drop, _float, _no_equations,
    ],
)  # fmt: skip
def test_a_tampered_certificate_does_not_hold(certificate, run, change):
    said = run("verify", tampered(certificate, change))
    assert (said.code, said.err) == (1, "")
    assert "DOES NOT HOLD" in said.out
    assert said.out.count("\n") == 1
    assert run("verify", certificate, tampered(certificate, change)).code == 1


def test_every_change_of_one_published_value_is_found(certificate):
    content = json.loads(gzip.decompress(certificate.read_bytes()))
    for i, amount in itertools.product(range(len(content["printed"]["value"])), (-5, -1, 1, 5)):
        assert not cw.verify(tampered(certificate, _print(i, amount)))


def test_a_truncated_missing_or_foreign_certificate_does_not_hold(certificate, run, tmp_path):
    data = certificate.read_bytes()
    cut = tmp_path / "cut.json.gz"
    for size in (0, 1, 5, 10, len(data) // 2, len(data) - 9, len(data) - 1):
        cut.write_bytes(data[:size])
        assert run("verify", cut).code == 1, size
    said = run("verify", tmp_path / "none.json.gz")
    assert (said.code, said.out) == (2, "")
    assert said.err.endswith("none.json.gz: there is no such file; check the name\n")
    foreign = tmp_path / "firms.gz"
    foreign.write_bytes(FIRMS.read_bytes())
    said = run("verify", foreign)
    assert (said.code, said.err, said.out.count("\n")) == (1, "", 1)
    assert "DOES NOT HOLD" in said.out
    said = run("verify", tmp_path)
    assert (said.code, said.out) == (2, "")
    assert "there is no manifest.json in it; give a folder that cellward wrote" in said.err


def test_the_checker_runs_by_itself(certificate):
    checker = ROOT / "src" / "cellward" / "audit" / "verify.py"
    alone = subprocess.run(
        [sys.executable, "-I", "-S", str(checker), str(certificate)], capture_output=True, text=True, check=False
    )
    assert (alone.returncode, alone.stderr) == (0, "")
    assert ": holds: " in alone.stdout


# ---- convert -----------------------------------------------------------------------------------------------------------------------------


def test_convert_there_and_back(tmp_path, run):
    long = ["--dims", "region,sector", "--value", "value", "--status", "status", "--hierarchy", f"region={HRC}"]
    steps = [
        (FIRMS, "a.csv", LONG),
        ("a.csv", "b.parquet", long),
        ("b.parquet", "c.jj", long),
        ("b.parquet", "d.csv", long),
    ]
    for source, target, options in steps:
        said = run("convert", tmp_path / source, tmp_path / target, *options)
        assert (said.code, said.err) == (0, "")
        assert said.out == f"{tmp_path / target}: 40 cells, 23 equations\n"
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "d.csv").read_bytes()
    assert [row[:3] for row in rows(tmp_path / "d.csv")[1:]] == [row[:3] for row in rows(FIRMS)[1:]]
    jj, first = cw.read(tmp_path / "c.jj"), firms()
    assert jj.scaled.tolist() == first.scaled.tolist()
    assert jj.sensitivity.status.tolist() == first.sensitivity.status.tolist()
    assert jj.relations.indices.tolist() == first.relations.indices.tolist()


def test_convert_says_that_a_long_table_cannot_hold_bare_equations(tmp_path, run):
    source = cw.write(BANK["right_hand_sides"](), tmp_path / "t.jj")
    said = run("convert", source, tmp_path / "t.csv")
    assert said.code == 0
    assert "no place for bare equations" in said.err
    assert rows(tmp_path / "t.csv")[0][:2] == ["cell", "value"]
    again = run("convert", source, tmp_path / "u.jj")
    assert (again.code, again.err) == (0, "")
    assert (tmp_path / "u.jj").read_bytes() == source.read_bytes()
    assert stat.S_IMODE((tmp_path / "u.jj").stat().st_mode) == 0o600


def test_the_readmes_commands_work(tmp_path, run, monkeypatch):
    """Every ``cellward …`` line of README.md, run in a folder with the examples in it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text().replace("\\\n", " ")
    commands = [line.split()[1:] for line in text.splitlines() if line.startswith("    cellward ")]
    assert len(commands) >= 3
    for command in commands:
        assert run(*command).code == 0, command


def test_an_interrupt_is_a_word_and_130(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(application, "build", interrupted)
    said = run("round")
    assert (said.code, said.out, said.err) == (130, "", "cellward: interrupted; nothing was written\n")


# ── audit, and certificates with their public half ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def released(tmp_path, run):
    out = tmp_path / "out"
    assert run("round", FIRMS, *LONG, "--out", out).code == 0
    return out


def test_an_audit_of_a_release_folder(released, run, tmp_path):
    said = run("audit", FIRMS, *LONG, "--release", released, "--out", tmp_path / "intervals.csv")
    assert (said.code, said.err) == (0, "")
    assert "intervals of attacker external" in said.out
    table = rows(tmp_path / "intervals.csv")
    assert table[0] == ["region", "sector", "attacker", "lower", "upper", "verdict", "shortfall", "exact"]
    assert len(table) == len(rows(released / "release.csv"))
    assert (tmp_path / "intervals.csv").stat().st_mode & 0o077 == 0


def test_an_audit_of_another_tools_rounding(released, run, tmp_path):
    alone = tmp_path / "their.csv"
    alone.write_bytes((released / "release.csv").read_bytes())
    assert run("audit", FIRMS, *LONG, "--release", alone).code == 2
    said = run("audit", FIRMS, *LONG, "--release", alone, "--base", 5, "--knowledge", "paper", "--json")
    assert said.code == 0
    assert json.loads(said.out)["open"] == 0


def test_an_insider_found_by_an_audit_gives_exit_code_1(tmp_path, run):
    source = tmp_path / "t.csv"
    source.write_text("a,n,s,up\nx,7,u,1\ny,4,s,0\nz,9,s,0\nTotal,20,s,0\n")
    reading = ("--dims", "a", "--value", "n", "--status", "s", "--upl", "up")
    out = tmp_path / "out"
    assert run("round", source, *reading, "--out", out).code == 0
    insider = tmp_path / "attackers.csv"
    insider.write_text("attacker,a,lower,upper\nSmith,y,4,4\nSmith,z,9,9\nSmith,Total,20,20\n")
    said = run("audit", source, *reading, "--release", out, "--attackers", insider)
    assert said.code == 1
    assert "(x): attacker Smith works out its value 7 exactly" in said.out
    assert said.out.rstrip().endswith("NOT PROTECTED")
    refused = run("round", source, *reading, "--out", tmp_path / "two", "--attackers", insider)
    assert refused.code == 1
    assert "(x) cannot be kept 1 above from attacker Smith, whatever is published" in refused.out
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("value", "other", 1), "no column 'value'"),
        (lambda text: text.replace("region", "place", 1), "no column 'region'"),
        (lambda text: "\n".join(text.split("\n")[:-2]) + "\n", "no row for"),
        (lambda text: text + text.split("\n")[1] + "\n", "occurs twice"),
        (lambda text: text.rstrip("\n") + ".25\n", "is finer than the table's 0 decimals"),
    ],
)
def test_releases_that_do_not_fit_the_table(released, run, change, words):
    path = released / "release.csv"
    path.write_text(change(path.read_text()))
    said = run("audit", FIRMS, *LONG, "--release", released)
    assert said.code == (0 if words is None else 2)
    assert words is None or words in said.err


def test_a_statement_that_is_none_is_refused(released, run):
    for text in ("{", "[]", '{"method": 1, "decimals": 0, "certificate": ""}'):
        (released / "release.json").write_text(text)
        assert run("audit", FIRMS, *LONG, "--release", released).code == 2


def test_a_certificate_is_checked_with_its_public_half_and_its_table(released, run, tmp_path):
    files = [released / name for name in ("certificate.json.gz", "release.csv", "release.json")]
    said = run("verify", *files)
    assert (said.code, said.out.count(": holds: ")) == (0, 3)
    assert run("verify", files[0], "--table", FIRMS, *LONG).code == 0
    other = tmp_path / "other.csv"
    other.write_text(FIRMS.read_text().replace(",5,", ",6,", 1))
    said = run(
        "verify", files[0], "--table", FIRMS, *LONG, "--totals", "compute", "--empty", "zero", "--upper", "1000000"
    )
    assert said.code == 1
    assert "of another table" in said.out
    values = files[1].read_text().split("\n")
    files[1].write_text("\n".join([*values[:2], values[2] + "5", *values[3:]]))
    assert run("verify", *files[:2]).code == 1
    files[2].write_text(files[2].read_text().replace('"5"', '"6"'))
    assert run("verify", files[0], files[2]).code == 1


def test_a_key_on_the_command_line_is_refused(run, tmp_path):
    said = run("round", FIRMS, *LONG, "--out", tmp_path / "out", "--key", "5a" * 32)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "--key-file" in said.err
    assert "5a5a" not in said.err
    assert not (tmp_path / "out").exists()


def test_a_base_that_was_not_used_is_noticed(released, run):
    for options in (("--base", 7), ("--base", "9" * 30), ("--steps", 10**15)):
        said = run("audit", FIRMS, *LONG, "--release", released, *options)
        assert (said.code, said.err.count("\n")) == (2, 1), options
