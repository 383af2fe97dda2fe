"""Audit: every figure that the audit, the certificate and the verifier owe, computed, compared, and written to RESULTS.md.

python benchmarks/audit.py               all figures, about an hour; writes RESULTS.md part by part; exits 1 when one falls short
python benchmarks/audit.py --part speed  one part: speed, certificates, refusals, intervals, faults, mutations or verifier
python benchmarks/audit.py --quick       the same checks on small sizes, a minute; writes nothing
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import measure  # isort: skip (finds the oracles)
import census
import certificate_mutations
import random_releases
import release_check
import solver_faults
from results import Report, run_parts, table

import cellward as cw
from cellward.audit import verify as checker
from cellward.audit.ends import Ends
from cellward.audit.linear import AttackerModel
from cellward.audit.region import Region
from cellward.instance import Instance
from cellward.publication.knowledge import KINDS
from cellward.publication.values import Values
from cellward.solve.warm_lp import WarmLp
from cellward.table.relations import Relations
from cellward.table.sensitivity import Sensitivity

VERIFIER = Path(checker.__file__)
SPEED, SECONDS, MEGABYTES, REFUSAL_S = 100, 60, 1024, 2
"""What is asked: intervals this many times faster than two warm-started linear programs a cell; verification and refusals within these limits."""


def intervals(report: Report, cases: int) -> None:
    """Intervals and verdicts of every kind of release against exact linear programs, or enumeration where values are whole."""
    seen, seconds = measure.many(report, "intervals", release_check.summary, cases, 100)
    ends, faults = seen.by["ends"], seen.differences
    rows: list[list[object]] = [[rule, seen.by["rule"][rule], f"{ends[rule]:,}"] for rule in random_releases.RULES]
    report.add(
        f"{cases:,} random releases of random tables (seeds 0 to {cases - 1:,}), one to three attackers each; "
        "both ends of every cell compared exactly with a rational simplex, or with a search over all whole tables where the attacker "
        "knows that values are whole; verdicts too: "
        f"**{len(faults)} differences** ({seconds:.0f} s).\n\n" + table(["release", "tables", "ends compared"], rows)
    )


def rounded(shape: tuple[int, ...], limit: float) -> cw.Protection:
    """A rounding of a Poisson table to base 5."""
    made = cw.Table.from_array(np.random.default_rng(1).poisson(4, shape))
    return cw.ControlledRounding(5).protect(made, time_limit_s=limit)


def speed(report: Report, sizes: list[tuple[tuple[int, ...], float, int]], least: int = SPEED) -> None:
    """Full intervals of all cells, beside two warm-started linear programs for each cell of a sample, in the same run."""
    rows: list[list[object]] = []
    for shape, limit, sample in sizes:
        strict = rounded(shape, limit)
        for kind in KINDS:
            told = cw.Knowledge.rounded(strict.scaled, strict.sought.allowed.step, kind=kind, a=strict.instance.a)
            p = replace(strict, publication=Values(told))
            cw.audit(rounded((3, 3), 9))  # imports
            began = time.perf_counter()
            found = cw.audit(p)
            ours = time.perf_counter() - began
            cells = np.sort(np.random.default_rng(2).choice(p.instance.cells, sample, replace=False))
            rival, theirs = two_programs_a_cell(p, cells)
            ratio = rival / sample * p.instance.cells / ours
            mine = [(float(found.intervals["lower"][i]), float(found.intervals["upper"][i])) for i in cells]
            # Among whole tables an interval can only be narrower than the linear programs say.
            off = sum(
                (kind == "paper" and max(abs(a - x), abs(b - y)) > 1e-6) or a < x - 1e-6 or b > y + 1e-6
                for (a, b), (x, y) in zip(mine, theirs, strict=True)
            )
            name = "×".join(map(str, shape))
            report.require(ratio >= least, f"speed {name} {kind}: {ratio:.0f} times faster, not {least}")
            report.require(
                off == 0 and found.open == 0,
                f"speed {name} {kind}: {off} of {sample} intervals differ, {found.open} open",
            )
            rows.append(
                [name, kind, f"{p.instance.cells:,}", f"{ours:.2f} s", f"{1000 * rival / sample:.1f} ms ({sample} cells)", f"{ratio:,.0f} ×",
                 found.open, found.claimed]
            )  # fmt: skip
    head = [
        "table, base 5",
        "knowledge",
        "cells",
        "all intervals, proven",
        "two warm linear programs a cell",
        "ratio",
        "open",
        "on an integer solver's word",
    ]
    report.add("" + table(head, rows))


def two_programs_a_cell(p: cw.Protection, cells: Any) -> tuple[float, list[tuple[float, float]]]:
    """The rival: HiGHS, one model, warm-started, maximise and minimise each cell."""
    instance = p.instance
    region = Region.of(
        instance.relations, instance.lower, instance.upper, p.knowledge, cw.Attacker.external(), instance.a
    )
    model = AttackerModel.of(Ends(region))
    lp = WarmLp(model.linear())
    place = {int(i): k for k, i in enumerate(model.free.tolist())}
    out = []
    cost = np.zeros(len(model.free))
    lp.maximise(cost)
    began = time.perf_counter()
    for i in cells.tolist():
        a = float(instance.a[i])
        if i not in place:
            out.append((a + float(model.lo[i]), a + float(model.hi[i])))
            continue
        ends = []
        for sign in (-1.0, 1.0):
            cost[place[i]] = sign
            ends.append(a + sign * lp.maximise(cost).objective)
        cost[place[i]] = 0.0
        out.append((ends[0], ends[1]))
    return time.perf_counter() - began, out


def with_tightest_levels(p: cw.Protection, share: float) -> cw.Protection:
    """The same rounding of the same table, some cells asking for exactly as much as the rounding gives them, one insider beside the public."""
    instance = p.instance
    made = cw.Table.from_array(
        instance.a.reshape(tuple(len(codes) for codes in instance.labels.codes))[
            tuple([slice(-1)] * len(instance.labels.codes))
        ]
    )
    known = np.flatnonzero(instance.a[: instance.cells] > 0)[:3].tolist()
    attackers = [cw.Attacker.external(), cw.Attacker.knowing(made, "insider", exactly=known)]
    cells = np.sort(np.random.default_rng(3).choice(instance.cells, int(share * instance.cells), replace=False))
    found = cw.audit(p, attackers=attackers, cells=cells.tolist())
    low = found.intervals["lower"].reshape(2, -1).max(axis=0)
    high = found.intervals["upper"].reshape(2, -1).min(axis=0)
    a = instance.a[cells]
    made = made.with_sensitivity(Sensitivity.of(made.cells, cells, a - low, high - a, high - low))
    return replace(p, instance=Instance.of(made, attackers=attackers))


def certificates(
    report: Report, shapes: list[tuple[tuple[int, ...], float]], geography: tuple[int, ...] | None
) -> None:
    """Size, witnesses and verification time of certificates; the census rounding within a minute and a gigabyte."""
    rows: list[list[object]] = []
    cases = [("×".join(map(str, shape)), with_tightest_levels(rounded(shape, limit), 0.1)) for shape, limit in shapes]
    made = census.income_support() if geography is None else census.income_support(geography=geography)
    relations = Relations(made.cells, made.indptr, made.indices, made.coefs, made.rhs)
    cases.append((f"{made.cells:,} cells", _census(made, relations)))
    for name, p in cases:
        began = time.perf_counter()
        certificate = p.certificate()
        wrote = time.perf_counter() - began
        with tempfile.TemporaryDirectory() as folder:
            path = certificate.save(Path(folder) / "certificate.json.gz")
            seconds, megabytes, said = verify_alone(path)
            size = path.stat().st_size
        report.require("holds" in said and "NOT" not in said, f"certificate {name}: {said}")
        report.require(p.protected is not False, f"certificate {name}: not protected")
        report.require(
            seconds <= SECONDS and megabytes <= MEGABYTES,
            f"certificate {name}: {seconds:.0f} s, {megabytes:.0f} MB to verify",
        )
        bound = p.certified_bound
        shown = "optimum proven" if bound == p.objective else f"{100 * (1 - bound / p.objective):.2f} % below"
        rows.append(
            [name, p.evidence.requirements, len(p.evidence.shown), f"{size / 1024:,.0f} KiB", f"{wrote:.1f} s",
             f"{seconds:.1f} s, {megabytes:.0f} MB", f"{p.objective} ({p.status})", bound, shown]
        )  # fmt: skip
    head = [
        "rounding, base 5",
        "requirements",
        "witnesses",
        "file",
        "made in",
        "verified alone in",
        "objective",
        "certified bound",
        "",
    ]
    report.add(
        "A tenth of the cells ask for exactly the interval that the rounding leaves them, against the public and an insider who "
        "knows three cells; `verify.py` runs alone (`python -I`), its peak memory is the process's.\n\n"
        + table(head, rows)
    )


def _census(made: census.Census, relations: Relations) -> cw.Protection:
    """The census rounding."""
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(
        (relations.coefs, relations.indices, relations.indptr), shape=(relations.equations, relations.cells)
    )
    return cw.ControlledRounding(5).protect(cw.Table.from_equations(made.values, matrix), time_limit_s=300)


def verify_alone(path: Path) -> tuple[float, float, str]:
    """Seconds, peak megabytes and words of verify.py run by itself."""
    code = (
        "import runpy, sys\nsys.argv = ['verify.py', sys.argv[2], sys.argv[1]][::2]\n"
        "try:\n    runpy.run_path(PATH, run_name='__main__')\n"
        "finally:\n    print([line for line in open('/proc/self/status') if 'VmHWM' in line][0])"
    ).replace("PATH", repr(str(VERIFIER)))
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(path), ""], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - began
    words, _, memory = done.stdout.strip().rpartition("VmHWM:")
    return (
        seconds,
        int(memory.split()[0]) / 1024 if memory else float("nan"),
        words.strip() or done.stderr.strip()[-300:],
    )


TESTS = (
    "verify",
    "ladder",
    "senses",
    "suppression",
    "suppression_engines",
    "intervals",
    "choice",
    "adjustment_options",
)
"""Tests of the verifier."""


def verifier(report: Report, *, quick: bool) -> None:
    """Branch coverage of verify.py by its own tests, and the faults put into it that they find."""
    root, tests = (
        Path(__file__).parent.parent,
        [f"tests/unit/test_{name}.py" for name in TESTS],
    )
    with tempfile.TemporaryDirectory() as folder:
        data, found = f"--data-file={folder}/data", Path(folder) / "found.json"
        coverage = [sys.executable, "-m", "coverage"]
        subprocess.run(
            [*coverage, "run", "--branch", data, f"--include={VERIFIER}", "-m", "pytest", "-q", *tests],
            cwd=root,
            check=True,
            capture_output=True,
        )
        subprocess.run([*coverage, "json", data, "-o", str(found)], cwd=root, check=True, capture_output=True)
        totals = json.loads(found.read_text())["totals"]
    missed = totals["missing_lines"] + totals["missing_branches"]
    report.require(missed == 0, f"verifier: {missed} lines or branches are not covered")
    words = f"{totals['num_statements']} statements and {totals['num_branches']} branches, {missed} of them not covered by `{', '.join(tests)}`"
    if not quick:
        done = subprocess.run(
            [sys.executable, "scripts/mutants"], cwd=root, check=False, capture_output=True, text=True
        )
        report.require(done.returncode == 0, f"verifier: {done.stdout.strip()[-200:]}")
        words += "; " + done.stdout.strip().splitlines()[-1]
    lines = len(VERIFIER.read_text().splitlines())
    report.add(f"`verify.py`: {lines} lines, {words}.")


def mutations(report: Report, cases: int) -> None:
    """Single-field mutations: every one that makes a claim false is rejected."""
    result = certificate_mutations.run(cases, 0)
    report.require(not result.failures, f"mutations: {len(result.failures)} failures, first {result.failures[:1]}")
    report.add("" + result.text())


def faults(report: Report, each: int) -> None:
    """Solver faults: nothing unsafe is released, each is a named error or a safe result."""
    result = solver_faults.run(each, 0)
    report.require(not result.failures, f"faults: {len(result.failures)} failures, first {result.failures[:1]}")
    report.add("" + result.text())


def bad_certificates(report: Report, *, quick: bool) -> None:
    """Files that are no certificates: each refused with a sentence, within two seconds."""
    p = cw.ControlledRounding(5).protect(cw.Table.from_array(np.random.default_rng(1).poisson(4, (30, 30))))
    good = p.certificate().text
    content = json.loads(good)
    shuffled = list(content.items())
    random.Random(0).shuffle(shuffled)
    files = {
        "truncated file": gzip.compress(good)[:-200],
        "truncated text": gzip.compress(good[:-200]),
        "keys in another order": gzip.compress(json.dumps(dict(shuffled), separators=(",", ":")).encode()),
        "blanks added": gzip.compress(json.dumps(content, sort_keys=True).encode()),
        "a key twice": gzip.compress(good[:-1] + b',"decimals":0}'),
        "an exponent that explodes": gzip.compress(good.replace(b'"objective":', b'"objective":1e30000000,"x":', 1)),
        "a number of a million digits": gzip.compress(good.replace(b'"objective":', b'"objective":' + b"9" * 10**6, 1)),
        "a gzip bomb of zeros": gzip.compress(b"0" * (1 << 30), 1),
        "a gzip bomb of JSON": gzip.compress(b"[" + b"0," * (1 << 28) + b"0]", 1),
        "nested a million deep": gzip.compress(b"[" * 10**6),
        "another table": gzip.compress(good),
        "oversized": b"\x1f\x8b" + bytes(checker.MOST_BYTES),
    }
    rows: list[list[object]] = []
    other = cw.Table.from_array(np.random.default_rng(2).poisson(4, (30, 30)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json.gz"
        for name, data in files.items():
            path.write_bytes(data)
            began = time.perf_counter()
            verdict = cw.verify(path, table=other if name == "another table" else None)
            seconds = time.perf_counter() - began
            report.require(not verdict, f"bad certificate, {name}: accepted")
            report.require(quick or seconds <= REFUSAL_S, f"bad certificate, {name}: refused after {seconds:.1f} s")
            rows.append([name, f"{seconds:.2f} s", str(verdict.reason)[:150]])
    report.add("" + table(["file", "refused after", "sentence"], rows))


def figures(report: Report, part: str, *, quick: bool) -> None:
    """One part of the programme."""
    if part == "speed":
        sizes = [((30, 30), 20.0, 40)] if quick else [((100, 100), 60.0, 300), ((20, 20, 20), 60.0, 20)]
        speed(report, sizes, least=0 if quick else SPEED)
    elif part == "certificates":
        shapes = [((20, 20), 20.0)] if quick else [((100, 100), 60.0), ((15, 15, 10), 60.0)]
        certificates(report, shapes, (200, 20, 4, 1) if quick else None)
    elif part == "refusals":
        bad_certificates(report, quick=quick)
    elif part == "intervals":
        intervals(report, 60 if quick else 2000)
    elif part == "faults":
        faults(report, 5 if quick else 200)
    elif part == "mutations":
        mutations(report, 500 if quick else 100_000)
    else:
        verifier(report, quick=quick)


PARTS = {
    "speed": "speed of full intervals",
    "certificates": "certificates",
    "refusals": "files that are refused",
    "intervals": "intervals against exact oracles",
    "faults": "solver faults",
    "mutations": "mutated certificates",
    "verifier": "the verifier",
}
"""The parts in the order in which they are run, and what each shows."""


if __name__ == "__main__":
    sys.exit(run_parts("audit.py", "Audit", PARTS, figures, __doc__))
