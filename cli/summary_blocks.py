"""Blocks of the report on a run, the most important blocks first. Long lists end with the number of omitted items."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from cli import documents
from cli.documents import Block, Heading, Items, Line, Strong, Table, Text
from judging.report import words
from judging.report.capacity import Capacity, ClassCapacity, DeviceCapacity
from judging.report.events import Diagnostic
from judging.report.packing import Tightness
from judging.report.paths import PathChange
from judging.report.summary import Summary, WorkloadLine
from planning import money
from planning.ground.turns import Turns
from planning.money import Usage

LONGEST = 60_000
"""Maximum size of a report in bytes. GitHub's comments have at most 65,536 characters, GitLab's comments at most a
million, and a step of GitHub Actions has a summary of at most 1 MiB.

Sources: GitHub REST API, Issue comments, body; GitLab documentation, Instance limits, Size of comments; GitHub
documentation, Workflow commands, Job summary."""
_LENGTHS = (10_000, 100, 40, 15, 5, 1)
"""Maximum numbers of items in a list. The numbers are tried in this order until the report is short enough."""
_MOST_NODES = 3
"""Maximum number of nodes whose pods are listed."""
_MOST_SERVICES = 3
"""Maximum number of services that a line about several services names."""
_SIGNS = {"create": "+", "delete": "-", "update": "~"}
Writer = Callable[[Sequence[Block]], str]
Item = tuple[str, Text]
"""Sign and text of an item of a list."""


def fitting(summary: Summary, write: Writer, longest: int = LONGEST) -> str:
    """Return the report as text of at most `longest` bytes.

    Lists are shortened until the report is short enough, and end with the number of items that are left out. If even
    the shortest lists make a longer report, its end is cut.
    """
    text = ""
    for length in _LENGTHS:
        text = write(tuple(blocks(summary, length)))
        if documents.size(text) <= longest:
            break
    return documents.cut(text, longest)


def blocks(summary: Summary, length: int) -> Iterator[Block]:
    """Yield the blocks of a report, with at most `length` items in each list."""
    yield Heading(_headline(summary))
    if not summary.is_complete:
        yield Line((Strong("The run stopped early; the report has only the events until then."),))
    if summary.errors:
        lines = [("x", line) for error in summary.errors for line in _diagnostic(error).splitlines()]
        yield Items(_cut(lines, length))
    if summary.capacity.classes:
        rows = [_row(devices, summary.capacity) for devices in summary.capacity.classes]
        yield Table(("devices", "now", "after", "peak while rolling", "free in cluster"), rows[:length])
    if summary.workloads:
        yield Items(_cut([(line.mark, _workload(line)) for line in summary.workloads], length))
    if summary.paths:
        yield Items(_cut([_path(change) for change in summary.paths], length))
    if summary.drift:
        changes = [(change.sign, f"changed by hand: {change}") for change in summary.drift]
        yield Items(_cut(changes, length))
    yield from _lines(summary, length)
    if summary.warnings:
        yield Items(_cut([("?", _diagnostic(warning)) for warning in summary.warnings], length))
    if summary.unchecked:
        checks = [*summary.unchecked[:length]]
        if len(summary.unchecked) > length:
            checks.append(f"{len(summary.unchecked) - length} more")
        yield Line(f"unchecked: {'; '.join(checks)}")


def _headline(summary: Summary) -> str:
    parts = [summary.stack or "no stack"]
    if summary.errors:
        parts.append(number_of(len(summary.errors), "error"))
    match len(summary.services):
        case 0:
            parts.append("no service changes")
        case 1:
            parts.append("1 service changes")
        case number:
            parts.append(f"{number} services change")
    outages = sum(line.outage is not None for line in summary.workloads)
    if outages:
        parts.append(number_of(outages, "outage"))
    if summary.drift:
        parts.append(f"{number_of(len(summary.drift), 'object')} changed by hand")
    parts += [
        f"{_difference(devices)} {devices.accelerator}"
        for devices in summary.capacity.classes
        if devices.before != devices.after
    ]
    if summary.is_priced and (cost := _cost(summary)):
        parts.append(cost)
    return " · ".join(parts)


def number_of(number: int, noun: str) -> str:
    """Return a number with a noun in singular or plural."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _difference(devices: ClassCapacity) -> str:
    low = devices.after.low - devices.before.low
    high = devices.after.high - devices.before.high
    return _range(f"{low:+d}", f"{high:+d}")


def _range(low: str, high: str) -> str:
    if low == high:
        return low
    return f"{low} to {high}"


def _cost(summary: Summary) -> str:
    """Return the difference of the monthly costs as text; empty if the costs do not differ."""
    difference = summary.after.less(summary.before)
    low, high = (_with_sign(amount, summary.currency) for amount in (difference.low, difference.high))
    if not difference.low and not difference.high:
        return ""
    return f"{_range(low, high)} a month"


def _with_sign(amount: Decimal, currency: str) -> str:
    return f"+{money.text(amount, currency)}".replace("+-", "-")


def _row(devices: ClassCapacity, capacity: Capacity) -> tuple[Text, ...]:
    numbers = map(str, (devices.before, devices.after, devices.peak))
    return devices.accelerator, *numbers, _room(devices, capacity)


def _room(devices: ClassCapacity, capacity: Capacity) -> Text:
    """Return the number of free devices of a class, and whether the additional pods fit on them."""
    if devices.is_provisioned:
        return "nodes come on demand"
    parts = list[str | Strong]()
    for needed in capacity.devices:
        if devices.accelerator in needed.classes:
            parts += ["; ", *_verdict(needed)]
    free = "unknown" if devices.free is None else str(devices.free)
    if parts:
        parts[0] = ": "
    return (free, *parts)


def _verdict(needed: DeviceCapacity) -> tuple[str | Strong, ...]:
    """Return as text whether the additional pods of a change fit, and on which nodes."""
    if needed.low is Tightness.SHORT:
        return Strong("does not fit"), f": this change takes {needed.additional.low} more at once"
    text = needed.low.value
    if needed.high is Tightness.SHORT:
        text += ", but not at the largest number of replicas"
    if not needed.is_certain:
        text += ", as far as facts say"
    places = [f"{' + '.join(str(size) for _, size in pods)} on {node}" for node, pods in sorted(needed.places.items())]
    if places:
        listed = ", ".join(places[:_MOST_NODES])
        if len(places) > _MOST_NODES:
            listed += f" and {len(places) - _MOST_NODES} more nodes"
        text += f" ({listed})"
    return (text,)


def _turns(turns: Turns, length: int) -> str:
    """Return the order in which services restart as text."""
    number = len(turns.services)
    names = ", ".join(turns.services[:length])
    if number > length:
        names += f" and {number - length} more"
    return f"{number} services restart, at most {turns.at_once} at a time, in this order: {names}"


def _workload(line: WorkloadLine) -> Text:
    parts = [part for part in (line.name, ", ".join(line.edits)) if part]
    before = "".join(f"{part} · " for part in parts)
    remedy = f": {line.remedy}" if line.remedy else ""
    return (before, *documents.with_emphasis(line.fate), remedy)


def _path(change: PathChange) -> tuple[str, str]:
    return _SIGNS[change.operation], words.path(change.operation, change.address, change.text)


def _lines(summary: Summary, length: int) -> Iterator[Block]:
    """Yield lines about turns, profiles, cold starts, gates, costs, budgets and other objects.

    There are at most `length` lines of a kind.
    """
    if len(summary.turns.services) > 1:
        yield Line(_turns(summary.turns, length))
    profiled = [service for service in summary.services if service in summary.profiles]
    yield from _first(
        [f"profile of {service}: {summary.profiles[service]}" for service in profiled], length, "profiles"
    )
    yield from _first(_cold_starts(summary), length, "cold starts")
    gated = [service for service in summary.services if service in summary.gates]
    yield from _first([f"gates of {service}: {summary.gates[service]}" for service in gated], length, "gates")
    if summary.is_priced:
        low, high = (money.text(amount, summary.currency) for amount in (summary.after.low, summary.after.high))
        costs = f"devices after the change: {_range(low, high)} a month"
        if summary.after.unpriced:
            costs += f"; no price of {', '.join(summary.after.unpriced)}"
        yield Line(costs)
    yield from _first([_usage(usage, summary.currency) for usage in summary.usages], length, "budgets")
    others = [
        f"other objects, {operation}: {', '.join(f'{number} {kind}' for kind, number in sorted(kinds.items()))}"
        for operation, kinds in sorted(summary.others.items())
    ]
    yield from _first(others, length, "operations")


def _cold_starts(summary: Summary) -> list[str]:
    """Return a line for each timeline of the services that change. Services with the same timeline share a line."""
    sharing = dict[str, list[str]]()
    for service in summary.services:
        if service in summary.cold_starts:
            sharing.setdefault(summary.cold_starts[service], []).append(service)
    return [f"cold start of {_first_names(services)}: {timeline}" for timeline, services in sharing.items()]


def _first_names(services: Sequence[str]) -> str:
    """Return the first names of services, and the number of the others."""
    names = ", ".join(services[:_MOST_SERVICES])
    if len(services) > _MOST_SERVICES:
        names += f" and {len(services) - _MOST_SERVICES} more"
    return names


def _usage(usage: Usage, currency: str) -> str:
    used, allowed = (usage.text(amount, currency) for amount in (usage.total, usage.allowed))
    return f"budget {usage.label}: {used} of {allowed} {usage.of or 'a month'}"


def _first(lines: Sequence[str], length: int, noun: str) -> Iterator[Line]:
    """Yield the first lines, and a line that counts the lines that are left out."""
    yield from map(Line, lines[:length])
    if len(lines) > length:
        yield Line(f"and {len(lines) - length} more {noun}")


def _diagnostic(diagnostic: Diagnostic) -> str:
    if not diagnostic.policy:
        return diagnostic.message
    # The message of a policy has its description in a line of its own.
    text = f"policy {diagnostic.policy}: {' '.join(diagnostic.message.split())}"
    if diagnostic.resource:
        text += f" ({diagnostic.resource})"
    return text


def _cut(items: Sequence[Item], length: int) -> Sequence[Item]:
    """Return the first items, and an item that counts the items that are left out."""
    if len(items) <= length:
        return items
    return [*items[:length], ("…", _rest(items[length:]))]


def _rest(items: Sequence[Item]) -> str:
    """Return a text with the number of items, in total and by sign."""
    counts = Counter(sign for sign, _ in items)
    return f"and {len(items)} more: " + ", ".join(f"{number} {sign}" for sign, number in sorted(counts.items()))
