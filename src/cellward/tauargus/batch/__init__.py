"""Batches: τ-ARGUS' batch files, carried out as far as our methods reach."""

from cellward.tauargus.batch.run import Batch, Done

__all__ = ["Batch", "Done"]
