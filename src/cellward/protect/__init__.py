"""Protection methods, one folder each; the shape they share is in :mod:`cellward.protect.method`."""
