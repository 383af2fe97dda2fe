"""Interval publication keeps the contract."""

from levels import LevelsByIntervals
from method_contract import MethodContract
from ranges import Ranges

import cellward as cw


class TestIntervalPublication(MethodContract, Ranges, LevelsByIntervals):
    method = cw.IntervalPublication()
    level = 1
    knowledge_kinds = (1, 5)
    infeasible = ()

    def asking(self, kind):
        return cw.IntervalPublication(kind)
