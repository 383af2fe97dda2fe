"""The certificate of what is printed in other ways than as values: withheld values and ranges, written by the package."""

import json

import certificates
import numpy as np
import pytest

import cellward as cw
from cellward.audit.bound import nothing_proven
from cellward.audit.certificate import Certificate
from cellward.audit.evidence import show_levels
from cellward.exact import NO_BOUND
from cellward.instance import Instance
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge

VALUES = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]


def written(method, knowledge, table, **changes):
    instance = Instance.of(table)
    a = instance.a
    certificate = Certificate.of(
        instance, changes.get("v", a), allowed=AllowedSet(a, a, np.zeros_like(a)), method={"name": method}, knowledge=knowledge,
        evidence=show_levels(instance, a, knowledge), bound=nothing_proven().content, objective=0, status=changes.get("status", "feasible"),
        engine="by hand", salt=certificates.SALT,
    )  # fmt: skip
    content = json.loads(certificate.text)
    assert certificate.check(), certificate.check().reason
    assert certificates.holds(content)
    assert content["allowed"] is content["target"] is content["bound"]["value"] is None
    return content


def test_withheld_values_are_null():
    table = cw.Table.from_array(VALUES)
    hidden = np.array([4, 5, 8, 9])
    content = written("cell suppression", Knowledge.suppressed(table.scaled, hidden), table)
    expected = [None if i in hidden else x for i, x in enumerate(table.scaled.tolist())]
    assert content["printed"] == {"kind": "withheld", "value": expected}
    assert content["knowledge"] == {"rule": "suppressed"}
    assert content["objective"] == 4


def test_open_ends_of_ranges_are_null():
    table = cw.Table.from_array(VALUES)
    lo, hi = table.scaled - 3, table.scaled + 4
    content = written("interval publication", Knowledge.interval(lo, hi), table)
    assert content["printed"] == {"kind": "ranges", "lower": lo.tolist(), "upper": hi.tolist()}
    assert content["knowledge"] == {"rule": "interval"}
    assert content["objective"] == 7 * 16
    lo[0] = -NO_BOUND  # where the public knows 0 ≤ y
    content = written("interval publication", Knowledge.interval(lo, hi), table)
    assert content["printed"]["lower"][0] is None
    assert content["objective"] == 7 * 15 + 24
    hi[5] = NO_BOUND  # where nobody knows anything
    content = written("interval publication", Knowledge.interval(lo, hi), table)
    assert content["printed"]["upper"][5] is content["objective"] is None


def test_labels_are_those_of_the_release(tmp_path):
    table = cw.Table.from_frame(
        {"value": ["a, b", 'c "d"', "e\nf"], "n": [3, 4, 5]}, dims=["value"], value="n", total="All"
    )
    p = cw.ControlledRounding(5).protect(table)
    content = p.certificate().content
    rows = [*([x] for x in table.labels.columns()["value"])]
    assert content["labels"] == certificates.labelled(["value"], rows)
    from cellward.audit import verify as checker

    p.certificate().save(tmp_path / "certificate.json.gz")
    p.release().save(tmp_path / "release.csv")
    p.release().save_statement(tmp_path / "release.json")
    files = [str(tmp_path / name) for name in ("certificate.json.gz", "release.csv", "release.json")]
    assert checker.main(files) == 0
    assert "value,published value" in (tmp_path / "release.csv").read_text()
    other = cw.Table.from_frame({"value": ["x", "y", "z"], "n": [3, 4, 5]}, dims=["value"], value="n", total="All")
    assert cw.verify(files[0], table=table)
    assert "its labels differs" in cw.verify(files[0], table=other).reason


@pytest.mark.parametrize("rule", ["suppressed", "interval"])
def test_nothing_printed_costs_nothing(rule):
    table = cw.Table.from_array(VALUES)
    instance, a = Instance.of(table), table.scaled
    knowledge = Knowledge.suppressed(a, np.array([0])) if rule == "suppressed" else Knowledge.interval(a, a)
    name = {"suppressed": "cell suppression", "interval": "interval publication"}[rule]
    certificate = Certificate.of(
        instance, None, allowed=AllowedSet(a, a, np.zeros_like(a)), method={"name": name}, knowledge=knowledge, evidence=None,
        bound=nothing_proven().content, objective=None, status="infeasible", engine="by hand", salt=certificates.SALT,
    )  # fmt: skip
    assert certificate.check()
    assert certificate.content["objective"] is certificate.content["printed"] is None
