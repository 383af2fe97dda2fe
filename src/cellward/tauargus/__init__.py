"""The τ-ARGUS world: its files and its batches."""
