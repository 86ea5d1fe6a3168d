"""The page `docs/runbook.md`: an entry for each alert and each state of a status, generated from their tables."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from judging.status import states
from judging.status.records import Link
from judging.status.states import State
from manifests import alert_rules
from planning.observing import alerts, panels
from planning.observing.alerts import AlertRow

_HEAD = """# Runbook

Generated from the tables of alerts and states: `python -m cli reference runbook > docs/runbook.md`.

An entry for each alert and each state of `python -m cli status`. An alert has the id of the state with the same
meaning. The annotation `runbook_url` of an alert leads to its entry here, if `observability.rules.runbooks` is the
address of this page and `#{alert}`.

1. `python -m cli status STACK SERVICE --logs` names the object that is to blame, since when, and its state.
2. Find the entry of that state below. If the service serves, take the entry of the alert.
3. The dashboard of the service has the panels that an entry names.

Words in capitals are [names and numbers of a stack](#numbers-and-names-of-a-stack). In expressions, `engine:waiting`
and the like are the names of `planning/observing/metrics.yaml`: rules have the names that the version of each engine
and the release channel of each picker have for them, and the labels of the service.
"""
_GROUPS: Mapping[str, str] = {
    "service": "Services",
    "routes": "Routes",
    "pools": "Pools",
    "pickers": "Endpoint pickers",
    "variant": "Variants",
    "role": "Engines",
    "scaling": "Autoscalers",
    "workloads": "Workloads",
    "pods": "Pods",
    "claims": "Claims",
}
"""Titles of groups of entries, by the table of a state, or by what an alert without a state is about."""
_BLAME: Mapping[str, str] = {
    "service": "the variants of the service, by which requests fail or are late",
    "routes": "the HTTPRoute, or the controller of its Gateway",
    "pools": "the InferencePool, or the pods that it selects",
    "pickers": "the endpoint picker",
    "variant": "the pods or the endpoint picker of the variant",
    "role": "the engines of the role, or the load on them",
    "scaling": "the autoscaler, or whoever gives it metrics",
    "workloads": "the Deployment or LeaderWorkerSet",
    "pods": "the pod, or the node that it runs on",
    "claims": "the claim, or its storage class",
}
_LOOKS: Mapping[str, str] = {
    "routes": "`kubectl describe httproute`",
    "pools": "the pods that the pool selects",
    "pickers": "the log of the picker, `kubectl logs deployment/PICKER_NAME`",
    "scaling": "`kubectl describe` of the autoscaler",
    "workloads": "`kubectl describe` of the object and of its newest ReplicaSet",
    "pods": "`kubectl describe pod` and `kubectl logs --previous`",
    "claims": "`kubectl describe pvc`",
}
"""Commands and places that show more of a state, by its table."""
_SEVERITIES = {"page": "Page", "ticket": "Ticket"}
_PLACEHOLDER = re.compile(r"\$([a-z_]+)|\{([a-z_]+)\}")
_SERIES = re.compile(r"\b(?:engine|server|picker|target|cluster|recorded):\w+")
_ENDINGS = re.compile(r"(_bucket|_count|_sum|:rate\w+)$")
VALUES: Mapping[str, str] = {
    "claim": "name of the claim with the weights",
    "claim_share": "share of the claim from which on it counts as full: half of its headroom is used",
    "container": "container of the engine",
    "destinations": "roles that get the requests of clients",
    "half_ttl": "half of the time that a request may wait in the picker's queue",
    "helpers": "paths that ask for no answer of the model",
    "maximum_pods": "pods of the role with its largest number of replicas",
    "picker_name": "Deployment of the endpoint picker",
    "picker_start": "time in which a picker starts",
    "pods": "names of the role's pods",
    "restarts": "four times the time to load the model, at least an hour",
    "role": "role of the pods",
    "sequences": "requests that an engine runs at once",
    "service": "key of the service",
    "start": "time in which a pod of the role starts and loads its model",
    "tpot_within": "longest time per output token of the objective",
    "ttft_within": "longest time to the first token of the objective",
    "variant": "`primary` or `canary`",
    "wake": "time in which the variant has its first ready pod",
    "weight": "share of the canary in the requests",
    "weight_wait": "half an hour, and the time in which a pod of either variant starts",
    "window": "time over which the objective counts",
}
"""Meanings of the placeholders in alerts, without those of the shares of failed requests."""
_SHARE = re.compile(r"(availability|ttft|tpot)_(page|ticket)_(hour|quarter|day|days)")


@dataclass(frozen=True, slots=True)
class RunbookEntry:
    """An entry: the alerts and the state of one id."""

    id: str
    group: str
    """Key of `_GROUPS`."""
    alerts: tuple[AlertRow, ...]
    state: State | None


def text() -> str:
    """Return the page as it is committed."""
    entries = _entries()
    lines = [_HEAD, *_overview(entries)]
    for group, title in _GROUPS.items():
        lines += [f"## {title}", ""]
        for entry in entries:
            if entry.group == group:
                lines += _lines(entry)
    return "\n".join([*lines, *_values()])


def is_explained(placeholder: str) -> bool:
    """Tell whether the page has the meaning of a placeholder of an alert."""
    return placeholder in VALUES or _SHARE.fullmatch(placeholder) is not None


def _entries() -> list[RunbookEntry]:
    """Return the entries by group, and within a group alerts first, in the order of the tables."""
    rows = dict[str, list[AlertRow]]()
    for row in alerts.rows():
        rows.setdefault(row.id, []).append(row)
    by_table = {state.id: table for table in states.LINKS for state in states.of_link(table)}
    ids = [*rows, *(identity for identity in by_table if identity not in rows)]
    return [
        RunbookEntry(
            identity,
            by_table.get(identity) or rows[identity][0].per,
            tuple(rows.get(identity, ())),
            states.by_id().get(identity),
        )
        for identity in ids
    ]


def _overview(entries: Iterable[RunbookEntry]) -> Iterator[str]:
    """Yield a table of all alerts."""
    yield from ("| Alert | | It says |", "|---|---|---|")
    for entry in entries:
        for row in entry.alerts:
            says = _cell(_in_capitals(row.summary))
            yield f"| [`{alert_rules.name(row.id)}`](#{row.id}) | {_SEVERITIES[row.severity]} | {says} |"
    yield ""


def _lines(entry: RunbookEntry) -> Iterator[str]:
    """Yield the lines of an entry."""
    yield from (f"### {entry.id}", "")
    for row in entry.alerts:
        yield f"- {_SEVERITIES[row.severity]} `{alert_rules.name(row.id)}`: {_sentence(_in_capitals(row.summary))}"
    if entry.state is not None:
        words = _sentence(_in_capitals(entry.state.words), is_capital=False)
        yield f"- `status` ({entry.state.level.value}): the object {words}"
    yield f"- To blame: {_BLAME[entry.group]}."
    looks = list(_looks(entry))
    if looks:
        yield f"- Look at: {', '.join(looks)}."
    yield f"- Do: {_sentence(' '.join(_remedies(entry)))}"
    for row in entry.alerts:
        holds = "It fires at once if"
        if row.wait:
            holds = f"It fires if for {_in_capitals(row.wait)}"
        yield from (
            "",
            f"{holds} {_in_capitals(row.summary)}:",
            "",
            "```promql",
            *_expression_lines(row.expression),
            "```",
        )
    yield ""


def _looks(entry: RunbookEntry) -> Iterator[str]:
    """Yield what to look at: panels with the series of the alerts, and states that may be the cause."""
    series = {_metric(name) for row in entry.alerts for name in _SERIES.findall(row.expression)}
    for row in panels.table().services:
        titles = [
            panel.title
            for panel in row.panels
            if series & {_metric(name) for query in panel.queries for name in _SERIES.findall(query.expr)}
        ]
        if titles:
            yield f"{' and '.join(f'*{title}*' for title in titles)} in the row {row.title}"
    if entry.state is not None:
        yield _LOOKS[entry.group]
    causes = () if entry.state is None else entry.state.caused_by
    links = {link.value for link in Link}
    yield from (f"the {cause} of the service" if cause in links else f"[{cause}](#{cause})" for cause in causes)


def _metric(name: str) -> str:
    """Return the name of a metric without the ending of a series."""
    return _ENDINGS.sub("", name)


def _remedies(entry: RunbookEntry) -> Iterator[str]:
    """Yield what to do, once."""
    texts = [row.remedy for row in entry.alerts]
    if entry.state is not None:
        texts.append(_in_capitals(entry.state.remedy))
    remedies = [text for text in dict.fromkeys(texts) if text]
    yield "; ".join(remedies) or "wait; a state that stays becomes another one"


def _values() -> Iterator[str]:
    """Yield the section with the meanings of words in capitals."""
    yield from ("## Numbers and names of a stack", "", "| Word | Meaning |", "|---|---|")
    for name, meaning in VALUES.items():
        yield f"| {name.upper()} | {meaning} |"
    shares = "share of failed or late requests from which on an objective burns too fast"
    yield f"| AVAILABILITY_PAGE_HOUR and the like | {shares} |"
    yield ""


def _in_capitals(words: str) -> str:
    """Return a text with its placeholders as words in capitals."""
    return _PLACEHOLDER.sub(lambda match: (match[1] or match[2]).upper(), words.replace("}{", "} {"))


def _sentence(words: str, *, is_capital: bool = True) -> str:
    words = " ".join(words.split())
    first = words[:1].upper() if is_capital else words[:1]
    return f"{first}{words[1:].rstrip('.')}."


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", r"\|")


def _expression_lines(expression: str) -> list[str]:
    """Return the lines of an expression, which begin with `and` and `or`."""
    return re.sub(r" (and|or) ", r"\n\1 ", " ".join(expression.split())).splitlines()
