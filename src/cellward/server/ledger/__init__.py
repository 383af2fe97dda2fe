"""The ledger: every answer and every value ever published, kept before it leaves, in a chain that shows what was changed."""
