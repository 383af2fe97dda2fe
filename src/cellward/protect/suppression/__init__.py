"""Cell suppression."""

from cellward.protect.suppression.method import CellSuppression

__all__ = ["CellSuppression"]
