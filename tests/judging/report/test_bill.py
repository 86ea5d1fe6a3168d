"""The bill of a stack: costs of its devices, and shares in budgets."""

from decimal import Decimal

from judging.report import bill
from models.load import load
from models.money import Prices
from planning.money import Cost
from tests.support.stacks import plan, tree

H100 = "nvidia-h100-80gb"
PRICES = Prices.model_validate({"perDeviceHour": {H100: 4.10}})
HPA = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
STACK = tree(
    qwen={"accelerator": H100, "parallelism": {"tensor": 4}, "autoscaling": HPA, "labels": {"team": "search"}},
    bert={"accelerator": H100, "replicas": 2, "canary": {"weight": 5, "replicas": 1}},
    tiny={"accelerator": "nvidia"},
    none={"accelerator": "cpu"},
)


def test_a_stack_costs_a_range_and_classes_without_a_price_are_named():
    assert bill.cost(plan(STACK), PRICES) == Cost(Decimal("4.1") * 730 * 7, Decimal("4.1") * 730 * 19, ("nvidia",))


def test_the_share_in_a_budget_is_that_of_the_label():
    limits = {"search": {"devices": {H100: 16}, "perMonth": 50000}}
    stack = load(STACK | {"budgets": {"by": "team", "limits": limits}, "prices": {"perDeviceHour": {H100: 4.10}}}).stack
    devices, amount = bill.usages(stack, plan(STACK))
    assert (devices.total, devices.services) == (16, {"qwen": 16})
    assert (amount.total, amount.services) == (Decimal(47888), {"qwen": Decimal(47888)})
