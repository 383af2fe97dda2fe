"""Methods and the rivals of other offices compared on three tables: the map, the recommendation, rivals beside what is published of them.

python benchmarks/compare.py             some 15 minutes; writes RESULTS.md and docs/pictures; exits 1 when a figure falls short
python benchmarks/compare.py --quick     small tables; writes nothing
python benchmarks/compare.py --part census
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from everyday_bank import made
from measure import one_of, wait
from results import SHARED, Report, run_parts, table

import cellward as cw
from cellward.advise.advice import said
from cellward.compare.chart import svg
from cellward.compare.comparison import LEGEND
from cellward.compare.rivals.all import RIVALS
from cellward.compare.rivals.cell_key import EXAMPLE, CellKey
from cellward.compare.rivals.conventional_rounding import ConventionalRounding
from cellward.compare.rivals.random_rounding import RandomRounding
from cellward.compare.rivals.small_counts import SmallCounts
from cellward.instance import Instance

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
LIMIT_S = {"business2": 180.0, "census4": 480.0, "hier13": 360.0}
OVERRUN_S, OVERRUN = 1.0, 0.1
"""What a limit may be overrun by: seconds, and a share."""
RELEASE_S = 60.0
GREEDY = {5: (22_080, 0.040, 13), 3: (12_288, 0.048, 6)}
"""SmallCountRounding on the bank's census4 at seed 0, by base: Σ|v − a|, share of cells off by a base or more, the largest."""
NEAR = 0.25
"""How near our greedy rounding of small counts is to the package's."""
ADDITIVE = {"small-counts", "multiplicative-noise", "recoding"}


@dataclass(frozen=True)
class Subject:
    """A table, what it is called, and its picture."""

    name: str
    about: str
    read: Callable[[Path], cw.Table]


def _bank(name: str) -> Callable[[Path], cw.Table]:
    return lambda folder: cw.Job.read(made(folder, 0) / name / "table.toml").table()


SUBJECTS = {
    "business": Subject("business2", "turnover by division × region, everyday bank, seed 0", _bank("business2")),
    "census": Subject(
        "census4", "persons by municipality × age × sex × citizenship, everyday bank, seed 0", _bank("census4")
    ),
    "hier13": Subject("hier13", "CSPLIB's HIER13", lambda _: cw.read(SHARED / "instances" / "csplib" / "HIER13.jj")),
}


def firms(_: Path) -> cw.Table:
    tree = {"region": cw.Hierarchy.from_hrc(ROOT / "examples" / "business" / "region.hrc")}
    return cw.read(
        ROOT / "examples" / "firms.csv", dims=["region", "sector"], value="firms", status="status", hierarchies=tree
    )


QUICK = Subject("firms", "the bundled counts of firms", firms)


def compared(report: Report, subject: Subject, *, quick: bool) -> cw.Table:
    """Compare on one table; write what was found."""
    with tempfile.TemporaryDirectory() as folder:
        whole = subject.read(Path(folder))
    limit = LIMIT_S.get(subject.name, 20.0)
    found = cw.compare(whole, time_limit_s=limit, seed=0)
    report.add(f"**{subject.name}** ({subject.about}): {whole!r}; {wait(found.seconds)} s of {limit:.0f} s.")
    report.add(f"> {found.recommendation}")
    for (_, columns, rows), legend in zip(found.tables(), LEGEND, strict=True):
        report.add(table(list(columns), rows))
        report.add(legend)
    report.add("\n".join(f"- {note}" for note in found.notes()))
    judge(report, subject, found, limit)
    released(report, subject, whole, found)
    if not quick:
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"compare-{subject.name}.svg").write_bytes(svg(found))
        report.add(f"![Risk and loss of each method on {subject.name}](../docs/pictures/compare-{subject.name}.svg)")
    return whole


def judge(report: Report, subject: Subject, found: cw.Comparison, limit: float) -> None:
    """What must hold of every comparison."""
    name = subject.name
    report.require(found.seconds <= limit * (1 + OVERRUN) + OVERRUN_S, f"{name}: {found.seconds:.0f} s of {limit:.0f}")
    report.require(found.recommended is not None and found.recommended.safe, f"{name}: nothing safe was found")
    report.require(not any(row.answer == "failed" for row in found.rows), f"{name}: a method broke")
    for row in found.rows:
        if row.risk is None:
            continue
        report.require(row.rival or row.risk.safe, f"{name}: {row.setting} is ours and gives something away")
        adds_up = not row.risk.equations
        report.require(
            not row.rival or adds_up == (row.entry.word in ADDITIVE), f"{name}: {row.setting} adds up: {adds_up}"
        )


def released(report: Report, subject: Subject, whole: cw.Table, found: cw.Comparison) -> None:
    """The recommended method, with a key of its own, to a verified release."""
    if found.method is None:
        return
    p = found.method.protect(whole, time_limit_s=RELEASE_S)
    holds = p.releasable and bool(p.certificate().check()) and p.release() is not None
    report.require(holds, f"{subject.name}: the recommended method gave no release ({p.status}, {p.reason})")
    report.add(
        f"Followed: `cellward {said(found.method)}`, {p.status}, {wait(p.seconds)} s, certificate holds, released: {'yes' if holds else 'no'}."
    )


def published(report: Report, whole: cw.Table, name: str, *, greedy: bool) -> None:
    """Rivals on the same table beside what is published of them."""
    instance, rows = Instance.of(whole), []
    a = whole.scaled
    for base in (3, 5):
        off = RandomRounding(base).drawn(instance, 0).publication.v - a
        rest = a % base
        moved = [float((off[rest == r] > 0).mean()) for r in range(1, base)]
        report.require(np.abs(off).max() < base and not off[rest == 0].any(), f"random rounding {base}: off by a base")
        close = max(abs(up - r / base) for r, up in enumerate(moved, start=1))
        report.require(close < 0.05, f"random rounding {base}: goes up with other probabilities, {moved}")
        told = ", ".join(f"{r / base:.2f}" for r in range(1, base))
        mine = f"{', '.join(f'{up:.2f}' for up in moved)}; at most {np.abs(off).max()} off; multiples stay"
        rows.append(
            (f"random rounding, base {base}", f"up with r/{base}: {told}; less than {base} off; multiples stay", mine)
        )
    v = CellKey().drawn(instance, 0).publication.v
    off, large = v - a, a >= len(EXAMPLE) - 1
    variance, mean = float(off[large].var()), float(off[large].mean())
    ones, zeros = int((v == 1).sum()), int((v[a == 0] != 0).sum())
    stay = float((off[a > 0] == 0).mean())
    probability = [
        EXAMPLE[min(i, len(EXAMPLE) - 1)].get(min(i, len(EXAMPLE) - 1), 0.0) for i in range(int(a.max()) + 1)
    ]
    expected = float(np.array(probability)[a[a > 0]].mean())
    report.require(np.abs(off).max() == 2 and not ones and not zeros, "cell key: not its table of probabilities")
    report.require(abs(variance - 1.05) < 0.1 and abs(mean) < 0.1, f"cell key: mean {mean}, variance {variance}")
    report.require(abs(stay - expected) < 0.02, f"cell key: {stay:.3f} stay, {expected:.3f} expected")
    told = f"at most 2 off; mean 0, variance 1.05; no 1 printed; 0 stays; {100 * expected:.1f} % of these counts stay"
    mine = f"at most {np.abs(off).max()} off; mean {mean:.3f}, variance {variance:.3f}; {ones} ones; {zeros} zeros changed; "
    mine += f"{100 * stay:.1f} % stay"
    rows.append(("cell key (ptable's example, D = 2, V = 1.05, js = 1)", told, mine))
    for base, (loss, share, most) in GREEDY.items() if greedy else ():
        moved = np.abs(SmallCounts(base).drawn(instance, 0).publication.v - a)
        mine = int(moved.sum())
        report.require(abs(mine - loss) <= NEAR * loss, f"small counts {base}: {mine:,}, the package {loss:,}")
        told = f"Σ {loss:,}; {100 * share:.1f} % off by a base or more; largest {most}"
        here = f"Σ {mine:,}; {100 * float((moved >= base).mean()):.1f} %; largest {int(moved.max())}"
        rows.append((f"small-count rounding, base {base} (SmallCountRounding on this table)", told, here))
    v = ConventionalRounding(5).drawn(instance, 0).publication.v
    rows.append(("conventional rounding, base 5", "at most 2 off", f"at most {np.abs(v - a).max()} off"))
    report.add(
        f"Rivals on {name} beside what is published of them:\n\n" + table(["rival", "published", "measured here"], rows)
    )
    report.add(
        "Published: random rounding as Statistics Canada describes it for its census (totals are rounded by themselves too, so that parts need not "
        "add up to them); the probabilities that the tests of R's ptable print for `pt_ex_cnts()`; R's SmallCountRounding run on the same table."
    )


def business(report: Report, *, quick: bool) -> None:
    compared(report, QUICK if quick else SUBJECTS["business"], quick=quick)


def census(report: Report, *, quick: bool) -> None:
    if quick:
        published(
            report, cw.Table.from_array(np.random.default_rng(1).poisson(3, (80, 80))), "random counts", greedy=False
        )
        return
    whole = compared(report, SUBJECTS["census"], quick=quick)
    published(report, whole, "census4", greedy=True)


def hier13(report: Report, *, quick: bool) -> None:
    if quick:
        report.require(len({rival.word for rival in RIVALS}) == len(RIVALS), "two rivals have one name")
        return
    compared(report, SUBJECTS["hier13"], quick=quick)


PARTS: dict[str, Callable[..., Any]] = {"business": business, "census": census, "hier13": hier13}

if __name__ == "__main__":
    about = {"business": "a business table", "census": "census counts", "hier13": "HIER13"}
    sys.exit(run_parts("compare.py", "Methods compared", about, one_of(PARTS), __doc__))
