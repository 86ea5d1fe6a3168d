"""A request is one that its route takes."""

import json
import shlex

import pytest

from local.gateway import objects, requests
from tests.support.stacks import GATEWAY, find, rendered, tree


def route(name="one", namespace="models", **parent):
    parents = [{"name": "gateway", "namespace": "gateways", **parent}]
    return {
        "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"parentRefs": parents},
    }


@pytest.mark.parametrize(
    ("route", "path", "headers"),
    [
        ({}, "/models/qwen/v1/completions", {}),
        ({"replacePrefixMatch": "/v1"}, "/models/qwen/completions", {}),
        ({"hostnames": ["*.example.com"]}, "/models/qwen/v1/completions", {"Host": "any.example.com"}),
        ({"matches": [{"path": "/q", "headers": {"x-team": "a"}}]}, "/q/v1/completions", {"x-team": "a"}),
    ],
)
def test_a_request_is_such_that_its_route_takes_it(route, path, headers):
    manifests = rendered(tree(qwen={"route": route}))
    request = requests.through(find(manifests, "HTTPRoute", "qwen"), manifests, 8080)
    assert request.path == path
    assert request.headers == {"Content-Type": "application/json", **headers}
    assert json.loads(request.body)["model"] == "org/model"
    assert shlex.split(request.command)[:2] == ["curl", f"http://127.0.0.1:8080{path}"]
    assert objects.listeners(manifests) == [
        objects.GatewayListener(GATEWAY["namespace"], GATEWAY["name"], 80, "http-80")
    ]
