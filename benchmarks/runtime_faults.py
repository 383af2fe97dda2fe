"""Runtime faults: kill -9, a full disk and memory limits while `cellward run` works, and what is then found on the disk.

Each run carries out a small job from records, with rules, respondents and a protected rounding, into a folder that holds an earlier release (every
fourth run: into a folder that is not there yet). The same key makes the same bytes, so what is found can be compared with what must be there: the
earlier release or the new one, whole, file by file; nothing torn, nothing of records or certificates readable by others, no sentence that calls it a
bug. A run without a fault follows now and then: it must end well and leave nothing behind, in the scratch space or beside the folder.

    kill -9       after a random part of the time that a run takes, moments of writing included
    disk full     the folder and the scratch space on a file system with a random number of free KiB (a tmpfs of its own; where none can be mounted,
                  a limit on the size of files instead)
    memory        a random limit on the address space, from what the libraries take to what the run takes

Runs are forked from a process that has the libraries loaded, so that the faults hit the run and not the start of Python.

python benchmarks/runtime_faults.py            300 runs each, a few minutes; exits 1 when one of them ends badly
python benchmarks/runtime_faults.py --quick    5 runs each
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path

import duckdb  # noqa: F401 (loaded once for all runs, as is all below)
import highspy  # noqa: F401
from fixed_keys import key_file
from results import Report, table, write_section

from cellward.cli import main as main_of_cellward
from cellward.files.scratch import remove_scratch
from cellward.manifest import MANIFEST
from cellward.outputs import DETAILS
from cellward.solve.worker import shut_down

SCRIPT = "runtime_faults.py"
CONFIDENTIAL = ("certificate.json.gz", "protection.json", "findings.csv", "certificate_of_sums.json.gz")
JOB = """[input]
file = "records.csv"
[roles]
dims = ["activity", "region"]
measure = "turnover"
contributor = "firm"
[risk]
rules = ["PPercent(10)", "Threshold(3)"]
[attackers]
respondents = 1
[method]
name = "round"
base = {base}
[output]
folder = "out"
key_file = "key.txt"
threads = 1
"""
FOREIGN = "notes.txt"
"""A file in the folder that is not of the release."""


@dataclass
class Tally:
    """What came of the runs of one fault."""

    outcomes: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Bench:
    """A job with an earlier release, and the bytes of the release before and after."""

    home: Path
    errors: Path
    before: dict[str, str]
    after: dict[str, str]
    seconds: float

    def copy(self, place: Path, *, fresh: bool) -> Path:
        """The job in a folder of its own, with the earlier release or without."""
        folder = place / "job"
        shutil.copytree(self.home, folder)
        if fresh:
            shutil.rmtree(folder / "out")
        (place / "scratch").mkdir()
        return folder


def digests(folder: Path) -> dict[str, str]:
    """The files of a release by their bytes; what names its time or folder is left out."""
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}
    if MANIFEST in found:  # it names the others by their hashes, and must be of these very ones
        named = json.loads((folder / MANIFEST).read_bytes())["outputs"]
        found[MANIFEST] = "fits" if all(found.get(name) == digest for name, digest in named.items()) else "does not fit"
    return {name: "present" if name == DETAILS else digest for name, digest in found.items()}


@dataclass
class Run:
    """``cellward run job.toml`` in a process of its own."""

    pid: int
    errors: Path
    code: int | None = None

    def poll(self) -> int | None:
        """The exit code, or minus the signal; None while it runs."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def finish(self) -> tuple[int, str]:
        """Wait for its end: the exit code and what it said."""
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        said = self.errors.read_text() if self.errors.exists() else ""
        self.errors.unlink(missing_ok=True)
        return self.code, said


def start(place: Path, errors: Path, limits: Sequence[tuple[int, int]] = ()) -> Run:
    """Begin a run in its folder, with scratch space of its own and the usual umask, under limits of the system."""
    pid = os.fork()
    if pid:
        return Run(pid, errors)
    code = 70
    try:
        os.setsid()
        os.umask(0o022)
        os.chdir(place / "job")
        os.environ["CELLWARD_SCRATCH"] = str(place / "scratch")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
        for which, limit in limits:
            resource.setrlimit(which, (limit, limit))
        sys.argv = ["cellward", "run", "job.toml"]
        main_of_cellward()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        shut_down()  # what atexit does for a process of its own
        remove_scratch()
        os._exit(code)


def prepare(folder: Path) -> Bench:
    """The job, its earlier release (another base) and the bytes of the one to come."""
    home = folder / "job"
    home.mkdir()
    (folder / "scratch").mkdir()
    rng = random.Random(0)
    rows = [f"A{rng.randrange(12)},R{rng.randrange(8)},F{k},{int(rng.lognormvariate(4, 1.5)) + 1}" for k in range(1500)]
    (home / "records.csv").write_text("activity,region,firm,turnover\n" + "\n".join(rows) + "\n")
    (home / "records.csv").chmod(0o600)
    key_file(home / "key.txt", "runtime faults")
    made = []
    for base in (200, 100):
        (home / "job.toml").write_text(JOB.format(base=base))
        (home / "job.toml").chmod(0o600)
        shutil.rmtree(home / "out", ignore_errors=True)
        began = time.perf_counter()
        code, said = start(folder, folder / "errors").finish()
        if code:
            raise SystemExit(f"the job itself fails: {said}")
        made.append(digests(home / "out"))
        if base == 200:
            shutil.copytree(home / "out", folder / "earlier")
    shutil.rmtree(home / "out")
    (folder / "earlier").rename(home / "out")
    (home / "out" / FOREIGN).write_text("kept\n")
    return Bench(home, folder / "errors", *made, time.perf_counter() - began)


# ---- what is found ---------------------------------------------------------------------------------------------------------------------------------


def judge(bench: Bench, place: Path, tally: Tally, *, fresh: bool, code: int, said: str) -> None:
    """What the run left: an old release or a new one, whole; nothing that others can read; one sentence or none."""
    folder = place / "job" / "out"
    wrong: list[str] = []
    if folder.exists():
        found = digests(folder)
        kept = found.pop(FOREIGN, None)
        if not fresh and kept is None:
            wrong.append("the user's own file is gone")
        which = "new" if found == bench.after else "old" if found == bench.before and not fresh else ""
        if not which:
            wrong.append(f"torn: {sorted(found)}")
    else:
        which = "none"
        if not fresh:
            wrong.append("the earlier release is gone")
    if code == 0 and which != "new":
        wrong.append("done, and no new release")
    tally.found[which or "torn"] += 1
    wrong += [f"readable by others: {path}" for path in exposed(place)]
    if (
        code > 0
        and not _by_library(code, said)
        and (len(said.strip().splitlines()) != 1 or not said.startswith("cellward: ") or "bug" in said)
    ):
        wrong.append(f"no sentence: {said.strip()[-300:]!r}")
    tally.wrong += wrong


def exposed(place: Path) -> list[str]:
    """Confidential files that another user could open: by their own mode and that of every folder above."""
    found = []
    for root, folders, files in os.walk(place):
        mode = Path(root).stat().st_mode
        if not mode & stat.S_IXOTH:
            folders.clear()
            continue
        for name in files:
            path = Path(root) / name
            public = name in ("release.csv", "release.json", FOREIGN)
            if path.stat().st_mode & 0o077 and not public:
                found.append(str(path.relative_to(place)))
    return found


def healthy(bench: Bench, place: Path, tally: Tally) -> None:
    """A run without a fault ends well, and nothing is left of those before it."""
    code, said = start(place, bench.errors).finish()
    if code:
        tally.wrong.append(f"the next run fails: {said.strip()[-300:]!r}")
        return
    found = digests(place / "job" / "out")
    found.pop(FOREIGN, None)
    if found != bench.after:
        tally.wrong.append(f"the next run leaves {sorted(found)}")
    left = [path.name for path in (place / "scratch").iterdir()]
    left += [path.name for path in (place / "job").iterdir() if path.name.startswith(".")]
    if left:
        tally.wrong.append(f"left behind: {left}")


# ---- the faults ------------------------------------------------------------------------------------------------------------------------------------


def killed(bench: Bench, place: Path, rng: random.Random, tally: Tally, *, fresh: bool) -> None:
    """Kill the run, and its worker with it, at a random moment; every other one while it writes."""
    run = start(place, bench.errors)
    if rng.random() < 0.5:
        watched = place / "job"
        while run.poll() is None:
            if any(path.name.startswith(".out") for path in watched.iterdir()):
                time.sleep(rng.random() ** 2 * 0.2)
                break
            time.sleep(0.0002)
    else:
        until = time.perf_counter() + rng.random() * bench.seconds
        while run.poll() is None and time.perf_counter() < until:
            time.sleep(0.001)
    if run.poll() is None:
        os.kill(run.pid, signal.SIGKILL)
    code, said = run.finish()
    tally.outcomes["killed" if code < 0 else f"exit {code}"] += 1
    judge(bench, place, tally, fresh=fresh, code=code, said=said)


def full(bench: Bench, place: Path, rng: random.Random, tally: Tally, *, fresh: bool, mounted: bool) -> None:
    """Leave so many KiB, or let no file grow beyond them."""
    spare = rng.randrange(0, 64)
    filler = place / "filler"
    if mounted:
        free = shutil.disk_usage(place).free
        filler.write_bytes(bytes(max(0, free - spare * 1024)))
        filler.chmod(0o600)
    limits = [] if mounted else [(resource.RLIMIT_FSIZE, 64 * spare)]
    code, said = start(place, bench.errors, limits).finish()
    filler.unlink(missing_ok=True)
    tally.outcomes[_outcome(code, said)] += 1
    judge(bench, place, tally, fresh=fresh, code=code, said=said)


def starved(bench: Bench, place: Path, rng: random.Random, tally: Tally, *, fresh: bool, span: tuple[int, int]) -> None:
    """Let the address space of the run be so large and no larger."""
    code, said = start(place, bench.errors, [(resource.RLIMIT_AS, rng.randrange(*span))]).finish()
    tally.outcomes[_outcome(code, said)] += 1
    judge(bench, place, tally, fresh=fresh, code=code, said=said)


def _by_library(code: int, said: str) -> bool:
    """Whether the C library ended the process, as a signal would: nobody of ours could say anything."""
    return code == 127 and said.strip().endswith("ABORT")


def _outcome(code: int, said: str) -> str:
    if _by_library(code, said):
        return "ended by the C library"
    if code <= 0:
        return "done" if code == 0 else f"ended by {signal.Signals(-code).name}"
    for words in ("memory ran out", "No space left", "File too large", "ran full"):
        if words in said:
            return f"exit {code}, {words}"
    return f"exit {code}"


def memory_span(bench: Bench, folder: Path) -> tuple[int, int]:
    """From what this process has to a tenth more than the least limit under which the whole run ends well."""
    low = begins = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    high = begins + (8 << 30)
    while high - low > 4 << 20:
        size = (low + high) // 2
        with tempfile.TemporaryDirectory(dir=folder) as name:
            bench.copy(Path(name), fresh=False)
            code, _ = start(Path(name), bench.errors, [(resource.RLIMIT_AS, size)]).finish()
        low, high = (low, size) if code == 0 else (size, high)
    return begins, high + (high - begins) // 10


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A file system of 8 MiB on the folder; False where none can be mounted."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=755", "tmpfs", str(folder)], capture_output=True, check=False
    )
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", str(folder)], check=True)


def many(bench: Bench, folder: Path, name: str, runs: int, fault: Callable[..., None], **options: object) -> Tally:
    """So many runs with one fault, each from its own seed; every fifth is followed by a healthy one in the same place."""
    tally = Tally()
    for seed in range(runs):
        rng, fresh = random.Random(f"{name} {seed}"), seed % 4 == 3
        place = Path(tempfile.mkdtemp(dir=folder))
        place.chmod(0o755)
        count = len(tally.wrong)
        try:
            bench.copy(place, fresh=fresh)
            fault(bench, place, rng, tally, fresh=fresh, **options)
            if seed % 5 == 0:
                healthy(bench, place, tally)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        for what in tally.wrong[count:]:
            print(f"{name}, seed {seed}: {what}", flush=True)
    return tally


def figures(runs: int, folder: Path) -> tuple[Report, list[list[object]]]:
    """The three faults, side by side."""
    report, rows = Report(), []
    bench = prepare(folder)
    disk, rest = folder / "disk", folder / "rest"
    disk.mkdir()
    rest.mkdir()
    span = memory_span(bench, rest)
    with small_disk(disk) as mounted:
        kind = "a tmpfs of 8 MiB" if mounted else "a limit on files"
        faults: list[tuple[str, Path, Callable[..., None], dict[str, object]]] = [
            ("kill -9", rest, killed, {}),
            (f"disk full ({kind})", disk if mounted else rest, full, {"mounted": mounted}),
            (f"memory (up to {(span[1] - span[0]) >> 20} MiB more than the libraries)", rest, starved, {"span": span}),
        ]
        with get_context("fork").Pool(len(faults)) as pool:
            found = [
                pool.apply_async(
                    many, (replace(bench, errors=folder / f"errors{k}"), place, name, runs, fault), options
                )
                for k, (name, place, fault, options) in enumerate(faults)
            ]
            tallies = [one.get() for one in found]
        for (name, *_), tally in zip(faults, tallies, strict=True):
            outcomes = ", ".join(f"{what}: {n}" for what, n in tally.outcomes.most_common())
            states = ", ".join(f"{what} {n}" for what, n in sorted(tally.found.items()))
            rows.append([name, runs, outcomes, states, len(tally.wrong)])
            report.require(not tally.wrong, f"{name}: {len(tally.wrong)} runs end badly, such as {tally.wrong[:1]}")
    return report, rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="5 runs each; writes nothing")
    quick = parser.parse_args().quick
    runs = 5 if quick else 300
    with tempfile.TemporaryDirectory(prefix="cellward-faults-") as name:
        Path(name).chmod(0o755)
        report, rows = figures(runs, Path(name))
    report.add(
        f"{runs} runs of a job of 90 records with each fault, a quarter of them into a folder that was not there; every fifth is followed by one "
        "without a fault, which must end well and leave nothing behind. Bad: a release torn or gone, the user's own file in the folder gone, "
        "anything confidential readable by others, no sentence. (Some libraries end the process where memory lacks; no "
        "sentence is asked of those.)\n\n" + table(["fault", "runs", "how they ended", "release found", "bad"], rows)
    )
    if not quick:
        write_section(
            SCRIPT, "Runtime faults: kill -9, disk full, memory limits", f"{report.verdict}\n\n{report.sections[0]}"
        )
    print(report.verdict)
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
