"""The shared linked tables: rules judge them together as each by itself, and a release is taken apart into the tables as they came."""

import csv

import tabulation

import cellward as cw
from cellward import Attacker, ControlledRounding, Dominance, PPercent, Table, Threshold

NAMES = ("act_cj", "act_size", "nuts_cj", "nuts_size")


def tables(value, **options):
    corr = {"ACTIVITY": "activity_corr_table", "NUTS": "nuts23_fr_corr_table"}
    trees = {
        dim: tabulation.nested([list(row.values()) for row in tabulation.rows_of(name)]) for dim, name in corr.items()
    }
    out = {}
    for name in NAMES:
        file = tabulation.LINKED / f"rtauargus_turnover_{name}.csv"
        dims = [dim for dim in ("ACTIVITY", "NUTS", "CJ", "SIZE") if dim in tabulation.rows_of(f"turnover_{name}")[0]]
        own = {dim: trees[dim] for dim in dims if dim in trees}
        out[file] = cw.read(file, dims=dims, value=value, hierarchies=own, totals="given", **options)
    return out


def test_rules_before_and_after_linking():
    """The largest contribution and the number of contributors of each cell come from columns, and agree where tables share a cell."""
    single = list(tables("TOT", decimals=4, frequency="N_OBS", largest=["MAX"]).values())
    rules = Threshold(3), Dominance(1, 85)
    after = cw.link(*single).find(*rules)
    before = cw.link(*(table.find(*rules) for table in single))
    assert len(after.sensitive) > 100
    assert after.sensitive.tolist() == before.sensitive.tolist()
    assert after.sensitivity.upl.tolist() == before.sensitivity.upl.tolist()
    assert after.findings.lines() == before.findings.lines()
    assert [after.findings.reasons(i) for i in after.sensitive] == [before.findings.reasons(i) for i in after.sensitive]


def test_a_release_of_the_linked_counts_is_taken_apart(tmp_path):
    """Each part has the rows of the file it came from, in their order, and prints what the whole prints."""
    given = tables("N_OBS")
    whole = ControlledRounding(5, max_steps=2).protect(cw.link(*given.values()), time_limit_s=60).release()
    columns = whole.columns()
    dims = list(columns)[:-1]
    printed = {codes: value for *codes_, value in zip(*columns.values(), strict=True) for codes in [tuple(codes_)]}
    for file, table, part in zip(given, given.values(), whole.tables(), strict=True):
        part.save(tmp_path / "part.csv")
        with (tmp_path / "part.csv").open(newline="") as own, file.open(newline="") as original:
            ours, theirs = list(csv.DictReader(own)), list(csv.DictReader(original))
        assert list(ours[0]) == [*table.labels.dims, "value"]
        assert [[row[dim] for dim in table.labels.dims] for row in ours] == [
            [row[dim] for dim in table.labels.dims] for row in theirs
        ]
        assert all(printed[tuple(row.get(dim, "Total") for dim in dims)] == row["value"] for row in ours)


def test_individual_records_linked_afterwards_and_in_one_pass():
    """9,786 records by activity and legal form, and by region and size."""
    file = tabulation.LINKED / "rtauargus_indiv_dt.csv"
    single = [
        Table.from_microdata(file, dims=dims, measure="TURNOVER", decimals=4, largest=20)
        for dims in (["A21", "CJ"], ["NUTS1", "SIZE"])
    ]
    linked = cw.link(*single).find(PPercent(10))
    whole = Table.from_microdata(
        file, dims="A21*CJ + NUTS1*SIZE", measure="TURNOVER", decimals=4, largest=20
    ).find(PPercent(10))  # fmt: skip
    assert {linked.labels.tuple_of(i) for i in linked.sensitive.tolist()} == {
        whole.labels.tuple_of(i) for i in whole.sensitive.tolist()
    }
    assert len(linked.sensitive) > 0
    names = {attacker.name for attacker in Attacker.from_data(linked)}
    assert names == {attacker.name for attacker in Attacker.from_data(whole)}
