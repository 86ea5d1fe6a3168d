"""Specs of prices of devices, and of budgets for services."""

from typing import Annotated

from pydantic import Field

from models.base import Spec
from models.vocabulary import Between, CountOrNone, Dns1035Label, LabelKey, LabelValue, Shape

_PRICE_REMEDY = "write the price of a device for an hour, such as 4.10"
_AMOUNT_REMEDY = "write an amount of money for a month, such as 40000"
Price = Annotated[float, Between(0, 100000, _PRICE_REMEDY)]
MonthlyAmount = Annotated[float, Between(0, 1e12, _AMOUNT_REMEDY)]
Currency = Annotated[str, Shape("is no code of a currency", r"[A-Z]{3}", "write three capital letters, such as EUR", 3)]


class Prices(Spec):
    """Prices of devices. The report on a change names the price of the change for a month of 730 hours."""

    currency: Currency = "USD"
    """Currency of all prices and budgets, as a code of ISO 4217."""
    per_device_hour: dict[Dns1035Label, Price] = Field(default={}, examples=[{"nvidia-h100-80gb": 4.10}])
    """Price of one device for an hour, by accelerator class. Classes without a price are named in the report."""


class Limit(Spec):
    """A budget: the maximum number and price of the devices that several services may have together."""

    devices: dict[Dns1035Label, CountOrNone] = Field(default={}, examples=[{"nvidia-h100-80gb": 16}])
    """Maximum number of devices, by accelerator class."""
    per_month: MonthlyAmount | None = Field(default=None, examples=[40000])
    """Maximum price of all devices in a month of 730 hours; absent: no limit. This limit needs the price of every
    accelerator class that services with this budget use."""


class Budgets(Spec):
    """Budgets. A preview fails if services exceed their budget. An autoscaled role counts with its maxReplicas."""

    by: Annotated[LabelKey, Field(examples=["team"])]
    """Key of a label of services. Services with the same value of this label share a budget. Services without the label
    have no budget."""
    limits: dict[LabelValue, Limit] = Field(default={}, examples=[{"search": {"perMonth": 40000}}])
    """Budgets by value of the label. Services with another value have no budget."""
