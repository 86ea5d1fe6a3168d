"""Secrets with the certificates of a Gateway's listeners (Gateway API v1.4, apis/v1/gateway_types.go)."""

from collections.abc import Iterator, Mapping
from typing import Any

from models.trees import at, mapping, sequence


def secrets(gateway: Mapping[str, Any], listener: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield namespace and name of the Secrets with the certificates of a listener."""
    for ref in map(mapping, sequence(at(listener, "tls", "certificateRefs"))):
        if (ref.get("group") or "", ref.get("kind") or "Secret") == ("", "Secret"):
            namespace = ref.get("namespace") or at(gateway, "metadata", "namespace")
            yield str(namespace), str(ref.get("name"))


def all_secrets(gateway: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """Return namespace and name of the Secrets with the certificates of all listeners of a Gateway."""
    live = map(mapping, sequence(at(gateway, "spec", "listeners")))
    return frozenset(place for listener in live for place in secrets(gateway, listener))
