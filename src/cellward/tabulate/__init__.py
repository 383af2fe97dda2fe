"""From records to cells: reading microdata, adding it up exactly, and keeping who stands behind each cell."""
