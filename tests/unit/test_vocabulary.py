"""One vocabulary: every option of Python, the command line and jobs stands in the guide's list, and nothing else does."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest
import typer

import cellward as cw
from cellward import job
from cellward.cli.app import build
from cellward.protect.methods import METHODS, flag_of
from cellward.protect.option import options_of
from cellward.table.frame import LongSpec

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
SECTIONS = {"job": ["name"], "input": job._INPUT, "roles": [*job._LONG, *job._MICRO], "risk": job._RULES, "attackers": job._ATTACKERS,
            "method": [*job._PROTECTION, *(name for method in METHODS for name in options_of(method))], "output": job._OUTPUT}  # fmt: skip


def listed():
    """The rows of the guide's list: Python, command line, job; None where it cannot be said there."""
    section = GUIDE.read_text().split("## Vocabulary\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ")[:3] for line in section.splitlines() if line.startswith("| ")][2:]
    return [tuple(None if entry == "–" else entry.strip("`") for entry in row) for row in rows]


def on_command_line():
    commands = typer.main.get_command(build()).commands.values()
    return {
        one.opts[0]
        for command in commands
        for one in command.params
        if one.param_type_name == "option" and not one.hidden
    }


def in_python():
    calls = [
        cw.Table.from_frame,
        cw.Table.from_microdata,
        cw.Table.find,
        cw.Attacker.from_data,
        cw.advise,
        cw.audit,
        cw.compare,
        cw.ControlledRounding.protect,
    ]
    named = {
        name
        for call in calls
        for name, one in inspect.signature(call).parameters.items()
        if one.kind is one.KEYWORD_ONLY
    }
    named |= {name for method in METHODS for name in options_of(method)}
    return (named | {"names", "methods"}) - {"progress"}


def test_nothing_is_listed_twice():
    for column in zip(*listed(), strict=True):
        told = [entry for entry in column if entry is not None]
        assert len(set(told)) == len(told)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.word)
def test_each_option_of_each_method_is_listed_under_one_word(method):
    rows = {python: (shell, section) for python, shell, section in listed()}
    for name, option in options_of(method).items():
        assert rows[name] == (flag_of(name) if option.on_command_line else None, f"[method] {name}")


def test_python_says_what_is_listed():
    assert {python for python, _, _ in listed() if python} - {"steps"} == in_python()


def test_the_command_line_says_what_is_listed():
    assert {shell for _, shell, _ in listed() if shell} == on_command_line()


def test_jobs_say_what_is_listed():
    told = {section for _, _, section in listed() if section}
    assert told == {f"[{name}] {key}" for name, keys in SECTIONS.items() for key in keys} | {"[hierarchies]"}


def test_each_word_is_the_same_in_all_three():
    """But for a hierarchy, of which the command line takes one a time, and for files that stand for what Python holds."""
    for python, shell, section in listed():
        if python not in (None, "hierarchies") and shell is not None:
            assert shell == flag_of(python)
        if python not in (None, "hierarchies", "attackers") and section is not None:
            assert section.split("] ")[1] == python


TABLE = "region,n\nN,3\nS,4\n"
FORMER = {"missing": ("zero", "empty"), "weight": ("n", "cost")}


@pytest.mark.parametrize("word", FORMER)
def test_a_former_word_is_refused_in_a_sentence_that_names_the_new_one(word, tmp_path):
    given, new = FORMER[word]
    sentence = rf"{word}: .* is called {new}, .*; write {new}$"
    (tmp_path / "t.csv").write_text(TABLE)
    options = {"dims": ["region"], "value": "n", word: given}
    with pytest.raises(cw.InputError, match=sentence):
        cw.Table.from_frame({"region": ["N"], "n": [1]}, **options)
    with pytest.raises(cw.InputError, match=sentence):
        cw.read(tmp_path / "t.csv", **options)
    text = f'[input]\nfile = "t.csv"\nkind = "table"\n[roles]\ndims = ["region"]\nvalue = "n"\n{word} = "{given}"\n'
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(cw.InputError, match=sentence):
        job.Job.read(tmp_path / "job.toml")


@pytest.mark.parametrize("word", FORMER)
def test_a_former_word_is_refused_on_the_command_line(word, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    shell = [
        "round",
        tmp_path / "t.csv",
        "--dims",
        "region",
        "--value",
        "n",
        f"--{word}",
        FORMER[word][0],
        "--out",
        tmp_path / "out",
    ]
    with pytest.raises(cw.InputError, match=rf"\(--{FORMER[word][1]} on the command line\)"):
        typer.main.get_command(build())([str(one) for one in shell], standalone_mode=False)


def test_an_unknown_word_is_a_mistake_as_ever():
    with pytest.raises(TypeError, match="emptiness"):
        cw.Table.from_frame({"region": ["N"], "n": [1]}, dims=["region"], value="n", emptiness="zero")


def test_costs_written_are_read_again_under_their_word(tmp_path):
    table = cw.Table.from_frame({"region": ["N", "S"], "n": [3, 4], "c": [2, 5]}, dims=["region"], value="n", cost="c")
    cw.write(table, tmp_path / "t.csv")
    assert re.match("region,value,status,cost\n", (tmp_path / "t.csv").read_text())
    again = cw.read(tmp_path / "t.csv", dims=["region"], value="value", cost="cost")
    assert again.weight.tolist() == table.weight.tolist()
    assert "cost" in {one.name for one in fields(LongSpec)}
