"""Controlled rounding: every cell to a neighbouring multiple of its base, all sums kept."""

from cellward.protect.rounding.method import ControlledRounding

__all__ = ["ControlledRounding"]
