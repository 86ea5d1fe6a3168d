"""Budgets: limits on devices and on money. All services that have the same value of a label share a budget."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from models.money import Budgets, Limit, Prices
from models.paths import Path
from models.problems import Problem, warning
from models.stack import Stack
from planning.hardware import accelerators
from planning.hardware.accelerators import AcceleratorClass
from planning.money import costs
from planning.money.costs import DeviceRange
from planning.variant import Contexts
from planning.variant.roles import max_replicas

_PRICES = Path("prices", "perDeviceHour")
_LIMITS = Path("budgets", "limits")
_DEPENDENCIES = ("accelerator", "acceleratorMemory", "replicas", "autoscaling", "parallelism")
"""Keys of a service on which the number of its devices depends."""
_MOST_NAMES = 6
"""Maximum number of services that a message lists."""


@dataclass(frozen=True, slots=True)
class Usage:
    """One limit of a budget, and what each service takes of it with the maximum number of its replicas."""

    path: Path
    """Path of the limit in the configuration."""
    label: str
    """Label with its value, as `team=search`."""
    of: str
    """Accelerator class of the devices that are limited; empty for a limit on money."""
    allowed: Decimal
    """Maximum number of devices, or maximum amount of money in a month."""
    services: Mapping[str, Decimal]
    """Number of devices, or amount of money in a month, by service key. Services with 0 are left out."""

    @property
    def total(self) -> Decimal:
        """Return the sum over all services."""
        return sum(self.services.values(), Decimal(0))

    def text(self, number: Decimal, currency: str) -> str:
        """Return a number of devices, or an amount of money, as text."""
        if self.of:
            return f"{number:f}"
        return costs.text(number, currency)


def judge(stack: Stack, classes: Mapping[str, AcceleratorClass], contexts: Contexts) -> Iterator[Problem]:
    """Yield the errors and warnings of prices and budgets: unknown classes, and budgets that are exceeded or unused."""
    yield from _class_problems(_PRICES, stack.prices.per_device_hour, classes)
    budgets = stack.budgets
    if budgets is None or not budgets.limits:
        return
    for value, limit in budgets.limits.items():
        yield from _class_problems(_LIMITS / value / "devices", limit.devices, classes)
        if not limit.devices and limit.per_month is None:
            yield Problem(_LIMITS / value, "limits nothing", "write devices or perMonth below it")
    devices = _devices(contexts)
    for value, limit in budgets.limits.items():
        if limit.per_month is not None:
            yield from _missing_prices(
                _LIMITS / value / "perMonth", _members(stack, budgets, value), devices, stack.prices
            )
    for usage in usages(stack, devices):
        if usage.total > usage.allowed:
            yield _excess(usage, stack)
    yield from _judge_labels(stack, budgets)


def _judge_labels(stack: Stack, budgets: Budgets) -> Iterator[Problem]:
    """Yield warnings about budgets and services that miss each other: budgets without services, and the reverse."""
    by = budgets.by
    limits = budgets.limits
    labels = {key: {**stack.labels, **service.labels} for key, service in stack.services.items()}
    values = {key: of_service[by] for key, of_service in labels.items() if by in of_service}
    if not values:
        remedy = _nearest(by, {name for of_service in labels.values() for name in of_service}, f"add a label {by}")
        yield warning(Path("budgets", "by"), f"is a label of no service, so that nothing is limited ({by})", remedy)
        return
    used = {value for value in limits if value in values.values()}
    for value in limits:
        if value not in used:
            remedy = _nearest(value, {*values.values()} - used, "correct it, or remove it")
            yield warning(_LIMITS / value, f"limits no service, as none has the label {by}={value}", remedy)
    without = [key for key in stack.services if key not in values]
    if without:
        what = f"is no label of {_enumeration(without)}, so that no budget limits what they use ({by})"
        yield warning(Path("budgets", "by"), what, f"add it to their labels, such as {by}: {next(iter(limits))}")
    for key, value in values.items():
        close = difflib.get_close_matches(value, sorted(used), n=1)
        if close and value not in used:
            what = f"names no budget ({value}), so that none limits this service"
            yield warning(Path("services", key, "labels", by), what, f"did you mean {close[0]}?")


def _enumeration(services: Sequence[str]) -> str:
    """Return services as text, with the number of those that are left out."""
    if len(services) <= _MOST_NAMES:
        return ", ".join(services)
    return f"{', '.join(services[:_MOST_NAMES])} and {len(services) - _MOST_NAMES} more"


def _nearest(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return the question for the most similar of some names, or another remedy if none is similar."""
    for close in difflib.get_close_matches(name, sorted(names), n=1):
        return f"did you mean {close}?"
    return otherwise


def usages(stack: Stack, devices: Mapping[str, Iterable[DeviceRange]]) -> Iterator[Usage]:
    """Yield the usage of every limit of every budget. `devices` has the devices of each service, by service key.

    A limit on money is left out if a service with this budget has devices without a price.
    """
    if stack.budgets is None:
        return
    for value, limit in stack.budgets.limits.items():
        members = {key: tuple(devices.get(key, ())) for key in _members(stack, stack.budgets, value)}
        label = f"{stack.budgets.by}={value}"
        for name, allowed in limit.devices.items():
            numbers = {
                key: sum(part.high for part in parts if part.accelerator == name) for key, parts in members.items()
            }
            taken = {key: Decimal(number) for key, number in numbers.items() if number}
            yield Usage(_LIMITS / value / "devices" / name, label, name, Decimal(allowed), taken)
        yield from _money_usages(label, limit, members, stack)


def _money_usages(
    label: str, limit: Limit, members: Mapping[str, tuple[DeviceRange, ...]], stack: Stack
) -> Iterator[Usage]:
    amounts = {key: costs.cost(devices, stack.prices) for key, devices in members.items()}
    if limit.per_month is not None and not any(amount.unpriced for amount in amounts.values()):
        path = _LIMITS / label.partition("=")[2] / "perMonth"
        taken = {key: amount.high for key, amount in amounts.items() if amount.high}
        yield Usage(path, label, "", Decimal(str(limit.per_month)), taken)


def _class_problems(at: Path, names: Iterable[str], classes: Mapping[str, AcceleratorClass]) -> Iterator[Problem]:
    for name in names:
        if name not in classes:
            near = accelerators.nearest(name, classes)
            remedy = f"did you mean {near}?"
            if near is None:
                remedy = "name a class under accelerators, or a shipped class"
            yield Problem(at / name, f"unknown class ({name})", remedy)


def _members(stack: Stack, budgets: Budgets, value: str) -> list[str]:
    """Return the keys of the services whose label `budgets.by` has the value `value`.

    A service that lacks this label inherits it from the stack.
    """
    inherited = stack.labels.get(budgets.by)
    return [key for key, service in stack.services.items() if service.labels.get(budgets.by, inherited) == value]


def _devices(contexts: Contexts) -> dict[str, list[DeviceRange]]:
    """Return by service key the devices of each service and its canary, for their maximum numbers of replicas."""
    devices = dict[str, list[DeviceRange]]()
    for identity, role in contexts.roles.items():
        number = role.layout.devices_per_pod * role.layout.pods_per_replica * max_replicas(role.role)
        if number:
            devices.setdefault(identity.variant.key, []).append(DeviceRange(role.role.accelerator, number, number))
    return devices


def _missing_prices(
    at: Path, members: Iterable[str], devices: Mapping[str, Iterable[DeviceRange]], prices: Prices
) -> Iterator[Problem]:
    """Yield a problem of the limit on money at a path for each class of its devices that has no price."""
    of_members = (part for key in members for part in devices.get(key, ()))
    for name in costs.cost(of_members, prices).unpriced:
        price = _PRICES / name
        yield Problem(at, f"cannot be checked without a price of {name}", f"add {price}", (price,))


def _excess(usage: Usage, stack: Stack) -> Problem:
    currency = stack.prices.currency
    ordered = sorted(usage.services.items(), key=lambda item: (-item[1], item[0]))
    listed = _enumeration([f"{key} {usage.text(number, currency)}" for key, number in ordered])
    used, allowed = (usage.text(number, currency) for number in (usage.total, usage.allowed))
    unit = "devices" if usage.of else "a month"
    what = f"services with {usage.label} have up to {used} {unit}, above {allowed} ({listed})"
    depends_on = tuple(Path("services", key, name) for key in usage.services for name in _DEPENDENCIES)
    return Problem(usage.path, what, "lower replicas or maxReplicas, or raise the budget", depends_on)
