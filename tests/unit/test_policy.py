"""Policies: the file says what the rules are, a lock notices every change, and what cannot be read is named with its place."""

import hashlib
import tomllib
from decimal import Decimal

import pytest

from cellward import InputError
from cellward.risk.dominance import Dominance
from cellward.risk.manual import Manual
from cellward.risk.p_percent import PPercent
from cellward.risk.policy import RULES, Policy
from cellward.risk.prior_posterior import PriorPosterior
from cellward.risk.request import Request
from cellward.risk.threshold import Threshold
from cellward.risk.zero import Zero

EVERY = (
    PPercent("12.50", n=2, weights=False), Dominance(1, 75), PriorPosterior(10, "30.25"), Threshold(4, by="records", percent=5, units="0.1"),
    Request(70, code='a"\\\tb', sliding_units=3), Zero(), Threshold(3),
)  # fmt: skip


@pytest.mark.parametrize("locked", [False, True])
def test_a_file_gives_the_policy_back(tmp_path, locked):
    policy = Policy('Name "quoted" \\ ünï', EVERY)
    policy = policy.lock() if locked else policy
    assert Policy.read(policy.write(tmp_path / "policy.toml")) == policy


def test_the_brief_form(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(
        '[policy]\nname = "Business statistics 2026"\n[[rule]]\nrule = "p_percent"\np = 12.5 # decimals are exact\n'
    )
    policy = Policy.read(path)
    assert (policy.name, policy.rules, policy.locked) == (
        "Business statistics 2026",
        (PPercent(Decimal("12.5")),),
        None,
    )


def test_the_digest_covers_name_and_all_parameters():
    text = '{"name":"N","rules":[{"n":"1","p":"12.5","rule":"p_percent","weights":true}]}'
    assert Policy("N", (PPercent(12.5),)).digest == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "change", [("p = 10", "p = 9"), ('"N"', '"M"'), ("n = 3", "n = 4"), ("n = 3", "n = 3\nunits = 2")]
)
def test_a_locked_file_that_was_changed_is_refused(tmp_path, change):
    path = Policy("N", (PPercent(10), Threshold(3))).lock().write(tmp_path / "policy.toml")
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(
        InputError,
        match=r"policy\.toml: .*changed after it was locked .*restore it, or take out its line locked and lock it anew",
    ):
        Policy.read(path)


def test_layout_and_comments_do_not_break_a_lock(tmp_path):
    path = Policy("N", (PPercent(10),)).lock().write(tmp_path / "policy.toml")
    path.write_text(
        "# signed 2026-01-01\n" + path.read_text().replace("p = 10", "n = 1\np = 10.00").replace("\n", "\r\n")
    )
    assert Policy.read(path).rules == (PPercent(10),)


HEAD = '[policy]\nname = "N"\n'
RULE = '[[rule]]\nrule = "p_percent"\np = 10\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no name"),
        ("[policy\n", "not TOML .*line 1"),
        ("x = " + "[" * 5000, "not TOML"),
        (RULE, "no name"),
        (HEAD, "no rules"),
        ("rule = 3\n" + HEAD, "no rules"),
        ("policy = 3\n" + RULE, "no name"),
        ("[policy]\nname = 3\n" + RULE, "name=3"),
        (HEAD + "colour = 1\n" + RULE, r"\[policy\]: 'colour' is not known here; use name, locked"),
        (HEAD + "locked = 1\n" + RULE, "locked=1"),
        (HEAD + 'locked = "sha256:0"\n' + RULE, "changed after it was locked"),
        ("colour = 1\n" + HEAD + RULE, "the file: 'colour' is not known"),
        (HEAD + "[[rule]]\np = 10\n", "rule 1: rule=None is not known; use one of p_percent"),
        (HEAD + RULE + '[[rule]]\nrule = "q"\n', "rule 2: rule='q' is not known"),
        (HEAD + '[[rule]]\nrule = "manual"\n', "rule 1: rule='manual' is not known"),
        (HEAD + RULE + "k = 3\n", r"rule 1 \(p_percent\): 'k' is not known here; use .*p, n"),
        (HEAD + '[[rule]]\nrule = "dominance"\nk = 3\n', r"rule 1 \(dominance\): n is missing"),
        (HEAD + RULE.replace("10", "nan"), "is not a number"),
        (HEAD + RULE.replace("10", "true"), "p=True; give a number"),
        (HEAD + RULE.replace("10", "2026-01-01"), "give a number"),
        (HEAD + RULE.replace("10", "1e999999999"), "exponent"),
        (HEAD + RULE + "n = 1.5\n", "give a whole number"),
        (HEAD + RULE + RULE, r"PPercent\(10\) is given twice"),
    ],
)
def test_bad_files_are_refused_with_the_place(tmp_path, text, said):
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"policy\.toml: .*{said}") as error:
        Policy.read(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Policy("", EVERY),
        lambda: Policy("N", ()),
        lambda: Policy("N", PPercent(10)),
        lambda: Policy("N", (3,)),
        lambda: Policy("N", (Manual({0: "x"}),)),
    ],
)
def test_bad_policies_are_refused(make):
    with pytest.raises(InputError, match=r"^policy"):
        make()


def test_defaults():
    assert Policy.default().rules == (PPercent(10), Threshold(3, percent=10))
    assert Policy.default(counts=True).rules == (Threshold(3, units=2),)


def test_every_rule_of_a_policy_is_known_by_its_kind():
    assert {type(rule).kind for rule in EVERY} == set(RULES)
    assert [rule["rule"] for rule in tomllib.loads(Policy("N", EVERY).text())["rule"]] == [rule.kind for rule in EVERY]
