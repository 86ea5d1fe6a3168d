"""Reader of the objects from which the status of stacks is made: one list for each kind, within one deadline."""

import base64
import http
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from facts import live_objects
from facts.connection import Connection, RefusedError
from facts.kubeconfig import KubeAccess
from facts.reading import Reader, item, items, read_within
from models.trees import at, mapping, sequence, texts
from planning.ground import labels, listeners, names
from planning.ground.api_groups import GATEWAY_GROUP
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import (
    CERTIFICATE,
    CLUSTER_SCOPED,
    DEPLOYMENT,
    EVENT,
    GATEWAY,
    KINDS,
    LEASE,
    NODE,
    POD,
    POOL,
    ROUTE,
    SERVICE,
    TLS_CERTIFICATE,
    Manifest,
    Snapshot,
)
from planning.interceptor import resolution
from planning.picker.proxy import CONTAINER as PROXY_CONTAINER

_DEADLINE_SECONDS = 15
_PAGE = "5000"
"""Objects in one page of a list: the pods of hundreds of services, about 40 MB of JSON."""
_CERTIFICATES = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
_UNMARKED = frozenset({EVENT, LEASE, NODE})
"""Kinds whose objects do not have the labels of this program's objects, because others make them."""
_AFTER_OTHERS = frozenset({GATEWAY, POD, POOL, SERVICE})
"""Kinds of which objects are read that routes, pools or proxies name. They are read after the other kinds."""
_OPTIONS = {EVENT: {"fieldSelector": "type=Warning"}}
"""Parameters of lists, by kind."""


@dataclass(frozen=True, slots=True)
class ReadScope:
    """The objects that are read."""

    namespaces: tuple[str, ...] | None = None
    """Namespaces; None for all namespaces, which needs rights in the whole cluster."""
    certificates: bool = False
    """Whether to read the certificates of the Gateways' listeners: their Secrets one by one, and the Certificates of
    cert-manager in the namespaces of the Gateways."""
    interceptors: tuple[str, ...] = ()
    """Further namespaces, of which only the Deployments and Pods of interceptors are read. One whose objects may not be
    read is left out. Without effect if all namespaces are read."""
    kinds: tuple[str, ...] = KINDS
    """Kinds that are read; the others have no objects. Pods and pools are read after the kinds that name them."""


def read(access: KubeAccess, scope: ReadScope) -> Snapshot:
    """Read the objects of a scope. A failed read does not raise; its kind is `Unknown`."""
    lists = dict[str, Sequence[Manifest]]()
    refused = set[str]()
    readers: dict[str, Reader] = {
        kind: partial(_objects, kind=kind, scope=scope, lists=lists) for kind in KINDS if kind not in _AFTER_OTHERS
    }
    readers[DEPLOYMENT] = partial(_with_interceptors, kind=DEPLOYMENT, scope=scope, lists=lists, refused=refused)
    readers[POOL] = partial(_pools, scope=scope, lists=lists)
    readers[POD] = partial(_pods, scope=scope, lists=lists, refused=refused)
    readers[GATEWAY] = partial(_gateways, lists=lists)
    readers[SERVICE] = partial(_services, scope=scope, lists=lists)
    readers = {kind: reader for kind, reader in readers.items() if kind in scope.kinds}
    if scope.certificates:
        readers[TLS_CERTIFICATE] = partial(_certificates, lists=lists)
        readers[CERTIFICATE] = partial(_renewals, lists=lists)
    moment = datetime.now(UTC).replace(microsecond=0)
    results = read_within(_DEADLINE_SECONDS, access, readers)
    namespaces = None
    if scope.namespaces is not None:
        namespaces = frozenset({*scope.namespaces, *scope.interceptors}) - refused
    return Snapshot(moment, results, namespaces)


def _objects(
    api: Connection, kind: str, scope: ReadScope, lists: dict[str, Sequence[Manifest]]
) -> Sequence[Manifest] | Unknown:
    """List the objects of a kind, and put them into `lists`, too. A kind that is not served has no objects."""
    selector = dict(labels.PART_OF)
    if kind in _UNMARKED:
        selector = {}
    options = {"limit": _PAGE, **_OPTIONS.get(kind, {})}
    namespaces = scope.namespaces or ("",)
    if kind in CLUSTER_SCOPED:
        namespaces = ("",)
    try:
        lists[kind] = [
            _manifest(listed)
            for namespace in namespaces
            for listed in items(api, live_objects.path(kind, namespace), selector=selector, options=options)
        ]
    except RefusedError as error:
        if error.status != http.HTTPStatus.NOT_FOUND:
            raise
        lists[kind] = ()
    return lists[kind]


def _with_interceptors(
    api: Connection, kind: str, scope: ReadScope, lists: dict[str, Sequence[Manifest]], refused: set[str]
) -> Sequence[Manifest] | Unknown:
    """List the objects of a kind, and those of interceptors in further namespaces.

    The namespaces whose objects may not be read are put into `refused`.
    """
    objects = _objects(api, kind, scope, lists)
    namespaces = sorted({*scope.interceptors} - {*(scope.namespaces or scope.interceptors)})
    if not namespaces or isinstance(objects, Unknown):
        return objects
    further = list[Manifest]()
    for namespace in namespaces:
        path = live_objects.path(kind, namespace)
        try:
            further += map(_manifest, items(api, path, selector=labels.interceptors(), options={"limit": _PAGE}))
        except RefusedError as error:
            if error.status != http.HTTPStatus.FORBIDDEN:
                raise
            refused.add(namespace)
    return [*objects, *further]


def _pools(api: Connection, scope: ReadScope, lists: dict[str, Sequence[Manifest]]) -> Sequence[Manifest] | Unknown:
    """List the pools of stacks, and those of somebody else that routes name, and put them into `lists`.

    The pools of a namespace outside of the scope are not read.
    """
    pools = _objects(api, POOL, scope, lists)
    if isinstance(pools, Unknown):
        return pools
    places = {place for route in lists.get(ROUTE, ()) for place in _pools_of(route)} - set(map(_place, pools))
    namespaces = {namespace for namespace, _ in places}
    if scope.namespaces is not None:
        namespaces &= {*scope.namespaces}
    paths = [live_objects.path(POOL, namespace) for namespace in sorted(namespaces)]
    others = [_manifest(pool) for path in paths for pool in items(api, path, options={"limit": _PAGE})]
    lists[POOL] = [*pools, *(pool for pool in others if _place(pool) in places)]
    return lists[POOL]


def _pools_of(route: Manifest) -> Iterator[tuple[str, str]]:
    """Yield namespace and name of the pools that are backends of a route."""
    namespace, _ = _place(route)
    for rule in map(mapping, sequence(at(route, "spec", "rules"))):
        for backend in map(mapping, sequence(rule.get("backendRefs"))):
            if backend.get("kind") == "InferencePool":
                yield str(backend.get("namespace") or namespace), str(backend.get("name"))


def _pods(
    api: Connection, scope: ReadScope, lists: dict[str, Sequence[Manifest]], refused: set[str]
) -> Sequence[Manifest] | Unknown:
    """List the pods of stacks and of interceptors, and those that somebody else runs for a pool of a stack."""
    pods = _with_interceptors(api, POD, scope, lists, refused)
    if isinstance(pods, Unknown):
        return pods
    by_place = {_place(pod): pod for pod in pods}
    for pool in lists.get(POOL, ()):
        selector = texts(at(pool, "spec", "selector", "matchLabels"))
        if selector and labels.SERVICE not in selector:
            path = live_objects.path(POD, _place(pool)[0])
            existing = map(_manifest, items(api, path, selector=selector, options={"limit": _PAGE}))
            by_place |= {_place(pod): pod for pod in existing}
    return list(by_place.values())


def _gateways(api: Connection, lists: dict[str, Sequence[Manifest]]) -> Sequence[Manifest]:
    """Read the Gateways that are parents of the routes in `lists`, one by one, and put them into `lists`, too.

    Missing Gateways are left out.
    """
    places = sorted({place for route in lists.get(ROUTE, ()) for place in _parents(route)})
    paths = (f"{live_objects.path(GATEWAY, namespace)}/{name}" for namespace, name in places)
    lists[GATEWAY] = [_manifest(gateway) for path in paths if (gateway := item(api, path)) is not None]
    return lists[GATEWAY]


def _certificates(api: Connection, lists: Mapping[str, Sequence[Manifest]]) -> Sequence[Manifest]:
    """Read the Secrets of the listeners in `lists`, one by one. Missing Secrets are left out.

    Nothing but certificates is kept: a Secret has the private key, often once more in an annotation or in `tls.crt`.
    """
    places = sorted({place for gateway in lists.get(GATEWAY, ()) for place in listeners.all_secrets(gateway)})
    secrets = ((place, item(api, f"{live_objects.path(TLS_CERTIFICATE, place[0])}/{place[1]}")) for place in places)
    return [
        {
            "metadata": {"namespace": place[0], "name": place[1]},
            "data": {"tls.crt": _blocks(at(secret, "data", "tls.crt"))},
        }
        for place, secret in secrets
        if secret is not None
    ]


def _blocks(data: object) -> str:
    """Return the certificates of a value of a Secret, in base64 as there; empty if it has none."""
    try:
        content = base64.b64decode(str(data), validate=True)
    except ValueError:
        return ""
    return base64.b64encode(b"\n".join(_CERTIFICATES.findall(content))).decode()


def _renewals(api: Connection, lists: Mapping[str, Sequence[Manifest]]) -> Sequence[Manifest]:
    """List the Certificates of cert-manager in the namespaces of Gateways; none if the cluster does not serve them."""
    namespaces = sorted({str(at(gateway, "metadata", "namespace")) for gateway in lists.get(GATEWAY, ())})
    paths = [live_objects.path(CERTIFICATE, namespace) for namespace in namespaces]
    try:
        return [_manifest(listed) for path in paths for listed in items(api, path)]
    except RefusedError as error:
        if error.status != http.HTTPStatus.NOT_FOUND:
            raise
        return ()


def _services(api: Connection, scope: ReadScope, lists: Mapping[str, Sequence[Manifest]]) -> Sequence[Manifest]:
    """Read the Services by which requests find their way: those that interceptors search, and those of proxies."""
    return [*_searched_services(api, scope, lists), *_proxies(api, lists)]


def _proxies(api: Connection, lists: Mapping[str, Sequence[Manifest]]) -> Iterator[Manifest]:
    """Yield the Services of the proxies beside pickers.

    Whether a picker had a proxy is unknown if its Deployment is missing. A Service that may not be read then is none,
    because the rights of stacks without proxies leave it out.
    """
    if DEPLOYMENT not in lists:
        return
    deployments = {_place(item): item for item in lists[DEPLOYMENT]}
    places = {_proxy_place(item): True for item in deployments.values() if _has_proxy(item)}
    for pool in filter(_is_of_picker, lists.get(POOL, ())):
        picker = (_place(pool)[0], str(at(pool, "spec", "endpointPickerRef", "name")))
        if picker not in deployments:
            places.setdefault(_proxy_place(pool), False)
    for (namespace, name), is_known in sorted(places.items()):
        try:
            service = item(api, f"{live_objects.path(SERVICE, namespace)}/{name}")
        except RefusedError as error:
            if is_known or error.status != http.HTTPStatus.FORBIDDEN:
                raise
            continue
        if service is not None:
            yield _manifest(service)


def _has_proxy(deployment: Manifest) -> bool:
    """Tell whether a Deployment is that of a picker with a proxy."""
    containers = map(mapping, sequence(at(deployment, "spec", "template", "spec", "containers")))
    return _is_of_picker(deployment) and any(container.get("name") == PROXY_CONTAINER for container in containers)


def _is_of_picker(manifest: Manifest) -> bool:
    return mapping(at(manifest, "metadata", "labels")).get("app.kubernetes.io/component") == "endpoint-picker"


def _proxy_place(part: Manifest) -> tuple[str, str]:
    """Return namespace and name of the Service of the proxies of the variant to which an object belongs."""
    base = str(mapping(at(part, "metadata", "labels")).get(labels.NAME, ""))
    return _place(part)[0], names.proxy_service(base)


def _place(manifest: Manifest) -> tuple[str, str]:
    metadata = mapping(manifest.get("metadata"))
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def _searched_services(
    api: Connection, scope: ReadScope, lists: Mapping[str, Sequence[Manifest]]
) -> Sequence[Manifest]:
    """List the Services with the labels by which an interceptor searches; none if no route leads to such a search.

    The Services may be anybody's. A search ends in the namespace of the route's service.
    """
    namespaces: Iterable[str] = sorted({name for route in lists.get(ROUTE, ()) for name in _search_places(route)})
    if namespaces and scope.namespaces is None:
        namespaces = ("",)
    selector = labels.routing_contract("")
    return [
        _manifest(service)
        for namespace in namespaces
        for service in items(api, live_objects.path(SERVICE, namespace), selector=selector, options={"limit": _PAGE})
    ]


def _search_places(route: Manifest) -> Iterator[str]:
    """Yield the namespace of a route whose requests an interceptor resolves by a search."""
    if resolution.searched_ids(route):
        yield str(at(route, "metadata", "namespace"))


def _manifest(value: object) -> Manifest:
    """Return a value if it is an object with a name. Raises TypeError for anything else, which no API server sends."""
    if not isinstance(at(value, "metadata", "name"), str):
        raise TypeError
    return mapping(value)


def _parents(route: Manifest) -> Iterator[tuple[str, str]]:
    """Yield namespace and name of the Gateways that are parents of a route."""
    namespace = str(mapping(route.get("metadata")).get("namespace", ""))
    for parent in map(mapping, sequence(mapping(route.get("spec")).get("parentRefs"))):
        if (parent.get("group", GATEWAY_GROUP), parent.get("kind", "Gateway")) == (GATEWAY_GROUP, "Gateway"):
            yield str(parent.get("namespace") or namespace), str(parent.get("name"))
