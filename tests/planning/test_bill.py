"""The devices that a plan promises for a month, and what they cost."""

from models.money import Prices
from planning import bill, outputs
from planning.money import DeviceRange
from planning.plans import ServicePlan
from tests.support.stacks import plan, tree
from tests.support.stacks.existing import existing

H100 = "nvidia-h100-80gb"
HPA = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
PREFILL = {"accelerator": "nvidia", "replicas": 2}
QWEN = {"accelerator": H100, "parallelism": {"tensor": 4}, "autoscaling": HPA, "canary": {"weight": 5, "replicas": 1}}
PRICES = {"currency": "EUR", "perDeviceHour": {H100: 4.111}}


def service(**fields: object) -> ServicePlan:
    """Return the plan of the only service of a stack."""
    return plan(tree(qwen=fields)).services[0]


def test_the_devices_of_a_service_are_ranges_by_class():
    assert bill.by_class(service(**QWEN)) == {H100: DeviceRange(H100, 8, 20)}
    divided = bill.by_class(service(accelerator=H100, prefill=PREFILL))
    assert divided == {"nvidia": DeviceRange("nvidia", 2, 2), H100: DeviceRange(H100, 1, 1)}
    assert list(divided) == ["nvidia", H100]


def test_the_outputs_have_hours_and_costs_of_a_month():
    contract = outputs.of_stack(plan(tree(qwen=QWEN) | {"prices": PRICES}), None)["services"]["qwen"]["bill"]
    assert contract == {
        "hours": 730,
        "deviceHours": {H100: {"low": 5840, "high": 14600}},
        "currency": "EUR",
        "cost": {"low": 24008.24, "high": 60020.6},
        "unpriced": [],
    }


def test_devices_without_a_price_have_no_cost():
    priced = plan(tree(qwen={"accelerator": H100, "prefill": PREFILL}) | {"prices": PRICES})
    assert bill.of_service(priced.services[0], priced).unpriced == ("nvidia",)
    contract = outputs.of_stack(priced, None)["services"]["qwen"]["bill"]
    assert (contract["cost"], contract["unpriced"]) == (None, ["nvidia"])


def test_pods_of_somebody_else_and_pods_without_devices_are_on_no_bill():
    assert plan(existing()).prices == Prices.default()
    assert not bill.devices(plan(existing()).services[0])
    assert not bill.devices(service(accelerator="cpu"))
