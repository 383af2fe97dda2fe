"""Table, Relations and the ways to build them."""
