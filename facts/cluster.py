"""Reader of a cluster's kinds, Gateways, routes and pools, with the kubeconfig's credentials and within a deadline."""

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
"""A connection that breaks once says nothing about the cluster, so reads are repeated."""
_JSON = "application/json"
_GATEWAY_API = f"/apis/{GATEWAY_GROUP}/v1"
_PAGE = "500"
"""Objects in one page of a list."""
_NOTHING: Mapping[str, str] = {}
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class _RefusedError(Exception):
    """The API server answered with another status than 200."""

    def __init__(self, status: int) -> None:
        super().__init__(f"it answered {status}")
        self.status = status


@dataclass(frozen=True, slots=True)
class Access:
    """Kubeconfig and context by which a cluster is reached."""

    kubeconfig: str | None
    """Text of a kubeconfig; None for the files that KUBECONFIG names, or the default file."""
    context: str | None
    """Context of the kubeconfig; None for its current context."""


def read(spec: Cluster, access: Access, root: Path, used: Iterable[GatewayRef] = ()) -> ClusterFacts:
    """Read the facts that the configuration asks for.

    Only the Gateways in `used` are read, with the routes that attach to them. The path of a facts file is relative to
    `root`. Never raises for a failed read.
    """
    if isinstance(spec.facts, NoFacts):
        return NOTHING_READ
    if isinstance(spec.facts, FileFacts):
        return from_file(root / spec.facts.path)
    return _live(access, frozenset(used))


def read_all(access: Access) -> ClusterFacts:
    """Read all facts of a live cluster that any stack may use. Never raises for a failed read."""
    return _live(access, None)


def from_file(path: Path) -> ClusterFacts:
    """Read the cluster facts that `python -m cli facts` wrote. Never raises for a failed read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kinds = Served(frozenset(map(str, content["apis"])))
        return ClusterFacts(kinds, _part(path, content, Gateways), _part(path, content, Routes))
    except (OSError, ValueError, KeyError, TypeError) as error:
        failed = Unknown(f"{path.name} could not be read ({type(error).__name__})")
        return ClusterFacts(failed, failed, failed)


def _part(path: Path, content: Mapping[str, Any], part: type[Read]) -> Read | Unknown:
    """Return one part of a facts file; `Unknown` if the file was written without it."""
    name = part.__name__.lower()
    return TypeAdapter(part).validate_python(content) if name in content else Unknown(f"{path.name} has no {name}")


def to_json(facts: ClusterFacts) -> str:
    """Return cluster facts as the text of a facts file; unknown parts are left out."""
    apis = {} if isinstance(facts.apis, Unknown) else {"apis": sorted(facts.apis.kinds)}
    parts = (asdict(part) for part in (facts.gateways, facts.routes) if not isinstance(part, Unknown))
    return json.dumps({**apis, **{name: value for part in parts for name, value in part.items()}}, indent=1) + "\n"


def name(access: Access) -> str | None:
    """Return the cluster's name in the kubeconfig's context; None if it cannot be read."""
    try:
        if access.kubeconfig is None:
            contexts, active = _kubernetes("config").list_kube_config_contexts()
        else:
            content = cast("dict[str, Any]", yaml.safe_load(access.kubeconfig))
            contexts = content["contexts"]
            active = next(context for context in contexts if context["name"] == content.get("current-context"))
        selected = next((context for context in contexts if context["name"] == access.context), active)
        return str(selected["context"]["cluster"])
    except Exception:  # noqa: BLE001, a kubeconfig with any mistake gives no name
        return None


def _kubernetes(module: str) -> Any:  # noqa: ANN401, the client is untyped
    """Import a module of the Kubernetes client; only readers of a cluster pay the third of a second that it takes."""
    return importlib.import_module(f"kubernetes.{module}")


def pools(spec: Cluster, access: Access, namespaces: Iterable[str]) -> Pools | Unknown:
    """Read the InferencePools of some namespaces; `Unknown` unless the configuration has live facts."""
    if not isinstance(spec.facts, LiveFacts):
        return Unknown(f"cluster.facts is {spec.facts.type}")
    distinct = tuple(sorted(set(namespaces)))

    def read_pools() -> Pools:
        with _client(access) as api:
            return Pools({at: selector for namespace in distinct for at, selector in _pools(api, namespace)})

    return _within_deadline(read_pools)


def _live(access: Access, used: Collection[GatewayRef] | None) -> ClusterFacts:
    """Read the kinds of a cluster, and the Gateways in use with their routes; None for all Gateways and routes."""

    def read_facts() -> ClusterFacts:
        with _client(access) as api:
            kinds = Served(_discover(api))
            if used is not None and not used:
                return ClusterFacts(kinds)
            return ClusterFacts(
                kinds, _unless_refused(lambda: _gateways(api, used)), _unless_refused(lambda: _routes(api, used))
            )

    facts = _within_deadline(read_facts)
    return ClusterFacts(facts, facts, facts) if isinstance(facts, Unknown) else facts


def _unless_refused(reader: Callable[[], Read]) -> Read | Unknown:
    """Run a reader that the user may lack permission for; `Unknown` if the API server refuses."""
    try:
        return reader()
    except _RefusedError as error:
        return Unknown(f"the cluster could not be read ({error})")


def _within_deadline(reader: Callable[[], Read]) -> Read | Unknown:
    """Run a reader within a deadline that also covers credential plugins, which have no deadline themselves.

    The thread is a daemon, so that a plugin that hangs does not keep the program from ending.
    """
    results = queue.SimpleQueue[Read | Exception]()

    def try_reading() -> None:
        for attempt in range(_ATTEMPTS):
            try:
                results.put(reader())
            except Exception as error:  # noqa: BLE001, every failure is the same fact: unknown, with a reason
                if isinstance(error, _RefusedError) or attempt == _ATTEMPTS - 1:
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
    """Return the name of an error without its text, which may contain a credential."""
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
    """Read the Gateways in use one by one; None for all.

    Reading one Gateway takes fewer permissions than listing those of all namespaces.
    """
    if used is None:
        return Gateways(tuple(map(gateways.gateway, _list_objects(api, f"{_GATEWAY_API}/gateways"))))
    found = list[LiveGateway]()
    for ref in sorted(used):
        if (ref.group, ref.kind) != (GATEWAY_GROUP, gateways.KIND):
            continue
        try:
            item = _get(api, f"{_GATEWAY_API}/namespaces/{ref.namespace}/gateways/{ref.name}", _JSON)
        except _RefusedError as error:
            if error.status != http.HTTPStatus.NOT_FOUND:
                raise
        else:
            found.append(gateways.gateway(item))
    return Gateways(tuple(found))


def _routes(api: Any, used: Collection[GatewayRef] | None) -> Routes:  # noqa: ANN401, untyped
    """Read the routes that attach to a Gateway in use; None for all routes."""
    routes = map(gateways.route, _list_objects(api, f"{_GATEWAY_API}/httproutes"))
    return Routes(tuple(route for route in routes if used is None or any(ref.gateway in used for ref in route.parents)))


def _list_objects(api: Any, path: str) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401, untyped
    """Yield the objects of a list, page by page."""
    token = ""
    while True:
        page = _get(api, path, _JSON, {"limit": _PAGE, **({"continue": token} if token else {})})
        yield from page["items"]
        token = page.get("metadata", {}).get("continue", "")
        if not token:
            return


def _pools(api: Any, namespace: str) -> Iterator[tuple[tuple[str, str], dict[str, str]]]:  # noqa: ANN401, untyped
    """Yield (namespace, name) and selector of each InferencePool."""
    pools = _get(api, f"/apis/{POOL_GROUP}/v1/namespaces/{namespace}/inferencepools", _JSON)
    for pool in pools["items"]:
        selector = pool["spec"].get("selector", {}).get("matchLabels", {})
        yield (namespace, pool["metadata"]["name"]), {str(key): str(value) for key, value in selector.items()}


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
    """Yield `apiVersion/Kind` of each resource; the core group's name is empty."""
    for group in discovery["items"]:
        name = group.get("metadata", {}).get("name", "")
        for version in group["versions"]:
            api = f"{name}/{version['version']}" if name else version["version"]
            for resource in version.get("resources", ()):
                yield f"{api}/{resource['responseKind']['kind']}"
