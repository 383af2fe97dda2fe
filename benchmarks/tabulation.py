"""Tabulation: every figure that tables from microdata and their rules owe, computed, compared, and written to RESULTS.md.

python benchmarks/tabulation.py                 all figures, about half an hour; writes RESULTS.md part by part; exits 1 when one falls short
python benchmarks/tabulation.py --part speed    one part: tauargus, enterprise, linked, rules, jobs, speed or large
python benchmarks/tabulation.py --quick         the same checks on small sizes, half a minute; times are not judged; writes nothing
"""

from __future__ import annotations

import csv
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import Any

import measure  # isort: skip (finds the oracles)
import sample_jobs
import tabulation_check
import tabulation_speed
from results import SHARED, Report, run_parts, table

import cellward as cw
from cellward import Hierarchy, Table
from cellward.risk.dominance import Dominance
from cellward.risk.p_percent import PPercent
from cellward.risk.rule import Rule
from cellward.risk.threshold import Threshold

TAUARGUS, LINKED = SHARED / "data" / "tauargus", SHARED / "data" / "linked"


class Figures:
    """Lines of (what, expected, found); each must agree."""

    def __init__(self, report: Report, part: str) -> None:
        self.report, self.part = report, part
        self.rows: list[list[object]] = []

    def line(self, what: str, expected: object, found: object) -> None:
        self.report.require(found == expected, f"{self.part}: {what} is {found}, not {expected}")
        self.rows.append([what, _shown(expected), _shown(found)])

    def add(self, said: str) -> None:
        self.report.add(said + "\n\n" + table(["", "expected", "found"], self.rows))


def _shown(figure: object) -> str:
    return f"{figure:,}" if isinstance(figure, int | Decimal) else str(figure)


# ---- the τ-ARGUS sample ------------------------------------------------------------------------------------------------------------------

PP_NAMES = ["Size", "Region", "Var2", "Freq", "Shadow", "Cost", "Top1", "Top2", "Status", "Lower", "Upper"]


def pp_rows() -> list[dict[str, str]]:
    """The rows of pp.tab, decimal commas and all."""
    with (TAUARGUS / "tableinput" / "pp.tab").open(newline="") as file:
        return list(csv.DictReader(file, fieldnames=PP_NAMES, delimiter=";"))


def tau_test() -> Table:
    """Size × Region of Var2, from the records."""
    return Table.from_microdata(
        TAUARGUS / "tau_testW.csv",
        dims=["Size", "Region"],
        measure="Var2",
        pad={"Size": 2, "Region": 2},
        hierarchies={"Region": Hierarchy.from_hrc(TAUARGUS / "region2.hrc")},
    )


def by_codes(made: Table) -> dict[tuple[str, ...], int]:
    """Cell numbers by codes."""
    return {made.labels.tuple_of(i): i for i in range(made.cells)}


def money(text: str) -> int:
    """A number with a decimal comma in hundredths."""
    return int((Decimal(text.replace(",", ".")) * 100).to_integral_exact())


def tauargus(report: Report) -> None:
    """tau_testW.csv against pp.tab, and pp.tab itself."""
    figures = Figures(report, "tauargus")
    made, rows = tau_test(), pp_rows()
    at, c = by_codes(made), made.contributions
    assert c is not None
    figures.line("cells of pp.tab", 162, len(rows))
    figures.line("cells with records", 119, made.cells)
    agree: Counter[str] = Counter()
    unsafe = {rule.short: set(made.find(rule).sensitive.tolist()) for rule in (Dominance(2, 75), PPercent(15))}
    p_levels = made.find(PPercent(15)).sensitivity
    for row in rows:
        i = at.get((row["Size"], row["Region"]))
        agree["frequencies equal to pp.tab's"] += int(row["Freq"]) == (0 if i is None else int(c.rows[i]))
        agree["shadow values equal"] += money(row["Shadow"]) == (0 if i is None else int(made.scaled[i]))
        for short, cells in unsafe.items():
            status = "E" if i is None else "U" if i in cells else "S"
            agree[f"statuses equal under {short}"] += row["Status"] == status
        if row["Status"] == "U" and i is not None:
            levels = int(p_levels.lpl[i]), int(p_levels.upl[i])
            agree["levels of unsafe cells equal under PPercent(15)"] += levels == (
                money(row["Lower"]),
                money(row["Upper"]),
            )
    for what, found in agree.items():
        figures.line(what, 9 if "levels" in what else 162, found)
    read_again(figures)
    figures.add("`tau_testW.csv` (42,723 records) by Size × Region of Var2, beside τ-ARGUS's own table `pp.tab`.")


def read_again(figures: Figures) -> None:
    """pp.tab itself was edited by hand: it is refused, and adds up once its totals are recomputed."""
    region = Hierarchy.from_hrc(TAUARGUS / "region2.hrc")
    with_missing = tuple((p, (*children, "99") if p == "Total" else children) for p, children in region.sums)
    options: dict[str, Any] = {
        "dims": ["Size", "Region"], "value": "Var2", "names": PP_NAMES, "separator": ";", "hierarchies": {"Region": Hierarchy(with_missing)},
        "status": "Status", "lpl": "Lower", "upl": "Upper",
    }  # fmt: skip
    file = TAUARGUS / "tableinput" / "pp.tab"
    try:
        cw.read(file, decimal=",", **options)
        said = "accepted"
    except cw.InputError as error:
        said = str(error)
    named = [total for total in ("(Total, Os)", "(Total,  4)", "( 4, Total)") if f"{total} =" in said]
    figures.line("broken equations of pp.tab named in its refusal", 3, len(named))
    figures.line("recomputing is offered", "yes", "yes" if "totals='compute'" in said else said)
    again = cw.read(file, decimal=",", totals="compute", **options)
    theirs = cw.read(TAUARGUS / "generated" / "out_type5_intermediate.tab", **options)
    at = by_codes(theirs)
    same = sum(int(theirs.scaled[at[own]]) == int(again.scaled[i]) for own, i in by_codes(again).items())
    figures.line("cells equal to out_type5_intermediate.tab, recomputed", 162, same)


# ---- the enterprises ---------------------------------------------------------------------------------------------------------------------


def enterprises(holding: str | None) -> Table:
    """act × region of turnover; 00 is kept as a code."""
    trees = {"act": "nace_divisions.hrc", "region": "KohStatReg.hrc"}
    return Table.from_microdata(
        TAUARGUS / "example_enterprise.csv",
        dims=["act", "region"],
        measure="turnover",
        holding=holding,
        hierarchies={dim: Hierarchy.from_hrc(TAUARGUS / file) for dim, file in trees.items()},
        missing={"act": "keep"},
        missing_codes={"act": ["00"]},
    )


def enterprise(report: Report) -> None:
    """example_enterprise.csv by record and by holding."""
    figures = Figures(report, "enterprise")
    rules: tuple[Rule, ...] = (PPercent(10), Threshold(3))
    for holding, counts in ((None, (260, 244)), ("h_id", (346, 314))):
        made = enterprises(holding)
        who = "by record" if holding is None else "by holding"
        total = Decimal(int(made.scaled[made.labels.find(("Total", "Total"))])).scaleb(-made.decimals)
        figures.line(f"cells, {who}", 1193, made.cells)
        figures.line(f"total, {who}", Decimal("5214849.23"), total)
        for rule, expected in zip(rules, counts, strict=True):
            figures.line(f"unsafe under {rule.short}, {who}", expected, len(made.find(rule).sensitive))
    figures.add(
        "`example_enterprise.csv` (8,169 records, 5,100 holdings) by act × region of turnover, activity 00 kept."
    )


# ---- the linked tables -------------------------------------------------------------------------------------------------------------------

TURNOVER = ("act_cj", "act_size", "nuts_cj", "nuts_size")


def rows_of(name: str) -> list[dict[str, str]]:
    """A file of the linked data."""
    with (LINKED / f"rtauargus_{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def nested(chains: Sequence[Sequence[str]]) -> Hierarchy:
    """The hierarchy of columns from coarse to fine; a code that repeats is one code."""
    pairs = {
        (child, parent): None for chain in chains for parent, child in pairwise(["Total", *chain]) if parent != child
    }
    return Hierarchy.from_parents(list(pairs))


def turnover_tables(value: str, **options: Any) -> Table:
    """The four 2-D tables, linked."""
    corr = {"ACTIVITY": "activity_corr_table", "NUTS": "nuts23_fr_corr_table"}
    trees = {dim: nested([list(row.values()) for row in rows_of(name)]) for dim, name in corr.items()}
    read = []
    for name in TURNOVER:
        dims = [dim for dim in ("ACTIVITY", "NUTS", "CJ", "SIZE") if dim in rows_of(f"turnover_{name}")[0]]
        own = {dim: trees[dim] for dim in dims if dim in trees}
        file = LINKED / f"rtauargus_turnover_{name}.csv"
        read.append(cw.read(file, dims=dims, value=value, hierarchies=own, totals="given", **options))
    return cw.link(*read)


def individuals(rows: Any) -> Table:
    """A10 > A21 > A88 × CJ of TURNOVER, each record rounded to four decimals."""
    chains = {(row["A10"], row["A21"], row["A88"]) for row in rows_of("indiv_dt")}
    return Table.from_microdata(
        rows, dims=["A88", "CJ"], measure="TURNOVER", hierarchies={"A88": nested(sorted(chains))}, decimals=4
    )


def individuals_directly() -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """The same in Decimals: sums in the fourth decimal, and records, of every cell."""
    value: Counter[tuple[str, str]] = Counter()
    count: Counter[tuple[str, str]] = Counter()
    for row in rows_of("indiv_dt"):
        own = int((Decimal(row["TURNOVER"]).quantize(Decimal("0.0001"), ROUND_HALF_UP) * 10**4).to_integral_exact())
        for act in {"Total", row["A10"], row["A21"], row["A88"]}:
            for cj in ("Total", row["CJ"]):
                value[act, cj] += own
                count[act, cj] += 1
    return value, count


def linked(report: Report) -> None:
    """The linked tables of turnover, and the individual records."""
    figures = Figures(report, "linked")
    counts = turnover_tables("N_OBS")
    figures.line("cells of the four tables, linked", 1493, counts.cells)
    figures.line("equations in which N_OBS adds up", 879, counts.relations.equations)
    try:
        turnover_tables("TOT")
        said = "accepted"
    except cw.InputError as error:
        said = "refused, use decimals=4" if str(error).endswith("use decimals=4") else str(error)
    figures.line("TOT as it stands, float noise and all", "refused, use decimals=4", said)
    exact = turnover_tables("TOT", decimals=4)
    figures.line("equations in which TOT adds up with decimals=4", 879, exact.relations.equations)
    value, count = individuals_directly()
    for how, rows in (("CSV", LINKED / "rtauargus_indiv_dt.csv"), ("pandas, as doubles", _as_doubles())):
        made = individuals(rows)
        c = made.contributions
        assert c is not None
        same = sum(
            (int(made.scaled[i]), int(c.rows[i])) == (value[own[0], own[1]], count[own[0], own[1]])
            for own, i in by_codes(made).items()
        )
        figures.line(f"cells of `indiv_dt` equal to a sum of Decimals ({how})", len(value), same)
        figures.line(f"cells of `indiv_dt` ({how})", len(value), made.cells)
    figures.add(
        "Four 2-D tables of turnover, linked; and `indiv_dt`, A10 > A21 > A88 × CJ of TURNOVER, each record rounded to four decimals."
    )


def _as_doubles() -> Any:
    import pandas as pd

    rows = rows_of("indiv_dt")
    text = {name: [row[name] for row in rows] for name in ("A88", "CJ")}
    return pd.DataFrame(text | {"TURNOVER": [float(row["TURNOVER"]) for row in rows]})


# ---- the rules ---------------------------------------------------------------------------------------------------------------------------


def rules(report: Report, sets: int) -> None:
    """Random microdata: tables, contributions, verdicts and levels beside the direct computation."""
    seen, seconds = measure.many(report, "rules", tabulation_check.summary, sets, 100)
    kinds, features, outcomes = seen.by["kind"], seen.by["feature"], seen.by["outcome"]
    cells, verdicts, unsafe = (seen.count[name] for name in ("cells", "verdicts", "unsafe"))
    report.add(
        f"{sets:,} random sets of records (seeds 0 to {sets - 1:,}; 1 to 60 records, 1 to 3 dimensions), each given in one of {len(kinds)} ways "
        f"({', '.join(kinds)}), beside a direct computation in Fractions over the raw records: {cells:,} cells with their records, units, values, "
        f"sizes, largest contributions and whose they are, equations and bounds; {verdicts:,} verdicts with their levels, {unsafe:,} of them unsafe; "
        f"{outcomes['refused']:,} sets refused by both, {outcomes['refused near 2^53']:,} by the package alone for numbers near 2^53: "
        f"**{len(seen.differences)} differences** ({seconds:.0f} s).\n\n"
        + table(["with", "sets"], [[feature, count] for feature, count in sorted(features.items())])
    )


# ---- the programme -----------------------------------------------------------------------------------------------------------------------


def figures_of(report: Report, part: str, *, quick: bool) -> None:
    """One part of the programme."""
    if part in ("tauargus", "enterprise", "linked", "jobs") and not SHARED.exists():
        absent = f"{part}: left out, the shared data is not there"
        report.add(absent)
        report.require(quick and not os.environ.get("CELLWARD_REQUIRE_SHARED"), absent)
        return
    plain: dict[str, Callable[[Report], None]] = {"tauargus": tauargus, "enterprise": enterprise, "linked": linked}
    if part in plain:
        plain[part](report)
    elif part == "rules":
        rules(report, 60 if quick else 2000)
    elif part == "jobs":
        sample_jobs.figures(report, quick=quick)
    elif part == "speed":
        tabulation_speed.figures(report, quick=quick)
    else:
        tabulation_speed.large(report, quick=quick)


PARTS = {
    "tauargus": "the τ-ARGUS sample",
    "enterprise": "enterprises and holdings",
    "linked": "linked tables",
    "rules": "tables and rules against the definitions",
    "jobs": "from microdata to a release in one job file",
    "speed": "speed and memory, ten million records",
    "large": "memory, a hundred million records",
}
"""The parts in the order in which they are run, and what each shows."""


if __name__ == "__main__":
    sys.exit(run_parts("tabulation.py", "Tabulation", PARTS, figures_of, __doc__))
