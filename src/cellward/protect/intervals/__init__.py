"""Interval publication."""

from cellward.protect.intervals.method import IntervalPublication

__all__ = ["IntervalPublication"]
