"""The status of services as lines of text, for a terminal of any width."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from judging.status import document
from judging.status.contract import ServiceState
from judging.status.records import Finding, ServiceLink
from judging.status.states import Level
from judging.status.verdict import ServiceStatus, Status
from planning.ground.snapshot import CERTIFICATE, TLS_CERTIFICATE

_SIGNS: Mapping[Level, str] = {Level.NORMAL: "✓", Level.DEGRADED: "!", Level.BROKEN: "✗"}
_UNKNOWN = "?"
_WAITING = "·"
_STATES: Mapping[ServiceState, str] = {
    "healthy": "serves",
    "degraded": "degraded",
    "starting": "starts",
    "asleep": "sleeps",
    "broken": "does not serve",
    "unknown": "cannot be told",
}
"""Words for the states of services, in the order in which they are counted."""
_OTHER_SIGNS: Mapping[str, str] = {"starts": _WAITING, "sleeps": _WAITING, "cannot be told": _UNKNOWN}
"""Signs of states that the level of a service does not tell."""
_NAMES = 10
"""Width of the column with the names of links."""
_COUNTS = 6
_MINUTE = 60
_HOUR = 60
_DAY = 24
_RIGHTS = "bind the Roles that `python -m cli rights STACK --for status` prints"
_CERTIFICATES = "with `--certificates SECRET` for each certificate"
_OF_CERTIFICATES = frozenset({TLS_CERTIFICATE, CERTIFICATE})
_NOTHING = "no stack is deployed in this cluster; --context names another cluster"
_NARROWEST = 40
"""Width of text in a terminal that is narrower."""


@dataclass(frozen=True, slots=True)
class Page:
    """Texts that are printed beside the status itself."""

    title: str
    """Name of the stack or of the cluster."""
    missing: Sequence[str] = ()
    """Keys of planned services of which the cluster has nothing."""
    logs: Mapping[tuple[str, str], Sequence[str]] | None = None
    """Last lines of the culprit's log, by namespace and name of the service; None if nobody asked for them."""
    answers: Mapping[tuple[str, str], str] | None = None
    """Result of a request to each service, by namespace and name of the service; None if nobody asked for it."""


def lines(status: Status, page: Page, width: int) -> Iterator[str]:
    """Yield the lines. No line is longer than `width`, unless one word is."""
    width = max(width, _NARROWEST)
    yield from _text_lines(" · ".join((page.title, f"{status.read_at:%H:%M:%S} UTC", *_totals(status))), "  ", width)
    labels = _labels(status)
    width_of_names = max(map(len, labels.values()), default=0)
    for service in status.services:
        label = labels[service.view.namespace, service.view.name]
        yield from _service(service, f"{label:{width_of_names}}", status.read_at, width)
        yield from _more(service, page, width)
    for key in page.missing:
        yield from _text_lines(f"· {key}  is not deployed; run `pulumi preview`", "  ", width)
    if not (status.services or page.missing or status.unread):
        yield from _text_lines(f"· {_NOTHING}", "  ", width)
    yield from _unread(status.unread, width)


def _unread(unread: Mapping[str, str], width: int) -> Iterator[str]:
    """Yield which kinds are unknown, by reason, and the remedy."""
    for reason in sorted(set(unread.values())):
        kinds = ", ".join(sorted(kind.rpartition("/")[2] for kind in unread if unread[kind] == reason))
        yield from _text_lines(f"{_UNKNOWN} unknown, because {reason}: {kinds}", "  ", width)
    forbidden = {kind for kind, reason in unread.items() if "403" in reason}
    if forbidden:
        remedy = _RIGHTS
        if forbidden & _OF_CERTIFICATES:
            remedy = f"{_RIGHTS} {_CERTIFICATES}"
        yield from _text_lines(f"  {'do':{_NAMES}} {remedy}", " " * (_NAMES + 3), width)


def _totals(status: Status) -> Iterator[str]:
    """Yield how many services are in each state."""
    states = [state(service) for service in status.services]
    for text in _STATES.values():
        if text in states:
            yield f"{states.count(text)} {text}"
    if not states:
        yield "no services" if not status.unread else "cannot be told"


def state(service: ServiceStatus) -> str:
    """Return the state of a service in a word or three."""
    return _STATES[document.state(service)]


def _service(service: ServiceStatus, label: str, now: datetime, width: int) -> Iterator[str]:
    """Yield the lines of a service: one if it serves as configured, or else one for each link."""
    words = state(service)
    sign = _OTHER_SIGNS.get(words, _SIGNS[service.level])
    head = f"{sign} {label}  {words}{_since(service.since, now)}"
    if words == "serves" and service.culprit is None:
        yield from _text_lines(f"{head} · {' · '.join(_counts(service.components))}", "  ", width)
        return
    yield from _text_lines(head, "  ", width)
    for component in service.components:
        yield from _component(component, service.culprit, width)
    if service.culprit is not None and service.culprit.remedy:
        yield from _text_lines(f"  {'do':{_NAMES}} {service.culprit.remedy}", " " * (_NAMES + 3), width)


def _labels(status: Status) -> Mapping[tuple[str, str], str]:
    """Return the name of each service by namespace and name; with the namespace if another service has the name."""
    places = [(service.view.namespace, service.view.name) for service in status.services]
    names = [name for _, name in places]
    return {place: place[1] if names.count(place[1]) == 1 else "/".join(place) for place in places}


def _counts(components: Iterable[ServiceLink]) -> Iterator[str]:
    """Yield the ready replicas of each role."""
    for component in components:
        if component.role:
            name = component.role if component.variant != "canary" else f"canary {component.role}"
            yield f"{name} {_replicas(component)}"


def _component(component: ServiceLink, culprit: Finding | None, width: int) -> Iterator[str]:
    name = component.role or component.link.value
    if component.variant == "canary":
        name = f"canary {name}"
    sign = _UNKNOWN if component.is_broken is None else _SIGNS[component.level]
    head = f"  {name:{_NAMES}} {_replicas(component):{_COUNTS}}{sign} "
    texts = [_words(finding, culprit) for finding in component.findings] or [component.note or str(component.object)]
    for text in texts:
        yield from _text_lines(f"{head}{text}", " " * (_NAMES + _COUNTS + 5), width)
        head = " " * (_NAMES + _COUNTS + 5)


def _replicas(component: ServiceLink) -> str:
    if component.ready is None:
        return ""
    if component.desired is None:
        return str(component.ready)
    return f"{component.ready}/{component.desired}"


def _words(finding: Finding, culprit: Finding | None) -> str:
    about = finding.object.name
    if finding.count > 1:
        about = f"{about} (1 of {finding.count} alike)"
    mark = "" if finding != culprit else f" [{finding.state.id}]"
    return f"{about} {finding.words}{mark}"


def _more(service: ServiceStatus, page: Page, width: int) -> Iterator[str]:
    place = (service.view.namespace, service.view.name)
    for line in (page.logs or {}).get(place, ()):
        yield f"  | {line}"[:width]
    if place in (page.answers or {}):
        yield from _text_lines(f"  {'asked':{_NAMES}} {(page.answers or {})[place]}", " " * (_NAMES + 3), width)


def _text_lines(text: str, indent: str, width: int) -> list[str]:
    """Return a text as lines. Names are never divided."""
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def _since(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return ""
    begin = f"{moment:%H:%M}"
    if moment.date() != now.date():
        begin = f"{moment:%Y-%m-%d %H:%M}"
    return f" since {begin} ({duration(int((now - moment).total_seconds()))})"


def duration(seconds: int) -> str:
    """Return a duration in its largest unit."""
    minutes = max(seconds, 0) // _MINUTE
    if minutes < 1:
        return f"{max(seconds, 0)} s"
    if minutes < _HOUR:
        return f"{minutes} min"
    hours = minutes // _HOUR
    return f"{hours} h" if hours < 2 * _DAY else f"{hours // _DAY} days"
