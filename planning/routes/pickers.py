"""Checks of canaries on gateways that ask the endpoint picker of only one pool when a rule of a route names two pools.

The implementation and the version of a gateway decide which endpoint pickers the gateway asks.
"""

from collections.abc import Iterator

from models.problems import Problem, warning
from models.routing import Gateway
from planning.ground import gateways
from planning.variant.canary import ALL
from planning.variant.context import VariantContext


def problems(variant: VariantContext, gateway: Gateway) -> Iterator[Problem]:
    """Reject a canary's share of requests in a service with prefill if the gateway asks only the primary's picker.

    The primary's picker writes prefill pods of the primary into requests to the canary. The canary's sidecars refuse
    these pods.
    """
    canary, path = variant.service.canary, variant.path
    if canary is None or not _lacks_picker(variant, gateway) or (variant.spec.prefill, canary.prefill) == (None, None):
        return
    what = f"divides requests between pools with prefill, but {_reason(gateway)} ({canary.weight})"
    remedy = f"set gateway.version if the gateway runs {_since(gateway)} or newer, or write weight 0 and canary.headers"
    depends_on = (path / "prefill", path / "canary" / "prefill", path / "route" / "gateway")
    yield Problem(path / "canary" / "weight", what, remedy, depends_on)


def warnings(variant: VariantContext, gateway: Gateway) -> Iterator[Problem]:
    """Yield a warning if no picker chooses among the canary's pods. These pods then get requests in turn."""
    canary = variant.service.canary
    if canary is not None and _lacks_picker(variant, gateway):
        what = f"no endpoint picker chooses among the canary's pods, because {_reason(gateway)}"
        remedy = f"set gateway.version if the gateway runs {_since(gateway)} or newer"
        yield warning(variant.path / "canary" / "weight", what, remedy)


def _lacks_picker(variant: VariantContext, gateway: Gateway) -> bool:
    canary = variant.service.canary
    if not variant.has_picker:
        return False
    return canary is not None and 0 < canary.weight < ALL and not gateways.asks_each_picker(gateway)


def _reason(gateway: Gateway) -> str:
    facts = gateways.facts(gateway)
    title = gateway.provider if facts is None else facts.title
    version = "of an unknown version" if gateway.version is None else gateway.version
    return f"{title} {version} asks the primary's picker alone"


def _since(gateway: Gateway) -> str:
    facts = gateways.facts(gateway)
    return "" if facts is None else ", ".join(facts.weighted_pools.since)
