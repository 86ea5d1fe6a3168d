"""What a canary does to a service: the shares of its requests, and the mistakes in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.problems import Problem
from models.service import Canary, Service, Variant
from models.source import served_name
from models.stack import Stack
from planning.variant import context

ALL = 100
"""Percent."""


@dataclass(frozen=True, slots=True)
class Share:
    """How requests are divided. A weight of 0 is written out, because one that is absent means 1."""

    primary: int
    canary: int
    headers: Mapping[str, str]
    """Requests with all of these always reach the canary."""


def share(canary: Canary | None) -> Share:
    """Return what each variant gets; the sum is always 100."""
    if canary is None:
        return Share(ALL, 0, {})
    return Share(ALL - canary.weight, canary.weight, dict(sorted(canary.headers.items())))


def problems(path: str, service: Service, stack: Stack) -> Iterator[Problem]:
    """Check a service's canary against how the service is reached."""
    canary, at = service.canary, f"{path}.canary"
    if canary is None:
        return
    yield from _unreached(path, service, canary, stack)
    if stack.interceptor is not None and service.interceptor.enabled:
        what = "would get no requests (the interceptor in mode label asks the Service, past route and weights)"
        remedy = f"remove it, or set {path}.interceptor.enabled: false"
        yield Problem(at, what, remedy, ("interceptor", f"{path}.interceptor"))
    name, own = (served_name(one.model.name, one.model.source) for one in (service, canary))
    if canary.weight and name is not None and own != name:
        what = f"is not the service's, so that requests for one would fail at the other ({own}, {name})"
        yield Problem(f"{at}.model.name", what, "remove it", (f"{path}.model",))


def _unreached(path: str, service: Service, canary: Canary, stack: Stack) -> Iterator[Problem]:
    """Refuse shares of requests that no route divides."""
    gateway = context.gateway(service, stack)
    if gateway is not None and service.route.enabled:
        return
    reason, remedy = ("a route", "set route.enabled: true") if gateway else ("a gateway", "add gateway")
    if canary.weight:
        what = f"has no effect without {reason} ({canary.weight})"
        yield Problem(f"{path}.canary.weight", what, f"{remedy}, or write 0", ("gateway", f"{path}.route"))
    if canary.headers:
        yield Problem(
            f"{path}.canary.headers", f"has no effect without {reason}", f"{remedy}, or remove it", ("gateway",)
        )


def warnings(service: Service) -> Iterator[str]:
    """Say what is allowed and seldom meant."""
    canary = service.canary
    if canary is None:
        return
    if canary.weight == ALL:
        yield "canary: weight 100 gives it all requests, and the service's own pods idle"
    if canary.weight == 0 and not canary.headers:
        yield "canary: weight 0 without headers: its pods run, and nobody asks them"
    if _alike(service, canary):
        yield "canary: it differs in nothing that its pods run"
    pods, whole = _most(canary), _most(canary) + _most(service)
    if canary.weight < ALL and whole and canary.weight * whole > 2 * ALL * pods:
        what = f"canary: weight {canary.weight} is far above its share of the replicas ({pods} of {whole})"
        yield f"{what}; its queue will be the longer one"


def _alike(service: Service, canary: Canary) -> bool:
    """Say whether both variants run the same, however often."""
    return _run(service) == _run(canary)


def _run(variant: Variant) -> dict[str, object]:
    """Return all that a variant says, but how many run it and who watches; its name is the one that clients send."""
    counted = {"replicas": 1, "autoscaling": None}
    named = {"name": served_name(variant.model.name, variant.model.source)}
    same = {
        **counted,
        "metrics": None,
        "objectives": None,
        "model": variant.model.model_copy(update=named),
        "prefill": None if variant.prefill is None else variant.prefill.model_copy(update=counted),
    }
    return {name: same.get(name, getattr(variant, name)) for name in Variant.model_fields}


def _most(role: Service | Canary) -> int:
    return role.replicas if role.autoscaling is None else role.autoscaling.max_replicas
