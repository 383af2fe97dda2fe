"""Cell perturbation (paper 000, section 4)."""

from cellward.protect.perturbation.method import CellPerturbation

__all__ = ["CellPerturbation"]
