"""Certificate mutations: valid certificates and their public files with one thing changed; whatever makes a claim false must be rejected.

The change is made before anything is hashed, so no checksum catches it. Each mutant is judged by a reading of docs/certificate.md written once
more, without the package (tests/oracles: certificate_judge, public_files_judge): is the file well formed, is every claim true, is all evidence what
the specification asks for; does release.csv print what the certificate says and nothing else. A mutant that fails any of these and is accepted is a
failure; so is a valid certificate, or a valid public file, that is rejected. Every kind of what is printed is there: values under each rule, withheld
values, ranges, and nothing.

    python benchmarks/certificate_mutations.py --cases 100000 --seed 0      all, twenty minutes; exits 1 on a failure
    python benchmarks/certificate_mutations.py --quick                      2,000 mutations
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import measure  # noqa: F401 # isort: skip (finds the oracles)
from certificate_form import Json, Reading
from certificate_judge import SECONDS, Oracle, judge
from certificate_mutants import Mutant, expanded, made_to_fit, mutate
from judgement import BAD, EVIDENCE, FALSE, MALFORMED, TRUE, Judgement
from public_file_mutants import mutate_release, mutate_statement
from public_files import canonical, labelled, statement, written
from public_files_judge import judge_release, judge_statement
from results import table
from valid_certificates import valid_certificates

from cellward.audit import verify as checker

Counts = Counter[tuple[str, str, bool]]
"""By part, judgement, and whether it was accepted."""
BY_FILE = 100
"""One mutant in this many is also checked as a file."""


@dataclass
class Result:
    """What came of all mutants: (part, judgement, accepted) counted, likewise for those made to fit again and for releases
    beside certificates that still hold, and each failure in words."""

    certificates: int = 0
    counts: Counts = field(default_factory=Counter)
    fitted: Counts = field(default_factory=Counter)
    beside: Counts = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    open: int = 0
    seconds: float = 0.0

    def text(self) -> str:
        """Two paragraphs and a table, in Markdown."""
        head = ["part", "mutations", *BAD, "of these rejected", f"{TRUE}, accepted", f"{TRUE}, rejected"]
        rows: list[list[object]] = []
        for key in [*sorted({key for key, _, _ in self.counts}), None]:
            own = [_count(self.counts, key, *kind) for kind in ([], *([x] for x in BAD))]
            rejected = sum(_count(self.counts, key, kind, False) for kind in BAD)
            still = [_count(self.counts, key, TRUE, accepted) for accepted in (True, False)]
            rows.append([f"`{key}`" if key else "all", *(f"{x:,}" for x in (*own, rejected, *still))])
        return (
            f"Valid certificates of {self.certificates} small tables, all accepted unless listed as a failure, and their public files. One-field "
            "mutations of certificates, made before anything is hashed, and mutations of release.csv and release.json (values under each rule, "
            f"withheld values, ranges): {_told(self.counts)} Of certificates false in claim or evidence, again with equations, objective, status and "
            f"bound made to fit: {_told(self.fitted)} The unchanged release.csv beside changed certificates that still hold: {_told(self.beside)} "
            f"In {self.open:,} of all these a level was judged by its evidence alone (no ends found in {SECONDS} s). "
            f"**{len(self.failures)} failures** ({self.seconds:.0f} s).\n\n{table(head, rows)}"
        )


def _count(counts: Counts, *wanted: object) -> int:
    """How many have this part, judgement and acceptance; None: any."""
    return sum(x for found, x in counts.items() if all(w in (None, f) for w, f in zip(wanted, found, strict=False)))


def _told(counts: Counts) -> str:
    form, claim, evidence = (_count(counts, None, kind) for kind in BAD)
    missed = sum(_count(counts, None, kind, True) for kind in BAD)
    false = form + claim + evidence
    return (
        f"{_count(counts):,}; {false:,} are false ({form:,} in form, {claim:,} in a claim, {evidence:,} in evidence alone), **{false - missed:,} of "
        f"these rejected, {missed:,} accepted**; {_count(counts, None, TRUE):,} leave everything true, {_count(counts, None, TRUE, True):,} of these "
        f"accepted and {_count(counts, None, TRUE, False):,} rejected."
    )


def accepted(content: Json) -> tuple[bool, str]:
    """Whether the verifier takes a certificate, and its words; anything that it raises but a refusal is let through."""
    try:
        verdict = checker.check(content)
    except checker.Refused as refusal:
        return False, str(refusal)
    return bool(verdict), verdict.reason


def accepted_release(content: Json, data: bytes, *, table: bool) -> bool:
    """Whether the verifier takes release.csv (or release.json) for that of a certificate."""
    digest = hashlib.sha256(canonical(content).encode()).hexdigest()
    try:
        return bool(
            checker.compare_release(data, content) if table else checker.compare_statement(data, content, digest)
        )
    except checker.Refused:
        return False


def accepted_file(content: Json, path: Path) -> bool:
    path.write_bytes(gzip.compress(canonical(content).encode(), 1))
    return bool(checker.verify(path))


def run(cases: int, seed: int, rules: tuple[str, ...] = ()) -> Result:
    """Mutate valid certificates, each in turn; ``rules``: those of these rules only."""
    began, rng, oracle, result = time.perf_counter(), Random(seed), Oracle(), Result()
    certificates = [one for one in valid_certificates() if not rules or one[1]["knowledge"]["rule"] in rules]
    result.certificates = len(certificates)
    for plain, content in certificates:
        for name, shown in ((plain, content), (f"{plain}, columns written out", expanded(content, rng))):
            judgement, (good, reason) = judge(shown, oracle, thorough=True), accepted(shown)
            if judgement.kind != TRUE:
                result.failures.append(f"{name}: a certificate of the package is {judgement.kind}: {judgement.reason}")
            if not good:
                result.failures.append(f"{name}: a valid certificate is rejected: {reason}")
    originals = [(name, *labelled(content, rng)) for name, content in certificates]
    published = [one for one in originals if one[1]["printed"] is not None]
    for name, content, rows in published:
        for end in ("\n", "\r\n"):
            if judge_release(content, data := written(rows, end).encode()).kind != TRUE or not accepted_release(
                content, data, table=True
            ):
                result.failures.append(f"{name}: a valid release.csv is rejected")
        if not accepted_release(content, json.dumps(statement(content)).encode(), table=False):
            result.failures.append(f"{name}: a valid release.json is rejected")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json.gz"
        for number in range(cases):
            if number % 4 == 3:
                name, content, rows = published[number // 4 % len(published)]
                faults = _try_public(content, rows, number, rng, result, Path(folder))
                result.failures += [f"{name}, mutant {number} of seed {seed}: {fault}" for fault in faults]
                continue
            name, content, rows = originals[number % len(originals)]
            mutant = mutate(canonical(content), rng)
            if number % BY_FILE == 0 and accepted_file(mutant.content, path) != accepted(mutant.content)[0]:
                result.failures.append(
                    f"{name}, mutant {number}, {mutant.what}: another verdict on the file than in memory"
                )
            result.failures += [
                f"{name}, mutant {number}, {mutant.what}: {fault}" for fault in _beside(mutant, rows, result)
            ]
            for fault in _try(mutant, oracle, result, path):
                result.failures.append(f"{name}, mutant {number} of seed {seed}, {mutant.what}: {fault}")
    result.open, result.seconds = oracle.open, time.perf_counter() - began
    return result


def _try_public(
    content: Json, rows: list[list[str]], number: int, rng: Random, result: Result, folder: Path
) -> Iterator[str]:
    """Judge and count one mutant of a public file: of release.csv, and of release.json in one of five."""
    table = number % 20 != 3
    what, data = mutate_release(content, rows, rng) if table else mutate_statement(content, rng)
    judgement = judge_release(content, data) if table else judge_statement(content, data)
    file = "release.csv" if table else "release.json"
    good = accepted_release(content, data, table=table)
    result.counts[file, judgement.kind, good] += 1
    if good and judgement.kind != TRUE:
        yield f"{file}, {what}: accepted though {judgement.kind}: {judgement.reason}"
    if number % BY_FILE < 20:
        (folder / file).write_bytes(data)
        accepted_file(content, folder / "certificate.json.gz")
        with contextlib.redirect_stdout(io.StringIO()):
            code = checker.main([str(folder / "certificate.json.gz"), str(folder / file)])
        if code != (0 if good else 1):
            yield f"{file}, {what}: another verdict on the files than in memory"


def _beside(mutant: Mutant, rows: list[list[str]], result: Result) -> Iterator[str]:
    """A changed certificate that holds, beside the release of the one that it was made of."""
    if not rows or not accepted(mutant.content)[0]:
        return
    data = written(rows).encode()
    judgement, good = judge_release(mutant.content, data), accepted_release(mutant.content, data, table=True)
    result.beside[mutant.key, judgement.kind, good] += 1
    if good and judgement.kind != TRUE:
        yield f"release.csv beside it accepted though {judgement.kind}: {judgement.reason}"


def _try(mutant: Mutant, oracle: Oracle, result: Result, path: Path) -> Iterator[str]:
    """Judge and count one mutant, and once more made to fit; gives what is wrong, in words."""
    content = json.loads(canonical(mutant.content))
    judgement = judge(content, oracle)
    yield from _compare(mutant.key, content, judgement, result.counts, path)
    if judgement.kind in (FALSE, EVIDENCE):
        fitted = made_to_fit(content, Reading(content))
        if canonical(fitted) != canonical(content):
            for fault in _compare(mutant.key, fitted, judge(fitted, oracle), result.fitted, path):
                yield f"made to fit: {fault}"


def _compare(key: str, content: Json, judgement: Judgement, counts: Counts, path: Path) -> Iterator[str]:
    try:
        good, _ = accepted(content)
        if good and judgement.kind == MALFORMED:
            good = accepted_file(content, path)  # where the digits of a number are counted too
    except Exception as error:  # noqa: BLE001 (a verifier that breaks down is what we look for)
        counts[key, judgement.kind, False] += 1
        yield f"the verifier breaks down: {type(error).__name__}: {error}"
        return
    counts[key, judgement.kind, good] += 1
    if good and judgement.kind != TRUE:
        yield f"accepted though {judgement.kind}: {judgement.reason}"
    if not judgement.sound:
        yield f"the specification has a gap: {judgement.reason}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="2,000 mutations")
    options = parser.parse_args(arguments)
    result = run(2000 if options.quick else options.cases, options.seed)
    print(result.text())
    for failure in result.failures:
        print(failure)
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
