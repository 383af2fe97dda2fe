"""The two ways of meeting levels: attackers' intervals are wide enough, or values are far enough from the true ones."""

import exact_lp
import integer_points
import numpy as np
import pytest
from bank import BANK
from fixed_keys import key_of
from twins import with_values

import cellward as cw
from cellward.audit.region import Region
from cellward.exact import NO_BOUND
from cellward.table.sensitivity import CellStatus, Sensitivity


class LevelsByIntervals:
    """What a publication tells is public, so that a level is met when the attacker's interval reaches as far."""

    def asking(self, kind):
        """The method for one kind of knowledge."""
        raise NotImplementedError

    knowledge_kinds = ()
    """What attackers may make of a value: the kinds that the method has."""

    @pytest.fixture(params=BANK)
    def asked(self, request):
        """A table whose first cell asks for one unit below, above and in width."""
        table = BANK[request.param]()
        unsafe, level = np.zeros(table.cells, np.uint8), np.zeros(table.cells, np.int64)
        unsafe[0], level[0] = CellStatus.UNSAFE, 1
        return table.with_sensitivity(Sensitivity(unsafe, level, level, level))

    def test_levels_are_met_against_every_attacker(self, asked):
        """By exact oracles that share nothing with the package; where nothing is published, the reason is given."""
        insider = cw.Attacker.knowing(asked, "insider", exactly=[asked.cells - 1])
        for kind in self.knowledge_kinds:
            p = self.asking(kind).protect(asked, attackers=[cw.Attacker.external(), insider])
            if p.values is None:
                assert p.status in ("infeasible", "failed")
                assert p.reason
                continue
            assert p.protected
            assert p.release()
            check_levels(p)


def check_levels(p):
    instance, s = p.instance, p.instance.sensitivity
    rows = [instance.relations.equation(j) for j in range(instance.relations.equations)]
    for attacker in instance.attackers:
        region = Region.of(instance.relations, instance.lower, instance.upper, p.knowledge, attacker, instance.a)
        lo = [None if x == -NO_BOUND else x for x in region.lo.tolist()]
        hi = [None if x == NO_BOUND else x for x in region.hi.tolist()]
        cells = [i for i in s.levels.cell.tolist() if i not in attacker.known.tolist()]
        oracle = integer_points if region.whole else exact_lp
        for i, (low, high) in zip(cells, oracle.intervals(rows, lo, hi, cells), strict=True):
            assert low is None or low <= instance.a[i] - s.lpl[i]
            assert high is None or high >= instance.a[i] + s.upl[i]
            assert low is None or high is None or high - low >= s.spl[i]


class LevelsByDistance:
    """Nothing is told of how far values moved, so that a level is met when the published value is as far from the true one."""

    def test_every_cell_at_risk_is_its_level_away(self, published):
        s = published.instance.sensitivity
        risk = s.levels.cell
        move = published.scaled[risk] - published.instance.a[risk]
        assert len(risk)
        assert np.all((move >= s.upl[risk]) | (-move >= s.lpl[risk]))
        assert published.protected is True

    def test_the_truth_itself_is_no_release(self, published):
        a, allowed = published.instance.a, published.sought.allowed
        lo, hi = np.minimum(allowed.lo, a), np.maximum(allowed.hi, a)
        free = type(allowed)(lo, hi, (lo < hi).astype(np.int64))
        truth = with_values(published, a, allowed=free)
        assert truth.protected is False
        with pytest.raises(cw.CellwardError, match="within its levels"):
            truth.release()

    def test_a_width_asks_for_as_much_to_either_side(self):
        table = BANK["two_dimensional"]()
        level = np.ones(1, np.int64)
        made = self.method.protect(
            table.with_sensitivity(Sensitivity.of(table.cells, [0], level, level, 7 * level)), key=key_of("width")
        )
        assert made.protected
        assert abs(int(made.scaled[0] - made.instance.a[0])) >= 7
        assert made.certificate().check()
