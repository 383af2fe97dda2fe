"""Exports: read back by the readers of their own world, nothing differs; text stays text, numbers stay exact, and no true value gets out."""

import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from decimal import Decimal

import numpy as np
import openpyxl
import pyarrow.parquet
import pytest
from export_readers import FOR_THE_EYE, READERS, contents, differences
from fixed_keys import key_of
from random_releases import random_release
from releases import by_hand

import cellward as cw
from cellward.formats import excel as excel_file
from cellward.formats import px as px_file
from cellward.publication.knowledge import Knowledge
from cellward.table.sensitivity import Sensitivity

NAMES = [*READERS, *FOR_THE_EYE]
KEY = key_of("exports")


def frame(values, codes=("a", "b"), **options):
    return cw.Table.from_frame({"region": list(codes), "n": list(values)}, dims=["region"], value="n", **options)


def released(table, withheld=()):
    v = table.scaled
    knowledge = Knowledge.suppressed(v, np.array(withheld, np.int64)) if withheld else Knowledge.adjusted(v)
    return by_hand(table, v, knowledge)


def with_words(release, **words):
    return replace(release, labels=release.labels.called(words))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_differs_on_random_releases(tmp_path, name):
    for seed in range(38):
        release = random_release(seed).release
        words = {"title": "Firms & more", "footnotes": ["one", "50 % of two"]} if seed % 2 else {}
        assert not differences(release, tmp_path, name, **words), seed


@pytest.mark.parametrize("name", NAMES)
def test_labels_stand_beside_codes(tmp_path, name):
    table = cw.Table.from_array([[20, 31], [40, 12]], dims=["region", "sex"], codes=[["N", "S"], ["f", "m"]])
    release = with_words(released(table, [0]), region={"N": "North & east", "S": "=South"}, sex={"f": "women"})
    if name == "release.sdmx.csv":
        with pytest.raises(cw.InputError, match=r"'region': a spreadsheet would run the label '=South' as a formula"):
            release.save(tmp_path / name)
        release = with_words(release, region={"S": "South"})
    assert not differences(release, tmp_path, name)
    path = tmp_path / name
    if name == "release.xlsx":
        text = str([row for sheet in openpyxl.load_workbook(path) for row in sheet.iter_rows(values_only=True)])
    elif name == "release.parquet":
        text = str(pyarrow.parquet.read_table(path).to_pydict())
    else:
        text = path.read_text()
    assert "North " in text
    assert "women" in text


def test_titles_footnotes_and_method_stand_in_the_files(tmp_path):
    p = cw.ControlledRounding(5).protect(cw.Table.from_array([[20, 31], [40, 12]]), key=KEY)
    words = {"title": "A title", "footnotes": ["First.", "Second."]}
    for name in NAMES:
        path = p.release().save(tmp_path / name, **words)
        if name == "release.xlsx":
            rows = list(openpyxl.load_workbook(path)["Read me"].iter_rows(values_only=True))
            assert ("Title", "A title") in rows
            assert ("Note", "Second.") in rows
            assert ("Method", "controlled rounding") in rows
            assert ("Certificate", p.release().digest) in rows
        elif name == "release.parquet":
            said = pyarrow.parquet.read_schema(path).metadata
            assert said[b"title"] == b"A title"
            assert said[b"footnotes"] == b"First.\nSecond."
            assert said[b"Method"] == b"controlled rounding"
        else:
            text = path.read_text()
            assert "A title" in text
            assert "Second." in text


def test_exports_are_the_same_bytes_again(tmp_path):
    release = random_release(8).release
    for name in NAMES:
        first = release.save(tmp_path / name).read_bytes()
        assert release.save(tmp_path / name).read_bytes() == first


# ---- text stays text, numbers stay exact ---------------------------------------------------------------------------------------------------


def test_what_a_spreadsheet_would_run_is_text(tmp_path):
    codes = ["=1+1", "@SUM(A1)", "+f(1)", "#N/A", "TRUE", "01", "1e5", " padded "]
    release = released(frame(range(1, 9), codes))
    path = release.save(tmp_path / "release.xlsx", title="=HYPERLINK(1)", footnotes=["=2", "-f(3)"])
    cells = [
        cell
        for sheet in openpyxl.load_workbook(path)
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None
    ]
    assert {cell.data_type for cell in cells} == {"s", "n"}
    assert set(codes) | {"=HYPERLINK(1)", "=2", "-f(3)"} <= {cell.value for cell in cells if cell.data_type == "s"}
    with zipfile.ZipFile(path) as held:
        assert not [name for name in held.namelist() if b"<f>" in held.read(name)]
    with pytest.raises(cw.InputError, match="a spreadsheet would run the label '=1\\+1' as a formula"):
        release.save(tmp_path / "release.sdmx.csv")
    with pytest.raises(cw.InputError, match=r"title and footnotes.*'=2'"):
        released(frame([1, 2])).save(tmp_path / "release.sdmx.csv", footnotes=["=2"])


def test_numbers_are_numbers_with_their_decimals(tmp_path):
    table = frame(["1234567890.25", "-3.50"], lower=None)
    path = released(table).save(tmp_path / "x.xlsx")
    cells = [row[-1] for row in openpyxl.load_workbook(path)["Table"].iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == [1234567890.25, -3.5, 1234567886.75]
    assert {cell.number_format for cell in cells} == {"0.00"}
    held = pyarrow.parquet.read_table(released(table).save(tmp_path / "x.parquet"))
    assert held["value"].to_pylist() == [Decimal("1234567890.25"), Decimal("-3.50"), Decimal("1234567886.75")]
    assert str(held.schema.field("value").type) == "decimal128(38, 2)"


@pytest.mark.parametrize("value", ["9007199254740991", "90071992547409.91", "0.9007199254740991"])
def test_numbers_beyond_fifteen_digits_are_exact(tmp_path, value):
    release = released(frame([value], ["a"]))
    path = release.save(tmp_path / "x.xlsx")
    assert [row[-1] for row in openpyxl.load_workbook(path)["Table"].iter_rows(min_row=2, values_only=True)] == [
        value
    ] * 2
    said = json.loads(release.save(tmp_path / "x.json").read_text(), parse_float=Decimal)
    assert said["value"] == [Decimal(value)] * 2
    held = pyarrow.parquet.read_table(release.save(tmp_path / "x.parquet"))["value"].to_pylist()
    assert held == [Decimal(value)] * 2
    assert value in release.save(tmp_path / "x.px").read_text()


def test_whole_numbers_are_integers(tmp_path):
    release = released(frame([3, 4]))
    assert str(pyarrow.parquet.read_schema(release.save(tmp_path / "x.parquet")).field("value").type) == "int64"
    assert json.loads(release.save(tmp_path / "x.jsonstat.json").read_text())["value"] == [7, 3, 4]


# ---- what is withheld stays so -------------------------------------------------------------------------------------------------------------


def test_a_withheld_value_is_marked_in_the_words_of_each_format(tmp_path):
    release = released(frame([7654321, 4]), [0, 2])  # the total stands last among the cells, and first among the codes
    rows = release.save(tmp_path / "x.sdmx.csv").read_text().splitlines()
    assert rows[0] == "STRUCTURE,STRUCTURE_ID,ACTION,region,OBS_VALUE,OBS_STATUS,CONF_STATUS,DECIMALS"
    assert rows[1] == "dataflow,CELLWARD:RELEASE(1.0),I,a,,Q,C,0"
    assert rows[2] == "dataflow,CELLWARD:RELEASE(1.0),I,b,4,A,F,0"
    said = json.loads(release.save(tmp_path / "x.jsonstat.json").read_text())
    assert (said["value"], said["status"]) == ([None, None, 4], {"0": "c", "1": "c"})
    assert said["extension"]["status"]["label"] == {"c": "withheld"}
    assert 'DATA=\n".." ".." 4\n;' in release.save(tmp_path / "x.px").read_text()
    assert "| a | c |" in release.save(tmp_path / "x.md").read_text()
    assert "c: withheld." in (tmp_path / "x.md").read_text()


def test_ranges_and_open_ends(tmp_path):
    table = frame([3, 40])
    open_end = cw.exact.NO_BOUND
    release = by_hand(
        table, table.scaled, Knowledge.interval(np.array([0, 40, -open_end]), np.array([9, 40, open_end]))
    )
    for name in NAMES:
        assert not differences(release, tmp_path, name)
    said = json.loads((tmp_path / "release.jsonstat.json").read_text())
    assert said["id"] == ["region", "printed"]
    assert said["value"] == [None, None, None, None, 0, 9, 40, 40, 40]
    assert said["status"] == {"0": "r", "1": "o", "2": "o", "3": "r"}
    assert "| a | 0 – 9 |" in (tmp_path / "release.md").read_text()
    assert "0 -- 9" in (tmp_path / "release.tex").read_text()


# ---- refused in one sentence ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("x.doc", {}, r"x\.doc: a release is written as CSV, or in another format; give a name that ends in one of csv, xlsx, sdmx\.csv, "),
        ("x.csv", {"title": "T"}, r"x\.csv: CSV has no place for a title and footnotes; leave them out, or choose another format$"),
        ("x.xlsx", {"footnotes": "one text"}, r"^title and footnotes: give a text, and a list of texts$"),
        ("x.md", {"title": "two\nlines"}, r"^'two\\nlines' holds a control character, which files of tables have no place for; take it out$"),
        ("x.md", {"title": "half a \ud800"}, r"holds a control character, which files of tables have no place for; take it out$"),
        ("x.px", {"title": 'a "word"'}, r"holds a quotation mark, for which PX files have no place; take it out, or choose another format$"),
        ("x.xlsx", {"title": "t" * 40_000}, r"x\.xlsx: 'ttt.*a text of 40,000 characters, more than a sheet has room for; shorten it$"),
        ("nowhere/x.px", {}, r"nowhere/x\.px: cannot be written"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_told(tmp_path, name, words, said):
    with pytest.raises(cw.InputError, match=said):
        released(frame([3, 4])).save(tmp_path / name, **words)
    assert not list(tmp_path.iterdir())


def test_tables_too_large_for_a_format_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(excel_file, "MOST_ROWS", 3)
    with pytest.raises(
        cw.InputError, match="a sheet has 3 rows, and the table 3 cells; choose another format, such as Parquet"
    ):
        released(frame([3, 4])).save(tmp_path / "x.xlsx")
    monkeypatch.setattr(px_file, "MOST_PLACES", 2)
    with pytest.raises(cw.InputError, match="a PX file holds every combination of codes, and there are 3 of 3 cells"):
        released(frame([3, 4])).save(tmp_path / "x.px")


def test_without_openpyxl_a_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(excel_file.importlib, "import_module", missing)
    with pytest.raises(cw.InputError, match=r"openpyxl is not installed.*pip install 'cellward\[excel\]'"):
        released(frame([3, 4])).save(tmp_path / "x.xlsx")


def test_importing_cellward_loads_no_writer_of_a_format():
    code = "import cellward, sys; print([m for m in ('openpyxl', 'pyarrow', 'zipfile') if m in sys.modules][:1])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['zipfile']")


# ---- nothing confidential gets out ---------------------------------------------------------------------------------------------------------


METHODS = [
    cw.ControlledRounding(5_000_000), cw.CellPerturbation(within=6_000_000), cw.ControlledAdjustment(senses="secret"), cw.CellSuppression(),
    cw.IntervalPublication(),
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.word)
def test_no_export_or_frame_gives_a_true_value_a_level_the_seed_or_the_key(tmp_path, method):
    rng = np.random.default_rng(31)
    for _ in range(3):
        values = rng.integers(10_000_000, 99_999_999, (3, 3))
        table = cw.Table.from_array(values)
        risky = np.array([0, 5, 10])
        levels = rng.integers(1_000_000, 1_900_000, (3, 3))
        table = table.with_sensitivity(Sensitivity.of(table.cells, risky, levels[0], levels[1], levels[0] * 0))
        p = method.protect(table, key=KEY, seed=987_654_321, attackers=[cw.Attacker.external()])
        release = p.release()
        printed = {text for name, own in release.publication.columns(0).items() if name != "status" for text in own}
        secrets = {str(a) for a in table.scaled[risky].tolist()} | {str(x) for x in levels.ravel().tolist()}
        if p.details is not None:
            secrets |= set(p.details.to_dict()["levels"].values())  # as they were jittered
        secrets = (secrets - printed) | {KEY.hex(), "987654321", "senses"}
        shown = [contents(release.save(tmp_path / name, title="T")) for name in NAMES]
        shown += [release.to_pandas().to_csv(), release.to_polars().write_csv(), release._repr_html_()]
        for text in shown:
            assert not [secret for secret in secrets if secret in text]
        assert any(str(v) in shown[0] for v in printed if v)


# ---- on the command line and in jobs -------------------------------------------------------------------------------------------------------


def run(*arguments, folder):
    command = [sys.executable, "-c", "from cellward.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture
def firms(tmp_path):
    (tmp_path / "firms.csv").write_text(
        "region,size,n,status\nN,small,13,u\nN,large,22,s\nS,small,31,s\nS,large,44,s\n"
    )
    return tmp_path


ROUND = (
    "round",
    "firms.csv",
    "--dims",
    "region,size",
    "--value",
    "n",
    "--status",
    "status",
    "--base",
    "5",
    "--out",
    "out",
)


def test_the_command_line_writes_them_into_the_folder(firms):
    done = run(
        *ROUND, "--format", "xlsx,px", "--format", "sdmx-csv", "--title", "Firms", "--footnote", "One.", folder=firms
    )
    assert done.returncode == 0, done.stderr
    out = firms / "out"
    assert "release.xlsx  (public)" in done.stdout
    held = json.loads((out / "manifest.json").read_text())["outputs"]
    assert {"release.xlsx", "release.px", "release.sdmx.csv"} <= held.keys()
    assert run("verify", "out", folder=firms).returncode == 0
    assert (out / "release.px").stat().st_mode & 0o044 == (out / "release.csv").stat().st_mode & 0o044
    (out / "release.px").write_text("another")
    assert "release.px is not the file that the manifest names" in run("verify", "out", folder=firms).stdout
    assert run(*ROUND, folder=firms).returncode == 0
    assert not list(out.glob("release.px")) + list(out.glob("*.xlsx"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--format", "docx"),
            "--format: 'docx' is no format; use xlsx, sdmx-csv, json-stat, px, parquet, latex, markdown",
        ),
        (
            ("--title", "T"),
            "--format: release.csv has no place for a title and footnotes; name another format beside it",
        ),
    ],
)
def test_wrong_formats_are_refused_before_anything_is_read(firms, options, said):
    (firms / "firms.csv").unlink()
    done = run(*ROUND, *options, folder=firms)
    assert (done.returncode, done.stderr.strip()) == (2, f"cellward: {said}")


def test_jobs_write_them_too_and_linked_tables_each_have_their_own(tmp_path):
    (tmp_path / "people.csv").write_text(
        "sex,age\n" + "f,old\n" * 7 + "m,old\n" * 5 + "f,young\n" * 9 + "m,young\n" * 4
    )
    job = '[input]\nfile = "people.csv"\n[roles]\ndims = "sex + age"\n[method]\nname = "round"\nbase = 5\n'
    job += '[output]\nfolder = "out"\nformats = ["markdown", "json-stat"]\ntitle = "People"\n'
    (tmp_path / "job.toml").write_text(job)
    files = cw.Job.read(tmp_path / "job.toml")
    table = files.table()
    written = {path.name for path in files.write(table, files.protect(table))}
    assert {f"release{part}{end}" for part in ("", "-1", "-2") for end in (".csv", ".md", ".jsonstat.json")} <= written
    assert json.loads((tmp_path / "out" / "release-1.jsonstat.json").read_text())["id"] == ["sex"]
    assert run("verify", "--job", "job.toml", folder=tmp_path).returncode == 0
    (tmp_path / "job.toml").write_text(job.replace('"markdown"', '"word"'))
    with pytest.raises(cw.InputError, match=r"\[output\] formats: 'word' is no format"):
        cw.Job.read(tmp_path / "job.toml")
