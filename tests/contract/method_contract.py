"""The contract: what every protection method owes every table of the bank, whatever it publishes and whatever it does inside.

A method's suite inherits this and, beside it, what holds for the kind of thing that it publishes: additive_values.py, withheld_cells.py, ranges.py;
levels.py has the two ways of meeting levels. Nothing is overridden: what differs is a class attribute, or one of the hooks that raise here.
"""

import gc
import pickle
import types
from functools import cache

import numpy as np
import pytest
from bank import BANK
from fixed_keys import key_of
from twins import asking_more

import cellward as cw
from cellward.instance import Instance
from cellward.protection import Protection
from cellward.table.sensitivity import CellStatus, Sensitivity

KEY = key_of("contract")
"""The one that results are compared for."""


def reachable(root):
    """Every object that can be reached from one, modules and types aside."""
    seen, stack = {}, [root]
    while stack:
        thing = stack.pop()
        if id(thing) in seen or isinstance(
            thing, type | types.ModuleType | types.FunctionType | types.BuiltinFunctionType
        ):
            continue
        seen[id(thing)] = thing
        stack.extend(gc.get_referents(thing))
    return seen.values()


@cache
def bank_table(name, level):
    """A table of the bank; with a level, its first cell that is not fixed is at risk, the same below and above."""
    made = BANK[name]()
    if level is None:
        return made
    cell = [int(np.flatnonzero(~made.sensitivity.fixed)[0])]
    amount = np.full(1, level * 10**made.decimals, np.int64)
    asked = Sensitivity.of(made.cells, cell, amount, amount, 0 * amount)
    status = np.where(made.sensitivity.fixed, CellStatus.FIXED, asked.status).astype(np.uint8)
    return made.with_sensitivity(Sensitivity(status, asked.lpl, asked.upl, asked.spl))


@cache
def protected(suite, name):
    """The result of a suite's method on a table: found once, since it cannot be changed."""
    return suite.method.protect(bank_table(name, suite.level), key=KEY)


class MethodContract:
    method = None
    """A method instance that can be asked to protect every table of the bank."""
    level = None
    """Units below and above that are asked for one cell of every table; None: nothing is at risk."""
    infeasible = ()
    """The tables of the bank that the method has no answer for."""

    def pytest_generate_tests(self, metafunc):
        for argument, names in (("result", BANK), ("published", [x for x in BANK if x not in metafunc.cls.infeasible])):
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, names, indirect=True)

    @pytest.fixture
    def result(self, request) -> Protection:
        """The result on each table of the bank."""
        return protected(type(self), request.param)

    @pytest.fixture
    def published(self, request) -> Protection:
        """The same where there is one that publishes something."""
        return protected(type(self), request.param)

    # ---- status ----------------------------------------------------------------------------------------------------------------------------

    def test_the_status_is_one_word_and_values_go_with_it(self, published):
        assert published.status in ("optimal", "feasible")
        assert published.values is not None
        assert published.objective is not None
        assert published.gap is None or (published.gap == 0.0 if published.status == "optimal" else published.gap >= 0)
        assert published.seconds >= 0
        assert published.method["name"] in repr(published)

    def test_where_there_is_no_table_the_reason_is_given(self):
        found = {name: protected(type(self), name) for name in BANK}
        assert tuple(name for name, p in found.items() if p.values is None) == self.infeasible
        for p in (found[name] for name in self.infeasible):
            assert p.status == "infeasible"
            assert p.reason in repr(p) and p.reason
            assert p.objective is p.gap is None
            for ask in (p.release, p.loss):
                with pytest.raises(cw.VerificationError):
                    ask()

    # ---- the key ---------------------------------------------------------------------------------------------------------------------------

    def test_the_same_key_gives_the_same_answer(self, result, request):
        table = bank_table(request.node.callspec.params["result"], self.level)
        again = self.method.protect(table, key=KEY)
        assert (again.status, again.reason, again.objective) == (result.status, result.reason, result.objective)

    def test_the_same_key_gives_the_same_bytes(self, published, request, tmp_path):
        table = bank_table(request.node.callspec.params["published"], self.level)
        both = published, self.method.protect(table, key=KEY)
        for name, written in (("release.csv", lambda p: p.release()), ("proof.json.gz", lambda p: p.certificate())):
            first, second = (written(p).save(tmp_path / f"{k} {name}").read_bytes() for k, p in enumerate(both))
            assert first == second

    def test_the_key_salts_the_certificate_and_stays_inside(self, published):
        assert published.with_key(key_of("other")).certificate().digest != published.certificate().digest
        assert KEY not in pickle.dumps(published.release())
        assert KEY.hex() not in repr(published)

    # ---- bad input -------------------------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "options",
        [{"time_limit_s": 0}, {"threads": 0}, {"seed": -1}, {"key": b"short"}, {"weights": [1]}, {"attackers": [1]}],
    )
    def test_bad_options_are_refused(self, options):
        with pytest.raises(cw.InputError):
            self.method.protect(bank_table("two_dimensional", self.level), **options)

    def test_what_is_no_table_is_refused(self):
        with pytest.raises(cw.InputError, match="make a Table of it"):
            self.method.protect([[1, 2], [3, 4]])

    # ---- proof and release -----------------------------------------------------------------------------------------------------------------

    def test_the_certificate_is_checked_from_its_file(self, result, tmp_path):
        assert cw.verify(result.certificate().save(tmp_path / "certificate.json.gz"))

    def test_nothing_is_released_unless_every_level_is_met(self, published):
        wanting = asking_more(published)
        assert wanting.protected is False
        with pytest.raises(cw.CellwardError):
            wanting.release()

    def test_the_release_holds_no_true_value(self, published):
        release = published.release()
        for thing in reachable(release):
            assert not isinstance(thing, cw.Table | Instance | Protection | Sensitivity)
            assert thing is not published.instance.a
        if published.loss().changed:
            assert published.instance.a.tobytes() not in pickle.dumps(release)

    def test_every_attacker_must_think_the_truth_possible(self, published):
        found = published.audit().intervals
        a = published.instance.a[found["cell"]] / 10**published.instance.decimals
        assert np.all((found["lower"] <= a) & (a <= found["upper"]))
