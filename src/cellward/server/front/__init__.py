"""The front: the process that speaks HTTP; it holds no record, no key and no ledger, and gets nothing but answers and refusals over a socket."""
