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


def route(name="qwen", gateway=None, /, others=None, **fields):
    """Return the rendered route of a service."""
    everything = rendered(routed(gateway, others=others, **fields))
    return find(everything, "HTTPRoute", name)


def routed(gateway=None, /, others=None, service=None, **fields):
    stack = tree(qwen={"model": MODEL, "route": fields, **(service or {})}, **(others or {}))
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
    return {header["name"]: header["value"] for header in match.get("headers", [])}


def filters(found, kind):
    """Return the filters of one kind, rule by rule."""
    return [
        [rule_filter for rule_filter in rule.get("filters", []) if rule_filter["type"] == kind] for rule in rules(found)
    ]


def tried(weight=10, headers_of_canary=None, **fields):
    canary = {"weight": weight, **({} if headers_of_canary is None else {"headers": headers_of_canary})}
    return routed(service={"canary": canary}, **fields)
