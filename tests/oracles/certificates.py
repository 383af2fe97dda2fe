"""Certificates made by hand, and a second, slow reading of docs/certificate.md to compare the verifier with.

The oracle goes through sets element by element and keeps every number as it stands in the page, so that it shares no idea with ``audit/verify.py``.
"""

import copy
import csv
import gzip
import hashlib
import io
import itertools
import json
import re
from fractions import Fraction
from pathlib import Path

SALT = "0123456789abcdef" * 4
NO_LEVELS = {"cell": [], "lpl": 0, "upl": 0, "spl": 0}
NO_BOUND = {"value": None, "unit": {"size": 1, "equation": [], "multiplier": []}, "tree": []}
PUBLIC = {"name": "public", "whole": False, "cell": [], "lower": None, "upper": None, "levels": None}


def labelled(columns, rows):
    """The entry on labels: their names, and what the rows hash to."""
    text = json.dumps([list(row) for row in rows], separators=(",", ":"), ensure_ascii=False)
    return {"column": list(columns), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def values(*v):
    """An additive vector as it is printed."""
    return {"kind": "values", "value": list(v)}


def withheld(*v):
    """True values, None where they are withheld."""
    return {"kind": "withheld", "value": list(v)}


def ranges(lower, upper):
    """A range for each cell, None where it is open."""
    return {"kind": "ranges", "lower": list(lower), "upper": list(upper)}


# ---- a 3×3 table with margins, row by row: 20 50 10 80 / 8 19 22 49 / 17 32 12 61 / 45 101 44 190 ------------------------------------------

_ROWS = [[4 * r, 4 * r + 1, 4 * r + 2, 4 * r + 3] for r in range(4)]
_COLUMNS = [[c, c + 4, c + 8, c + 12] for c in range(4)]
GRID = [(r, c) for r in ("north", "mid, or so", "south\nof it", "all") for c in ("x", "ÿ", '"z"', "all")]
THREE = [("x",), ("y",), ("x and y",)]
_NOMINAL = [20, 50, 10, 80, 8, 19, 22, 49, 17, 32, 12, 61, 45, 101, 44, 190]


def rounding(kind="strict"):
    """Rounded to base 5 at the least cost, 16; two witnesses move a cycle, one moves a cell and its margins; two attackers."""
    up, down = [2, -2, -2, 2], [-2, 2, 2, -2]
    covers = [[0, 4, 5], [1, 8, 9]]
    witnesses = [
        {"denominator": 1, "leaf": [4, 5, 8, 9], "difference": up, "covers": covers},
        {"denominator": 1, "leaf": [4, 5, 8, 9], "difference": down, "covers": covers},
        {"denominator": 1, "leaf": [10], "difference": [2], "covers": [[0, 11]]},
        {"denominator": 1, "leaf": [10], "difference": [-1], "covers": [[0, 11]]},
    ]
    if (
        kind == "paper"
    ):  # rational tables; the margins that are multiples do not move there, so cell 11 moves along a cycle with halves
        witnesses[0] |= {"denominator": 2, "difference": [5, -5, -5, 5], "covers": [[0, 4, 5]]}
        witnesses[2] = {"denominator": 2, "leaf": [6, 10], "difference": [-3, 3], "covers": [[0, 11]]}
        witnesses[3] = {"denominator": 2, "leaf": [6, 10], "difference": [3, -3], "covers": [[0, 11]]}
        witnesses.insert(1, {"denominator": 1, "leaf": [4, 5, 8, 9], "difference": up, "covers": [[1, 8, 9]]})
    levels = {"cell": [4, 5, 6, 11], "lpl": [2, 2, 0, 1], "upl": [2, 2, 0, 1], "spl": [4, 0, 0, 3]}
    own = {"cell": [8, 9, 10], "lpl": 2, "upl": [2, 0, 3], "spl": [0, 4, 0]}
    insider = {"name": "insider", "whole": True, "cell": [5, 10], "lower": [None, 12], "upper": [22, 12], "levels": own}
    return {
        "format": "cellward certificate",
        "version": 5,
        "salt": SALT,
        "method": {"name": "controlled rounding", "base": "5", "steps": 1, "knowledge": kind},
        "decimals": 0,
        "weight_decimals": 0,
        "labels": labelled(("region", "kind"), GRID),
        "equations": {
            "length": [4] * 8,
            "rhs": 0,
            "cell": [i for row in _ROWS + _COLUMNS for i in row],
            "coef": [1, 1, 1, -1] * 8,
        },
        "nominal": _NOMINAL.copy(),
        "lower": 0,
        "upper": [None] * 15 + [200],
        "printed": values(20, 50, 10, 80, 10, 20, 20, 50, 15, 30, 15, 60, 45, 100, 45, 190),
        "allowed": {"lo": [a // 5 * 5 for a in _NOMINAL], "hi": [-(-a // 5) * 5 for a in _NOMINAL], "step": 5},
        "weight": 1,
        "target": None,
        "objective": 16,
        "knowledge": {"rule": "rounded", "kind": kind, "base": 5, "steps": 1},
        "protection": "shown",
        "levels": levels,
        "attackers": [copy.deepcopy(PUBLIC), insider],
        "definitions": {"equation": [0, 1, 2, 4, 5, 6, 3], "cell": [3, 7, 11, 12, 13, 14, 15]},
        "witnesses": witnesses,
        "bound": {
            "value": "16",
            "unit": {"size": 2, "equation": [0, 1, 2, 3], "multiplier": [1, 1, 1, 1]},
            "tree": [
                {"kind": "dual", "denominator": 5, "equation": [3, 4, 5, 6, 7], "multiplier": [4, -1, 1, 1, -3]},
            ],
        },
        "status": "optimal",
        "engine": "by hand",
        "sums": None,
    }


# ---- 2x + 2y + z = 5 with even x and y and odd z, true values 2, 2, −3 ---------------------------------------------------------------------


def _leaf(kind, denominator, *multiplier):
    return {"kind": kind, "denominator": denominator, "equation": [0] * len(multiplier), "multiplier": list(multiplier)}


def searched():
    """Published 2, 0, 1 at cost 6; a tree with every kind of leaf proves 11/2, and costs are even."""
    knowledge = {"rule": "adjusted", "most": [2, 3, 8]}
    return {
        **rounding(),
        "method": {"name": "by hand", "tells": knowledge},
        "decimals": 1,
        "labels": labelled(["part"], THREE),
        "equations": {"length": [3], "rhs": [5], "cell": [0, 1, 2], "coef": [2, 2, 1]},
        "nominal": [2, 2, -3],
        "lower": None,
        "upper": None,
        "printed": values(2, 0, 1),
        "allowed": {"lo": [0, 0, 1], "hi": [5, 4, 5], "step": 2},
        "objective": 6,
        "knowledge": knowledge,
        "protection": "ignored",
        "levels": {"cell": [0, 2], "lpl": [0, 1], "upl": 0, "spl": 0},
        "attackers": [copy.deepcopy(PUBLIC)],
        "definitions": {"equation": [0], "cell": [2]},
        "witnesses": [],
        "bound": {
            "value": "6",
            "unit": {"size": 2, "equation": [0], "multiplier": [3]},
            "tree": [
                {"cell": 2, "at": 2},
                {"cell": 0, "at": 3},
                _leaf("dual", 8, -3),
                _leaf("farkas", 2, -1),
                {"cell": 2, "at": 3},
                _leaf("modular", 4, 1),
                {"cell": 2, "at": 5},
                _leaf("dual", 1),
                _leaf("farkas", 1),
            ],
        },
        "status": "feasible",
    }


def aimed():
    """The same with another aim, which 0, 2, 1 meets best: it costs 3, as the same tree proves."""
    content = {**searched(), "target": [1, 3, 0], "printed": values(0, 2, 1), "objective": 3}
    return {**content, "bound": {**content["bound"], "value": "3"}}


def infeasible():
    """The same where z can only be 3: there is no table, modulo 4."""
    return {
        **searched(),
        "printed": None,
        "objective": None,
        "allowed": {"lo": [0, 0, 3], "hi": [4, 4, 3], "step": [2, 2, 0]},
        "bound": {**NO_BOUND, "value": "infeasible", "tree": [_leaf("modular", 4, 1)]},
        "status": "infeasible",
    }


# ---- x + y = t, true values 7, 9, 16, under each rule of knowledge ---------------------------------------------------------------------------


def told(knowledge, published, up, down, *, denominator=1, **changes):
    """One attacker, all that can be shown of x is asked for; one witness moves (x, y) up, one moves them down, both as far as the box allows."""
    witnesses = [
        {
            "denominator": denominator,
            "leaf": [i for i in (0, 1) if move[i]],
            "difference": [x for x in move if x],
            "covers": [[0, 0]],
        }
        for move in (up, down)
        if any(move)
    ]
    levels = {
        "cell": [0],
        "lpl": -down[0] // denominator,
        "upl": up[0] // denominator,
        "spl": (up[0] - down[0]) // denominator,
    }
    return {
        **rounding(),
        "method": {"name": "by hand", "tells": knowledge},
        "weight_decimals": 1,
        "labels": labelled(["part"], THREE),
        "equations": {"length": [3], "rhs": 0, "cell": [0, 1, 2], "coef": [1, 1, -1]},
        "nominal": [7, 9, 16],
        "lower": None,
        "upper": None,
        "printed": values(*published),
        "allowed": {"lo": 0, "hi": 30, "step": 1},
        "weight": [1, 2, 3],
        "objective": sum(w * abs(v - a) for w, v, a in zip([1, 2, 3], published, [7, 9, 16], strict=True)),
        "knowledge": knowledge,
        "levels": levels,
        "attackers": [copy.deepcopy(PUBLIC)],
        "definitions": {"equation": [0], "cell": [2]},
        "witnesses": witnesses,
        "bound": copy.deepcopy(NO_BOUND),
        **changes,
    }


def _rounded(kind, steps, base):
    return {"rule": "rounded", "kind": kind, "base": base, "steps": steps}


def _moved(leaf, difference):
    return {"denominator": 1, "leaf": [leaf], "difference": [difference], "covers": [[0, leaf]]}


def _perturbed(form, kind, amount):
    return {"rule": "perturbed", "kind": kind, "form": form, "amount": amount}


def spared(small, nominal, published, allowed, up, down, *, steps=1, kind="strict", upper=None, only=None):
    """The same of small counts, by controlled rounding to base 5: x + y = t, nothing below 0; ``allowed``: (lo, hi, step) of each cell."""
    knowledge = _rounded(kind, steps, 5) | ({} if small is None else {"small": small})
    method = {"name": "controlled rounding", "base": "5", "steps": steps, "knowledge": kind}
    method |= {} if small is None else {"small_counts": small}
    return told(
        knowledge, published, up, down,
        method=method | ({} if only is None else {"only": only}), nominal=nominal, lower=0, upper=upper,
        allowed={key: [one[k] for one in allowed] for k, key in enumerate(("lo", "hi", "step"))},
        objective=sum(w * abs(v - a) for w, v, a in zip([1, 2, 3], published, nominal, strict=True)),
    )  # fmt: skip


def perturbed(form, kind, amount, published, allowed, up, down, *, aim=None, **changes):
    """The same by cell perturbation, by base with the aim nearest unless said; ``allowed``: (lo, hi, step) of each cell."""
    sets = {key: [one[k] for one in allowed] for k, key in enumerate(("lo", "hi", "step"))}
    method = {
        "name": "cell perturbation",
        "knowledge": kind,
        "objective": aim or {"base": "nearest", "distance": "distance"}[form],
    }
    method["base" if form == "base" else "within"] = [str(x or 1) for x in amount]
    return told(_perturbed(form, kind, amount), published, up, down, method=method, allowed=sets, **changes)


def partly(rule, printed, up, down, objective, **changes):
    """The same of withheld values or ranges: nothing was allowed or aimed at, nothing is proven of the objective."""
    method = {"name": {"suppressed": "cell suppression", "interval": "interval publication"}[rule]}
    own = {"printed": printed, "method": method, "allowed": None, "target": None, "objective": objective}
    return told({"rule": rule}, [7, 9, 16], up, down) | own | changes


def open_range():
    """The 3×3 table in ranges around multiples of 10, an insider, two witnesses that hold in them; one range open, and nobody knows where it ends."""
    table = rounding()
    lower, upper = [a // 10 * 10 for a in _NOMINAL], [a // 10 * 10 + 15 for a in _NOMINAL]
    lower[0], upper[15], upper[3] = None, None, None
    moves = [{"denominator": 2, "leaf": [4, 5, 8, 9], "difference": x, "covers": [[0, 4, 5], [1, 4, 5]]}
             for x in ([9, -9, -9, 9], [-4, 4, 4, -4])]  # fmt: skip
    return table | {
        "method": {"name": "interval publication", "width": 15}, "printed": ranges(lower, upper), "knowledge": {"rule": "interval"},
        "allowed": None, "target": None, "objective": None, "bound": copy.deepcopy(NO_BOUND), "witnesses": moves, "decimals": 2,
        "levels": {"cell": [4, 5], "lpl": 2, "upl": [4, 2], "spl": [6, 0]},
        "attackers": [copy.deepcopy(PUBLIC), table["attackers"][1] | {"whole": False, "levels": None}],
    }  # fmt: skip


def pattern():
    """The 3×3 table with a circle withheld and one cell more, in hundredths; the insider knows one of them and can work out nothing of the others."""
    table = rounding()
    moves = [
        {"denominator": 1, "leaf": [4, 5, 8, 9], "difference": x, "covers": [[0, 4, 5], [1, 8]]}
        for x in ([8, -8, -8, 8], [-8, 8, 8, -8])
    ]
    return table | {
        "method": {"name": "cell suppression"}, "printed": withheld(*(None if i in (4, 5, 8, 9, 12) else a for i, a in enumerate(_NOMINAL))),
        "knowledge": {"rule": "suppressed"}, "allowed": None, "target": None, "weight": list(range(16)), "objective": 4 + 5 + 8 + 9 + 12,
        "bound": copy.deepcopy(NO_BOUND), "witnesses": moves, "decimals": 2, "status": "feasible",
        "levels": {"cell": [4, 5], "lpl": 8, "upl": 8, "spl": 16},
        "attackers": [copy.deepcopy(PUBLIC), {**PUBLIC, "name": "insider", "whole": True, "cell": [9], "lower": 24, "upper": None,
                                              "levels": {"cell": [8], "lpl": 8, "upl": 8, "spl": 0}}],
    }  # fmt: skip


def with_sums():
    """x + y = t rounded to base 5, and the certificate of x + t, which is at risk: (that of the cells, that of the sum)."""
    levels = {"cell": [3], "lpl": 2, "upl": 2, "spl": 0}
    moves = [{"denominator": 1, "leaf": [0], "difference": [x], "covers": [[0, 3]]} for x in (1, -1)]
    second = {
        **rounding(),
        "method": {"name": "interval publication", "what": "sums of cells at risk", "of": "controlled rounding"},
        "labels": labelled(["cell"], [(str(i),) for i in range(4)]),
        "equations": {"length": [3, 3], "rhs": 0, "cell": [0, 1, 2, 0, 2, 3], "coef": [1, 1, -1, 1, 1, -1]},
        "nominal": [7, 9, 16, 23], "lower": [0, 0, 0, None], "upper": None, "printed": ranges([1, 6, 11, None], [9, 14, 19, None]), "allowed": None,
        "weight": 0, "target": None, "objective": None, "knowledge": {"rule": "interval"}, "levels": levels,
        "attackers": [{**PUBLIC, "whole": True}], "definitions": {"equation": [0, 1], "cell": [2, 3]}, "witnesses": moves,
        "bound": copy.deepcopy(NO_BOUND), "status": "feasible",
    }  # fmt: skip
    first = {
        **spared(None, [7, 9, 16], [5, 10, 15], [(5, 10, 5), (5, 10, 5), (15, 20, 5)], (0, 0), (0, 0)),
        "protection": "none asked", "sums": digest(second), "status": "feasible",
    }  # fmt: skip
    return first, second


def every():
    """All certificates by name; each of them holds."""
    asked = {"cell": [0, 1], "lpl": [3, 0], "upl": [9, 3], "spl": 0}
    weak = {**NO_BOUND, "value": "0", "tree": [{"kind": "dual", "denominator": 1, "equation": [], "multiplier": []}]}
    met = {**NO_BOUND, "value": "4", "tree": [{"kind": "dual", "denominator": 1, "equation": [0], "multiplier": [-2]}]}
    return {
        "rounding strict": rounding(),
        "rounding paper": rounding("paper"),
        "searched": searched(),
        "aimed": aimed(),
        "infeasible": infeasible(),
        "rounded strict": told(_rounded("strict", 2, 5), [5, 10, 15], (7, 0), (-11, 5)),
        "rounded paper": told(_rounded("paper", 1, [5, 3, 5]), [7, 9, 16], (10, 0), (-10, 0), denominator=2, bound=weak),
        "rounded paper in steps": told(_rounded("paper", 2, [5, 5, 0]), [5, 11, 16], (8, -8), (-12, 12), bound=weak),
        "distance paper": told(_perturbed("distance", "paper", [2, 3, 5]), [5, 8, 13], (2, 0), (-6, 0)),
        "distance strict": told(_perturbed("distance", "strict", [2, 3, 5]), [5, 8, 13], (0, 0), (-4, 0)),
        "base paper": told(_perturbed("base", "paper", [4, 3, 5]), [5, 9, 14], (2, 0), (-6, 0)),
        "base strict": told(_perturbed("base", "strict", [4, 5, 7]), [8, 8, 16], (5, -4), (-3, 1)),
        "base strict fixed": told(_perturbed("base", "strict", [4, 5, 0]), [8, 8, 16], (4, -4), (-1, 1)),
        "interval": partly("interval", ranges([3, None, 10], [None, 12, 20]), (4, 0), (-4, -2), 66, lower=[None, 0, None], upper=[15, None, 90]),
        "interval open": partly("interval", ranges([3, None, 10], [None, 12, 20]), (4, 0), (-4, -2), None, status="feasible"),
        "interval of the grid": open_range(),
        "interval infeasible": partly("interval", None, (0, 0), (0, 0), None, status="infeasible", protection="ignored",
                                      levels={"cell": [0], "lpl": 1, "upl": 1, "spl": 0}),
        "suppressed": partly("suppressed", withheld(None, 9, None), (14, 0), (-7, 0), 4, lower=0, upper=[None, 9, 30]),
        "suppressed in the grid": pattern(),
        "suppressed infeasible": partly("suppressed", None, (0, 0), (0, 0), None, status="infeasible", protection="none asked",
                                        levels=copy.deepcopy(NO_LEVELS)),
        "adjusted": told({"rule": "adjusted", "most": [3, 0, 4]}, [6, 9, 15], (2, 0), (-4, 0), status="feasible"),
        "adjusted freely": told({"rule": "adjusted", "most": None}, [4, 12, 16], (0, 0), (0, 0), levels=asked),
        "small up": spared("up", [3, 9, 12], [5, 10, 15], [(5, 5, 5), (5, 10, 5), (10, 15, 5)], (6, 0), (-2, 1)),
        "small up paper": spared("up", [3, 9, 12], [5, 10, 15], [(5, 5, 5), (5, 10, 5), (10, 15, 5)], (7, 0), (-2, 0), kind="paper"),
        "small up in steps": spared("up", [0, 6, 6], [0, 5, 5], [(0, 5, 5), (0, 15, 5), (0, 15, 5)], (9, -1), (0, 0), steps=2),
        "small up bounded": spared("up", [0, 6, 6], [0, 5, 5], [(0, 0, 5), (0, 15, 5), (0, 15, 5)], (0, 8), (0, -6), steps=2, upper=[4, None, None])
                            | {"levels": {"cell": [1], "lpl": 6, "upl": 8, "spl": 14}, "witnesses": [_moved(1, 8), _moved(1, -6)]},
        "small zero": spared("zero", [3, 6, 9], [0, 5, 5], [(0, 0, 5), (5, 10, 5), (5, 10, 5)], (1, -1), (-3, 0)),
        "small zero paper": spared("zero", [3, 6, 9], [0, 5, 5], [(0, 0, 5), (5, 10, 5), (5, 10, 5)], (2, -1), (-3, 0), kind="paper"),
        "small zero in steps": spared("zero", [3, 6, 9], [0, 5, 5], [(0, 0, 5), (0, 15, 5), (0, 15, 5)], (6, -6), (-3, 0), steps=2),
        "followers": spared(None, [7, 9, 16], [6, 9, 15], [(3, 11, 1), (5, 13, 1), (15, 20, 5)], (3, 0), (-5, 0), only="1 cells"),
        "small followers": spared("up", [3, 9, 12], [3, 7, 10], [(1, 7, 1), (5, 13, 1), (10, 15, 5)], (2, 0), (-3, 0), only="1 cells"),
        "perturbation by base": perturbed("base", "strict", [4, 5, 7], [4, 10, 14], [(4, 8, 1), (5, 10, 1), (14, 21, 1)], (1, 0), (-7, 0),
                                          target=[8, 10, 14], objective=4, bound=met),
        "perturbation by base within bounds": perturbed("base", "paper", [4, 9, 5], [8, 9, 17], [(4, 8, 1), (9, 9, 1), (15, 18, 1)], (2, 0), (-2, 0),
                                                        lower=[5, 0, 0], upper=[None, 30, 18], target=[8, 9, 15], objective=6),
        "perturbation by base of some": perturbed("base", "strict", [4, 5, 0], [8, 8, 16], [(4, 8, 1), (5, 10, 1), (16, 16, 0)], (4, -4), (-1, 1),
                                                  target=[8, 10, 16], objective=4),
        "perturbation between multiples": perturbed("base", "strict", [4, 6, 0], [7, 9, 16], [(4, 8, 1), (6, 12, 1), (16, 16, 0)], (1, -1), (-3, 3),
                                                    aim="between", target=[8, 6, 16], weight=[6, 0, 0], objective=6),
        "perturbation by distance": perturbed("distance", "strict", [2, 3, 5], [5, 8, 13], [(5, 9, 1), (8, 8, 0), (12, 20, 1)], (0, 0), (-4, 0)),
        "perturbation by distance of some": perturbed("distance", "paper", [3, 0, 4], [5, 9, 14], [(4, 10, 1), (9, 9, 0), (14, 14, 2)], (4, 0),
                                                      (-8, 0)),
        "nothing asked": told({"rule": "adjusted", "most": 5}, [6, 9, 15], (0, 0), (0, 0), protection="none asked"),
    }  # fmt: skip


def canonical(content):
    """The JSON bytes of a certificate."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest(content):
    """What is published of it."""
    return hashlib.sha256(canonical(content)).hexdigest()


def save(content, path):
    """Write a certificate file."""
    path.write_bytes(gzip.compress(canonical(content), mtime=0))
    return path


def release(content, rows=None, *, terminator="\n"):
    """release.csv of a certificate, written as the page says; ``rows``: the labels."""
    rows = (GRID if len(content["nominal"]) == 16 else THREE) if rows is None else rows
    printed = content["printed"]
    names = ["lower", "upper"] if printed["kind"] == "ranges" else ["value"]
    hides = printed["kind"] == "withheld"
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=terminator)
    writer.writerow([*content["labels"]["column"], *names, *(["status"] if hides else [])])
    columns = [[decimal(x, content["decimals"]) for x in printed[name]] for name in names]
    if hides:
        columns.append(["withheld" if x is None else "published" for x in printed["value"]])
    writer.writerows([*labels, *fields] for labels, *fields in zip(rows, *columns, strict=True))
    return out.getvalue()


def decimal(x, decimals):
    """A printed field."""
    if x is None:
        return ""
    whole, rest = divmod(abs(x), 10**decimals)
    return ("-" if x < 0 else "") + str(whole) + (f".{rest:0{decimals}}" if decimals else "")


def statement(content):
    """release.json of a certificate."""
    return {
        "method": content["method"],
        "decimals": content["decimals"],
        "printed": content["printed"]["kind"],
        "certificate": digest(content),
    }


def save_all(content, folder):
    """A certificate with the public files beside it."""
    folder = Path(folder)
    save(content, folder / "certificate.json.gz")
    (folder / "release.csv").write_text(release(content), newline="")
    (folder / "release.json").write_text(json.dumps(statement(content), indent=2))
    return folder


def restated(content):
    """The certificate with a method that says what its knowledge says."""
    method, knowledge = content["method"], content["knowledge"]
    if method["name"] == "by hand":
        return content | {"method": method | {"tells": knowledge}}
    amount = knowledge["base"] if knowledge["rule"] == "rounded" else knowledge["amount"]
    texts = [decimal(x or 1, content["decimals"]) for x in (amount if isinstance(amount, list) else [amount])]
    name = "within" if knowledge.get("form") == "distance" else "base"
    method = {k: v for k, v in method.items() if k not in ("base", "within")}
    method |= {name: texts if isinstance(amount, list) else texts[0], "knowledge": knowledge["kind"]}
    if knowledge["rule"] == "rounded":
        return content | {"method": method | {"steps": knowledge["steps"]}}
    return content | {"method": {"objective": "distance" if name == "within" else "nearest"} | method}


def changed(content, path, value):
    """A certificate with another value at one place; what is not on the way there is shared."""
    if not path:
        return value
    out = content.copy()
    out[path[0]] = changed(content[path[0]], path[1:], value)
    return out


def changes(content, path=()):
    """Every change of one place: (path, changed certificate)."""
    here = content
    for key in path:
        here = here[key]
    for value in _others(here):
        yield path, changed(content, path, value)
    for key in here if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ():
        yield from changes(content, (*path, key))


def _others(x):
    """What could stand in the place of x."""
    if isinstance(x, bool):
        return [not x, int(x), None]
    if isinstance(x, int):
        return [x + 1, x - 1, -x, 2 * x, 0, 1, 2, 5, True, None, str(x), [x]]
    if isinstance(x, str):
        words = [
            "paper",
            "strict",
            "base",
            "distance",
            "dual",
            "farkas",
            "modular",
            "optimal",
            "feasible",
            "infeasible",
            "shown",
            "ignored",
        ]
        more = ["cell perturbation", "cell suppression", "interval publication", "controlled tabular adjustment", "suppressed", "interval",
                "withheld", "ranges", "values", "up", "zero", "free", "5", "0" * 64, 5, None]  # fmt: skip
        return [x + " ", x[:-1], "", *words, "none asked", "adjusted", "controlled rounding", *more]
    if isinstance(x, list):
        some = sorted({*range(min(len(x), 3)), *range(max(len(x) - 2, 0), len(x))})
        shorter = [x[:i] + x[i + 1 :] for i in some]
        swapped = [[*x[:i], x[i + 1], x[i], *x[i + 2 :]] for i in some[:-1] if i + 1 < len(x)]
        doubled = [[*x, x[i]] for i in some]
        return [*shorter, *swapped, *doubled, [], [0], [*x, 1], [*x, None], [*x, True], 0, 5, None, {}]
    if isinstance(x, dict):
        fewer = [{k: v for k, v in x.items() if k != key} for key in x]
        more = [{"more": 1}, {"at": 1}, {"small": "up"}, {"small": None}, {"small_counts": "up"}, {"only": "all"}]
        return [*fewer, *({**x, **one} for one in more), {}, [], 0, None]
    return [0, 1, -1, 7, True, "0", "infeasible", [], [0], {}, copy.deepcopy(NO_LEVELS)]


# ---- what a rounding tells, by trying everything ---------------------------------------------------------------------------------------------


def publications(y, base, steps, small, lower, upper, step):
    """Every value that a true y may be published as; ``step``: the base, or 1 in a cell that only follows."""
    near = [v for v in range(y - steps * base + 1, y + steps * base) if v % step == 0 and _between(lower, v, upper)]
    if 0 < y < base and lower is not None and lower >= 0 and small != "free":
        return [v for v in near if (v == 0) == (small == "zero")]
    return near


def hulls():
    """(base, steps, small, lower, upper, v, a, the y that a reader of v cannot rule out), for small numbers of every kind."""
    for base, steps, small in itertools.product((1, 2, 3, 5), (1, 2, 3), ("free", "up", "zero")):
        for lower, upper in itertools.product(
            (None, -2, 0, 1, base - 1, base, base + 1), (None, 1, base - 1, base, base + 2)
        ):
            truths = range(-2 if lower is None else lower, 4 * base if upper is None else upper + 1)
            every = range(truths.start - 7 * base, truths.stop + 7 * base)
            inside = [y for y in every if _between(lower, y, upper)]
            for step in {1, base}:
                became = {y: publications(y, base, steps, small, lower, upper, step) for y in inside}
                for a in truths:
                    for v in became[a]:
                        yield base, steps, small, lower, upper, step, v, a, [y for y in inside if v in became[y]]


# ---- the oracle ------------------------------------------------------------------------------------------------------------------------------


def holds(content):
    """Whether a small certificate holds, by the letter of the page; where that leaves a choice, by the verifier's."""
    try:
        _Oracle(content)
    except (AssertionError, KeyError, TypeError, ValueError, IndexError, AttributeError):
        return False
    return True


def _whole(x, least=None):
    assert type(x) is int
    assert least is None or x >= least
    return x


def _list(x, n=None):
    assert type(x) is list
    assert n is None or len(x) == n
    return [_whole(y) for y in x]


def _column(x, n, least=None):
    return [_whole(y, least) for y in (_list(x, n) if type(x) is list else [_whole(x)] * n)]


def _bounds(x, n):
    assert x is None or type(x) in (int, list)
    x = x if type(x) is list else [x] * n
    assert len(x) == n
    return [None if y is None else _whole(y) for y in x]


def _rising(x, most):
    assert _list(x) == sorted(set(x))
    assert all(0 <= y < most for y in x)
    return x


def _keys(x, keys):
    assert type(x) is dict
    assert sorted(x) == sorted(keys.split())
    return x


def _between(low, x, high):
    return (low is None or low <= x) and (high is None or x <= high)


class _Oracle:
    def __init__(self, c):
        _keys(c, "format version salt method decimals weight_decimals labels equations nominal lower upper printed allowed weight target objective "
                 "knowledge protection levels attackers definitions witnesses bound status engine sums")  # fmt: skip
        assert c["format"] == "cellward certificate"
        assert _whole(c["version"]) == 5
        assert c["sums"] is None or (len(c["sums"]) == 64 and set(c["sums"]) <= set("0123456789abcdef"))
        assert len(c["salt"]) == 64
        assert set(c["salt"]) <= set("0123456789abcdefABCDEF")
        assert 0 <= _whole(c["decimals"]) <= 40
        assert 0 <= _whole(c["weight_decimals"]) <= 40
        assert type(c["engine"]) is str
        assert c["status"] in ("optimal", "feasible", "infeasible")
        self.c = c
        self.a = _list(c["nominal"])
        self.n = len(self.a)
        self.w = _column(c["weight"], self.n, 0)
        self.labels()
        self.lower, self.upper = _bounds(c["lower"], self.n), _bounds(c["upper"], self.n)
        self.equations()
        self.values()
        self.box()
        self.method()
        self.attackers()
        self.definitions()
        self.witnesses()
        self.requirements()
        self.proven = False
        self.bound()
        self.weights()

    def labels(self):
        labels = _keys(self.c["labels"], "column sha256")
        assert type(labels["column"]) is list
        assert all(type(x) is str for x in labels["column"])
        assert len(set(labels["column"])) == len(labels["column"])
        assert len(labels["sha256"]) == 64
        assert set(labels["sha256"]) <= set("0123456789abcdef")

    def equations(self):
        e = _keys(self.c["equations"], "length rhs cell coef")
        length = [_whole(x, 0) for x in _list(e["length"])]
        cell = _list(e["cell"], sum(length))
        coef = _column(e["coef"], len(cell))
        self.b = _column(e["rhs"], len(length))
        self.rows, at = [], 0
        for size in length:
            self.rows.append([(cell[k], coef[k]) for k in range(at, at + size)])
            at += size
        assert all(0 <= i < self.n for i in cell)

    def times(self, x):
        return [sum(k * x[i] for i, k in row) for row in self.rows]

    def transposed(self, x):
        out = [0] * self.n
        for row, y in zip(self.rows, x, strict=True):
            for i, k in row:
                out[i] += k * y
        return out

    def values(self):
        kind = {
            "rounded": "values",
            "perturbed": "values",
            "adjusted": "values",
            "suppressed": "withheld",
            "interval": "ranges",
        }[self.c["knowledge"]["rule"]]
        assert all(_between(*x) for x in zip(self.lower, self.a, self.upper, strict=True))
        assert self.times(self.a) == self.b
        self.sets = self.step = None
        if kind == "values":
            s = _keys(self.c["allowed"], "lo hi step")
            lo, hi, self.step = _column(s["lo"], self.n), _column(s["hi"], self.n), _column(s["step"], self.n, 0)
            assert all(z > 0 or x == y for x, y, z in zip(lo, hi, self.step, strict=True))
            self.sets = [[x] if z == 0 else list(range(x, y + 1, z)) for x, y, z in zip(lo, hi, self.step, strict=True)]
            self.target = self.a if self.c["target"] is None else _list(self.c["target"], self.n)
        else:
            assert self.c["allowed"] is None
            assert self.c["target"] is None
        self.p = self.c["printed"]
        self.v = None
        assert (self.p is None) == (self.c["status"] == "infeasible")
        if self.p is None:
            assert self.c["objective"] is None
            return
        _keys(self.p, "kind lower upper" if kind == "ranges" else "kind value")
        assert self.p["kind"] == kind
        if kind == "values":
            self.v = _list(self.p["value"], self.n)
            assert self.times(self.v) == self.b
            assert all(x in s for x, s in zip(self.v, self.sets, strict=True))
            cost = sum(w * abs(x - y) for w, x, y in zip(self.w, self.v, self.target, strict=True))
        elif kind == "withheld":
            assert type(self.p["value"]) is list
            cost = sum(self.w[i] for i, x in enumerate(_bounds(self.p["value"], self.n)) if x is None)
        else:
            assert type(self.p["lower"]) is type(self.p["upper"]) is list
            cost = 0
            for i, (low, high) in enumerate(
                zip(_bounds(self.p["lower"], self.n), _bounds(self.p["upper"], self.n), strict=True)
            ):
                low, high = (self.lower[i] if low is None else low), (self.upper[i] if high is None else high)
                cost = None if None in (cost, low, high) else cost + self.w[i] * (high - low)
        assert cost is None if self.c["objective"] is None else _whole(self.c["objective"]) == cost

    def box(self):
        k = self.c["knowledge"]
        self.whole, self.free = False, False
        v = self.a if self.v is None else self.v
        self.lo, self.hi = [], []
        if k["rule"] in ("interval", "suppressed"):
            _keys(k, "rule")
            nothing = [None] * self.n
            self.lo = self.hi = nothing
            if self.p is not None:
                self.lo, self.hi = (
                    (self.p["lower"], self.p["upper"]) if k["rule"] == "interval" else [self.p["value"]] * 2
                )
        elif k["rule"] == "adjusted":
            _keys(k, "rule most")
            self.free = k["most"] is None
            most = [None] * self.n if self.free else _column(k["most"], self.n, 0)
            self.lo = [None if t is None else x - t for x, t in zip(v, most, strict=True)]
            self.hi = [None if t is None else x + t for x, t in zip(v, most, strict=True)]
        elif k["rule"] == "rounded":
            _keys(k, "rule kind base steps small" if "small" in k else "rule kind base steps")
            assert "small" not in k or k["small"] in ("up", "zero", "only")
            steps = _column(k["steps"], self.n, 1)
            self.whole = k["kind"] == "strict"
            assert k["kind"] in ("strict", "paper")
            for x, y, b, s in zip(v, self.a, _column(k["base"], self.n, 0), steps, strict=True):
                r = s * b - 1 if self.whole else s * b
                r = 0 if b == 0 or (k["kind"] == "paper" and s == 1 and y % b == 0) else r
                self.lo.append(x - r)
                self.hi.append(x + r)
            if "small" in k and self.v is not None:
                self.spare(k["small"], steps, _column(k["base"], self.n, 0))
        else:
            assert k["rule"] == "perturbed"
            _keys(k, "rule kind form amount")
            assert k["kind"] in ("strict", "paper")
            assert k["form"] in ("distance", "base")
            for x, y, t in zip(v, self.a, _column(k["amount"], self.n, 0), strict=True):
                low = high = x
                if t > 0 and k["form"] == "distance":
                    r = t if k["kind"] == "strict" else 2 * t
                    low, high = x - r, x + r
                elif t > 0 and k["kind"] == "paper":
                    low, high = (x, x) if y % t == 0 else (x - t, x + t)
                elif t > 0:
                    low, high = t * (x // t), t * -(-x // t)
                    low, high = (low - t, high + t) if x % t == 0 else (low, high)
                self.lo.append(low)
                self.hi.append(high)
        assert all(_between(*x) for x in zip(self.lo, self.a, self.hi, strict=True))

    def spare(self, small, steps, base):
        """Which of 0, the small and the large whole values can become v, tried one by one (of the large ones, those in reach)."""
        for i, (v, b, s) in enumerate(zip(self.v, base, steps, strict=True)):
            if b == 0 or self.lower[i] is None or self.lower[i] < 0:
                continue
            if small == "only":
                could = [y for y in range(max(v - s * b + 1, 0), v + s * b) if v in self.alone(y, b, s)]
                self.lo[i], self.hi[i] = max(self.lo[i], could[0]), min(self.hi[i], could[-1])
                continue
            near = [y for y in range(v - s * b + 1, v + s * b) if y == 0 or _between(b, y, self.upper[i])]
            zero = 0 in near and self.lower[i] <= 0
            few = v == 0 if small == "zero" else v > 0
            if not zero:
                self.lo[i] = max(self.lo[i], 1 if few else b)
            if not few and not any(y >= b for y in near):
                self.hi[i] = min(self.hi[i], 0)

    @staticmethod
    def alone(y, b, s):
        """What a count may become where only those below the base are rounded."""
        if y == 0:
            return [0]
        if y < b:
            return [x for x in range(0, y + s * b, b) if abs(x - y) < s * b]
        return range(max(b, y - s * b + 1), y + s * b)

    def method(self):
        m, k = self.c["method"], self.c["knowledge"]
        assert type(m["name"]) is str
        assert m.get("small_counts") == k.get("small")
        names = {
            "controlled rounding": "rounded",
            "cell perturbation": "perturbed",
            "controlled tabular adjustment": "adjusted",
        }
        names |= {"cell suppression": "suppressed", "interval publication": "interval"}
        assert names.get(m["name"], k["rule"]) == k["rule"]
        assert m["name"] in names or k["rule"] not in ("suppressed", "interval")
        if m["name"] not in names:
            assert canonical(m["tells"]) == canonical(k)
        self.counts = [1] * self.n
        if self.sets is not None and m["name"] in names:
            aim = self.a
            if m["name"] == "cell perturbation" and m["objective"] != "distance":
                aim = self.aim(m["objective"], _column(k["amount"], self.n))
            assert self.target == aim
        if m["name"] == "controlled tabular adjustment":
            assert k["most"] is None
            assert type(m["norm"]) is str
            assert m["norm"] == "l1" or self.p is None or canonical(self.c["bound"]) == canonical(NO_BOUND)
        if m["name"] == "cell perturbation":
            assert ("base" in m) != ("within" in m)
            assert (k["form"], m["objective"]) in (
                [("base", "between"), ("base", "nearest")] if "base" in m else [("distance", "distance")]
            )
            self.amounts(m["base" if "base" in m else "within"], _column(k["amount"], self.n))
            self.perturbation(k)
        if m["name"] != "controlled rounding":
            return
        self.amounts(m["base"], _column(k["base"], self.n))
        assert k["rule"] == "rounded"
        assert canonical(k["steps"]) == canonical(m["steps"])
        alone = k.get("small") == "only"
        assert not alone or k["kind"] == "strict"
        for i, (b, s) in enumerate(zip(_column(k["base"], self.n), _column(m["steps"], self.n, 1), strict=True)):
            if alone and b > 0:
                assert self.lower[i] is not None and self.lower[i] >= 0
                assert self.step[i] == (b if self.a[i] < b else 1) or self.step[i] == b
                near = self.alone(self.a[i], b, s)
                near = near if self.step[i] != b else [x for x in near if x % b == 0]
                assert self.v is None or self.v[i] in near
                assert all(x in self.sets[i] for x in near if _between(self.lower[i], x, self.upper[i]))
                continue
            follows = self.step[i] == 1 < b and k["kind"] == "strict" and type(m.get("only")) is str and m["only"] != ""
            assert self.step[i] == b or follows
            near = [
                x
                for x in range(self.a[i] - s * b, self.a[i] + s * b + 1)
                if b > 0 and (follows or x % b == 0) and abs(x - self.a[i]) < s * b
            ]
            near = near if b > 0 else [self.a[i]]
            if 0 < self.a[i] < b and self.lower[i] is not None and self.lower[i] >= 0 and "small" in k:
                near = [0] if k["small"] == "zero" else [x for x in near if x > 0]
            assert self.v is None or self.v[i] in near
            assert all(x in self.sets[i] for x in near if _between(self.lower[i], x, self.upper[i]))

    def amounts(self, stated, amount):
        m, k = self.c["method"], self.c["knowledge"]
        assert m["knowledge"] == k["kind"]
        stated = stated if type(stated) is list else [stated] * self.n
        assert all(re.fullmatch(r"-?[0-9]{1,40}(\.[0-9]{1,40})?", text) for text in stated)
        for text, own in zip(stated, amount, strict=True):
            assert own == 0 or own == Fraction(text) * 10 ** self.c["decimals"]
        assert self.n == 0 or any(amount)

    def aim(self, objective, amount):
        """The nearer multiple of each cell, the lower one of two; between multiples a cell halfway counts for nothing."""
        found = []
        for i, (a, q) in enumerate(zip(self.a, amount, strict=True)):
            down, up = (q * (a // q), q * -(-a // q)) if q else (a, a)
            found.append(down if a - down <= up - a else up)
            self.counts[i] = down < up if objective == "nearest" else a - down != up - a
        return found

    def weights(self):
        """Nothing is optimal that costs nothing."""
        if self.c["status"] != "optimal" and not (self.proven and self.p is not None):
            return
        for i, w in enumerate(self.w):
            free = self.sets is None or (len(self.sets[i]) > 1 and self.counts[i])
            assert w > 0 or not free

    def perturbation(self, k):
        assert k["rule"] == "perturbed"
        for i, t in enumerate(_column(k["amount"], self.n)):
            least = self.lower[i]
            if k["form"] == "base" and t > 0 and least is not None and least > 0:
                least = t * (least // t)
            if k["form"] == "distance" and least is not None:
                least = min(least, 0)
            near = [x for x in range(self.a[i] - t, self.a[i] + t + 1) if _between(least, x, self.upper[i])]
            if k["form"] == "base":
                ends = (t * (self.a[i] // t), t * -(-self.a[i] // t)) if t > 0 else (self.a[i], self.a[i])
                assert self.sets[i] == [x for x in near if ends[0] <= x <= ends[1]]
            assert self.sets[i]
            assert self.sets[i] == [x for x in near if self.sets[i][0] <= x <= self.sets[i][-1]]

    def levels(self, x):
        _keys(x, "cell lpl upl spl")
        cells = _rising(x["cell"], self.n)
        columns = [_column(x[key], len(cells), 0) for key in ("lpl", "upl", "spl")]
        return {i: level for i, *level in zip(cells, *columns, strict=True) if level != [0, 0, 0]}

    def attackers(self):
        self.known, self.needs, self.asked = [], {}, False
        table = self.levels(self.c["levels"])
        assert type(self.c["attackers"]) is list
        for k, x in enumerate(self.c["attackers"]):
            _keys(x, "name whole cell lower upper levels")
            assert type(x["name"]) is str
            assert type(x["whole"]) is bool
            cells = _rising(x["cell"], self.n)
            own = dict(
                zip(
                    cells,
                    zip(_bounds(x["lower"], len(cells)), _bounds(x["upper"], len(cells)), strict=True),
                    strict=True,
                )
            )
            assert all(_between(low, self.a[i], high) for i, (low, high) in own.items())
            asked = table if x["levels"] is None else self.levels(x["levels"])
            self.asked = self.asked or bool(asked)
            self.known.append((x["whole"] or self.whole, own))
            for i, level in asked.items():
                low, high = own.get(i, (None, None))
                if low is None or low != high:
                    self.needs[k, i] = level
        self.asked = self.asked or bool(table)
        self.table = table
        assert self.known
        assert len({x["name"] for x in self.c["attackers"]}) == len(self.known)

    def definitions(self):
        d = _keys(self.c["definitions"], "equation cell")
        equation = _list(d["equation"])
        cell = _list(d["cell"], len(equation))
        assert len(set(equation)) == len(set(cell)) == len(cell)
        for k, (j, c) in enumerate(zip(equation, cell, strict=True)):
            assert j >= 0
            assert [x for i, x in self.rows[j] if i == c] in ([1], [-1])
            assert all(i not in cell or i in cell[: k + 1] for i, _ in self.rows[j])
        self.order = list(zip(equation, cell, strict=True))

    def witnesses(self):
        self.reached = {need: [Fraction(0)] for need in self.needs}
        assert type(self.c["witnesses"]) is list
        for x in self.c["witnesses"]:
            _keys(x, "denominator leaf difference covers")
            d = _whole(x["denominator"], 1)
            leaf = _rising(x["leaf"], self.n)
            assert not set(leaf) & {c for _, c in self.order}
            delta = [0] * self.n
            for i, y in zip(leaf, _list(x["difference"], len(leaf)), strict=True):
                assert y != 0
                delta[i] = y
            for j, c in self.order:
                (own,) = (k for i, k in self.rows[j] if i == c)
                delta[c] = -own * sum(k * delta[i] for i, k in self.rows[j] if i != c)
            assert not any(self.times(delta))
            y = [p + Fraction(q, d) for p, q in zip(self.a, delta, strict=True)]
            covers = [(_list(part)[0], part[1:]) for part in x["covers"]]
            assert type(x["covers"]) is list
            _rising([k for k, _ in covers], len(self.known))
            for k, cells in covers:
                whole, own = self.known[k]
                assert d == 1 or not whole
                for low, high in ((self.lo, self.hi), (self.lower, self.upper)):
                    assert all(_between(*z) for z in zip(low, y, high, strict=True))
                assert all(_between(low, y[i], high) for i, (low, high) in own.items())
                assert len(set(cells)) == len(cells)
                for i in cells:
                    self.reached[k, i].append(y[i] - self.a[i])

    def requirements(self):
        assert self.c["protection"] in ("shown", "none asked", "ignored")
        assert self.asked == (self.c["protection"] != "none asked")
        if self.c["protection"] != "shown":
            assert self.c["witnesses"] == []
            return
        assert self.p is not None
        for i, level in self.table.items():
            against = [own for (_, cell), own in self.needs.items() if cell == i]
            assert any(all(x >= y for x, y in zip(own, level, strict=True)) for own in against)
        for (k, i), (lpl, upl, spl) in self.needs.items():
            if self.free:
                sides = ([self.v[i] >= self.a[i] + upl] if upl else []) + (
                    [self.v[i] <= self.a[i] - lpl] if lpl else []
                )
                assert abs(self.v[i] - self.a[i]) >= spl
                assert any(sides) or not (lpl or upl)
                assert not self.known[k][1]  # who knows cells makes more of a value than its distance tells
            else:
                low, high = min(self.reached[k, i]), max(self.reached[k, i])
                assert high >= upl
                assert low <= -lpl
                assert high - low >= spl

    def multipliers(self, x):
        rows = _rising(x["equation"], len(self.rows))
        out = [0] * len(self.rows)
        for j, y in zip(rows, _list(x["multiplier"], len(rows)), strict=True):
            out[j] = y
        return out

    def bound(self):
        bound = _keys(self.c["bound"], "value unit tree")
        unit = _keys(bound["unit"], "size equation multiplier")
        g, mu = _whole(unit["size"], 1), self.multipliers(unit)
        if self.sets is None:
            assert (bound["value"], g, unit["equation"], unit["multiplier"], bound["tree"]) == (None, 1, [], [], [])
            return
        rest = sum(x * y for x, y in zip(mu, self.b, strict=True))
        for s, t, w, m in zip(self.sets, self.target, self.w, self.transposed(mu), strict=True):
            residues = {(w * abs(v - t) - m * v) % g for v in s}
            assert len(residues) <= 1
            rest += sum(residues)
        assert type(bound["tree"]) is list
        if not bound["tree"]:
            assert bound["value"] is None
            return
        nodes, found = iter(bound["tree"]), []
        self.node(nodes, self.sets, found)
        assert list(nodes) == []
        if not found:
            assert self.p is None
            assert bound["value"] == "infeasible"
            return
        value = next(x for x in range(min(found).__ceil__(), min(found).__ceil__() + g) if (x - rest) % g == 0)
        assert bound["value"] == str(value)
        assert self.v is None or value <= self.c["objective"]
        self.proven = value == self.c["objective"]

    def node(self, nodes, sets, found):
        x = next(nodes, None)
        if type(x) is dict and "at" in x:
            _keys(x, "cell at")
            i, at = _whole(x["cell"], 0), _whole(x["at"])
            for side in ([v for v in sets[i] if v <= at], [v for v in sets[i] if v > at]):
                self.node(nodes, [*sets[:i], side, *sets[i + 1 :]], found)
            return
        _keys(x, "kind denominator equation multiplier")
        assert x["kind"] in ("dual", "farkas", "modular")
        d, m = _whole(x["denominator"], 2 if x["kind"] == "modular" else 1), self.multipliers(x)
        if not all(sets):
            return
        right, columns = sum(p * q for p, q in zip(m, self.b, strict=True)), self.transposed(m)
        if x["kind"] == "modular":
            assert all(k * t % d == 0 for k, t, s in zip(columns, self.step, sets, strict=True) if len(s) > 1)
            assert (right - sum(k * s[0] for k, s in zip(columns, sets, strict=True))) % d
        elif x["kind"] == "farkas":
            assert (
                Fraction(right, d)
                + sum(min(-Fraction(k, d) * v for v in s) for k, s in zip(columns, sets, strict=True))
                > 0
            )
        else:
            parts = zip(columns, sets, self.w, self.target, strict=True)
            found.append(
                Fraction(right, d) + sum(min(w * abs(v - t) - Fraction(k, d) * v for v in s) for k, s, w, t in parts)
            )
