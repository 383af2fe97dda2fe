"""Cell suppression keeps the contract."""

from levels import LevelsByIntervals
from method_contract import MethodContract
from withheld_cells import WithheldCells

import cellward as cw


class TestCellSuppression(MethodContract, WithheldCells, LevelsByIntervals):
    method = cw.CellSuppression()
    level = 1
    knowledge_kinds = ("levels",)
    infeasible = ()

    def asking(self, kind):
        return cw.CellSuppression(kind)
