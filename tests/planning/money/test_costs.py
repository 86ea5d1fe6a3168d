"""Costs of devices in a month, and shares in budgets."""

from decimal import Decimal

import pytest

from models.money import Prices
from planning import money
from planning.money import Cost, DeviceRange
from tests.support.stacks import tree

H100 = "nvidia-h100-80gb"
PRICES = Prices.model_validate({"perDeviceHour": {H100: 4.10}})
HPA = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
STACK = tree(
    qwen={"accelerator": H100, "parallelism": {"tensor": 4}, "autoscaling": HPA, "labels": {"team": "search"}},
    bert={"accelerator": H100, "replicas": 2, "canary": {"weight": 5, "replicas": 1}},
    tiny={"accelerator": "nvidia"},
    none={"accelerator": "cpu"},
)


def test_eight_devices_for_a_month_of_730_hours():
    assert money.cost([DeviceRange(H100, 8, 8)], PRICES) == Cost(Decimal(23944), Decimal(23944))


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        ("23944", "USD", "$23,944"),
        ("-1200.4", "USD", "-$1,200"),
        ("0.4", "EUR", "0 EUR"),
        ("-0.4", "EUR", "0 EUR"),
        ("-1200", "EUR", "-1,200 EUR"),
    ],
)
def test_an_amount_is_whole_units_of_its_currency(amount, currency, text):
    assert money.text(Decimal(amount), currency) == text
