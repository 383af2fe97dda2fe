"""Forgeries: valid releases whose certificate is made to claim something false, and then repaired in all that a forger can compute again.

Each forgery changes what is claimed of one release (levels, attackers, weights, what is told, the table itself), and repairs what depends on it:
right-hand sides, objective, status, bound, witnesses, digests, the public files. One or several at a time, each repaired certificate is checked

- against the table (``--table``) and against the job (``--job``), with public files made anew to fit;
- with the release as it was published.

Where a forgery is an open statement to one of these ("levels ignored" is true of the table, and not what the job says), only the others must refuse
it. Not one may be accepted.

    python benchmarks/forgeries.py            100,000 repairs; exits 1 when one is accepted
    python benchmarks/forgeries.py --quick    500
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "oracles"))

from bank import BANK
from fixed_keys import key_of
from results import Report, table, write_section

import cellward as cw
from cellward.audit import verify as checker
from cellward.audit.certificate import expected_of
from cellward.instance import Instance
from cellward.job import Job
from cellward.protect.method import Method
from cellward.recheck import recheck
from cellward.table.sensitivity import Sensitivity

Json = Any
KEY = key_of("forgeries")
TABLE, JOB, RELEASE = "--table", "--job", "the release"
ALL = (TABLE, JOB, RELEASE)
REPAIRS = 100_000


# ---- what is forged ----------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """A release: the table, what it was protected by, its certificate, and what each check expects."""

    name: str
    table: cw.Table
    method: Method
    content: Json
    rows: list[list[str]]
    by_table: Json
    by_job: Json
    instance: Instance

    @staticmethod
    def of(name: str, made: cw.Table, method: Method, attackers: list[cw.Attacker] | None = None) -> Made | None:
        p = method.protect(made, attackers=attackers, key=KEY)
        if not p.releasable:
            return None
        release = p.release()
        labels = [list(row) for row in zip(*release.labels.columns().values(), strict=True)]
        weights = method.default_weights or "equal"
        instance = Instance.of(made, weights=weights, attackers=attackers)
        return Made(
            name, made, method, json.loads(p.certificate().text), labels, expected_of(made),
            expected_of(made, weights=weights, attackers=instance.attackers), instance,
        )  # fmt: skip


def releases() -> list[Made]:
    """Releases of every method, with levels and insiders."""
    rng, found = Random(1), []
    names = ("two_dimensional", "hierarchical", "three_dimensional")
    for name in names:
        made = BANK[name]()
        for k, method in enumerate(
            (
                cw.ControlledRounding(5),
                cw.ControlledRounding(5, knowledge="paper"),
                cw.ControlledRounding(10, max_steps=2),
                cw.CellPerturbation(5, grid=1),
                cw.CellPerturbation(5, grid=1, objective="nearest"),
                cw.CellPerturbation(within=9, grid=1),
                cw.ControlledAdjustment(),
            )
        ):
            for most in (3, 2, 1):
                asked = _with_levels(made, most, rng)
                cells = asked.sensitivity.levels.cell.tolist()
                other = next(i for i in range(made.cells) if i not in cells)
                insider = cw.Attacker.knowing(asked, "insider", exactly=[other])
                attackers = [cw.Attacker.external(), insider] if k % 2 else None
                one = Made.of(f"{method.title}, {name}", asked, method, attackers)
                if one is not None:
                    found.append(one)
                    break
    return found


def _with_levels(made: cw.Table, most: int, rng: Random) -> cw.Table:
    level = np.zeros(made.cells, np.int64)
    some = [i for i in range(made.cells) if int(made.scaled[i]) > 4 and int(made.scaled[i]) % 5]
    for i in rng.sample(some, 2):
        level[i] = most
    return made.with_sensitivity(Sensitivity(made.sensitivity.status, level, level.copy(), np.zeros_like(level)))


# ---- the forgeries -----------------------------------------------------------------------------------------------------------------------------

Forgery = Callable[[Json, Made, Random], Json]


def written_out(x: Json, n: int) -> list[Json]:
    return list(x) if isinstance(x, list) else [x] * n


def as_it_is(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """The true values, called a rounding to base 0."""
    amount = {"base": 0} if c["knowledge"]["rule"] == "rounded" else {"amount": 0}
    told = c["knowledge"] | (amount if c["knowledge"]["rule"] != "adjusted" else {})
    a = c["nominal"]
    return c | {"printed": {"kind": "values", "value": a}, "allowed": {"lo": a, "hi": a, "step": 0}, "target": None, "knowledge": told,
                **no_levels(c)}  # fmt: skip


def at_risk_as_it_is(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """Base 0 in the cells at risk, of which nothing is asked any more."""
    n, key = len(c["nominal"]), {"rounded": "base", "perturbed": "amount"}.get(c["knowledge"]["rule"])
    if key is None:
        return c
    amount, sets = written_out(c["knowledge"][key], n), {k: written_out(v, n) for k, v in c["allowed"].items()}
    value = list(c["printed"]["value"])
    for i in c["levels"]["cell"]:
        amount[i] = sets["step"][i] = 0
        sets["lo"][i] = sets["hi"][i] = value[i] = c["nominal"][i]
    return c | {
        "knowledge": c["knowledge"] | {key: amount},
        "allowed": sets,
        "printed": c["printed"] | {"value": value},
        **no_levels(c),
    }


def no_levels(c: Json) -> Json:  # noqa: ARG001
    return {
        "levels": {"cell": [], "lpl": [], "upl": [], "spl": []},
        "protection": "none asked", "witnesses": [],
        "attackers": [{"name": "external", "whole": False, "cell": [], "lower": None, "upper": None, "levels": None}],
    }  # fmt: skip


def levels_gone(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    return c | no_levels(c)


def levels_lower(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """Each level a little lower, or of one cell less."""
    n = len(c["levels"]["cell"])
    sides = {k: written_out(c["levels"][k], n) for k in ("lpl", "upl", "spl")}
    k = rng.randrange(n)
    if rng.random() < 0.5:
        return c | {
            "levels": {
                "cell": c["levels"]["cell"],
                **sides,
                "lpl": [max(x - (i == k), 0) for i, x in enumerate(sides["lpl"])],
            }
        }
    cell = c["levels"]["cell"][k]
    kept = {
        "cell": [i for i in c["levels"]["cell"] if i != cell],
        **{side: [x for i, x in enumerate(own) if i != k] for side, own in sides.items()},
    }
    covers = [
        w | {"covers": [[at, *(i for i in own if i != cell)] for at, *own in w["covers"]]} for w in c["witnesses"]
    ]
    return c | {"levels": kept, "witnesses": covers}


def only_who_knows(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """One attacker, who knows the cells at risk: nothing is to be shown."""
    cells = c["levels"]["cell"]
    known = [c["nominal"][i] for i in cells]
    one = {"name": "insider", "whole": False, "cell": cells, "lower": known, "upper": known, "levels": None}
    return c | {"attackers": [one], "witnesses": []}


def who_is_asked_nothing(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """Attackers with no levels of their own."""
    none = {"cell": [], "lpl": [], "upl": [], "spl": []}
    asked = rng.choice(("none asked", "shown"))
    return c | {"attackers": [one | {"levels": none} for one in c["attackers"]], "witnesses": [], "protection": asked}


def fewer_attackers(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """Without the insider."""
    if len(c["attackers"]) < 2:
        return c
    covers = [w | {"covers": [own for own in w["covers"] if own[0] == 0]} for w in c["witnesses"]]
    return c | {"attackers": c["attackers"][:1], "witnesses": covers}


def weights_nothing(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    return c | {"weight": 0, "status": "optimal"}


def weights_other(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    weight = written_out(c["weight"], len(c["nominal"]))
    free = [i for i, x in enumerate(weight) if x]
    more = {i: rng.randint(1, 4) for i in rng.sample(free, min(3, len(free)))}
    return c | {"weight": [x + more.get(i, 0) for i, x in enumerate(weight)]}


def aims_at_itself(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """What is printed was what was sought: nothing could be nearer."""
    return c | {"target": c["printed"]["value"], "status": "optimal"}


def nothing_else_allowed(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """Not of adjustments and distances, whose certificates state openly what was allowed."""
    if c["knowledge"]["rule"] == "adjusted" or c["knowledge"].get("form") == "distance":
        return c
    v = c["printed"]["value"]
    return c | {"allowed": {"lo": v, "hi": v, "step": 0}, "status": "optimal"}


def told_less(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """A base a hundred times as large, in what is told; a distance can be stated larger, see the larger base."""
    if c["knowledge"].get("form") == "distance":
        return c
    key = {"rounded": "base", "perturbed": "amount", "adjusted": "most"}[c["knowledge"]["rule"]]
    own = c["knowledge"][key]
    more = 1000 if own is None else [x * 100 for x in own] if isinstance(own, list) else own * 100
    return c | {"knowledge": c["knowledge"] | {key: more}}


def told_nothing(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """The rule of an adjustment, under which hardly anything is told."""
    rule = {"rule": "adjusted", "most": rng.choice((None, 10**6))}
    return c if rule["most"] is None and c["knowledge"]["rule"] == "adjusted" else c | {"knowledge": rule}


def all_withheld(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """Nothing is printed at all, it says: true of the table, and not of this release."""
    n, rule = len(c["nominal"]), rng.choice(("suppressed", "interval"))
    printed: Json = {"kind": "withheld", "value": [None] * n}
    if rule == "interval":
        printed = {"kind": "ranges", "lower": [None] * n, "upper": [None] * n}
    return c | {"knowledge": {"rule": rule}, "printed": printed, "allowed": None, "target": None}


def another_name(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """A method that nobody knows, and a rule that tells hardly anything."""
    rule = rng.choice(({"rule": "adjusted", "most": None}, {"rule": "adjusted", "most": 10**6}))
    return c | {"method": {"name": "by hand", "tells": rule}, "knowledge": rule}


def more_steps(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """A rounding that may have gone further than it did, so that less is told."""
    if c["knowledge"]["rule"] != "rounded":
        return c
    steps = c["method"]["steps"] + rng.randint(2, 9)
    return c | {"method": c["method"] | {"steps": steps}, "knowledge": c["knowledge"] | {"steps": steps}}


def another_base(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """A larger base in method and knowledge."""
    rule = c["knowledge"]["rule"]
    key = {"rounded": "base", "perturbed": "amount"}.get(rule)
    if key is None:
        return c
    times = rng.choice((2, 5))
    own = c["knowledge"][key]
    stated = "within" if "within" in c["method"] else "base"
    grown = [x * times for x in own] if isinstance(own, list) else own * times
    text = c["method"][stated]
    texts = [str(int(x) * times) for x in text] if isinstance(text, list) else str(int(text) * times)
    step = c["allowed"]["step"] if rule == "perturbed" else grown
    return c | {
        "knowledge": c["knowledge"] | {key: grown},
        "method": c["method"] | {stated: texts},
        "allowed": c["allowed"] | {"step": step},
    }


def bounds_wider(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """The public knows less than it does."""
    return c | rng.choice(({"lower": None}, {"upper": [x + 10**6 for x in c["nominal"]]}, {"lower": -(10**6)}))


def another_table(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """True values moved along a witness, or the whole table by a unit in a cell, which is then repaired."""
    a = list(c["nominal"])
    k = rng.randrange(len(a))
    a[k] += rng.choice((-1, 1, 5))
    return c | {"nominal": a}


def equations_gone(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """An equation that the public knows is left out: attackers can do less."""
    e = c["equations"]
    k, start = rng.randrange(len(e["length"])), 0
    start = sum(e["length"][:k])
    end = start + e["length"][k]
    coef, rhs = written_out(e["coef"], len(e["cell"])), written_out(e["rhs"], len(e["length"]))
    cut = {"length": e["length"][:k] + e["length"][k + 1 :], "cell": e["cell"][:start] + e["cell"][end:], "coef": coef[:start] + coef[end:],
           "rhs": rhs[:k] + rhs[k + 1 :]}  # fmt: skip
    kept = [
        (j - (j > k), i) for j, i in zip(c["definitions"]["equation"], c["definitions"]["cell"], strict=True) if j != k
    ]
    return c | {"equations": cut, "definitions": {"equation": [j for j, _ in kept], "cell": [i for _, i in kept]}}


def labels_with_the_truth(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """A column true_value among the labels."""
    rows = [[*own, str(a)] for own, a in zip(made.rows, c["nominal"], strict=True)]
    return c | {"labels": {"column": [*c["labels"]["column"], "true_value"], "sha256": labels_digest(rows)}}


def labels_rotated(c: Json, made: Made, rng: Random) -> Json:
    k = rng.randrange(1, len(made.rows))
    return c | {"labels": c["labels"] | {"sha256": labels_digest(made.rows[k:] + made.rows[:k])}}


def labels_twice(c: Json, made: Made, rng: Random) -> Json:
    i, j = rng.sample(range(len(made.rows)), 2)
    rows = [made.rows[j] if k == i else own for k, own in enumerate(made.rows)]
    return c | {"labels": c["labels"] | {"sha256": labels_digest(rows)}}


def sums_of_nothing(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """A certificate of sums that nobody asked for."""
    return c | {"sums": hashlib.sha256(str(rng.random()).encode()).hexdigest()}


def ignored(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    """Openly without a look at the levels: true of the table, and not what the job says."""
    return c | {"protection": "ignored", "witnesses": []}


def another_decimal(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    return c | {"decimals": c["decimals"] + rng.choice((1, 2))}


def salted_anew(c: Json, made: Made, rng: Random) -> Json:  # noqa: ARG001
    return c | {"salt": f"{rng.getrandbits(256):064x}"}


FORGERIES: dict[str, tuple[Forgery, tuple[str, ...]]] = {
    "the table as it is, called a rounding to base 0": (as_it_is, ALL),
    "base 0 in the cells at risk": (at_risk_as_it_is, ALL),
    "levels left out": (levels_gone, ALL),
    "levels lowered": (levels_lower, ALL),
    "only attackers who know the cells at risk": (only_who_knows, ALL),
    "attackers of whom nothing is asked": (who_is_asked_nothing, ALL),
    "an insider left out": (fewer_attackers, (JOB, RELEASE)),
    "weights 0, called optimal": (weights_nothing, ALL),
    "other weights": (weights_other, ALL),
    "the target is what is printed, called optimal": (aims_at_itself, ALL),
    "nothing else was allowed, called optimal": (nothing_else_allowed, (JOB, RELEASE)),
    "knowledge of a base a hundred times as large": (told_less, ALL),
    "knowledge of another rule": (told_nothing, ALL),
    "everything withheld": (all_withheld, (JOB, RELEASE)),
    "a method of another name that tells nothing": (another_name, (JOB, RELEASE)),
    "more steps than were allowed": (more_steps, (JOB, RELEASE)),
    "a larger base in method and knowledge": (another_base, (JOB, RELEASE)),
    "wider public bounds": (bounds_wider, ALL),
    "other true values": (another_table, ALL),
    "an equation left out": (equations_gone, ALL),
    "a column true_value among the labels": (labels_with_the_truth, ALL),
    "rotated labels": (labels_rotated, ALL),
    "a label twice": (labels_twice, ALL),
    "a certificate of sums from nowhere": (sums_of_nothing, ALL),
    "levels openly ignored": (ignored, (JOB, RELEASE)),
    "other decimals": (another_decimal, ALL),
    "another salt": (salted_anew, (JOB, RELEASE)),
}
"""Each forgery, and which checks must refuse it."""
OTHERWISE = {
    "the target is what is printed, called optimal", "nothing else was allowed, called optimal", "knowledge of a base a hundred times as large",
    "knowledge of another rule", "more steps than were allowed", "a larger base in method and knowledge",
}  # fmt: skip
REPLACED = {
    "a method of another name that tells nothing": OTHERWISE,
    "everything withheld": OTHERWISE,
    "levels openly ignored": {"only attackers who know the cells at risk", "attackers of whom nothing is asked"},
}
"""Of what there is nothing left beside a forgery."""


# ---- repairs -----------------------------------------------------------------------------------------------------------------------------------


def labels_digest(rows: list[list[str]]) -> str:
    return hashlib.sha256(json.dumps(rows, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def repaired(c: Json, rng: Random) -> Json:
    """What follows from the rest, computed again: right-hand sides, objective, status, bound, what the method tells, witnesses as far as they go."""
    out = dict(c)
    e, a, n = c["equations"], c["nominal"], len(c["nominal"])
    coef, at, rhs = written_out(e["coef"], len(e["cell"])), 0, []
    for size in e["length"]:
        rhs.append(sum(coef[k] * a[e["cell"][k]] for k in range(at, at + size)))
        at += size
    out["equations"] = e | {
        "rhs": rhs
        if any(rhs)
        else written_out(e["rhs"], len(rhs))[0]
        if not any(rhs) and not isinstance(e["rhs"], list)
        else rhs
    }
    out["bound"] = checker.NO_BOUND
    weight = written_out(c["weight"], n)
    if c["printed"]["kind"] == "values":
        target = c["target"] or a
        out["objective"] = sum(w * abs(v - t) for w, v, t in zip(weight, c["printed"]["value"], target, strict=True))
        if not out["objective"] and rng.random() < 0.7:  # nothing costs less than nothing
            root = {"kind": "dual", "denominator": 1, "equation": [], "multiplier": []}
            out |= {"bound": checker.NO_BOUND | {"value": "0", "tree": [root]}, "status": "optimal"}
    elif c["printed"]["kind"] == "withheld":
        out["objective"] = sum(w for w, v in zip(weight, c["printed"]["value"], strict=True) if v is None)
    else:
        out["objective"] = None
    if out["method"].get("name") == "by hand":
        out["method"] = out["method"] | {"tells": out["knowledge"]}
    if out["protection"] == "shown" and not out["levels"]["cell"]:
        out |= {"protection": "none asked", "witnesses": []}
    return out if rng.random() < 0.5 else restated(out)


def restated(c: Json) -> Json:
    """The method says what is told."""
    told, method = c["knowledge"], dict(c["method"])
    if "kind" in told and method["name"] in checker.RULES:
        amount = told.get("base", told.get("amount"))
        key = "within" if told.get("form") == "distance" else "base"
        method = {name: entry for name, entry in method.items() if name not in ("base", "within")}
        method |= {
            key: [str(x) for x in amount] if isinstance(amount, list) else str(amount),
            "knowledge": told["kind"],
        }
    elif told["rule"] in ("suppressed", "interval"):
        method["name"] = {"suppressed": "cell suppression", "interval": "interval publication"}[told["rule"]]
    return c | {"method": method}


# ---- the checks --------------------------------------------------------------------------------------------------------------------------------


def accepted(made: Made, c: Json, check: str) -> bool:
    """Whether a check accepts a forged certificate, whose public files fit it unless they were published before."""
    try:
        if check == TABLE:
            checker.check(c, expected=made.by_table)
            return True
        if check == JOB:
            checker.check(c, expected=made.by_job)
            own = made.method.agrees(c["method"], made.instance)
            return own and c["protection"] != "ignored" and c["salt"] == made.content["salt"]
        verdict = checker.check(c, checker._digest(c))
        checker.compare_release(release_csv(made.content, made.rows), c)
        checker.compare_statement(statement(made.content), c, verdict.digest)
    except checker.Refused:
        return False
    return True


def release_csv(c: Json, rows: list[list[str]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*c["labels"]["column"], "value"])
    places = c["decimals"]
    writer.writerows([*own, checker._decimal(v, places)] for own, v in zip(rows, c["printed"]["value"], strict=True))
    return out.getvalue().encode()


def statement(c: Json) -> bytes:
    said = {
        "method": c["method"],
        "decimals": c["decimals"],
        "printed": c["printed"]["kind"],
        "certificate": checker._digest(c),
    }
    return json.dumps(said).encode()


def forged(all_made: list[Made], repairs: int, seed: int) -> Iterator[tuple[str, Made, Json, set[str]]]:
    """Forged and repaired certificates, each with the forgeries in words and the checks that must refuse it."""
    rng = Random(seed)
    names = list(FORGERIES)
    for k in range(repairs):
        made = all_made[k % len(all_made)]
        chosen = [names[(k // len(all_made)) % len(names)], *rng.sample(names, rng.choice((0, 0, 1, 2)))]
        content, done, must = made.content, [], set[str]()
        gone = set().union(*(REPLACED.get(name, set()) for name in chosen))
        chosen = [name for name in chosen if name not in gone]
        for name in dict.fromkeys(chosen):
            forgery, checks = FORGERIES[name]
            try:
                other = forgery(content, made, rng)
            except (KeyError, IndexError, ValueError, TypeError):  # it does not go with the one before
                continue
            if other != content:
                content = other
                done.append(name)
                must |= set(checks)
        if not done:
            continue
        try:
            content = repaired(content, rng) if rng.random() < 0.9 else content
        except (KeyError, IndexError, ValueError, TypeError):
            continue
        if content != made.content:
            yield " + ".join(done), made, content, must


# ---- release.csv, and a job on the disk --------------------------------------------------------------------------------------------------------


def releases_forged(made: Made) -> Iterator[tuple[str, bytes]]:
    """release.csv with something else in it, beside the certificate as it is."""
    right = release_csv(made.content, made.rows).decode()
    head, *rows = right.splitlines()
    truth = [str(a) for a in made.content["nominal"]]
    yield (
        "an inserted column true_value",
        "\n".join([f"{head},true_value", *(f"{x},{a}" for x, a in zip(rows, truth, strict=True)), ""]).encode(),
    )
    yield (
        "rotated labels",
        "\n".join(
            [
                head,
                *(
                    f"{x.rpartition(',')[0]},{y.rpartition(',')[2]}"
                    for x, y in zip(rows[1:] + rows[:1], rows, strict=True)
                ),
                "",
            ]
        ).encode(),
    )
    yield "a row twice", "\n".join([head, *rows, rows[0], ""]).encode()
    yield (
        "a label twice",
        "\n".join([head, f"{rows[1].rpartition(',')[0]},{rows[0].rpartition(',')[2]}", *rows[1:], ""]).encode(),
    )
    yield "a row less", "\n".join([head, *rows[:-1], ""]).encode()
    yield "rows in another order", "\n".join([head, *reversed(rows), ""]).encode()
    yield "UTF-16", right.encode("utf-16")
    yield "a byte order mark", b"\xef\xbb\xbf" + right.encode()
    yield "semicolons", right.replace(",", ";").encode()


JOB_FILE = """[input]
file = "records.csv"
[roles]
dims = ["region", "kind"]
measure = "x"
contributor = "firm"
[risk]
policy = "default"
[method]
name = "round"
base = 50
max_steps = 3
[output]
folder = "out"
"""


def on_disk(folder: Path) -> tuple[int, list[str]]:
    """A job carried out, its folder forged in every way and all hashes of its manifest repaired: how many, and those that the job accepts."""
    rng = Random(3)
    rows = [f"f{k},{rng.choice('NSEW')},{rng.choice('abc')},{rng.randint(1, 300)}" for k in range(60)]
    (folder / "records.csv").write_text("\n".join(["firm,region,kind,x", *rows]) + "\n")
    (folder / "job.toml").write_text(JOB_FILE)
    job = Job.read(folder / "job.toml")
    made = job.table()
    p = job.protect(made)
    job.write(made, p)
    out = folder / "out"
    first = recheck(job, out)
    if not first:
        return 0, [f"the release as it was made: {first.reason}"]
    labels = [list(row) for row in zip(*p.release().labels.columns().values(), strict=True)]
    content = json.loads(p.certificate().text)
    one = Made("a job", made, p, content, labels, {}, {}, p.instance)  # type: ignore[arg-type]
    count, failures = 0, []
    for name, (forgery, _) in FORGERIES.items():
        for _ in range(3):
            other = forgery(content, one, rng)
            if other == content or name == "another salt":  # a job without a key draws one
                continue
            count += 1
            rewrite(out, repaired(other, rng), labels)
            if recheck(job, out):
                failures.append(f"a job on the disk accepts: {name}")
    return count, failures


def rewrite(out: Path, c: Json, labels: list[list[str]]) -> None:
    """The folder with this certificate, public files that fit it, and a manifest that names them."""
    text = json.dumps(c, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    (out / "certificate.json.gz").write_bytes(gzip.compress(text, mtime=0))
    (out / "release.json").write_bytes(statement(c))
    if c["printed"]["kind"] == "values":
        (out / "release.csv").write_bytes(release_csv(c, labels))
    held = json.loads((out / "manifest.json").read_text())
    held["outputs"] = {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in held["outputs"]}
    (out / "manifest.json").write_text(json.dumps(held))


# ---- the run -----------------------------------------------------------------------------------------------------------------------------------


def run(repairs: int, seed: int) -> tuple[Report, str]:
    report, began = Report(), time.process_time()
    made = releases()
    for one in made:
        sound = all(accepted(one, one.content, check) for check in ALL)
        report.require(sound, f"a valid release of {one.name} is refused")
        for name, data in releases_forged(one):
            try:
                checker.compare_release(data, one.content)
                report.require(False, f"release.csv of {one.name} is accepted with {name}")
            except checker.Refused:
                pass
    tried, wrong = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for name, one, content, must in forged(made, repairs, seed):
        first = name.split(" + ")[0]
        for check in must:
            tried[first, check] += 1
            if accepted(one, content, check):
                wrong[first, check] += 1
                report.require(False, f"{one.name}: accepted under {check}: {name}")
    with tempfile.TemporaryDirectory() as folder:
        jobs, failures = on_disk(Path(folder))
    for failure in failures:
        report.require(False, failure)
    rows: list[list[object]] = [
        [
            name,
            *(f"{tried[name, check]:,}" if tried[name, check] else "" for check in ALL),
            sum(wrong[name, check] for check in ALL),
        ]
        for name in FORGERIES
    ]
    rows.append(["all", *(f"{sum(tried[name, check] for name in FORGERIES):,}" for check in ALL), sum(wrong.values())])
    words = (
        f"{repairs:,} forged and repaired certificates of {len(made)} releases, {sum(tried.values()):,} checks, "
        f"{len(made) * 9} forged release.csv and {jobs} folders of a job on the disk: {len(report.short)} accepted."
    )
    report.add(words)
    report.add(
        table(["forgery (the first of up to three)", *(f"refused by {check}" for check in ALL), "accepted"], rows)
    )
    print(f"{time.process_time() - began:.0f} s of processor time")
    return report, words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repairs", type=int, default=REPAIRS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    report, words = run(500 if options.quick else options.repairs, options.seed)
    if not options.quick:
        write_section("forgeries.py", "Forged certificates", "\n\n".join([report.verdict, *report.sections]))
    print(words)
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
