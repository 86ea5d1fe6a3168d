"""Prices and budgets: currencies, amounts and limits by label."""

import pytest

from models.money import Budgets, Prices
from tests.support.stacks import mistakes, tree


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ({"currency": "eur"}, "currency: is no code of a currency (eur); write three capital letters, such as EUR"),
        (
            {"perDeviceHour": {"nvidia": 0}},
            (
                "perDeviceHour.nvidia: is not above 0 and at most 100000 (0); write the price of a device for an hour, "
                "such as 4.10"
            ),
        ),
        (
            {"perDeviceHour": {"nvidia": "4.10"}},
            "perDeviceHour.nvidia: is not a number (4.10); write the price of a device for an hour, such as 4.10",
        ),
    ],
)
def test_a_mistaken_price_is_refused(prices, message):
    assert mistakes(tree() | {"prices": prices}) == [f"prices.{message}"]


def test_prices_are_in_dollars_unless_the_user_names_a_currency():
    assert Prices.model_validate({}).currency == "USD"
    assert Prices.model_validate({"perDeviceHour": {"nvidia": 4}}).per_device_hour == {"nvidia": 4.0}


def test_a_budget_may_forbid_devices_and_needs_no_price():
    budgets = Budgets.model_validate({"by": "team", "limits": {"search": {"devices": {"nvidia": 0}}}})
    assert budgets.limits["search"].devices == {"nvidia": 0}
    assert budgets.limits["search"].per_month is None


def test_a_mistaken_budget_is_refused():
    limits = {"search": {"perMonth": 0, "devices": {"nvidia": -1}}}
    assert sorted(mistakes(tree() | {"budgets": {"by": "a label", "limits": limits}})) == [
        "budgets.by: is not a label key (a label); write name or prefix/name",
        "budgets.limits.search.devices.nvidia: is not a whole number from 0 to 2147483647 (-1); write 0 or more",
        (
            "budgets.limits.search.perMonth: is not above 0 and at most 1e+12 (0); write an amount of money for a "
            "month, such as 40000"
        ),
    ]
