"""Budgets: limits on devices and on money. All services that have the same value of a label share a budget."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from models.money import Limit
from models.paths import Path
from models.problems import Problem, warning
from models.stack import Stack
from planning.hardware import accelerators
from planning.hardware.accelerators import AcceleratorClass
from planning.money import costs
from planning.money.costs import Devices
from planning.variant import Contexts
from planning.variant.context import max_replicas

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
        return f"{number:f}" if self.of else costs.text(number, currency)


def problems(stack: Stack, classes: Mapping[str, AcceleratorClass], contexts: Contexts) -> Iterator[Problem]:
    """Check that the classes of prices and budgets are known, and that no budget is exceeded."""
    yield from _class_problems(_PRICES, stack.prices.per_device_hour, classes)
    limits = {} if stack.budgets is None else stack.budgets.limits
    for value, limit in limits.items():
        yield from _class_problems(_LIMITS / value / "devices", limit.devices, classes)
        if not limit.devices and limit.per_month is None:
            yield Problem(_LIMITS / value, "limits nothing", "write devices or perMonth below it")
    if not limits:
        return
    devices = _devices(contexts)
    for name, at in _missing_prices(stack, devices):
        what = f"cannot be checked without a price of {name}"
        price = _PRICES / name
        yield Problem(at, what, f"add {price}", (price,))
    for usage in usages(stack, devices):
        if usage.total > usage.allowed:
            yield _excess(usage, stack)


def warnings(stack: Stack) -> Iterator[Problem]:
    """Yield warnings about budgets and services that miss each other: budgets without services, and the reverse."""
    if stack.budgets is None or not stack.budgets.limits:
        return
    by = stack.budgets.by
    limits = stack.budgets.limits
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
        close = [] if value in used else difflib.get_close_matches(value, sorted(used), n=1)
        if close:
            what = f"names no budget ({value}), so that none limits this service"
            yield warning(Path("services", key, "labels", by), what, f"did you mean {close[0]}?")


def _enumeration(services: Sequence[str]) -> str:
    """Return services as text, with the number of those that are left out."""
    more = f" and {len(services) - _MOST_NAMES} more" if len(services) > _MOST_NAMES else ""
    return ", ".join(services[:_MOST_NAMES]) + more


def _nearest(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return the question for the most similar of some names, or another remedy if none is similar."""
    close = difflib.get_close_matches(name, sorted(names), n=1)
    return f"did you mean {close[0]}?" if close else otherwise


def usages(stack: Stack, devices: Mapping[str, Iterable[Devices]]) -> Iterator[Usage]:
    """Yield the usage of every limit of every budget. `devices` has the devices of each service, by service key.

    A limit on money is left out if a service with this budget has devices without a price.
    """
    if stack.budgets is None:
        return
    for value, limit in stack.budgets.limits.items():
        members = {key: tuple(devices.get(key, ())) for key in _members(stack, value)}
        label = f"{stack.budgets.by}={value}"
        for name, allowed in limit.devices.items():
            sums = {key: sum(each.high for each in found if each.accelerator == name) for key, found in members.items()}
            path = _LIMITS / value / "devices" / name
            yield Usage(
                path, label, name, Decimal(allowed), {key: Decimal(number) for key, number in sums.items() if number}
            )
        yield from _money_usages(label, limit, members, stack)


def _money_usages(
    label: str, limit: Limit, members: Mapping[str, tuple[Devices, ...]], stack: Stack
) -> Iterator[Usage]:
    found = {key: costs.cost(each, stack.prices) for key, each in members.items()}
    if limit.per_month is not None and not any(each.unpriced for each in found.values()):
        path = _LIMITS / label.partition("=")[2] / "perMonth"
        sums = {key: each.high for key, each in found.items() if each.high}
        yield Usage(path, label, "", Decimal(str(limit.per_month)), sums)


def _class_problems(at: Path, names: Iterable[str], classes: Mapping[str, AcceleratorClass]) -> Iterator[Problem]:
    for name in names:
        if name not in classes:
            near = accelerators.nearest(name, classes)
            remedy = (
                f"did you mean {near}?" if near is not None else "name a class under accelerators, or a shipped class"
            )
            yield Problem(at / name, f"unknown class ({name})", remedy)


def _members(stack: Stack, value: str) -> list[str]:
    """Return the keys of the services whose label `budgets.by` has the value `value`.

    A service that lacks this label inherits it from the stack.
    """
    by = "" if stack.budgets is None else stack.budgets.by
    inherited = stack.labels.get(by)
    return [key for key, service in stack.services.items() if service.labels.get(by, inherited) == value]


def _devices(contexts: Contexts) -> dict[str, list[Devices]]:
    """Return by service key the devices of each service and its canary, for their maximum numbers of replicas."""
    found = dict[str, list[Devices]]()
    for identity, role in contexts.roles.items():
        number = role.layout.devices_per_pod * role.layout.pods_per_replica * max_replicas(role.role)
        if number:
            found.setdefault(identity.variant.key, []).append(Devices(role.role.accelerator, number, number))
    return found


def _missing_prices(stack: Stack, devices: Mapping[str, Iterable[Devices]]) -> Iterator[tuple[str, Path]]:
    """Yield each class without a price, and the path of the limit on money that needs this price."""
    for value, limit in ({} if stack.budgets is None else stack.budgets.limits).items():
        if limit.per_month is not None:
            found = [each for key in _members(stack, value) for each in devices.get(key, ())]
            for name in costs.cost(found, stack.prices).unpriced:
                yield name, _LIMITS / value / "perMonth"


def _excess(usage: Usage, stack: Stack) -> Problem:
    currency = stack.prices.currency
    ordered = sorted(usage.services.items(), key=lambda each: (-each[1], each[0]))
    listed = _enumeration([f"{key} {usage.text(number, currency)}" for key, number in ordered])
    used, allowed = (usage.text(number, currency) for number in (usage.total, usage.allowed))
    unit = f"{used} devices" if usage.of else f"{used} a month"
    what = f"services with {usage.label} have up to {unit}, above {allowed} ({listed})"
    depends_on = tuple(Path("services", key, name) for key in usage.services for name in _DEPENDENCIES)
    return Problem(usage.path, what, "lower replicas or maxReplicas, or raise the budget", depends_on)
