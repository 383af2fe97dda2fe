"""The τ-ARGUS samples: every one read, written and read again, its outputs made byte for byte, its batches run, and our files read by pytauargus."""

import pytest
import tauargus_files
from results import Report

import cellward as cw
from cellward.tauargus.batch import Batch


@pytest.mark.parametrize(
    "part",
    [tauargus_files.samples, tauargus_files.back, tauargus_files.outputs, tauargus_files.batches],
    ids=lambda part: part.__name__,
)
def test_known_figures(part):
    report = Report()
    part(report)
    assert report.short == []


def test_pytauargus_reads_what_we_write():
    report = Report()
    tauargus_files.peer(report, quick=True)
    assert report.short == []


def test_branches_of_one_name_are_refused_in_tables_and_told_apart_in_records(tmp_path):
    """`NUTS.hrc` has two branches 11: records have municipalities only, so each finds its branch; a table would have one row for both."""
    for name in ("NUTS.hrc", "KohStatReg.hrc", "nace_divisions.hrc"):
        (tmp_path / name).write_bytes((tauargus_files.SAMPLES / name).read_bytes())
    metadata = tauargus_files.read_rda(tauargus_files.SAMPLES / "example_enterprise.rda")
    tauargus_files.write_rda(metadata, tmp_path / "e.rda")
    columns = tauargus_files.columns_of(tauargus_files.SAMPLES / "example_enterprise.csv")
    tauargus_files.write_asc(columns, metadata, tmp_path / "e.asc")
    text = '<OPENMICRODATA> "e.asc"\n<OPENMETADATA> "e.rda"\n<SPECIFYTABLE> "mun"|"turnover"||\n'
    text += '<SAFETYRULE> P(10,1)\n<READMICRODATA>\n<WRITETABLE> (1,5,,"out.tab")\n'
    (tmp_path / "b.arb").write_text(text)
    (table,) = Batch(tmp_path / "b.arb").run().tables
    codes = table.labels.codes[0]
    assert {"11", "11 (line 204)"} <= set(codes)
    assert table.contributions.records == 8169
    at = {
        code: int(table.scaled[table.labels.find((code,))])
        for code in codes
        if (code,) in tauargus_files.by_codes(table)
    }
    assert at["11"] + sum(at[c] for c in ("01", "02", "03", "04", "05", "06", "07")) == at["1"]
    assert tauargus_files.content(cw.read(tmp_path / "out.tab")) is not None  # ours has two names for two branches
    (tmp_path / "t.rda").write_text(
        '<SEPARATOR> ";"\nmun\n <RECODEABLE>\n <HIERARCHICAL>\n <HIERCODELIST> "NUTS.hrc"\nv\n <NUMERIC>\n'
    )
    (tmp_path / "t.tab").write_text("Total;3\n11;3\n")
    with pytest.raises(cw.InputError, match="'11' is on line 150 already"):
        cw.read(tmp_path / "t.tab")
