"""What methods owe that print a range for some cells: intervals.

Lower and upper end of each cell are the same where the value is printed. Legend: a true values.
"""

import numpy as np


def ends(p):
    """Both ends in the user's units."""
    unit = 10**p.instance.decimals
    return p.publication.lower / unit, p.publication.upper / unit


class Ranges:
    """Beside MethodContract."""

    def test_ranges_contain_the_truth(self, published):
        lower, upper = ends(published)
        true = published.instance.a / 10**published.instance.decimals
        assert np.all((lower <= true) & (true <= upper))

    def test_values_are_printed_where_a_range_has_no_width(self, published):
        lower, upper = ends(published)
        printed = lower == upper
        assert np.array_equal(published.values[printed], lower[printed])
        assert np.all(np.isnan(published.values[~printed]))

    def test_ranges_of_cells_at_risk_are_as_wide_as_their_levels(self, published):
        lower, upper = ends(published)
        instance, unit = published.instance, 10**published.instance.decimals
        risk, s, a = instance.sensitivity.levels.cell, instance.sensitivity, instance.a / unit
        assert np.all(a[risk] - lower[risk] >= s.lpl[risk] / unit)
        assert np.all(upper[risk] - a[risk] >= s.upl[risk] / unit)
        assert np.all(upper[risk] - lower[risk] >= s.spl[risk] / unit)

    def test_nobody_learns_less_than_the_ranges_and_equations_tell(self, published):
        found = published.audit().intervals
        lower, upper = ends(published)
        assert np.all(found["lower"] >= lower[found["cell"]])
        assert np.all(found["upper"] <= upper[found["cell"]])

    def test_the_release_has_the_ranges_and_no_value_inside(self, published):
        *_, low, high = published.release().columns().values()
        lower, upper = ends(published)
        assert np.allclose([float(x) for x in low], lower, rtol=0, atol=0)
        assert np.allclose([float(x) for x in high], upper, rtol=0, atol=0)
