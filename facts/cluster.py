"""Reader of a live cluster: its kinds with their versions, its Gateways, routes and pools, and other cluster facts.

Each function stops reading at a deadline. The reader has the rights of the kubeconfig's user.
"""

import http
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from facts import facts_file, gateways, inventory, kubeconfig, live_objects, reviews
from facts.connection import Connection, RefusedError
from facts.kubeconfig import KubeAccess
from facts.reading import Reader, item, items, read_within
from models.stack import Cluster, FileFacts, LiveFacts, NoFacts
from planning.ground import bundles, labels, marks
from planning.ground.api_groups import GATEWAY_GROUP, METRICS_GROUP, POOL_GROUP
from planning.ground.cluster_facts import (
    IDENTITY,
    NOTHING_READ,
    Bundles,
    ClusterFacts,
    GatewayRef,
    Gateways,
    LiveObject,
    LiveObjects,
    OfferedMetrics,
    Permissions,
    Place,
    Pools,
    Routes,
    Served,
    Unknown,
    unread,
)
from planning.ground.inventory import TIME_FORMAT, FactsOrigin
from planning.ground.marks import Mark
from planning.ground.needs import NOTHING_NEEDED, Needs

Read = TypeVar("Read")

_DEADLINE_SECONDS = 15
_JSON = "application/json"
_GATEWAY_API = f"/apis/{GATEWAY_GROUP}/v1"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def read(spec: Cluster, access: KubeAccess, root: Path, needs: Needs = NOTHING_NEEDED) -> ClusterFacts:
    """Read the cluster facts from the source that `cluster.facts` names.

    From a live cluster, only the facts that `needs` asks for are read. The path of a facts file is relative to
    `root`. A failed read does not raise; its facts are `Unknown`.
    """
    if isinstance(spec.facts, NoFacts):
        return NOTHING_READ
    if isinstance(spec.facts, FileFacts):
        return facts_file.read(root / spec.facts.path)
    return _live(access, _readers(needs))


def read_all(access: KubeAccess, *, secrets: bool = False) -> ClusterFacts:
    """Read from a live cluster every fact that any stack may use; the names of all Secrets only if `secrets` is true.

    A failed read does not raise; its facts are `Unknown`.
    """
    readers: dict[str, Reader] = {"origin": partial(_origin, access=access), **_EVERY_PART}
    if secrets:
        readers["secrets"] = inventory.all_secrets
    return _live(access, readers)


def name(access: KubeAccess) -> str | None:
    """Return the name that the kubeconfig gives to the context's cluster; None if the kubeconfig cannot be read."""
    try:
        return kubeconfig.cluster_name(access)
    except Exception:  # noqa: BLE001, a kubeconfig with any mistake gives no name
        return None


def pools(spec: Cluster, access: KubeAccess, namespaces: Iterable[str]) -> Pools | Unknown:
    """Read the InferencePools in `namespaces`.

    The result is `Unknown` if the read fails, or if `cluster.facts` is not of type live.
    """
    if not isinstance(spec.facts, LiveFacts):
        return Unknown(f"cluster.facts is {spec.facts.type}")
    distinct = tuple(sorted(set(namespaces)))

    def read_pools(api: Connection) -> Pools:
        return Pools({at: selector for namespace in distinct for at, selector in _pools(api, namespace)})

    return _read_one(access, read_pools)


def permissions(access: KubeAccess, namespaces: Iterable[str]) -> Permissions | Unknown:
    """Read the rules that the user of the kubeconfig has in `namespaces` and in the whole cluster.

    The result is `Unknown` if the read fails.
    """
    return _read_one(access, partial(reviews.permissions, namespaces=tuple(namespaces)))


def objects(
    spec: Cluster,
    access: KubeAccess,
    kinds: Iterable[tuple[str, str]],
    names: Mapping[tuple[str, str], Collection[str]],
) -> LiveObjects | Unknown:
    """Read the objects of inference stacks, by kind, and the marks of other objects, by kind and name.

    `kinds` are pairs of kind (`apiVersion/Kind`) and namespace. The namespace of cluster-scoped objects is empty.
    `names` maps such pairs to names of objects. The marks of the objects with these names are read, even if another
    program made the objects. The result is `Unknown` if the read fails, or if `cluster.facts` is not of type live.
    """
    if not isinstance(spec.facts, LiveFacts):
        return Unknown(f"cluster.facts is {spec.facts.type}")
    distinct = tuple(sorted(set(kinds)))

    def read_objects(api: Connection) -> LiveObjects:
        live = dict[Place, LiveObject]()
        refused = dict[str, None]()
        lists = set[tuple[str, str, str]]()
        for kind, namespace in distinct:
            try:
                for listed in items(api, live_objects.path(kind, namespace), selector=labels.PART_OF):
                    live[live_objects.place(kind, listed)] = live_objects.live_object(listed)
            except RefusedError as error:
                # Status 404: the cluster does not serve the kind, so it has no objects of this kind.
                if error.status != http.HTTPStatus.NOT_FOUND:
                    refused[kind] = None
                    continue
            lists.add(live_objects.named_place(kind, namespace, "")[:3])
        marks_of_objects = _marks(api, live, names)
        return LiveObjects(live, tuple(refused), *marks_of_objects, frozenset(lists), _uid(api))

    return _read_one(access, read_objects)


def _uid(api: Connection) -> str | None:
    """Return the UID that identifies the cluster; None if the user may not read it."""
    try:
        namespace = item(api, f"/api/v1/namespaces/{IDENTITY}", inventory.METADATA)
    except RefusedError as error:
        if error.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        return None
    if namespace is None:
        return None
    return str(namespace["metadata"]["uid"])


def _marks(
    api: Connection, known: Mapping[Place, LiveObject], names: Mapping[tuple[str, str], Collection[str]]
) -> tuple[Mapping[Place, Mark], tuple[str, ...]]:
    """Return the marks of the objects in `names`, and the kinds that the API server refuses to list.

    `known` are objects that have been read. The objects of a kind are listed only if `known` lacks an object of
    that kind in `names`.
    """
    marked = dict[Place, Mark]()
    refused = dict[str, None]()
    for (kind, namespace), listed in sorted(names.items()):
        places = {live_objects.named_place(kind, namespace, name) for name in listed}
        marked |= {place: marks.read(known[place].content["metadata"]) for place in places & known.keys()}
        if places <= known.keys():
            continue
        try:
            content = [*items(api, live_objects.path(kind, namespace), inventory.METADATA_LIST)]
        except RefusedError as error:
            if error.status != http.HTTPStatus.NOT_FOUND:
                refused[kind] = None
            continue
        named = ((live_objects.place(kind, item_of_list), item_of_list) for item_of_list in content)
        marked |= {place: marks.read(item_of_list["metadata"]) for place, item_of_list in named if place in places}
    return marked, tuple(refused)


def _read_one(access: KubeAccess, reader: Callable[[Connection], Read]) -> Read | Unknown:
    """Run one reader within the deadline, and return its result."""
    return read_within(_DEADLINE_SECONDS, access, {"": reader})[""]


def _live(access: KubeAccess, readers: Mapping[str, Reader]) -> ClusterFacts:
    """Read the kinds of a cluster, the metrics that its adapters offer, and the facts that `readers` read.

    If the kinds cannot be read, all facts are `Unknown`.
    """
    results = read_within(_DEADLINE_SECONDS, access, {"apis": _kinds_and_metrics, **readers})
    apis = results.pop("apis")
    if isinstance(apis, Unknown):
        return unread(apis)
    served, metrics = apis
    origin = results.pop("origin", None)
    version = results.pop("read_version", None)
    return ClusterFacts(
        served,
        metrics=metrics,
        **results,
        origin=origin if isinstance(origin, FactsOrigin) else None,
        read_version=version if isinstance(version, str) else None,
    )


def _origin(api: Connection, access: KubeAccess) -> FactsOrigin:
    """Return name and version of the cluster, and the time of the read."""
    now = datetime.now(UTC).strftime(TIME_FORMAT)
    return FactsOrigin(name(access), _version(api), now)


def _version(api: Connection) -> str | None:
    """Return the version of Kubernetes; None if the server states none."""
    version = item(api, "/version")
    return None if version is None else str(version["gitVersion"])


def _readers(needs: Needs) -> dict[str, Reader]:
    """Return the readers of the facts that a stack needs."""
    readers = dict[str, Reader]()
    if needs.gateways:
        readers["gateways"] = partial(_gateways, used=needs.gateways)
        readers["routes"] = partial(_routes, used=needs.gateways)
        readers["bundles"] = _bundles
    if needs.namespaces:
        readers["namespaces"] = partial(inventory.namespaces, names=needs.namespaces)
    if needs.secrets:
        places = {(reference.namespace, reference.name) for reference in needs.secrets}
        readers["secrets"] = partial(inventory.secrets, places=places)
    if needs.metered:
        readers["metered"] = partial(inventory.metered_services, namespaces=needs.metered)
    plain: Mapping[str, tuple[object, Reader]] = {
        "read_version": (needs.image_volumes, _version),
        "storage_classes": (needs.storage_classes, inventory.storage_classes),
        "priority_classes": (needs.priority_classes, inventory.priority_classes),
    }
    readers |= {name: reader for name, (needed, reader) in plain.items() if needed}
    if needs.quotas:
        readers["quotas"] = partial(inventory.quotas, namespaces=needs.quotas)
    # Readers run in this order. The longest reads come last, because facts that are not read before the deadline are
    # unknown.
    if needs.slices:
        readers["slices"] = inventory.slices
    if needs.nodes:
        readers["nodes"] = inventory.some_nodes
    return readers


_EVERY_PART: Mapping[str, Reader] = {
    "gateways": lambda api: _gateways(api, None),
    "routes": lambda api: _routes(api, None),
    "bundles": lambda api: _bundles(api),  # noqa: PLW0108, `_bundles` is defined below
    **inventory.READERS,
}


def _kinds_and_metrics(api: Connection) -> tuple[Served, OfferedMetrics]:
    """Read the kinds that the server serves, and the metrics that adapters offer."""
    groups = _discover(api)
    return Served(frozenset(_kinds(groups))), OfferedMetrics(tuple(sorted(set(_metrics(groups)))))


def _discover(api: Connection) -> list[Mapping[str, Any]]:
    """Return the API groups that the server serves. Each group has its versions, with their resources."""
    return [group for path in ("/api", "/apis") for group in api.get(path, _AGGREGATED)["items"]]


def _gateways(api: Connection, used: Collection[GatewayRef] | None) -> Gateways:
    """Read the Gateways in `used` that exist. If `used` is None, read all Gateways.

    The Gateways in `used` are read one by one, which requires fewer permissions than a list of all Gateways.
    """
    if used is None:
        return Gateways(tuple(map(gateways.gateway, items(api, f"{_GATEWAY_API}/gateways"))))
    refs = sorted(ref for ref in used if (ref.group, ref.kind) == (GATEWAY_GROUP, gateways.KIND))
    live = (item(api, f"{_GATEWAY_API}/namespaces/{ref.namespace}/gateways/{ref.name}") for ref in refs)
    return Gateways(tuple(gateways.gateway(gateway) for gateway in live if gateway is not None))


def _routes(api: Connection, used: Collection[GatewayRef] | None) -> Routes:
    """Read the routes that attach to a Gateway in `used`. If `used` is None, read all routes."""
    routes = map(gateways.route, items(api, f"{_GATEWAY_API}/httproutes"))
    return Routes(tuple(route for route in routes if used is None or any(ref.gateway in used for ref in route.parents)))


def _bundles(api: Connection) -> Bundles:
    """Read the bundle versions in the annotations of custom resource definitions.

    A definition that does not exist has no version. Raises ValueError if the server answers with another definition.
    """
    versions = dict[str, str]()
    for name in bundles.versioned_definitions():
        definition = item(api, f"{_DEFINITIONS}/{name}", inventory.METADATA)
        metadata: Mapping[str, Any] = {"name": name} if definition is None else definition["metadata"]
        if metadata["name"] != name:
            raise ValueError(f"it answered with another definition than {name}")
        for key in filter(_is_bundle_version, metadata.get("annotations", ())):
            versions[name] = str(metadata["annotations"][key])
    return Bundles(versions)


def _is_bundle_version(annotation: str) -> bool:
    """Tell whether a key is `<API group>/bundle-version`. An annotation with this key has the version of a bundle."""
    return annotation.endswith("/bundle-version")


def _pools(api: Connection, namespace: str) -> Iterator[tuple[tuple[str, str], dict[str, str]]]:
    """Yield (namespace, name) and selector of each InferencePool."""
    pools = api.get(f"/apis/{POOL_GROUP}/v1/namespaces/{namespace}/inferencepools", _JSON)
    for pool in pools["items"]:
        selector = pool["spec"].get("selector", {}).get("matchLabels", {})
        yield (namespace, pool["metadata"]["name"]), {str(key): str(value) for key, value in selector.items()}


def _kinds(groups: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield `apiVersion/Kind` of each resource. The name of the core group is empty."""
    for group in groups:
        name = group.get("metadata", {}).get("name", "")
        for version in group["versions"]:
            api = f"{name}/{version['version']}".removeprefix("/")
            for resource in version.get("resources", ()):
                yield f"{api}/{resource['responseKind']['kind']}"


def _metrics(groups: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the metrics that adapters offer, as `resource/name`. Discovery lists metrics as subresources."""
    for group in groups:
        if group.get("metadata", {}).get("name") == METRICS_GROUP:
            for version in group["versions"]:
                for resource in version.get("resources", ()):
                    names = (metric["subresource"] for metric in resource.get("subresources", ()))
                    yield from (f"{resource['resource']}/{name}" for name in names)
