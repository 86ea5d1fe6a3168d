"""Stacks with a route, and what of a rendered route tests look at."""

import pytest

import planning
from models.load import load
from models.problems import ConfigError
from tests.support.stacks import NAME, find, rendered, tree

MODEL = {"name": "org/m", "source": "hf://org/m"}
BODY = {"name": "gateway", "namespace": "gateways", "provider": "istio", "bodyRouter": True}
BASE_MODEL = "X-Gateway-Base-Model-Name"
APART = {"route": {"enabled": False}}


def route(name="qwen", gateway=None, /, others=None, **said):
    """Return the rendered route of a service."""
    everything = rendered(routed(gateway, others=others, **said))
    return find(everything, "HTTPRoute", name)


def routed(gateway=None, /, others=None, service=None, **said):
    stack = tree(qwen={"model": MODEL, "route": said, **(service or {})}, **(others or {}))
    return stack | ({} if gateway is None else {"gateway": gateway})


def told(stack):
    with pytest.raises(ConfigError) as error:
        planning.plan(load(stack), NAME)
    return str(error.value).splitlines()


def rules(found):
    return found["spec"]["rules"]


def paths(found):
    return [match["path"]["value"] for rule in rules(found) for match in rule["matches"]]


def headers(match):
    return {one["name"]: one["value"] for one in match.get("headers", [])}


def filters(found, kind):
    """Return the filters of one kind, rule by rule."""
    return [[one for one in rule.get("filters", []) if one["type"] == kind] for rule in rules(found)]


def tried(weight=10, wanted=None, **said):
    canary = {"weight": weight, **({} if wanted is None else {"headers": wanted})}
    return routed(service={"canary": canary}, **said)
