"""Proof: the certificate that a result carries, and the independent check of it."""
