"""The τ-ARGUS world's files: every figure that reading, writing and running them owes, computed, compared, and written to RESULTS.md.

python benchmarks/tauargus_files.py                     all figures, about three quarters of an hour, nearly all of it damaged files
python benchmarks/tauargus_files.py --part samples      one part: samples, back, outputs, batches, peer or damaged
python benchmarks/tauargus_files.py --quick             the same checks with few damaged files, half a minute; writes nothing
"""

from __future__ import annotations

import csv
import math
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import mutated_files
import peer_tauargus_files
from results import SHARED, Report, run_parts, table
from tabulation import Figures, by_codes, tau_test

import cellward as cw
from cellward import Table
from cellward.formats.csv_file import read_rows
from cellward.formats.hrc import read_hrc, write_hrc
from cellward.formats.jj import read_jj
from cellward.risk.dominance import Dominance
from cellward.tauargus.batch import Batch
from cellward.tauargus.files.arb import read_arb
from cellward.tauargus.files.asc import read_asc, write_asc
from cellward.tauargus.files.cdl import read_cdl, write_cdl
from cellward.tauargus.files.grc import read_grc
from cellward.tauargus.files.hst import read_hst
from cellward.tauargus.files.output_files import output_files
from cellward.tauargus.files.output_table import Options, Written
from cellward.tauargus.files.rda import Metadata, read_rda, write_rda
from cellward.tauargus.files.references import last_part
from cellward.tauargus.files.tab import TabSpec, read_tab

SAMPLES = SHARED / "data" / "tauargus"
GENERATED = SAMPLES / "generated"
DAMAGED, DAMAGED_QUICK = 200_000, 200


# ---- every sample file -------------------------------------------------------------------------------------------------------------------


def columns_of(path: Path) -> dict[str, list[str | None]]:
    """The columns of a CSV of records."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    return {name: list(column) for name, column in zip(header, zip(*rows, strict=True), strict=True)}


def metadata_of(path: Path) -> Metadata:
    """The metadata of a sample of records or cells."""
    near = {"tabdata_ex1.tab": "metadata_ex1.rda", "microdata_ex2.asc": "metadata_ex2.rda"}
    return read_rda(path.with_name(near[path.name]) if path.name in near else SAMPLES / "tableinput" / "pp.rda")


def table_of(path: Path) -> Table:
    """A sample table; the one that was edited by hand has its totals computed, intervals of an audit are left out."""
    metadata = metadata_of(path)
    if path.stem.endswith("_SO"):
        short = ("Var2_Shadow", "Top1", "Top2")
        metadata = replace(metadata, variables=tuple(v for v in metadata.variables if v.name not in short))
    if path.stem.endswith("_AR"):
        extra = tuple(replace(metadata.variables[2], name=f"audit {k}") for k in range(6))
        metadata = replace(metadata, variables=(*metadata.variables, *extra))
    totals = "compute" if path.name == "pp.tab" else "given"
    return read_tab(
        path, metadata, TabSpec(response="freq" if path.name == "tabdata_ex1.tab" else "Var2", totals=totals)
    )


PARSERS: dict[str, Callable[[Path], Any]] = {
    ".rda": read_rda,
    ".hrc": lambda path: read_hrc(path, repeated="by line"),
    ".cdl": read_cdl,
    ".grc": read_grc,
    ".hst": lambda path: read_hst(path, 2),
    ".arb": read_arb,
    ".asc": lambda path: read_asc(path, metadata_of(path)),
    ".tab": table_of,
    ".jj": read_jj,
    ".frq": lambda path: read_jj(path.with_suffix("")).contributions.rows,  # type: ignore[union-attr]
    ".csv": read_rows,
}


def samples(report: Report) -> None:
    """Every sample file by its reader."""
    figures = Figures(report, "samples")
    files = [path for path in sorted(SAMPLES.rglob("*")) if path.is_file() and not path.name.startswith("out_type1")]
    files = [path for path in files if path.suffix.lower() != ".txt"]
    parsed: Counter[str] = Counter()
    for path in files:
        try:
            PARSERS[path.suffix.lower()](path)
            parsed[path.suffix.lower()] += 1
        except cw.CellwardError as error:
            report.require(False, f"samples: {path.name}: {error}")
    for kind, many in sorted(Counter(path.suffix.lower() for path in files).items()):
        figures.line(f"`{kind}` files that parse", many, parsed[kind])
    nuts = read_hrc(SAMPLES / "NUTS.hrc", repeated="by line")
    lines = (SAMPLES / "NUTS.hrc").read_text().split()
    figures.line("codes of `NUTS.hrc`, one a line, and the total", len(lines) + 1, len(nuts.codes))
    below = dict(nuts.sums)
    figures.line("municipalities under its two branches 11", (6, 13), (len(below["11"]), len(below["11 (line 204)"])))
    from_csv, from_asc = tau_test(), _tau_test_from_asc()
    same = sum(
        _cell(from_csv, i) == _cell(from_asc, from_asc.labels.find(own)) for own, i in by_codes(from_csv).items()
    )
    figures.line(
        "cells of `tau_testW.csv` equal when read from the `.asc` written with its `.rda`", from_csv.cells, same
    )
    figures.line("cells of the latter", from_csv.cells, from_asc.cells)
    figures.add(
        "Every sample read. The outputs of types 1, 3 and 4 are no inputs: they are compared byte for byte below."
    )


def _cell(made: Table, i: int) -> tuple[Any, ...]:
    c = made.contributions
    assert c is not None
    return int(made.scaled[i]), int(c.rows[i]), int(c.size[i]), tuple(c.top[:2, i].tolist())


def _folder(parent: Path) -> Path:
    """The τ-ARGUS sample with the .asc that it lacks."""
    for path in SAMPLES.iterdir():
        if path.is_file() and path.suffix != ".csv":
            shutil.copy(path, parent / path.name)
    metadata = read_rda(SAMPLES / "Tau_TestW.rda")
    write_asc(columns_of(SAMPLES / "tau_testW.csv"), metadata, parent / "tau_testW.asc")
    return parent


def _tau_test_from_asc() -> Table:
    with tempfile.TemporaryDirectory() as name:
        folder = _folder(Path(name))
        text = '<OPENMICRODATA> "tau_testW.asc"\n<OPENMETADATA> "tau_testW.rda"\n<SPECIFYTABLE> "Size""Region"|"Var2"||\n<READMICRODATA>\n'
        (folder / "table.arb").write_text(text)
        (made,) = Batch(folder / "table.arb").run().tables
        return made


# ---- written and read back ---------------------------------------------------------------------------------------------------------------


def content(made: Table) -> tuple[Any, ...]:
    """What a table says, whatever the order of its cells and equations."""
    s, c = made.sensitivity, made.contributions
    names = [made.labels.tuple_of(i) if made.labels.dims else (i,) for i in range(made.cells)]
    unit, cost_unit = Fraction(1, 10**made.decimals), Fraction(1, 10**made.weight_decimals)
    cells = {
        name: (
            int(made.scaled[i]) * unit, int(s.status[i]), int(s.lpl[i]) * unit, int(s.upl[i]) * unit,
            None if made.weight is None else int(made.weight[i]) * cost_unit,
            None if c is None else (int(c.rows[i]), int(c.size[i]) * unit, tuple(int(x) * unit for x in c.top[:, i])),
        )
        for i, name in enumerate(names)
    }  # fmt: skip
    return cells, sorted(
        sorted((str(names[i]), c) for i, c in zip(*made.relations.equation(j)[1:], strict=True))
        for j in range(made.relations.equations)
    )


def _without(said: tuple[Any, ...], *entries: int) -> tuple[Any, ...]:
    return {name: tuple(e for k, e in enumerate(cell) if k not in entries) for name, cell in said[0].items()}, said[1]


def back(report: Report) -> None:
    """Everything that we write, read again."""
    figures = Figures(report, "back")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = [table_of(path) for path in sorted(SAMPLES.rglob("*.tab"))]
        made += [tau_test().find(cw.Dominance(2, 75), cw.Threshold(3, units=1))]
        for kind in (".tab", ".jj"):
            same = 0
            for table_ in made:
                cw.write(table_, folder / f"t{kind}")
                again, had = content(cw.read(folder / f"t{kind}")), content(table_)
                if kind == ".jj":  # no codes, no largest contributions; a missing weight is 1
                    cells = [(*cell[:4], cell[5] and cell[5][0]) for cell in again[0].values()]
                    same += cells == [(*cell[:4], cell[5] and cell[5][0]) for cell in had[0].values()] and len(
                        again[1]
                    ) == len(had[1])
                else:
                    same += again == had
            figures.line(f"tables written as `{kind}` and read back equal", len(made), same)
        for kind in (".csv", ".parquet"):
            same = 0
            for table_ in made:
                cw.write(table_, folder / f"t{kind}")
                trees = {dim: tree for dim, tree in _trees(table_).items() if tree.depth > 1}
                levels = {key: key for key in ("lpl", "upl") if getattr(table_.sensitivity, key).any()}
                weight = {} if table_.weight is None else {"cost": "cost"}
                again = cw.read(
                    folder / f"t{kind}", dims=list(table_.labels.dims), value="value", status="status", hierarchies=trees, totals="given",
                    decimals=table_.decimals, **levels, **weight,
                )  # fmt: skip
                same += _without(content(again), 5) == _without(content(table_), 5)
            figures.line(f"tables written as `{kind}` and read back equal", len(made), same)
        figures.line("`.rda` files written and read back equal", *_again(folder, ".rda", read_rda, write_rda))
        figures.line(
            "`.hrc` files written and read back equal",
            *_again(folder, ".hrc", PARSERS[".hrc"], lambda tree, path: write_hrc(tree, path)),
        )
        figures.line("`.cdl` files written and read back equal", *_again(folder, ".cdl", read_cdl, write_cdl))
        records = 0
        for path, metadata in _records():
            columns = read_asc(path, metadata) if path.suffix == ".asc" else columns_of(path)
            write_asc(columns, metadata, folder / "r.asc")
            again_ = read_asc(folder / "r.asc", metadata)
            records += _stripped(again_) == _stripped(columns)
        figures.line("files of records written as `.asc` and read back equal", len(_records()), records)
    figures.add(
        "Written and read again: values, statuses, levels, costs, frequencies, largest contributions and equations of every table. CSV and "
        "Parquet hold no frequencies."
    )


def _trees(made: Table) -> dict[str, cw.Hierarchy]:
    from cellward.tauargus.files.trees import hierarchies_of

    return hierarchies_of(made)


def _again(
    folder: Path, kind: str, read: Callable[[Path], Any], write: Callable[[Any, Path], object]
) -> tuple[int, int]:
    files = [path for path in SAMPLES.rglob("*") if path.suffix.lower() == kind]
    same = 0
    for path in files:
        first = read(path)
        write(first, folder / f"again{kind}")
        same += read(folder / f"again{kind}") == first
    return len(files), same


def _records() -> list[tuple[Path, Metadata]]:
    ex2 = SAMPLES / "checks" / "ex2" / "microdata_ex2.asc"
    return [
        (SAMPLES / "tau_testW.csv", read_rda(SAMPLES / "Tau_TestW.rda")),
        (SAMPLES / "example_enterprise.csv", read_rda(SAMPLES / "example_enterprise.rda")),
        (ex2, metadata_of(ex2)),
    ]


def _stripped(columns: dict[str, list[str | None]]) -> dict[str, list[str]]:
    return {name: [(entry or "").strip() for entry in column] for name, column in columns.items()}


# ---- outputs -----------------------------------------------------------------------------------------------------------------------------


def pp(rule: Dominance | None = None, *, secondary: bool = False) -> Table:
    """Size × Region as τ-ARGUS had it when it wrote the samples: NK(2,60) on pp.tab with totals computed, then its own suppression."""
    text = '<OPENTABLEDATA> "pp.tab"\n<OPENMETADATA> "pp.rda"\n<SPECIFYTABLE> "Size""Region"|"Var2"|"Var2_Shadow"|"Var2_Cost"\n'
    text += ("" if rule is None else f"<SAFETYRULE> NK({rule.n},{rule.k})\n") + "<READTABLE> 1\n"
    with tempfile.TemporaryDirectory() as name:
        for path in (SAMPLES / "tableinput").iterdir():
            shutil.copy(path, Path(name) / path.name)
        (Path(name) / "pp.arb").write_text(text)
        (made,) = Batch(Path(name) / "pp.arb").run().tables
    if not secondary:
        return made
    hidden = table_of(GENERATED / "out_type5_intermediate.tab").sensitivity.status == 2
    status = made.sensitivity.status.copy()
    status[hidden] = 2
    return made.with_sensitivity(replace(made.sensitivity, status=status))


def outputs(report: Report) -> None:
    """The output types against what τ-ARGUS wrote of the same table."""
    figures = Figures(report, "outputs")
    made = pp(Dominance(2, 60), secondary=True)
    written = Written(table=made, response="Var2")
    told = table_of(GENERATED / "out_type5_intermediate.tab")
    for name, view, output, options in (
        ("out_type1_csv.csv", written, 1, Options()),
        ("out_type2_pivot_AS.csv", written, 2, Options(statuses=True, names=True)),
        ("out_type3_codevalue.txt", written, 3, Options(statuses=True, names=True, skip_empty=True)),
        ("out_type4_SBS.txt", written, 4, Options(levels=True)),
        ("out_type5_intermediate.tab", Written(table=told), 5, Options()),
        ("out_type5_intermediate_SO.tab", Written(table=told), 5, Options(status_only=True)),
    ):
        ours, theirs = (
            output_files(view, output, options, name)[name].split(b"\n"),
            (GENERATED / name).read_bytes().split(b"\n"),
        )
        equal = sum(a == b for a, b in zip(ours, theirs, strict=False)) if len(ours) == len(theirs) else 0
        figures.line(f"lines of `{name}`, byte for byte", len(theirs), equal)
    _rules_of_pp(figures)
    _jj_outputs(figures)
    _audited(figures)
    figures.add(
        "What τ-ARGUS wrote, and what we write of the same table. Levels of the rules are rounded up here and to the nearest there; in the sample "
        "with intervals, −0.00 there is 0.00 here."
    )


def _rules_of_pp(figures: Figures) -> None:
    """Statuses and levels of NK(2,60), against the JJ file that has the levels with five decimals."""
    made, sample = pp(Dominance(2, 60)), read_jj(GENERATED / "pp_legacy_bounds.jj")
    lines = (GENERATED / "pp_legacy_bounds.jj").read_text().split("\n")[2 : 2 + sample.cells]
    fine = [Fraction(line.split()[7]) for line in lines]
    same = sum(int(a) == int(b) for a, b in zip(made.sensitivity.status, sample.sensitivity.status, strict=True))
    figures.line("statuses of `pp.tab` under NK(2,60), cells", sample.cells, same)
    up = sum(
        int(level) == math.ceil((own - Fraction(1, 10**5)) * 100)
        for level, own in zip(made.sensitivity.upl, fine, strict=True)
    )
    figures.line("levels, rounded up to the cent, cells", sample.cells, up)


def _jj_outputs(figures: Figures) -> None:
    for name, made in (
        ("pp_legacy_bounds.jj", pp(Dominance(2, 60))),
        ("pp_after_OPT.jj", pp(Dominance(2, 60), secondary=True)),
    ):
        files = output_files(Written(table=made), 6, Options(), name)
        ours, theirs = (text.decode().split("\n") for text in (files[name], (GENERATED / name).read_bytes()))
        cells = sum(a.split()[:6] == b.split()[:6] for a, b in zip(ours[2:164], theirs[2:164], strict=True))
        sums = len(
            {tuple(line.split()) for line in ours[165:] if line}
            & {tuple(line.split()) for line in theirs[165:] if line}
        )
        figures.line(f"cells of `{name}` (number, value, cost, status, bounds)", 162, cells)
        figures.line(f"equations of `{name}`", 63, sums)
        counts = _equal(files[f"{name}.frq"], (GENERATED / f"{name}.frq").read_bytes())
        figures.line(f"lines of `{name}.frq`, byte for byte", 163, counts)


def _equal(ours: bytes, theirs: bytes) -> int:
    one, two = ours.split(b"\n"), theirs.split(b"\n")
    return sum(a == b for a, b in zip(one, two, strict=True)) if len(one) == len(two) else 0


def _audited(figures: Figures) -> None:
    """Intervals of the withheld cells by our audit, against the columns that τ-ARGUS' audit added."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in (SAMPLES / "tableinput").iterdir():
            shutil.copy(path, folder / path.name)
        shutil.copy(GENERATED / "out_type5_intermediate.tab", folder / "in.tab")
        text = '<OPENTABLEDATA> "in.tab"\n<OPENMETADATA> "pp.rda"\n<SPECIFYTABLE> "Size""Region"|"Var2"|"Var2_Shadow"|"Var2_Cost"\n<READTABLE> 0\n'
        (folder / "a.arb").write_text(text + '<WRITETABLE> (1,5,AR+,"ar.tab")\n')
        Batch(folder / "a.arb").run()
        ours = (folder / "ar.tab").read_text().split("\n")
    theirs = (GENERATED / "out_type5_intermediate_AR.tab").read_text().replace(";-0.00", ";0.00").split("\n")
    figures.line(
        "lines of `out_type5_intermediate_AR.tab`", len(theirs), sum(a == b for a, b in zip(ours, theirs, strict=True))
    )


# ---- batches -----------------------------------------------------------------------------------------------------------------------------


def batches(report: Report) -> None:
    """The sample batches, to their end or to the message."""
    figures = Figures(report, "batches")
    refused = Batch(SAMPLES / "TestRecode.arb").refusals
    figures.line(
        "`TestRecode.arb` where it lies", "there is no file 'tau_testW.asc' beside TestRecode.arb", _middle(refused)
    )
    with tempfile.TemporaryDirectory() as name:
        done = Batch(_folder(Path(name)) / "TestRecode.arb").run()
        one, two = done.tables
        figures.line(
            "`TestRecode.arb` beside its `.asc`: codes of Size",
            "Total, 1, 6, 7, 8, 9, 99",
            ", ".join(code.strip() for code in one.labels.codes[0]),
        )
        figures.line("cells of its first table", 105, one.cells)
        closed = {code for code in two.labels.codes[1] if code.startswith(("142", "1500", "1512"))}
        figures.line("codes left of the branches it closes", "142, 1500, 1512", ", ".join(sorted(closed)))
    (made,) = Batch(SAMPLES / "tableinput" / "TestTable.arb").run().tables
    figures.line("`TestTable.arb`: cells", 162, made.cells)
    figures.line("its grand total, computed anew", "16847645.84", f"{made.values[0]:.2f}")
    figures.line("its unsafe cells, statuses kept", 9, len(made.sensitive))
    _carried_out(figures)
    report.require(not list((SAMPLES / "checks").rglob("tabout*")), "batches: something was written beside the samples")
    figures.add(
        "The four sample batches. Two ask for a suppression, which is run as one problem; below, the same with RND."
    )


def _middle(refusals: list[str]) -> str:
    """What the one refusal of a batch says, without its place and remedy."""
    if len(refusals) != 1:
        return f"{len(refusals)} refusals"
    return refusals[0].partition(">: ")[2].partition(";")[0]


def _carried_out(figures: Figures) -> None:
    """Two batches with their suppression, and with a rounding in its place."""
    for folder, base in (("ex1", 50), ("ex2", 2000)):
        with tempfile.TemporaryDirectory() as name:
            for path in (SAMPLES / "checks" / folder).iterdir():
                shutil.copy(path, Path(name) / path.name)
            file = Path(name) / f"batch_{folder}.arb"
            p, kept = _outcome(file)
            figures.line(f"`batch_{folder}.arb`: cells withheld, levels shown, outputs", "4, True, 1",
                         f"{int(p.publication.withheld.sum())}, {p.protected}, {kept}")  # fmt: skip
            file.write_text(file.read_text().replace("OPT(1,1)", f"RND(1,{base})"))
            p, kept = _outcome(file)
            figures.line(f"`batch_{folder}.arb` with RND(1,{base}): status, levels shown, outputs", "optimal, True, 1",
                         f"{p.status}, {p.protected}, {kept}")  # fmt: skip


def _outcome(file: Path) -> tuple[Any, int]:
    """What came of the one table of a batch, and how many outputs were written of it."""
    done = Batch(file).run()
    kept = [path.name for path, _ in done.files if path.name.startswith("tabout") and not path.name.endswith(".gz")]
    return done.protections[0], len(kept)


# ---- the peer ----------------------------------------------------------------------------------------------------------------------------


PEER = (
    ('"Size""Region"', "NK(2,75)"),
    ('"Size""Region"', "P(15,1)|FREQ(3,30)"),
    ('"Region""IndustryCode"', "NK(2,75)"),
    ('"Year""Size""Region"', "NK(1,60)|FREQ(4,10)"),
    ('"Region""IndustryCode"', "NK(2,75)|WGT(1)"),
    ('"Region""IndustryCode"', "NK(2,75)|WGT(2)"),
)
"""Tables of the records that both make, with their rules."""


def peer(report: Report, *, quick: bool = False) -> None:
    """pytauargus reads what we write."""
    figures = Figures(report, "peer")
    with tempfile.TemporaryDirectory() as name:
        folder = _folder(Path(name))
        metadata = read_rda(SAMPLES / "Tau_TestW.rda")
        (folder / "Tau_TestW.rda").unlink()
        write_rda(metadata, folder / "tau_testW.rda")
        write_hrc(read_hrc(SAMPLES / "region2.hrc"), folder / "region2.hrc")
        head = '<OPENMICRODATA> "tau_testW.asc"\n<OPENMETADATA> "tau_testW.rda"\n'
        for k, (dims, rules) in enumerate(PEER[:2] if quick else PEER):
            text = f'{head}<SPECIFYTABLE> {dims}|"Var2"||\n<SAFETYRULE> {rules}\n<READMICRODATA>\n'
            same, many = _both(folder, k, text)
            figures.line(
                f"records, {dims.replace(chr(34) * 2, ' × ').strip(chr(34))}, {rules.replace('|', ' and ')}: cells with equal numbers and status",
                many,
                same,
            )
        recoded = (SAMPLES / "TestRecode.arb").read_text().replace("<GOINTERACTIVE>", "").replace("GK.grc", "GK.GRC")
        for number in (1, 2):
            same, many = _both(folder, 10 + number, recoded, number)
            figures.line(f"`TestRecode.arb`, table {number}: cells with equal numbers and status", many, same)
        shutil.copy(GENERATED / "apriori_example.hst", folder / "a.hst")
        text = f'{head}<SPECIFYTABLE> "Region""Size"|"Var2"||\n<SAFETYRULE> NK(2,75)\n<READMICRODATA>\n<APRIORI> "a.hst",1,";",0,0\n'
        same, many = _both(folder, 20, text)
        figures.line("`apriori_example.hst`: cells with equal numbers and status", many, same)
        _enterprises(figures, folder)
        if not quick:
            _peer_outputs(figures, folder)
        _peer_tables(figures, folder)
    figures.add(
        "`pytauargus` reads our `.asc`, `.rda`, `.hrc`, `.tab` and JJ: codes, values, frequencies, shadow, cost, largest contributions and "
        "statuses of every combination of codes, empty ones included."
    )


def _enterprises(figures: Figures, folder: Path) -> None:
    """Holdings, and the hierarchy with two branches of one name."""
    metadata = read_rda(SAMPLES / "example_enterprise.rda")
    beside = tuple(
        replace(v, hierarchy_file=v.hierarchy_file and last_part(v.hierarchy_file)) for v in metadata.variables
    )
    write_rda(replace(metadata, variables=beside), folder / "e.rda")
    write_asc(columns_of(SAMPLES / "example_enterprise.csv"), metadata, folder / "e.asc")
    head = '<OPENMICRODATA> "e.asc"\n<OPENMETADATA> "e.rda"\n'
    for k, (dims, rules) in enumerate(
        (
            ('"act""region"', "NK(2,75)"),
            ('"act""region"', "NK(0,0)|NK(0,0)|NK(2,75)|NK(0,0)"),
            ('"act""region"', "FREQ(0,0)|FREQ(3,20)"),
        ),
        start=30,
    ):
        same, many = _both(
            folder, k, f'{head}<SPECIFYTABLE> {dims}|"turnover"||\n<SAFETYRULE> {rules}\n<READMICRODATA>\n'
        )
        figures.line(
            f"enterprises, act × region, {rules.replace('|', ' and ')}: cells with equal numbers and status", many, same
        )
    same, many = _both(folder, 40, f'{head}<SPECIFYTABLE> "mun"|"turnover"||\n<SAFETYRULE> NK(1,60)\n<READMICRODATA>\n')
    figures.line(
        "enterprises by `NUTS.hrc`: cells with equal numbers and status, but for the second branch 11", many - 1, same
    )


def _peer_outputs(figures: Figures, folder: Path) -> None:
    """Output types 1 to 4 of a table in three dimensions, line by line."""
    head = '<OPENMICRODATA> "e.asc"\n<OPENMETADATA> "e.rda"\n<SPECIFYTABLE> "act""region""product"|"turnover"||\n'
    head += "<SAFETYRULE> NK(2,80)|FREQ(3,10)\n<READMICRODATA>\n"
    kinds = ((1, ""), (2, "AS+"), (3, "QU-"), (4, "HL+"))
    for who in ("ours", "theirs"):
        writes = "".join(f'<WRITETABLE> (1,{output},{options},"{who}_type{output}.txt")\n' for output, options in kinds)
        (folder / f"{who}_types.arb").write_text(head + writes)
    Batch(folder / "ours_types.arb").run()
    failed = peer_tauargus_files.run_batch(folder / "theirs_types.arb")
    for output, options in kinds:
        ours = (folder / f"ours_type{output}.txt").read_bytes()
        theirs = b"" if failed else (folder / f"theirs_type{output}.txt").read_bytes()
        figures.line(
            f"enterprises, output type {f'{output} {options}'.strip()}: lines byte for byte",
            ours.count(b"\n") + 1,
            _equal(ours, theirs),
        )


def _both(folder: Path, k: int, text: str, number: int = 1) -> tuple[int, int]:
    """One batch by both: rows of type 5 without their levels."""
    (folder / f"ours{k}.arb").write_text(f'{text}\n<WRITETABLE> ({number},5,,"ours{k}.tab")\n')
    (folder / f"theirs{k}.arb").write_text(f'{text}\n<WRITETABLE> ({number},5,,"theirs{k}.tab")\n')
    Batch(folder / f"ours{k}.arb").run()
    failed = peer_tauargus_files.run_batch(folder / f"theirs{k}.arb")
    theirs = (folder / f"theirs{k}.tab").read_text().split("\n") if not failed else []
    ours = (folder / f"ours{k}.tab").read_text().split("\n")
    rows = [line.split(";")[:-2] for line in theirs if line]
    mine = [line.split(";")[:-2] for line in ours if line]
    return sum(len(a) == len(b) and all(map(_alike, a, b)) for a, b in zip(mine, rows, strict=False)), len(rows)


def _alike(ours: str, theirs: str) -> bool:
    """Whether two entries are equal, theirs rounded to two decimals."""
    return ours == theirs or (
        ours[0].isdigit() and theirs[0].isdigit() and abs(Fraction(ours) - Fraction(theirs)) <= Fraction(1, 200)
    )


def _peer_tables(figures: Figures, folder: Path) -> None:
    made = pp(Dominance(2, 60))
    cw.write(made, folder / "made.tab")
    specify = '<SPECIFYTABLE> "Size""Region"|"value"|"Shadow"|"Cost"\n'
    text = f'<OPENTABLEDATA> "made.tab"\n<OPENMETADATA> "made.rda"\n{specify}<SAFETYRULE> MAN(20)\n<READTABLE> 0\n<WRITETABLE> (1,5,,"read.tab")\n'
    (folder / "read.arb").write_text(text)
    failed = peer_tauargus_files.run_batch(folder / "read.arb")
    rows = [line.split(";") for line in (folder / "read.tab").read_text().split("\n") if line] if not failed else []
    read = {(row[0].strip('"'), row[1].strip('"')): row[2:] for row in rows}
    cells = [(made.labels.tuple_of(i), i) for i in range(made.cells)]
    letters = {0: "S", 1: "U", 2: "M", 3: "E"}
    same = sum(
        own in read
        and Fraction(read[own][0]) * 100 == int(made.scaled[i])
        and read[own][4] == letters[int(made.sensitivity.status[i])]
        for own, i in cells
        if own in read
    )
    figures.line("our `.tab`, `.rda` and `.hrc`: cells with equal value and status", made.cells, same)
    hidden = pp(Dominance(2, 60), secondary=True)
    files = output_files(Written(table=hidden), 6, Options(), "made.jj")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    found = peer_tauargus_files.audit_jj(folder / "made.jj")
    letters = {1: "u", 2: "m"}
    expected = {
        i: (float(hidden.values[i]), letters[int(s)])
        for i, s in enumerate(hidden.sensitivity.status)
        if int(s) in letters
    }
    figures.line(
        "our JJ: withheld cells with equal value and status",
        len(expected),
        sum(expected.get(row["cell"]) == (row["value"], row["status"]) for row in found),
    )
    sample = peer_tauargus_files.audit_jj(GENERATED / "pp_after_OPT.jj")
    figures.line(
        "our JJ: intervals equal to those of its own JJ",
        len(sample),
        sum(a == b for a, b in zip(found, sample, strict=True)),
    )


# ---- damaged files -----------------------------------------------------------------------------------------------------------------------


def damaged(report: Report, many: int) -> None:
    """Damaged files by the hundred thousand."""
    rows: list[list[object]] = []
    readers = {name: (reader, many) for name, reader in mutated_files.READERS.items()}
    readers["batches carried out"] = (mutated_files.WHOLE, max(16, many // 100))
    for name, (reader, files) in readers.items():
        found = mutated_files.damage(reader, files, seed=8)
        report.require(not found.faults, f"damaged {name}: {len(found.faults)} faults, first {found.faults[:1]}")
        report.require(found.files == files, f"damaged {name}: stopped after {found.files:,} files")
        rows.append(
            [
                f"`{name}`",
                f"{found.files:,}",
                f"{found.read:,}",
                len(found.faults),
                f"{found.slowest_s:.2f} s",
                f"{found.memory_mb:.0f} MB",
            ]
        )
        print(rows[-1], flush=True)
    report.add(
        f"{many:,} damaged files for each reader: no exception but ours, each a single line, none slower than {mutated_files.LIMIT_S} s, none "
        f"that makes the process hold {mutated_files.MEMORY_MB} MB more.\n\n"
        + table(["reader", "files", "read all the same", "faults", "slowest", "memory"], rows)
    )


# ---- the programme -----------------------------------------------------------------------------------------------------------------------


def figures_of(report: Report, part: str, *, quick: bool) -> None:
    """One part of the programme."""
    if part == "damaged":
        damaged(report, DAMAGED_QUICK if quick else DAMAGED)
        return
    if not SHARED.exists():
        absent = f"{part}: left out, the shared data is not there"
        report.add(absent)
        report.require(quick and not os.environ.get("CELLWARD_REQUIRE_SHARED"), absent)
        return
    if part == "peer":
        peer(report, quick=quick)
    else:
        {"samples": samples, "back": back, "outputs": outputs, "batches": batches}[part](report)


PARTS = {
    "samples": "every sample file",
    "back": "written and read back",
    "outputs": "output types against τ-ARGUS' own",
    "batches": "the sample batches",
    "peer": "our files read by pytauargus",
    "damaged": "damaged files",
}
"""The parts in the order in which they are run, and what each shows."""


if __name__ == "__main__":
    sys.exit(run_parts("tauargus_files.py", "τ-ARGUS files", PARTS, figures_of, __doc__))
