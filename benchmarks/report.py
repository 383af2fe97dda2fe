"""Reports: no secret in the public edition of 1,000 random tables, and a report of 100,000 cells: size, time to make, time until it can be used.

python benchmarks/report.py            all figures; writes RESULTS.md; exits 1 when one falls short; Chromium is used where it is installed
python benchmarks/report.py --part P   one part: leaks, large or first (from pip install to the first report, in an environment of its own)
python benchmarks/report.py --quick    30 random tables and a report of 10,000 cells, without Chromium; writes nothing
"""

from __future__ import annotations

import multiprocessing
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np

import measure  # noqa: F401  # isort: skip (finds the oracles)
from fixed_keys import key_of
from leaks import METHODS, case, leaks
from results import SHARED, Report, run_parts, table

import cellward as cw
from cellward.report.written import report_text

TABLES, QUICK_TABLES, WORKERS, LIMIT_S = 1000, 30, 2, 1.0
SIDES, QUICK_SIDES = (399, 249), (99, 99)
"""Inner cells a side: with the margins 400 × 250 cells."""
ROOT = Path(__file__).parents[1]
USABLE_MS, MOST_MB = 2000, 8.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--dump-dom",
)  # fmt: skip
PROBE = """<script>addEventListener('load', () => {
const query = document.querySelector('.query'), ready = performance.now();
query.value = '7'; query.dispatchEvent(new Event('input'));
document.title = `USABLE ${Math.round(ready)} SEARCH ${(performance.now() - ready).toFixed(1)}`})</script>"""
"""Says when the page was ready and how long a search over all cells took; put into a copy whose policy lets it run."""


PARTS = {
    "leaks": "no secret in the public edition of random tables",
    "large": "a report of 100,000 cells",
    "first": "from pip install to the first report",
}


def figures(report: Report, part: str, *, quick: bool) -> None:
    if part == "leaks":
        _leaks(report, QUICK_TABLES if quick else TABLES)
    elif part == "first":
        if not quick:
            _first(report)
    else:
        _large(report, QUICK_SIDES if quick else SIDES, browse=not quick)


def _searched(number: int) -> tuple[int, dict[str, int], list[str]] | None:
    """The public edition of one random table, as a page (every 50th with its picture) and as Markdown: what was searched for and what was found."""
    one = case(number, LIMIT_S)
    if one is None:
        return None
    digest, found = one.result.release().digest, []
    for ending in ("html", "md"):
        text = report_text(one.result, edition="public", ending=ending, pictures=number % 50 == 0)
        found += [f"table {number}, {ending}: {leak}" for leak in leaks(text, one.secrets, digest)]
    return number, {what: len(texts) for what, texts in one.secrets.items()}, found


def _leaks(report: Report, tables: int) -> None:
    made, held, found = Counter[str](), Counter[str](), list[str]()
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        every = pool.map(_searched, range(tables * 5 // 4), chunksize=5)
        for one in islice((one for one in every if one is not None), tables):
            made[METHODS[one[0] % len(METHODS)]] += 1
            held.update(one[1])
            found += one[2]
        pool.shutdown(cancel_futures=True)
    report.require(made.total() == tables, f"only {made.total()} of {tables} random tables could be protected")
    report.require(not found, "; ".join(found[:5]))
    rows = [[what, f"{many:,}", sum(f": {what} " in leak for leak in found)] for what, many in sorted(held.items())]
    methods = ", ".join(f"{word} {many}" for word, many in made.items())
    report.add(
        f"Public editions of {made.total():,} random tables ({methods}), as HTML and Markdown, searched for all that may not be in them: "
        f"**{len(found)} found**.\n\n" + table(["secret", "searched for", "found"], rows)
    )


def _large(report: Report, sides: tuple[int, ...], *, browse: bool) -> None:
    """A report of a large table: how long it takes to make, how large it is, and when a browser can use it."""
    whole = cw.Table.from_array(np.random.default_rng(22).poisson(40, sides), dims=["region", "activity"])
    rng = np.random.default_rng(23)
    levels = {int(i): (2, 2, 0) for i in rng.choice(whole.cells, 400, replace=False)}
    result = cw.ControlledRounding(10).protect(whole.find(levels=levels), key=key_of("report"))
    protected_s = result.seconds
    digest, rows = result.release().digest, []
    with tempfile.TemporaryDirectory() as folder:
        for name, edition, pictures in (
            ("internal", "internal", True),
            ("internal, no pictures", "internal", False),
            ("public", "public", True),
        ):
            began, worked = time.perf_counter(), time.process_time()
            text = report_text(result, edition=edition, pictures=pictures)
            seconds, busy, size = time.perf_counter() - began, time.process_time() - worked, len(text.encode()) / 1e6
            assert digest in text
            seen = _browsed(Path(folder), text) if browse else None
            shown = ["–"] * 3 if seen is None else [f"{seen['usable']} ms", f"{seen['search']} ms", seen["errors"]]
            rows.append([name, f"{size:.1f} MB", f"{seconds:.1f} s", f"{busy:.1f} s", *shown])
            report.require(size <= MOST_MB, f"the {name} edition has {size:.1f} MB")
            if seen is not None:
                report.require(seen["usable"] <= USABLE_MS, f"the {name} edition is usable after {seen['usable']} ms")
                report.require(seen["errors"] == 0, f"the {name} edition has errors in the console")
    report.add(
        f"A report of {whole.cells:,} cells ({len(levels)} at risk; the protection itself took {protected_s:.1f} s), opened in headless Chromium:\n\n"
        + table(
            [
                "edition",
                "size",
                "time to make",
                "of the processor",
                "usable after",
                "search over all cells",
                "errors in the console",
            ],
            rows,
        )
    )


def _first(report: Report) -> None:
    """The commands of docs/first-release.md up to the one that writes a report, in a new environment that holds nothing but the package."""
    block = re.search(r"```bash\n(.*?)```", (ROOT / "docs" / "first-release.md").read_text(), re.DOTALL)
    assert block is not None
    commands = block.group(1).strip().splitlines()
    asked = commands[: 1 + next(k for k, command in enumerate(commands) if command.startswith("cellward round"))]
    with tempfile.TemporaryDirectory() as inner:
        work, programs = Path(inner), Path(inner) / "new" / "bin"
        for file in sorted((SHARED / "data" / "tauargus").iterdir()):
            if file.name in block.group(1):
                shutil.copyfile(file, work / file.name)
        steps = [
            f"{sys.executable} -m venv new",
            f"new/bin/python -m pip install --quiet {shlex.quote(f'{ROOT}[report]')}",
            *asked,
        ]
        environment, rows = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}, []
        for name, step in zip(("python -m venv", "pip install 'cellward[report]'", *asked), steps, strict=True):
            began = time.perf_counter()
            done = subprocess.run(
                ["bash", "-c", step], cwd=work, env=environment, capture_output=True, text=True, check=False
            )
            rows.append([f"`{' '.join(name.split()[:3])}`", time.perf_counter() - began])
            report.require(done.returncode == 0, f"{name}: {done.stderr.strip()[-200:]}")
        written = work / "release" / "report.html"
        report.require(written.exists() and "</html>" in written.read_text(), "there is no report")
    total = sum(seconds for _, seconds in rows)
    report.add(
        table(
            ["step", "seconds"], [*([name, f"{seconds:.1f}"] for name, seconds in rows), ["**in all**", f"{total:.1f}"]]
        )
    )


def _browsed(folder: Path, text: str) -> dict[str, object] | None:
    """When Chromium could use it, and what its console said; None where there is no Chromium."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        return None
    page = folder / "report.html"
    page.write_text(
        re.sub(r"script-src &#x27;sha256-[^&]+&#x27;", "script-src &#x27;unsafe-inline&#x27;", text).replace(
            "</body>", f"{PROBE}</body>"
        )
    )
    profile = folder / "profile"
    done = subprocess.run(
        [browser, *FLAGS, f"--user-data-dir={profile}", f"file://{page}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    shutil.rmtree(profile, ignore_errors=True)
    said = re.search(r"<title>USABLE (\d+) SEARCH ([\d.]+)", done.stdout)
    if said is None:
        raise RuntimeError(f"Chromium did not open the report: {done.stderr[-500:]}")
    errors = sum("CONSOLE" in line for line in done.stderr.splitlines())
    return {"usable": int(said.group(1)), "search": said.group(2), "errors": errors}


if __name__ == "__main__":
    sys.exit(run_parts("report.py", "Reports", PARTS, figures, __doc__))
