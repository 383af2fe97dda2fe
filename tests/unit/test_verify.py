"""The verifier: it holds for what is true, and says in a sentence what fails."""

import gzip
import json
import os
import random
import subprocess
import sys
import time
import zlib
from fractions import Fraction
from pathlib import Path

import certificates
import pytest
from certificates import NO_BOUND, PUBLIC, changed, save

from cellward.audit import verify as checker

EVERY = certificates.every()
STRICT, PAPER, SEARCHED, INFEASIBLE = (EVERY[name] for name in ("rounding strict", "rounding paper", "searched", "infeasible"))  # fmt: skip
ADJUSTED = EVERY["adjusted"]
TOLD = [name for name, content in EVERY.items() if len(content["nominal"]) == 3 and content["witnesses"]]


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
        (STRICT, "16 published values satisfy 8 equations; 5 requirements against 2 attackers shown by 4 witnesses (rounded strict); objective 16; "
                 "no smaller objective exists (proven)"),
        (SEARCHED, "3 published values satisfy 1 equations; protection levels: ignored; objective 6; no smaller objective exists (proven)"),
        (INFEASIBLE, "3 nominal values satisfy 1 equations; protection levels: ignored; that no allowed table exists is proven"),
        (INFEASIBLE | {"bound": NO_BOUND}, "3 nominal values satisfy 1 equations; protection levels: ignored; that no allowed table exists is claimed "
                                           "by the engine"),
        (EVERY["rounded paper in steps"], "3 published values satisfy 1 equations; 1 requirements against 1 attackers shown by 2 witnesses (rounded "
                                          f"paper); objective 6; lower bound 0 is proven; {CLAIM}"),
        (EVERY["base strict"], "3 published values satisfy 1 equations; 1 requirements against 1 attackers shown by 2 witnesses (perturbed base "
                               f"strict); objective 3; no lower bound is proven; {CLAIM}"),
        (ADJUSTED, "3 published values satisfy 1 equations; 1 requirements against 1 attackers shown by 2 witnesses (adjusted); objective 4; no lower "
                   "bound is proven"),
        (EVERY["nothing asked"], f"3 published values satisfy 1 equations; protection levels: none asked; objective 4; no lower bound is proven; {CLAIM}"),
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

HEAD = "not a cellward certificate of version 2"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], HEAD),
        (None, HEAD),
        (at(STRICT, "format", to="another"), HEAD),
        (at(STRICT, "version", to=1), HEAD),
        (at(STRICT, "version", to=True), HEAD),
        (STRICT | {"more": 1}, "certificate does not have exactly its entries: [\"'more'\"]"),
        ({k: v for k, v in STRICT.items() if k != "engine"}, "certificate does not have exactly its entries: [\"'engine'\"]"),
        (at(STRICT, "salt", to="0" * 63), "salt is not 64 hexadecimal digits"),
        (at(STRICT, "salt", to="0" * 63 + "g"), "salt is not 64 hexadecimal digits"),
        (at(STRICT, "salt", to="0" * 64 + "\n"), "salt is not 64 hexadecimal digits"),
        (at(STRICT, "salt", to=0), "salt of certificate is not of the kind str"),
        (at(STRICT, "engine", to=None), "engine of certificate is not of the kind str"),
        (at(STRICT, "decimals", to=-1), "too many decimals, or too few"),
        (at(STRICT, "decimals", to=41), "too many decimals, or too few"),
        (at(STRICT, "weight_decimals", to=41), "too many decimals, or too few"),
        (at(STRICT, "decimals", to=True), "decimals of certificate is not of the kind int"),
        (at(STRICT, "status", to="perhaps"), "the status does not fit the values"),
        (at(STRICT, "status", to="infeasible"), "the status does not fit the values"),
        (at(STRICT, "published", to=None), "the status does not fit the values"),
        (at(STRICT, "objective", to=None), "the status does not fit the values"),
        (at(INFEASIBLE, "status", to="optimal"), "the status does not fit the values"),
        (at(INFEASIBLE, "objective", to=0), "the status does not fit the values"),
        (at(STRICT, "objective", to=15), "the objective is 16, not as stated"),
        (at(STRICT, "weight", to=2), "the objective is 32, not as stated"),
        (at(STRICT, "weight", to=-1), "weight of certificate is not of the kind amounts/nominal"),
        (at(STRICT, "nominal", 0, to=21), "the nominal values miss equation [0]"),
        (at(STRICT, "nominal", to=5), "nominal of certificate is not of the kind numbers"),
        (at(STRICT, "published", 5, to=15), "the published values miss equation [1]"),
        (at(STRICT, "published", 5, to=25), "the published value is not allowed in cell [5]"),
        (at(STRICT, "published", 5, to=True), "published of certificate is not of the kind numbers?/nominal"),
        (at(STRICT, "published", to=5), "published of certificate is not of the kind numbers?/nominal"),
        (at(STRICT, "published", to=lambda v: v[:-1]), "published of certificate is not of the kind numbers?/nominal"),
        (at(STRICT, "equations", "rhs", to=1), "the nominal values miss equation [0]"),
        (at(STRICT, "equations", "cell", 0, to=16), "the lengths of the equations do not fit"),
        (at(STRICT, "equations", "cell", 0, to=-1), "the lengths of the equations do not fit"),
        (at(STRICT, "equations", "length", to=[4] * 7 + [-4, 8]), "the lengths of the equations do not fit"),
        (at(STRICT, "equations", "length", 0, to=3), "the lengths of the equations do not fit"),
        (at(STRICT, "equations", "cell", to=3), "cell of equations is not of the kind numbers"),
        (at(STRICT, "equations", to={}), "equations does not have exactly its entries"),
        (at(STRICT, "allowed", to=[]), "allowed does not have exactly its entries: [\"'no object'\"]"),
        (at(STRICT, "allowed", "hi", 5, to=15), "the published value is not allowed in cell [5]"),
        (at(STRICT, "allowed", "step", to=0), "a step is 0 and lo is not hi"),
        (at(STRICT, "allowed", "step", to=-5), "step of allowed is not of the kind amounts/n"),
        (at(STRICT, "method", "name", to=5), "the method has no name"),
        (at(STRICT, "method", to=[]), "method of certificate is not of the kind dict"),
        (at(STRICT, "method", "steps", to=2), "are not those of one rounding"),
        (at(STRICT, "method", "steps", to=True), "are not those of one rounding"),
        (at(STRICT, "knowledge", "base", to=10), "are not those of one rounding"),
        (at(STRICT, "knowledge", to={"rule": "adjusted", "most": 5}), "are not those of one rounding"),
        (at(ADJUSTED, "method", "name", to="controlled rounding"), "are not those of one rounding"),
        (at(STRICT, "knowledge", to=5), "knowledge of certificate is not of the kind dict"),
        (at(STRICT, "knowledge", "rule", to="told"), "knowledge has no known rule, form or kind"),
        (at(STRICT, "knowledge", "rule", to=[]), "knowledge has no known rule, form or kind"),
        (at(STRICT, "knowledge", "kind", to="loose"), "knowledge has no known rule, form or kind"),
        (at(STRICT, "knowledge", "steps", to=0), "steps of rounded is not of the kind positive"),
        (at(STRICT, "knowledge", "steps", to=True), "steps of rounded is not of the kind positive"),
        (at(STRICT, "lower", to=1000), "the true value lies outside what the public knows of cell [0]"),
        (at(STRICT, "upper", 15, to=189), "the true value lies outside what the public knows of cell [15]"),
        (at(STRICT, "attackers", to=[]), "no attacker, or two namesakes"),
        (at(STRICT, "attackers", to=lambda x: [x[0], x[0]]), "no attacker, or two namesakes"),
        (at(STRICT, "attackers", 1, "upper", 0, to=18), "what attacker 1 knows is not true"),
        (at(STRICT, "attackers", 1, "lower", 0, to=20), "what attacker 1 knows is not true"),
        (at(STRICT, "attackers", 0, "whole", to=1), "whole of attacker is not of the kind bool"),
        (at(STRICT, "attackers", 1, "cell", to=[10, 5]), "cell of attacker is not of the kind indices/n"),
        (at(STRICT, "attackers", 1, "cell", to=[10, 16]), "cell of attacker is not of the kind indices/n"),
        (at(STRICT, "attackers", 1, "cell", to=[-1, 10]), "cell of attacker is not of the kind indices/n"),
        (at(STRICT, "attackers", 1, "cell", to=[5, 5]), "cell of attacker is not of the kind indices/n"),
        (at(STRICT, "definitions", "cell", to=lambda x: [3, *x[1:-1], 3]), "a cell or an equation is in two definitions"),
        (at(STRICT, "definitions", "equation", to=lambda x: [0, *x[1:-1], 0]), "a cell or an equation is in two definitions"),
        (at(STRICT, "definitions", "equation", 0, to=7), "definition 0 is none"),
        (at(STRICT, "definitions", "equation", 0, to=8), "definition 0 is none"),
        (at(STRICT, "definitions", "equation", 0, to=-8), "definition 0 is none"),
        (at(STRICT, "definitions", to={"equation": [3, 0, 1, 2, 4, 5, 6], "cell": [15, 3, 7, 11, 12, 13, 14]}), "definition 0 is none"),
        (at(SEARCHED, "definitions", "cell", to=[0]), "definition 0 is none"),
        (at(STRICT, "witnesses", 0, "denominator", to=0), "denominator of witness is not of the kind positive"),
        (at(STRICT, "witnesses", 0, "denominator", to=2), "attacker 0 can rule out witness 0"),
        (at(STRICT, "witnesses", 2, "difference", to=[0]), "witness 2 moves no leaf, or one by 0"),
        (at(STRICT, "witnesses", 2, "leaf", to=[7]), "witness 2 moves no leaf, or one by 0"),
        (at(STRICT, "witnesses", 2, "difference", to=[3]), "attacker 0 can rule out witness 2"),
        (at(STRICT, "witnesses", 0, "covers", to=[[1, 8, 9], [0, 4, 5]]), "witness 0 does not cover attackers in increasing order"),
        (at(STRICT, "witnesses", 0, "covers", to=[[0, 4], [0, 5]]), "does not cover attackers in increasing order"),
        (at(STRICT, "witnesses", 0, "covers", to=[[2, 4]]), "does not cover attackers in increasing order"),
        (at(STRICT, "witnesses", 0, "covers", to=[[-1, 4]]), "does not cover attackers in increasing order"),
        (at(STRICT, "witnesses", 0, "covers", to=[[]]), "does not cover attackers in increasing order"),
        (at(STRICT, "witnesses", 0, "covers", to=[[0, 4, 4]]), "witness 0 covers a cell twice, or one in vain"),
        (at(STRICT, "witnesses", 0, "covers", to=[[0, 6]]), "witness 0 covers a cell twice, or one in vain"),
        (at(STRICT, "witnesses", 0, "covers", to=[[1, 10]]), "witness 0 covers a cell twice, or one in vain"),
        (at(STRICT, "witnesses", 0, "covers", to=[5]), "cells of cover is not of the kind numbers"),
        (at(STRICT, "witnesses", 0, "covers", to=0), "covers of witness is not of the kind list"),
        (at(STRICT, "attackers", 1, "upper", 0, to=20), "attacker 1 can rule out witness 1"),
        (at(STRICT, "witnesses", to=lambda x: x[1:]), "a level of cell 4 is not shown against attacker 0"),
        (at(STRICT, "witnesses", to=[]), "a level of cell 4 is not shown against attacker 0"),
        (at(STRICT, "levels", "upl", 3, to=3), "a level of cell 11 is not shown against attacker 0"),
        (at(STRICT, "levels", "lpl", 3, to=2), "a level of cell 11 is not shown against attacker 0"),
        (at(STRICT, "levels", "spl", 3, to=4), "a level of cell 11 is not shown against attacker 0"),
        (at(STRICT, "attackers", 1, "lower", 1, to=None), "a level of cell 10 is not shown against attacker 1"),
        (at(STRICT, "protection", to="perhaps"), "protection is not what levels, values and witnesses say it is"),
        (at(STRICT, "protection", to="ignored"), "protection is not what levels, values and witnesses say it is"),
        (at(STRICT, "protection", to="none asked"), "protection is not what levels, values and witnesses say it is"),
        (at(SEARCHED, "protection", to="none asked"), "protection is not what levels, values and witnesses say it is"),
        (at(SEARCHED, "protection", to="shown"), "a level of cell 2 is not shown against attacker 0"),
        (at(INFEASIBLE, "protection", to="shown"), "protection is not what levels, values and witnesses say it is"),
        (at(EVERY["nothing asked"], "protection", to="ignored"), "protection is not what levels, values and witnesses say it is"),
        (at(EVERY["nothing asked"], "protection", to="shown"), "protection is not what levels, values and witnesses say it is"),
        (at(EVERY["adjusted freely"], "levels", "lpl", 0, to=4), "a level of cell 0 is not shown against attacker 0"),
        (at(EVERY["adjusted freely"], "levels", "upl", 1, to=4), "a level of cell 1 is not shown against attacker 0"),
        (at(EVERY["adjusted freely"], "levels", "spl", to=1), "a level of cell 0 is not shown against attacker 0"),
        (at(EVERY["adjusted freely"], "levels", to={"cell": [2], "lpl": 1, "upl": 0, "spl": 0}), "a level of cell 2 is not shown against attacker 0"),
        (at(EVERY["adjusted freely"], "levels", to={"cell": [2], "lpl": 0, "upl": 1, "spl": 0}), "a level of cell 2 is not shown against attacker 0"),
        (at(STRICT, "bound", "value", to="15"), "the bound is 16, not as stated"),
        (at(STRICT, "bound", "value", to="16/1"), "the bound is 16, not as stated"),
        (at(STRICT, "bound", "value", to=16), "the bound is 16, not as stated"),
        (at(STRICT, "bound", "value", to=None), "the bound is 16, not as stated"),
        (at(STRICT, "bound", "tree", to=[]), "the bound is None, not as stated"),
        (at(INFEASIBLE, "bound", "value", to="7"), "the bound is infeasible, not as stated"),
        (at(STRICT, "bound", "unit", "size", to=4), "the unit does not divide what cell 4 can cost"),
        (at(STRICT, "bound", "unit", "multiplier", 0, to=2), "the bound is 17, not as stated"),
        (at(STRICT, "bound", "unit", "multiplier", 1, to=2), "the unit does not divide what cell 4 can cost"),
        (at(STRICT, "bound", "unit", to=None), "unit does not have exactly its entries"),
        (at(STRICT, "bound", "tree", 0, "kind", to="primal"), "a leaf is of no known kind"),
        (at(STRICT, "bound", "tree", 0, "kind", to="farkas"), "a farkas leaf does not show what it should"),
        (at(STRICT, "bound", "tree", 0, "kind", to="modular"), "a modular leaf does not show what it should"),
        (at(INFEASIBLE, "bound", "tree", 0, "denominator", to=1), "a leaf is of no known kind"),
        (at(INFEASIBLE, "bound", "tree", 0, "denominator", to=2), "a modular leaf does not show what it should"),
        (at(INFEASIBLE, "bound", "tree", 0, "denominator", to=8), "a modular leaf does not show what it should"),
        (at(SEARCHED, "bound", "tree", to=lambda x: x[:-1]), "the tree ends before its last leaf"),
        (at(SEARCHED, "bound", "tree", to=lambda x: [*x, x[-1]]), "the tree goes on behind its end"),
        (at(SEARCHED, "bound", "tree", 0, "cell", to=3), "the tree branches on a cell that is not there"),
        (at(SEARCHED, "bound", "tree", 0, "cell", to=-1), "the tree branches on a cell that is not there"),
        (at(SEARCHED, "bound", "tree", 0, "at", to=True), "at of node is not of the kind int"),
        (at(SEARCHED, "bound", "tree", 2, to=5), "leaf does not have exactly its entries"),
    ],
)  # fmt: skip
def test_a_false_certificate_is_refused_in_a_sentence(content, words):
    assert words in refusal(content)


def test_only_some_wrong_entries_are_named():
    said = refusal({"format": checker.FORMAT, "version": 2})
    assert said.count(",") == 4
    assert "'allowed'" in said


def test_a_rounding_was_free_to_take_every_multiple_within_the_public_bounds():
    free = {"bound": NO_BOUND, "upper": None, "lower": None}
    for end, i, to in (("hi", 9, 30), ("lo", 8, 20), ("lo", 9, 35), ("hi", 8, 10)):
        assert f"cell {i} was not free to be rounded" in refusal(INFEASIBLE_ROUNDING | free | {"allowed": {**ALLOWED, end: _put(ALLOWED[end], i, to)}})
    narrow = {**ALLOWED, "hi": _put(ALLOWED["hi"], 9, 30), "lo": _put(ALLOWED["lo"], 8, 20)}
    bounds = {"upper": _put([None] * 16, 9, 34), "lower": _put([None] * 16, 8, 16)}
    assert checker.check(INFEASIBLE_ROUNDING | free | {"allowed": narrow} | bounds)
    for key, i, to in (("upper", 9, 35), ("lower", 8, 15)):
        assert f"cell {i} was not free" in refusal(INFEASIBLE_ROUNDING | free | {"allowed": narrow} | bounds | {key: _put(bounds[key], i, to)})


ALLOWED = STRICT["allowed"]
INFEASIBLE_ROUNDING = STRICT | {
    "published": None, "objective": None, "status": "infeasible", "protection": "ignored", "witnesses": [],
}  # fmt: skip


def _put(column, i, x):
    return [*column[:i], x, *column[i + 1 :]]


def test_a_rounding_moves_by_less_than_its_steps_and_to_multiples():
    plain = {"bound": NO_BOUND, "levels": certificates.NO_LEVELS, "attackers": [PUBLIC], "witnesses": [], "protection": "none asked", "upper": None}
    wide = STRICT | plain | {"allowed": {"lo": 0, "hi": 300, "step": 5}, "lower": None}
    assert checker.check(wide)
    cycle = {4: 5, 5: 25, 8: 20, 9: 25}  # 19 and 32 are rounded by more than 5
    far = wide | {"published": [cycle.get(i, v) for i, v in enumerate(STRICT["published"])], "objective": 26}
    assert "cell 5 is not rounded to a multiple of 5 less than 1 times that away" in refusal(_in_steps(far, 1))
    assert checker.check(_in_steps(far, 2))
    off = wide | {"allowed": {"lo": [-300 + a % 5 for a in STRICT["nominal"]], "hi": 300, "step": 5}, "published": STRICT["nominal"], "objective": 0}
    assert "cell 4 was not free" in refusal(off)


def _in_steps(content, s):
    """Knowledge wide enough that only the method's own check is left."""
    return content | {"method": {**content["method"], "steps": s}, "knowledge": {**content["knowledge"], "kind": "paper", "steps": s}}


def test_a_fixed_cell_keeps_its_value():
    step = _put([5] * 16, 5, 0)
    fixed = {"lo": _put(ALLOWED["lo"], 5, 19), "hi": _put(ALLOWED["hi"], 5, 19), "step": step}
    content = INFEASIBLE_ROUNDING | {"allowed": fixed, "knowledge": {**STRICT["knowledge"], "base": step}, "bound": NO_BOUND}
    assert checker.check(content)
    moved = {**fixed, "lo": _put(fixed["lo"], 5, 20), "hi": _put(fixed["hi"], 5, 20)}
    assert "cell 5 was not free to be rounded" in refusal(content | {"allowed": moved})


def test_a_whole_attacker_knows_halves_are_none():
    assert "attacker 0 can rule out witness 0" in refusal(at(PAPER, "attackers", 0, "whole", to=True))


def test_a_witness_that_covers_nobody_may_lie_anywhere():
    beyond = {"denominator": 1, "leaf": [0], "difference": [10**6], "covers": []}
    assert checker.check(at(ADJUSTED, "witnesses", to=lambda x: [*x, beyond]))
    assert "attacker 0 can rule out witness 2" in refusal(at(ADJUSTED, "witnesses", to=lambda x: [*x, {**beyond, "covers": [[0]]}]))


def test_a_witness_must_hold_in_equations_without_a_definition():
    doubled = {"length": [3, 2], "rhs": [0, 9], "cell": [0, 1, 2, 0, 0], "coef": [1, 1, -1, 2, -1]}
    assert "the nominal values miss equation [1]" in refusal(ADJUSTED | {"equations": doubled})
    fixed = ADJUSTED | {"equations": {**doubled, "rhs": [0, 7]}, "published": [7, 8, 15], "objective": 5}
    assert "witness 0 is no table" in refusal(fixed)


def test_definitions_follow_each_other():
    """x = y, y = z, z = u by definitions in another order than the equations; moving u moves all."""
    chain = {"length": [2, 2, 2], "rhs": 0, "cell": [0, 1, 1, 2, 2, 3], "coef": [1, -1, -1, 1, 1, -1]}
    witnesses = [{"denominator": 1, "leaf": [3], "difference": [x], "covers": [[0, 0]]} for x in (3, -3)]
    content = ADJUSTED | {
        "equations": chain, "nominal": [5] * 4, "published": [5] * 4, "weight": 1, "objective": 0, "levels": {"cell": [0], "lpl": 3, "upl": 3, "spl": 6},
        "definitions": {"equation": [2, 1, 0], "cell": [2, 1, 0]}, "witnesses": witnesses, "knowledge": {"rule": "adjusted", "most": 3},
    }  # fmt: skip
    assert checker.check(content)
    assert "attacker 0 can rule out witness 0" in refusal(content | {"knowledge": {"rule": "adjusted", "most": [2, 3, 3, 3]}})
    assert "definition 1 is none" in refusal(content | {"definitions": {"equation": [2, 0, 1], "cell": [2, 0, 1]}})
    assert "witness 0 is no table" in refusal(content | {"definitions": {"equation": [2, 1], "cell": [2, 1]}})


def test_a_cell_may_not_be_defined_by_an_equation_that_names_it_twice():
    twice = {"length": [3], "rhs": [16], "cell": [0, 1, 0], "coef": [1, 1, 0]}
    content = ADJUSTED | {"equations": twice, "published": [6, 10, 15], "objective": 6, "knowledge": {"rule": "adjusted", "most": 3}}
    assert "definition 0 is none" in refusal(content | {"definitions": {"equation": [0], "cell": [0]}})
    assert "definition 0" not in refusal(content | {"definitions": {"equation": [0], "cell": [1]}})


# ---- the bound ---------------------------------------------------------------------------------------------------------------------------------


def one_cell(a, lo, hi, step, w, *, multiplier=0, denominator=1, size=1, unit=0, path=()):
    """A certificate of one cell without equations but one of length 1, whose bound comes from one leaf at the end of a path of branchings."""
    leaf = {"kind": "dual", "denominator": denominator, "equation": [0], "multiplier": [multiplier]}
    empty = {**leaf, "kind": "farkas", "multiplier": [0]}
    tree = [leaf]
    for at_, up in reversed(path):
        tree = [{"cell": 0, "at": at_}, *([empty, *tree] if up else [*tree, empty])]
    return EVERY["nothing asked"] | {
        "equations": {"length": [1], "rhs": [a], "cell": [0], "coef": [1]},
        "nominal": [a], "published": None, "objective": None, "status": "infeasible", "weight": w, "levels": certificates.NO_LEVELS,
        "allowed": {"lo": lo, "hi": hi, "step": step}, "knowledge": {"rule": "adjusted", "most": None}, "definitions": {"equation": [], "cell": []},
        "bound": {"value": None, "unit": {"size": size, "equation": [0], "multiplier": [unit]}, "tree": tree},
    }  # fmt: skip


def bound_of(content):
    """What the verifier makes of it."""
    return refusal(at(content, "bound", "value", to="?")).removeprefix("the bound is ").removesuffix(", not as stated")


@pytest.mark.parametrize("a", [-1, 0, 3, 4, 5, 30, 44, 46, 100])
@pytest.mark.parametrize(("lo", "hi", "step"), [(0, 45, 5), (1, 47, 5), (3, 3, 0), (0, 20, 20), (0, 19, 7), (-9, 90, 1), (0, 30, 5), (0, 25, 5)])
def test_least_and_residues_are_those_of_all_elements(a, lo, hi, step):
    elements = range(lo, hi + 1, step or 1)
    for w, m, d in [(1, 0, 1), (3, 2, 1), (2, 5, 2), (2, -5, 2), (1, 7, 3), (4, -9, 2), (0, 3, 1)]:
        costs = [w * abs(v - a) - Fraction(m, d) * v for v in elements]
        content = one_cell(a, lo, hi, step, w, multiplier=m, denominator=d)
        assert bound_of(content) == str((Fraction(m * a, d) + min(costs)).__ceil__())
        for size in (2, 3, 4, 5, 7, 10):
            residues = {(w * abs(v - a) - m * v) % size for v in elements}
            content = one_cell(a, lo, hi, step, w, size=size, unit=m)
            said = bound_of(content)
            if len(residues) > 1:
                assert said == "the unit does not divide what cell 0 can cost"
            else:
                assert (int(said) - m * a - residues.pop()) % size == 0
                assert 0 <= int(said) - min(w * abs(v - a) for v in elements) < size


@pytest.mark.parametrize(
    ("path", "least"),
    [
        ([], 0), ([(3, True)], 2), ([(2, False)], 1), ([(2, True)], 2), ([(5, False), (5, False)], 0), ([(-100, True)], 0), ([(100, False)], 0),
        ([(7, True)], 7), ([(9, True)], 7), ([(4, True), (12, False)], 2), ([(-7, False)], 10), ([(-8, False)], 10),
    ],
)  # fmt: skip
def test_branchings_leave_what_they_say(path, least):
    """S = {−7, −2, 3, 8, 13, …} around 3; the empty sides are shown by any leaf only if they are empty, so all leaves are dual with multiplier 0 here."""
    content = one_cell(3, -7, 20, 5, 1, path=path)
    tree = [node if "at" in node else {**node, "kind": "dual"} for node in content["bound"]["tree"]]
    elements = set(range(-7, 21, 5))
    for limit, up in path:
        elements = {v for v in elements if (v > limit) == up}
    content = at(content, "bound", "tree", to=tree)
    assert checker.check(at(content, "bound", "value", to=bound_of(content)))
    assert certificates.holds(at(content, "bound", "value", to=bound_of(content)))
    assert least >= 0
