"""Single equations, looked at for all attackers together: the same follows as from each attacker by itself."""

from dataclasses import replace

import numpy as np
import pytest
from persons import persons

from cellward.instance import Instance
from cellward.protect.lattice.capacity import Capacity
from cellward.protect.lattice.level_rows import level_rows
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.protect.lattice.told_box import AroundValue


def broken(rows, x):
    return any(int(one.row.coef @ x[one.row.column]) < one.row.least for one in rows)


@pytest.mark.parametrize("seed", range(3))
def test_all_together_ask_what_each_asks(seed):
    table, attackers = persons(seed)
    instance = Instance.of(table, attackers=attackers)
    base = np.full(instance.cells, 3)
    model = LatticeModel(instance, allowed_multiples(instance, base, np.ones_like(base)))
    told = AroundValue(base - 1)
    together = level_rows(model, Capacity(instance, told))
    each = [replace(instance, attackers=(one,)) for one in instance.attackers]
    apart = [row for one in each for row in level_rows(model, Capacity(one, told))]
    assert together
    rng = np.random.default_rng(seed)
    for share in (0.1, 0.5, 0.9, 0.97):
        for _ in range(30):
            x = np.where(rng.random(len(model.columns)) < share, model.columns.top, 0)
            assert broken(together, x) == broken(apart, x)
    for one in together:  # and who asks does ask
        asked = instance.attackers[one.need.attacker].asked(instance.sensitivity.levels)
        at = int(np.searchsorted(asked.cell, one.need.cell))
        assert [int(part[at]) for part in (asked.cell, asked.lpl, asked.upl)] == [
            one.need.cell,
            one.need.lpl,
            one.need.upl,
        ]
