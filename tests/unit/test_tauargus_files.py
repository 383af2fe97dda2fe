"""The τ-ARGUS world's files: read as they are, written so that they are read back equal, refused in one sentence."""

from __future__ import annotations

from fractions import Fraction

import pytest

import cellward as cw
from cellward.convert import convert_other
from cellward.errors import InputError
from cellward.formats.hrc import read_hrc
from cellward.tauargus.files.arb import Apriori, Suppress, WriteTable, read_arb
from cellward.tauargus.files.asc import read_asc, write_asc
from cellward.tauargus.files.cdl import read_cdl, write_cdl
from cellward.tauargus.files.grc import closed, cut, read_grc
from cellward.tauargus.files.hst import read_hst
from cellward.tauargus.files.rda import Metadata, Variable, read_rda, write_rda
from cellward.tauargus.files.references import find_beside, resolve, target
from cellward.tauargus.files.tab import TabSpec, read_tab

FIXED = """Region 1 2 "99"
  <RECODABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "C:\\old\\Regions.HRC"
  <HIERLEADSTRING> @
Kind 4 1
  <RECODEABLE>
  <TOTCODE> All
  <DISTANCE> 1 2 3 4 5
W 6 4 9999
  <DECIMALS> 1
  <WEIGHT>
Amount 11 7 9999999
  <NUMERIC>
  <DECIMALS> 2
Asked 19 1
  <REQUEST> "1" "2"
"""
RECORDS = """ 1 a  2.2   12.50 0
 1 b  1.0    3.25 1
 2 a  1.0     100 0
10 b  1.5    7,75 2
99 a  1.0       1 0
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.rda").write_text(FIXED)
    (tmp_path / "data.asc").write_text(RECORDS)
    (tmp_path / "regions.hrc").write_bytes(b"N\r\r\n@ 1\r\r\n@ 2\r\r\nS \r\r\n@10")
    return tmp_path


def refused(call, *parts):
    """The call is refused in one printable sentence that holds these parts."""
    with pytest.raises(InputError) as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said
    for part in parts:
        assert part in said
    return said


# ---- metadata and records ----------------------------------------------------------------------------------------------------------------


def test_metadata_of_fixed_records(folder):
    metadata = read_rda(folder / "data.rda")
    assert metadata.kind == "fixed"
    region, kind, weight, amount, asked = metadata.variables
    assert (region.start, region.width, region.missing, region.recodable, region.hierarchical) == (
        1,
        2,
        ("99",),
        True,
        True,
    )
    assert (kind.total, kind.distance) == ("All", (1, 2, 3, 4, 5))
    assert (weight.role, weight.decimals, amount.role, amount.decimals) == ("weight", 1, "number", 2)
    assert asked.request_codes == ("1", "2")
    assert metadata.find("AMOUNT") is amount


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('<SEPARATOR> ","\nA 3\n <RECODEABLE>\nV 6 999\n <NUMERIC>\n', "free"),
        ('<SEPARATOR> ";"\nA "99"\n <RECODEABLE>\nV\n <NUMERIC>\nC\n <NUMERIC> <COSTVAR>\nS\n <STATUS>\n', "table"),
        ('<SEPARATOR> ";"\n<SAFE> "V"\n<UNSAFE> "O"\n<PROTECT> "Z"\nA\n <RECODEABLE>\nV\n <NUMERIC>\n', "table"),
        ("NACE 1 6\n <RECODEABLE>\n <HIERARCHICAL>\n <HIERLEVELS> 3 1 1 1 0 0\nV 8 5\n <NUMERIC>\n", "fixed"),
    ],
)
def test_kinds_are_told_by_their_tags_and_written_back_equal(tmp_path, text, kind):
    (tmp_path / "m.rda").write_text(text)
    metadata = read_rda(tmp_path / "m.rda")
    assert metadata.kind == kind
    write_rda(metadata, tmp_path / "again.rda")
    assert read_rda(tmp_path / "again.rda") == metadata


def test_fixed_records_and_back(folder):
    metadata = read_rda(folder / "data.rda")
    columns = read_asc(folder / "data.asc", metadata)
    assert columns["Region"] == [" 1", " 1", " 2", "10", "99"]
    assert columns["Amount"] == ["12.50", "3.25", "100", "7.75", "1"]
    write_asc(columns, metadata, folder / "again.asc")
    assert read_asc(folder / "again.asc", metadata) == columns


def test_separated_records_are_padded_and_written_back(tmp_path):
    (tmp_path / "f.rda").write_text('<SEPARATOR> ","\nSex 6\n <RECODEABLE>\nV 5 999\n <NUMERIC>\n')
    (tmp_path / "f.asc").write_bytes(b"  male, 12\r\r\nfemale,999\r\r\nmale,1.5,\r\r\n")
    metadata = read_rda(tmp_path / "f.rda")
    columns = read_asc(tmp_path / "f.asc", metadata)
    assert columns == {"Sex": ["  male", "female", "  male"], "V": ["12", None, "1.5"]}
    write_asc(columns, metadata, tmp_path / "g.asc")
    assert read_asc(tmp_path / "g.asc", metadata) == columns


def test_quotes_with_blanks_around_them(tmp_path):
    (tmp_path / "f.rda").write_text('<SEPARATOR> ";"\nA 4\n <RECODEABLE>\nV 5\n <NUMERIC>\n')
    (tmp_path / "f.asc").write_text('"a" ; "1" \n  "b;""";2;\nc;""\n')
    assert read_asc(tmp_path / "f.asc", read_rda(tmp_path / "f.rda")) == {
        "A": ["   a", ' b;"', "   c"],
        "V": ["1", "2", None],
    }
    for line in ('"a";"1', '"a"b;1', 'a"b;1'):
        (tmp_path / "g.asc").write_text(line + "\n")
        refused(lambda: read_asc(tmp_path / "g.asc", read_rda(tmp_path / "f.rda")), "g.asc line 1", "quotes")


def test_records_that_do_not_fit_are_refused(folder):
    metadata = read_rda(folder / "data.rda")
    (folder / "cut.asc").write_text(RECORDS + " 1 a\n")
    refused(lambda: read_asc(folder / "cut.asc", metadata), "cut.asc line 6", "has 4 characters")
    columns = read_asc(folder / "data.asc", metadata)
    long = {**columns, "Kind": ["abc"] * 5}
    refused(lambda: write_asc(long, metadata, folder / "x.asc"), "x.asc record 1", "longer than its width 1")
    refused(lambda: write_asc({"Region": []}, metadata, folder / "x.asc"), "no column 'Kind'")
    assert not (folder / "x.asc").exists()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "describes no variable"),
        ("A 1\n", "has no place"),
        ("A 0 2\n", "the start of 'A'"),
        ("A 1 2\na 3 4\n", "there already"),
        ("A 1 2 3 4 5\n", "codes for missing"),
        (" <NUMERIC>\nA 1 2\n", "before any variable"),
        ("A 1 2\n <NOMERIC>\n", "<NOMERIC> is not known"),
        ("A 1 2\n <DECIMALS> many\n", "<DECIMALS> is 'many'"),
        ("A 1 2\n <HIERLEVELS> 0 0\n", "names no level"),
        ('A 1 2\n <TOTCODE> "All\n', "a quote is not closed"),
        ("A 1 2\n <CODELIST>\n", "followed by nothing"),
        ("<SPSS>\nA 1 2\n", "SPSS"),
        ('<SEPARATOR> ";;"\nA 1\n', "one character"),
        ("A\x07 1 2\n", "control character"),
    ],
)
def test_metadata_are_refused_at_their_line(tmp_path, text, part):
    (tmp_path / "m.rda").write_text(text)
    refused(lambda: read_rda(tmp_path / "m.rda"), "m.rda", part)


def test_a_variable_that_no_quotes_can_hold_is_not_written(tmp_path):
    metadata = Metadata(path=tmp_path / "m.rda", kind="table", variables=(Variable(name='a"b'),))
    refused(lambda: write_rda(metadata, tmp_path / "m.rda"), "cannot stand in a .rda")
    assert not (tmp_path / "m.rda").exists()


# ---- references --------------------------------------------------------------------------------------------------------------------------


def test_references_resolve_beside_their_file_ignoring_case(folder):
    at = folder / "data.rda"
    assert find_beside(r"\\server\share\REGIONS.hrc", at) == folder / "regions.hrc"
    assert find_beside("sub/Regions.hrc", at) == folder / "regions.hrc"
    assert find_beside("", at) is find_beside("a\0b", at) is find_beside("nothing.hrc", at) is None
    refused(lambda: resolve("x.hrc", at, "here"), "here", "'x.hrc'", "put it there")
    assert target(r"C:\out\a.csv", at) == folder / "a.csv"
    assert target("nowhere/a.csv", at) == folder / "a.csv"


# ---- code lists, recodings, a-priori files -----------------------------------------------------------------------------------------------


def test_code_lists(tmp_path):
    (tmp_path / "a.cdl").write_text(" 1,Groningen\n10,Zee, land\n")
    labels = read_cdl(tmp_path / "a.cdl")
    assert labels == {" 1": "Groningen", "10": "Zee, land"}
    write_cdl(labels, tmp_path / "b.cdl")
    assert read_cdl(tmp_path / "b.cdl") == labels
    (tmp_path / "c.cdl").write_text("1,a\n1,b\n")
    refused(lambda: read_cdl(tmp_path / "c.cdl"), "c.cdl line 2", "in the list already")


def test_groups_of_codes(tmp_path):
    (tmp_path / "a.grc").write_text('1: 1, 3-5\n2:-0,150-199,300-\n7:"2-7"\n<MISSING> 9, 8\n<CODELIST> "new.cdl"\n')
    recoding = read_grc(tmp_path / "a.grc")
    assert (recoding.missing, recoding.code_list, recoding.is_tree) == (("9", "8"), "new.cdl", False)
    new = recoding.new_codes(["  1", "  2", "  4", "  0", "150", "200", "999", "2-7"], 3)
    assert new == {
        "  1": "  1",
        "  2": "  2",
        "  4": "  1",
        "  0": "  2",
        "150": "  2",
        "200": "200",
        "999": "  2",
        "2-7": "  7",
    }
    (tmp_path / "b.grc").write_text("1: 1-5\n2: 4\n")
    refused(lambda: read_grc(tmp_path / "b.grc").new_codes(["4"], 1), "b.grc line 2", "in line 1 already")


@pytest.mark.parametrize("text", ["", "1 2 3\n", "1:\n", "1: -\n", "1: 1-2-3\n", "<TREERECODE>\n", "<FOO> 1\n", ":3\n"])
def test_recodings_are_refused(tmp_path, text):
    (tmp_path / "a.grc").write_text(text)
    refused(lambda: read_grc(tmp_path / "a.grc"), "a.grc")


def test_branches_are_closed(folder):
    (folder / "t.grc").write_text("<treerecode>\nN\n")
    tree = read_hrc(folder / "regions.hrc")
    shut, above = closed(tree, read_grc(folder / "t.grc").close, "here")
    assert shut.leaves == ("N", "10")
    assert above == {" 1": "N", " 2": "N"}
    assert cut(tree, 1) == ["N", "S"]
    assert cut(tree, 2) == []
    refused(lambda: closed(tree, ["X"], "here"), "here", "no code 'X'")
    refused(lambda: closed(tree, ["Total"], "here"), "is the total")


def test_a_priori_lines(tmp_path):
    (tmp_path / "a.hst").write_text(' 1;a;u\nN;"b";PL;10;12,5\n;a;C;3;\n')
    first, second, third = read_hst(tmp_path / "a.hst", 2)
    assert (first.codes, first.command) == (("1", "a"), "U")
    assert (second.command, second.numbers) == ("PL", ("10", "12.5"))
    assert (third.codes, third.numbers) == (("", "a"), ("3",))
    for text in ("1;a\n", "1;a;X\n", "1;a;PL;3\n", "1;a;C;-1\n", "1;a;AB;1;2\n", "\n"):
        (tmp_path / "b.hst").write_text(text)
        refused(lambda: read_hst(tmp_path / "b.hst", 2), "b.hst")


# ---- tables ------------------------------------------------------------------------------------------------------------------------------

TAB_RDA = """<SEPARATOR> ";"
<SAFE> "V"
<UNSAFE> "X"
Region
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "regions.hrc"
Kind
  <RECODEABLE>
  <TOTCODE> "All"
V
  <NUMERIC>
  <DECIMALS> 1
N
  <FREQUENCY>
C
  <NUMERIC> <COST>
T1
  <MAXSCORE>
T2
  <MAXSCORE>
St
  <STATUS>
L
  <NUMERIC> <LOWERPL>
U
  <NUMERIC> <UPPERPL>
"""
TAB = """Total;All;40,5;9;40,5;20;10;V;0,1;0,1
Total;a;30,5;6;30,5;20;5;V;0,1;0,1
Total;b;10;3;10;10;0;X;;
N;All;30,5;6;30,5;20;5;v;0,1;0,1
N;a;30,5;6;30,5;20;5;M;0,1;0,1
 1;All;20;1;20;20;0;X;2,5;3
 1;a;20;1;20;20;0;P;2,5;3
2;All;10,5;5;10,5;5;3;V;1;1
2;a;10,5;5;10,5;5;3;V;1;1
S;All;10;3;10;10;0;V;0;0
S;b;10;3;10;10;0;V;0;0
10;All;10;3;10;10;0;V;0;0
10;b;10;3;10;10;0;V;0;0
N;b;-;-;;;;E;;
 1;b;-;-;;;;;;
2;b;;;;;;;;
"""


@pytest.fixture
def tab(folder):
    (folder / "t.rda").write_text(TAB_RDA)
    (folder / "t.tab").write_text(TAB)
    return folder / "t.tab"


def by_codes(table):
    """All that a table says of each cell."""
    s, c, unit = table.sensitivity, table.contributions, Fraction(1, 10**table.decimals)
    cost = (
        [None] * table.cells
        if table.weight is None
        else [Fraction(int(w), 10**table.weight_decimals) for w in table.weight]
    )
    return {
        table.labels.tuple_of(i): (
            int(table.scaled[i]) * unit,
            int(s.status[i]),
            int(s.lpl[i]) * unit,
            int(s.upl[i]) * unit,
            cost[i],
            None if c is None else (int(c.rows[i]), int(c.size[i]) * unit, tuple(int(x) * unit for x in c.top[:, i])),
        )
        for i in range(table.cells)
    }


def sums_by_codes(table):
    """The equations, whatever their order and sign."""
    out = set()
    for j in range(table.relations.equations):
        _, members, coefs = table.relations.equation(j)
        flip = -1 if coefs[members.index(int(table.relations.total[j]))] > 0 else 1
        out.add(frozenset((table.labels.tuple_of(i), flip * c) for i, c in zip(members, coefs, strict=True)))
    return out


def same(one, other):
    return (
        one.labels.dims == other.labels.dims
        and by_codes(one) == by_codes(other)
        and sums_by_codes(one) == sums_by_codes(other)
    )


def test_a_table_with_decimal_commas_empty_cells_and_letters_of_its_own(tab):
    table = cw.read(tab)
    cells = by_codes(table)
    assert table.labels.dims == ("Region", "Kind")
    assert table.labels.codes[0] == ("Total", "N", " 1", " 2", "S", "10")
    assert len(cells) == 16
    assert cells["Total", "b"][:4] == (10, 1, 2, 2)  # 20 % where the file asks for nothing
    assert cells[" 1", "All"][:4] == (20, 1, Fraction(5, 2), 3)
    assert cells[" 1", "a"][:4] == (20, 3, 0, 0)
    assert cells["N", "a"][1] == 2
    assert cells["N", "b"][:2] == (0, 3)
    assert cells["Total", "All"][4] == Fraction(81, 2)
    assert cells["Total", "All"][5] == (9, Fraction(81, 2), (20, 10))
    assert list(table.find(cw.Dominance(1, 90)).sensitive) == [
        table.labels.find(k)
        for k in [("Total", "b"), (" 1", "All"), ("S", "All"), ("S", "b"), ("10", "All"), ("10", "b")]
    ]


def test_totals_are_checked_or_computed(tab):
    tab.write_text(TAB.replace("Total;All;40,5", "Total;All;41,5"))
    refused(lambda: cw.read(tab), "t.tab", "does not add up", "(Total, All)")
    table = cw.read(tab, totals="compute")
    assert by_codes(table)["Total", "All"][0] == Fraction(81, 2)
    plain = read_tab(tab, None, TabSpec(totals="compute", keep_status=False))
    assert by_codes(plain)["Total", "b"][1] == 0
    assert by_codes(plain)["N", "b"][1] == 3  # empty stays empty


def test_part_of_a_table_and_other_columns(tab):
    by_region = read_tab(tab, None, TabSpec(dims=["region"], response="N"))
    assert {k: v[0] for k, v in by_codes(by_region).items()} == {
        ("Total",): 9,
        ("N",): 6,
        (" 1",): 1,
        (" 2",): 5,
        ("S",): 3,
        ("10",): 3,
    }
    shut = read_tab(tab, None, TabSpec(closed={"Region": ["N"]}))
    assert {k[0] for k in by_codes(shut)} == {"Total", "N", "S", "10"}


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("2;All;10,5", "7;All;10,5", "line 8, column Region: the code '7' is not in the hierarchy"),
        ("2;All;10,5", "2;All;ten", "line 8, column V: 'ten' is not a number"),
        ("N;b;-;-;;;;E", "N;b;3;-;;;;E", "the status is E"),
        (";M;", ";Q;", "line 5, column St: the status 'Q' is not known"),
        ("30,5;20;5;V", "30,5;5;20;V", "do not descend"),
        ("2;b;;;;;;;;", "2;b;;", "line 16: 4 fields where the .rda has 10 variables"),
        ("2;a;10,5", "2;All;10,5", "occurs twice"),
    ],
)
def test_tables_are_refused_at_their_line(tab, old, new, part):
    tab.write_text(TAB.replace(old, new, 1))
    refused(lambda: cw.read(tab), "t.tab", part)


def test_a_table_needs_its_metadata(tab):
    (tab.parent / "t.rda").unlink()
    refused(lambda: cw.read(tab), "no t.rda beside it")
    (tab.parent / "t.rda").write_text(FIXED)
    refused(lambda: read_tab(tab, read_rda(tab.parent / "t.rda")), "describes records")
    refused(lambda: cw.read(tab, status="St"), "leave out status")


def test_written_and_read_again(tab):
    table = cw.read(tab)
    cw.write(table, tab.parent / "again.tab")
    assert same(cw.read(tab.parent / "again.tab"), table)
    assert {path.name for path in tab.parent.glob("again*")} == {"again.tab", "again.rda", "again_Region.hrc"}
    assert (tab.parent / "again.tab").stat().st_mode & 0o077 == 0


def test_tables_of_ours_are_read_back_equal(tmp_path):
    records = {
        "nace": ["A1", "A2", "A1", "B1"],
        "size": ["s", "l", "l", "s"],
        "v": ["1.5", "20", "3", "4"],
        "firm": list("wxyz"),
    }
    tree = cw.Hierarchy.from_dict({"Total": {"A": ["A1", "A2"], "B": ["B1"]}})
    made = cw.Table.from_microdata(
        records, dims=["nace", "size"], measure="v", contributor="firm", hierarchies={"nace": tree}
    )
    for table in (
        made,
        made.find(cw.PPercent(10), cw.Threshold(2, units=1)),
        cw.Table.from_array([[1, 2], [3, 4]], dims=["a b", "value"]),
    ):
        cw.write(table, tmp_path / "t.tab")
        assert same(cw.read(tmp_path / "t.tab"), table)


@pytest.mark.parametrize(
    "table",
    [
        cw.Table.from_equations([1, 2, 3], [[1, 1, -1]]),
        cw.Table.from_array([[1, 2], [3, 4]], upper=20),
        cw.Table.from_frame({"a": ["x", "y"], "v": [1, 2], "s": [1, 0]}, dims=["a"], value="v", spl="s"),
        cw.Table.from_frame({"a": ["x", "y"], "v": [1, 2], "s": [1, 0]}, dims=["a"], value="v", lpl="s"),
        cw.Table.from_frame({"a": ['x"', "y"], "v": [1, 2]}, dims=["a"], value="v"),
    ],
    ids=["equations", "bounds", "sliding", "levels of safe cells", "quotes"],
)
def test_what_the_format_cannot_hold_is_refused(table, tmp_path):
    refused(lambda: cw.write(table, tmp_path / "t.tab"))
    assert not list(tmp_path.iterdir())


def test_overlapping_sums_are_no_tree(tmp_path):
    both = cw.Hierarchy((("Total", ("m", "f")), ("Total", ("y", "o"))))
    table = cw.Table.from_frame(
        {"a": ["m", "f", "y", "o", "Total"], "v": [1, 2, 2, 1, 3]}, dims=["a"], value="v", hierarchies={"a": both}
    )
    refused(lambda: cw.write(table, tmp_path / "t.tab"), "several sums")


# ---- JJ with frequencies -----------------------------------------------------------------------------------------------------------------


def test_jj_with_its_frequencies(tab):
    table = cw.read(tab)
    path = tab.parent / "t.jj"
    cw.write(table, path)
    assert (tab.parent / "t.jj.frq").read_text().split("\n")[:2] == ["9 0", "6 0"]
    again = cw.read(path)
    assert again.contributions.rows.tolist() == table.contributions.rows.tolist()
    assert [int(i) for i in again.find(cw.Threshold(4)).sensitive] == [
        int(i) for i in table.find(cw.Threshold(4)).sensitive
    ]
    (tab.parent / "t.jj.frq").write_text("1 0\n")
    refused(lambda: cw.read(path), "t.jj.frq", "1 lines for 16 cells")
    (tab.parent / "t.jj.frq").write_text("1\n" * 16)
    refused(lambda: cw.read(path), "t.jj.frq line 1")
    cw.write(cw.Table.from_array([[1]]), path)
    assert not (tab.parent / "t.jj.frq").exists()


# ---- batches as they are written ---------------------------------------------------------------------------------------------------------


def test_commands_in_all_their_spellings(tmp_path):
    (tmp_path / "a.arb").write_text(
        '// a comment\n<openmicrodata> data.asc // another\n<OPENMETADATA> "data.rda"\n'
        '<SPECIFYTABLE> "A""B c"|<freq>|""|-1|1\n<SAFETYRULE> P(20,5)|freq(3,10)|\n<READTABLE>\n<READTABLE> 1T\n'
        '<APRIORY> "a.hst",1,",",1,0\n<SUPPRESS> RND ( 1, 5,,10 )\n<WRITETABLE> ( 1, 3, as+FL-, C:\\x\\y.txt )\n<CLEAR>\n'
    )
    data, meta, table, rules, plain, kept, apriori, rounding, output, clear = read_arb(tmp_path / "a.arb")
    assert (data.file, meta.file) == ("data.asc", "data.rda")
    assert (table.dims, table.response, table.shadow, table.cost) == (("A", "B c"), "<freq>", "", "-1")
    assert [str(rule) for rule in rules.rules] == ["P(20,5)", "FREQ(3,10)"]
    assert (plain.mode, plain.keep_status, kept.mode, kept.keep_status) == ("0", False, "1", True)
    assert isinstance(apriori, Apriori)
    assert (apriori.separator, apriori.ignore, apriori.expand) == (",", True, False)
    assert isinstance(rounding, Suppress)
    assert (rounding.method, rounding.table, rounding.given) == ("RND", 1, ("5", "", "10"))
    assert isinstance(output, WriteTable)
    assert (output.output, output.options, output.file) == (3, "as+FL-", r"C:\x\y.txt")
    assert clear.name == "CLEAR"


@pytest.mark.parametrize(
    "line",
    ["no command", "<NONSENSE>", "<OPENMETADATA>", "<SPECIFYTABLE> |x", '<SPECIFYTABLE> "A""a"|"v"', "<SAFETYRULE> P", "<READTABLE> 7",
     "<RECODE> 1, x", "<RECODE> one, x, 2", "<APRIORI> a.hst", '<APRIORI> "a.hst",1,";",2', "<SUPPRESS> RND()", "<SUPPRESS> 3",
     "<WRITETABLE> (1,3,AS+)", '<WRITETABLE> (1,9,,"a")', '<SPECIFYTABLE> "A|x'],
)  # fmt: skip
def test_commands_are_refused_at_their_line(tmp_path, line):
    (tmp_path / "a.arb").write_text(f"// first\n{line}\n")
    refused(lambda: read_arb(tmp_path / "a.arb"), "a.arb line 2")


# ---- conversions -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("middle", ["csv", "tsv", "parquet"])
def test_records_travel(folder, middle):
    between = folder / f"records.{middle}"
    assert "5 records" in convert_other(folder / "data.asc", between)
    (folder / "back.rda").write_text(FIXED)
    convert_other(between, folder / "back.asc")
    metadata = read_rda(folder / "data.rda")
    assert read_asc(folder / "back.asc", metadata) == read_asc(folder / "data.asc", metadata)


def test_hierarchies_and_code_lists_travel(folder):
    convert_other(folder / "regions.hrc", folder / "r.csv")
    convert_other(folder / "r.csv", folder / "back.hrc")
    assert read_hrc(folder / "back.hrc") == read_hrc(folder / "regions.hrc")
    (folder / "a.cdl").write_text(" 1,x\n")
    convert_other(folder / "a.cdl", folder / "a.csv")
    convert_other(folder / "a.csv", folder / "b.cdl")
    assert read_cdl(folder / "b.cdl") == {" 1": "x"}
    assert convert_other(folder / "a.jj", folder / "b.csv") is None
    refused(lambda: convert_other(folder / "data.asc", folder / "a.jj"), "not known here")
    refused(lambda: convert_other(folder / "r.csv", folder / "new.asc"), "no new.rda")
    refused(
        lambda: convert_other(folder / "a.csv", folder / "x.hrc"),
        "'code' and 'label' say the same",
        "name two columns child and parent",
    )


# ---- branches of one name ----------------------------------------------------------------------------------------------------------------


def test_branches_of_one_name_are_told_apart_by_their_lines(tmp_path):
    file = tmp_path / "a.hrc"
    file.write_text("A\n@x\n@@1\nB\n@x\n@@2\n")
    refused(lambda: read_hrc(file), "line 5: 'x' is on line 2 already")
    tree = read_hrc(file, repeated="by line")
    assert dict(tree.sums)["x (line 5)"] == ("2",)
    assert dict(tree.sums)["B"] == ("x (line 5)",)
    file.write_text("A\n@1\nB\n@1\n@2\n")
    refused(lambda: read_hrc(file, repeated="by line"), "line 4: '1' is on line 2 already")
    file.write_text("A\n@x\n@@1\nB\n@x\n")
    refused(lambda: read_hrc(file, repeated="by line"), "line 5: 'x' is on line 2 already")


def test_files_that_are_something_else_are_refused_soon(tmp_path):
    (tmp_path / "a.rda").write_text("A 1 2\n" + "x" * 40_000)
    refused(lambda: read_rda(tmp_path / "a.rda"), "a.rda line 2", "characters")
    (tmp_path / "b.rda").write_bytes(b"\n" * 2_000_002)
    refused(lambda: read_rda(tmp_path / "b.rda"), "2,000,000 lines")
    (tmp_path / "c.rda").write_bytes(b" " * (1 << 23))
    refused(lambda: read_rda(tmp_path / "c.rda"), "larger than 4 MiB")
    (tmp_path / "d.rda").write_text("A 1 101\n <RECODEABLE>\n")
    refused(lambda: read_rda(tmp_path / "d.rda"), "at most 100 characters")
    (tmp_path / "e.grc").write_text("1: 1-2\n" * 1001)
    refused(lambda: read_grc(tmp_path / "e.grc"), "1,000 lines with ranges")
