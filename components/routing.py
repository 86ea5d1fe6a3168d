"""RoutingStack: how requests reach the services of a stack."""

from dataclasses import dataclass

import pulumi

from components.registration import Registry, register
from manifests.objects import Rendered
from planning.plans import StackPlan


@dataclass(frozen=True, slots=True)
class RoutingArgs:
    """The stack's plan, the rendered objects, and what is registered before them."""

    plan: StackPlan
    objects: tuple[Rendered, ...]
    registry: Registry


class RoutingStack(pulumi.ComponentResource):
    """The HTTPRoutes, objectives and rewrites of all services, and the grants of mirrors and the interceptor."""

    paths: pulumi.Output[dict[str, list[str]]]
    """The paths of each routed service, by its key."""

    def __init__(self, name: str, args: RoutingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Register routes and grants in their planned order."""
        paths = {one.key: list(one.route.paths) for one in args.plan.services if one.route is not None}
        super().__init__("inference-stacks:index:RoutingStack", name, {"paths": paths}, opts)
        register(name, args.objects, args.registry, pulumi.ResourceOptions(parent=self))
        self.paths = pulumi.Output.from_input(paths)
        self.register_outputs({"paths": self.paths})
