"""Blocks of the report on a run, the most important blocks first. Long lists end with the number of omitted items."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from cli import documents
from cli.documents import Block, Heading, Items, Line, Strong, Table, Text
from judging.report import words
from judging.report.capacity import Capacity, ClassCapacity, DeviceCapacity
from judging.report.events import Diagnostic
from judging.report.packing import Verdict
from judging.report.paths import PathChange
from judging.report.summary import Summary, WorkloadLine
from planning import money
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
_SIGNS = {"create": "+", "delete": "-", "update": "~"}
Writer = Callable[[Sequence[Block]], str]
Item = tuple[str, Text]
"""Sign and text of an item of a list."""


def fitting(summary: Summary, write: Writer, longest: int = LONGEST) -> str:
    """Return the report as text of at most `longest` bytes.

    Lists are shortened until the report is short enough, and end with the number of items that are left out. If even
    the shortest lists make a longer report, its end is cut.
    """
    texts = (write(tuple(blocks(summary, length))) for length in _LENGTHS)
    shortest = ""
    for found in texts:
        shortest = found
        if documents.size(found) <= longest:
            break
    return documents.cut(shortest, longest)


def blocks(summary: Summary, length: int) -> Iterator[Block]:
    """Yield the blocks of a report, with at most `length` items in each list."""
    yield Heading(_headline(summary))
    if not summary.is_complete:
        yield Line((Strong("The run stopped early; the report has only the events until then."),))
    if summary.errors:
        lines = [("x", line) for each in summary.errors for line in _diagnostic(each).splitlines()]
        yield Items(_cut(lines, length))
    if summary.capacity.classes:
        rows = [_row(each, summary.capacity) for each in summary.capacity.classes]
        yield Table(("devices", "now", "after", "peak while rolling", "free in cluster"), rows[:length])
    if summary.workloads:
        yield Items(_cut([(line.mark, _workload(line)) for line in summary.workloads], length))
    if summary.paths:
        yield Items(_cut([_path(change) for change in summary.paths], length))
    if summary.drift:
        found = [("-" if each.is_gone else "~", f"changed by hand: {each}") for each in summary.drift]
        yield Items(_cut(found, length))
    yield from _lines(summary, length)
    if summary.warnings:
        yield Items(_cut([("?", _diagnostic(each)) for each in summary.warnings], length))
    if summary.unchecked:
        more = len(summary.unchecked) - length
        yield Line("unchecked: " + "; ".join(summary.unchecked[:length]) + (f"; {more} more" if more > 0 else ""))


def _headline(summary: Summary) -> str:
    parts = [summary.stack or "no stack"]
    if summary.errors:
        parts.append(f"{_count(len(summary.errors), 'error')}")
    number = len(summary.services)
    parts.append(
        f"{_count(number, 'service')} {'changes' if number == 1 else 'change'}" if number else "no service changes"
    )
    outages = sum(line.outage is not None for line in summary.workloads)
    parts += [f"{_count(outages, 'outage')}"] if outages else []
    parts += [f"{_count(len(summary.drift), 'object')} changed by hand"] if summary.drift else []
    for each in summary.capacity.classes:
        if each.before != each.after:
            parts.append(f"{_difference(each)} {each.accelerator}")
    if summary.is_priced and (cost := _cost(summary)):
        parts.append(cost)
    return " · ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _difference(devices: ClassCapacity) -> str:
    low, high = devices.after.low - devices.before.low, devices.after.high - devices.before.high
    return f"{low:+d}" if low == high else f"{low:+d} to {high:+d}"


def _cost(summary: Summary) -> str:
    """Return the difference of the monthly costs as text; empty if the costs do not differ."""
    difference = summary.after.less(summary.before)
    low, high = (_with_sign(each, summary.currency) for each in (difference.low, difference.high))
    if not difference.low and not difference.high:
        return ""
    return f"{low} a month" if low == high else f"{low} to {high} a month"


def _with_sign(amount: Decimal, currency: str) -> str:
    found = money.text(amount, currency)
    return found if found.startswith("-") else f"+{found}"


def _row(devices: ClassCapacity, capacity: Capacity) -> tuple[Text, ...]:
    numbers = (str(each) for each in (devices.before, devices.after, devices.peak))
    return devices.accelerator, *numbers, _room(devices, capacity)


def _room(devices: ClassCapacity, capacity: Capacity) -> Text:
    """Return the number of free devices of a class, and whether the additional pods fit on them."""
    if devices.is_provisioned:
        return "nodes come on demand"
    free = "unknown" if devices.free is None else str(devices.free)
    verdicts = [_verdict(each) for each in capacity.devices if devices.accelerator in each.classes]
    parts = [("; " if index else ": ", *verdict) for index, verdict in enumerate(verdicts)]
    return (free, *(part for verdict in parts for part in verdict))


def _verdict(needed: DeviceCapacity) -> tuple[str | Strong, ...]:
    """Return as text whether the additional pods of a change fit, and on which nodes."""
    if needed.low is Verdict.SHORT:
        return Strong("does not fit"), f": this change takes {needed.additional.low} more at once"
    found = needed.low.value
    if needed.high is Verdict.SHORT:
        found += ", but not at the largest number of replicas"
    places = [f"{' + '.join(str(size) for _, size in pods)} on {node}" for node, pods in sorted(needed.places.items())]
    more = f" and {len(places) - _MOST_NODES} more nodes" if len(places) > _MOST_NODES else ""
    certain = "" if needed.is_certain else ", as far as facts say"
    return (f"{found}{certain} ({', '.join(places[:_MOST_NODES])}{more})" if places else f"{found}{certain}",)


def _workload(line: WorkloadLine) -> Text:
    parts = [part for part in (line.name, ", ".join(line.edits)) if part]
    before = "".join(f"{part} · " for part in parts)
    remedy = f": {line.remedy}" if line.remedy else ""
    return (before, *documents.with_emphasis(line.fate), remedy)


def _path(change: PathChange) -> tuple[str, str]:
    return _SIGNS[change.operation], words.path(change.operation, change.address, change.text)


def _lines(summary: Summary, length: int) -> Iterator[Block]:
    """Yield lines about profiles, costs, budgets and other objects, at most `length` of a kind."""
    profiled = [service for service in summary.services if service in summary.profiles]
    yield from _first(
        [f"profile of {service}: {summary.profiles[service]}" for service in profiled], length, "profiles"
    )
    if summary.is_priced:
        unpriced = f"; no price of {', '.join(summary.after.unpriced)}" if summary.after.unpriced else ""
        low, high = (money.text(each, summary.currency) for each in (summary.after.low, summary.after.high))
        yield Line(f"devices after the change: {low if low == high else f'{low} to {high}'} a month{unpriced}")
    yield from _first([_usage(usage, summary.currency) for usage in summary.usages], length, "budgets")
    others = [
        f"other objects, {operation}: {', '.join(f'{number} {kind}' for kind, number in sorted(kinds.items()))}"
        for operation, kinds in sorted(summary.others.items())
    ]
    yield from _first(others, length, "operations")


def _usage(usage: Usage, currency: str) -> str:
    used, allowed = (usage.text(each, currency) for each in (usage.total, usage.allowed))
    unit = f" {usage.of}" if usage.of else " a month"
    return f"budget {usage.label}: {used} of {allowed}{unit}"


def _first(lines: Sequence[str], length: int, noun: str) -> Iterator[Line]:
    """Yield the first lines, and a line that counts the lines that are left out."""
    yield from map(Line, lines[:length])
    if len(lines) > length:
        yield Line(f"and {len(lines) - length} more {noun}")


def _diagnostic(found: Diagnostic) -> str:
    policy = f"policy {found.policy}: " if found.policy else ""
    resource = f" ({found.resource})" if found.resource and found.policy else ""
    return f"{policy}{found.message}{resource}"


def _cut(items: Sequence[Item], length: int) -> Sequence[Item]:
    """Return the first items, and an item that counts the items that are left out."""
    return items if len(items) <= length else [*items[:length], ("…", _rest(items[length:]))]


def _rest(items: Sequence[Item]) -> str:
    """Return a text with the number of items, in total and by sign."""
    counts = Counter(sign for sign, _ in items)
    return f"and {len(items)} more: " + ", ".join(f"{number} {sign}" for sign, number in sorted(counts.items()))
