"""House: the same work by the tree before the house was redrawn and by this one, in one run: nothing became slower.

python benchmarks/house.py                   all cases; writes RESULTS.md; exits 1 when one takes more than 1.1 times as long as before
python benchmarks/house.py --before FOLDER   beside the tree checked out there, instead of commit 7c835ac of this repository
python benchmarks/house.py --case NAME       only this case; repeatable; writes nothing
python benchmarks/house.py --quick           small cases, once each; times are not judged; writes nothing

Each case runs in processes of its own, before and after by turns, and the shortest time of each counts: time elapsed, or, where others keep all cores
busy, processor time. Where that is above the limit the case is measured again a few times: on a shared machine one long time says little.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from fixed_keys import key_of
from results import SHARED, Report, table, write_section

ROOT = Path(__file__).resolve().parents[1]
BEFORE = "7c835ac"
SLOWER = 1.1
"""How many times as long as before a case may take, and how much larger a gap may be."""
HAIR = 5e-4
"""Gaps that differ by less than this are the same: a search that the clock ends is never the same twice."""
AGAIN, MOST_S = 3, 1200.0
"""How often a case is measured again, and after how many seconds of all cases none is."""
CHILD_S = 420.0
KEY = key_of("house")
Done = dict[str, float | None]
"""Seconds elapsed, those of the processor, and the gap."""


# ---- cases: only what both trees offer -----------------------------------------------------------------------------------------------------------


def _counts(*shape: int) -> Any:
    import cellward as cw

    return cw.Table.from_array(np.random.default_rng(1).poisson(4, shape))


def _amounts(*shape: int) -> Any:
    """Lognormal values, 5 % of all cells at risk at 10 %."""
    import cellward as cw

    rng = np.random.default_rng(1)
    made = cw.Table.from_array(np.maximum(np.rint(rng.lognormal(4, 1, shape)), 1).astype(np.int64))
    cells = np.sort(rng.choice(made.cells, made.cells // 20, replace=False))
    level = np.ceil(made.scaled[cells] / 10).astype(np.int64)
    return made.with_sensitivity(type(made.sensitivity).of(made.cells, cells, level, level, 0 * level))


def _timed(work: Callable[[], Any]) -> tuple[Any, Done]:
    """What comes of it, and its seconds."""
    began, used = time.perf_counter(), _used()
    out = work()
    return out, {"seconds": time.perf_counter() - began, "processor": _used() - used}


def _used() -> float:
    """Processor seconds of this process and of those that it has waited for."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def rounding(*shape: int, limit_s: float | None = None) -> Done:
    import cellward as cw

    made = _counts(*shape)
    p, took = _timed(lambda: cw.ControlledRounding(5).protect(made, key=KEY, time_limit_s=limit_s))
    return {**took, "gap": p.gap}


def first_rounding(*shape: int) -> Done:
    """From a process that has not loaded cellward: whatever is loaded, at whichever moment, counts."""

    def work() -> Any:
        import cellward as cw

        return cw.ControlledRounding(5).protect(_counts(*shape), key=KEY)

    p, took = _timed(work)
    return {**took, "gap": p.gap}


def audit(*shape: int, limit_s: float) -> Done:
    """All intervals of a rounding that is made first; the shortest of three."""
    import cellward as cw

    p = cw.ControlledRounding(5).protect(_counts(*shape), key=KEY, time_limit_s=limit_s)
    runs = [_timed(p.audit)[1] for _ in range(3)]
    return {key: min(float(run[key] or 0) for run in runs) for key in ("seconds", "processor")} | {"gap": None}


def adjustment(norm: str, made: Callable[[], Any]) -> Done:
    import cellward as cw

    given = made()
    p, took = _timed(lambda: cw.ControlledAdjustment(norm=norm).protect(given, key=KEY))
    return {**took, "gap": p.gap}


def csplib(name: str) -> Any:
    import cellward as cw

    return cw.read(SHARED / "instances" / "csplib" / f"{name}.jj")


@dataclass(frozen=True)
class Case:
    """What is done, how often, and whether the time is judged, or the gap that is reached in it."""

    words: str
    run: Callable[[], Done]
    repeats: int = 3
    by_gap: bool = False
    faster: bool = False
    """It has to be faster than before."""
    shared: bool = False
    """It needs the shared data."""
    cold: bool = False
    """It starts in a process that has loaded nothing."""


CASES = {
    "round-300": Case("rounding 300×300, base 5", lambda: rounding(300, 300), repeats=5),
    "first-300": Case("import, and rounding 300×300", lambda: first_rounding(300, 300), repeats=5, cold=True),
    "round-20": Case("rounding 20³, base 5, 60 s", lambda: rounding(20, 20, 20, limit_s=60.0), repeats=1, by_gap=True),
    "audit-20": Case("audit of 20³, all intervals", lambda: audit(20, 20, 20, limit_s=10.0), repeats=2),
    "hier16-l1": Case("HIER16, L1 adjustment", lambda: adjustment("l1", lambda: csplib("HIER16")), shared=True),
    "hier16-l2": Case("HIER16, L2 adjustment", lambda: adjustment("l2", lambda: csplib("HIER16")), shared=True),
    "nine12-l1": Case("NINE12, L1 adjustment", lambda: adjustment("l1", lambda: csplib("NINE12")), 1, shared=True),
    "nine12-l2": Case("NINE12, L2 adjustment", lambda: adjustment("l2", lambda: csplib("NINE12")), 1, shared=True),
    "leaves-l2": Case(
        "10×30×30 (10,571 cells), L2 adjustment", lambda: adjustment("l2", lambda: _amounts(10, 30, 30)), faster=True
    ),
    "cube-100": Case("100³, L2 adjustment", lambda: adjustment("l2", lambda: _amounts(100, 100, 100)), repeats=2),
}
QUICK = {
    "round-40": Case("rounding 40×40, base 5", lambda: rounding(40, 40), repeats=1),
    "audit-6": Case("audit of 6³, all intervals", lambda: audit(6, 6, 6, limit_s=20.0), repeats=1),
    "leaves-small": Case("6×12×12, L2 adjustment", lambda: adjustment("l2", lambda: _amounts(6, 12, 12)), repeats=1),
}


def child(name: str, source: Path) -> None:
    """One case in this process, by the tree that stands first on the path."""
    case = (CASES | QUICK)[name]
    if not case.cold:
        _warm()
    done = case.run()
    import cellward as cw

    assert Path(str(cw.__file__)).is_relative_to(source), f"{cw.__file__} is not of {source}"
    print(json.dumps(done))


def _warm() -> None:
    """Imports, and the solvers' own: the engines for large tables are loaded where one is first met."""
    import cellward as cw

    cw.ControlledRounding(5).protect(_counts(160, 160), key=KEY)
    cw.ControlledAdjustment(norm="l2").protect(_amounts(4, 4), key=KEY)


# ---- before and after ----------------------------------------------------------------------------------------------------------------------------


@dataclass
class Measured:
    """Runs of one case by one tree."""

    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    trouble: str = ""

    def run(self, name: str, tree: Path, compiled: str) -> None:
        """Once, with modules compiled as an installed package has them: the folder is not that of the tree."""
        source = tree / "src"
        path = os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH", ""))))
        command = [sys.executable, str(Path(__file__).resolve()), "--child", name, "--before", str(tree)]
        compiling = {"PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
        try:
            done = subprocess.run(
                command,
                env={**os.environ, "PYTHONPATH": path, "CELLWARD_SHARED": str(SHARED), **compiling},
                capture_output=True,
                text=True,
                timeout=CHILD_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.trouble = f"not done within {CHILD_S:.0f} s"
            return
        if done.returncode:
            self.trouble = (done.stderr.strip().splitlines() or ["no word"])[-1][:200]
            return
        found = json.loads(done.stdout.strip().splitlines()[-1])
        self.seconds.append(found["seconds"])
        self.processor.append(max(found["processor"], 1e-3))
        if found["gap"] is not None:
            self.gaps.append(found["gap"])


def measure(name: str, case: Case, before: Path, again: Callable[[], bool]) -> tuple[Measured, Measured]:
    """Before and after by turns."""
    old, new = Measured(), Measured()
    both = [(old, before), (new, ROOT)]
    turn = 0
    with tempfile.TemporaryDirectory(prefix="cellward-compiled-") as compiled:
        while turn < case.repeats or (turn < case.repeats + AGAIN and again() and slower(case, old, new)):
            for mine, tree in both if turn % 2 == 0 else both[::-1]:
                mine.run(name, tree, compiled)
                print(f"{name}, {'before' if mine is old else 'after'}: {_last(mine)}", flush=True)
            if old.trouble or new.trouble:
                break
            turn += 1
    return old, new


def slower(case: Case, old: Measured, new: Measured) -> bool:
    """Whether it is worse than allowed, as far as measured."""
    return ratio(case, old, new) > (1.0 if case.faster else SLOWER)


def ratio(case: Case, old: Measured, new: Measured) -> float:
    """After over before."""
    if case.by_gap:
        return (min(new.gaps) + HAIR) / (min(old.gaps) + HAIR)
    if busy():
        return min(new.processor) / min(old.processor)
    return min(new.seconds) / min(old.seconds)


def busy() -> bool:
    """Whether others keep all cores busy: time elapsed then tells of them."""
    return os.getloadavg()[0] > (os.cpu_count() or 1) + 0.5


def _last(mine: Measured) -> str:
    if mine.trouble:
        return mine.trouble
    return f"{mine.seconds[-1]:.3f} s ({mine.processor[-1]:.3f} of the processor)" + (
        f", gap {100 * mine.gaps[-1]:.4f} %" if mine.gaps else ""
    )


@contextmanager
def tree_before(given: Path | None) -> Iterator[Path | None]:
    """The tree before, as given or from this repository's history; None where that does not reach back."""
    if given is not None:
        yield given.resolve()
        return
    git = ["git", "-C", str(ROOT)]
    known = subprocess.run([*git, "cat-file", "-e", f"{BEFORE}^{{commit}}"], capture_output=True, check=False)
    if known.returncode:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="cellward-before-") as folder:
        packed = subprocess.run([*git, "archive", BEFORE, "src"], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder)


def figures(report: Report, before: Path, cases: dict[str, Case], *, judged: bool) -> None:
    """All cases as one table."""
    rows: list[list[object]] = []
    began = time.perf_counter()
    for name, case in cases.items():
        if case.shared and not (SHARED / "instances").exists():
            print(f"{name}: the shared data is not here; left out", flush=True)
            continue
        old, new = measure(name, case, before, lambda: judged and time.perf_counter() - began < MOST_S)
        for what, mine in (("before", old), ("after", new)):
            report.require(not mine.trouble, f"{case.words}, {what}: {mine.trouble}")
        if old.trouble or new.trouble:
            rows.append([case.words, old.trouble, new.trouble, "", "", "", ""])
            continue
        found = ratio(case, old, new)
        if judged:
            limit = 1.0 if case.faster else SLOWER
            report.require(found <= limit, f"{case.words}: {found:.2f} times as {'wide' if case.by_gap else 'long'}")
            if old.gaps and new.gaps:
                wider = (min(new.gaps) + HAIR) / (min(old.gaps) + HAIR)
                report.require(wider <= SLOWER, f"{case.words}: the gap is {wider:.2f} times as wide")
        rows.append(
            [
                case.words,
                *(f"{min(mine.seconds):.3g} s ({min(mine.processor):.3g})" for mine in (old, new)),
                *(f"{100 * min(mine.gaps):.4f} %" if mine.gaps else "" for mine in (old, new)),
                f"{found:.2f} ({'gaps' if case.by_gap else 'processor' if busy() else 'elapsed'})",
                len(new.seconds),
            ]
        )
    report.add(
        f"Commit {BEFORE} beside this tree, each case in processes of its own, before and after by turns; the shortest time (in brackets of the "
        "processor, which is judged where others keep all cores busy) and the smallest gap of all runs. A ratio of at most "
        f"{SLOWER} is asked; of gaps (of searches that the clock ends) after {100 * HAIR:g} % is added to both; the adjustment of 10×30×30, which "
        "improved rounded leaves one by one, has to be faster.\n\n"
        + table(["", "before", "after", "gap before", "gap after", "after / before", "runs each"], rows)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--before", type=Path, help="a checkout of the tree before")
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--child", choices=CASES | QUICK, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.before.resolve())
        return 0
    with tree_before(options.before) as before:
        if before is None:
            print(f"commit {BEFORE} is not in this clone: nothing to compare with; give --before FOLDER")
            return 0 if options.quick else 1
        report = Report()
        chosen = {name: CASES[name] for name in options.case} if options.case else QUICK if options.quick else CASES
        figures(report, before, chosen, judged=not options.quick)
    print(report.verdict)
    if not options.quick and not options.case:
        write_section("house.py", "The house: before and after", "\n\n".join([report.verdict, *report.sections]))
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
