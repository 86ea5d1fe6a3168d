"""Reads a cluster's kinds, Gateways, routes and pools, with the kubeconfig's own credentials and a deadline."""

import http
import importlib
import json
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import TypeAdapter

from facts import gateways
from models.stack import Cluster, FileFacts, LiveFacts, NoFacts
from planning.ground.api_groups import GATEWAY_GROUP, POOL_GROUP
from planning.ground.cluster_facts import (
    NOTHING_READ,
    ClusterFacts,
    GatewayRef,
    Gateways,
    LiveGateway,
    Pools,
    Routes,
    Served,
    Unknown,
)

Read = TypeVar("Read")

_DEADLINE_SECONDS = 15
_ATTEMPTS, _PAUSE_SECONDS = 3, 0.5
"""A connection that breaks once is no fact about the cluster."""
_JSON = "application/json"
_GATEWAY_API = f"/apis/{GATEWAY_GROUP}/v1"
_PAGE = "500"
"""Objects that are asked for at a time."""
_NOTHING: Mapping[str, str] = {}
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class _RefusedError(Exception):
    """The API server answered with something else than what was asked."""

    def __init__(self, status: int) -> None:
        super().__init__(f"it answered {status}")
        self.status = status


@dataclass(frozen=True, slots=True)
class Access:
    """How a cluster is reached: the text of a kubeconfig, or KUBECONFIG's own rules where it is absent."""

    kubeconfig: str | None
    context: str | None


def read(spec: Cluster, access: Access, root: Path, used: Iterable[GatewayRef] = ()) -> ClusterFacts:
    """Read the facts that the configuration asks for; paths are relative to `root`. Never raises for a failed read.

    Of Gateways those in use are read, with the routes that attach to them.
    """
    if isinstance(spec.facts, NoFacts):
        return NOTHING_READ
    if isinstance(spec.facts, FileFacts):
        return from_file(root / spec.facts.path)
    return _live(access, frozenset(used))


def read_all(access: Access) -> ClusterFacts:
    """Read what any stack may want to know of a cluster. Never raises for a failed read."""
    return _live(access, None)


def from_file(path: Path) -> ClusterFacts:
    """Read facts that `python -m cli facts` wrote."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kinds = Served(frozenset(map(str, content["apis"])))
        return ClusterFacts(kinds, _part(path, content, Gateways), _part(path, content, Routes))
    except (OSError, ValueError, KeyError, TypeError) as error:
        failed = Unknown(f"{path.name} could not be read ({type(error).__name__})")
        return ClusterFacts(failed, failed, failed)


def _part(path: Path, content: Mapping[str, Any], part: type[Read]) -> Read | Unknown:
    """Return a part of a facts file, which one that was written without it does not know."""
    name = part.__name__.lower()
    return TypeAdapter(part).validate_python(content) if name in content else Unknown(f"{path.name} has no {name}")


def to_json(facts: ClusterFacts) -> str:
    """Return facts as the text of a facts file, without what is unknown."""
    apis = {} if isinstance(facts.apis, Unknown) else {"apis": sorted(facts.apis.kinds)}
    parts = (asdict(part) for part in (facts.gateways, facts.routes) if not isinstance(part, Unknown))
    return json.dumps({**apis, **{name: each for part in parts for name, each in part.items()}}, indent=1) + "\n"


def name(access: Access) -> str | None:
    """Return the name that the kubeconfig's context has for the cluster, or nothing where none can be read."""
    try:
        if access.kubeconfig is None:
            contexts, active = _kubernetes("config").list_kube_config_contexts()
        else:
            content = cast("dict[str, Any]", yaml.safe_load(access.kubeconfig))
            contexts = content["contexts"]
            active = next(one for one in contexts if one["name"] == content.get("current-context"))
        wanted = next((one for one in contexts if one["name"] == access.context), active)
        return str(wanted["context"]["cluster"])
    except Exception:  # noqa: BLE001, whatever is wrong with a kubeconfig, it gives no name
        return None


def _kubernetes(part: str) -> Any:  # noqa: ANN401, the client is untyped
    """Import a part of the client when a cluster is read at all: it costs a third of a second."""
    return importlib.import_module(f"kubernetes.{part}")


def pools(spec: Cluster, access: Access, namespaces: Iterable[str]) -> Pools | Unknown:
    """Read the InferencePools of some namespaces, where the configuration lets the cluster be asked."""
    if not isinstance(spec.facts, LiveFacts):
        return Unknown(f"cluster.facts is {spec.facts.type}")
    wanted = tuple(sorted(set(namespaces)))

    def reading() -> Pools:
        with _client(access) as api:
            return Pools({at: selector for namespace in wanted for at, selector in _pools(api, namespace)})

    return _within_deadline(reading)


def _live(access: Access, used: Collection[GatewayRef] | None) -> ClusterFacts:
    """Read kinds and, of the Gateways in use or else of all, what they and their routes are."""

    def reading() -> ClusterFacts:
        with _client(access) as api:
            kinds = Served(_discover(api))
            if used is not None and not used:
                return ClusterFacts(kinds)
            return ClusterFacts(
                kinds, _unless_refused(lambda: _gateways(api, used)), _unless_refused(lambda: _routes(api, used))
            )

    found = _within_deadline(reading)
    return ClusterFacts(found, found, found) if isinstance(found, Unknown) else found


def _unless_refused(reading: Callable[[], Read]) -> Read | Unknown:
    """Read what not everybody may."""
    try:
        return reading()
    except _RefusedError as error:
        return Unknown(f"the cluster could not be read ({error})")


def _within_deadline(reading: Callable[[], Read]) -> Read | Unknown:
    """Read within a deadline that also covers credential plugins, which have none of their own.

    The thread is a daemon: a plugin that hangs must not keep the program from ending.
    """
    answer = queue.SimpleQueue[Read | Exception]()

    def trying() -> None:
        for attempt in range(_ATTEMPTS):
            try:
                answer.put(reading())
            except Exception as error:  # noqa: BLE001, every way to fail is the same fact: unknown, and why
                if isinstance(error, _RefusedError) or attempt == _ATTEMPTS - 1:
                    answer.put(error)
                    return
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    threading.Thread(target=trying, daemon=True).start()
    try:
        found = answer.get(timeout=_DEADLINE_SECONDS)
    except queue.Empty:
        return Unknown(f"the cluster did not answer within {_DEADLINE_SECONDS} seconds")
    if isinstance(found, Exception):
        return Unknown(f"the cluster could not be read ({_reason(found)})")
    return found


def _reason(error: Exception) -> str:
    """Name the error without its text, which may carry a credential."""
    return str(error) if isinstance(error, _RefusedError) else type(error).__name__


def _client(access: Access) -> Any:  # noqa: ANN401, the client is untyped
    client, config = _kubernetes("client"), _kubernetes("config")
    settings = client.Configuration()
    settings.retries = False
    if access.kubeconfig is None:
        config.load_kube_config(context=access.context, client_configuration=settings, persist_config=False)
    else:
        content = yaml.safe_load(access.kubeconfig)
        config.load_kube_config_from_dict(content, context=access.context, client_configuration=settings)
    return client.ApiClient(settings)


def _discover(api: Any) -> frozenset[str]:  # noqa: ANN401, untyped
    return frozenset(kind for path in ("/api", "/apis") for kind in _kinds(_get(api, path, _AGGREGATED)))


def _gateways(api: Any, used: Collection[GatewayRef] | None) -> Gateways:  # noqa: ANN401, untyped
    """Read Gateways one by one where some are in use, because fewer may look at those of every namespace."""
    if used is None:
        return Gateways(tuple(map(gateways.gateway, _listed(api, f"{_GATEWAY_API}/gateways"))))
    found = list[LiveGateway]()
    for one in sorted(used):
        if (one.group, one.kind) != (GATEWAY_GROUP, gateways.KIND):
            continue
        try:
            item = _get(api, f"{_GATEWAY_API}/namespaces/{one.namespace}/gateways/{one.name}", _JSON)
        except _RefusedError as error:
            if error.status != http.HTTPStatus.NOT_FOUND:
                raise
        else:
            found.append(gateways.gateway(item))
    return Gateways(tuple(found))


def _routes(api: Any, used: Collection[GatewayRef] | None) -> Routes:  # noqa: ANN401, untyped
    found = map(gateways.route, _listed(api, f"{_GATEWAY_API}/httproutes"))
    return Routes(tuple(one for one in found if used is None or any(to.gateway in used for to in one.parents)))


def _listed(api: Any, path: str) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401, untyped
    """Yield the objects of a list, page by page."""
    more = ""
    while True:
        page = _get(api, path, _JSON, {"limit": _PAGE, **({"continue": more} if more else {})})
        yield from page["items"]
        more = page.get("metadata", {}).get("continue", "")
        if not more:
            return


def _pools(api: Any, namespace: str) -> Iterator[tuple[tuple[str, str], dict[str, str]]]:  # noqa: ANN401, untyped
    """Yield place and selector of each."""
    found = _get(api, f"/apis/{POOL_GROUP}/v1/namespaces/{namespace}/inferencepools", _JSON)
    for one in found["items"]:
        selector = one["spec"].get("selector", {}).get("matchLabels", {})
        yield (namespace, one["metadata"]["name"]), {str(key): str(value) for key, value in selector.items()}


def _get(api: Any, path: str, accepted: str, query: Mapping[str, str] = _NOTHING) -> Mapping[str, Any]:  # noqa: ANN401, untyped
    request = api.param_serialize(
        "GET",
        path,
        query_params=list(query.items()),
        header_params={"Accept": accepted},
        auth_settings=["BearerToken"],
    )
    response = api.call_api(*request, _request_timeout=_DEADLINE_SECONDS)
    response.read()
    if response.status != http.HTTPStatus.OK:
        raise _RefusedError(response.status)
    return json.loads(response.data)


def _kinds(discovery: Mapping[str, Any]) -> Iterator[str]:
    """Yield `apiVersion/Kind` of each resource; the core group has no name."""
    for group in discovery["items"]:
        name = group.get("metadata", {}).get("name", "")
        for version in group["versions"]:
            api = f"{name}/{version['version']}" if name else version["version"]
            for resource in version.get("resources", ()):
                yield f"{api}/{resource['responseKind']['kind']}"
