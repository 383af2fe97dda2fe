"""Choice of senses: the adjustment of least distance over all senses of the cells at risk, with a bound over all of them; see choose.py."""
