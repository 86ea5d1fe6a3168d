"""Stacks whose clients reach the proxies beside the pickers, as llm-d's guides install them."""

from typing import Any

from tests.support.stacks import tree

MODEL = {"name": "org/m", "source": "hf://org/m@v1"}
PARTS = {
    "model": MODEL,
    "prefill": {},
    "endpointPicker": {"proxy": {"port": 8082}, "port": 9100, "tls": {"type": "none"}},
}


def _proxied() -> dict[str, Any]:
    """Return services without a gateway, whose pods are alike or have parts of a request each."""
    stack = tree(
        qwen={"replicas": 2, "endpointPicker": {"proxy": {}}, "canary": {"weight": 0, "labels": {"tried": "yes"}}},
        parts=PARTS,
    )
    del stack["gateway"]
    return stack | {"networkPolicies": {}, "namespaceOptions": {"create": True}}


def _both() -> dict[str, Any]:
    """Return a service that gateways reach, and clients within the cluster by the proxy."""
    return tree(qwen=PARTS) | {"observability": {"metrics": {"type": "prometheus-operator"}}}


PROXIES = {"proxied": _proxied(), "proxied-and-routed": _both()}
