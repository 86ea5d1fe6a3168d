"""Changes of paths: an address of an HTTPRoute is added, is removed, or gets other backends or other weights."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from judging.report.events import Step
from judging.report.words import PathOperation
from models.trees import EMPTY
from planning.ground import labels


@dataclass(frozen=True, slots=True)
class PathChange:
    """Change of one address."""

    service: str
    operation: PathOperation
    address: str
    """Host, path and names of headers, such as `llm.example.com/qwen [x-team]`; no host if the route has none."""
    text: str
    """Destinations of requests to the address, before and after the change; empty for a new or removed address."""


def changes(steps: Iterable[Step]) -> Iterator[PathChange]:
    """Yield the changes of addresses. `steps` are the engine's steps on HTTPRoutes.

    Nothing is yielded for an address that moves to another route with the same backends.
    """
    before = dict[str, tuple[str, Mapping[str, int]]]()
    after = dict[str, tuple[str, Mapping[str, int]]]()
    for step in steps:
        service = _service(step)
        before |= {address: (service, backends) for address, backends in _addresses(step.old)}
        after |= {address: (service, backends) for address, backends in _addresses(step.new)}
    for address in sorted({*before, *after}):
        if address not in after:
            yield PathChange(before[address][0], "delete", address, "")
        elif address not in before:
            yield PathChange(after[address][0], "create", address, "")
        elif before[address][1] != after[address][1]:
            yield PathChange(after[address][0], "update", address, _destinations(before[address][1], after[address][1]))


def _service(step: Step) -> str:
    """Return the service of a route: the value of the route's service label, else the name of the route."""
    metadata = (step.new or step.old).get("metadata", EMPTY)
    return metadata.get("labels", EMPTY).get(labels.SERVICE) or metadata.get("name", "")


def _addresses(route: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yield each address of a route, with the weights of its backends."""
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
