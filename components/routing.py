"""RoutingStack: routes, objectives, rewrites and grants of all services of a stack."""

from dataclasses import dataclass

import pulumi

from components.registration import ResourcesById, register
from manifests.objects import Rendered
from planning.plans import StackPlan


@dataclass(frozen=True, slots=True)
class RoutingArgs:
    """The stack's plan, the component's rendered objects, and the stack's resources that are already registered."""

    plan: StackPlan
    objects: tuple[Rendered, ...]
    registered: ResourcesById


class RoutingStack(pulumi.ComponentResource):
    """The HTTPRoutes, objectives and rewrites of services, and the grants for mirrors and the interceptor."""

    paths: pulumi.Output[dict[str, list[str]]]
    """Path prefixes of each service that has a route, by the service's key."""

    def __init__(self, name: str, args: RoutingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Register the component and its objects, in the planned order."""
        routed = ((service.key, service.route) for service in args.plan.services)
        paths = {key: list(route.paths) for key, route in routed if route is not None}
        super().__init__("inference-stacks:index:RoutingStack", name, {"paths": paths}, opts)
        register(name, args.objects, args.registered, pulumi.ResourceOptions(parent=self))
        self.paths = pulumi.Output.from_input(paths)
        self.register_outputs({"paths": self.paths})
