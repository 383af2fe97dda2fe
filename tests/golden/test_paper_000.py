"""Salazar-González 2004: the figures of controlled rounding."""

import numpy as np
from enumeration import every_rounding
from paper_000 import FIGURE_1, FIGURE_2C, FIGURE_5_ROUNDED, figure_5

import cellward as cw


def test_figure_1_has_eight_roundings_and_the_best_is_figure_2c():
    p = cw.ControlledRounding(base=5).protect(cw.Table.from_array(FIGURE_1))
    assert (p.status, p.objective) == ("optimal", 16)
    assert p.values.reshape(4, 4).tolist() == FIGURE_2C
    roundings = list(every_rounding(p.instance, 5))
    assert len(roundings) == 8
    assert [objective for objective, _ in roundings].count(16) == 1


def test_figure_5_can_be_rounded_at_132_where_the_paper_prints_136():
    table = figure_5()
    assert (table.cells, table.relations.equations) == (91, 39 + 14)
    printed = np.array(FIGURE_5_ROUNDED).ravel()
    assert not np.any(table.relations.residual(printed))
    assert int(np.abs(printed - table.values).sum()) == 136
    p = cw.ControlledRounding(base=5).protect(table)
    assert (p.status, p.objective) == ("optimal", 132)
