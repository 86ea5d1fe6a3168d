"""The services of a cluster and the objects of each, as the objects themselves say it.

Nothing here knows a configuration, so that a status can be made without one. Objects are joined by what they do: a
pool and a workload by their selectors, a route by its backends, and everything else by labels.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from models.trees import at, mapping, sequence, texts
from planning.ground import labels, marks, names
from planning.ground.marks import NO_MARK
from planning.ground.names import CANARY, PRIMARY
from planning.ground.snapshot import (
    AUTOSCALER,
    CLAIM,
    DEPLOYMENT,
    GATEWAY,
    JOB,
    LEADER_WORKER_SET,
    POD,
    POOL,
    ROUTE,
    SCALED_OBJECT,
    SERVICE,
    Manifest,
    Snapshot,
)

_COMPONENT = "app.kubernetes.io/component"
_WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
"""Label of the pods of a replica with the number of the pod (lws v0.9.0, api/leaderworkerset/v1)."""
_CANARY_SUFFIX = f"-{CANARY}"
_Place = tuple[str, str, str]
"""Stack, namespace and base of a variant."""
OwnerOf = Callable[[Manifest], str]
"""Function that returns the stack to which an object belongs; empty if nothing says so."""


@dataclass(frozen=True, slots=True)
class RoleView:
    """The workload of a role in one generation of a variant, with its pods."""

    role: str
    """`decode` or `prefill`."""
    kind: str
    """`Deployment` or `LeaderWorkerSet`."""
    workload: Manifest
    pods: tuple[Manifest, ...]
    """First pods of the replicas, by name: all pods of a Deployment, and the leaders of a LeaderWorkerSet."""
    workers: tuple[Manifest, ...]
    """The other pods of a LeaderWorkerSet, by name."""
    autoscaler: Manifest | None
    """The HorizontalPodAutoscaler that scales the workload, whoever made it."""
    scaled_object: Manifest | None
    """The ScaledObject of KEDA that scales the workload."""

    @property
    def endpoints(self) -> tuple[Manifest, ...]:
        """Return the pods that get requests: the first pods, and other pods that have the label of a service."""
        return (*self.pods, *(pod for pod in self.workers if labels.SERVICE in labels_of(pod)))

    @property
    def selector(self) -> Mapping[str, str]:
        """Return the labels by which the workload's pods are found."""
        return _pod_selector(self.kind, self.workload)

    @property
    def generation(self) -> str | None:
        """Return the generation of the KV cache; None if the pods have none."""
        return self.selector.get(labels.GENERATION)


@dataclass(frozen=True, slots=True)
class PickerView:
    """The Deployment of an endpoint picker, with its pods."""

    deployment: Manifest
    pods: tuple[Manifest, ...]


@dataclass(frozen=True, slots=True)
class InterceptorView:
    """The Deployment of an interceptor, with its pods."""

    deployment: Manifest
    pods: tuple[Manifest, ...]


@dataclass(frozen=True, slots=True)
class VariantView:
    """The primary or the canary of a service."""

    name: str
    """`primary` or `canary`."""
    base: str
    """Beginning of the names of the variant's objects; the name of its Service."""
    roles: tuple[RoleView, ...]
    """Workloads, of all generations that exist, by name."""
    pools: tuple[Manifest, ...]
    """InferencePools, of all generations that exist, by name."""
    pickers: tuple[PickerView, ...]
    """Endpoint pickers, of all generations that exist, by name."""
    proxy: Manifest | None = None
    """Service of the proxies beside the pickers."""


@dataclass(frozen=True, slots=True)
class ServiceView:
    """A service of a stack."""

    namespace: str
    name: str
    """Name of the service in selectors, in routes and in its objects' names."""
    stack: str
    """Mark of the stack, `project.stack`; empty for objects without a mark."""
    variants: tuple[VariantView, ...]
    """The variants that have objects, the primary first."""
    routes: tuple[Manifest, ...]
    """HTTPRoutes of the service, by name."""
    claims: tuple[Manifest, ...] = ()
    """PersistentVolumeClaims for the weights of the service, by name."""
    fills: tuple[Manifest, ...] = ()
    """Jobs that fill those claims, by name."""
    fill_pods: tuple[Manifest, ...] = ()
    """Pods of those Jobs, by name."""

    @property
    def place(self) -> tuple[str, str]:
        """Return namespace and name."""
        return self.namespace, self.name


@dataclass(frozen=True, slots=True)
class Topology:
    """The services of a cluster."""

    services: tuple[ServiceView, ...]
    """Services by stack, namespace and name."""
    gateways: Mapping[tuple[str, str], Manifest] = field(default_factory=dict[tuple[str, str], Manifest])
    """Gateways by namespace and name."""
    interceptors: Mapping[tuple[str, str], InterceptorView] = field(
        default_factory=dict[tuple[str, str], InterceptorView]
    )
    """Interceptors by namespace and name, which are those of their Services."""
    labelled: tuple[Manifest, ...] = ()
    """Services with the labels by which interceptors search, by namespace and name; anybody's."""
    pools: frozenset[tuple[str, str]] = frozenset()
    """Namespaces and names of all InferencePools, whoever made them."""


def of(snapshot: Snapshot, owner_of: OwnerOf | None = None) -> Topology:
    """Return the services of a snapshot. Without `owner_of`, the stack of an object is the one in its mark."""
    parts = _Parts(snapshot, owner_of or stack_of)
    services = sorted({parts.service_of(place) for place in parts.bases()})
    return Topology(
        tuple(parts.service(*place) for place in services),
        {name_of(gateway): gateway for gateway in snapshot.of(GATEWAY)},
        parts.interceptors(),
        tuple(_by_name(service for service in snapshot.of(SERVICE) if labels.RESOURCE_ID in labels_of(service))),
        frozenset(map(name_of, snapshot.of(POOL))),
    )


def name_of(item: Manifest) -> tuple[str, str]:
    """Return namespace and name of an object."""
    metadata = mapping(item.get("metadata"))
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def labels_of(item: Manifest) -> Mapping[str, str]:
    """Return the labels of an object."""
    return texts(at(item, "metadata", "labels"))


def stack_of(item: Manifest) -> str:
    """Return the mark of the stack to which an object belongs; empty if it has none."""
    return marks.read(mapping(item.get("metadata"))).label or ""


def is_selected(selector: Mapping[str, str], item: Manifest) -> bool:
    """Tell whether a selector, which must not be empty, selects an object."""
    return bool(selector) and selector.items() <= labels_of(item).items()


def pool_selector(pool: Manifest) -> Mapping[str, str]:
    """Return the labels of the pods that an InferencePool selects."""
    return texts(at(pool, "spec", "selector", "matchLabels"))


def backends(route: Manifest) -> Iterator[Mapping[str, object]]:
    """Yield the `backendRefs` of all rules of a route."""
    for rule in sequence(at(route, "spec", "rules")):
        yield from map(mapping, sequence(mapping(rule).get("backendRefs")))


def leader_template(group: Manifest) -> Manifest:
    """Return the pod template of the leaders of a LeaderWorkerSet, which have that of the workers if there is one only.

    Source: lws v0.9.0, api/leaderworkerset/v1/leaderworkerset_types.go (LeaderTemplate).
    """
    templates = mapping(at(group, "spec", "leaderWorkerTemplate"))
    return mapping(templates.get("leaderTemplate") or templates.get("workerTemplate"))


def _pod_selector(kind: str, workload: Manifest) -> Mapping[str, str]:
    if kind == "Deployment":
        return texts(at(workload, "spec", "selector", "matchLabels"))
    template = at(leader_template(workload), "metadata", "labels")
    identity = (labels.SERVICE, labels.VARIANT, labels.GENERATION, labels.ROLE)
    return {key: value for key, value in texts(template).items() if key in identity}


class _Parts:
    """The objects of a snapshot, by what joins them to a service. Objects with the same key are in order of names."""

    def __init__(self, snapshot: Snapshot, owner_of: OwnerOf) -> None:
        self._owner_of = owner_of
        deployments = snapshot.of(DEPLOYMENT)
        self._workloads = {
            "Deployment": self._by_variant(item for item in deployments if _is(item, "model-server")),
            "LeaderWorkerSet": self._by_variant(
                item for item in snapshot.of(LEADER_WORKER_SET) if _is(item, "model-server")
            ),
        }
        self._interceptors = _by_name(item for item in deployments if _is(item, "interceptor"))
        self._pickers = self._by_variant(item for item in deployments if _is(item, "endpoint-picker"))
        self._pools = self._by_variant(pool for pool in snapshot.of(POOL) if _is_generated(pool))
        self._routes = self._by_variant(route for route in snapshot.of(ROUTE) if _is_generated(route))
        self._pods = _by_identity(snapshot.of(POD))
        self._claims = {name_of(claim): claim for claim in snapshot.of(CLAIM)}
        self._weights = self._by_variant(claim for claim in snapshot.of(CLAIM) if _is(claim, "weights"))
        self._proxies = {name_of(item): item for item in snapshot.of(SERVICE) if _is(item, "endpoint-picker")}
        self._jobs = _by_name(snapshot.of(JOB))
        self._scalers = {
            kind: {_target(item): item for item in snapshot.of(kind)} for kind in (AUTOSCALER, SCALED_OBJECT)
        }

    def _by_variant(self, items: Iterable[Manifest]) -> Mapping[_Place, list[Manifest]]:
        """Return objects by the variant that they belong to."""
        groups = defaultdict[_Place, list[Manifest]](list)
        for item in _by_name(items):
            groups[self._owner_of(item), name_of(item)[0], str(labels_of(item).get(labels.NAME, ""))].append(item)
        return dict(groups)

    def interceptors(self) -> Mapping[tuple[str, str], InterceptorView]:
        """Return the interceptors by namespace and name."""
        return {name_of(item): InterceptorView(item, self._interceptor_pods(item)) for item in self._interceptors}

    def _interceptor_pods(self, deployment: Manifest) -> tuple[Manifest, ...]:
        selector = _pod_selector("Deployment", deployment)
        return self._pods_of(name_of(deployment)[0], labels.INTERCEPTOR, selector)

    def bases(self) -> Collection[_Place]:
        """Return stack, namespace and base of all variants."""
        return {*self._pickers, *self._pools, *self._routes, *chain.from_iterable(self._workloads.values())}

    def service_of(self, place: _Place) -> _Place:
        """Return stack, namespace and name of the service to which a variant's base belongs.

        The base of a canary is the name of its service with a suffix. A base that has a route is a service of its own.
        """
        stack, namespace, base = place
        primary = (stack, namespace, base.removesuffix(_CANARY_SUFFIX))
        if primary in self.bases() and place not in self._routes and not self._has_primary(place):
            return primary
        return place

    def _has_primary(self, place: _Place) -> bool:
        """Tell whether a workload of a base says that it is one of a service's primary."""
        roles = self._variant(PRIMARY, place).roles
        return any(role.selector.get(labels.VARIANT) == PRIMARY for role in roles)

    def service(self, stack: str, namespace: str, name: str) -> ServiceView:
        """Return the service with this name."""
        canary = (stack, namespace, f"{name}{_CANARY_SUFFIX}")
        variants = [self._variant(PRIMARY, (stack, namespace, name))]
        if self.service_of(canary) != canary:
            variants.append(self._variant(CANARY, canary))
        used = tuple(variant for variant in variants if variant.roles or variant.pools or variant.pickers)
        claims = self._claims_of(stack, namespace, used)
        routes = tuple(self._routes.get((stack, namespace, name), ()))
        fills = self._fills(namespace, claims)
        fill_pods = tuple(pod for job in fills for pod in self._pods[namespace, labels.JOB, name_of(job)[1]])
        return ServiceView(namespace, name, stack, used, routes, claims, fills, fill_pods)

    def _variant(self, name: str, place: _Place) -> VariantView:
        workloads = ((kind, item) for kind, items in self._workloads.items() for item in items.get(place, ()))
        return VariantView(
            name,
            place[2],
            tuple(self._role(kind, item) for kind, item in workloads),
            tuple(self._pools.get(place, ())),
            tuple(self._picker(item) for item in self._pickers.get(place, ())),
            self._proxies.get((place[1], names.proxy_service(place[2]))),
        )

    def _role(self, kind: str, workload: Manifest) -> RoleView:
        selector = _pod_selector(kind, workload)
        namespace, name = name_of(workload)
        serving = self._pods_of(namespace, labels.SERVICE, selector)
        workers = (
            *self._pods[namespace, labels.WORKER_OF, selector.get(labels.SERVICE, "")],
            *(pod for pod in serving if not _is_first(pod)),
        )
        return RoleView(
            role=selector.get(labels.ROLE, labels.DECODE),
            kind=kind,
            workload=workload,
            pods=tuple(filter(_is_first, serving)),
            workers=tuple(pod for pod in workers if labels_of(pod).get(labels.GROUP) == name),
            autoscaler=self._scalers[AUTOSCALER].get((namespace, name, kind)),
            scaled_object=self._scalers[SCALED_OBJECT].get((namespace, name, kind)),
        )

    def _picker(self, deployment: Manifest) -> PickerView:
        selector = _pod_selector("Deployment", deployment)
        return PickerView(deployment, self._pods_of(name_of(deployment)[0], labels.PICKER, selector))

    def _pods_of(self, namespace: str, key: str, selector: Mapping[str, str]) -> tuple[Manifest, ...]:
        """Return the pods that a selector selects, which has the label `key`."""
        candidates = self._pods[namespace, key, selector.get(key, "")]
        return tuple(pod for pod in candidates if is_selected(selector, pod))

    def _claims_of(self, stack: str, namespace: str, variants: Iterable[VariantView]) -> tuple[Manifest, ...]:
        """Return the claims that the pod templates of workloads name, and those that are made before a workload is."""
        variants = tuple(variants)
        mounted = {name for variant in variants for role in variant.roles for name in _claim_names(role)}
        for variant in variants:
            mounted |= {name_of(claim)[1] for claim in self._weights.get((stack, namespace, variant.base), ())}
        return tuple(self._claims[namespace, name] for name in sorted(mounted) if (namespace, name) in self._claims)

    def _fills(self, namespace: str, claims: Sequence[Manifest]) -> tuple[Manifest, ...]:
        names = {name_of(claim)[1] for claim in claims}
        jobs = (job for job in self._jobs if name_of(job)[0] == namespace)
        return tuple(job for job in jobs if names & set(_volume_claims(at(job, "spec", "template"))))


def _is(item: Manifest, component: str) -> bool:
    return labels_of(item).get(_COMPONENT) == component and labels.PART_OF.items() <= labels_of(item).items()


def _is_generated(item: Manifest) -> bool:
    """Tell whether this program made an object. Earlier versions wrote no mark."""
    return marks.read(mapping(item.get("metadata"))) != NO_MARK


def _by_name(items: Iterable[Manifest]) -> list[Manifest]:
    return sorted(items, key=name_of)


def _is_first(pod: Manifest) -> bool:
    """Tell whether a serving pod is the first pod of its replica."""
    return labels_of(pod).get(_WORKER_INDEX, "0") == "0"


def _by_identity(pods: Iterable[Manifest]) -> Mapping[tuple[str, str, str], list[Manifest]]:
    """Return pods by namespace, and by key and value of the label that names their service or their Job."""
    groups = defaultdict[tuple[str, str, str], list[Manifest]](list)
    for pod in _by_name(pods):
        for key in (labels.SERVICE, labels.PICKER, labels.WORKER_OF, labels.INTERCEPTOR, labels.JOB):
            if key in labels_of(pod):
                groups[name_of(pod)[0], key, labels_of(pod)[key]].append(pod)
    return groups


def _target(scaler: Manifest) -> tuple[str, str, str]:
    """Return namespace, name and kind of the workload that an autoscaler or a ScaledObject scales.

    The kind of a ScaledObject's target is a Deployment if it is not written (KEDA, ScaleTarget).
    """
    target = mapping(at(scaler, "spec", "scaleTargetRef"))
    return name_of(scaler)[0], str(target.get("name", "")), str(target.get("kind", "Deployment"))


def _claim_names(role: RoleView) -> Iterator[str]:
    if role.kind == "Deployment":
        yield from _volume_claims(at(role.workload, "spec", "template"))
        return
    templates = mapping(at(role.workload, "spec", "leaderWorkerTemplate"))
    for name in ("leaderTemplate", "workerTemplate"):
        yield from _volume_claims(templates.get(name))


def _volume_claims(template: object) -> Iterator[str]:
    """Yield the names of the claims that the pods of a template mount."""
    for volume in sequence(at(template, "spec", "volumes")):
        name = at(volume, "persistentVolumeClaim", "claimName")
        if isinstance(name, str):
            yield name
