"""Random valid stacks behind gateways: what a route, its backends and its pickers can be, in every combination."""

import random
from collections.abc import Iterator
from typing import Any

import planning
from models.load import load
from models.problems import ConfigError
from tests.support.stacks import NAME, tree

RELEASES = ("llm-d-0.10", "llm-d-0.9", "llm-d-0.8", "gie-1.3")
HOSTS = ("llm.example.com", "*.example.org", "code.example.net")
SERVICES = ("chat", "code", "embed")
Tree = dict[str, Any]


def routed_stacks(count: int, seed: int) -> dict[str, Tree]:
    """Return valid stacks by name, each in namespaces and with Gateways of its own.

    A stack that the program refuses is drawn again.
    """
    found = dict[str, Tree]()
    for number, stack in enumerate(_drawn(random.Random(seed), count)):
        found[f"generated-{number}"] = stack
    return found


def _drawn(rng: random.Random, count: int) -> Iterator[Tree]:
    number = 0
    while number < count:
        stack = _stack(rng, number)
        try:
            planning.plan(load(stack), NAME)
        except ConfigError:
            continue
        yield stack
        number += 1


def _stack(rng: random.Random, number: int) -> Tree:
    keys = SERVICES[: rng.randint(1, len(SERVICES))]
    gateway = _gateway(rng, number)
    stack = tree(**{key: _service(rng, number, key, keys) for key in keys})
    stack |= {"namespace": f"models-{number}", "gateway": gateway, "release": rng.choice(RELEASES)}
    if rng.random() < 0.2:
        stack["networkPolicies"] = {}
    return stack


def _gateway(rng: random.Random, number: int) -> Tree:
    gateway = {"name": f"gateway-{number}", "provider": "istio", "version": "1.31.2"}
    if rng.random() < 0.7:
        gateway["namespace"] = "gateways"
    if rng.random() < 0.2:
        gateway["sectionName"] = "http"
    if rng.random() < 0.2:
        gateway["port"] = 8080
    if rng.random() < 0.3:
        gateway["bodyRouter"] = True
    return gateway


def _service(rng: random.Random, number: int, key: str, keys: tuple[str, ...]) -> Tree:
    service: Tree = {"route": _route(rng, number, key, keys)}
    if rng.random() < 0.2:
        service["namespace"] = f"trials-{number}"
    if rng.random() < 0.3:
        service["engine"] = {"port": rng.randint(8001, 8999)}
    if rng.random() < 0.4:
        service["endpointPicker"] = _picker(rng)
    if rng.random() < 0.2:
        service["prefill"] = {}
    if rng.random() < 0.5:
        service["canary"] = _canary(rng)
    return service


def _canary(rng: random.Random) -> Tree:
    canary: Tree = {"weight": rng.choice((0, 1, 10, 50, 100)), "engine": {"args": ["--seed=7"]}}
    if canary["weight"] == 0 or rng.random() < 0.5:
        canary["headers"] = {"x-canary": "always"}
    return canary


def _picker(rng: random.Random) -> Tree:
    return rng.choice(
        (
            {"enabled": False},
            {"port": 9100},
            {"tls": {"type": "none"}},
            {"failureMode": "FailOpen", "failOpenReason": "any pod will do"},
            {"tls": {"type": "certificate", "secret": "picker", "caSecret": "picker-ca"}},
        )
    )


def _route(rng: random.Random, number: int, key: str, keys: tuple[str, ...]) -> Tree:
    route: Tree = {}
    if rng.random() < 0.1:
        return {"enabled": False}
    if rng.random() < 0.15:
        route["gateway"] = {
            "name": f"other-{number}",
            "namespace": "gateways",
            "provider": "istio",
            "version": "1.31.2",
        }
    if rng.random() < 0.4:
        route["hostnames"] = rng.sample(HOSTS, rng.randint(1, len(HOSTS)))
    if rng.random() < 0.6:
        route["matches"] = [_match(rng, key, place) for place in range(rng.randint(1, 4))]
    if rng.random() < 0.3:
        route["replacePrefixMatch"] = "/v1"
    if rng.random() < 0.3:
        route |= {"setHeaders": {"x-tier": "gold"}, "removeHeaders": ["x-debug"]}
    others = [other for other in keys if other != key]
    if others and rng.random() < 0.4:
        route["mirror"] = {"service": rng.choice(others), "percent": rng.randint(0, 100)}
    if rng.random() < 0.3:
        route["timeouts"] = {"request": "10m", "backendRequest": rng.choice(("5m", "90s"))}
    return route


def _match(rng: random.Random, key: str, place: int) -> Tree:
    match: Tree = {"path": rng.choice((f"/{key}/{place}", "/{.metadata.namespace}/{.metadata.name}", "/v1", "/"))}
    if rng.random() < 0.5:
        match["headers"] = {"x-model": f"{key}-{place}"}
    if rng.random() < 0.2:
        match["model"] = "org/model"
    return match
