"""The on-line table server: vault, front and ledger."""
