"""The verifier: it holds for what is true, and says in a sentence what fails."""

import copy
import gzip
import json

import pytest

import cellward as cw
from cellward.audit import verify as checker


@pytest.fixture(scope="module")
def content():
    p = cw.ControlledRounding(5).protect(cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))
    return json.loads(json.dumps(p.certificate().content))


def changed(content, *path, to):
    out = copy.deepcopy(content)
    holder = out
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = to(holder[path[-1]]) if callable(to) else to
    return out


def test_a_true_certificate_holds(content):
    assert "16 published values satisfy 8 equations" in checker.check(content)


@pytest.mark.parametrize(
    ("path", "to", "words"),
    [
        (("format",), "another", "not a cellward certificate of version 1"),
        (("version",), 2, "not a cellward certificate of version 1"),
        (("decimals",), -1, "decimals is not a whole number of at least 0"),
        (("decimals",), True, "decimals is not a whole number"),
        (("objective",), 15, "the objective is 16, not 15 as stated"),
        (("objective",), "16", "objective is not a whole number"),
        (("nominal", 0), 21, "the nominal values miss equation 0"),
        (("published", 5), 25, "the published values miss equation 1"),
        (("published", 5), True, "published is not a list of 16 whole numbers"),
        (("published",), 5, "the published values miss equation 0"),
        (("nominal",), 5, "nominal is not a list of whole numbers"),
        (("published",), lambda v: v[:-1], "published is not a list of 16 whole numbers"),
        (("weight",), -1, "a weight is negative"),
        (("weight",), 2, "the objective is 32, not 16 as stated"),
        (("allowed", "hi", 5), 15, "the published value 20 of cell 5 is not allowed there: 15 to 15"),
        (("allowed", "lo", 5), 21, "is not allowed there"),
        (("allowed", "step"), 0, "is not allowed there"),
        (("allowed", "step"), -5, "is not allowed there"),
        (("allowed", "step"), 7, "is not allowed there"),
        (("allowed",), [], "the allowed set is not given by lo, hi and step"),
        (("equations", "cell", 0), 16, "an equation names a cell outside 0 to 15"),
        (("equations", "cell", 0), -1, "an equation names a cell outside 0 to 15"),
        (("equations", "length", 0), -4, "an equation has a negative length"),
        (("equations", "length", 0), 3, "cell is not a list of 31 whole numbers"),
        (("equations", "rhs"), 1, "the nominal values miss equation 0: they sum to 0, not 1"),
        (("equations",), {}, "the equations are not given by length, rhs, cell and coef"),
    ],
)
def test_a_false_certificate_is_refused_in_a_sentence(content, path, to, words):
    with pytest.raises(checker.Refused, match=words):
        checker.check(changed(content, *path, to=to))


@pytest.mark.parametrize("extra", [{"more": 1}, None])
def test_entries_may_be_neither_added_nor_missing(content, extra):
    wrong = {**content, **extra} if extra else {k: v for k, v in content.items() if k != "claims"}
    with pytest.raises(checker.Refused, match="the entries differ"):
        checker.check(wrong)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "a": 2}', "a key occurs twice"),
        ('{"a": 1.5}', "1.5 is not a whole number"),
        ('{"a": 1e30000000}', "not a whole number"),
        ('{"a": NaN}', "NaN is not a whole number"),
        ('{"a": ' + "9" * 50 + "}", "a number of 50 digits"),
        ("[1]", "no object at the top"),
        ("[" * 100_000, "not the JSON of a certificate"),
        ("{", "not the JSON of a certificate"),
    ],
)
def test_a_strange_file_is_refused_in_a_sentence(tmp_path, text, words):
    path = tmp_path / "certificate.json.gz"
    path.write_bytes(gzip.compress(text.encode()))
    verdict = checker.verify(path)
    assert not verdict
    assert words in verdict.reason
    assert "does not hold" in repr(verdict)


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checker, "MOST_BYTES", 1000)
    path = tmp_path / "certificate.json.gz"
    path.write_bytes(gzip.compress(b" " * 100_000))
    assert "unpacks to more than 1000 bytes" in checker.verify(path).reason


def test_no_file_named_is_a_question_of_usage(capsys):
    assert checker.main([]) == 2
    assert "usage" in capsys.readouterr().err
