"""Costs of devices in a month: hourly prices, multiplied by the hours of a month."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from models.money import Prices

HOURS = 730
"""Hours of a month: 365 days of 24 hours, divided by 12."""


@dataclass(frozen=True, slots=True)
class DeviceRange:
    """Devices of one accelerator class that a role has: the smallest and the largest number."""

    accelerator: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of devices in a month: the smallest and the largest amount, in the currency of the prices."""

    low: Decimal
    high: Decimal
    unpriced: tuple[str, ...] = ()
    """Accelerator classes without a price. `low` and `high` do not include the devices of these classes."""

    def less(self, other: "Cost") -> "Cost":
        """Return this cost minus another cost."""
        return Cost(self.low - other.low, self.high - other.high, tuple(sorted({*self.unpriced, *other.unpriced})))


def cost(devices: Iterable[DeviceRange], prices: Prices) -> Cost:
    """Return the cost of devices in a month."""
    low = Decimal(0)
    high = Decimal(0)
    unpriced = set[str]()
    for part in devices:
        price = monthly(part.accelerator, prices)
        if price is not None:
            low += price * part.low
            high += price * part.high
        elif part.high:
            unpriced.add(part.accelerator)
    return Cost(low, high, tuple(sorted(unpriced)))


def monthly(accelerator: str, prices: Prices) -> Decimal | None:
    """Return the price of a device for a month; None if its class has no price."""
    price = prices.per_device_hour.get(accelerator)
    if price is None:
        return None
    return Decimal(str(price)) * HOURS


def cents(amount: Decimal) -> float:
    """Return an amount in units of its currency, rounded to cents."""
    return float(round(amount, 2))


def text(amount: Decimal, currency: str) -> str:
    """Return an amount in whole units of a currency, such as `$23,944` or `23,944 EUR`."""
    number = f"{abs(amount):,.0f}"
    sign = "-" if amount < 0 and number != "0" else ""
    if currency == "USD":
        return f"{sign}${number}"
    return f"{sign}{number} {currency}"
