"""Features and scopes of a service, as dashboards see it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from models.objectives import Slo
from models.vocabulary import milliseconds
from planning.ground import gateways
from planning.observing import observed
from planning.observing.metrics import GatewayScope, SeriesScope
from planning.observing.observed import ObservedVariant
from planning.releases import engine_series
from planning.serving import EngineContext, series_rules


@dataclass(frozen=True, slots=True)
class WatchedVariant:
    """A variant of a service."""

    scope: SeriesScope
    """Scope of the series of all roles and of the picker."""
    engines: tuple[SeriesScope, ...]
    """Scopes of the series of engines, one for each version. Empty if none is a vLLM whose metrics are scraped."""
    features: frozenset[str]
    """`engine`, `picker` and `prefill`, if the variant has them and they are scraped, `gateway`, if its gateway counts
    the requests to its pool, `requests`, if all requests of its clients are counted, and the conditions of
    `series-conditions.yaml` that one of its engines fulfils."""


@dataclass(frozen=True, slots=True)
class WatchedService:
    """A service whose pods the stack makes."""

    key: str
    name: str
    """Beginning of the names of the service's objects."""
    namespace: str
    slo: Slo | None
    variants: tuple[WatchedVariant, ...]
    """The primary and the canary, as far as they are scraped."""
    workloads: tuple[str, ...]
    """Names of the objects that make the serving pods."""
    pods: tuple[str, ...]
    """Regular expressions for the names of the serving pods and of the pickers' pods."""
    values: Mapping[str, str]
    """Values of placeholders that tell requests apart."""
    has_rules: bool
    """Whether a Prometheus records series of the service and has alerts about it."""
    interval: str | None
    """Longest time between two scrapes of a pod of the service; None if none is scraped."""

    @property
    def features(self) -> frozenset[str]:
        """Return the features that panels about the whole service need: those of all variants and of the service."""
        return self.own_features.union(*(variant.features for variant in self.variants))

    @property
    def own_features(self) -> frozenset[str]:
        """Return the features of the service alone.

        They are `canary`, if all requests of both variants are counted, `claim`, `pods`, `rules`, `scraped` and the
        names of objectives.
        """
        features = set[str]()
        if len(self.variants) > 1 and all("requests" in variant.features for variant in self.variants):
            features.add("canary")
        if self.interval is not None:
            features.add("scraped")
        if self.has_rules:
            features.add("rules")
        if "claim" in self.values:
            features.add("claim")
        if self.workloads:
            features.add("pods")
        if self.slo is not None:
            objectives = {"availability": self.slo.availability, "ttft": self.slo.ttft, "tpot": self.slo.tpot}
            features.update(name for name, objective in objectives.items() if objective is not None)
        return frozenset(features)

    @property
    def scope(self) -> SeriesScope:
        """Return the scope of the series of both variants."""
        return replace(self.variants[0].scope, variant=None, engine=None, picker={}, gateway=None)


def of_service(
    variants: tuple[ObservedVariant, ...],
    engines: Mapping[str, Mapping[str, EngineContext]],
    slo: Slo | None,
    *,
    has_rules: bool,
) -> WatchedService:
    """Return a service. `variants` are its primary and its canary, as far as they are scraped.

    `engines` are the engines of the roles, by name of the variant and of the role. `has_rules` tells whether the stack
    has rules. Raises `ValueError` if nothing is scraped.
    """
    if not variants:
        raise ValueError("nothing of this service is scraped")
    first = variants[0].context
    workloads = [workload for variant in variants for workload in variant.workloads]
    destinations = dict.fromkeys(workload.role for workload in workloads if workload.stage.is_destination)
    return WatchedService(
        key=first.key,
        name=first.names.service,
        namespace=first.names.namespace,
        slo=slo,
        variants=tuple(_variant(variant, engines[variant.context.variant_name]) for variant in variants),
        workloads=tuple(workload.name for workload in workloads),
        pods=tuple(_pods(variants)),
        values={**variants[0].values, "destinations": "|".join(destinations)},
        has_rules=has_rules,
        interval=_longest_interval(variants),
    )


def _longest_interval(variants: Iterable[ObservedVariant]) -> str | None:
    intervals = [scrape.interval for variant in variants for scrape in variant.monitoring.scrapes]
    return max(intervals, key=milliseconds, default=None)


def _pods(variants: Iterable[ObservedVariant]) -> Iterator[str]:
    for variant in variants:
        yield from map(observed.pod_names, variant.workloads)
        if variant.picker is not None:
            yield observed.pods_of_deployment(variant.context.names.picker)


def _variant(variant: ObservedVariant, engines: Mapping[str, EngineContext]) -> WatchedVariant:
    scraped = {name: engines[name] for name in variant.monitoring.roles}
    scopes = tuple(_engine_scopes(variant, scraped))
    scope = replace(variant.scope, gateway=_gateway(variant))
    features = set(_features(variant, scraped))
    if scope.gateway is not None:
        features.add("gateway")
    return WatchedVariant(scope, scopes, frozenset(features))


def _gateway(variant: ObservedVariant) -> GatewayScope | None:
    """Return the scope of the gateway's metrics; None if it has none, or no pool of the stack."""
    context = variant.context
    if context.gateway is None or not context.service.route.enabled or variant.picker is None:
        return None
    known = gateways.facts(context.gateway)
    if known is None or known.requests is None:
        return None
    return GatewayScope(known.requests, known.requests.of_pool(context.namespace, context.names.pool, _port(variant)))


def _port(variant: ObservedVariant) -> int:
    """Return the first port of the pool."""
    existing_pods = variant.context.spec.existing_pods
    if existing_pods is not None:
        return existing_pods.ports[0]
    return min(port for workload in variant.workloads for port in workload.target_ports)


def _engine_scopes(variant: ObservedVariant, scraped: Mapping[str, EngineContext]) -> Iterator[SeriesScope]:
    """Yield a scope for each version of vLLM that roles have. Roles with other engines have none."""
    roles = dict[str, list[str]]()
    for name in scraped:
        version = variant.versions.get(name)
        if version is not None:
            roles.setdefault(version.number, []).append(name)
    for number, names in roles.items():
        scope = replace(variant.scope, engine=number)
        if len(names) < len(scraped):
            scope = replace(scope, roles=tuple(names))
        yield scope


def _features(variant: ObservedVariant, scraped: Mapping[str, EngineContext]) -> Iterator[str]:
    if variant.monitoring.picker is not None:
        yield "picker"
    if any(variant.versions.get(name) is not None for name in scraped):
        yield "engine"
    if variant.counts_requests:
        yield "requests"
    if variant.context.spec.prefill is not None:
        yield "prefill"
    for name, condition in engine_series.conditions().items():
        engines = scraped.values()
        if any(series_rules.has_setting(engine, setting) for engine in engines for setting in condition.settings):
            yield name
