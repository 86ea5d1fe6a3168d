"""Valid stacks whose requests are metered."""

from typing import Any

from tests.support.stacks import lines, plan, tree

DIGEST = f"sha256:{'0f' * 32}"
LABEL_IMAGE, HEADER_IMAGE = (f"registry.example/phoebe:2026.02.01-{number}@{DIGEST}" for number in (1, 3))
UNPICKED = {"endpointPicker": {"enabled": False}}


def _labelled() -> dict[str, Any]:
    """Return a stack that deploys an interceptor with everything that can be said of it, in its own namespace."""
    deploy = {
        "image": LABEL_IMAGE,
        "replicas": 3,
        "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "2Gi"}},
        "emit": {"valkeyAddr": "valkey.streams.svc:6379", "streamName": "metering", "walPath": "/wal/metering/log"},
        "drainTimeout": "2m",
    }
    changes = {"setHeaders": {"x-tier": "gold"}, "removeHeaders": ["x-debug"], "timeouts": {"request": "45s"}}
    qwen = {
        "engine": {"port": 8123},
        "interceptor": {"resourceId": "chat-7f3a"},
        "route": changes,
    }
    stack = tree(qwen=qwen, bert={"name": "encoder"}, free={"interceptor": {"enabled": False}})
    return stack | {
        "namespaceOptions": {"create": True},
        "defaults": UNPICKED,
        "labels": {"team": "search"},
        "networkPolicies": {"gatewayPods": {"app": "gateway"}, "apiServerCIDRs": ["10.0.0.1/32"]},
        "interceptor": {
            "mode": "label",
            "namespace": "metering",
            "serviceAccountName": "counter",
            "serviceName": "meter",
            "port": 9080,
            "deploy": deploy,
        },
    }


def _addressed() -> dict[str, Any]:
    """Return a stack whose routes name the Services, in two namespaces and behind Google's load balancer."""
    deploy = {
        "image": HEADER_IMAGE,
        "replicas": 1,
        "settingsSecret": "settings",
        "emit": {"valkeyAddr": "10.0.0.9:6379"},
    }
    canary = {"weight": 0, "headers": {"x-canary": "always"}}
    whole = {"weight": 100, "headers": {"x-canary": "always"}}
    qwen = {"canary": canary, "namespace": "chat", "endpointPicker": {"enabled": False}}
    stack = tree(qwen=qwen, bert={"canary": whole, "drainTimeout": "10m"}, unrouted={"route": {"enabled": False}})
    stack["gateway"]["provider"] = "gke"
    return stack | {
        "networkPolicies": {},
        "cluster": {"domain": "cluster.example"},
        "interceptor": {"mode": "header", "namespace": "models", "deploy": deploy},
    }


METERED = {"labelled": _labelled(), "addressed": _addressed()}
"""Valid stacks whose requests are metered."""


def metered(mode="label", deploy=None, more=None, **services):
    """Return a stack with an interceptor that it deploys."""
    image = LABEL_IMAGE if mode == "label" else HEADER_IMAGE
    spec = {"mode": mode, "namespace": "metering", "deploy": {"image": image, **(deploy or {})}}
    services = services or {"qwen": {}, "bert": {}}
    return tree(**services) | {"defaults": {"endpointPicker": {"enabled": False}}, "interceptor": spec} | (more or {})


def warnings(stack):
    """Return the warnings about a stack."""
    return lines(plan(stack).warnings, "warning")
