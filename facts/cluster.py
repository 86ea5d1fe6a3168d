"""Reader of a cluster's kinds and their versions, Gateways, routes and pools, as the user, within a deadline."""

import http
import json
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from facts import gateways, kubeconfig, live_objects
from facts.connection import Connection, RefusedError, connect
from facts.kubeconfig import Access
from models.stack import Cluster, FileFacts, LiveFacts, NoFacts
from planning.ground import bundles, labels, marks
from planning.ground.api_groups import GATEWAY_GROUP, METRICS_GROUP, POOL_GROUP
from planning.ground.cluster_facts import (
    NOTHING_READ,
    Bundles,
    ClusterFacts,
    GatewayRef,
    Gateways,
    LiveGateway,
    LiveObject,
    LiveObjects,
    Metrics,
    Place,
    Pools,
    Routes,
    Served,
    Unknown,
    unread,
)
from planning.ground.marks import Mark

Read = TypeVar("Read")

_DEADLINE_SECONDS = 15
_ATTEMPTS, _PAUSE_SECONDS = 3, 0.5
"""Number of attempts of a read, and pause between two of them. One broken connection says nothing about the cluster."""
_JSON = "application/json"
_GATEWAY_API = f"/apis/{GATEWAY_GROUP}/v1"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""Representation of an object without its spec and status."""
_METADATA_LIST = _METADATA.replace("Metadata;", "MetadataList;")
"""Representation of a list without spec and status of its objects."""
_PAGE = "500"
"""Objects in one page of a list."""
_ALL: Mapping[str, str] = {}
"""Label selector of all objects."""
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def read(spec: Cluster, access: Access, root: Path, used: Iterable[GatewayRef] = ()) -> ClusterFacts:
    """Read the cluster facts from the source that `cluster.facts` names.

    From a live cluster, only the Gateways in `used` are read, with the routes that attach to them. The path of a facts
    file is relative to `root`. A failed read does not raise; its facts are `Unknown`.
    """
    if isinstance(spec.facts, NoFacts):
        return NOTHING_READ
    if isinstance(spec.facts, FileFacts):
        return from_file(root / spec.facts.path)
    return _live(access, frozenset(used))


def read_all(access: Access) -> ClusterFacts:
    """Read all facts of a live cluster that any stack may use.

    A failed read does not raise; its facts are `Unknown`.
    """
    return _live(access, None)


def from_file(path: Path) -> ClusterFacts:
    """Read cluster facts from a file with the output of `python -m cli facts`.

    If the file cannot be read, all facts are `Unknown`.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return ClusterFacts(
            Served(frozenset(map(str, content["apis"]))),
            _part(path, content, Gateways),
            _part(path, content, Routes),
            _part(path, content, Metrics),
            _part(path, content, Bundles),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        return unread(Unknown(f"{path.name} could not be read ({type(error).__name__})"))


def _part(path: Path, content: Mapping[str, Any], part: type[Read]) -> Read | Unknown:
    """Return one part of a facts file. The part is `Unknown` if the file does not contain it."""
    name = part.__name__.lower()
    return TypeAdapter(part).validate_python(content) if name in content else Unknown(f"{path.name} has no {name}")


def to_json(facts: ClusterFacts) -> str:
    """Return cluster facts as the text of a facts file. Unknown parts are left out."""
    apis = {} if isinstance(facts.apis, Unknown) else {"apis": sorted(facts.apis.kinds)}
    known = (facts.gateways, facts.routes, facts.metrics, facts.bundles)
    parts = (asdict(part) for part in known if not isinstance(part, Unknown))
    return json.dumps({**apis, **{name: value for part in parts for name, value in part.items()}}, indent=1) + "\n"


def name(access: Access) -> str | None:
    """Return the name of the cluster in the context of the kubeconfig. None if the kubeconfig cannot be read."""
    try:
        return kubeconfig.cluster_name(access)
    except Exception:  # noqa: BLE001, a kubeconfig with any mistake gives no name
        return None


def pools(spec: Cluster, access: Access, namespaces: Iterable[str]) -> Pools | Unknown:
    """Read the InferencePools in `namespaces`.

    The result is `Unknown` if the read fails, or if `cluster.facts` is not of type live.
    """
    if not isinstance(spec.facts, LiveFacts):
        return Unknown(f"cluster.facts is {spec.facts.type}")
    distinct = tuple(sorted(set(namespaces)))

    def read_pools() -> Pools:
        with connect(access, _DEADLINE_SECONDS) as api:
            return Pools({at: selector for namespace in distinct for at, selector in _pools(api, namespace)})

    return _within_deadline(read_pools)


def objects(
    spec: Cluster, access: Access, kinds: Iterable[tuple[str, str]], names: Mapping[tuple[str, str], Collection[str]]
) -> LiveObjects | Unknown:
    """Read the objects of some kinds (`apiVersion/Kind`), each in a namespace; empty for cluster-scoped objects.

    `names` are the names of objects whose marks are read, whoever made the objects, by kind and namespace. The result
    is `Unknown` if the read fails, or if `cluster.facts` is not of type live.
    """
    if not isinstance(spec.facts, LiveFacts):
        return Unknown(f"cluster.facts is {spec.facts.type}")
    distinct = tuple(sorted(set(kinds)))

    def read_objects() -> LiveObjects:
        found, refused = dict[Place, LiveObject](), dict[str, None]()
        with connect(access, _DEADLINE_SECONDS) as api:
            for kind, namespace in distinct:
                try:
                    for item in _list_objects(api, live_objects.path(kind, namespace), labels.PART_OF):
                        found[live_objects.place(kind, item)] = live_objects.live_object(item)
                except RefusedError as error:
                    # A kind that the cluster does not serve has no objects.
                    if error.status != http.HTTPStatus.NOT_FOUND:
                        refused[kind] = None
            return LiveObjects(found, tuple(refused), *_marks(api, found, names))

    return _within_deadline(read_objects)


def _marks(
    api: Connection, known: Mapping[Place, LiveObject], names: Mapping[tuple[str, str], Collection[str]]
) -> tuple[Mapping[Place, Mark], tuple[str, ...]]:
    """Return the marks of objects by their names, and the kinds that the API server refuses to list.

    `known` are objects that have been read. Lists are read only for names that are not among them.
    """
    found, refused = dict[Place, Mark](), dict[str, None]()
    for (kind, namespace), listed in sorted(names.items()):
        places = {live_objects.named_place(kind, namespace, name) for name in listed}
        found |= {place: marks.read(known[place].content["metadata"]) for place in places & known.keys()}
        try:
            path = live_objects.path(kind, namespace)
            items = () if places <= known.keys() else _list_objects(api, path, accepted=_METADATA_LIST)
            found |= {
                place: marks.read(item["metadata"])
                for item in items
                if (place := live_objects.place(kind, item)) in places
            }
        except RefusedError as error:
            if error.status != http.HTTPStatus.NOT_FOUND:
                refused[kind] = None
    return found, tuple(refused)


def _live(access: Access, used: Collection[GatewayRef] | None) -> ClusterFacts:
    """Read the kinds of a cluster, and the Gateways in `used` with their routes.

    If `used` is None, read all Gateways and routes. If it is empty, read neither Gateways nor routes.
    """

    def read_facts() -> ClusterFacts:
        with connect(access, _DEADLINE_SECONDS) as api:
            groups = _discover(api)
            kinds, metrics = Served(frozenset(_kinds(groups))), Metrics(tuple(sorted(set(_metrics(groups)))))
            if used is not None and not used:
                return ClusterFacts(kinds, metrics=metrics)
            return ClusterFacts(
                kinds,
                _unless_refused(lambda: _gateways(api, used)),
                _unless_refused(lambda: _routes(api, used)),
                metrics,
                _unless_refused(lambda: _bundles(api)),
            )

    facts = _within_deadline(read_facts)
    return unread(facts) if isinstance(facts, Unknown) else facts


def _unless_refused(reader: Callable[[], Read]) -> Read | Unknown:
    """Run a reader. If the API server refuses, for example because the user lacks a permission, return `Unknown`."""
    try:
        return reader()
    except RefusedError as error:
        return Unknown(f"the cluster could not be read ({error})")


def _within_deadline(reader: Callable[[], Read]) -> Read | Unknown:
    """Run a reader within a deadline, and repeat it after a failure. If it fails again, return `Unknown`.

    A request that the API server refused is not repeated. The deadline also limits credential plugins, which have no
    time limit themselves. The thread is a daemon, so that a plugin that hangs does not keep the program from ending.
    """
    results = queue.SimpleQueue[Read | Exception]()

    def try_reading() -> None:
        for attempt in range(_ATTEMPTS):
            try:
                results.put(reader())
            except Exception as error:  # noqa: BLE001, every failure is the same fact: unknown, with a reason
                if isinstance(error, RefusedError) or attempt == _ATTEMPTS - 1:
                    results.put(error)
                    return
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    threading.Thread(target=try_reading, daemon=True).start()
    try:
        result = results.get(timeout=_DEADLINE_SECONDS)
    except queue.Empty:
        return Unknown(f"the cluster did not answer within {_DEADLINE_SECONDS} seconds")
    if isinstance(result, Exception):
        return Unknown(f"the cluster could not be read ({_reason(result)})")
    return result


def _reason(error: Exception) -> str:
    """Return why a read failed: the class name of the error, or the text of a `RefusedError`.

    The text of any other error may contain a credential.
    """
    return str(error) if isinstance(error, RefusedError) else type(error).__name__


def _discover(api: Connection) -> list[Mapping[str, Any]]:
    """Return the API groups that the server serves, each with its versions and resources."""
    return [group for path in ("/api", "/apis") for group in api.get(path, _AGGREGATED)["items"]]


def _gateways(api: Connection, used: Collection[GatewayRef] | None) -> Gateways:
    """Read the Gateways in `used` that exist. If `used` is None, read all Gateways.

    The Gateways in `used` are read one by one, which takes fewer permissions than listing those of all namespaces.
    """
    if used is None:
        return Gateways(tuple(map(gateways.gateway, _list_objects(api, f"{_GATEWAY_API}/gateways"))))
    found = list[LiveGateway]()
    for ref in sorted(used):
        if (ref.group, ref.kind) != (GATEWAY_GROUP, gateways.KIND):
            continue
        try:
            item = api.get(f"{_GATEWAY_API}/namespaces/{ref.namespace}/gateways/{ref.name}", _JSON)
        except RefusedError as error:
            if error.status != http.HTTPStatus.NOT_FOUND:
                raise
        else:
            found.append(gateways.gateway(item))
    return Gateways(tuple(found))


def _routes(api: Connection, used: Collection[GatewayRef] | None) -> Routes:
    """Read the routes that attach to a Gateway in `used`. If `used` is None, read all routes."""
    routes = map(gateways.route, _list_objects(api, f"{_GATEWAY_API}/httproutes"))
    return Routes(tuple(route for route in routes if used is None or any(ref.gateway in used for ref in route.parents)))


def _bundles(api: Connection) -> Bundles:
    """Read the annotations with the versions of definitions."""
    versions = dict[str, str]()
    for name in bundles.versioned_definitions():
        try:
            definition = api.get(f"{_DEFINITIONS}/{name}", _METADATA)
        except RefusedError as error:
            if error.status != http.HTTPStatus.NOT_FOUND:
                raise
        else:
            annotations: Mapping[str, str] = definition["metadata"].get("annotations", {})
            for key in filter(_is_bundle_version, annotations):
                versions[name] = annotations[key]
    return Bundles(versions)


def _is_bundle_version(annotation: str) -> bool:
    """Tell whether an annotation has the version of a bundle; the API group precedes the name."""
    return annotation.endswith("/bundle-version")


def _list_objects(
    api: Connection, path: str, selector: Mapping[str, str] = _ALL, accepted: str = _JSON
) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list that have some labels, page by page."""
    token = ""
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in selector.items())} if selector else {}
    while True:
        page = api.get(path, accepted, {"limit": _PAGE, **query, **({"continue": token} if token else {})})
        # The API server writes an empty list of metadata as null.
        yield from page["items"] or ()
        token = page.get("metadata", {}).get("continue", "")
        if not token:
            return


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
            api = f"{name}/{version['version']}" if name else version["version"]
            for resource in version.get("resources", ()):
                yield f"{api}/{resource['responseKind']['kind']}"


def _metrics(groups: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the metrics that adapters offer, as `resource/name`; discovery lists them as subresources."""
    for group in groups:
        if group.get("metadata", {}).get("name") == METRICS_GROUP:
            for version in group["versions"]:
                for resource in version.get("resources", ()):
                    names = (metric["subresource"] for metric in resource.get("subresources", ()))
                    yield from (f"{resource['resource']}/{name}" for name in names)
