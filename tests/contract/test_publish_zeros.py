"""The trial method keeps the contract, as any method that comes in as one folder has to."""

from additive_values import AdditiveValues, KnownOptimum, OneOptimum, TellsOnlyValues, absolute
from levels import LevelsByDistance
from method_contract import MethodContract
from publish_zeros import PublishZeros


class TestPublishZeros(MethodContract, AdditiveValues, OneOptimum, KnownOptimum, TellsOnlyValues, LevelsByDistance):
    method = PublishZeros()
    level = 1
    infeasible = ("right_hand_sides", "fixed_cells")

    def cost(self, instance, v):
        return absolute(instance, v)

    def least_objective(self, instance):
        """That of the only table there is."""
        possible = not instance.relations.rhs.any() and not instance.a[instance.sensitivity.fixed].any()
        return absolute(instance, 0 * instance.a) if possible else None
