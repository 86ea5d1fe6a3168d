"""Checks of canaries on gateways that ask the endpoint picker of only one pool when a rule of a route names two pools.

The implementation and the version of a gateway decide which endpoint pickers the gateway asks.
"""

from collections.abc import Iterator

from models.problems import Problem, warning
from models.routing import Gateway
from planning.ground import gateways
from planning.variant import roles
from planning.variant.canary import ALL
from planning.variant.context import VariantContext


def judge(variant: VariantContext, gateway: Gateway) -> Iterator[Problem]:
    """Judge a canary's share of requests if the gateway asks only the primary's picker.

    With prefill, the share is an error: the primary's picker writes prefill pods of the primary into requests to the
    canary, and the canary's sidecars refuse these pods. Without prefill, no picker chooses among the canary's pods,
    which then get requests in turn.
    """
    canary = variant.service.canary
    path = variant.path
    if canary is None or not _lacks_picker(variant, gateway):
        return
    upgrade = f"set gateway.version if the gateway runs {_since(gateway)} or newer"
    keys = {**roles.further(canary), **roles.further(variant.spec)}
    if keys:
        key = next(key for key in sorted(keys, reverse=True))
        what = f"divides requests between pools with {key}, but {_reason(gateway)} ({canary.weight})"
        depends_on = (path / key, path / "canary" / key, path / "route" / "gateway")
        yield Problem(path / "canary" / "weight", what, f"{upgrade}, or write weight 0 and canary.headers", depends_on)
    else:
        what = f"no endpoint picker chooses among the canary's pods, because {_reason(gateway)}"
        yield warning(path / "canary" / "weight", what, upgrade)


def _lacks_picker(variant: VariantContext, gateway: Gateway) -> bool:
    canary = variant.service.canary
    if not variant.has_picker:
        return False
    return canary is not None and 0 < canary.weight < ALL and not gateways.asks_each_picker(gateway)


def _reason(gateway: Gateway) -> str:
    facts = gateways.facts(gateway)
    title = gateway.provider
    if facts is not None:
        title = facts.title
    return f"{title} {gateway.version or 'of an unknown version'} asks the primary's picker alone"


def _since(gateway: Gateway) -> str:
    facts = gateways.facts(gateway)
    if facts is None:
        return ""
    return ", ".join(facts.weighted_pools.since)
