"""Record of the planned interceptor."""

from collections.abc import Iterable
from dataclasses import dataclass

from models.stack import Stack
from planning.ground import parts
from planning.ground.marks import StackName
from planning.ground.order import Id
from planning.interceptor import deployment, edge
from planning.interceptor.deployment import Deployment
from planning.interceptor.facts import Mode
from planning.interceptor.grants import RouteGrant
from planning.variant.context import VariantContext

OWNER = "/interceptor"
"""Owner of the interceptor's objects. The slash distinguishes this owner from service keys and namespaces."""


@dataclass(frozen=True, slots=True)
class InterceptorPlan:
    """Plan of the interceptor of a stack."""

    mode: Mode
    namespace: str
    service: str
    """Name of the interceptor's Service, of its Deployment and of the objects that belong to them."""
    service_account: str
    port: int
    deployment: Deployment | None
    """Deployment of the interceptor; None if the stack uses an interceptor that runs already."""
    route_grant: RouteGrant | None
    """Grant that routes of other namespaces need. None if there are no such routes."""

    @property
    def precedes_routes(self) -> tuple[Id, ...]:
        """Return the objects that precede every route to the interceptor."""
        before = (
            *(parts.INTERCEPTOR, parts.INTERCEPTOR_SERVICE, parts.INTERCEPTOR_ROUTE_GRANT),
            *(parts.INTERCEPTOR_HEALTH_CHECK_POLICY, parts.INTERCEPTOR_BACKEND_POLICY),
        )
        return tuple(Id(OWNER, part) for part in before)


def plan(stack: Stack, primaries: Iterable[VariantContext], name: StackName) -> InterceptorPlan | None:
    """Return the plan of a stack's interceptor; None if the stack has no interceptor.

    `primaries` are the primaries of all services.
    """
    spec = stack.interceptor
    if spec is None:
        return None
    metered = [variant for variant in primaries if variant.metered_as is not None]
    routed = {variant.namespace for variant in metered if edge.is_led(variant.service, stack)}
    sources = tuple(sorted(routed - {spec.namespace}))
    route_grant = None
    if sources:
        route_grant = RouteGrant(spec.namespace, spec.service_name, sources, name)
    return InterceptorPlan(
        mode=spec.mode,
        namespace=spec.namespace,
        service=spec.service_name,
        service_account=spec.service_account_name,
        port=spec.port,
        deployment=deployment.plan(spec, metered),
        route_grant=route_grant,
    )
