"""Exports: releases in every format, read back by the readers of their own world, and searched for what is confidential.

    python benchmarks/exports.py                     both parts: some ten minutes; writes RESULTS.md; exits 1 when one falls short
    python benchmarks/exports.py --part trips        one part; repeatable
    python benchmarks/exports.py --quick             a few of each; writes nothing

- trips: 200 random releases of every kind (values, withheld, ranges) a format, with awkward codes, labels, titles and footnotes; openpyxl, pysdmx,
  pyjstat, pyaxis and pyarrow read them, LaTeX and Markdown are read by their grids. 0 differences, in exact decimals.
- leaks: 1,000 random tables and methods with values of eight digits and more. No export and no frame of a release holds a true value of a cell at
  risk that is not printed, a level (jittered or not), the key, the seed or the senses.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "oracles"))

from export_readers import FOR_THE_EYE, READERS, contents, differences
from fixed_keys import key_of
from random_releases import random_release
from results import Report, run_parts, table

import cellward as cw
from cellward.table.labels import Labels
from cellward.table.sensitivity import Sensitivity

PARTS = {"trips": "read back by others", "leaks": "nothing confidential"}
TRIPS, TRIPS_QUICK = 200, 12
LEAKS, LEAKS_QUICK = 1000, 12
READ_BY = {
    "release.xlsx": "openpyxl", "release.sdmx.csv": "pysdmx", "release.jsonstat.json": "pyjstat", "release.px": "pyaxis",
    "release.parquet": "pyarrow", "release.tex": "its rows", "release.md": "its rows",
}  # fmt: skip
WORDS = (
    "é", "ß", "京", "North & East", "50 %", "a|b", "x_y", "#1", "{z}", "~", "^", "65+", "-9 to 0", "1e5", "007", "a, b", "a; b", "it's", "<5", "$",
)  # fmt: skip
"""Codes and labels with what is special to some format."""


def awkward(release: cw.Release, rng: Random) -> cw.Release:
    """The release with other codes and labels."""
    own = release.labels
    if not own.dims:
        return release
    every = []
    for codes in own.codes:
        new = rng.sample(WORDS, min(len(codes), len(WORDS))) + [f"code {k}" for k in range(len(WORDS), len(codes))]
        every.append(tuple(new if rng.random() < 0.7 else codes))
    totals = tuple(
        None if total is None else new[codes.index(total)]
        for total, codes, new in zip(own.totals, own.codes, every, strict=True)
    )
    labels = Labels(own.cells, own.dims, tuple(every), own.index, totals)
    words = {
        dim: {code: f"label of {code} {rng.choice(WORDS)}" for code in codes}
        for dim, codes in zip(labels.dims, every, strict=True)
        if rng.random() < 0.4
    }
    return replace(release, labels=labels.called(words))


def trips(report: Report, *, quick: bool) -> None:
    """Round trips of random releases."""
    rows, names = [], [*READERS, *FOR_THE_EYE]
    many = TRIPS_QUICK if quick else TRIPS
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            cells, bad, begun = 0, [], time.perf_counter()
            for seed in range(many):
                rng = Random(f"exports {seed}")
                release = awkward(random_release(seed).release, rng)
                words = {"title": "Firms & more", "footnotes": ["50 % of one_two."]} if rng.random() < 0.5 else {}
                found = differences(release, Path(folder), name, **words)
                cells += release.labels.cells
                bad += [f"seed {seed}: {found[0]}"] if found else []
            seconds = time.perf_counter() - begun
            rows.append([name, READ_BY[name], many, f"{cells:,}", len(bad), f"{seconds:.1f}"])
            report.require(not bad, f"{name}: {'; '.join(bad[:3])}")
    head = ["file", "read back by", "releases", "cells", "releases that differ", "seconds, written and read"]
    report.add(table(head, rows))


METHODS = ("round", "perturb within", "perturb", "adjust", "suppress", "intervals")


def protected(seed: int) -> tuple[cw.Protection, set[str]]:
    """A random table protected by a method, and what must not get out of it."""
    rng = Random(f"leaks {seed}")
    draw = np.random.default_rng(seed)
    shape = rng.choice([(3, 3), (4, 3), (2, 2, 2), (5, 2), (3, 2, 2)])
    values = draw.integers(10_000_000, 99_999_999, shape)
    decimals = rng.choice([0, 0, 2])
    made = cw.Table.from_array(values if not decimals else values / 100, decimals=decimals)
    inner = int(np.prod(shape))
    leaves = np.flatnonzero(made.relations.height == 0).tolist()
    risky = np.array(sorted(rng.sample(leaves, rng.randint(1, max(inner // 4, 1)))), np.int64)
    levels = draw.integers(1_000_000, 1_900_000, (2, len(risky)))
    made = made.with_sensitivity(Sensitivity.of(made.cells, risky, levels[0], levels[1], levels[0] * 0))
    unit = 10**decimals
    method = {
        "round": lambda: cw.ControlledRounding(10_000_000 // unit, max_steps=2),
        "perturb within": lambda: cw.CellPerturbation(within=6_000_000 // unit),
        "perturb": lambda: cw.CellPerturbation(base=10_000_000 // unit),
        "adjust": lambda: cw.ControlledAdjustment(senses="secret"),
        "suppress": lambda: cw.CellSuppression(),
        "intervals": lambda: cw.IntervalPublication(),
    }[METHODS[seed % len(METHODS)]]()
    key = key_of(f"leaks {seed}")
    p = method.protect(made, key=key, seed=900_000_000 + seed, time_limit_s=20)
    numbers = [*made.scaled[risky].tolist(), *levels.ravel().tolist()]
    secrets = {text for x in numbers for text in (str(x), cw.exact.text(x, decimals))}
    if p.details is not None:
        secrets |= set(p.details.to_dict().get("levels", {}).values())
    return p, secrets | {key.hex(), str(900_000_000 + seed), "senses"}


def searched(seed: int) -> tuple[str, int, list[str]]:
    """What came of one table: the method (or that nothing was released), how much was searched, and what got out."""
    p, secrets = protected(seed)
    if p.publication is None or not p.releasable:
        return "nothing to release", 0, []
    release = p.release()
    printed = release.publication.columns(release.decimals)
    told = {text for name, column in printed.items() if name != "status" for text in column}
    told |= {text.replace(".", "") for text in told}
    hidden = {secret for secret in secrets if secret not in told}
    with tempfile.TemporaryDirectory() as folder:
        files = [release.save(Path(folder) / name, title="T") for name in (*READERS, *FOR_THE_EYE)]
        shown = [contents(path) for path in files]
    shown += [release.to_pandas().to_csv(), release.to_polars().write_csv(), release._repr_html_()]
    return METHODS[seed % len(METHODS)], len(shown), sorted({one for text in shown for one in hidden if one in text})


def leaks(report: Report, *, quick: bool) -> None:
    """Everything public of random releases, searched."""
    found: Counter[str] = Counter()
    bad: list[str] = []
    many = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for seed, (what, files, got) in enumerate(
            pool.map(searched, range(LEAKS_QUICK if quick else LEAKS), chunksize=4)
        ):
            found[what] += 1
            many += files
            bad += [f"seed {seed}: {got[0]}"] if got else []
    rows = [[name, count] for name, count in sorted(found.items())]
    report.add(table(["method", "tables"], rows))
    report.add(f"{many:,} files, frames and cards searched; {len(bad)} releases gave something confidential away.")
    report.require(not bad, "; ".join(bad[:5]))
    report.require(found["nothing to release"] * 2 <= sum(found.values()), "too few tables were released")


def figures(report: Report, part: str, *, quick: bool) -> None:
    {"trips": trips, "leaks": leaks}[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("exports.py", "Exports of releases", PARTS, figures, __doc__))
