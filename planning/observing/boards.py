"""Dashboards of services, and the overview of a stack: panels of the table, with queries by the version of each engine.

A panel whose series the version of an engine or the picker of a release channel lacks is left out.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from string import Template

from models.monitoring import Dashboards
from models.objectives import Slo
from planning.ground.marks import StackName
from planning.observing import burn_rates, metrics, panels
from planning.observing.board_records import Board, Boards, Panel, PanelRow, Query
from planning.observing.metrics import SeriesScope
from planning.observing.panels import PanelSpec, RowSpec
from planning.observing.watched import WatchedService, WatchedVariant

TAG = "inference-stacks"
"""Tag of every dashboard, by which dashboards link to each other."""
OWNER = "/overview"
"""Owner of the overview. It is no key of a service, because keys have no slash."""
MOST_SERVICES = 50
"""Maximum number of services of an overview. The queries about a service have up to 16 KiB."""
_INTERVAL = "$__rate_interval"
_LONGEST_UID = 40
"""Maximum number of characters of a dashboard's identity (grafana v11.6.0, pkg/util/shortid_generator.go,
MaxUIDLength)."""
_HASH = 8
_HUNDRED = 100


def plan(
    spec: Dashboards | None, services: Iterable[WatchedService], stack: StackName, namespace: str
) -> Boards | None:
    """Return the dashboards of a stack. `services` are those with pods that the stack makes.

    `namespace` is that of the stack, for the overview. None if the stack has no dashboards, or no such service.
    """
    watched = list(services)
    if spec is None or not watched:
        return None
    boards = {service.key: _of_service(service, stack, spec) for service in watched}
    pages = [watched[first : first + MOST_SERVICES] for first in range(0, len(watched), MOST_SERVICES)]
    overviews = tuple(_overview(page, number, stack, namespace, spec) for number, page in enumerate(pages, start=1))
    return Boards(boards, overviews, spec.namespace is not None)


def _of_service(service: WatchedService, stack: StackName, spec: Dashboards) -> Board:
    """Return the dashboard of a service."""
    uid = _uid(stack, service.key)
    return Board(
        uid=uid,
        name=f"{service.name}-dashboard-{uid[:_HASH]}",
        namespace=spec.namespace or service.namespace,
        labels=spec.labels,
        annotations=spec.annotations,
        title=f"{service.key} · {stack.project}/{stack.stack}",
        tags=(TAG, stack.label),
        rows=tuple(_rows(panels.table().services, [service])),
    )


def _overview(services: list[WatchedService], number: int, stack: StackName, namespace: str, spec: Dashboards) -> Board:
    """Return an overview of services of a stack, with its number.

    `namespace` is that of the ConfigMap if the configuration names none.
    """
    key = ""
    title = "Inference services"
    if number > 1:
        key = f"/{number}"
        title = f"{title} {number}"
    uid = _uid(stack, key)
    return Board(
        uid=uid,
        name=f"inference-overview-{uid[:_HASH]}",
        namespace=spec.namespace or namespace,
        labels=spec.labels,
        annotations=spec.annotations,
        title=f"{title} · {stack.project}/{stack.stack}",
        tags=(TAG, stack.label),
        rows=tuple(_rows(panels.table().overview, services)),
    )


def _uid(stack: StackName, key: str) -> str:
    """Return the identity of a dashboard. The key is empty for the first overview, and `/2` for the second."""
    return hashlib.sha256(f"{stack}/{key}".encode()).hexdigest()[:_LONGEST_UID]


def _rows(rows: Iterable[RowSpec], services: list[WatchedService]) -> Iterator[PanelRow]:
    for row in rows:
        drawn = [panel for spec in row.panels for panel in _panel(spec, services)]
        if drawn:
            yield PanelRow(row.title, tuple(drawn))


def _panel(spec: PanelSpec, services: list[WatchedService]) -> Iterator[Panel]:
    """Yield the panel of a row of the table, if a service has all that the panel needs."""
    queries = {service.key: tuple(_queries(spec, service)) for service in services}
    drawn = [service for service in services if queries[service.key]]
    if not drawn:
        return
    description = spec.says
    if spec.lacks:
        description = f"{description} Empty if {spec.lacks}."
    yield Panel(
        title=spec.title,
        description=description,
        style=spec.style,
        unit=spec.unit,
        width=spec.width,
        queries=tuple(query for service in drawn for query in queries[service.key]),
        limit=_common_limit(spec, drawn),
        wrong=spec.wrong,
        may_lack=spec.lacks,
    )


def _queries(spec: PanelSpec, service: WatchedService) -> Iterator[Query]:
    """Yield the queries of a panel about a service: for each variant and version of engines, or for the service."""
    if spec.of == "service":
        if service.features.issuperset(spec.needs):
            yield from _queries_of_scope(spec, service.scope, service)
        return
    for variant in service.variants:
        if (variant.features | service.own_features).issuperset(spec.needs):
            for scope in _scopes(spec, variant):
                yield from _queries_of_scope(spec, scope, service)


def _scopes(spec: PanelSpec, variant: WatchedVariant) -> tuple[SeriesScope, ...]:
    """Return the scopes in which a panel asks: one for each version of the engines, if it asks engines."""
    if spec.asks_engines:
        return variant.engines
    return (variant.scope,)


def _queries_of_scope(spec: PanelSpec, scope: SeriesScope, service: WatchedService) -> Iterator[Query]:
    values = _values(spec, service)
    names = {"variant": scope.variant or "", "service": service.key}
    if scope.gateway is not None:
        names["gateway_status"] = scope.gateway.metrics.status
    for query in spec.queries:
        expression = metrics.resolve(query.expr, scope, {**names, **values})
        if expression is not None:
            yield Query(expression, Template(query.legend).substitute(names).strip(), service.interval)


def _values(spec: PanelSpec, service: WatchedService) -> Mapping[str, str]:
    """Return the values of the placeholders in the queries of a panel."""
    values = {
        **service.values,
        "interval": _INTERVAL,
        "workloads": "|".join(sorted(service.workloads)),
        "pods": "|".join(sorted(service.pods)),
    }
    slo = service.slo
    if slo is not None:
        values["window"] = slo.window
        percent = _percent(spec, slo)
        if percent is not None:
            values["budget"] = f"{round(1 - percent / _HUNDRED, 6):g}"
    return values


def _percent(spec: PanelSpec, slo: Slo) -> float | None:
    """Return the percentage of the objective that a panel is about; None if it is about none."""
    if "availability" in spec.needs:
        return slo.availability
    for name, latency in (("ttft", slo.ttft), ("tpot", slo.tpot)):
        if name in spec.needs and latency is not None:
            return latency.percent
    return None


def _common_limit(spec: PanelSpec, services: Iterable[WatchedService]) -> float | None:
    """Return the limit of a panel that shows services; None if their limits differ."""
    limits = {_limit(spec, service) for service in services}
    return limits.pop() if len(limits) == 1 else None


def _limit(spec: PanelSpec, service: WatchedService) -> float | None:
    """Return the value from which on a panel shows something wrong; None if the service sets none."""
    slo = service.slo
    if slo is None or not isinstance(spec.limit, str):
        return spec.limit if isinstance(spec.limit, float) else None
    if spec.limit == "burn":
        return float(burn_rates.factor("page_hour", slo))
    counts = "engine" if spec.asks_engines else "picker"
    latency = burn_rates.latencies(slo).get(spec.limit)
    if latency is None or counts != slo.source:
        return None
    return float(burn_rates.within_seconds(latency))
