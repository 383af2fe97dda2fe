"""Linked tables: who stands behind the cells and why they are at risk is kept, and a release is taken apart into its tables again."""

import csv
import io

import numpy as np
import pytest

import cellward as cw
from cellward import Attacker, ControlledRounding, InputError, PPercent, Table, Threshold
from cellward.audit.verify import main as verify
from cellward.job import Job
from cellward.protect.released import read_release
from cellward.publication.ranges import Ranges
from cellward.publication.withheld import Withheld
from cellward.risk.manual import Manual
from cellward.table.sensitivity import Sensitivity

DIMS = ("region", "size", "kind")


def records(seed, many=40):
    rng = np.random.default_rng(seed)
    return {
        "region": [f"r{k}" for k in rng.integers(0, 3, many)],
        "size": [f"s{k}" for k in rng.integers(0, 2, many)],
        "kind": [f"k{k}" for k in rng.integers(0, 3, many)],
        "firm": [f"f{k}" for k in rng.integers(0, 15, many)],
        "x": rng.integers(1, 100, many).tolist(),
    }


def tabulate(rows, dims, largest=20, **options):
    return Table.from_microdata(rows, dims=dims, measure="x", contributor="firm", largest=largest, **options)


def both_ways(seed, **options):
    """Two tables linked afterwards, and the same made in one pass."""
    rows = records(seed)
    apart = [tabulate(rows, ["region", "size"], **options), tabulate(rows, ["kind", "region"], **options)]
    return apart, tabulate(rows, "region*size + kind*region", **options)


def facts(table):
    """Everything that is known of each cell, by its codes in a common order."""
    order = [table.labels.dims.index(dim) for dim in DIMS]
    c, s = table.contributions, table.sensitivity
    out = {}
    for i in range(table.cells):
        codes = table.labels.tuple_of(i)
        named = [(c.name(u), x) for u, x in zip(c.unit[:, i].tolist(), c.top[:, i].tolist(), strict=True) if u >= 0]
        out[tuple(codes[k] for k in order)] = (
            int(table.scaled[i]), int(c.rows[i]), int(c.units[i]), int(c.size[i]), sorted(named), int(s.status[i]), int(s.lpl[i]), int(s.upl[i]),
            table.findings.reasons(i) if table.findings else None,
        )  # fmt: skip
    return out


def cells_of(table, cells):
    order = [table.labels.dims.index(dim) for dim in DIMS]
    return tuple(sorted(tuple(table.labels.tuple_of(i)[k] for k in order) for i in cells))


@pytest.mark.parametrize("seed", range(6))
def test_found_before_or_after_linking_or_in_one_pass_is_the_same(seed):
    rules = PPercent(20), Threshold(3, units=1)
    apart, whole = both_ways(seed)
    after = cw.link(*apart).find(*rules)
    before = cw.link(*(table.find(*rules) for table in apart))
    whole = whole.find(*rules)
    assert len(whole.sensitive) > 0
    assert facts(after) == facts(before) == facts(whole)
    sums = [
        {cells_of(t, one.cell.tolist()): (one.lpl, one.upl, one.unit) for one in t.sensitivity.sums}
        for t in (after, before, whole)
    ]
    assert sums[0] == sums[1] == sums[2]


@pytest.mark.parametrize("seed", range(4))
def test_attackers_of_linked_tables_are_those_of_one_pass(seed):
    def known(table):
        found = {}
        for attacker in Attacker.from_data(table, coalitions=True)[1:]:
            name = " and ".join(sorted(attacker.name.partition(" ")[2].split(" and ")))
            known = {
                cells_of(table, [i]): bounds
                for i, *bounds in zip(
                    attacker.cell.tolist(), attacker.lower.tolist(), attacker.upper.tolist(), strict=True
                )
            }
            asked = {cells_of(table, [i]) for i in attacker.levels.cell.tolist()}
            found[name] = known, asked, sorted(attacker.levels.upl.tolist()), len(attacker.sums)
        return found

    apart, whole = both_ways(seed)
    linked = cw.link(*(table.find(PPercent(20)) for table in apart))
    assert known(linked) == known(whole.find(PPercent(20)))
    assert known(linked)


def test_of_two_findings_of_a_cell_the_stricter_counts():
    rows = records(3)
    one = tabulate(rows, ["region", "size"])
    two = tabulate(rows, ["kind"])
    big = one.contributions.name(int(one.contributions.unit[0, one.labels.find(("r0", "Total"))]))
    one = one.find(
        PPercent(20), Manual({("r0", "Total"): "known by all"}, status="safe"), waivers=[big, "nobody"], levels={("Total", "Total"): (3, 4, 0)}
    )  # fmt: skip
    two = two.find(Threshold(3), Manual({("Total",): "published before"}, status="fixed"))
    linked = cw.link(one, two)
    total = linked.labels.find(("Total", "Total", "Total"))
    assert total in linked.sensitive.tolist()
    assert (int(linked.sensitivity.lpl[total]), int(linked.sensitivity.upl[total])) == (3, 4)
    findings = linked.findings
    assert "Its levels were given by the user." in findings.reasons(total)
    assert total not in findings.declared_fixed
    assert list(findings.declared_safe) == [linked.labels.find(("r0", "Total", "Total"))]
    assert findings.without_effect == ("nobody",)
    assert findings.lines()
    assert {linked.contributions.name(u) for u in findings.consenting.tolist()} <= {big}
    assert Attacker.from_data(linked)


def test_statuses_given_beside_findings_keep_their_levels():
    rows = records(1)
    found = tabulate(rows, ["region"]).find(PPercent(20))
    sizes = tabulate(rows, ["size"])
    at = sizes.labels.find("s0")
    given = sizes.with_sensitivity(Sensitivity.of(sizes.cells, [at], *(np.array([k]) for k in (5, 6, 0))))
    linked = cw.link(found, given)
    assert linked.findings.given.tolist() == [linked.labels.find(("Total", "s0"))]


def test_a_table_without_contributions_leaves_none_and_the_reasons_stay():
    rows = records(2)
    found = tabulate(rows, ["region"]).find(Threshold(12))
    counted = tabulate(rows, ["size"])
    bare = Table.from_frame(
        {"size": list(counted.labels.columns()["size"]), "x": counted.values.tolist()}, dims=["size"], value="x"
    )
    linked = cw.link(found, bare)
    assert linked.contributions is None
    assert linked.sensitive.tolist()
    for i in linked.sensitive.tolist():
        assert linked.findings.reasons(i) == found.findings.reasons(linked.labels.tuple_of(i)[0])


def test_frequencies_and_largest_contributions_of_frames_are_linked():
    frame = {"a": ["x", "y", "Total"], "v": [10, 20, 30], "n": [2, 9, 11], "m": [9, 5, 9]}
    other = {"b": ["p", "q", "Total"], "v": [12, 18, 30], "n": [4, 7, 11], "m": [9, 5, 9]}
    one = Table.from_frame(frame, dims=["a"], value="v", frequency="n", largest=["m"])
    two = Table.from_frame(other, dims=["b"], value="v", frequency="n", largest=["m"])
    linked = cw.link(one, two).find(Threshold(3), cw.Dominance(1, 70))
    named = [linked.labels.name(i) for i in linked.sensitive.tolist()]
    assert named == ["(x, Total)", "(Total, p)"]
    assert linked.contributions.name(int(linked.contributions.unit[0, linked.labels.find(("Total", "p"))])) == (
        "number 1 of (Total, p)"
    )
    with pytest.raises(InputError, match="not who"):
        Attacker.from_data(linked)


def test_as_many_of_the_largest_as_every_table_kept():
    rows = records(4)
    linked = cw.link(
        tabulate(rows, ["region"], largest=5).find(cw.Dominance(4, 80)), tabulate(rows, ["size"], largest=2)
    )
    assert linked.contributions.kept == 2
    assert all(linked.findings.reasons(i) for i in linked.sensitive.tolist())
    with pytest.raises(InputError, match="largest=4"):
        linked.find(cw.Dominance(4, 80))


def test_other_contributors_behind_a_shared_cell_are_refused():
    rows = records(5)
    one = tabulate(rows, ["region"])
    swapped = tabulate(rows | {"firm": [name.replace("f1", "g1") for name in rows["firm"]]}, ["size"])
    with pytest.raises(InputError, match=r"behind \(Total, Total\) stand others in table 1 than in table 2"):
        cw.link(one, swapped)
    with pytest.raises(InputError, match="name their contributors"):
        cw.link(one, Table.from_microdata(rows, dims=["size"], measure="x"))


# ---- releases ------------------------------------------------------------------------------------------------------------------------------


def by_codes(release):
    """What is printed of each cell, by dimension and code without the totals."""
    columns = release.columns()
    k = len(release.labels.dims)
    names, printed = list(columns)[:k], list(columns)[k:]
    out = {}
    for row in zip(*columns.values(), strict=True):
        codes = frozenset((d, c) for d, c in zip(names, row[:k], strict=True) if c != "Total")
        out[codes] = row[k:]
    return printed, out


def check_split(whole, tables):
    printed, every = by_codes(whole)
    for part, table in zip(whole.tables(), tables, strict=True):
        assert {d: list(c) for d, c in part.labels.columns().items()} == table.labels.columns()
        own_printed, own = by_codes(part)
        assert own_printed == printed
        assert all(every[codes] == row for codes, row in own.items())
        assert part.relations.equations >= table.relations.equations
        assert part.digest == whole.digest
        if part.publication.v is not None:
            assert not part.relations.residual(part.publication.v).any()


@pytest.mark.parametrize("levels", [None, {0: 5, 1: 10}], ids=["one base", "bases by level"])
def test_a_release_is_taken_apart_into_its_tables(levels):
    apart, _ = both_ways(7)
    third = tabulate(records(7), ["size", "kind"], decimals=1)
    linked = cw.link(cw.link(*apart), third)
    release = ControlledRounding(levels or 5, max_steps=4).protect(linked).release()
    check_split(release, [*apart, third])
    assert [part.knowledge.rule for part in release.tables()] == ["rounded"] * 3
    alone = ControlledRounding(5).protect(apart[0]).release()
    assert alone.tables() == (alone,)


def test_the_tables_of_one_pass_are_taken_apart_too():
    apart, whole = both_ways(8)
    release = ControlledRounding(5).protect(whole).release()
    assert [part.labels.dims for part in release.tables()] == [("region", "size"), ("kind", "region")]
    printed = [set(by_codes(part)[1]) for part in release.tables()]
    assert printed == [
        {frozenset((d, c) for d, c in zip(t.labels.dims, t.labels.tuple_of(i), strict=True) if c != "Total") for i in range(t.cells)}
        for t in apart
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["withheld", "ranges"])
def test_other_publications_are_taken_apart(kind):
    apart, _ = both_ways(9)
    linked = cw.link(*apart)
    a = linked.scaled
    publication = Withheld.of(a, np.array([0, 3])) if kind == "withheld" else Ranges(a - 1, a + np.arange(len(a)))
    whole = cw.Release(
        labels=linked.labels, publication=publication, decimals=0, method={"name": "suppression"}, relations=linked.relations,
        lower=linked.lower, upper=linked.upper, digest="",
    )  # fmt: skip
    check_split(whole, apart)


def test_another_order_of_cells_keeps_the_tables():
    apart, _ = both_ways(10)
    labels = cw.link(*apart).labels
    turned = labels.permuted(np.arange(labels.cells)[::-1].copy())
    for one, two in zip(labels.tables, turned.tables, strict=True):
        named = [[own.tuple_of(int(i)) for i in part.cell] for own, part in ((labels, one), (turned, two))]
        assert named[0] == named[1]


JOB = """
[input]
file = "records.csv"
[roles]
dims = "region*size + kind"
measure = "x"
contributor = "firm"
empty = "absent"
[risk]
rules = ["Threshold(2)"]
[method]
name = "round"
base = 5
[output]
folder = "out"
"""


@pytest.fixture
def job(tmp_path):
    rows = records(11)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows)
    writer.writerows(zip(*rows.values(), strict=True))
    (tmp_path / "records.csv").write_text(out.getvalue())
    (tmp_path / "job.toml").write_text(JOB)
    return Job.read(tmp_path / "job.toml")


def test_a_job_writes_each_linked_table_beside_the_whole(job, tmp_path):
    table = job.table()
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "release-3.csv").write_text("of an earlier run")
    files = job.write(table, job.protect(table))
    assert sorted(path.name for path in files if path.suffix == ".csv") == [
        "findings.csv", "release-1.csv", "release-2.csv", "release.csv",
    ]  # fmt: skip
    assert not (folder / "release-3.csv").exists()
    first = list(csv.DictReader((folder / "release-1.csv").read_text().splitlines()))
    assert list(first[0]) == ["region", "size", "value"]
    whole = {
        (r["region"], r["size"], r["kind"]): r["value"]
        for r in csv.DictReader((folder / "release.csv").read_text().splitlines())
    }
    assert all(whole[row["region"], row["size"], "Total"] == row["value"] for row in first)
    assert verify([str(folder / name) for name in ("certificate.json.gz", "release.csv", "release.json")]) == 0
    assert verify([str(folder / name) for name in ("certificate.json.gz", "release-1.csv")]) == 1
    assert [part.to_csv() for part in read_release(folder, table).tables()] == [
        (folder / f"release-{k}.csv").read_bytes() for k in (1, 2)
    ]


def test_a_linked_table_that_prints_other_than_the_whole_is_refused(job, tmp_path):
    table = job.table()
    job.write(table, job.protect(table))
    part = tmp_path / "out" / "release-2.csv"
    part.write_text(part.read_text().replace("k1,", "k2,"))
    with pytest.raises(InputError, match=r"release-2\.csv: is not the table of release\.csv"):
        read_release(tmp_path / "out", table)


def test_a_job_whose_records_a_linked_table_would_overwrite_is_refused(job, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "records.csv").rename(tmp_path / "out" / "release-2.csv")
    (tmp_path / "job.toml").write_text(JOB.replace("records.csv", "out/release-2.csv"))
    with pytest.raises(InputError, match=r"release-2\.csv would be written over a file that is read"):
        Job.read(tmp_path / "job.toml")
