"""The verifier: it holds for what is true, and says in a sentence what fails."""

import csv
import gzip
import io
import itertools
import json
import os
import random
import runpy
import subprocess
import sys
import zlib
from fractions import Fraction
from pathlib import Path

import certificates
import pytest
from certificates import NO_BOUND, PUBLIC, changed, restated, save, values

from cellward.audit import verify as checker

EVERY = certificates.every()
STRICT, PAPER, SEARCHED, INFEASIBLE = (EVERY[name] for name in ("rounding strict", "rounding paper", "searched", "infeasible"))  # fmt: skip
ADJUSTED, AIMED = EVERY["adjusted"], EVERY["aimed"]


def refusal(content):
    with pytest.raises(checker.Refused) as refused:
        checker.check(content)
    return str(refused.value)


def at(content, *path, to):
    """The certificate with something else at a place; ``to`` may be a function of what stands there."""
    here = content
    for key in path:
        here = here[key]
    return changed(content, path, to(here) if callable(to) else to)


# ---- what holds ------------------------------------------------------------------------------------------------------------------------------


def verdict(name):
    return checker.check(EVERY[name])


@pytest.mark.parametrize("name", EVERY)
def test_a_true_certificate_holds(name):
    found = verdict(name)
    assert found
    assert found.holds is True
    assert found.digest is None
    assert certificates.holds(EVERY[name])


@pytest.mark.parametrize(
    ("name", "protected", "bound", "proven"),
    [
        ("rounding strict", True, Fraction(16), True),
        ("searched", False, Fraction(6), True),
        ("aimed", False, Fraction(3), True),
        ("perturbation by base", True, Fraction(4), True),
        ("perturbation by distance", True, None, False),
        ("infeasible", False, "infeasible", True),
        ("rounded paper in steps", True, Fraction(0), False),
        ("nothing asked", None, None, False),
    ],
)
def test_the_verdict_says_what_was_shown(name, protected, bound, proven):
    found = verdict(name)
    assert (found.protected, found.bound, found.proven) == (protected, bound, proven)
    assert type(found.bound) is type(bound)


CLAIM = "that nothing smaller exists is the engine's claim"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (STRICT, "16 published values satisfy 8 equations; 5 requirements against 2 attackers shown by 4 witnesses (rounded strict); "
                 "objective 16; no smaller objective exists (proven)"),
        (SEARCHED, "3 published values satisfy 1 equations; protection levels: ignored; objective 0.6; no smaller objective exists (proven)"),
        (INFEASIBLE, "3 true values satisfy 1 equations; protection levels: ignored; that no allowed table exists is proven"),
        (INFEASIBLE | {"bound": NO_BOUND}, "3 true values satisfy 1 equations; protection levels: ignored; "
                                           "that no allowed table exists is claimed by the engine"),
        (EVERY["rounded paper in steps"], "3 published values satisfy 1 equations; 1 requirements against 1 attackers shown by 2 witnesses (rounded "
                                          f"paper); objective 0.6; lower bound 0 is proven; {CLAIM}"),
        (EVERY["base strict"], "3 published values satisfy 1 equations; 1 requirements against 1 attackers shown by 2 witnesses (perturbed base "
                               f"strict); objective 0.3; no lower bound is proven; {CLAIM}"),
        (ADJUSTED, "3 published values satisfy 1 equations; 1 requirements against 1 attackers shown by 2 witnesses (adjusted); "
                   "objective 0.4; no lower bound is proven"),
        (EVERY["nothing asked"], "3 published values satisfy 1 equations; protection levels: none asked; "
                                 f"objective 0.4; no lower bound is proven; {CLAIM}"),
        (EVERY["suppressed"], "3 true values, 2 of them withheld, satisfy 1 equations; 1 requirements against 1 attackers shown by 2 witnesses "
                              f"(suppressed); objective 0.4; no lower bound is proven; {CLAIM}"),
        (EVERY["suppressed in the grid"], "16 true values, 5 of them withheld, satisfy 8 equations; 3 requirements against 2 attackers shown by 2 "
                                          "witnesses (suppressed); objective 38; no lower bound is proven"),
        (EVERY["interval"], "3 true values satisfy 1 equations; 1 requirements against 1 attackers shown by 2 witnesses (interval); objective 6.6; "
                            f"no lower bound is proven; {CLAIM}"),
        (EVERY["interval open"], "3 true values satisfy 1 equations; 1 requirements against 1 attackers shown by 2 witnesses (interval); "
                                 "no objective; no lower bound is proven"),
        (EVERY["suppressed infeasible"], "3 true values satisfy 1 equations; protection levels: none asked; "
                                         "that no allowed table exists is claimed by the engine"),
    ],
)  # fmt: skip
def test_the_sentence_says_what_was_shown_and_what_is_claimed(content, sentence):
    assert checker.check(content).reason == sentence


def test_a_verdict_that_does_not_hold_promises_nothing():
    found = checker.Verdict(False, "why")
    assert not found
    assert found == (False, "why", False, None, False, None)


def test_an_infeasible_table_may_have_a_lower_bound():
    dual = {"kind": "dual", "denominator": 1, "equation": [], "multiplier": []}
    found = checker.check(INFEASIBLE | {"bound": {**NO_BOUND, "tree": [dual], "value": "6"}})
    assert (found.bound, found.proven) == (6, False)
    assert found.reason.endswith("that no allowed table exists is claimed by the engine")


# ---- what does not -----------------------------------------------------------------------------------------------------------------------------

ASKS = "whether levels are asked is not as protection says"
HEAD = "not a cellward certificate"
OLDER = "make the release again, or use the verify.py of the version that wrote it"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], HEAD),
        (None, HEAD),
        (at(STRICT, "format", to="another"), HEAD),
        (at(STRICT, "version", to=4), f"a cellward certificate of version 4, and this verify.py reads version 5: {OLDER}"),
        (at(STRICT, "version", to=6), f"a cellward certificate of version 6, and this verify.py reads version 5: {OLDER}"),
        ({"format": checker.FORMAT, "version": 3, "published": [1]}, f"and this verify.py reads version 5: {OLDER}"),
        (at(STRICT, "version", to=5.0), HEAD),
        (at(STRICT, "version", to=True), HEAD),
        (STRICT | {"more": 1}, "certificate does not have exactly its entries: [\"'more'\"]"),
        ({k: v for k, v in STRICT.items() if k != "engine"}, "certificate does not have exactly its entries: [\"'engine'\"]"),
        (at(STRICT, "salt", to="0" * 63), "salt is not 64 hexadecimal digits"),
        (at(STRICT, "salt", to="0" * 63 + "g"), "salt is not 64 hexadecimal digits"),
        (at(STRICT, "salt", to="0" * 64 + "\n"), "salt is not 64 hexadecimal digits"),
        (at(STRICT, "salt", to=0), "salt is not of the kind str"),
        (at(STRICT, "engine", to=None), "engine is not of the kind str"),
        (at(STRICT, "decimals", to=-1), "decimals is not a whole number from 0 on"),
        (at(STRICT, "decimals", to=41), "more than 40 decimals"),
        (at(STRICT, "weight_decimals", to=41), "more than 40 decimals"),
        (at(STRICT, "decimals", to=True), "decimals is not a whole number from 0 on"),
        (at(STRICT, "status", to="perhaps"), "there is no such status"),
        (at(STRICT, "status", to="infeasible"), "the status does not fit what is printed"),
        (at(STRICT, "printed", to=None), "the status does not fit what is printed"),
        (at(STRICT, "objective", to=None), "the objective is 16, not as stated"),
        (at(INFEASIBLE, "status", to="optimal"), "the status does not fit what is printed"),
        (at(INFEASIBLE, "objective", to=0), "the objective is None, not as stated"),
        (at(STRICT, "objective", to=15), "the objective is 16, not as stated"),
        (at(STRICT, "weight", to=2), "the objective is 32, not as stated"),
        (at(STRICT, "weight", to=-1), "weight holds a number below 0"),
        (at(STRICT, "nominal", 0, to=21), "the true values miss equation 0"),
        (at(STRICT, "nominal", to=5), "nominal is not a list of whole numbers"),
        (at(STRICT, "printed", "value", 5, to=15), "the published values miss equation 1"),
        (at(STRICT, "allowed", "lo", to=0) | {"printed": values(*[-5] * 16)}, "the published values miss equation 0"),
        (at(STRICT, "printed", "value", 5, to=True), "a column of printed is not a list of 16 whole numbers"),
        (at(STRICT, "printed", "value", to=5), "a column of printed is not a list of 16 whole numbers"),
        (at(STRICT, "printed", "value", to=lambda v: v[:-1]), "a column of printed is not a list of 16 whole numbers"),
        (at(STRICT, "equations", "rhs", to=1), "the true values miss equation 0"),
        (at(STRICT, "equations", "cell", 0, to=16), "the lengths of the equations do not fit"),
        (at(STRICT, "equations", "cell", 0, to=-1), "the lengths of the equations do not fit"),
        (at(STRICT, "equations", "length", to=[4] * 7 + [-4, 8]), "the lengths of the equations do not fit"),
        (at(STRICT, "equations", "length", 0, to=3), "the lengths of the equations do not fit"),
        (at(STRICT, "equations", "cell", to=3), "cell of equations is not a list of whole numbers"),
        (at(STRICT, "equations", to={}), "equations does not have exactly its entries"),
        (at(STRICT, "allowed", to=[]), "allowed does not have exactly its entries: [\"'no object'\"]"),
        (at(STRICT, "allowed", "hi", 5, to=15), "the published value of cell 5 is not allowed"),
        (at(STRICT, "allowed", "step", to=0), "a step is 0 and lo is not hi"),
        (at(STRICT, "allowed", "step", to=-5), "step of allowed holds a number below 0"),
        (at(STRICT, "method", "name", to=5), "name of method is not of the kind str"),
        (at(STRICT, "method", to=[]), "method is not of the kind dict"),
        (at(STRICT, "method", "steps", to=2), "are not those of one rounding"),
        (at(STRICT, "method", "steps", to=True), "are not those of one rounding"),
        (at(STRICT, "knowledge", "base", to=10), "method and knowledge differ on the base of cell 0"),
        (restated(at(STRICT, "knowledge", "base", to=10)), "are not those of one rounding"),
        (at(STRICT, "knowledge", to={"rule": "adjusted", "most": 5}), "the method controlled rounding does not leave a table adjusted"),
        (at(ADJUSTED, "method", "name", to="controlled rounding"), "the method controlled rounding does not leave a table adjusted"),
        (at(STRICT, "knowledge", to=5), "knowledge is not of the kind dict"),
        (at(STRICT, "knowledge", "rule", to="told"), "knowledge has no known rule"),
        (at(STRICT, "knowledge", "rule", to=[]), "rule of knowledge is not of the kind str"),
        (at(STRICT, "knowledge", "kind", to="loose"), "the kind of knowledge is not known"),
        (at(STRICT, "knowledge", "steps", to=0), "steps of knowledge holds a number below 1"),
        (at(STRICT, "knowledge", "steps", to=True), "steps of knowledge is not a list of 16 whole numbers"),
        (at(STRICT, "knowledge", "steps", to=[1] * 16), "the steps of method and knowledge are not those of one rounding"),
        (at(STRICT, "lower", to=1000), "the true value of cell 0 lies outside the public bounds"),
        (at(STRICT, "upper", 15, to=189), "the true value of cell 15 lies outside the public bounds"),
        (at(STRICT, "attackers", to=[]), "no attacker, or two namesakes"),
        (at(STRICT, "attackers", to=lambda x: [x[0], x[0]]), "no attacker, or two namesakes"),
        (at(STRICT, "attackers", 1, "upper", 0, to=18), "what attacker 1 knows is not true"),
        (at(STRICT, "attackers", 1, "lower", 0, to=20), "what attacker 1 knows is not true"),
        (at(STRICT, "attackers", 0, "whole", to=1), "whole of attacker is not of the kind bool"),
        (at(STRICT, "attackers", 1, "cell", to=[10, 5]), "cell of attacker does not increase from 0 to below 16"),
        (at(STRICT, "attackers", 1, "cell", to=[10, 16]), "cell of attacker does not increase from 0 to below 16"),
        (at(STRICT, "attackers", 1, "cell", to=[-1, 10]), "cell of attacker does not increase from 0 to below 16"),
        (at(STRICT, "attackers", 1, "cell", to=[5, 5]), "cell of attacker does not increase from 0 to below 16"),
        (at(STRICT, "definitions", "cell", to=lambda x: [3, *x[1:-1], 3]), "a cell or an equation is in two definitions"),
        (at(STRICT, "definitions", "equation", to=lambda x: [0, *x[1:-1], 0]), "a cell or an equation is in two definitions"),
        (at(STRICT, "definitions", "equation", 0, to=7), "definition 0 is none"),
        (at(STRICT, "definitions", "equation", 0, to=8), "definition 0 is none"),
        (at(STRICT, "definitions", "equation", 0, to=-8), "definition 0 is none"),
        (at(STRICT, "definitions", to={"equation": [3, 0, 1, 2, 4, 5, 6], "cell": [15, 3, 7, 11, 12, 13, 14]}), "definition 0 is none"),
        (at(SEARCHED, "definitions", "cell", to=[0]), "definition 0 is none"),
        (at(STRICT, "witnesses", 0, "denominator", to=0), "denominator of witness is not a whole number from 1 on"),
        (at(STRICT, "witnesses", 0, "denominator", to=2), "attacker 0 can rule out witness 0"),
        (at(STRICT, "witnesses", 2, "difference", to=[0]), "witness 2 moves a leaf by 0"),
        (at(STRICT, "witnesses", 2, "leaf", to=[7]), "witness 2 moves a cell that is no leaf"),
        (at(STRICT, "witnesses", 2, "difference", to=[4]), "attacker 0 can rule out witness 2"),
        (at(STRICT, "witnesses", 0, "covers", to=[[1, 8, 9], [0, 4, 5]]), "witness 0 does not cover attackers in increasing order"),
        (at(STRICT, "witnesses", 0, "covers", to=[[0, 4], [0, 5]]), "does not cover attackers in increasing order"),
        (at(STRICT, "witnesses", 0, "covers", to=[[2, 4]]), "does not cover attackers in increasing order"),
        (at(STRICT, "witnesses", 0, "covers", to=[[-1, 4]]), "does not cover attackers in increasing order"),
        (at(STRICT, "witnesses", 0, "covers", to=[[]]), "does not cover attackers in increasing order"),
        (at(STRICT, "witnesses", 0, "covers", to=[[0, 4, 4]]), "witness 0 covers a cell twice, or one in vain"),
        (at(STRICT, "witnesses", 0, "covers", to=[[0, 6]]), "witness 0 covers a cell twice, or one in vain"),
        (at(STRICT, "witnesses", 0, "covers", to=[[1, 10]]), "witness 0 covers a cell twice, or one in vain"),
        (at(STRICT, "witnesses", 0, "covers", to=[5]), "an entry of covers is not a list of whole numbers"),
        (at(STRICT, "witnesses", 0, "covers", to=0), "covers of witness is not of the kind list"),
        (at(STRICT, "attackers", 1, "upper", 0, to=20), "attacker 1 can rule out witness 1"),
        (at(STRICT, "witnesses", to=lambda x: x[1:]), "a level of cell 4 is not shown against attacker 0"),
        (at(STRICT, "witnesses", to=[]), "a level of cell 4 is not shown against attacker 0"),
        (at(STRICT, "levels", "upl", 3, to=3), "a level of cell 11 is not shown against attacker 0"),
        (at(STRICT, "levels", "lpl", 3, to=2), "a level of cell 11 is not shown against attacker 0"),
        (at(STRICT, "levels", "spl", 3, to=4), "a level of cell 11 is not shown against attacker 0"),
        (at(STRICT, "attackers", 1, "lower", 1, to=None), "a level of cell 10 is not shown against attacker 1"),
        (at(STRICT, "protection", to="perhaps"), "there is no such protection"),
        (at(STRICT, "protection", to="ignored"), "there are witnesses, and nothing is said to be shown"),
        (at(STRICT, "protection", to="none asked"), ASKS),
        (at(SEARCHED, "protection", to="none asked"), ASKS),
        (at(SEARCHED, "protection", to="shown"), "a level of cell 2 is not shown against attacker 0"),
        (at(INFEASIBLE, "protection", to="shown"), "nothing is published that levels could be shown of"),
        (at(EVERY["nothing asked"], "protection", to="ignored"), ASKS),
        (at(EVERY["nothing asked"], "protection", to="shown"), ASKS),
        (at(EVERY["adjusted freely"], "levels", "lpl", 0, to=4), "a level of cell 0 is not shown against attacker 0"),
        (at(EVERY["adjusted freely"], "levels", "upl", 1, to=4), "a level of cell 1 is not shown against attacker 0"),
        (at(EVERY["adjusted freely"], "levels", "spl", to=4), "a level of cell 0 is not shown against attacker 0"),
        (at(EVERY["adjusted freely"], "levels", to={"cell": [1], "lpl": 0, "upl": 0, "spl": 4}), "a level of cell 1 is not shown against attacker 0"),
        (at(EVERY["adjusted freely"], "levels", to={"cell": [2], "lpl": 1, "upl": 0, "spl": 0}), "a level of cell 2 is not shown against attacker 0"),
        (at(EVERY["adjusted freely"], "levels", to={"cell": [2], "lpl": 0, "upl": 1, "spl": 0}), "a level of cell 2 is not shown against attacker 0"),
        (at(STRICT, "bound", "value", to="15"), "the bound is 16, not as stated"),
        (at(STRICT, "bound", "value", to="16/1"), "the bound is 16, not as stated"),
        (at(STRICT, "bound", "value", to=16), "the bound is 16, not as stated"),
        (at(STRICT, "bound", "value", to=None), "the bound is 16, not as stated"),
        (at(STRICT, "bound", "tree", to=[]), "the bound is None, not as stated"),
        (at(INFEASIBLE, "bound", "value", to="7"), "the bound is infeasible, not as stated"),
        (at(STRICT, "bound", "unit", "size", to=4), "the unit does not divide what cell 4 can cost"),
        (at(STRICT, "bound", "unit", "multiplier", 1, to=2), "the unit does not divide what cell 4 can cost"),
        (at(STRICT, "bound", "unit", to=None), "unit does not have exactly its entries"),
        (at(STRICT, "bound", "tree", 0, "kind", to="primal"), "a leaf is of no known kind"),
        (at(STRICT, "bound", "tree", 0, "kind", to="farkas"), "a farkas leaf does not show what it should"),
        (at(STRICT, "bound", "tree", 0, "kind", to="modular"), "a modular leaf does not show what it should"),
        (at(INFEASIBLE, "bound", "tree", 0, "denominator", to=1), "denominator of a modular leaf is not a whole number from 2 on"),
        (at(INFEASIBLE, "bound", "tree", 0, "denominator", to=2), "a modular leaf does not show what it should"),
        (at(INFEASIBLE, "bound", "tree", 0, "denominator", to=8), "a modular leaf does not show what it should"),
        (at(SEARCHED, "bound", "tree", to=lambda x: x[:-1]), "the tree ends before its last leaf"),
        (at(SEARCHED, "bound", "tree", to=lambda x: [*x, x[-1]]), "the tree goes on behind its end"),
        (at(SEARCHED, "bound", "tree", 0, "cell", to=3), "the tree branches on a cell that is not there"),
        (at(SEARCHED, "bound", "tree", 0, "cell", to=-1), "cell of a branching is not a whole number from 0 on"),
        (at(SEARCHED, "bound", "tree", 0, "at", to=True), "at of a branching is not of the kind int"),
        (at(SEARCHED, "bound", "tree", 2, to=5), "leaf does not have exactly its entries"),
    ],
)  # fmt: skip
def test_a_false_certificate_is_refused_in_a_sentence(content, words):
    assert words in refusal(content)


def test_only_some_wrong_entries_are_named():
    said = refusal({"format": checker.FORMAT, "version": 5})
    assert said.count(",") == 4
    assert "'allowed'" in said


def test_a_rounding_was_free_to_take_every_multiple_within_the_public_bounds():
    free = {"bound": NO_BOUND, "upper": None, "lower": None}
    for end, i, to in (("hi", 9, 30), ("lo", 8, 20), ("lo", 9, 35), ("hi", 8, 10)):
        assert f"cell {i} was not free to be rounded" in refusal(
            INFEASIBLE_ROUNDING | free | {"allowed": {**ALLOWED, end: _put(ALLOWED[end], i, to)}}
        )
    narrow = {**ALLOWED, "hi": _put(ALLOWED["hi"], 9, 30), "lo": _put(ALLOWED["lo"], 8, 20)}
    bounds = {"upper": _put([None] * 16, 9, 34), "lower": _put([None] * 16, 8, 16)}
    assert checker.check(INFEASIBLE_ROUNDING | free | {"allowed": narrow} | bounds)
    for key, i, to in (("upper", 9, 35), ("lower", 8, 15)):
        assert f"cell {i} was not free" in refusal(
            INFEASIBLE_ROUNDING | free | {"allowed": narrow} | bounds | {key: _put(bounds[key], i, to)}
        )


ALLOWED = STRICT["allowed"]
INFEASIBLE_ROUNDING = STRICT | {
    "printed": None, "objective": None, "status": "infeasible", "protection": "ignored", "witnesses": [],
}  # fmt: skip


def _put(column, i, x):
    return [*column[:i], x, *column[i + 1 :]]


def test_a_rounding_moves_by_less_than_its_steps():
    """The knowledge of two steps on paper allows 10 away, the method itself does not."""
    bare = {
        "bound": NO_BOUND,
        "levels": certificates.NO_LEVELS,
        "witnesses": [],
        "protection": "none asked",
        "upper": None,
    }
    two = {
        "method": {"name": "controlled rounding", "base": "5", "steps": 2, "knowledge": "paper"},
        "knowledge": {"rule": "rounded", "kind": "paper", "base": 5, "steps": 2},
    }
    wide = STRICT | bare | two | {"attackers": [PUBLIC], "allowed": {"lo": -5, "hi": 300, "step": 5}}
    for move, holds in ((5, True), (10, False), (-10, False)):
        moved = [v + move * (i in (0, 3, 12, 15)) for i, v in enumerate(STRICT["printed"]["value"])]
        content = wide | {"printed": values(*moved), "objective": 16 + 4 * abs(move)}
        assert accepted(content) is holds
        assert holds or "cell 0 is not rounded as stated, to a multiple of 5 less than 2 times 5 away" in refusal(
            content
        )


def test_a_rounding_is_to_multiples_even_where_bounds_leave_none():
    base = {
        "method": {"name": "controlled rounding", "base": "5", "steps": 1, "knowledge": "strict"},
        "knowledge": {"rule": "rounded", "kind": "strict", "base": 5, "steps": 1},
    }
    true = ADJUSTED["nominal"]
    content = (
        EVERY["nothing asked"]
        | base
        | {"lower": [6, 6, 16], "upper": [9, 9, 19], "printed": values(*true), "objective": 0}
    )
    assert "cell 0 is not rounded" in refusal(content | {"allowed": {"lo": true, "hi": true, "step": 5}})


def test_a_table_may_have_no_cells():
    empty = INFEASIBLE_ROUNDING | {
        "labels": certificates.labelled([], []), "equations": {"length": [], "rhs": [], "cell": [], "coef": []}, "nominal": [], "printed": values(),
        "lower": [], "upper": [], "allowed": {"lo": [], "hi": 0, "step": 5}, "weight": [], "objective": 0, "status": "feasible", "bound": NO_BOUND,
        "levels": certificates.NO_LEVELS, "attackers": [PUBLIC], "protection": "none asked", "definitions": {"equation": [], "cell": []},
    }  # fmt: skip
    assert checker.check(empty).reason.startswith("0 published values satisfy 0 equations; ")
    assert certificates.holds(empty)
    assert checker.check(empty | {"equations": {"length": [0, 0], "rhs": 0, "cell": [], "coef": 7}})
    assert "true values miss equation 1" in refusal(
        empty | {"equations": {"length": [0, 0], "rhs": [0, 1], "cell": [], "coef": 7}}
    )


def test_nothing_is_told_of_a_cell_that_stays_but_its_value():
    """On paper in one step, and with small counts: base 0 is no multiple of anything, and 0 is no small count of it."""
    told = {"rule": "rounded", "kind": "paper", "base": [5, 0, 5], "steps": 1}
    paper = restated(EVERY["rounded paper"] | {"knowledge": told})
    assert checker.check(paper)
    assert certificates.holds(paper)
    for small in ("up", "zero"):
        content = lone(0, 1, small, 0, None, 0, 0, 0, least=0, most=0)
        assert checker.check_box(checker.Certificate(content)) == ([0], [0])
        assert "base is 0 in every cell: the table would be published as it is" in refusal(content)


def test_a_level_that_no_witness_covers_is_not_shown():
    for key in ("lpl", "upl", "spl"):
        levels = {"cell": [2], "lpl": 0, "upl": 0, "spl": 0, key: 1}
        content = at(SEARCHED, "protection", to="shown") | {"levels": levels}
        assert "a level of cell 2 is not shown against attacker 0" in refusal(content)
        assert not certificates.holds(content)


def test_a_fixed_cell_keeps_its_value():
    step = _put([5] * 16, 5, 0)
    fixed = {"lo": _put(ALLOWED["lo"], 5, 19), "hi": _put(ALLOWED["hi"], 5, 19), "step": step}
    content = INFEASIBLE_ROUNDING | {
        "allowed": fixed,
        "knowledge": {**STRICT["knowledge"], "base": step},
        "bound": NO_BOUND,
    }
    assert checker.check(content)
    moved = {**fixed, "lo": _put(fixed["lo"], 5, 20), "hi": _put(fixed["hi"], 5, 20)}
    assert "cell 5 was not free to be rounded" in refusal(content | {"allowed": moved})


def test_a_whole_attacker_knows_halves_are_none():
    assert "attacker 0 can rule out witness 0" in refusal(at(PAPER, "attackers", 0, "whole", to=True))


def test_a_witness_that_covers_nobody_may_lie_anywhere():
    beyond = {"denominator": 1, "leaf": [0], "difference": [10**6], "covers": []}
    assert checker.check(at(ADJUSTED, "witnesses", to=lambda x: [*x, beyond]))
    assert "attacker 0 can rule out witness 2" in refusal(
        at(ADJUSTED, "witnesses", to=lambda x: [*x, {**beyond, "covers": [[0]]}])
    )


def test_a_witness_must_hold_in_equations_without_a_definition():
    doubled = {"length": [3, 2], "rhs": [0, 9], "cell": [0, 1, 2, 0, 0], "coef": [1, 1, -1, 2, -1]}
    assert "the true values miss equation 1" in refusal(ADJUSTED | {"equations": doubled})
    fixed = ADJUSTED | {"equations": {**doubled, "rhs": [0, 7]}, "printed": values(7, 9, 16), "objective": 0}
    assert "witness 0 is no table" in refusal(fixed)


def test_definitions_follow_each_other():
    """x = y, y = z, z = u by definitions in another order than the equations; moving u moves all."""
    chain = {"length": [2, 2, 2], "rhs": 0, "cell": [0, 1, 1, 2, 2, 3], "coef": [1, -1, -1, 1, 1, -1]}
    witnesses = [{"denominator": 1, "leaf": [3], "difference": [x], "covers": [[0, 0]]} for x in (3, -3)]
    content = ADJUSTED | {
        "equations": chain, "nominal": [5] * 4, "printed": values(*[5] * 4), "weight": 1, "objective": 0,
        "levels": {"cell": [0], "lpl": 3, "upl": 3, "spl": 6},
        "definitions": {"equation": [2, 1, 0], "cell": [2, 1, 0]}, "witnesses": witnesses, "knowledge": {"rule": "adjusted", "most": 3},
    }  # fmt: skip
    content = restated(content)
    assert checker.check(content)
    assert "attacker 0 can rule out witness 0" in refusal(
        restated(content | {"knowledge": {"rule": "adjusted", "most": [2, 3, 3, 3]}})
    )
    assert "definition 1 is none" in refusal(content | {"definitions": {"equation": [2, 0, 1], "cell": [2, 0, 1]}})
    assert "witness 0 is no table" in refusal(content | {"definitions": {"equation": [2, 1], "cell": [2, 1]}})


def test_a_cell_may_not_be_defined_by_an_equation_that_names_it_twice():
    twice = {"length": [3], "rhs": [16], "cell": [0, 1, 0], "coef": [1, 1, 0]}
    content = ADJUSTED | {
        "equations": twice,
        "printed": values(6, 10, 15),
        "objective": 6,
        "knowledge": {"rule": "adjusted", "most": 3},
    }
    content = restated(content)
    assert "definition 0 is none" in refusal(content | {"definitions": {"equation": [0], "cell": [0]}})
    assert "witness 0 is no table" in refusal(content | {"definitions": {"equation": [], "cell": []}})
    assert checker.check(content | {"definitions": {"equation": [0], "cell": [1]}})


# ---- small counts, and cells that only follow --------------------------------------------------------------------------------------------------

UP, ZERO, FOLLOWERS, BOTH = (EVERY[name] for name in ("small up", "small zero", "followers", "small followers"))


def lone(base, steps, small, lower, upper, step, v, a, *, least, most):
    """One cell that stands in no equation, rounded to one of the values from ``least`` to ``most``."""
    told = {"small": small} if small != "free" else {}
    method = {"name": "controlled rounding", **({"small_counts": small} if told else {})}
    content = EVERY["nothing asked"] | {
        "equations": {"length": [], "rhs": 0, "cell": [], "coef": 0}, "nominal": [a], "printed": values(v), "weight": 1, "objective": abs(v - a),
        "lower": lower, "upper": upper, "allowed": {"lo": least, "hi": most, "step": step}, "levels": certificates.NO_LEVELS,
        "method": method | ({"only": "0 cells"} if step != base else {}), "definitions": {"equation": [], "cell": []},
        "knowledge": {"rule": "rounded", "kind": "strict", "base": base, "steps": steps, **told},
    }  # fmt: skip
    return restated(content)


def test_the_verifier_derives_the_hull_of_what_could_have_become_the_published_value():
    for case in itertools.islice(certificates.hulls(), None, None, 17):
        *options, v, a, possible = case
        free = certificates.publications(a, *options)
        found = checker.check_box(checker.Certificate(lone(*options, v, a, least=free[0], most=free[-1])))
        assert found == ([possible[0]], [possible[-1]]), case
        for least, most in ((free[0] + options[5], free[-1]), (free[0], free[-1] - options[5])):
            if least <= v <= most:  # an end that small counts leave was not allowed
                assert "cell 0 was not free to be rounded" in refusal(lone(*options, v, a, least=least, most=most))


def test_a_value_that_small_counts_rule_out_is_refused():
    for base, steps, small, lower, step in itertools.product((2, 5), (1, 2), ("up", "zero"), (0, 1), (1, 0)):
        for a in range(1, base):
            free = certificates.publications(a, base, steps, "free", lower, None, step or base)
            kept = certificates.publications(a, base, steps, small, lower, None, step or base)
            for v in free:
                content = lone(
                    base, steps, small, lower, None, step or base, v, a, least=min(free), most=max([*free, *kept])
                )
                assert accepted(content) is (v in kept), (base, steps, small, lower, step, a, v)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (at(UP, "knowledge", "small", to="down"), "what knowledge says of small counts is not known"),
        (at(UP, "knowledge", "small", to="free"), "what knowledge says of small counts is not known"),
        (at(UP, "knowledge", "small", to="zero"), "method and knowledge differ on small counts"),
        (at(UP, "knowledge", "small", to=None), "what knowledge says of small counts is not known"),
        (at(UP, "knowledge", to=lambda x: {k: v for k, v in x.items() if k != "small"}), "method and knowledge differ on small counts"),
        (at(UP, "method", to=lambda x: {k: v for k, v in x.items() if k != "small_counts"}), "method and knowledge differ on small counts"),
        (at(UP, "method", "small_counts", to="free"), "method and knowledge differ on small counts"),
        (at(STRICT, "method", to=lambda x: x | {"small_counts": "up"}), "method and knowledge differ on small counts"),
        (at(STRICT, "knowledge", to=lambda x: x | {"small": None}), "what knowledge says of small counts is not known"),
        (at(at(UP, "method", "small_counts", to=5), "knowledge", "small", to=5), "what knowledge says of small counts is not known"),
        (at(ADJUSTED, "knowledge", to=lambda x: x | {"small": "up"}), "knowledge does not have exactly its entries: [\"'small'\"]"),
        (at(at(UP, "method", "small_counts", to="zero"), "knowledge", "small", to="zero"), "cell 0 was not free to be rounded"),
        (at(at(ZERO, "method", "small_counts", to="up"), "knowledge", "small", to="up"), "cell 0 was not free to be rounded"),
        (at(UP, "allowed", to={"lo": [0, 5, 10], "hi": [5, 10, 15], "step": 5}) | {"printed": values(0, 10, 10), "objective": 11},
         "cell 0 is not rounded as stated"),
        (at(EVERY["small up paper"], "allowed", to={"lo": [0, 5, 10], "hi": [5, 10, 15], "step": 5})
         | {"printed": values(0, 10, 10), "objective": 11},
         "cell 0 is not rounded as stated"),
        (at(ZERO, "allowed", to={"lo": [0, 0, 5], "hi": [5, 10, 10], "step": 5}) | {"printed": values(5, 5, 10), "objective": 7},
         "cell 0 is not rounded as stated"),
        (at(UP, "witnesses", 1, to=lambda x: x | {"difference": [-3, 2]}), "attacker 0 can rule out witness 1"),
        (at(ZERO, "witnesses", 0, to=lambda x: x | {"difference": [1, -2]}), "attacker 0 can rule out witness 0"),
        (at(EVERY["small up bounded"], "upper", 0, to=5), "cell 0 was not free to be rounded"),
        (at(EVERY["small up bounded"], "witnesses", 0, to=lambda x: x | {"leaf": [0, 1], "difference": [1, 8]}), "attacker 0 can rule out witness 0"),
        (at(FOLLOWERS, "method", to=lambda x: {k: v for k, v in x.items() if k != "only"}), "are not those of one rounding"),
        (at(FOLLOWERS, "method", "only", to=""), "are not those of one rounding"),
        (at(FOLLOWERS, "method", "only", to=True), "are not those of one rounding"),
        (at(FOLLOWERS, "knowledge", "kind", to="paper"), "method and knowledge differ on what is read out of a value"),
        (restated(at(FOLLOWERS, "knowledge", "kind", to="paper")), "are not those of one rounding"),
        (at(FOLLOWERS, "allowed", to={"lo": [3, 5, 15], "hi": [11, 13, 21], "step": [1, 1, 2]}), "are not those of one rounding"),
        (at(FOLLOWERS, "allowed", "hi", 0, to=10), "cell 0 was not free to be rounded"),
        (at(FOLLOWERS, "allowed", "lo", 1, to=6), "cell 1 was not free to be rounded"),
        (at(FOLLOWERS, "allowed", "lo", 0, to=2) | {"printed": values(2, 13, 15), "objective": 16}, "cell 0 is not rounded as stated"),
        (at(BOTH, "allowed", "lo", 0, to=2), "cell 0 was not free to be rounded"),
        (at(BOTH, "allowed", "lo", 0, to=0) | {"printed": values(0, 10, 10), "objective": 11}, "cell 0 is not rounded as stated"),
    ],
)  # fmt: skip
def test_a_false_certificate_of_small_counts_or_followers_is_refused(content, words):
    assert words in refusal(content)
    assert not certificates.holds(content)


def test_small_counts_that_no_bound_leaves_room_for_may_be_infeasible():
    """Where the public knows 1 ≤ a, 0 cannot be published; where it knows a ≤ 4, nothing but 0: nothing is left, and the box is that of v = a."""
    for small, bounds in (("zero", {"lower": [1, 0, 0]}), ("up", {"upper": [4, None, None]})):
        content = at(at(ZERO, "method", "small_counts", to=small), "knowledge", "small", to=small) | bounds | {
            "printed": None, "objective": None, "status": "infeasible", "protection": "ignored", "witnesses": [],
            "allowed": {"lo": [5, 5, 5], "hi": [0, 10, 10], "step": 5}, "bound": {**NO_BOUND, "value": "infeasible", "tree": [LEAF]},
        }  # fmt: skip
        assert checker.check(content).proven
        assert certificates.holds(content)


# ---- what is printed, and what it tells -----------------------------------------------------------------------------------------------------------

SUPPRESSED, INTERVAL, OPEN = EVERY["suppressed"], EVERY["interval"], EVERY["interval open"]
NO_ALLOWED = "has no allowed values and no target"
DUAL = {"kind": "dual", "denominator": 1, "equation": [], "multiplier": []}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (at(SUPPRESSED, "printed", "value", 1, to=8), "the true value of cell 1 lies outside what is told of it"),
        (at(SUPPRESSED, "printed", "value", 1, to=10), "the true value of cell 1 lies outside what is told of it"),
        (at(SUPPRESSED, "printed", "value", 1, to=None), "the objective is 6, not as stated"),
        (at(SUPPRESSED, "printed", "value", 0, to=7), "the objective is 3, not as stated"),
        (at(SUPPRESSED, "printed", "value", 0, to=7) | {"objective": 3}, "attacker 0 can rule out witness 0"),
        (at(SUPPRESSED, "printed", "value", 2, to=16) | {"objective": 1}, "attacker 0 can rule out witness 0"),
        (SUPPRESSED | {"printed": certificates.withheld(7, 9, 16), "objective": 0}, "attacker 0 can rule out witness 0"),
        (SUPPRESSED | {"printed": certificates.withheld(7, 9, 16), "objective": 0, "witnesses": []}, "a level of cell 0 is not shown"),
        (at(SUPPRESSED, "printed", "value", to=[None, 9]), "a column of printed is not a list of 3 whole numbers"),
        (at(SUPPRESSED, "printed", "value", to=9), "a column of printed is not a list of 3 whole numbers"),
        (at(SUPPRESSED, "printed", "value", to=None), "a column of printed is not a list of 3 whole numbers"),
        (at(SUPPRESSED, "printed", "value", 1, to="9"), "a column of printed is not a list of 3 whole numbers"),
        (at(SUPPRESSED, "printed", "value", 1, to=True), "a column of printed is not a list of 3 whole numbers"),
        (at(SUPPRESSED, "printed", to=lambda x: x | {"withheld": [0, 2]}), "printed does not have exactly its entries: [\"'withheld'\"]"),
        (at(SUPPRESSED, "printed", "kind", to="values"), "what is printed of a table suppressed is not of the kind withheld"),
        (at(SUPPRESSED, "printed", to=[]), "printed does not have exactly its entries: [\"'no object'\"]"),
        (at(SUPPRESSED, "printed", to=certificates.ranges([0, 9, 0], [20, 9, 30])), "printed does not have exactly its entries"),
        (at(SUPPRESSED, "knowledge", to={"rule": "suppressed", "withheld": [0, 2]}), "knowledge does not have exactly its entries"),
        (at(SUPPRESSED, "knowledge", to={"rule": "interval"}), "printed does not have exactly its entries"),
        (at(SUPPRESSED, "knowledge", to={"rule": "adjusted", "most": None}), "what is printed of a table adjusted is not of the kind values"),
        (at(SUPPRESSED, "allowed", to={"lo": 7, "hi": 7, "step": 0}), "a pattern has another entry than 0 and 1"),
        (at(SUPPRESSED, "allowed", to={"lo": 0, "hi": 0, "step": 0}), "cell 0 was not free to be withheld"),
        (at(SUPPRESSED, "allowed", to={"lo": 1, "hi": 1, "step": 0}), "cell 1 was not free to be printed"),
        (at(SUPPRESSED, "allowed", to={"lo": 0, "hi": 1, "step": 1}), "bound does not have exactly its entries: [\"'cuts'\"]"),
        (at(SUPPRESSED, "target", to=[7, 9, 16]), f"a table suppressed {NO_ALLOWED}"),
        (at(INTERVAL, "target", to=[7, 9, 16]), f"a table interval {NO_ALLOWED}"),
        (at(EVERY["interval infeasible"], "allowed", to={"lo": 7, "hi": 7, "step": 0}), "which cells may be ranges has another entry than 0 and 1"),
        (at(STRICT, "allowed", to=None), "allowed does not have exactly its entries: [\"'no object'\"]"),
        (at(INFEASIBLE, "allowed", to=None), "allowed does not have exactly its entries: [\"'no object'\"]"),
        (at(SUPPRESSED, "bound", "value", to="0"), "there is no bound for a table suppressed"),
        (at(SUPPRESSED, "bound", "tree", to=[DUAL]), "there is no bound for a table suppressed"),
        (at(SUPPRESSED, "bound", "unit", "size", to=2), "there is no bound for a table suppressed"),
        (at(INTERVAL, "bound", "unit", to={"size": 1, "equation": [0], "multiplier": [0]}), "there is no bound for a table interval"),
        (at(INTERVAL, "bound", "unit", "equation", to=[0]), "there is no bound for a table interval"),
        (at(EVERY["interval infeasible"], "bound", "value", to="infeasible"), "there is no bound for a table interval"),
        (at(SUPPRESSED, "method", "name", to="by hand"), "the method by hand does not leave a table suppressed"),
        (at(SUPPRESSED, "method", "name", to="interval publication"), "the method interval publication does not leave a table suppressed"),
        (at(INTERVAL, "method", "name", to="by hand"), "the method by hand does not leave a table interval"),
        (at(INTERVAL, "method", "name", to="controlled rounding"), "the method controlled rounding does not leave a table interval"),
        (at(ADJUSTED, "method", "name", to="cell suppression"), "the method cell suppression does not leave a table adjusted"),
        (at(ADJUSTED, "method", "name", to="interval publication"), "the method interval publication does not leave a table adjusted"),
        (at(EVERY["distance paper"], "method", "name", to="controlled tabular adjustment"), "adjustment does not leave a table perturbed"),
        (at(SUPPRESSED, "method", to=lambda x: x | {"small_counts": "up"}), "method and knowledge differ on small counts"),
        (at(INTERVAL, "printed", "lower", 0, to=8) | {"objective": 61}, "the true value of cell 0 lies outside what is told of it"),
        (at(INTERVAL, "printed", "upper", 1, to=8) | {"objective": 58}, "the true value of cell 1 lies outside what is told of it"),
        (at(INTERVAL, "printed", "lower", 0, to=4), "the objective is 65, not as stated"),
        (at(INTERVAL, "printed", "lower", 0, to=4) | {"objective": 65}, "attacker 0 can rule out witness 1"),
        (at(INTERVAL, "printed", "upper", 2, to=None), "the objective is 276, not as stated"),
        (at(INTERVAL, "upper", 0, to=None), "the objective is None, not as stated"),
        (at(INTERVAL, "lower", 1, to=None), "the objective is None, not as stated"),
        (at(INTERVAL, "objective", to=None), "the objective is 66, not as stated"),
        (at(OPEN, "objective", to=0), "the objective is None, not as stated"),
        (at(OPEN, "printed", "lower", 1, to=-(10**39)) | {"objective": 0}, "the objective is None, not as stated"),
        (at(INTERVAL, "printed", "lower", to=3), "a column of printed is not a list of 3 whole numbers"),
        (at(INTERVAL, "printed", "upper", to=[1, 2]), "a column of printed is not a list of 3 whole numbers"),
        (at(INTERVAL, "knowledge", to={"rule": "interval", "lo": None, "hi": None}), "knowledge does not have exactly its entries"),
        (at(INTERVAL, "knowledge", to={"rule": "rounded", "kind": "strict", "base": 5, "steps": 1}), "printed does not have exactly its entries"),
        (restated(at(ADJUSTED, "knowledge", "most", to=[3, 0, 0])), "the true value of cell 2 lies outside what is told of it"),
        (restated(at(ADJUSTED, "knowledge", "most", to=[0, 0, 4])), "the true value of cell 0 lies outside what is told of it"),
        (restated(at(EVERY["distance strict"], "knowledge", "amount", 0, to=1)), "the true value of cell 0 lies outside what is told of it"),
        (restated(at(EVERY["rounded paper in steps"], "knowledge", "base", 0, to=0)), "the true value of cell 0 lies outside what is told of it"),
        (at(EVERY["base strict"], "knowledge", "form", to="by base"), "the form of knowledge is not known"),
        (at(EVERY["base strict"], "knowledge", "form", to=None), "the form of knowledge is not known"),
        (at(EVERY["base strict"], "knowledge", "kind", to=None), "the kind of knowledge is not known"),
        (at(EVERY["base strict"], "knowledge", "amount", to=None), "base, amount or most of knowledge is not a list of 3 whole numbers"),
        (at(STRICT, "knowledge", "base", to=None), "base, amount or most of knowledge is not a list of 16 whole numbers"),
        (at(STRICT, "labels", to=[]), "labels does not have exactly its entries"),
        (at(STRICT, "labels", "column", to="region"), "column of labels is not of the kind list"),
        (at(STRICT, "labels", "column", to=["region", 5]), "a name in column of labels is not of the kind str"),
        (at(STRICT, "labels", "column", to=["region", "region"]), "two label columns have one name"),
        (at(STRICT, "labels", "sha256", to=5), "sha256 of labels is not of the kind str"),
        (at(STRICT, "labels", "sha256", to=lambda x: x.upper()), "sha256 of labels is not 64 hexadecimal digits"),
        (at(STRICT, "labels", "sha256", to=lambda x: x[:-1]), "sha256 of labels is not 64 hexadecimal digits"),
        (at(STRICT, "labels", "sha256", to=lambda x: x + "\n"), "sha256 of labels is not 64 hexadecimal digits"),
    ],
)  # fmt: skip
def test_what_is_told_follows_from_what_is_printed(content, words):
    assert words in refusal(content)
    assert not certificates.holds(content)


def test_printed_ends_and_public_bounds_are_both_known():
    found = [checker.check_box(checker.Certificate(x)) for x in (SUPPRESSED, INTERVAL, OPEN)]
    far = checker.INFINITY
    assert found == [([0, 9, 0], [far, 9, 30]), ([3, 0, 10], [15, 12, 20]), ([3, -far, 10], [far, 12, 20])]
    nothing = [checker.check_box(checker.Certificate(EVERY[f"{x} infeasible"])) for x in ("suppressed", "interval")]
    assert nothing == [([-far] * 3, [far] * 3)] * 2


def test_objectives_are_told_in_the_users_units():
    for decimals, more, words in ((0, 0, "16"), (1, 0, "1.6"), (0, 2, "0.16"), (20, 19, "0." + "0" * 37 + "16")):
        content = restated(STRICT | {"decimals": decimals, "weight_decimals": more})
        assert f"; objective {words}; no smaller" in checker.check(content).reason
    tens = restated(STRICT | {"weight": 10, "objective": 160, "decimals": 1, "bound": NO_BOUND})
    assert "; objective 16; no lower bound" in checker.check(tens).reason
    assert "; objective 1.6; no lower bound" in checker.check(restated(tens | {"decimals": 2})).reason
    assert "; objective 0.4; " in checker.check(SUPPRESSED | {"decimals": 7}).reason  # Σ w: in units of the weights
    assert "; objective 4; " in checker.check(SUPPRESSED | {"weight_decimals": 0}).reason
    weak = {**NO_BOUND, "tree": [{"kind": "dual", "denominator": 1, "equation": [0], "multiplier": [-3]}]}
    found = settled(ADJUSTED | {"bound": weak, "decimals": 1})
    assert found["bound"]["value"] == "-23"
    assert "; objective 0.04; lower bound -0.23 is proven" in checker.check(found).reason


# ---- the target --------------------------------------------------------------------------------------------------------------------------------


def test_without_a_target_what_counts_is_the_distance_from_the_true_values():
    for content in EVERY.values():
        if content["allowed"] is not None and content["target"] is None:
            same = content | {"target": content["nominal"]}
            assert checker.check(same) == checker.check(content)
            assert certificates.holds(same)


KIND = "target is not a list of 3 whole numbers"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (at(AIMED, "target", to=None), "the objective is 6, not as stated"),
        (at(AIMED, "target", 0, to=2), "the objective is 4, not as stated"),
        (at(AIMED, "target", 1, to=2), "the objective is 2, not as stated"),
        (at(at(AIMED, "target", 1, to=5), "objective", to=5), "the bound is 5, not as stated"),
        (at(AIMED, "objective", to=6), "the objective is 3, not as stated"),
        (at(STRICT, "target", to=STRICT["printed"]["value"]), "the objective is 0, not as stated"),
        (at(STRICT, "target", to=STRICT["printed"]["value"]) | {"objective": 0}, "the target is not that of the method"),
        (at(AIMED, "target", to=[]), KIND),
        (at(AIMED, "target", to=[1, 3]), KIND),
        (at(AIMED, "target", to=[1, 3, 0, 0]), KIND),
        (at(AIMED, "target", to=0), KIND),
        (at(AIMED, "target", to="null"), KIND),
        (at(AIMED, "target", to={}), KIND),
        (at(AIMED, "target", 0, to=None), KIND),
        (at(AIMED, "target", 0, to=True), KIND),
        (at(AIMED, "target", 0, to="1"), KIND),
        ({k: v for k, v in AIMED.items() if k != "target"}, "certificate does not have exactly its entries: [\"'target'\"]"),
    ],
)  # fmt: skip
def test_another_target_is_refused(content, words):
    assert words in refusal(content)
    assert not certificates.holds(content)


def test_a_target_need_not_add_up_nor_be_allowed():
    for target in ([0, 0, 0], [-9, 40, 3], [4, 4, 5], [10**39, -(10**39), 0]):
        objective = sum(abs(v - t) for v, t in zip(AIMED["printed"]["value"], target, strict=True))
        content = settled(AIMED | {"target": target, "objective": objective})
        assert checker.check(content)
        assert certificates.holds(content)


def test_nothing_published_has_a_target_too():
    content = INFEASIBLE | {"target": [0, 4, 4]}
    assert checker.check(content).proven
    assert certificates.holds(content)
    assert KIND in refusal(content | {"target": [0, 4]})


# ---- cell perturbation -------------------------------------------------------------------------------------------------------------------------

BASE, BOUNDED, SOME, NEAR, FEW = (
    EVERY[f"perturbation by {name}"]
    for name in ("base", "base within bounds", "base of some", "distance", "distance of some")
)
UNFREE = "was not free to be perturbed as stated, or free to go further"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (at(BASE, "allowed", "lo", 1, to=6), f"cell 1 {UNFREE}"),
        (at(BASE, "allowed", "hi", 0, to=7), f"cell 0 {UNFREE}"),
        (at(BASE, "allowed", "hi", 2, to=14), f"cell 2 {UNFREE}"),
        (at(BASE, "allowed", "lo", 0, to=3), f"cell 0 {UNFREE}"),
        (at(BASE, "allowed", "hi", 1, to=11), f"cell 1 {UNFREE}"),
        (at(BASE, "allowed", "step", 1, to=5), f"cell 1 {UNFREE}"),
        (at(BASE, "upper", to=[None, None, 20]), f"cell 2 {UNFREE}"),
        (at(BASE, "printed", "value", to=[3, 11, 14]), "the published value of cell 0 is not allowed"),
        (at(BASE, "knowledge", "amount", 0, to=8), "method and knowledge differ on the base of cell 0"),
        (restated(at(BASE, "knowledge", "amount", 0, to=8)), f"cell 0 {UNFREE}"),
        (at(BASE, "knowledge", "amount", 2, to=0), f"cell 2 {UNFREE}"),
        (at(BOUNDED, "allowed", "lo", 0, to=5), f"cell 0 {UNFREE}"),
        (at(BOUNDED, "allowed", "lo", 0, to=3), f"cell 0 {UNFREE}"),
        (at(BOUNDED, "allowed", "hi", 2, to=20), f"cell 2 {UNFREE}"),
        (at(BOUNDED, "allowed", "hi", 1, to=10), f"cell 1 {UNFREE}"),
        (at(SOME, "allowed", to={"lo": [4, 5, 16], "hi": [8, 10, 17], "step": 1}), f"cell 2 {UNFREE}"),
        (at(SOME, "allowed", to={"lo": [4, 5, 16], "hi": [8, 10, 17], "step": 1}) | {"printed": values(8, 9, 17), "objective": 5},
         f"cell 2 {UNFREE}"),
        (at(NEAR, "allowed", "lo", 0, to=4), f"cell 0 {UNFREE}"),
        (at(NEAR, "allowed", "hi", 0, to=10), f"cell 0 {UNFREE}"),
        (at(NEAR, "allowed", "step", 0, to=2), f"cell 0 {UNFREE}"),
        (at(NEAR, "allowed", to={"lo": [5, 8, 12], "hi": [7, 8, 20], "step": [2, 0, 1]}), f"cell 0 {UNFREE}"),
        (at(NEAR, "allowed", "step", 2, to=8) | {"printed": values(5, 8, 13)}, "the published value of cell 2 is not allowed"),
        (at(NEAR, "upper", to=[8, None, None]), f"cell 0 {UNFREE}"),
        (at(NEAR, "knowledge", "amount", 2, to=3), "method and knowledge differ on the within of cell 2"),
        (restated(at(NEAR, "knowledge", "amount", 2, to=3)), f"cell 2 {UNFREE}"),
        (at(FEW, "allowed", to={"lo": [4, 8, 14], "hi": [10, 9, 14], "step": 1}), f"cell 1 {UNFREE}"),
        (at(FEW, "allowed", to={"lo": [4, 10, 14], "hi": [10, 10, 14], "step": 1}) | {"printed": values(4, 10, 14), "objective": 11},
         f"cell 1 {UNFREE}"),
        (at(FEW, "knowledge", to=lambda x: x | {"form": "base", "amount": [3, 0, 5]}), "method and knowledge differ on the form"),
        (at(BASE, "knowledge", to={"rule": "adjusted", "most": 9}), "the method cell perturbation does not leave a table adjusted"),
        (at(BASE, "knowledge", to={"rule": "adjusted", "most": None}), "the method cell perturbation does not leave a table adjusted"),
        (at(BASE, "knowledge", to={"rule": "rounded", "kind": "strict", "base": 7, "steps": 1}), "cell perturbation does not leave a table rounded"),
        (at(BASE, "method", to=lambda x: x | {"small_counts": "up"}), "method and knowledge differ on small counts"),
        (at(BASE, "method", "name", to="controlled rounding"), "the method controlled rounding does not leave a table perturbed"),
    ],
)  # fmt: skip
def test_a_false_certificate_of_a_perturbation_is_refused(content, words):
    assert words in refusal(content)
    assert not certificates.holds(content)


@pytest.mark.parametrize("form", ["base", "distance"])
def test_a_perturbation_may_take_the_values_of_its_form_and_no_others(form):
    """One cell in no equation, nothing published: by base its set is exactly what it may take, by distance any run of it."""
    for a, t, (lower, upper) in itertools.product(
        (-3, 0, 2, 5), (0, 1, 3, 5), ((None, None), (0, None), (-3, 5), (2, 6))
    ):
        if lower is not None and a < lower:
            continue
        least = lower  # a count of at least 1 may become 0
        if lower is not None and lower > 0:
            least = 0 if form == "distance" else lower // t * t if t else lower
        near = [x for x in range(a - t, a + t + 1) if certificates._between(least, x, upper)]
        if form == "base" and t:
            near = [x for x in near if t * (a // t) <= x <= t * -(-a // t)]
        near = near if t else [a]
        for lo, hi in itertools.product(range(a - t - 1, a + t + 2), repeat=2):
            down, up = (a - a % t, a + -a % t) if form == "base" and t else (a, a)
            content = restated(one_cell(a, lo, hi, 1, 1, target=[down if a - down <= up - a else up]) | {
                "method": {"name": "cell perturbation"}, "lower": lower, "upper": upper, "bound": NO_BOUND,
                "knowledge": {"rule": "perturbed", "kind": "strict", "form": form, "amount": t},
            })  # fmt: skip
            own = list(range(lo, hi + 1))
            right = own == near if form == "base" else bool(own) and set(own) <= set(near)
            right = right and t > 0  # one cell that stays is a table published as it is
            assert accepted(content) is certificates.holds(content) is right, (a, t, lower, upper, lo, hi)


# ---- the bound ---------------------------------------------------------------------------------------------------------------------------------


def accepted(content):
    try:
        return bool(checker.check(content))
    except checker.Refused:
        return False


def settled(content):
    """The certificate with the bound that the verifier finds for it, if it finds one."""
    said = refusal(at(content, "bound", "value", to="?"))
    if not said.startswith("the bound is "):
        return content
    value = said.removeprefix("the bound is ").removesuffix(", not as stated")
    return at(content, "bound", "value", to=None if value == "None" else value)


def one_cell(a, lo, hi, step, w, *, target=None, multiplier=0, denominator=1, size=1, unit=0):
    """One cell, one equation, one dual leaf; nothing published, so that the bound is free."""
    leaf = {"kind": "dual", "denominator": denominator, "equation": [0], "multiplier": [multiplier]}
    content = EVERY["nothing asked"] | {
        "equations": {"length": [1], "rhs": [a], "cell": [0], "coef": [1]},
        "nominal": [a], "printed": None, "objective": None, "status": "infeasible", "weight": w, "target": target, "levels": certificates.NO_LEVELS,
        "allowed": {"lo": lo, "hi": hi, "step": step}, "knowledge": {"rule": "adjusted", "most": None}, "definitions": {"equation": [], "cell": []},
        "bound": {"value": None, "unit": {"size": size, "equation": [0], "multiplier": [unit]}, "tree": [leaf]},
    }  # fmt: skip
    return restated(content)


@pytest.mark.parametrize("aim", [None, 7])
@pytest.mark.parametrize("t", [-1, 0, 3, 4, 5, 30, 44, 46, 100])
@pytest.mark.parametrize(
    ("lo", "hi", "step"),
    [(0, 45, 5), (1, 47, 5), (3, 3, 0), (0, 20, 20), (0, 19, 7), (-9, 90, 1), (0, 30, 5), (0, 25, 5)],
)
def test_least_cost_and_residue_are_those_of_all_elements(aim, t, lo, hi, step):
    """``t`` is the true value, or a target while the true value is 7."""
    elements = range(lo, hi + 1, step or 1)
    a, target = (t, None) if aim is None else (aim, [t])
    for w, m, d in [(1, 0, 1), (3, 2, 1), (2, 5, 2), (2, -5, 2), (1, 7, 3), (4, -9, 2), (0, 3, 1)]:
        least = min(w * abs(v - t) - Fraction(m, d) * v for v in elements)
        found = settled(one_cell(a, lo, hi, step, w, target=target, multiplier=m, denominator=d))
        assert found["bound"]["value"] == str((Fraction(m * a, d) + least).__ceil__())
        for size in (2, 3, 4, 5, 7, 10):
            residues = {(w * abs(v - t) - m * v) % size for v in elements}
            found = settled(one_cell(a, lo, hi, step, w, target=target, size=size, unit=m))["bound"]["value"]
            assert (found is None) == (len(residues) > 1)
            if found is not None:
                assert (int(found) - m * a - residues.pop()) % size == 0
                assert 0 <= int(found) - min(w * abs(v - t) for v in elements) < size


def random_search(seed):
    """Three cells, two equations, sets of any kind, and a tree of any kind: nothing is published, so only the bound is in question."""
    pick = random.Random(seed)
    a = [pick.randrange(-5, 6) for _ in range(3)]
    coef = [pick.choice((-2, -1, 1, 2, 3, 4)) for _ in range(5)]
    rhs = [coef[0] * a[0] + coef[1] * a[1] + coef[2] * a[2], coef[3] * a[0] + coef[4] * a[2]]
    step = [pick.choice((0, 1, 2, 2, 3, 4)) for _ in a]
    lo = [x + pick.randrange(-9, 4) for x in a]
    hi = [x if z == 0 else x + pick.choice((-1, 0, 3, 9, 20)) for x, z in zip(lo, step, strict=True)]

    def multipliers():
        rows = pick.choice(([], [0], [1], [0, 1]))
        return {"equation": rows, "multiplier": [pick.randrange(-4, 5) for _ in rows]}

    def tree(depth):
        if depth and pick.random() < 0.8:
            return [{"cell": pick.randrange(3), "at": pick.randrange(-12, 12)}, *tree(depth - 1), *tree(depth - 1)]
        return [
            {
                "kind": pick.choice(("dual", "dual", "farkas", "modular")),
                "denominator": pick.randrange(2, 5),
                **multipliers(),
            }
        ]

    content = EVERY["nothing asked"] | {
        "equations": {"length": [3, 2], "rhs": rhs, "cell": [0, 1, 2, 0, 2], "coef": coef},
        "nominal": a, "printed": None, "objective": None, "status": "infeasible", "weight": [pick.randrange(4) for _ in a],
        "target": pick.choice((None, [pick.randrange(-9, 15) for _ in a])),
        "levels": certificates.NO_LEVELS, "allowed": {"lo": lo, "hi": hi, "step": step}, "knowledge": {"rule": "adjusted", "most": 30},
        "definitions": {"equation": [], "cell": []},
        "bound": {"value": "0", "unit": {"size": pick.choice((1, 1, 2, 3)), **multipliers()}, "tree": tree(3)},
    }  # fmt: skip
    return restated(content)


def test_random_search_trees_prove_what_enumeration_says():
    kinds = {True: 0, False: 0}
    for seed in range(1500):
        content = settled(random_search(seed))
        assert accepted(content) == certificates.holds(content), seed
        kinds[accepted(content)] += 1
    assert min(kinds.values()) > 100


def test_an_empty_set_proves_any_leaf_but_a_strange_one():
    gone = at(INFEASIBLE, "allowed", to={"lo": [0, 0, 3], "hi": [4, -1, 3], "step": 2})
    for kind in ("dual", "farkas", "modular"):
        leaf = {"kind": kind, "denominator": 2, "equation": [], "multiplier": []}
        assert checker.check(at(gone, "bound", "tree", to=[leaf])).bound == "infeasible"
    assert "a leaf is of no known kind" in refusal(at(gone, "bound", "tree", to=[{**leaf, "kind": "primal"}]))
    assert "from 2 on" in refusal(at(gone, "bound", "tree", to=[{**leaf, "denominator": 1}]))


def test_a_bound_above_the_objective_would_be_a_fault_of_the_verifier(monkeypatch):
    for wrong, value in ((Fraction(17), "18"), (checker.INFINITY, "infeasible")):
        monkeypatch.setattr(checker, "_least_cost", lambda *_, wrong=wrong: wrong)
        assert refusal(at(STRICT, "bound", "value", to=value)) == "the bound contradicts the published values"
    monkeypatch.setattr(checker, "_least_cost", lambda *_: Fraction(27, 2))
    assert not checker.check(at(STRICT, "bound", "value", to="14")).proven


def test_sets_and_branchings_may_be_huge():
    most = 10**39
    wide = {**SEARCHED, "allowed": {"lo": [0, 0, 1 - 4 * most], "hi": [2 * most, 2 * most, 4 * most], "step": 2}}
    leaf = {"kind": "dual", "denominator": 1, "equation": [], "multiplier": []}
    tree = [{"cell": 0, "at": most}, leaf, leaf]
    assert checker.check(wide | {"bound": {**NO_BOUND, "value": "0", "tree": tree}})


# ---- how long it may take -----------------------------------------------------------------------------------------------------------------------

WORK = "takes more steps to check than a certificate of its size may"


def costly(**parts):
    """A certificate of 40 cells, each equal to the next."""
    n = 40
    chain = {
        "length": [2] * (n - 1),
        "rhs": 0,
        "cell": [i for k in range(n - 1) for i in (k, k + 1)],
        "coef": [1, -1] * (n - 1),
    }
    return EVERY["nothing asked"] | {
        "equations": chain, "nominal": [0] * n, "printed": values(*[0] * n), "weight": 1, "objective": 0, "allowed": {"lo": 0, "hi": 5, "step": 1},
        "definitions": {"equation": list(range(n - 1)), "cell": list(range(1, n))}, "levels": certificates.NO_LEVELS,
    } | parts  # fmt: skip


LEAF = {"kind": "dual", "denominator": 1, "equation": [], "multiplier": []}
ASKED = {"cell": list(range(40)), "lpl": 0, "upl": 1, "spl": 0}
MOVED = [{"denominator": 1, "leaf": [0], "difference": [1], "covers": []}] * 20
OWN = {"name": "b", "whole": False, "cell": list(range(40)), "lower": -9, "upper": 9, "levels": None}


@pytest.mark.parametrize(
    ("content", "least"),
    [
        (costly(levels=ASKED, protection="ignored", attackers=[PUBLIC | {"name": str(k)} for k in range(20)]), 20 * 40),
        (costly(levels=ASKED, protection="ignored", witnesses=MOVED), 20 * 40),
        (costly(levels=ASKED, protection="shown", attackers=[OWN], witnesses=[{**x, "covers": [[0, 0]]} for x in MOVED]), 80 * 40),
        (costly(bound={**NO_BOUND, "value": "0", "tree": [x for k in range(30) for x in ({"cell": k, "at": 3}, LEAF)] + [LEAF]}), 30 * 40),
        (costly(bound={**NO_BOUND, "value": None, "unit": {"size": 1, "equation": list(range(39)), "multiplier": [1] * 39}}), 39 * 2),
        (costly(bound={**NO_BOUND, "value": "0", "tree": [{"cell": k, "at": 3} for k in range(30)] + [LEAF] * 31}), 30 * 15),
    ],
)  # fmt: skip
def test_no_small_file_takes_long(monkeypatch, content, least):
    """Work that is not in proportion to what is listed is counted, and refused when there is too much of it."""
    monkeypatch.setattr(checker, "STEPS_EACH", 0)
    monkeypatch.setattr(checker, "MOST_STEPS", least)
    assert refusal(content) == WORK
    monkeypatch.setattr(checker, "MOST_STEPS", 1000 * least)
    assert WORK not in (refusal(content) if not accepted(content) else "")


def test_what_is_listed_may_take_more_steps(monkeypatch):
    content = STRICT
    monkeypatch.setattr(checker, "MOST_STEPS", 0)
    monkeypatch.setattr(checker, "STEPS_EACH", 0)
    assert refusal(content) == WORK
    monkeypatch.setattr(checker, "STEPS_EACH", 100)
    assert checker.check(content)


def test_witnesses_do_not_grow_without_end():
    n = 3000
    chain = {
        "length": [2] * (n - 1),
        "rhs": 0,
        "cell": [i for k in range(n - 1) for i in (k, k + 1)],
        "coef": [10**38, -1] * (n - 1),
    }
    content = costly(
        equations=chain, nominal=[0] * n, printed=values(*[0] * n), definitions={"equation": list(range(n - 1)), "cell": list(range(1, n))},
        witnesses=MOVED[:1], levels={"cell": [0], "lpl": 0, "upl": 1, "spl": 0}, protection="shown",
    )  # fmt: skip
    assert refusal(content) == "witness 0 moves a cell by too many digits"


def test_a_witness_moves_cells_by_at_most_eighty_digits():
    """u = 10^39·x and v = k·u: a move of x by 10^39 moves v by k·10^78."""
    equations = {"length": [2, 2], "rhs": 0, "cell": [0, 1, 1, 2], "coef": [10**39, -1, 99, -1]}
    content = costly(
        equations=equations, nominal=[0] * 3, printed=values(0, 0, 0), definitions={"equation": [0, 1], "cell": [1, 2]}, protection="shown",
        witnesses=[{"denominator": 1, "leaf": [0], "difference": [10**39], "covers": []}], levels={"cell": [0], "lpl": 0, "upl": 1, "spl": 0},
    )  # fmt: skip
    assert refusal(content) == "a level of cell 0 is not shown against attacker 0"
    for coef in (100, -100):
        assert refusal(at(content, "equations", "coef", 2, to=coef)) == "witness 0 moves a cell by too many digits"


# ---- files -------------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return tmp_path / "certificate.json.gz"


def said(path, data):
    path.write_bytes(data)
    found = checker.verify(path)
    assert not found
    assert found[2:] == (False, None, False, None)
    with pytest.raises(checker.Refused) as refused:
        checker.load(path)
    assert not isinstance(refused.value, checker.Unreadable)
    return found.reason


@pytest.mark.parametrize("name", EVERY)
def test_a_file_holds_as_its_content_does(path, name):
    save(EVERY[name], path)
    assert checker.load(path) == EVERY[name]
    found = checker.verify(path)
    assert found == checker.check(EVERY[name])._replace(digest=certificates.digest(EVERY[name]))


CANONICAL = "not one object in canonical JSON"
NUMBER = "a number is not whole, or has too many digits"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a":1,"a":2}', CANONICAL),
        ('{"a":1,"a":1}', CANONICAL),
        ('{"b":1,"a":2}', CANONICAL),
        ('{"a": 1}', CANONICAL),
        ('{"a":1}\n', CANONICAL),
        ('{"a":-0}', CANONICAL),
        ('{"a":"\\u0041"}', CANONICAL),
        ('{"a":"\\ud800"}', CANONICAL),
        ('{"a":"\\/"}', CANONICAL),
        ("[1]", CANONICAL),
        ("1", CANONICAL),
        ('{"a":1.5}', NUMBER),
        ('{"a":1e30000000}', NUMBER),
        ('{"a":-1E5}', NUMBER),
        ('{"a":NaN}', NUMBER),
        ('{"a":-Infinity}', NUMBER),
        ('{"a":' + "9" * 41 + "}", NUMBER),
        ('{"a":-' + "9" * 41 + "}", NUMBER),
        ('{"a":' + "9" * 100_000 + "}", NUMBER),
        ("[" * 100_000, "not the packed JSON of a certificate (maximum recursion depth"),
        ('{"a":' * 100_000, "not the packed JSON of a certificate (maximum recursion depth"),
        ("{", "not the packed JSON of a certificate (Expecting"),
        ("", "not the packed JSON of a certificate (Expecting"),
        ("\ufeff{}", "not the packed JSON of a certificate (Unexpected UTF-8 BOM"),
        ("{}", HEAD),
        ('{"a":' + "9" * 40 + "}", HEAD),
        ('{"a":-' + "9" * 40 + "}", HEAD),
        ('{"ä":"ö"}', HEAD),
    ],
)  # fmt: skip
def test_a_strange_file_is_refused_in_a_sentence(path, text, words):
    path.write_bytes(gzip.compress(text.encode()))
    found = checker.verify(path)
    assert not found
    assert words in found.reason


def test_what_is_not_utf_8_is_refused(path):
    assert "not the packed JSON of a certificate ('utf-8' codec" in said(path, gzip.compress(b'{"a":"\xff"}'))
    assert "not the packed JSON" in said(path, gzip.compress('{"a":1}'.encode("utf-16")))


def test_only_one_whole_gzip_member_is_read(path):
    data = gzip.compress(certificates.canonical(STRICT))
    for size in (0, 1, 10, len(data) // 2, len(data) - 8, len(data) - 1):
        assert "cut off, or something follows its end" in said(path, data[:size])
    for more in (data, b"x", b"\0", gzip.compress(b"")):
        assert "cut off, or something follows its end" in said(path, data + more)
    assert "not the packed JSON of a certificate (Error -3" in said(path, b"no gzip at all")
    assert "not the packed JSON of a certificate (Error -3" in said(path, zlib.compress(b"{}"))
    assert "not the packed JSON of a certificate (Error -3" in said(path, data[:-8] + bytes(8))


@pytest.mark.parametrize("byte", [b" ", b"0", b","])
def test_a_bomb_is_refused_soon(path, byte):
    data = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join([data.compress(byte * (1 << 22)) for _ in range(16)] + [data.flush()])
    assert said(path, packed) == f"unpacks to more than {1 << 25} bytes"


def test_a_file_unpacks_to_no_more_than_its_size_allows(path, monkeypatch):
    noise = random.Random(1).randbytes(2_000_000)
    packed = gzip.compress(noise + bytes(45_000_000))
    assert 25 * len(packed) > 47_000_000
    assert "utf-8" in said(path, packed)
    packed = gzip.compress(noise[:1_400_000] + bytes(45_000_000))
    assert said(path, packed) == f"unpacks to more than {25 * len(packed)} bytes"
    monkeypatch.setattr(checker, "MOST_BYTES", 1000)
    assert said(path, gzip.compress(b" " * 1001)) == "unpacks to more than 1000 bytes"
    assert "Expecting value" in said(path, gzip.compress(b" " * 1000))


def test_a_file_lists_no_more_than_its_size_allows(path, monkeypatch):
    packed = gzip.compress(b"[" + b"0," * 300_000 + b"0]")
    few = (1 << 18) + 16 * len(packed)
    assert few < 300_000
    assert said(path, packed) == "too many entries for its size"
    packed = gzip.compress(b"[" + b"0," * 262_500 + b"0]")
    assert (1 << 18) + 16 * len(packed) >= 262_500
    assert said(path, packed) == CANONICAL
    monkeypatch.setattr(checker, "MOST_ENTRIES", 5)
    assert said(path, gzip.compress(b"[0,0,0,0,0,0,0]")) == "too many entries for its size"
    assert said(path, gzip.compress(b"[0,0,0,0,0,0]")) == CANONICAL


def test_a_file_is_no_larger_than_it_may_be(path, monkeypatch):
    data = gzip.compress(certificates.canonical(STRICT))
    monkeypatch.setattr(checker, "MOST_BYTES", len(data) - 1)
    assert said(path, data) == f"not a file of at most {len(data) - 1} bytes"
    monkeypatch.setattr(checker, "MOST_BYTES", len(data))
    assert said(path, data) == f"unpacks to more than {len(data)} bytes"


def test_what_is_no_file_is_refused(tmp_path):
    assert checker.verify(tmp_path).reason.startswith("not a file of at most")
    os.mkfifo(tmp_path / "pipe")
    assert checker.verify(tmp_path / "pipe").reason.startswith("not a file of at most")
    assert checker.verify("a\0b").reason.startswith("not a readable file (embedded null")
    assert checker.verify(None).reason.startswith("not a readable file (")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert checker.verify(tmp_path / "loop").reason.startswith("not a readable file (")


def test_a_missing_file_is_unreadable(tmp_path):
    with pytest.raises(checker.Unreadable, match=r"^there is no such file$"):
        checker.load(tmp_path / "none")
    assert checker.verify(tmp_path / "none").reason == "there is no such file"


def test_a_file_that_may_not_be_read_is_refused(path, monkeypatch):
    save(STRICT, path)

    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", forbidden)
    assert checker.verify(path).reason == "not a readable file ([Errno 13] Permission denied)"


def test_the_caller_says_which_table_is_meant(path):
    save(STRICT, path)
    assert checker.verify(path, expected={key: STRICT[key] for key in ("nominal", "equations", "decimals")})
    assert checker.verify(path, expected={})
    for key, value in (("nominal", STRICT["printed"]["value"]), ("decimals", False), ("labels", [])):
        assert checker.verify(path, expected={"equations": STRICT["equations"], key: value}).reason == (
            f"the certificate is of another table: its {key} differ{'' if key == 'decimals' else 's'}"
        )


FINE = {"labels", "equations", "nominal", "lower", "upper", "levels", "attackers"}


def test_what_is_expected_stands_in_the_tables_own_decimals(path):
    expected = {key: STRICT[key] for key in FINE} | {"decimals": 0}
    fine = STRICT | {
        "decimals": 1, "nominal": [10 * x for x in STRICT["nominal"]], "upper": [None] * 15 + [2000],
        "printed": values(*[10 * x for x in STRICT["printed"]["value"]]), "objective": 160, "bound": NO_BOUND,
        "allowed": {"lo": [10 * x for x in ALLOWED["lo"]], "hi": [10 * x for x in ALLOWED["hi"]], "step": 50},
        "knowledge": STRICT["knowledge"] | {"base": 50},
        "levels": {"cell": [4, 5, 6, 11], "lpl": [20, 20, 0, 10], "upl": [20, 20, 0, 10], "spl": [40, 0, 0, 30]},
        "attackers": [PUBLIC, STRICT["attackers"][1] | {
            "lower": [None, 120], "upper": [220, 120], "levels": {"cell": [8, 9, 10], "lpl": 20, "upl": [20, 0, 30], "spl": [0, 40, 0]}}],
        "witnesses": [x | {"difference": [10 * y for y in x["difference"]]} for x in STRICT["witnesses"]],
    }  # fmt: skip
    assert checker.verify(save(fine, path), expected=expected)
    for key in FINE:
        changed_one = expected | {key: fine[key] if key not in ("labels", "equations", "lower") else None}
        assert (
            checker.verify(path, expected=changed_one).reason
            == f"the certificate is of another table: its {key} differs"
        )
    rhs = expected | {"equations": STRICT["equations"] | {"rhs": 1}}
    assert "its equations differs" in checker.verify(path, expected=rhs).reason
    for decimals in (2, 1.0):
        assert "its decimals differ" in checker.verify(path, expected={"decimals": decimals}).reason


def expecting(content, **expected):
    """Empty where the certificate is of the table expected, or why not."""
    try:
        checker.check(content, expected=expected)
    except checker.Refused as refusal:
        return str(refusal)
    return ""


OTHER = "the certificate is of another table: "


def test_cells_published_as_they_are_are_those_that_the_table_fixes():
    some = EVERY["perturbation by base of some"]
    for content, fixed in ((STRICT, []), (some, [2]), (EVERY["perturbation by distance of some"], [1])):
        assert expecting(content, fixed=fixed) == ""
        for wrong in ([0], [*fixed, 0] if fixed else [1], [] if fixed else [2]):
            assert OTHER + "the cells published as they are differ" in expecting(content, fixed=wrong)
    assert expecting(ADJUSTED, fixed=[1]) == ""
    assert "a cell that the table says is fixed was moved" in expecting(ADJUSTED, fixed=[1, 2])
    assert expecting(SUPPRESSED, fixed=[1]) == expecting(INFEASIBLE, fixed=[1]) == ""


def weighed(weight, decimals=0):
    return {"weight": weight, "weight_decimals": decimals}


def test_weights_are_those_of_the_table_as_the_method_makes_them_count():
    differs = OTHER + "its weight differs; say with which weights it was protected"
    assert expecting(STRICT, weights=[weighed(1)]) == expecting(STRICT, weights=[weighed(2), weighed([1] * 16)]) == ""
    for wrong in ([], [weighed(2)], [weighed(1, 1)], [weighed(1, False)], [weighed([1] * 15 + [2])]):
        assert expecting(STRICT, weights=wrong) == differs
    nearest, between = BASE, EVERY["perturbation between multiples"]
    assert expecting(nearest, weights=[weighed([1, 2, 3], 1)]) == ""
    assert expecting(nearest, weights=[weighed([2, 2, 3], 1)]) == differs
    # 7 between 4 and 8 leans by 2, times 12 / 4; 9 lies halfway, and 16 stays: their weights count for nothing
    for weights in ([1, 2, 3], [1, 0, 0], [1, 7, 7]):
        assert expecting(between, weights=[weighed(weights, 1)]) == ""
    for weights in ([2, 2, 3], [0, 2, 3]):
        assert expecting(between, weights=[weighed(weights, 1)]) == differs
    assert expecting(SUPPRESSED, weights=[weighed([1, 2, 3], 1)]) == ""
    assert expecting(SUPPRESSED, weights=[weighed([1, 2, 4], 1)]) == differs
    assert expecting(AIMED, weights=[weighed(1)]) == ""
    assert expecting(AIMED, weights=[weighed(2)]) == differs


def test_weights_between_multiples_count_by_the_least_common_multiple_of_their_widths():
    """7 between 6 and 9 leans by 1, times 15 / 3; 9 between 5 and 10 leans by 3 to the upper one, times 15 / 5."""
    content = certificates.perturbed(
        "base", "strict", [3, 5, 0], [7, 9, 16], [(6, 9, 1), (5, 10, 1), (16, 16, 0)], (0, 0), (0, 0), aim="between", target=[6, 10, 16],
        weight=[5, 9, 0], objective=14, protection="none asked",
    )  # fmt: skip
    assert expecting(content, weights=[weighed(1, 1)]) == ""
    assert "its weight differs" in expecting(content, weights=[weighed(2, 1)])


def test_weights_between_multiples_are_of_the_tables_own_unit():
    """In tenths of it, what lies between two multiples is ten times as long, and so is what it leans by."""
    times = lambda *x: [10 * y for y in x]  # noqa: E731
    content = restated(EVERY["perturbation between multiples"] | {
        "decimals": 1, "nominal": times(7, 9, 16), "printed": values(*times(7, 9, 16)), "target": times(8, 6, 16), "objective": 60,
        "allowed": {"lo": times(4, 6, 16), "hi": times(8, 12, 16), "step": [1, 1, 0]},
        "knowledge": {"rule": "perturbed", "kind": "strict", "form": "base", "amount": times(4, 6, 0)},
        "levels": certificates.NO_LEVELS, "protection": "none asked", "witnesses": [], "weight_decimals": 0,
    }) | {"method": EVERY["perturbation between multiples"]["method"]}  # fmt: skip
    assert expecting(content, decimals=0, weights=[weighed([1, 5, 5])]) == ""
    assert "its weight differs" in expecting(content, decimals=0, weights=[weighed([10, 5, 5])])
    assert expecting(content, decimals=1, weights=[weighed([10, 5, 5])]) != ""


def test_bases_have_a_common_multiple_of_bearable_size():
    bases = [10**14 + x for x in (1, 3, 7)]
    content = EVERY["perturbation between multiples"] | {
        "nominal": [7, 9, 16], "knowledge": {"rule": "perturbed", "kind": "strict", "form": "base", "amount": bases},
        "allowed": {"lo": 0, "hi": bases, "step": 1}, "target": [0, 0, 0], "weight": 0, "objective": 0, "status": "feasible",
    }  # fmt: skip
    content = restated(content)
    assert refusal(content) in ("the bases have no common multiple of bearable size",)
    content = restated(at(content, "knowledge", "amount", to=[bases[0], bases[0], bases[1]]) | {
        "allowed": {"lo": 0, "hi": [bases[0], bases[0], bases[1]], "step": 1}})  # fmt: skip
    assert "common multiple" not in (refusal(content) if not accepted(content) else "")


def test_nothing_is_optimal_that_costs_nothing():
    words = "has weight 0, so that nothing smaller exists says nothing of it; check against the table and its weights"
    free = at(STRICT, "weight", to=_put([1] * 16, 4, 0)) | {"bound": NO_BOUND, "objective": 14}
    assert f"cell 4 {words}" in refusal(free)
    assert not certificates.holds(free)
    assert checker.check(free | {"status": "feasible"})
    assert checker.check(free, expected={"weights": [weighed(free["weight"])]})
    assert checker.check(at(STRICT, "weight", to=_put([1] * 16, 0, 0)))  # a multiple stays whatever it costs
    for content in (SUPPRESSED, INTERVAL):
        assert f"cell 2 {words}" in refusal(
            at(content, "weight", to=[1, 2, 0]) | {"objective": {4: 1, 66: 36}[content["objective"]]}
        )
    nothing = {"weight": 0, "objective": 0, "status": "feasible"}
    proven = settled(STRICT | nothing | {"bound": {**NO_BOUND, "tree": [LEAF]}})
    assert f"cell 4 {words}" in refusal(proven)
    assert checker.check(STRICT | nothing | {"bound": NO_BOUND})
    assert checker.check(INFEASIBLE | {"weight": 0})  # whatever tables cost, there is none


# ---- the method's own words ----------------------------------------------------------------------------------------------------------------------


FREE = EVERY["adjusted freely"] | {"method": {"name": "controlled tabular adjustment", "norm": "l1"}}
PROVEN = {**NO_BOUND, "value": "0", "tree": [{"kind": "dual", "denominator": 1, "equation": [], "multiplier": []}]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (at(STRICT, "method", "base", to="500"), "method and knowledge differ on the base of cell 0"),
        (at(STRICT, "method", "base", to=5), "base of method is not a number, or one for each of 16 cells"),
        (at(STRICT, "method", "base", to="5.0.0"), "base of method is not a number"),
        (at(STRICT, "method", "base", to="5e0"), "base of method is not a number"),
        (at(STRICT, "method", "base", to=["5"] * 15), "base of method is not a number, or one for each of 16 cells"),
        (at(STRICT, "method", "base", to=["5"] * 15 + [5]), "base of method is not a number"),
        (at(STRICT, "method", "base", to=["5"] * 15 + ["4"]), "method and knowledge differ on the base of cell 15"),
        (at(STRICT, "method", to=lambda x: {k: v for k, v in x.items() if k != "base"}), "base of method is not a number"),
        (at(STRICT, "method", "knowledge", to="paper"), "method and knowledge differ on what is read out of a value"),
        (at(BASE, "method", "knowledge", to="paper"), "method and knowledge differ on what is read out of a value"),
        (at(STRICT, "decimals", to=1), "method and knowledge differ on the base of cell 0"),
        (at(BASE, "method", to=lambda x: x | {"within": x["base"]}), "method and knowledge differ on the form"),
        (at(BASE, "method", to=lambda x: {k: v for k, v in x.items() if k != "base"}), "method and knowledge differ on the form"),
        (at(NEAR, "method", to=lambda x: {k: v for k, v in x.items() if k != "within"}), "method and knowledge differ on the form"),
        (at(BASE, "method", to=lambda x: {**{k: v for k, v in x.items() if k != "base"}, "within": x["base"]}), "differ on the form"),
        (at(BASE, "method", "objective", to="distance"), "the objective is none of this perturbation"),
        (at(NEAR, "method", "objective", to="nearest"), "the objective is none of this perturbation"),
        (at(BASE, "method", "base", 1, to="6"), "method and knowledge differ on the base of cell 1"),
        (at(NEAR, "method", "within", 2, to="6"), "method and knowledge differ on the within of cell 2"),
        (at(BASE, "target", 0, to=4) | {"objective": 0}, "the target is not that of the method"),
        (at(BASE, "target", to=None) | {"objective": 11, "bound": NO_BOUND}, "the target is not that of the method"),
        (at(NEAR, "target", to=[5, 8, 13]) | {"objective": 0}, "the target is not that of the method"),
        (at(FREE, "target", to=[4, 12, 16]) | {"objective": 0}, "the target is not that of the method"),
        (at(FREE, "knowledge", "most", to=9), "an adjustment tells nothing of how far values were moved"),
        (at(FREE, "method", "norm", to=None), "norm of method is not of the kind str"),
        (at(FREE, "method", "norm", to="l2") | {"bound": PROVEN}, "a bound is stated of a norm that is not l1"),
        (at(ADJUSTED, "method", to={"name": "by hand"}), "the method by hand is not known here, and its entry tells is not the knowledge"),
        (at(ADJUSTED, "method", "tells", "most", 0, to=99), "the method by hand is not known here"),
        (at(ADJUSTED, "method", "tells", "most", 0, to=True), "the method by hand is not known here"),
        (at(STRICT, "sums", to=5), "sums is not of the kind str"),
        (at(STRICT, "sums", to="A" * 64), "sums is not 64 hexadecimal digits"),
        (at(STRICT, "sums", to="a" * 63), "sums is not 64 hexadecimal digits"),
        (at(STRICT, "attackers", to=lambda x: [x[1] | {"levels": None, "cell": [4], "lower": 8, "upper": 8}]) | {"witnesses": []},
         "the level of cell 4 is kept from nobody"),
        (at(STRICT, "attackers", to=lambda x: [x[1]]) | {"witnesses": []}, "the level of cell 4 is kept from nobody"),
        (at(ADJUSTED, "attackers", 0, "levels", to={"cell": [0], "lpl": 4, "upl": 2, "spl": 5}), "the level of cell 0 is kept from nobody"),
        (at(ADJUSTED, "attackers", 0, "levels", to={"cell": [0], "lpl": 3, "upl": 2, "spl": 6}), "the level of cell 0 is kept from nobody"),
        (at(EVERY["nothing asked"], "levels", to={"cell": [0], "lpl": 1, "upl": 0, "spl": 0})
         | {"attackers": [PUBLIC | {"levels": certificates.NO_LEVELS}]}, ASKS),
    ],
)  # fmt: skip
def test_what_the_method_says_binds_what_is_told(content, words):
    assert words in refusal(content)
    assert not certificates.holds(content)


def test_what_the_method_says_may_be_written_in_several_ways():
    for base in ("5.00", "05", ["5"] * 16, ["5.0"] * 16):
        assert checker.check(at(STRICT, "method", "base", to=base))
    for norm, bound in (("l1", NO_BOUND), ("l1", PROVEN), ("l2", NO_BOUND)):
        assert checker.check(at(FREE, "method", "norm", to=norm) | {"bound": bound})
    gone = {"printed": None, "objective": None, "status": "infeasible", "protection": "ignored", "bound": PROVEN}
    assert checker.check(at(FREE, "method", "norm", to="l2") | gone)
    one = at(ADJUSTED, "attackers", 0, "levels", to={"cell": [0], "lpl": 4, "upl": 2, "spl": 6})
    assert checker.check(one)  # one that is asked as much as the table asks
    knows = at(ADJUSTED, "attackers", to=lambda x: [*x, {**PUBLIC, "name": "b", "cell": [0], "lower": 7, "upper": 7}])
    assert checker.check(knows)  # not the only one


# ---- sums ------------------------------------------------------------------------------------------------------------------------------------------

FIRST, SECOND = certificates.with_sums()


def of_sums(change, *, first=FIRST, **expected):
    """What is said of the first certificate when the second is changed and its digest repaired; empty where both hold."""
    second = change(SECOND)
    content = first | {"sums": certificates.digest(second)}
    try:
        checker.compare_sums(content, second, expected or None)
    except checker.Refused as refusal:
        return str(refusal)
    return ""


def test_sums_have_a_certificate_beside_the_first(tmp_path):
    for name, beside in (
        ("certificate.json.gz", "sums.certificate.json.gz"),
        ("r.certificate.json.gz", "r.sums.certificate.json.gz"),
        ("q.certificate.json.gz", "sums.certificate.json.gz"),
        ("other.gz", "sums.certificate.json.gz"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        path = save(FIRST, folder / name)
        alone = (
            "it has sums of cells at risk, and sums.certificate.json.gz beside it does not hold: there is no such file"
        )
        assert checker.verify(path).reason == alone
        save(SECOND, folder / beside)
        assert checker.verify(path)
        assert "; sums of cells at risk in a certificate of their own; " in checker.verify(path).reason
        save(SECOND | {"engine": "another"}, folder / beside)
        assert checker.verify(path).reason.endswith("it is not the one whose digest the certificate names")
    assert "in a certificate of their own" not in checker.check(STRICT).reason


def test_the_table_says_whether_there_are_sums(tmp_path):
    path = save(FIRST, tmp_path / "certificate.json.gz")
    save(SECOND, tmp_path / "sums.certificate.json.gz")
    own = {key: SECOND[key] for key in ("labels", "equations", "nominal", "levels")}
    assert checker.verify(path, expected={"sums": own})
    differs = OTHER + "whether sums of cells are at risk differs"
    assert checker.verify(path, expected={"sums": None}).reason == differs
    other = own | {"levels": SECOND["levels"] | {"lpl": 1}}
    assert checker.verify(path, expected={"sums": other}).reason.endswith("its levels differs")
    assert expecting(FIRST | {"sums": None}, sums=own) == differs
    assert (
        expecting(FIRST | {"sums": None}, sums=None)
        == expecting(SEARCHED, sums=own)
        == expecting(INFEASIBLE, sums=own)
        == ""
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s | {"engine": "another"}, ""),
        (lambda s: s | {"salt": "f" * 64}, "it is of another table or release"),
        (lambda s: s | {"decimals": 1}, "it is of another table or release"),
        (lambda s: s | {"lower": [0, 0, None, None]}, "it is of another table or release"),
        (lambda s: s | {"lower": 0}, "its sums are not those of its equations"),
        (lambda s: s | {"upper": [None, None, None, 99]}, "its sums are not those of its equations"),
        (lambda s: s | {"upper": [20, None, None, None]}, "it is of another table or release"),
        (lambda s: s | {"protection": "ignored", "witnesses": []}, "it does not show that they are protected"),
        (lambda s: s | {"printed": certificates.ranges([0, 6, 11, None], [9, 14, 19, None])}, "it takes another release to be told"),
        (lambda s: s | {"printed": certificates.ranges([1, 6, 11, None], [9, 15, 19, None])}, "it takes another release to be told"),
        (lambda s: s | {"printed": certificates.ranges([1, 6, 11, 0], [9, 14, 19, None])}, "it takes another release to be told"),
        (lambda s: s | {"levels": {"cell": [0, 3], "lpl": [1, 2], "upl": [0, 2], "spl": 0},
                        "witnesses": [x | {"covers": [[0, 0, 3]]} for x in s["witnesses"]]},
         "its levels are not those of every sum and of nothing else"),
        (lambda s: s | {"levels": {"cell": [0], "lpl": 1, "upl": 1, "spl": 0}, "witnesses": [x | {"covers": [[0, 0]]} for x in s["witnesses"]]},
         "its levels are not those of every sum and of nothing else"),
        (lambda s: s | {"attackers": [PUBLIC]}, "its attackers are others"),
        (lambda s: s | {"attackers": [{**PUBLIC, "whole": True, "cell": [1], "lower": 9, "upper": 9}]}, "its attackers are others"),
        (lambda s: s | {"attackers": [*s["attackers"], {**PUBLIC, "name": "b", "levels": certificates.NO_LEVELS}]}, ""),
        (lambda s: s | {"equations": s["equations"] | {"coef": [1, 1, -1, 2, 1, -1]}, "nominal": [7, 9, 16, 30],
                        "levels": {"cell": [3], "lpl": 3, "upl": 3, "spl": 0}}, "its sum 0 is none of cells"),
        (lambda s: s | {"equations": s["equations"] | {"coef": [1, 1, -1, 1, 1, 1]}, "nominal": [7, 9, 16, -23]}, "its sum 0 is none of cells"),
        (lambda s: s | {"equations": s["equations"] | {"rhs": [0, 1]}, "nominal": [7, 9, 16, 22]}, "its sum 0 is none of cells"),
        (lambda s: s | {"equations": s["equations"] | {"length": [3, 1], "cell": [0, 1, 2, 3], "coef": [1, 1, -1, -1]}, "nominal": [7, 9, 16, 0],
                        "definitions": {"equation": [0], "cell": [2]}, "witnesses": [x | {"leaf": [0], "covers": [[0]]} for x in s["witnesses"]]
                        , "levels": certificates.NO_LEVELS, "protection": "none asked"} | {"witnesses": []},
         "it does not show that they are protected"),
        (lambda s: s | {"equations": {"length": [3], "rhs": 0, "cell": [0, 1, 2], "coef": [1, 1, -1]},
                        "definitions": {"equation": [0], "cell": [2]},
                        "witnesses": [{"denominator": 1, "leaf": [3], "difference": [x], "covers": [[0, 3]]} for x in (2, -2)]},
         "its sums are not those of its equations"),
    ],
)  # fmt: skip
def test_the_certificate_of_sums_is_of_the_same_release(change, words):
    assert of_sums(change) == words


def test_the_certificate_of_sums_is_of_its_table_and_of_what_is_told():
    assert of_sums(dict, nominal=SECOND["nominal"]) == ""
    assert "its nominal differs" in of_sums(dict, nominal=[7, 9, 16, 24])
    assert of_sums(dict, first=FIRST | {"salt": "f" * 64}) == "it is of another table or release"
    told = at(FIRST, "knowledge", "kind", to="paper")
    assert of_sums(dict, first=restated(told)) == "it takes another release to be told"
    perturbed = {**EVERY["distance strict"], "knowledge": {"rule": "perturbed", "kind": "strict", "form": "distance", "amount": 4},
                 "printed": values(5, 10, 15), "lower": 0, "salt": FIRST["salt"]}  # fmt: skip
    assert of_sums(dict, first=restated(perturbed)) == "its attackers are others"  # whose values need not be whole
    assert of_sums(lambda s: s | {"attackers": [PUBLIC]}, first=restated(perturbed)) == ""
    whole = at(restated(perturbed), "attackers", 0, "whole", to=True)
    assert of_sums(dict, first=whole) == ""
    asked = at(FIRST, "attackers", to=lambda x: [*x, {**PUBLIC, "name": "b", "levels": certificates.NO_LEVELS}])
    assert of_sums(dict, first=asked) == ""  # one with levels of its own need not be asked of sums


def test_no_bytes_make_it_fail_otherwise(path):
    """Bytes changed in the packed file and in the JSON: it is refused, or it is the same certificate, or it holds by the oracle too."""
    pick = random.Random(7)
    data = certificates.canonical(SEARCHED)
    for _ in range(600):
        changes = bytearray(data)
        for _ in range(pick.choice((1, 1, 2, 5))):
            k = pick.randrange(len(changes))
            changes[k : k + pick.choice((0, 1, 1, 3))] = bytes(
                pick.choice(b'0123456789,:[]{}"-nulltruefalse.eE \\u') for _ in range(pick.choice((0, 1, 2)))
            )
        path.write_bytes(gzip.compress(bytes(changes), 1))
        if checker.verify(path):
            assert certificates.holds(json.loads(bytes(changes)))
    packed = gzip.compress(data)
    for _ in range(300):
        changes = bytearray(packed)
        changes[pick.randrange(len(changes))] ^= 1 << pick.randrange(8)
        path.write_bytes(changes)
        found = checker.verify(path)
        assert not found or found.digest == certificates.digest(SEARCHED)


# ---- the command line ----------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A certificate with what is published of it."""
    return certificates.save_all(SEARCHED, tmp_path)


@pytest.fixture
def run(folder, capsys):
    def call(*names):
        code = checker.main([str(folder / name) for name in names])
        printed = capsys.readouterr()
        return code, printed.out.replace(f"{folder}/", ""), printed.err.replace(f"{folder}/", "")

    return call


HOLDS = "certificate.json.gz: holds: 3 published values satisfy 1 equations; "
USAGE = "usage: verify.py CERTIFICATE ... or verify.py CERTIFICATE [RELEASE.csv] [RELEASE.json]\n"


@pytest.mark.parametrize(
    "names",
    [
        [], ["release.csv"], ["release.json", "release.csv"], ["certificate.json.gz", "certificate.json.gz", "release.csv"],
        ["certificate.json.gz", "certificate.json.gz", "RELEASE.JSON"],
    ],
)  # fmt: skip
def test_a_release_is_compared_with_one_certificate(run, names):
    assert run(*names) == (2, "", USAGE)


def test_certificates_are_checked_one_after_the_other(run, folder):
    code, out, err = run("certificate.json.gz", "certificate.json.gz")
    assert (code, err) == (0, "")
    assert out.count("\n") == out.count(HOLDS) == 2
    save(STRICT | {"objective": 15}, folder / "false")
    code, out, err = run("false", "certificate.json.gz")
    assert (code, err) == (1, "")
    assert out.startswith("false: DOES NOT HOLD: the objective is 16, not as stated\n" + HOLDS)
    code, out, err = run("none.gz", "false")
    assert (code, out) == (2, "false: DOES NOT HOLD: the objective is 16, not as stated\n")
    assert err == "none.gz: there is no such file; check the name\n"
    assert run("false", "none.gz")[0] == 2


def test_the_public_files_agree(run):
    code, out, err = run("release.json", "certificate.json.gz", "release.csv")
    assert (code, err) == (0, "")
    assert [line.partition(": ")[2] for line in out.splitlines()][1:] == [
        "holds: it names this certificate, its method, its decimals and what is printed",
        "holds: its labels and its 3 values are those of the certificate",
    ]
    assert out.startswith(HOLDS)


def test_public_files_of_a_false_certificate_are_worth_nothing(run, folder):
    save(SEARCHED | {"objective": 5}, folder / "certificate.json.gz")
    code, out, _ = run("certificate.json.gz", "release.csv", "release.json")
    assert code == 1
    assert out.count("DOES NOT HOLD: its certificate does not hold\n") == 2


@pytest.mark.parametrize("name", ["release.csv", "release.json"])
def test_a_missing_public_file_is_said(run, folder, name):
    (folder / name).unlink()
    code, _, err = run("certificate.json.gz", name)
    assert (code, err) == (2, f"{name}: there is no such file; check the name\n")


def told_of(run, folder, text):
    """What is said of a release with another text."""
    (folder / "release.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, err = run("certificate.json.gz", "release.csv")
    assert (code, err) == (1, "")
    assert out.count("\n") == 2
    return out.splitlines()[1].removeprefix("release.csv: DOES NOT HOLD: ")


NUMBER_OF = "column value is not the number of the certificate"
HEADING = "its heading is not part, value"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("part,value\nx,0.2\ny,0\nx and y,0.2\n", f"row 4, {NUMBER_OF}"),
        ("part,value\nx,0.2\ny,1\nx and y,0.1\n", f"row 3, {NUMBER_OF}"),
        ("part,value\nx,0.2\ny,\nx and y,0.1\n", f"row 3, {NUMBER_OF}"),
        ("part,value\nx,0.1\ny,0\nx and y,0.2\n", f"row 2, {NUMBER_OF}"),
        ("x,0.2\ny,0\nx and y,0.1\n", HEADING),
        ("part,values\nx,0.2\ny,0\nx and y,0.1\n", HEADING),
        ("Part,value\nx,0.2\ny,0\nx and y,0.1\n", HEADING),
        ("value,part\n0.2,x\n0,y\n0.1,x and y\n", HEADING),
        ("\ufeffpart,value\nx,0.2\ny,0\nx and y,0.1\n", HEADING),
        ("\npart,value\nx,0.2\ny,0\nx and y,0.1\n", HEADING),
        ("value\n0.2\n0\n0.1\n", HEADING),
        ("part,note,value\nx,2,0.2\ny,2,0\nx and y,-3,0.1\n", HEADING),
        ("part,value,true\nx,0.2,2\ny,0,2\nx and y,0.1,-3\n", HEADING),
        ("part,value\nx,0.2,2\ny,0,2\nx and y,0.1,-3\n", "row 2 has 3 fields, the heading 2"),
        ("part,value\nx,0.2\ny,0\nx and y,0.1,-3\n", "row 4 has 3 fields, the heading 2"),
        ("part,value\nx,0.2\ny\nx and y,0.1\n", "row 3 has 1 fields, the heading 2"),
        ("part,value\nx,0.2,\ny,0\nx and y,0.1\n", "row 2 has 3 fields, the heading 2"),
        ("part,value\nx,0.2\n\ny,0\nx and y,0.1\n", "row 3 has 0 fields, the heading 2"),
        ("part,value\nx,0.2\ny,0\n", "row 4 is missing: there are 3 cells"),
        ("part,value\n", "row 2 is missing: there are 3 cells"),
        ("part,value", "row 2 is missing: there are 3 cells"),
        ("part,value\nx,0.2\ny,0\nx and y,0.1\nx,0.2\n", "row 5 is one too many for 3 cells"),
        ("part,value\nx,0.2\ny,0\nx and y,0.1\n\n", "row 5 is one too many for 3 cells"),
        ("part,value\ny,0.2\nx,0\nx and y,0.1\n", "the labels in column part are not those of the certificate in their order"),
        ("part,value\nx,0.2\nx and y,0\ny,0.1\n", "the labels in column part are not those of the certificate in their order"),
        ("part,value\nx,0.2\ny,0\nx and y ,0.1\n", "the labels in column part are not those of the certificate in their order"),
        ("part,value\nx,0.2\nx,0\nx and y,0.1\n", "the labels in column part are not those of the certificate in their order"),
        ("part,value\nx,2e-1\ny,0\nx and y,0.1\n", f"row 2, {NUMBER_OF}"),
        ("part,value\nx,1/5\ny,0\nx and y,0.1\n", f"row 2, {NUMBER_OF}"),
        ("part,value\nx, 0.2\ny,0\nx and y,0.1\n", f"row 2, {NUMBER_OF}"),
        ("part,value\nx,+0.2\ny,0\nx and y,0.1\n", f"row 2, {NUMBER_OF}"),
        ("part,value\nx,0.2_0\ny,0\nx and y,0.1\n", f"row 2, {NUMBER_OF}"),
        ("part,value\nx,.2\ny,0\nx and y,0.1\n", f"row 2, {NUMBER_OF}"),
        ("part,value\nx,٢\ny,0\nx and y,0.1\n", f"row 2, {NUMBER_OF}"),
        ("part,value\nx,0.21\ny,0\nx and y,0.1\n", f"row 2, {NUMBER_OF}"),
        ("part,value\nx,0.2" + "0" * 40 + "\ny,0\nx and y,0.1\n", f"row 2, {NUMBER_OF}"),
        ("part,value\nx," + "0" * 41 + ".2\ny,0\nx and y,0.1\n", f"row 2, {NUMBER_OF}"),
        ('part,value\nx,"0.2\n"\ny,0\nx and y,0.1\n', f"row 2, {NUMBER_OF}"),
    ],
)  # fmt: skip
def test_a_release_that_differs_is_found(run, folder, text, words):
    assert told_of(run, folder, text) == words


@pytest.mark.parametrize(
    "text",
    [
        "part,value\r\nx,0.2\r\ny,-0\r\nx and y,0.1",
        'part,"value"\n"x",0.20\ny,000\n"x and y",0.1' + "0" * 39 + "\n",
    ],
)
def test_decimal_numbers_are_read_as_such(run, folder, text):
    (folder / "release.csv").write_bytes(text.encode())
    assert run("certificate.json.gz", "release.csv")[0] == 0


def test_negative_values_are_read_as_such(run, folder):
    content = SEARCHED | {
        "printed": values(0, 4, -3),
        "allowed": {"lo": [0, 0, -3], "hi": 5, "step": 2},
        "objective": 4,
        "bound": NO_BOUND,
        "decimals": 2,
    }
    certificates.save_all(content, folder)
    assert "-0.03" in (folder / "release.csv").read_text()
    assert run("certificate.json.gz", "release.csv")[0] == 0
    text = certificates.release(content).replace("-0.03", "0.03")
    assert told_of(run, folder, text) == f"row 4, {NUMBER_OF}"


@pytest.mark.parametrize("name", [name for name, content in EVERY.items() if content["printed"]])
def test_the_public_files_of_every_kind_agree(tmp_path, name, capsys):
    """Labels with commas, quotes, line ends and letters of all kinds; what is withheld or open is an empty field."""
    folder = certificates.save_all(EVERY[name], tmp_path)
    assert checker.main([str(folder / x) for x in ("certificate.json.gz", "release.csv", "release.json")]) == 0
    kind, n = EVERY[name]["printed"]["kind"], len(EVERY[name]["nominal"])
    assert f"holds: its labels and its {n} {kind} are those of the certificate\n" in capsys.readouterr().out
    (folder / "release.csv").write_text(certificates.release(EVERY[name], terminator="\r\n"), newline="")
    assert checker.main([str(folder / x) for x in ("certificate.json.gz", "release.csv")]) == 0


PATTERN, RANGES = EVERY["suppressed in the grid"], EVERY["interval of the grid"]


def _fields(content, change):
    """The release with its rows changed, each a list of fields; quoted anew."""
    rows = list(csv.reader(io.StringIO(certificates.release(content), newline="")))
    change(rows)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _rotate(rows):
    labels = [row[:2] for row in rows[1:]]
    for row, own in zip(rows[1:], labels[1:] + labels[:1], strict=True):
        row[:2] = own


def _exchange(rows):
    rows[5][0], rows[9][0] = rows[9][0], rows[5][0]


def _insert(rows):
    for row, x in zip(rows, ["true", *map(str, PATTERN["nominal"])], strict=True):
        row.insert(2, x)


def _print_withheld(rows):
    rows[5][2] = "0.08"


def _print_all(rows):
    for row, x in zip(rows[1:], PATTERN["nominal"], strict=True):
        row[2] = f"{x / 100:.2f}"


def _close(rows):
    rows[1][2] = "0.20"


LABELS = "the labels in column region, kind are not those of the certificate in their order"


@pytest.mark.parametrize(
    ("content", "change", "words"),
    [
        (PATTERN, _print_withheld, "row 6, column value prints what is not published by the certificate"),
        (PATTERN, _print_all, "row 6, column value prints what is not published by the certificate"),
        (PATTERN, lambda rows: rows[5].__setitem__(2, " "), "row 6, column value prints what is not published by the certificate"),
        (PATTERN, lambda rows: rows[5].__setitem__(2, "x"), "row 6, column value prints what is not published by the certificate"),
        (PATTERN, lambda rows: rows[1].__setitem__(2, ""), "row 2, column value is not the number of the certificate"),
        (PATTERN, lambda rows: rows[1].__setitem__(2, "0.21"), "row 2, column value is not the number of the certificate"),
        (PATTERN, _insert, "its heading is not region, kind, value, status"),
        (PATTERN, _rotate, LABELS),
        (PATTERN, _exchange, LABELS),
        (PATTERN, lambda rows: rows.insert(7, rows[6]), "row 8, column value is not the number of the certificate"),
        (PATTERN, lambda rows: rows.append(rows[16]), "row 18 is one too many for 16 cells"),
        (PATTERN, lambda rows: rows.pop(), "row 17 is missing: there are 16 cells"),
        (PATTERN, lambda rows: rows.pop(5), "row 7, column value prints what is not published by the certificate"),
        (RANGES, _close, "row 2, column lower prints what is not published by the certificate"),
        (RANGES, lambda rows: rows[4].__setitem__(3, "0.80"), "row 5, column upper prints what is not published by the certificate"),
        (RANGES, lambda rows: rows[5].__setitem__(2, "0.08"), "row 6, column lower is not the number of the certificate"),
        (RANGES, lambda rows: rows[5].__setitem__(3, "0.08"), "row 6, column upper is not the number of the certificate"),
        (RANGES, lambda rows: rows[5].__setitem__(2, ""), "row 6, column lower is not the number of the certificate"),
        (RANGES, lambda rows: [row.__setitem__(slice(2, 4), row[:1:-1]) for row in rows], "its heading is not region, kind, lower, upper"),
        (RANGES, lambda rows: [row.append("0.08") for row in rows[1:]], "row 2 has 5 fields, the heading 4"),
        (RANGES, lambda rows: [row.pop() for row in rows], "its heading is not region, kind, lower, upper"),
        (RANGES, _rotate, LABELS),
    ],
)  # fmt: skip
def test_a_release_that_prints_something_else_than_its_certificate_says_is_found(
    tmp_path, capsys, content, change, words
):
    folder = certificates.save_all(content, tmp_path)
    (folder / "release.csv").write_text(_fields(content, change), newline="")
    assert checker.main([str(folder / x) for x in ("certificate.json.gz", "release.csv")]) == 1
    assert capsys.readouterr().out.endswith(f"release.csv: DOES NOT HOLD: {words}\n")


@pytest.mark.parametrize(
    ("columns", "kind", "heading"),
    [
        (["value"], "suppressed", "value,published value,status"),
        (["published value", "value"], "suppressed", "published value,value,published published value,status"),
        (["status"], "suppressed", "status,value,published status"),
        (["lower"], "interval", "lower,published lower,upper"),
        (["upper", "lower"], "interval", "upper,lower,published lower,published upper"),
        (["value"], "interval", "value,lower,upper"),
        ([], "suppressed", "value,status"),
    ],
)
def test_a_printed_column_is_told_from_label_columns(tmp_path, columns, kind, heading):
    labels = [[f"{name} {i}" for name in columns] for i in range(3)]
    content = EVERY[kind] | {"labels": certificates.labelled(columns, labels)}
    folder = certificates.save_all(EVERY[kind], tmp_path)
    save(content, folder / "certificate.json.gz")
    text = certificates.release(content, labels)
    for first, code in ((heading, 0), (text.partition("\n")[0], int(text.partition("\n")[0] != heading))):
        (folder / "release.csv").write_text(first + "\n" + text.partition("\n")[2], newline="")
        assert checker.main([str(folder / x) for x in ("certificate.json.gz", "release.csv")]) == code


@pytest.mark.parametrize("name", ["infeasible", "suppressed infeasible", "interval infeasible"])
def test_nothing_can_be_released_of_an_infeasible_table(run, folder, name):
    save(EVERY[name], folder / "certificate.json.gz")
    for file in ("release.csv", "release.json"):
        code, out, _ = run("certificate.json.gz", file)
        assert code == 1
        assert out.endswith(f"{file}: DOES NOT HOLD: nothing is published of this table\n")


@pytest.mark.parametrize(
    "data", [b"\xff", b'part,value\nx,"0.2\n0\n0.1\n', b"v\n" + b"0" * 200_000, b"v\n0.2\r0\n", b""]
)
def test_a_release_that_cannot_be_read_is_refused(run, folder, data):
    assert told_of(run, folder, data).startswith("not readable (")


SAYS = "its method, decimals, printed or certificate are not those of the certificate, or it says more"


@pytest.mark.parametrize(
    "change",
    [
        {"decimals": 2},
        {"decimals": True},
        {"decimals": 1.0},
        {"method": {"name": "by hand", "base": 5}},
        {"certificate": "0" * 64},
        {"certificate": None},
        {"printed": "withheld"},
        {"printed": "ranges"},
        {"printed": None},
        {"printed": values(2, 0, 1)},
        {"more": 1},
    ],
)
def test_a_statement_that_differs_is_found(run, folder, change):
    statement = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps(statement | change))
    code, out, _ = run("certificate.json.gz", "release.json")
    assert code == 1
    assert out.endswith(f"release.json: DOES NOT HOLD: {SAYS}\n")


@pytest.mark.parametrize("key", ["method", "decimals", "printed", "certificate"])
def test_a_statement_leaves_nothing_out_and_says_nothing_twice(run, folder, key):
    statement = json.loads((folder / "release.json").read_text())
    twice = json.dumps(statement).replace("{", f'{{"{key}":0,', 1)
    (folder / "release.json").write_text(twice)
    assert run("certificate.json.gz", "release.json")[1].endswith("DOES NOT HOLD: it says something twice\n")
    statement.pop(key)
    (folder / "release.json").write_text(json.dumps(statement))
    assert run("certificate.json.gz", "release.json")[1].endswith(f"DOES NOT HOLD: {SAYS}\n")


@pytest.mark.parametrize("data", [b"\xff", b"{", b"[" * 100_000, b"9" * 5000, b"\xef\xbb\xbf{}"])
def test_a_statement_that_cannot_be_read_is_refused(run, folder, data):
    (folder / "release.json").write_bytes(data)
    code, out, _ = run("certificate.json.gz", "release.json")
    assert code == 1
    assert "release.json: DOES NOT HOLD: not readable (" in out


def test_it_runs_by_itself(folder):
    alone = subprocess.run(
        [sys.executable, "-I", "-S", checker.__file__, "certificate.json.gz", "release.csv", "release.json"],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone.stdout.count(": holds: ") == 3
    assert (
        subprocess.run([sys.executable, "-I", "-S", checker.__file__], capture_output=True, check=False).returncode == 2
    )


def test_it_runs_as_a_program(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["verify.py", str(folder / "certificate.json.gz")])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(checker.__file__, run_name="__main__")
    assert ended.value.code == 0
    assert ": holds: " in capsys.readouterr().out


def test_the_limits_are_those_said():
    assert (checker.MOST_BYTES, checker.MOST_ENTRIES, checker.MOST_DIGITS) == (2**29, 2**25, 40)
    assert (checker.MOST_STEPS, checker.STEPS_EACH) == (2**25, 100)


def test_the_entries_are_those_of_the_page():
    page = (Path(__file__).resolve().parents[2] / "docs" / "certificate.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert {key.strip(" `") for row in rows for key in row.split(",")} == set(STRICT) == set(checker.ENTRIES)


# ---- every change of one place -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_a_certificate_changed_in_one_place_holds_only_if_it_is_still_true(name):
    for place, content in certificates.changes(EVERY[name]):
        assert accepted(content) == certificates.holds(content), (place, content)
