"""Reports and pictures: what they say, that codes cannot harm them, that they are the same each time, and what is refused."""

from __future__ import annotations

import json
import re
import stat
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward.errors import InputError
from cellward.report.pictures.drawn import KINDS
from cellward.report.pictures.theme import svg
from cellward.report.pictures.tree import tree_of
from cellward.report.pictures.two_way import slice_of
from cellward.report.sections.loss_by_level import losses
from cellward.report.sections.reached import reached
from cellward.report.written import folder_reports, report_text

NASTY = ["<script>alert(1)</script>", '</script><b onclick="x">', "$\\frac{1}", "a|b *c*\n# d", "\u202eevil & co"]
KEY = key_of("report")


def table(codes=None, shape=(5, 4)):
    rng = np.random.default_rng(22)
    names = None if codes is None else [codes, [f"c{k}" for k in range(shape[1])]]
    made = cw.Table.from_array(
        rng.integers(20, 400, shape), dims=["<i>row</i>", "column"] if codes else None, codes=names
    )
    return made.find(levels={0: (3, 4, 0), 7: (5, 5, 0)})


def rounded(codes=None):
    return cw.ControlledRounding(20).protect(table(codes), key=KEY)


@pytest.fixture(scope="module")
def results():
    made = {
        "values": cw.ControlledRounding(20),
        "withheld": cw.CellSuppression(),
        "ranges": cw.IntervalPublication(5),
        "adjusted": cw.ControlledAdjustment("l1"),
    }
    return {name: method.protect(table(), key=KEY) for name, method in made.items()}


class Elements(HTMLParser):
    """The elements of a page, and the attributes by which a script could come in."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.handlers = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag == "script":
            self.scripts.append(dict(attrs).get("type", ""))


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_codes_are_texts_and_nothing_else(edition):
    page = Elements(text := report_text(rounded(NASTY), edition=edition))
    assert page.scripts.count("") == 1 and set(page.scripts) <= {"", "application/json"}
    assert page.handlers == []
    assert not {"b", "i", "img", "iframe", "link"} & set(page.tags)
    assert "\u202e" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_the_data_of_a_long_table_come_back_as_they_were():
    codes = [f"{nasty}{k}" for k in range(4) for nasty in NASTY[:2]]
    p = cw.ControlledRounding(20).protect(table(codes, (8, 9)), key=KEY)
    text = report_text(p, pictures=False)
    held = json.loads(re.search(r'id="cells0-data">(.*?)</script>', text).group(1))
    labels = p.instance.labels
    rows = [
        tuple(names[one[k]] for names, one in zip(held["codes"], held["index"], strict=True))
        for k in range(labels.cells)
    ]
    at = [labels.find(row) for row in rows]
    assert sorted(at) == list(range(labels.cells))
    columns = [one["values"] for one in held["columns"]]
    assert columns == [p.instance.a[at].tolist(), p.scaled[at].tolist(), (p.scaled - p.instance.a)[at].tolist()]
    assert held["level"] == sorted(held["level"], reverse=True)
    assert [int(mark) & 1 for mark in held["marks"]] == [int(i in p.instance.sensitivity.unsafe) for i in at]


def test_the_page_lets_no_script_run_but_its_own():
    import base64
    import hashlib

    text = report_text(rounded(), pictures=False)
    allowed = re.search(r"script-src &#x27;sha256-([^&]+)&#x27;", text).group(1)
    own = text[text.rindex("<script>") + 8 : text.rindex("</script>")]
    assert base64.b64decode(allowed) == hashlib.sha256(own.encode()).digest()
    assert "default-src &#x27;none&#x27;" in text and "http" not in re.sub(r'xmlns:xlink="[^"]*"', "", text).replace(
        "http-equiv", ""
    )


def test_the_same_result_gives_the_same_bytes(results):
    again = cw.ControlledRounding(20).protect(table(), key=KEY)
    for edition in ("internal", "public"):
        assert report_text(results["values"], edition=edition) == report_text(again, edition=edition)


def test_a_first_page_stands_in_the_page_itself():
    p = cw.ControlledRounding(20).protect(table(shape=(12, 12)), key=KEY)
    text = report_text(p, pictures=False)
    assert "The first 50 of 169 cells" in text
    assert text.split("<tbody>")[-1].count("<tr") <= 50
    grand = f"{int(p.instance.a.max()):,}"
    assert grand in text[: text.index("application/json")]


@pytest.mark.parametrize("name", ["values", "withheld", "ranges", "adjusted"])
def test_every_kind_of_publication_has_both_editions(results, name, tmp_path):
    p = results[name]
    for file, edition, mode in (("a.html", "internal", 0o600), ("b.md", "public", 0o644)):
        path = p.report(tmp_path / file, edition=edition)
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == mode & 0o077
    internal = (tmp_path / "a.html").read_text()
    assert "The table may be published" in internal and p.release().digest in internal
    assert "Internal" not in (tmp_path / "b.md").read_text()
    assert internal.count("<svg") == sum(kind.refuses(p) is None for name, kind in KINDS.items() if name != "search")
    assert "cellward verify certificate.json.gz release.csv release.json" in internal


def test_what_cannot_be_published_has_a_report_that_says_why(tmp_path):
    p = cw.ControlledRounding(2).protect(table().find(levels={0: (60, 60, 0)}), key=KEY)
    assert p.status == "infeasible"
    text = p.report(tmp_path / "r.html").read_text()
    assert "Nothing can be published (infeasible)" in text and "may be published:" not in text
    with pytest.raises(cw.VerificationError, match="nothing can be released"):
        p.report(tmp_path / "public.html", edition="public")
    assert not (tmp_path / "public.html").exists()


def test_reports_that_cannot_be_are_refused(tmp_path, results):
    p = results["values"]
    for path, options, words in (
        ("r.pdf", {}, r"a name that ends in \.html or \.md"),
        ("r.html", {"edition": "secret"}, "edition='secret' is not known"),
        ("r.html", {"edition": "public", "audit": p.audit()}, "its intervals are confidential"),
        ("none/r.html", {}, "there is no folder"),
    ):
        with pytest.raises(InputError, match=words):
            p.report(tmp_path / path, **options)


# ---- pictures --------------------------------------------------------------------------------------------------------------------------------


def test_pictures_are_texts_and_the_same_each_time(results):
    p = results["values"]
    first, again = (svg(p.plot("slice"), page=True) for _ in range(2))
    assert first == again and "<text" in first and "<date" not in first and "DejaVu" not in first
    assert f">{int(p.values.max()):,}<" in first


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("withheld", "deviations", "there are no changes to draw"),
        ("adjusted", "intervals", "nothing is shown of intervals"),
        ("values", "pie", "'pie' is not known; use 'intervals'"),
    ],
)
def test_pictures_that_do_not_apply_are_refused(results, name, kind, words):
    with pytest.raises(InputError, match=words):
        results[name].plot(kind)


def test_options_that_do_not_apply_are_refused(results):
    for kind, options, words in (
        ("levels", {"rows": "0"}, "rows does not go with it"),
        ("slice", {"rows": "height"}, "no dimension 'height'"),
        ("tree", {"dim": "height"}, "no dimension 'height'"),
    ):
        with pytest.raises(InputError, match=words):
            results["values"].plot(kind, **options)


def test_without_matplotlib_the_report_says_so_and_is_whole_otherwise(monkeypatch, tmp_path, results):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'cellward\[report\]'"):
        results["values"].plot("levels")
    text = results["values"].report(tmp_path / "r.html").read_text()
    assert "Pictures need matplotlib" in text and "<svg" not in text
    assert "<svg" not in results["values"].report(tmp_path / "p.html", edition="public").read_text()


def test_nothing_of_pyplot_is_touched(results):
    for kind, drawn in KINDS.items():
        if drawn.refuses(results["values"]) is None:
            assert results["values"].plot(kind).axes
    assert "matplotlib.pyplot" not in sys.modules


def test_the_search_is_kept():
    p = cw.CellSuppression().protect(table(shape=(6, 6)), key=KEY)
    assert p.run.history and min(one.incumbent for one in p.run.history if one.incumbent is not None) == p.objective
    assert p.plot("search").axes


# ---- what they are made of -------------------------------------------------------------------------------------------------------------------


def test_losses_by_level_add_up(results):
    rows = losses(results["values"])
    whole = results["values"].loss()
    assert sum(row.cells for row in rows) == whole.cells
    assert sum(row.mean * row.cells for row in rows) == pytest.approx(whole.sum_abs)
    assert sum(row.touched for row in rows) == whole.changed
    withheld = losses(results["withheld"])
    assert sum(row.touched for row in withheld) == int(results["withheld"].publication.withheld.sum())


@pytest.mark.parametrize("name", ["values", "withheld", "ranges"])
def test_what_attackers_are_left_with_covers_what_was_asked(results, name):
    p = results[name]
    for audit in (None, p.audit(cells="sensitive")):
        found = reached(p, audit)
        a = p.instance.a[found.cell]
        assert found.cell.tolist() == sorted([0, 7], key=found.cell.tolist().index)
        assert (found.low <= a - found.below).all() and (found.high >= a + found.above).all()
    exact = p.audit(cells="sensitive").intervals
    assert sorted(found.low.tolist()) == sorted(np.rint(exact["lower"]).astype(int).tolist())


def test_a_slice_holds_the_cells_of_its_codes():
    whole = cw.Table.from_array(np.arange(1, 61).reshape(3, 4, 5), dims=["a", "b", "c"])
    grid = slice_of(whole.labels, whole.relations, rows="b", columns="a")
    for y, row in enumerate(grid.rows):
        for x, column in enumerate(grid.columns):
            assert int(grid.cell[y, x]) == whole.labels.find((column, row, "Total"))


def test_a_tree_has_every_code_below_its_sum():
    frame = {"region": ["N1", "N2", "S1"], "n": [30, 41, 52]}
    nuts = cw.Hierarchy.from_dict({"Total": {"North": ["N1", "N2"], "South": ["S1"]}})
    made = cw.Table.from_frame(frame, dims=["region"], value="n", hierarchies={"region": nuts}).find(
        levels={("N1",): (2, 2, 0)}
    )
    nodes, left = tree_of(cw.ControlledRounding(10).protect(made, key=KEY), "region")
    parent = {node.code: nodes[node.parent].code if node.parent >= 0 else None for node in nodes}
    assert left == 0
    assert parent == {"Total": None, "North": "Total", "N1": "North", "N2": "North", "South": "Total", "S1": "South"}
    assert {node.code: node.at_risk for node in nodes}["N1"] == 1


# ---- folders ---------------------------------------------------------------------------------------------------------------------------------


def test_a_folder_gets_the_reports_that_were_wished(results):
    p = results["values"]
    assert set(folder_reports(p, "plain")) == set(folder_reports(p, "internal")) == {"report.html"}
    assert set(folder_reports(p, "public")) == {"report.html", "public.html"}
    assert folder_reports(p, "none") == {}
    assert b"<svg" not in folder_reports(p, "plain")["report.html"]
    assert b"<svg" in folder_reports(p, "internal")["report.html"]
