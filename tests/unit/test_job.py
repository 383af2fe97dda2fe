"""Jobs: one file says everything from the records to the release, the same bytes come out each time, and what it does not say right is refused."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
from decimal import Decimal

import duckdb
import polars as pl
import pytest
from fixed_keys import key_file, key_of

import cellward as cw
from cellward.job import Job
from cellward.risk.p_percent import PPercent
from cellward.risk.policy import Policy
from cellward.risk.threshold import Threshold

pytestmark = pytest.mark.usefixtures("one_instance")

KEY = key_of("job").hex()
PUBLIC = {"release.csv", "release.json"}
FILES = PUBLIC | {"certificate.json.gz", "protection.json", "manifest.json", "report.html"}
RECORDS = """region,nace,firm,turnover
N1,A,f1,90
N1,A,f2,5
N1,A,f3,4
N1,B,f4,40
N1,B,f5,38
N1,B,f6,37
N1,B,f7,30
N2,A,f1,25
N2,A,f8,24
N2,A,f9,23
N2,A,f4,22
N2,B,f10,51
N2,B,f11,50
N2,B,f12,49
S1,A,f13,66
S1,A,f14,60
S1,A,f15,61
S1,B,f16,31
S1,B,f17,30
S1,B,f2,33
"""
HRC = "North\n@N1\n@N2\nSouth\n@S1\n"
SECTIONS = {
    "input": 'file = "records.csv"',
    "roles": 'dims = ["region", "nace"]\nmeasure = "turnover"\ncontributor = "firm"',
    "risk": 'policy = "default"',
    "method": "base = 10",
    "output": 'folder = "out"\nkey_file = "key.txt"',
}


def bug(why):
    """Known and reported; strict, so that the repair shows."""
    return pytest.mark.xfail(reason=why)


def text(*more, **sections):
    """A job file: the sections of everybody, some of them said otherwise or left out (None), and what else is written."""
    said = {**SECTIONS, **sections}
    return "\n".join([f"[{name}]\n{body}\n" for name, body in said.items() if body is not None] + list(more))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "records.csv").write_text(RECORDS)
    key_file(folder / "key.txt", "job")
    (folder / "region.hrc").write_text(HRC)
    return folder


def job(folder, written=None, name="job.toml"):
    path = folder / name
    path.write_bytes(written if isinstance(written, bytes) else (text() if written is None else written).encode())
    return Job.read(path)


def carried_out(folder, written=None):
    """Everything that ``cellward run`` does."""
    own = job(folder, written)
    table = own.table()
    result = own.protect(table)
    files = own.write(table, result)
    return own, table, result, files


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refuses(folder, written, words):
    """One printable sentence, and nothing written."""
    (folder / "job.toml").write_bytes(written if isinstance(written, bytes) else written.encode())
    before = content(folder)
    with pytest.raises(cw.InputError) as caught:
        carried_out(folder, written)
    said = str(caught.value)
    assert re.search(words, said), said
    assert said.isprintable()
    assert len(said) < 700
    assert content(folder) == before
    return said


def values(table):
    return {table.labels.tuple_of(i): value for i, value in enumerate(table.values.tolist())}


def added(dims=("region", "nace"), of="turnover"):
    out = {}
    for row in csv.DictReader(RECORDS.splitlines()):
        for k in range(2 ** len(dims)):
            cell = tuple("Total" if k >> d & 1 else row[dim] for d, dim in enumerate(dims))
            out[cell] = out.get(cell, 0) + int(row[of])
    return out


# ---- what a job does -----------------------------------------------------------------------------------------------------------------------


def test_a_job_from_records_to_release(folder):
    own, table, result, files = carried_out(folder)
    assert own.name == "job"
    assert values(table) == added()
    assert result.status == "optimal"
    assert {path.name for path in files} == FILES | {"findings.csv"}
    assert result.protected
    facts = json.loads((folder / "out" / "protection.json").read_text())
    assert facts["job"]["sha256"] == hashlib.sha256((folder / "job.toml").read_bytes()).hexdigest()
    assert facts["job"]["input_sha256"] == hashlib.sha256(RECORDS.encode()).hexdigest()
    assert (facts["job"]["file"], facts["key"], facts["verified"]) == ("job.toml", KEY, True)
    assert cw.verify(folder / "out" / "certificate.json.gz")
    findings = list(csv.DictReader((folder / "out" / "findings.csv").read_text().splitlines()))
    assert [tuple(row[dim] for dim in ("region", "nace")) for row in findings] == [
        table.labels.tuple_of(int(i)) for i in table.sensitive
    ]
    assert ("N1", "A") in [(row["region"], row["nace"]) for row in findings]


def test_a_job_may_perturb(folder):
    method = 'name = "perturb"\nwithin = 40\ngrid = 1\nignore_levels = true'
    _, table, result, files = carried_out(folder, text(method=method))
    assert result.method["name"] == "cell perturbation"
    assert result.status in ("optimal", "feasible")
    assert {path.name for path in files} == FILES | {"findings.csv"}
    assert (result.scaled != result.instance.a)[table.sensitive].any()
    refuses(folder, text(method='name = "perturb"\nbase = 5\nunbiased = true'), r"\[method\] unbiased does not go with")


ADJUST = 'name = "adjust"'


@pytest.mark.parametrize(
    "options",
    [
        "",
        'norm = "l2"\ngrid = "none"',
        'norm = "l1-2"\nshares = [0.5, "0.5"]\nsubset = [["N1", "A"]]\ngrid = 0.5',
        'norm = "huber"\ndelta = 0.1\nweights = "equal"',
        'norm = "linf"\nsenses = "down"\njitter = 0',
        "senses = [1]\njitter = 0.5\ngrid = 5\nzeros_stay = false",
        'fixed = "margins"\nsoft_margins = 10\nsoft_levels = true\nform = "leaf"',
        'fixed = [["Total", "Total"], 3]\ntime_limit_s = 60',
    ],
)
def test_a_job_may_adjust(folder, options):
    _, table, result, files = carried_out(folder, text(method=f"{ADJUST}\n{options}"))
    assert result.method["name"] == "controlled tabular adjustment"
    assert result.protected
    assert {path.name for path in files} == FILES | {"findings.csv"}
    details = json.loads((folder / "out" / "protection.json").read_text())["details"]
    assert sorted(map(int, details["senses"])) == table.sensitive.tolist()
    assert (result.scaled != result.instance.a)[table.sensitive].all()
    public = "".join((folder / "out" / name).read_text() for name in PUBLIC)
    assert KEY not in public
    assert "sense" not in public


def test_the_key_of_a_job_draws_its_adjustment(folder):
    made = []
    for label in ("job", "job", "another"):
        key_file(folder / "key.txt", label)
        carried_out(folder, text(method=ADJUST))
        made.append((folder / "out" / "release.csv").read_bytes())
        shutil.rmtree(folder / "out")
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("base = 5", r"\[method\] base does not go with name='adjust'; use"),
        ("norm = 2", r"\[method\]: norm = 2 is a whole number; give text"),
        ('norm = "l3"', r"norm='l3' is not known"),
        ("senses = [3]", r"senses: give \+1 \(up\) or −1 \(down\) for each of the 1 cells at risk"),
        ("jitter = -1", r"jitter=-1\.0: give a share"),
        ('jitter = "much"', r"\[method\]: jitter = 'much' is text; give a whole number or a number"),
        ('grid = "fine"', r"grid='fine': give a positive number"),
        ('norm = "l1-2"\nshares = [1]', r"give two numbers that are not both 0"),
        ('norm = "l1-2"\nsubset = [["N9", "A"]]', r"subset: region has no code 'N9'"),
        ('norm = "l1-2"\nsecond_weights = [1, 2]', r"second_weights: give one number of at least 0 for each of"),
        ('fixed = "rows"', r"fixed='rows' is not known; use 'margins' or a list of cells"),
        ("fixed = [[1, 2]]", r"\[1, 2\] is no cell; give its codes"),
        ("soft_levels = 1", r"soft_levels = 1 is a whole number; give true or false"),
        ("soft_margins = 5", r"give fixed='margins' too"),
        ('form = "magic"', r"form='magic' is not known"),
    ],
)
def test_what_a_job_says_wrong_of_an_adjustment(folder, options, words):
    refuses(folder, text(method=f"{ADJUST}\n{options}"), words)


def test_the_same_job_makes_the_same_bytes(folder, tmp_path):
    carried_out(folder)
    first = content(folder / "out")
    shutil.rmtree(folder / "out")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(folder, elsewhere)
    for place in (folder, elsewhere):
        carried_out(place, text(output=SECTIONS["output"] + "\nthreads = 2"))
        again = content(place / "out")
        assert set(again) == set(first)
        for name in set(first) - {"protection.json", "manifest.json"}:
            assert again[name] == first[name], name
        for facts in (json.loads(first["protection.json"]), json.loads(again["protection.json"])):
            assert facts.pop("seconds") >= 0


def test_without_a_key_one_is_drawn_and_the_release_is_the_same(folder):
    carried_out(folder, text(output='folder = "out"'))
    first = content(folder / "out")
    carried_out(folder, text(output='folder = "again"'))
    again = content(folder / "again")
    assert first["release.csv"] == again["release.csv"]
    keys = {json.loads(files["protection.json"])["key"] for files in (first, again)}
    assert len(keys) == 2
    assert all(len(key) == 64 for key in keys)


def test_a_key_file(folder):
    carried_out(folder)
    key_file(folder / "secret", "job")
    carried_out(folder, text(output='folder = "again"\nkey_file = "secret"'))
    assert json.loads((folder / "again" / "protection.json").read_text())["key"] == KEY
    for name in ("release.csv", "release.json", "certificate.json.gz"):
        assert (folder / "again" / name).read_bytes() == (folder / "out" / name).read_bytes()


def test_files_are_looked_for_beside_the_job(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (folder / "jobs").mkdir()
    written = text(
        input='file = "../records.csv"',
        hierarchies='region = "../region.hrc"',
        output='folder = "../made/out"\ntable = "table.csv"\nkey_file = "../key.txt"',
    )
    job_path = folder / "jobs" / "job.toml"
    job_path.write_text(written)
    own = Job.read(job_path, outside=True)
    table = own.table()
    own.write(table, own.protect(table))
    assert (folder / "made" / "out" / "release.csv").exists()
    assert (folder / "jobs" / "table.csv").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study"]
    assert values(table)["North", "Total"] == sum(v for (r, n), v in added().items() if r in ("N1", "N2") and n == "Total")  # fmt: skip


def test_without_a_method_the_table_is_all(folder):
    own = job(folder, text(method=None, output='table = "table.csv"'))
    table = own.table()
    assert own.method is None
    path = own.write_table(table)
    again = cw.read(path, dims=["region", "nace"], value="value", status="status", lpl="lpl", upl="upl")
    assert values(again) == values(table)
    assert again.sensitive.tolist() == table.sensitive.tolist()
    with pytest.raises(cw.InputError, match=r"there is no \[method\]"):
        own.protect(table)


def test_a_job_may_have_a_name(folder):
    assert job(folder, text("[job]\nname = 'Turnover 2026'")).name == "Turnover 2026"


# ---- roles, reading and hierarchies --------------------------------------------------------------------------------------------------------

LEVELS = "big,small\nNorth,N1\nNorth,N2\nSouth,S1\n"
PARENTS = "code;above\nNorth;Total\nSouth;Total\nN1;North\nN2;North\nS1;South\n"


@pytest.mark.parametrize(
    "written",
    [
        'region = "region.hrc"',
        'region = ["region.hrc"]',
        'region = {file = "region.hrc", lead = "@"}',
        'region = {file = "levels.csv", levels = ["big", "small"]}',
        'region = {file = "parents.csv", child = "code", parent = "above"}',
        'region = "levels.csv"',
        'region = "parents.csv"',
        'region = ["region.hrc", {file = "levels.csv", levels = ["big", "small"]}]',
    ],
)
def test_hierarchies_in_every_form(folder, written):
    (folder / "levels.csv").write_text(LEVELS)
    (folder / "parents.csv").write_text(PARENTS)
    table = job(folder, text(hierarchies=written)).table()
    plain = added()
    for nace in ("Total", "A", "B"):
        plain["North", nace] = plain["N1", nace] + plain["N2", nace]
        plain["South", nace] = plain["S1", nace]
    assert values(table) == plain


@pytest.mark.parametrize("separator", [",", ";", "^"])
def test_hierarchies_from_the_records_themselves(folder, separator):
    rows = [["big", "small", "v"], ["North", "N1", "1"], ["North", "N2", "2"], ["South", "S1", "4"]]
    (folder / "two.csv").write_text("".join(separator.join(row) + "\n" for row in rows))
    written = text(
        input=f'file = "two.csv"\nseparator = "{separator}"',
        roles='dims = ["small"]\nmeasure = "v"',
        hierarchies='small = {levels = ["big", "small"]}',
        risk=None,
    )
    assert values(job(folder, written).table()) == {("Total",): 7, ("North",): 3, ("N1",): 1, ("N2",): 2, ("South",): 4, ("S1",): 4}  # fmt: skip


def test_hierarchies_from_records_in_parquet(folder):
    pl.DataFrame({"big": ["N", "N"], "small": ["N1", "N2"], "v": [1, 2]}).write_parquet(folder / "two.parquet")
    written = text(
        input='file = "two.parquet"',
        roles='dims = ["small"]\nmeasure = "v"',
        hierarchies='small = {levels = ["big", "small"]}',
        risk=None,
    )
    assert values(job(folder, written).table()) == {("Total",): 3, ("N",): 3, ("N1",): 1, ("N2",): 2}


ROLES = {
    "a formula": ('dims = "region*nace + nace"\nmeasure = "turnover"', 12),
    "two tables": ('dims = "region + nace"\nmeasure = "turnover"', 6),
    "counts": ('dims = ["region"]', 4),
    "a total of one's own": ('dims = ["region"]\ntotal = {region = "All"}', 4),
    "lists and words": ('dims = ["region"]\nmissing = {region = "keep"}\nmissing_codes = {region = ["S1"]}', 4),
    "padding": ('dims = ["region"]\npad = {region = 4}', 4),
    "decimals": ('dims = ["region"]\nmeasure = "turnover"\ndecimals = 1\nlargest = 5', 4),
    "bounds": ('dims = ["region"]\nmeasure = "turnover"\nlower = 0.5\nupper = 2000', 4),
    "the others": ('dims = ["region"]\nmeasure = "turnover"\nblank = "zero"\nnegative = "absolute"\nempty = "zero"', 4),
}  # fmt: skip


@pytest.mark.parametrize("name", ROLES)
def test_roles(folder, name):
    roles, cells = ROLES[name]
    table = job(folder, text(roles=roles, risk=None)).table()
    assert table.cells == cells
    assert int(table.values[0]) == (added()["Total", "Total"] if "turnover" in roles else 20)


def test_decimal_commas_and_separators(folder):
    (folder / "records.csv").write_text("r;v\na;1,5\nb;2\n")
    written = text(
        input='file = "records.csv"\nseparator = ";"\ndecimal = ","', roles='dims = ["r"]\nmeasure = "v"', risk=None
    )
    assert values(job(folder, written).table()) == {("Total",): 3.5, ("a",): 1.5, ("b",): 2.0}


def test_records_in_a_database(folder):
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.execute(f"CREATE TABLE t AS FROM read_csv('{folder / 'records.csv'}')")
    before = (folder / "t.duckdb").read_bytes()
    written = text(input='file = "t.duckdb"\nquery = "SELECT * FROM t"')
    assert values(job(folder, written).table()) == added()
    assert (folder / "t.duckdb").read_bytes() == before


# ---- cells instead of records --------------------------------------------------------------------------------------------------------------

CELLS = 'file = "cells.csv"\nkind = "table"'


def test_a_job_may_begin_with_a_table(folder):
    (folder / "cells.csv").write_text("region,n,s,l\nN1,3,s,0\nN2,4,u,2\nTotal,7,s,0\n")
    written = text(input=CELLS, roles='dims = ["region"]\nvalue = "n"\nstatus = "s"\nlpl = "l"', risk=None, method="base = 5")  # fmt: skip
    _, table, result, files = carried_out(folder, written)
    assert table.values.tolist() == [3, 4, 7]
    assert table.sensitive.tolist() == [1]
    assert result.protected
    assert {path.name for path in files} == FILES


def test_a_table_without_a_header(folder):
    (folder / "cells.csv").write_text("N1;3,5\nN2;4,0\nTotal;7,5\n")
    written = text(
        input=CELLS + '\nnames = ["region", "n"]\ndecimal = ","\nseparator = ";"',
        roles='dims = ["region"]\nvalue = "n"',
        risk=None,
        method='base = "0.5"',
    )
    assert job(folder, written).table().values.tolist() == [3.5, 4, 7.5]


@pytest.mark.parametrize(
    "risk",
    ['policy = "default"', 'rules = ["Threshold(3)"]', 'frozen = [["N1"]]', 'levels = [{cell = ["N1"], lpl = 1, upl = 1}]', 'waivers = ["x"]'],
)  # fmt: skip
def test_rules_for_a_table_of_cells_are_refused(folder, risk):
    (folder / "cells.csv").write_text("region,n\nN1,3\nN2,4\n")
    refuses(folder, text(input=CELLS, roles='dims = ["region"]\nvalue = "n"', risk=risk), r"\[risk\]")


def test_rules_judge_a_table_of_cells_that_counts_its_contributors(folder):
    (folder / "cells.csv").write_text("region,n,obs,max,max2\nN1,100,5,90,8\nN2,100,9,20,15\nTotal,200,14,90,20\n")
    roles = 'dims = ["region"]\nvalue = "n"\nfrequency = "obs"\nlargest = ["max", "max2"]'
    made = job(folder, text(input=CELLS, roles=roles, risk='rules = ["PPercent(10)"]'))
    table = made.table()
    assert named(table, table.sensitive) == {("N1",)}
    assert [attacker.name for attacker in made.attackers(table)] == ["external"]


# ---- risk ----------------------------------------------------------------------------------------------------------------------------------


def named(table, cells):
    return {table.labels.tuple_of(int(i)) for i in cells}


def test_rules_beside_a_policy(folder):
    Policy("N", (PPercent(10),)).lock().write(folder / "policy.toml")
    own = job(folder, text(risk='policy = "policy.toml"\nrules = ["Threshold(4)", "Dominance(1, 95)"]'))
    assert [rule.short for rule in own.rules] == ["PPercent(10)", "Threshold(4)", "Dominance(1, 95)"]
    assert job(folder, text(risk='policy = "default for counts"')).rules == (Threshold(3, units=2),)


def test_a_tampered_policy_is_refused(folder):
    path = Policy("N", (PPercent(10),)).lock().write(folder / "policy.toml")
    path.write_text(path.read_text().replace("p = 10", "p = 1"))
    said = refuses(folder, text(risk='policy = "policy.toml"'), "changed after it was locked")
    assert said.startswith(str(folder / "policy.toml")) or "job.toml" in said


def test_a_policy_file_called_default_is_the_one_beside_the_job(folder, tmp_path, monkeypatch):
    Policy("mine", (Threshold(4),)).write(folder / "default.toml")
    Policy("of somebody else", (PPercent(1),)).write(tmp_path / "default.toml")
    monkeypatch.chdir(tmp_path)
    assert job(folder, text(risk='policy = "default.toml"')).rules == (Threshold(4),)


def manual(*, cells='[["S1", "A"]]', more=""):
    return f'[[manual]]\ncells = {cells}\nreason = "by letter of 3 May"\n{more}'


def test_decisions_by_hand(folder):
    table = job(folder, text(manual(more="percent = 10\nunits = 3"))).table()
    i = table.labels.find(("S1", "A"))
    assert i in table.sensitive
    assert int(table.sensitivity.upl[i]) == 19  # 10 % of 187, rounded up
    assert any("by letter of 3 May" in reason for reason in table.findings.reasons(i))
    safe = job(folder, text(manual(cells='[["N1", "A"]]', more='status = "safe"'))).table()
    assert ("N1", "A") not in named(safe, safe.sensitive)
    fixed = job(folder, text(manual(more='status = "fixed"'))).table()
    assert fixed.sensitivity.fixed[fixed.labels.find(("S1", "A"))]
    only = job(folder, text(manual(cells="[5]"), risk=None)).table()
    assert only.sensitive.tolist() == [5]


def test_frozen_cells_and_given_levels(folder):
    written = text(risk='policy = "default"\nfrozen = [["S1", "Total"]]\nlevels = [{cell = ["S1", "B"], lpl = 7, upl = 8.0, spl = 1}]')  # fmt: skip
    table = job(folder, written).table()
    assert table.sensitivity.fixed[table.labels.find(("S1", "Total"))]
    i = table.labels.find(("S1", "B"))
    assert [int(column[i]) for column in (table.sensitivity.lpl, table.sensitivity.upl, table.sensitivity.spl)] == [7, 8, 1]  # fmt: skip


@pytest.mark.parametrize("risk", ['levels = [{cell = ["S1", "B"], lpl = 7, upl = 7}]', 'frozen = [["S1", "B"]]', 'waivers = ["f1"]'])  # fmt: skip
def test_exceptions_without_rules_count_or_are_refused(folder, risk):
    try:
        table = job(folder, text(risk=risk)).table()
    except cw.InputError as error:
        assert "[risk]" in str(error) or "rule" in str(error)
    else:
        i = table.labels.find(("S1", "B"))
        assert i in table.sensitive or table.sensitivity.fixed[i]


def test_levels_for_a_cell_given_twice_are_refused(folder):
    refuses(folder, text(risk='policy = "default"\nlevels = [{cell = ["S1", "B"], upl = 9}, {cell = ["S1", "B"], upl = 1}]'), "twice")  # fmt: skip


def test_waivers_from_a_list_or_a_file(folder):
    plain = job(folder).table()
    assert ("N1", "A") in named(plain, plain.sensitive)
    (folder / "consents.txt").write_bytes(b"\xef\xbb\xbff1\r\n\r\nf2\r\nf3\r\n")
    for said in ('["f1", "f2", "f3"]', '"consents.txt"'):
        table = job(folder, text(risk=f'policy = "default"\nwaivers = {said}')).table()
        assert ("N1", "A") not in named(table, table.sensitive)
        assert ("N1", "A") in named(table, table.findings.waived)


def test_attackers(folder):
    (folder / "known.csv").write_text("attacker,region,nace,lower,upper\nrival,N1,B,140,150\n")
    own = job(folder, text(attackers='respondents = 2\ncoalitions = false\nwhole = true\nfile = "known.csv"'))
    table = own.table()
    names = [attacker.name for attacker in own.attackers(table)]
    assert names[-1] == "rival"
    assert len(names) > 2


@bug("it is looked at only where there are cells at risk")
@pytest.mark.parametrize("many", [-1, 10**20])
def test_a_number_of_respondents_that_cannot_be_is_refused(folder, many):
    safe = "region,nace,firm,turnover\n" + "".join(f"N1,A,f{i},10\n" for i in range(9))
    (folder / "records.csv").write_text(safe)
    refuses(folder, text(attackers=f"respondents = {many}"), "respondents")


def test_a_protection_that_fails_releases_nothing(folder):
    own = job(folder, text(risk='rules = ["Threshold(3)"]\nlevels = [{cell = ["N1", "A"], lpl = 40, upl = 40}]'))
    table = own.table()
    result = own.protect(table)
    assert (result.scaled, result.protected) == (None, None) or result.protected is False
    assert result.scaled is None
    assert not (folder / "out").exists()


# ---- what is refused -----------------------------------------------------------------------------------------------------------------------

HIERARCHY = {"hierarchies": ""}
BAD = {
    "nothing": ("", r"job\.toml: there is no \[input\]; a job needs \[input\], \[roles\]"),
    "no TOML": ("[input", r"job\.toml: not TOML \(.*\); correct it there"),
    "a key twice": (text() + "\n[input]\n", r"job\.toml: not TOML"),
    "binary": (b"\xff\xfe\0\0", r"job\.toml: not TOML"),
    "a tower of brackets": ("x = " + "[" * 5000, r"job\.toml: not TOML"),
    "an unknown section": (text("[colour]\nx = 1"), r"job\.toml: \[colour\] is not known; use \[job\], \[input\]"),
    "a key outside": ("colour = 1\n" + text(), r"\[colour\] is not known"),
    "no input": (text(input=None), r"there is no \[input\]"),
    "no roles": (text(roles=None), r"there is no \[roles\]"),
    "no output": (text(output=None), r"there is no \[output\]"),
    "no file": (text(input='kind = "microdata"'), r"\[input\]: there is no file of records or cells; name it"),
    "no dims": (text(roles='measure = "turnover"'), r"\[roles\]: there is no dims"),
    "no folder": (text(output='table = "t.csv"'), r"\[output\]: there is no folder for the release"),
    "an old name": (text(method="time_limit = 3"), r"\[method\]: 'time_limit' is called time_limit_s"),
    "an unknown method": (text(method='name = "subdue"\nbase = 3'), r"\[method\] name='subdue' is not known; use round"),
    "an unknown kind": (text(input='file = "records.csv"\nkind = "cells"'), r"\[input\] kind='cells' is not known; use 'microdata'"),
    "a section as a number": ("risk = 3\n" + text(risk=None), r"risk: write it as a section, \[risk\]"),
    "a section as a list": (text("[[risk]]\nx = 1", risk=None), r"risk: write it as a section"),
    "manual as a section": (text("[manual]\nx = 1"), r"\[manual\]: write \[\[manual\]\], once for each decision"),
    "roles of tables in a job of records": (text(roles='dims = ["region"]\nvalue = "turnover"'), r"\[roles\]: 'value' is not known here"),
    "roles of records in a job of tables": (text(input=CELLS), r"\[roles\]: '\w+' is not known here; use .*value"),
    "a key in the job": (text(output=f'folder = "out"\nkey = "{KEY}"'), r"\[output\] key: a job file is no place for a secret; name a file of it"),
    "a key file of something else": (text(output='folder = "out"\nkey_file = "region.hrc"'), r"region\.hrc: (others|a key is 64 hexadecimal digits)"),
    "a key file that is not there": (text(output='folder = "out"\nkey_file = "none"'), r"none: no such file"),
    "records that are not there": (text(input='file = "none.csv"'), r"none\.csv: no such file"),
    "a policy that is not there": (text(risk='policy = "none.toml"'), r"none\.toml: no such file"),
    "a rule that is none": (text(risk="rules = [\"__import__('os')\"]"), r"job\.toml: rule .*it is none of PPercent"),
    "a rule twice": (text(risk='policy = "default"\nrules = ["PPercent(10)"]'), r"PPercent\(10\) is given twice"),
    "rules as numbers": (text(risk="rules = [3]"), r"\[risk\] rules: give a list of texts"),
    "waivers as numbers": (text(risk='policy = "default"\nwaivers = [3]'), r"\[risk\] waivers: give a list of texts"),
    "waivers that are not there": (text(risk='policy = "default"\nwaivers = "none.txt"'), r"none\.txt: no such file"),
    "a frozen cell that is none": (text(risk='policy = "default"\nfrozen = [["N1"]]'), r"is no cell of this table; give its codes in the order"),
    "a frozen cell of numbers": (text(risk='policy = "default"\nfrozen = [[1, 2]]'), r"\[1, 2\] is no cell; give its codes as a list of texts"),
    "levels of no cell": (text(risk='policy = "default"\nlevels = [{lpl = 1}]'), r"\[risk\] levels: write each as \{cell = "),
    "levels of an unknown cell": (text(risk='policy = "default"\nlevels = [{cell = ["N1", "Z"], lpl = 1}]'), r"nace has no code 'Z'; it has"),
    "an unknown level": (text(risk='policy = "default"\nlevels = [{cell = ["N1", "A"], q = 1}]'), r"\[risk\] levels: 'q' is not known here"),
    "a negative level": (text(risk='policy = "default"\nlevels = [{cell = ["N1", "A"], lpl = -1}]'), r"levels are distances"),
    "a level in words": (text(risk='policy = "default"\nlevels = [{cell = ["N1", "A"], lpl = "far"}]'), r"'far' is not a number"),
    "a decision of no cells": (text('[[manual]]\ncells = []\nreason = "x"'), r"Manual: cells names no cell"),
    "a decision without a reason": (text('[[manual]]\ncells = [["N1", "A"]]'), r"has no reason; say why it is unsafe"),
    "a decision of an unknown status": (text(manual(more='status = "odd"')), r"status='odd'; give 'unsafe', 'safe' or 'fixed'"),
    "a decision of an unknown cell": (text(manual(cells='[["N1", "Z"]]')), r"Manual: nace has no code 'Z'"),
    "levels for a safe cell": (text(manual(more='status = "safe"\nunits = 1')), r"levels are for unsafe cells"),
    "two decisions at odds": (text(manual(), manual(more='status = "safe"')), r"declared both unsafe and safe"),
    "an unknown key of a decision": (text(manual(more="colour = 1")), r"\[\[manual\]\] 1: 'colour' is not known here; use cells"),
    "a hierarchy of no dimension": (text(hierarchies='sex = "region.hrc"'), r"'sex' is not among the dims region, nace"),
    "a hierarchy that is not there": (text(hierarchies='region = "none.hrc"'), r"none\.hrc: no such file"),
    "a hierarchy of a number": (text(hierarchies="region = 3"), r"\[hierarchies\] region: give a file \(\.hrc or a table\), or"),
    "a hierarchy of nothing": (text(hierarchies="region = {}"), r"\[hierarchies\] region: name the columns of records\.csv with levels"),
    "a hierarchy of an unknown column": (text(hierarchies='region = {levels = ["zz", "region"]}'), r"records\.csv: there is no column 'zz'; it has"),
    "a hierarchy at odds with itself": (text(hierarchies='region = {levels = ["nace", "region"]}'), r"give each code one place"),
    "an unknown key of a hierarchy": (text(hierarchies='region = {file = "region.hrc", colour = 1}'), r"'colour' is not known here"),
    "a code that is not in the hierarchy": (text(hierarchies='nace = "region.hrc"'), r"records\.csv record 1, column nace .*is not in the hierarchy"),
    "a query of a text file": (text(input='file = "records.csv"\nquery = "t"'), r"query: only a DuckDB file or connection takes one"),
    "an unknown knowledge": (text(method='base = 3\nknowledge = "all"'), r"knowledge='all' is not known; use 'strict' or 'paper'"),
    "a base that is none": (text(method="base = 0"), r"base: 0 is not a base"),
    "weights that there are not": (text(method='base = 3\nweights = "table"'), r"the table has no weights"),
    "no time": (text(method="base = 3\ntime_limit_s = 0"), r"time_limit_s=0\.0: give a positive number"),
    "a negative seed": (text(output='folder = "out"\nseed = -1'), r"seed=-1: give a whole number"),
    "no threads": (text(output='folder = "out"\nthreads = 0'), r"thread"),
    "an attackers' file that is not there": (text(attackers='file = "none.csv"'), r"none\.csv: no such file"),
    "a folder that is a file": (text(output='folder = "records.csv"'), r"records\.csv: is a file, not a folder"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_a_job_says_wrong_is_one_sentence(folder, name):
    refuses(folder, *BAD[name])


KEYS = {
    "job": "name",
    "input": "file kind query separator decimal names",
    "roles": "dims measure contributor holding weight request request_codes total missing missing_codes pad blank negative empty largest decimals "
    "lower upper",
    "risk": "policy rules waivers frozen levels",
    "attackers": "respondents coalitions whole file",
    "method": "name base knowledge ignore_levels weights time_limit",
    "output": "key_file seed threads table folder",
    "hierarchies": "region",
}
WRONG = ["3", "1.5", "true", '[["a"]]', "{a = 1}", "1979-05-27", "nan", '"\\u0000"']
MEANT = {
    *((f"roles.{key}", value) for key in ("largest", "decimals", "lower", "upper") for value in ("3", "1.5")),
    *((f"method.{key}", value) for key in ("base", "time_limit") for value in ("3", "1.5")),
    ("method.ignore_levels", "true"), ("attackers.coalitions", "true"), ("attackers.whole", "true"), ("attackers.respondents", "3"),
    ("output.seed", "3"), ("output.threads", "3"), ("job.name", '"\\u0000"'), ("roles.total", '"\\u0000"'),
    ("input.query", '"\\u0000"'), ("output.folder", '"\\u0000"'), ("output.table", '"\\u0000"'),
    ("roles.upper", "nan"), ("roles.lower", "nan"), ("roles.request_codes", "{a = 1}"),
}  # fmt: skip
UNTYPED = {"request_codes"}
"""Reported; see the next test."""


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize("section", KEYS)
def test_values_of_a_wrong_type_are_one_sentence(folder, section, value):
    """Every key of every section, with a value that it does not take."""
    own = [line for line in (SECTIONS.get(section) or "").split("\n") if line]
    untold = []
    wrong = [key for key in KEYS[section].split() if (f"{section}.{key}", value) not in MEANT]
    for key in wrong:
        lines = [line for line in own if line.split("=")[0].strip() != key]
        written = text(**{section: "\n".join([*lines, f"{key} = {value}"])})
        try:
            refuses(folder, written, "")
        except (TypeError, AttributeError):
            untold.append(key)
    assert not set(untold) - UNTYPED, f"[{section}] {untold} = {value}: an error of Python"


@pytest.mark.parametrize(
    "written",
    [
        *(text(roles=f'dims = ["region"]\n{key} = 3') for key in ("measure", "contributor", "holding", "weight", "request")),
        text(roles='dims = ["region"]\nmeasure = []'),
        text(roles='dims = ["region"]\nrequest_codes = 3'),
        text(input='file = "records.csv"\nnames = ["a", "b", "c", "d"]'),
        text(input=CELLS + '\nquery = "t"', roles='dims = ["region"]\nvalue = "n"', risk=None),
        text(hierarchies='region = {file = 3, levels = ["a"]}'),
        text(output='folder = "\\u0000"'),
    ],
)  # fmt: skip
def test_wrong_types_are_one_sentence(folder, written):
    (folder / "cells.csv").write_text("region,n\nN1,3\nN2,4\n")
    refuses(folder, written, "")


# ---- what a job must not do ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "file"),
    [('folder = "out"\ntable = "records.csv"', "records.csv"), ('folder = "."', "release.csv"), ('folder = "."', "findings.csv")],
)  # fmt: skip
def test_the_input_is_never_overwritten(folder, output, file):
    (folder / file).write_text(RECORDS)
    refuses(
        folder,
        text(input=f'file = "{file}"', output=output),
        r"\[output\]: .* would be written over a file that is read",
    )


def test_the_table_never_takes_the_place_of_the_release(folder):
    refuses(
        folder,
        text(output='folder = "out"\ntable = "out/release.csv"\nkey_file = "key.txt"'),
        r"release\.csv|\[output\]",
    )


@pytest.mark.parametrize(
    "sections",
    [
        {"hierarchies": 'region = "other.csv"'},
        {"risk": 'policy = "default"\nwaivers = "other.csv"'},
        {"input": 'file = "link.csv"'},
    ],
    ids=["hierarchy", "waivers", "link to the records"],
)
def test_what_else_a_job_reads_is_not_overwritten(folder, sections):
    (folder / "other.csv").write_text(HRC if "hierarchies" in sections else "f1\n" if "risk" in sections else RECORDS)
    (folder / "link.csv").symlink_to(folder / "other.csv")
    refuses(folder, text(output='folder = "out"\ntable = "other.csv"\nkey_file = "key.txt"', **sections), r"\[output\]")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("t.xlsx", r"t\.xlsx: the extension '\.xlsx' is not known"),
        ("none/t.csv", r"none/t\.csv: cannot be written"),
        ("\\u0000", ""),
    ],
)
def test_a_table_that_cannot_be_written_leaves_nothing(folder, table, words):
    refuses(folder, text(output=f'folder = "out"\ntable = "{table}"'), words)


def test_a_query_is_one_question(folder):
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.execute(f"CREATE TABLE t AS FROM read_csv('{folder / 'records.csv'}')")
    refuses(
        folder, text(input=f"""file = "t.duckdb"\nquery = "t; COPY (SELECT 42) TO '{folder / "leak.csv"}'" """), "query"
    )


def test_reading_a_job_does_nothing(folder):
    written = text(
        input='file = "none.csv"\nquery = "x"',
        hierarchies='region = "none.hrc"',
        risk="""policy = "none.toml"\nrules = ["__import__('os').system('touch pwned')"]""",
        output='folder = "out"\nkey_file = "none"\ntable = "t.csv"',
    )
    (folder / "job.toml").write_text(written)
    before = content(folder)
    own = job(folder, written)
    assert own.kind == "microdata"
    assert content(folder) == before


def test_mistakes_are_told_before_the_records_are_read(folder):
    (folder / "records.csv").unlink()
    for written, words in (
        (text(risk='rules = ["Nonsense"]'), "Nonsense"),
        (text(method="knowledge = 'rumour'"), "knowledge='rumour' is not known"),
        (text(output='folder = "out"\nkey = "5a"'), "no place for a secret"),
        (text(hierarchies='region = "none.hrc"'), r"none\.hrc"),
    ):
        refuses(folder, written, words)


def test_numbers_of_a_job_are_exact(folder):
    own = job(folder, text(method="base = 0.1", roles='dims = ["region"]\nmeasure = "turnover"\ndecimals = 1'))
    assert own.said["method"]["base"] == Decimal("0.1")
    table = own.table()
    result = own.protect(table)
    assert result.status == "optimal"
    assert result.loss().sum_abs == 0
