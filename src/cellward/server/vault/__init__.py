"""The vault: the only process that sees records, key and ledger; what leaves it is a release or a refusal."""
