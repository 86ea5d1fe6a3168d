"""Reads a cluster's API discovery and its pools, with the kubeconfig's own credentials and a deadline."""

import http
import importlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml

from models.stack import Cluster, FileFacts, LiveFacts, NoFacts
from planning.facts import NOTHING_READ, ClusterFacts, Pools, Served, Unknown
from planning.picker.plan import POOL_GROUP

Read = TypeVar("Read")

_DEADLINE_SECONDS = 15
_ATTEMPTS, _PAUSE_SECONDS = 3, 0.5
"""A connection that breaks once is no fact about the cluster."""
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class _RefusedError(Exception):
    """The API server answered with something else than what was asked."""

    def __init__(self, status: int) -> None:
        super().__init__(f"it answered {status}")


@dataclass(frozen=True, slots=True)
class Access:
    """How a cluster is reached: the text of a kubeconfig, or KUBECONFIG's own rules where it is absent."""

    kubeconfig: str | None
    context: str | None


def read(spec: Cluster, access: Access, root: Path) -> ClusterFacts:
    """Read the facts that the configuration asks for; paths are relative to `root`. Never raises for a failed read."""
    if isinstance(spec.facts, NoFacts):
        return NOTHING_READ
    if isinstance(spec.facts, FileFacts):
        return from_file(root / spec.facts.path)
    return _live(access)


def from_file(path: Path) -> ClusterFacts:
    """Read facts that `python -m cli facts` wrote."""
    try:
        served = json.loads(path.read_text(encoding="utf-8"))["apis"]
        return ClusterFacts(apis=Served(frozenset(map(str, served))))
    except (OSError, ValueError, KeyError, TypeError) as error:
        return ClusterFacts(apis=Unknown(f"{path.name} could not be read ({type(error).__name__})"))


def to_json(served: Served) -> str:
    """Return facts as the text of a facts file."""
    return json.dumps({"apis": sorted(served.kinds)}, indent=1) + "\n"


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


def _live(access: Access) -> ClusterFacts:
    found = _within_deadline(lambda: _discover(access))
    return ClusterFacts(apis=found if isinstance(found, Unknown) else Served(found))


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


def _discover(access: Access) -> frozenset[str]:
    with _client(access) as api:
        return frozenset(kind for path in ("/api", "/apis") for kind in _kinds(_get(api, path, _AGGREGATED)))


def _pools(api: Any, namespace: str) -> Iterator[tuple[tuple[str, str], dict[str, str]]]:  # noqa: ANN401, untyped
    """Yield place and selector of each."""
    found = _get(api, f"/apis/{POOL_GROUP}/v1/namespaces/{namespace}/inferencepools", "application/json")
    for one in found["items"]:
        selector = one["spec"].get("selector", {}).get("matchLabels", {})
        yield (namespace, one["metadata"]["name"]), {str(key): str(value) for key, value in selector.items()}


def _get(api: Any, path: str, accepted: str) -> Mapping[str, Any]:  # noqa: ANN401, the client is untyped
    response = api.call_api(
        *api.param_serialize("GET", path, header_params={"Accept": accepted}, auth_settings=["BearerToken"]),
        _request_timeout=_DEADLINE_SECONDS,
    )
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
