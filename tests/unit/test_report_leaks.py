"""The public edition of a report: nothing in it that does not follow from the release."""

import json
import re

import pytest
from fixed_keys import key_of
from leaks import case, leaks

import cellward as cw
from cellward.report.written import report_text


@pytest.mark.parametrize("number", range(12))
def test_the_public_edition_holds_no_secret(number):
    found = case(number)
    digest = found.result.release().digest
    for ending in ("html", "md"):
        text = report_text(found.result, edition="public", ending=ending, pictures=number in (0, 4))
        assert list(leaks(text, found.secrets, digest)) == []


def test_the_search_for_leaks_finds_what_the_internal_edition_holds():
    """Otherwise the test above would prove nothing."""
    found = case(3)
    said = " ".join(leaks(report_text(found.result, pictures=False), found.secrets, found.result.release().digest))
    for what in ("true value at risk", "deviation", "a number with its sign", "'at risk'"):
        assert what in said
    assert "key" not in said and "seed" not in said


def test_not_even_the_internal_edition_holds_the_key():
    found = case(4)
    text = report_text(found.result, pictures=False)
    assert not found.secrets["key"] & set(re.findall(r"[0-9a-f]{64}", text))
    assert found.result.release().digest in text


def test_what_is_withheld_is_not_in_the_data_of_the_page():
    table = cw.Table.from_array([[20, 50, 10, 31] * 5] * 5).find(levels={("1", "0"): (2, 2, 0)})
    p = cw.CellSuppression().protect(table, key=key_of("leaks"))
    text = report_text(p, edition="public", pictures=False)
    held = json.loads(re.search(r'id="cells0-data">(.*?)</script>', text).group(1))
    (column,) = held["columns"]
    assert column["values"].count(None) == int(p.publication.withheld.sum()) > 0
    assert set(held["marks"]) == {"0", "2"}
    assert '<abbr class="chip R"' not in text


def test_of_a_table_without_dimensions_the_public_edition_has_numbers_for_names():
    table = cw.Table.from_equations([10, 20, 30], [[1, 1, -1]], sensitive=[0], lpl=[2], upl=[2])
    p = cw.ControlledRounding(5).protect(table, key=key_of("leaks"))
    assert "<td>2</td>" in report_text(p, edition="public")
