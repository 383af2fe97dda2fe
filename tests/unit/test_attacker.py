"""Attackers: what they know, held sparsely, and never against the table."""

import numpy as np
import pytest

import cellward as cw
from cellward.exact import NO_BOUND
from cellward.formats.attackers import read_attackers
from cellward.instance import Instance


@pytest.fixture
def table():
    return cw.Table.from_array([[20, 50], [8, 19]], dims=["activity", "region"], codes=[["I", "II"], ["A", "B"]])


def test_knowing_by_number_or_by_codes(table):
    one = cw.Attacker.knowing(table, "Smith", lower={("I", "B"): 12}, upper={4: 19.5}, exactly=[("II", "A")])
    assert one.cell.tolist() == [1, 3, 4]
    assert one.lower.tolist() == [12, 8, -NO_BOUND]
    assert one.upper.tolist() == [NO_BOUND, 8, 19]
    assert one.known.tolist() == [3]
    assert repr(one) == "Attacker(Smith, knows more of 3 cells)"


def test_bounds_finer_than_the_table_never_make_an_attacker_weaker(table):
    one = cw.Attacker.knowing(table, "Smith", lower={0: "19.2"}, upper={1: "50.7"})
    assert (one.lower[0], one.upper[1]) == (20, 50)


def test_a_respondent_knows_its_share(table):
    one = cw.Attacker.respondent(table, "Smith", {("I", "A"): 5, ("I", "B"): 7}, alone=[("II", "A")])
    assert one.lower.tolist() == [5, 7, 8]
    assert one.known.tolist() == [3]


def test_a_coalition_adds_contributions_and_takes_the_narrower_bounds(table):
    one = cw.Attacker.respondent(table, "Smith", {("I", "A"): 5})
    two = cw.Attacker.respondent(table, "Jones", {("I", "A"): 6, ("II", "B"): 2})
    three = cw.Attacker.knowing(table, "Brown", upper={("I", "A"): 22}, whole=True)
    both = cw.Attacker.coalition(table, "all", one, two, three)
    assert both.cell.tolist() == [0, 4]
    assert both.lower.tolist() == [11, 2]
    assert both.upper.tolist() == [22, NO_BOUND]
    assert both.whole


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda t: cw.Attacker.knowing(t, "S", lower={0: 21}),
            "takes (I, A) to lie between 21 and none, but its value does not",
        ),
        (lambda t: cw.Attacker.knowing(t, "S", upper={("I", "A"): 19}), "between none and 19, but its value does not"),
        (lambda t: cw.Attacker.knowing(t, "S", lower={9: 0}), "cell 9 does not exist; the table has cells 0 to 8"),
        (lambda t: cw.Attacker.knowing(t, "S", lower={("I", "X"): 0}), "region has no code 'X'; it has A, B, Total"),
        (lambda t: cw.Attacker.knowing(t, "S", lower={("I",): 0}), "give its codes in the order activity, region"),
        (lambda t: cw.Attacker.knowing(t, "S", lower={True: 0}), "True is no cell"),
        (lambda t: cw.Attacker.knowing(t, "S", lower={0: "x"}), "lower bound of (I, A)"),
        (lambda t: cw.Attacker.knowing(t, "S", levels={0: (1, 2)}), "give (lpl, upl, spl)"),
        (lambda t: cw.Attacker.knowing(t, "S", levels={0: (1, -2, 0)}), "upl: the level of (I, A) is negative"),
        (lambda t: cw.Attacker.knowing(t, "", lower={0: 0}), "give it a name"),
        (lambda t: cw.Attacker.coalition(t, "S", cw.Attacker.external()), "at least two members"),
        (lambda t: cw.Attacker.respondent(t, "S", {0: 25}), "but its value does not"),
    ],
)
def test_refusals(table, make, words):
    with pytest.raises(cw.InputError) as error:
        make(table)
    assert words in str(error.value)


def test_a_contribution_says_nothing_where_values_may_be_negative():
    table = cw.Table.from_array([[-7, 4], [3, -12]], lower=None)
    with pytest.raises(cw.InputError, match="may be negative"):
        cw.Attacker.respondent(table, "Smith", {1: 2})


def test_an_instance_takes_attackers_of_its_own_table_only(table):
    other = cw.Attacker.knowing(cw.Table.from_array([[21, 50], [8, 19]]), "Smith", lower={0: 21})
    with pytest.raises(cw.InputError, match="attacker Smith: it takes"):
        Instance.of(table, attackers=[other])
    with pytest.raises(cw.InputError, match="two are called external"):
        Instance.of(table, attackers=[cw.Attacker.external(), cw.Attacker.external(whole=True)])
    with pytest.raises(cw.InputError, match="at least one Attacker"):
        Instance.of(table, attackers=[])


def test_permuting_an_instance_permutes_its_attackers(table):
    one = cw.Attacker.knowing(table, "Smith", lower={0: 3, 4: 7}, levels={1: (1, 2, 3), 3: (4, 5, 6)})
    order = np.array([4, 3, 2, 1, 0, 5, 6, 7, 8])
    moved = Instance.of(table, attackers=[one]).permuted(order).attackers[0]
    assert (moved.cell.tolist(), moved.lower.tolist()) == ([0, 4], [7, 3])
    assert (moved.levels.cell.tolist(), moved.levels.upl.tolist()) == ([1, 3], [5, 2])


def test_attackers_from_a_file(table, tmp_path):
    path = tmp_path / "attackers.csv"
    path.write_text("attacker,activity,region,lower,upper\nSmith,I,A,5,\nSmith,II,A,8,8\nJones,I,B,,60\n")
    external, smith, jones = read_attackers(path, table)
    assert external.name == "external"
    assert (smith.lower.tolist(), smith.known.tolist()) == ([5, 8], [3])
    assert jones.upper.tolist() == [60]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("who,activity,region,lower,upper\n", "no column 'attacker' in the header"),
        ("attacker,activity,lower,upper\n", "no column 'region'"),
        ("attacker,activity,region,lower,upper\n,I,A,1,2\n", "line 2: the attacker has no name"),
        ("attacker,activity,region,lower,upper\nS,I,X,1,2\n", "line 2: region has no code 'X'"),
        ("attacker,activity,region,lower,upper\nS,I,A,21,\n", "but its value does not"),
    ],
)
def test_bad_attacker_files(table, tmp_path, text, words):
    path = tmp_path / "attackers.csv"
    path.write_text(text)
    with pytest.raises(cw.InputError) as error:
        read_attackers(path, table)
    assert words in str(error.value)
    assert str(path) in str(error.value)


def test_a_cell_twice_is_not_the_last_one_wins(table, tmp_path):
    path = tmp_path / "attackers.csv"
    path.write_text("attacker, activity, region, lower, upper\nSmith,I,A,13,21\nSmith,I,A,12,24\n")
    with pytest.raises(cw.InputError, match=r"line 3: \(I, A\) occurs twice for Smith"):
        read_attackers(path, table)
    path.write_text("attacker,activity,region,lower,upper\nSmith,I,A,,\n")
    assert [attacker.name for attacker in read_attackers(path, table)] == ["external", "Smith"]
    path.write_text("attacker,activity,region,lower,upper,lower\n")
    with pytest.raises(cw.InputError, match="two columns are called 'lower'"):
        read_attackers(path, table)


@pytest.mark.parametrize(
    "make",
    [
        lambda t: cw.Attacker.knowing(t, 5),
        lambda t: cw.Attacker.knowing(t, "x", lower=[1]),
        lambda t: cw.Attacker.knowing(None, "x"),
        lambda t: cw.Attacker.knowing(t, "x", levels={0: (10**25, 0, 0)}),
        lambda t: cw.Attacker.coalition(t, "x", 1, 2),
    ],
)
def test_odd_arguments_get_a_sentence(table, make):
    with pytest.raises(cw.InputError):
        make(table)
