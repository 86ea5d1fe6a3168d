"""Changes of paths: an address of an HTTPRoute or a proxy is added, is removed, or gets other backends or weights."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from judging.report.events import Step
from judging.report.words import PathOperation
from models.trees import EMPTY
from planning.ground import labels, names

_ABSENCES = {"HTTPRoute": "404", "Service": "no such host"}
"""Results of requests to an address that no object has any more, by the kind of the object."""


@dataclass(frozen=True, slots=True)
class PathChange:
    """Change of one address."""

    service: str
    operation: PathOperation
    address: str
    """Host, path and names of headers, such as `llm.example.com/qwen [x-team]`; no host if the route has none. For the
    Service of proxies, its address within the cluster."""
    text: str
    """Destinations of requests to the address, before and after the change. For a removed address, what clients get
    instead of an answer. Empty for a new address."""


def changes(steps: Iterable[Step]) -> Iterator[PathChange]:
    """Yield the changes of addresses by the engine's steps on HTTPRoutes and on Services of proxies.

    Other steps are ignored.
    Nothing is yielded for an address that moves to another route with the same backends.
    """
    before = dict[str, tuple[str, Mapping[str, int]]]()
    after = dict[str, tuple[str, Mapping[str, int]]]()
    absences = dict[str, str]()
    for step in filter(_has_addresses, steps):
        service = _service(step)
        absences |= {address: _ABSENCES[step.kind] for address, _ in _addresses(step.old)}
        before |= {address: (service, backends) for address, backends in _addresses(step.old)}
        after |= {address: (service, backends) for address, backends in _addresses(step.new)}
    for address in sorted({*before, *after}):
        if address not in after:
            yield PathChange(before[address][0], "delete", address, absences[address])
        elif address not in before:
            yield PathChange(after[address][0], "create", address, "")
        elif before[address][1] != after[address][1]:
            yield PathChange(after[address][0], "update", address, _destinations(before[address][1], after[address][1]))


def _has_addresses(step: Step) -> bool:
    return step.kind == "HTTPRoute" or _is_proxy(step.new or step.old)


def _is_proxy(manifest: Mapping[str, Any]) -> bool:
    """Tell whether an object is the Service of the proxies beside pickers."""
    metadata = manifest.get("metadata", EMPTY)
    base = metadata.get("labels", EMPTY).get(labels.NAME, "")
    selector = manifest.get("spec", EMPTY).get("selector") or EMPTY
    return labels.PICKER in selector and metadata.get("name") == names.proxy_service(base)


def _service(step: Step) -> str:
    """Return the service of a route or a proxy: the value of its service label, else the name of the route."""
    manifest = step.new or step.old
    if _is_proxy(manifest):
        return manifest["spec"]["selector"][labels.PICKER]
    metadata = manifest.get("metadata", EMPTY)
    return metadata.get("labels", EMPTY).get(labels.SERVICE) or metadata.get("name", "")


def _addresses(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yield each address of a route or of a proxy, with the weights of its backends."""
    if not _is_proxy(manifest):
        yield from _addresses_of_route(manifest)
        return
    metadata = manifest["metadata"]
    pool = metadata["labels"][labels.NAME]
    generation = manifest["spec"]["selector"].get(labels.GENERATION)
    if generation is not None:
        pool = f"{pool}-{generation}"
    yield names.address(metadata["name"], metadata.get("namespace", "")), {pool: 1}


def _addresses_of_route(route: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, int]]]:
    spec = route.get("spec", EMPTY)
    for rule in spec.get("rules") or ():
        backends = {backend.get("name", ""): backend.get("weight", 1) for backend in rule.get("backendRefs") or ()}
        for match in rule.get("matches") or (EMPTY,):
            path = match.get("path", EMPTY).get("value", "/")
            named = "".join(f" [{header.get('name', '')}]" for header in match.get("headers") or ())
            for host in spec.get("hostnames") or ("",):
                yield f"{host}{path}{named}", backends


def _destinations(old: Mapping[str, int], new: Mapping[str, int]) -> str:
    """Return the shares of the destinations of an address, before and after the change."""
    return f"{_shares(old)} → {_shares(new)}"


def _shares(backends: Mapping[str, int]) -> str:
    total = sum(backends.values())
    if len(backends) <= 1:
        return next(iter(backends), "nothing")
    return ", ".join(f"{name} {100 * weight // total if total else 0} %" for name, weight in backends.items())
