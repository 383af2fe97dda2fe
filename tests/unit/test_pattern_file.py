"""Other tools' patterns, read off their files and audited: exit code 1 where a level is unmet, and the cell is named."""

import numpy as np
import pytest

import cellward as cw
from cellward.protect.released import read_release

# 20 50 10 | 80      a: 8 at risk, ±2
#  8 19 22 | 49      safe pattern: the four corners of a rectangle
# 17 32 12 | 61
GRID = {"N": (20, 50, 10), "S": (8, 19, 22), "W": (17, 32, 12)}
VALUES = {(r, k): v for r, row in GRID.items() for k, v in zip("abc", row, strict=True)}
ROWS = [*VALUES, *((r, "Total") for r in "NSW"), *(("Total", k) for k in "abc"), ("Total", "Total")]
SAFE = {("S", "a"), ("S", "c"), ("W", "a"), ("W", "c")}
ALONE = {("S", "a"), ("S", "c")}  # columns a and c give both away


def value(codes):
    return sum(v for own, v in VALUES.items() if all(x in (y, "Total") for x, y in zip(codes, own, strict=True)))


@pytest.fixture
def table(tmp_path):
    lines = [
        f"{r},{k},{v},{'u' if (r, k) == ('S', 'a') else 's'},{2 * ((r, k) == ('S', 'a'))}"
        for (r, k), v in VALUES.items()
    ]
    (tmp_path / "t.csv").write_text("\n".join(["r,k,n,risk,level", *lines]) + "\n")
    return tmp_path / "t.csv"


READING = ["--dims", "r,k", "--value", "n", "--status", "risk", "--lpl", "level", "--upl", "level"]
TOOLS = {
    "gausssuppression": ("r,k,n,primary,suppressed", lambda risk, gone: [str(risk).upper(), str(gone).upper()]),
    "sdctable": ("r,k,n,sdcStatus", lambda risk, gone: ["u" if risk else "x" if gone else "s"]),
    "tauargus numbers": ("r,k,n,Status", lambda risk, gone: ["3" if risk else "11" if gone else "1"]),
    "tauargus letters": ("r,k,n,Status", lambda risk, gone: ["U" if risk else "M" if gone else "S"]),
    "rtauargus": ("r,k,n,Status", lambda risk, gone: ["B" if risk else "D" if gone else "V"]),
    "sdmx": ("r,k,n,CONF_STATUS", lambda risk, gone: ["C" if risk else "D" if gone else "F"]),
}


def other_tool(path, tool, hidden):
    heading, statuses = TOOLS[tool]
    rows = [f"{r},{k},{value((r, k))},{','.join(statuses((r, k) == ('S', 'a'), (r, k) in hidden))}" for r, k in ROWS]
    path.write_text("\n".join([heading, *rows]) + "\n")
    return path


@pytest.mark.parametrize("tool", TOOLS)
def test_patterns_of_other_tools_are_audited(run, table, tmp_path, tool):
    good = run("audit", table, *READING, "--release", other_tool(tmp_path / "good.csv", tool, SAFE))
    assert good.code == 0, good.err
    assert "every level is met" in good.out
    bad = run("audit", table, *READING, "--release", other_tool(tmp_path / "bad.csv", tool, ALONE))
    assert bad.code == 1
    assert "(S, a): attacker external works out its value 8 exactly" in bad.out


def test_crosses_stand_for_withheld_cells(run, table, tmp_path):
    for hidden, code in ((SAFE, 0), (ALONE, 1)):
        rows = [f"{r},{k},{'x' if (r, k) in hidden else value((r, k))}" for r, k in ROWS]
        (tmp_path / "x.csv").write_text("\n".join(["r,k,n", *rows]) + "\n")
        assert run("audit", table, *READING, "--release", tmp_path / "x.csv").code == code


def test_a_tau_argus_table_is_a_pattern_too(run, table, tmp_path):
    made = cw.read(table, dims=["r", "k"], value="n", status="risk", lpl="level", upl="level")
    from cellward.tauargus.files.statuses import with_pattern

    for hidden, code in ((SAFE, 0), (ALONE, 1)):
        flags = np.array([made.labels.tuple_of(i) in hidden for i in range(made.cells)])
        cw.write(with_pattern(made, flags), tmp_path / "p.tab")
        assert run("audit", table, *READING, "--release", tmp_path / "p.tab").code == code


def test_the_column_can_be_named_and_what_is_not_known_is_refused(run, table, tmp_path):
    file = other_tool(tmp_path / "p.csv", "rtauargus", SAFE)
    file.write_text(file.read_text().replace("Status", "mask"))
    assert run("audit", table, *READING, "--release", file, "--pattern", "mask").code == 0
    said = run("audit", table, *READING, "--release", file, "--pattern", "masque")
    assert said.code == 2 and "no column 'masque'" in said.err
    file.write_text(file.read_text().replace(",V\n", ",Q\n"))
    said = run("audit", table, *READING, "--release", file, "--pattern", "mask")
    assert said.code == 2 and "line 2: the status Q in mask is not known" in said.err.replace("'", "")
    file.write_text("\n".join(other_tool(file, "rtauargus", SAFE).read_text().splitlines()[:-1]) + "\n")
    assert "no row for (Total, Total)" in run("audit", table, *READING, "--release", file).err


def test_a_rounding_without_a_word_on_it_still_asks_for_its_base(table, tmp_path):
    rows = [f"{r},{k},{value((r, k))}" for r, k in ROWS]
    (tmp_path / "r.csv").write_text("\n".join(["r,k,n", *rows]) + "\n")
    made = cw.read(table, dims=["r", "k"], value="n")
    with pytest.raises(cw.InputError, match="give the rounding base"):
        read_release(tmp_path / "r.csv", made)


# ---- what a suppression of ours writes beside its release ---------------------------------------------------------------------------------


def test_statuses_are_written_for_the_house_in_the_words_of_all(run, table, tmp_path):
    out = tmp_path / "out"
    assert run("suppress", table, *READING, "--out", out).code == 0
    head, *rows = (out / "statuses.csv").read_text().splitlines()
    assert head == "r,k,status,rule,tauargus,tauargus letter,rtauargus,CONF_STATUS,OBS_STATUS"
    assert "S,a,primary,,9,U,B,C,Q" in rows
    assert "S,c,secondary,,11,M,D,D,Q" in rows
    assert "N,a,safe,,1,S,V,F,A" in rows
    assert (out / "statuses.csv").stat().st_mode & 0o077 == 0
    assert not (out / "ranges.csv").exists()
    assert run("verify", out).code == 0


def test_ranges_are_what_anybody_can_work_out(run, table, tmp_path):
    out = tmp_path / "out"
    assert run("suppress", table, *READING, "--out", out, "--ranges").code == 0
    head, *rows = (out / "ranges.csv").read_text().splitlines()
    assert head == "r,k,lower,upper"
    assert "N,a,20,20" in rows
    assert "S,a,0,25" in rows  # with W,a they are 25, with S,c 30
    assert run("verify", out).code == 0
    assert run("audit", table, *READING, "--release", out / "ranges.csv").code == 0
    narrow = tmp_path / "narrow.csv"
    narrow.write_text((out / "ranges.csv").read_text().replace("S,a,0,25", "S,a,7,25"))
    said = run("audit", table, *READING, "--release", narrow)
    assert said.code == 1 and "(S, a): attacker external narrows it down to 7 to 25" in said.out
