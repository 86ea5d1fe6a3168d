"""Facts of gateways: how each version of each implementation of the Gateway API treats the objects of a stack."""

import hashlib
import re
from typing import Literal

from pydantic import Field

from models.base import Spec
from models.routing import Gateway
from planning.ground import tables
from planning.ground.metric_facts import MetricFacts
from planning.ground.tables import Sourced

_SERVICE_NAME = 63
"""Characters that the name of a Service may have."""
_NUMBERS = re.compile(r"v?([0-9]+(?:\.[0-9]+)*)")


class WeightedPools(Sourced):
    """Support of rules that divide requests among several pools."""

    since: list[str] = Field(default=[])
    """First version of each minor line, such as 1.31, in which a gateway asks the picker of every pool of a rule. In
    minor lines above those listed, all versions do so. Empty if all versions of the implementation do so."""


class Timeouts(Sourced):
    """Support of time limits for requests."""

    route: bool
    """Whether the timeouts of routes have an effect."""
    counts_wait: bool
    """Whether the time limits of routes include the time that a request waits in the endpoint picker."""


class HeaderCommands(Sourced):
    """Commands that an implementation replaces or refuses in the values of headers that a route sets."""

    mark: str
    """Character with which a command begins."""


class Defect(Sourced):
    """A defect of some versions. Stacks that do a certain thing meet it."""

    when: Literal["failOpen", "severalRoutes", "poolProtocol"]
    """Behaviour of a stack that meets the defect. failOpen: a pool sends requests on while no picker answers;
    severalRoutes: several routes with pools have a listener and a host in common; poolProtocol: a pool has an
    appProtocol."""
    since: str
    """First version with the defect that a stack can use."""
    fixed: list[str] = Field(default=[])
    """First version without the defect of each minor line. Versions above all of them lack it, too. Empty if no version
    is known to lack it."""
    last: str | None = None
    """Last version that is known to have the defect, if `fixed` is empty."""
    serves: bool
    """Whether requests are served despite the defect."""
    what: str
    """The consequence, as the predicate of a sentence about the gateway."""
    otherwise: str | None = None
    """A remedy besides another version; None if there is none."""

    def is_in(self, version: str) -> bool:
        """Tell whether a version has the defect, as far as is known."""
        if numbers(version) < numbers(self.since):
            return False
        if self.fixed:
            return not is_at_least_one(version, self.fixed)
        return self.last is not None and numbers(version) <= numbers(self.last)


class Proxies(Sourced):
    """Proxies outside of the cluster. No selector finds them, because they are not pods."""

    ranges: list[str]
    """Address ranges from which the proxies send requests and health checks."""
    checks_pickers: bool
    """Whether the proxies send health checks to the health port of endpoint pickers."""
    subnet: str | None = None
    """Name of a subnet in the user's network, from whose addresses the proxies also send requests. None if there is no
    such subnet."""


class Minimum(Sourced):
    """First version that supports InferencePools."""

    version: str


class TargetPorts(Sourced):
    """First version that reaches every target port of a pool."""

    version: str


class RequestMetrics(Sourced):
    """The metric in which the proxies of a gateway count requests."""

    requests: MetricFacts
    status: str
    """Label with the status of the response, which has three digits. It is 0 or `unknown` if there was none."""
    matchers: dict[str, str]
    """Values of the labels by which the requests to a pool are told from all others. They are templates with `{pool}`,
    the pool's name, `{namespace}`, `{port}`, its first port, and `{pool_service}`, the Service that istiod makes."""

    def of_pool(self, namespace: str, pool: str, port: int) -> dict[str, str]:
        """Return the values of labels that the requests to a pool have."""
        service = pool_service(pool)
        return {
            label: value.format(namespace=namespace, pool=pool, port=port, pool_service=service)
            for label, value in self.matchers.items()
        }


class GatewayFacts(Spec):
    """Facts of one implementation of the Gateway API."""

    title: str
    """Name in messages."""
    minimum: Minimum | None = None
    """None if release channels state the minimum, or if it is unknown."""
    weighted_pools: WeightedPools
    target_ports: TargetPorts | None = None
    """None if no version is known to reach more than one target port."""
    timeouts: Timeouts | None = None
    """None if the effect of timeouts is unknown."""
    header_commands: HeaderCommands | None = None
    """None if the values of headers are sent as routes state them."""
    requests: RequestMetrics | None = None
    """None if no Prometheus can scrape the proxies, or if their metrics are unknown."""
    proxies: Proxies | None = None
    """None if the proxies are pods in the gateway's namespace."""
    defects: list[Defect] = Field(default=[])
    """Known defects of versions."""


class PayloadProcessors(Sourced):
    """Processors in front of a gateway. They read the name of the model from the bodies of requests."""

    labels: list[str]
    """Labels of the ConfigMaps from which a processor learns the models. Each label has the value `true`."""


class _Table(Spec):
    providers: dict[Literal["istio", "gke", "agentgateway"], GatewayFacts]
    payload_processors: PayloadProcessors


def facts(gateway: Gateway) -> GatewayFacts | None:
    """Return the facts of a gateway's implementation; None for provider `none`, whose implementation is unknown."""
    if gateway.provider == "none":
        return None
    return _table().providers[gateway.provider]


def payload_processors() -> PayloadProcessors:
    """Return the facts of payload processors."""
    return _table().payload_processors


def command_mark(gateway: Gateway) -> str | None:
    """Return the character with which a gateway begins commands in the values of headers, or None.

    An unknown implementation may be made from Envoy, as Istio's is.
    """
    commands = (facts(gateway) or _table().providers["istio"]).header_commands
    if commands is None:
        return None
    return commands.mark


def asks_each_picker(gateway: Gateway) -> bool:
    """Tell whether a gateway asks the picker of each pool when a rule of a route has several pools.

    If the gateway's version is unknown, the answer is yes only if every version does so. If the implementation is
    unknown (provider `none`), the answer is yes.
    """
    known = facts(gateway)
    if known is None or not known.weighted_pools.since:
        return True
    return gateway.version is not None and is_at_least_one(gateway.version, known.weighted_pools.since)


def counts_wait(gateway: Gateway) -> bool:
    """Tell whether a gateway's time limits of routes include the time that a request waits in the endpoint picker.

    Without facts about this, the answer is yes: by Gateway API, a limit may count from the start of the request.
    """
    known = facts(gateway)
    return known is None or known.timeouts is None or known.timeouts.counts_wait


def pool_service(pool: str) -> str:
    """Return the name of the Service that istiod makes for a pool."""
    ending = f"-ip-{hashlib.sha256(pool.encode()).hexdigest()[:8]}"
    return f"{pool[: _SERVICE_NAME - len(ending)]}{ending}"


def defects(gateway: Gateway) -> list[Defect]:
    """Return the defects that a gateway has; none if its implementation or version is unknown."""
    known = facts(gateway)
    if known is None or gateway.version is None:
        return []
    return [defect for defect in known.defects if defect.is_in(gateway.version)]


def is_at_least_one(version: str, minimums: list[str]) -> bool:
    """Tell whether a version is at least the minimum of its minor line, or at least the highest minimum."""
    version_numbers = numbers(version)
    first = sorted(map(numbers, minimums))
    return version_numbers >= first[-1] or any(
        version_numbers[:2] == line[:2] and version_numbers >= line for line in first
    )


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: major, minor and patch. Empty if the text is no version."""
    match = _NUMBERS.match(version)
    parts = [int(part) for part in match[1].split(".")] if match else []
    if parts:
        return tuple([*parts, 0, 0][:3])
    return ()


def _table() -> _Table:
    return tables.read(_Table, "gateways.yaml")
