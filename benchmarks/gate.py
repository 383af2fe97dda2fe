"""The gate: random tables, records and options through every method, route and writer, each release attacked by an outsider; 1 on any break.

python benchmarks/gate.py                    10,000 cases, its section of RESULTS.md
python benchmarks/gate.py --quick            200 cases, nothing written
python benchmarks/gate.py --case 1234        one case: what it is, what came of it, what is broken
python benchmarks/gate.py --cases 1000 --start 5000
python benchmarks/gate.py --cases 1000 --start 1000000      suppressions of the same tables and records

The outsider (tests/oracles/outsider.py) shares nothing with the package: it reads release.csv, release.json and τ-ARGUS' outputs by itself, puts
up the equations from the codes, reads what a release tells out of the documentation, and solves its own linear and integer programs. Broken is a
case where a cell at risk is exactly disclosed or published as it is, a level does not hold that the certificate claims, less is claimed than was
asked, the published table does not add up, or an error is no sentence of ours. A case that is refused in a sentence is no break; sentences are
counted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import results
from gate_routes import Out, Refused, run, without_particulars
from outsider import Attack, Secret, attack
from outsider_reading import UnreadableError
from random_gate_cases import GateCase, random_gate_case, suppressed_case

from cellward.errors import CellwardError

CASES, QUICK = 10_000, 200
SUPPRESSED = 1_000_000
"""Seeds from here on are those of the cases below with a suppression in place of their method."""
SHOWN = 40
"""Broken cases and refusals that are printed."""


@dataclass
class Seen:
    """What came of many cases."""

    state: Counter[str] = field(default_factory=Counter)
    by: Counter[tuple[str, str]] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, list[int]] = field(default_factory=dict)
    """The seeds of every kind of break."""
    writers: Counter[str] = field(default_factory=Counter)
    count: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def one(seed: int, *, tell: bool = False) -> tuple[GateCase, str, list[tuple[str, str]], Out | None, Attack | None]:
    """A case and what came of it: its state, and what is broken as kinds and words (or the sentence by which it was refused)."""
    case = suppressed_case(seed - SUPPRESSED) if seed >= SUPPRESSED else random_gate_case(seed)
    with tempfile.TemporaryDirectory(prefix="gate-") as folder:
        try:
            out = run(case, Path(folder))
        except (Refused, CellwardError) as error:
            return case, "refused", [(type(error).__name__, str(error))], None, None
        except UnreadableError as error:
            return case, "broken", [("files are not as documented", str(error))], None, None
        except Exception as error:  # noqa: BLE001 (whatever is no sentence of ours is what we look for)
            if tell:
                traceback.print_exc()
            return case, "broken", [("an error that is no sentence", f"{type(error).__name__}: {error}")], None, None
    found = attack(case.public, out.published, out.claim, _known(case, out))
    wrong = [(words.split(" '")[0], words) for words in out.wrong]
    wrong += [(b.kind, f"{b.cell}: {b.words}") for b in found.breaks]
    return case, "broken" if wrong else "released", wrong, out, found


def _known(case: GateCase, out: Out) -> Secret:
    """The truth, with the empty combinations that a table of records may have a row for unless told otherwise."""
    if case.records is None or case.records.empty is not None:
        return case.secret
    more = {codes: Fraction(0) for codes in out.published.values if codes not in case.secret.truth}
    return replace(case.secret, truth={**case.secret.truth, **more})


def look(seeds: Iterable[int]) -> Seen:
    """Many cases."""
    seen, began = Seen(), time.perf_counter()
    for done, seed in enumerate(seeds, start=1):
        case, state, words, out, found = one(seed)
        seen.state[state] += 1
        seen.by[f"{case.method}", state] += 1
        seen.by[f"{case.source}, {case.route}", state] += 1
        if state == "refused":
            seen.refusals[without_particulars(words[0][1])] += 1
        if out is not None:
            seen.writers.update(out.writers)
        if found is not None:
            seen.count.update(
                {"cells at risk": found.looked_at, "claimed levels": found.levels, "known anyway": found.known_anyway}
            )
        if state == "broken":
            for kind in dict.fromkeys(f"{case.method}: {kind}{_remark(case, kind)}" for kind, _ in words):
                seen.kinds.setdefault(kind, []).append(seed)
            seen.broken.append(f"--case {seed}: {described(case)}: {words[0][0]}, {words[0][1]}")
        if done % 500 == 0:
            print(f"{done:,} cases in {time.perf_counter() - began:.0f} s: {dict(seen.state)}", flush=True)
    return seen


def _remark(case: GateCase, kind: str) -> str:
    """What makes a break one of a kind."""
    options = case.options
    if options.get("ignore_levels"):
        return ", levels ignored"
    if kind in ("exactly disclosed", "published as it is"):
        bare = not any(map(any, case.secret.at_risk.values()))
        base = ", base 1" if options.get("base") == 1 else ""
        return f"{base}{', no levels' if bare else ''}"
    if case.public.counts and case.public.rows != "all":
        return ", rows tell"
    return ""


def described(case: GateCase) -> str:
    """A case in a line."""
    options = ", ".join(f"{name}={value}" for name, value in case.options.items())
    return f"{case.source} by {case.route}, {case.method} {options}"


def written(seen: Seen, seconds: float) -> str:
    """The figures in words and tables."""
    cases = sum(seen.state.values())
    parts = [
        f"{cases:,} cases in {seconds:.0f} s of one core: {seen.state['released']:,} released and not broken, {seen.state['refused']:,} refused in a "
        f"sentence, **{seen.state['broken']:,} broken**. The outsider looked at {seen.count['cells at risk']:,} cells at risk and "
        f"{seen.count['claimed levels']:,} claimed levels ({seen.count['known anyway']:,} cells were known to anyone before)."
    ]
    groups = list(dict.fromkeys(group for group, _ in seen.by))
    rows: list[list[object]] = [
        [group, *(f"{seen.by[group, state]:,}" for state in ("released", "refused", "broken"))]
        for group in sorted(groups)
    ]
    parts.append(results.table(["method, or source and route", "released", "refused", "broken"], rows))
    if seen.kinds:
        most = sorted(seen.kinds.items(), key=lambda own: -len(own[1]))
        kinds: list[list[object]] = [[kind, f"{len(own):,}", ", ".join(map(str, own[:5]))] for kind, own in most]
        parts.append(results.table(["broken", "cases", "such as --case"], kinds))
    parts.append(results.table(["written and read", "cases"], [[w, f"{c:,}"] for w, c in seen.writers.most_common()]))
    said: list[list[object]] = [[s.replace("|", "/"), f"{c:,}"] for s, c in seen.refusals.most_common(SHOWN)]
    parts.append(results.table(["refused, names and numbers left out", "cases"], said))
    return "\n\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} cases, nothing is written")
    parser.add_argument("--cases", type=int, help=f"so many cases, nothing is written (default {CASES:,}, written)")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--case", type=int, help="one case by its seed, in full")
    options = parser.parse_args()
    if options.case is not None:
        return show(options.case)
    many = options.cases or (QUICK if options.quick else CASES)
    began = time.process_time()
    seen = look(range(options.start, options.start + many))
    body = written(seen, time.process_time() - began)
    print(body)
    for line in seen.broken[:SHOWN]:
        print(line)
    if not options.quick and options.cases is None:
        broken = "\n".join(f"- `{line}`" for line in seen.broken[:SHOWN])
        verdict = "**Everything holds.**" if not seen.broken else f"**Falls short:** {len(seen.broken):,} broken cases"
        results.write_section("gate.py", "The gate", "\n\n".join([verdict, body, broken]))
    return 1 if seen.broken else 0


def show(seed: int) -> int:
    """One case in full."""
    case, state, words, out, found = one(seed, tell=True)
    print(described(case), f"weights={case.weights}" if case.weights else "")
    print("public:", case.public)
    if case.records is not None:
        print("rules:", case.records.rules, "empty:", case.records.empty, "insiders:", case.records.insiders)
    for codes, a in case.secret.truth.items():
        levels = case.secret.at_risk.get(codes)
        mark = "" if levels is None else f"  at risk {tuple(map(str, levels))}"
        v = "" if out is None or codes not in out.published.values else f" → {float(out.published.values[codes]):g}"
        print(f"  {codes}: {float(a):g}{v}{mark}{'  fixed' if codes in case.secret.fixed else ''}")
    if out is not None:
        print("stated:", dict(out.published.method))
        if out.claim is not None:
            print("claimed:", "levels shown" if out.claim.shown else "nothing", [a.name for a in out.claim.attackers])
    if found is not None:
        print(f"{found.looked_at} cells at risk and {found.levels} claimed levels looked at")
    print(state)
    for kind, said in words:
        print(f"  {kind}: {said}")
    return 1 if state == "broken" else 0


if __name__ == "__main__":
    sys.exit(main())
