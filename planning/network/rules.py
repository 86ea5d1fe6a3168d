"""Mistakes in what is said of scraping and of network policies."""

from collections.abc import Iterator

from models.paths import Path
from models.problems import Problem
from models.stack import Stack
from planning.variant.context import Subject, gateway


def problems(stack: Stack) -> Iterator[Problem]:
    """Refuse what a stack says of scraping and policies and nothing comes of."""
    yield from _monitor_labels(stack)
    yield from _policies(stack)


def _monitor_labels(stack: Stack) -> Iterator[Problem]:
    """Refuse labels of objects that nobody makes."""
    wish = stack.observability.metrics
    if wish.type == "none" and wish.labels:
        what, remedy = "has no effect while nobody scrapes (type none)", "set observability.metrics.type, or remove it"
        at = Path("observability", "metrics")
        yield Problem(at / "labels", what, remedy, (at / "type",))


def _policies(stack: Stack) -> Iterator[Problem]:
    """Refuse what is said of policies and nothing comes of."""
    wish, at = stack.network_policies, Path("networkPolicies")
    if wish is None:
        return
    gateways = [found for one in stack.services.values() if (found := gateway(one, stack)) is not None]
    if wish.gateway_pods and all(one.provider == "gke" for one in gateways):
        reason = "with gateway.provider gke, which has no pods" if gateways else "without a gateway"
        remedy = "remove it" if gateways else "add gateway, or remove it"
        yield Problem(at / "gatewayPods", f"has no effect {reason}", remedy, (Path("gateway"),))
    if "prometheus_namespace" in wish.model_fields_set and stack.observability.metrics.type == "gmp":
        what = f"has no effect while Google's collectors scrape ({wish.prometheus_namespace}, type gmp)"
        yield Problem(at / "prometheusNamespace", what, "remove it", (Path("observability", "metrics", "type"),))


def subject_problems(subject: Subject) -> Iterator[Problem]:
    """Refuse what a variant itself says of scraping and nothing comes of."""
    at, wish = subject.path / "metrics", subject.spec.metrics
    for field in sorted(wish.model_fields_set):
        found = _without_effect(field, subject)
        if found is not None:
            reason, remedy, read = found
            yield Problem(at / field, f"has no effect {reason}", f"{remedy}, or remove it", (read,), explicit_only=True)


def _without_effect(field: str, subject: Subject) -> tuple[str, str, Path] | None:
    """Return why a field does nothing, what would change that, and the path that this was read from."""
    spec, wish = subject.spec, subject.spec.metrics
    prefill = wish.prefill and spec.prefill is not None
    if subject.stack.observability.metrics.type == "none":
        return "while nobody scrapes (type none)", "set observability.metrics.type", Path("observability", "metrics")
    if field == "prefill" and spec.prefill is None:
        return "without prefill", "add prefill", subject.path / "prefill"
    if field == "path" and not (wish.decode or prefill):
        return "while no engine is scraped", "set metrics.decode: true", subject.path / "metrics" / "decode"
    if field == "interval" and not (wish.decode or prefill or wish.picker):
        return "while nothing is scraped", "set metrics.decode: true", subject.path / "metrics" / "decode"
    return None
