"""What methods owe that withhold cells and print the others as they are: suppression.

``publication.withheld``: a flag for each cell. Legend: a true values, w weights.
"""

import numpy as np


class WithheldCells:
    """Beside MethodContract."""

    def test_printed_values_are_the_true_ones(self, published):
        printed = ~published.publication.withheld
        true = published.instance.a / 10**published.instance.decimals
        assert np.array_equal(published.values[printed], true[printed])

    def test_cells_at_risk_are_withheld(self, published):
        assert np.all(published.publication.withheld[published.instance.sensitivity.unsafe])

    def test_nothing_is_printed_of_a_withheld_cell(self, published):
        value = published.release().columns()["value"]
        withheld = published.publication.withheld
        assert [not text for text in value] == withheld.tolist()
        assert np.all(np.isnan(published.values[withheld]))

    def test_the_objective_is_the_weight_that_is_withheld(self, published):
        withheld = published.publication.withheld.copy()
        withheld[published.instance.sensitivity.unsafe] = False
        assert published.objective_scaled == published.instance.weight[withheld].sum()
        assert published.sought.bound <= published.objective_scaled

    def test_printed_cells_are_known_and_withheld_ones_between_two_values(self, published):
        found = published.audit().intervals
        printed = ~published.publication.withheld[found["cell"]]
        assert np.array_equal(found["lower"][printed], found["upper"][printed])
        wide = found["lower"] < found["upper"]
        assert np.all(wide[np.isin(found["cell"], published.instance.sensitivity.unsafe)])
