"""Controlled tabular adjustment; see model.md."""

from cellward.protect.adjustment.method import ControlledAdjustment

__all__ = ["ControlledAdjustment"]
