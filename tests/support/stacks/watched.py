"""Stacks whose services have objectives and alerts."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.stacks import rendered, tree

SLO = {
    "availability": 99.9,
    "ttft": {"within": "2500ms", "percent": 95},
    "tpot": {"within": "100ms", "percent": 95},
}
KINDS = ("PrometheusRule", "Rules")


def watched(scraper: str = "prometheus-operator", **services: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stack with rules. Its services have `SLO`, their own objectives, or none if theirs are None."""
    given = {key: {"slo": SLO, **service} for key, service in (services or {"qwen": {}}).items()}
    stack = tree(
        **{key: {name: value for name, value in service.items() if value is not None} for key, service in given.items()}
    )
    return stack | {"observability": {"metrics": {"type": scraper}, "rules": {}}}


def groups(stack: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the rules of all services of a stack by the name of their group."""
    manifests = [manifest for manifest in rendered(stack) if manifest["kind"] in KINDS]
    return {group["name"]: group["rules"] for manifest in manifests for group in manifest["spec"]["groups"]}


def rules(stack: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all rules of a stack."""
    for of_group in groups(stack).values():
        yield from of_group


def alert(stack: Mapping[str, Any], state: str, **labels: str) -> dict[str, Any] | None:
    """Return the alert with an id and with labels; None if the stack has no such alert."""
    identity = {"state": state, **labels}
    hits = [rule for rule in rules(stack) if "alert" in rule and identity.items() <= rule["labels"].items()]
    assert len(hits) <= 1, hits
    return hits[0] if hits else None
