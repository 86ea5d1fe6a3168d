"""Verdicts on canaries."""

from collections.abc import Iterator, Mapping

from models.paths import Path
from models.problems import Problem, warning
from models.service import Canary, Prefill, RoleSet, Service, Variant
from models.source import served_name
from models.stack import Stack
from planning.variant import context, roles
from planning.variant.canary import ALL
from planning.variant.context import max_replicas

_SCALING: Mapping[str, object] = {"replicas": 1, "autoscaling": None}
"""Values that replace the numbers of replicas of roles that are compared."""


def judge(path: Path, service: Service, stack: Stack) -> Iterator[Problem]:
    """Check that a canary's weight and headers have a route, and that primary and canary serve the same model name.

    Warn of settings that are seldom intended.
    """
    canary = service.canary
    if canary is None:
        return
    at = path / "canary"
    yield from _check_share(path, service, canary, stack)
    name = served_name(service.model.name, service.model.source)
    canary_name = served_name(canary.model.name, canary.model.source)
    if canary.weight and name is not None and canary_name != name:
        what = "differs from the service's; requests for one name would fail at the other variant"
        yield Problem(at / "model" / "name", f"{what} ({canary_name}, {name})", "remove it", (path / "model",))
    yield from _warnings(at, service, canary)


def _check_share(path: Path, service: Service, canary: Canary, stack: Stack) -> Iterator[Problem]:
    """Reject a weight or headers of a canary if the service has no route to apply them."""
    gateway = context.gateway(service, stack)
    if gateway is not None and service.route.enabled:
        return
    reason = "a gateway"
    remedy = "add gateway"
    if gateway is not None:
        reason = "a route"
        remedy = "set route.enabled: true"
    if canary.weight:
        what = f"has no effect without {reason} ({canary.weight})"
        yield Problem(path / "canary" / "weight", what, f"{remedy}, or write 0", (Path("gateway"), path / "route"))
    if canary.headers:
        at = path / "canary" / "headers"
        yield Problem(at, f"has no effect without {reason}", f"{remedy}, or remove it", (Path("gateway"),))


def _warnings(at: Path, service: Service, canary: Canary) -> Iterator[Problem]:
    """Warn of settings of a canary that are seldom intended."""
    if canary.weight == ALL:
        yield warning(at, "weight 100 gives it all requests, and the service's own pods idle")
    if canary.weight == 0 and not canary.headers:
        yield warning(at, "weight 0 without headers: its pods run, but get no requests")
    if _pod_settings(service) == _pod_settings(canary):
        yield warning(at, "its pods run the same as the service's pods")
    pods = _max_destinations(canary)
    total = pods + _max_destinations(service)
    if canary.weight < ALL and total and canary.weight * total > 2 * ALL * pods:
        what = f"weight {canary.weight} is far above its share of the replicas ({pods} of {total})"
        yield warning(at, f"{what}; its requests will wait longer")


def _max_destinations(variant: Variant) -> int:
    """Return the maximum number of replicas that get requests of clients."""
    return sum(max_replicas(role) for role in variant.decode.sets.values() or [variant])


def _without_numbers(sets: Mapping[str, RoleSet]) -> dict[str, RoleSet]:
    return {name: pods.model_copy(update=_SCALING) for name, pods in sets.items()}


def _pod_settings(variant: Variant) -> dict[str, object]:
    """Return the settings from which it follows how a variant's pods run.

    Metrics, objectives and numbers of replicas do not change how pods run. The result has fixed values for them, so
    that variants which differ only in these settings have equal results.
    """
    names = {"name": served_name(variant.model.name, variant.model.source)}
    model = variant.model.model_copy(update=names)
    replaced: dict[str, object] = {**_SCALING, "metrics": None, "objectives": None, "model": model}
    replaced["decode"] = _without_numbers(variant.decode.sets)
    for key, role in roles.further(variant).items():
        # A further role has the service's type of engine, whether its section says so or not.
        engine = role.engine.model_copy(update={"type": None})
        copy = role.model_copy(update={**_SCALING, "engine": engine})
        replaced[key] = copy
        if isinstance(copy, Prefill):
            replaced[key] = copy.model_copy(update={"sets": _without_numbers(copy.sets)})
    return {name: replaced.get(name, getattr(variant, name)) for name in Variant.model_fields}
