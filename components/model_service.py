"""ModelServiceStack: pods, weights and Services of one service."""

from dataclasses import dataclass

import pulumi

from components.registration import ResourcesById, register
from manifests.objects import Rendered
from planning.ground.ports import ROUTED_PORT
from planning.plans import ServicePlan


@dataclass(frozen=True, slots=True)
class ModelServiceArgs:
    """A service's plan, its rendered objects, and the registered resources of the stack."""

    plan: ServicePlan
    objects: tuple[Rendered, ...]
    registered: ResourcesById


class ModelServiceStack(pulumi.ComponentResource):
    """The serving pods of one service and of its canary, their weights, and the Services in front of them."""

    host: pulumi.Output[str]
    """In-cluster address of the Service in front of the primary's pods, host:port."""

    def __init__(self, name: str, args: ModelServiceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Register the service's objects in their planned order."""
        super().__init__("inference-stacks:index:ModelServiceStack", name, args.plan.preview_inputs(), opts)
        register(name, args.objects, args.registered, pulumi.ResourceOptions(parent=self))
        primary = args.plan.primary
        self.host = pulumi.Output.from_input(f"{primary.host(primary.names.base)}:{ROUTED_PORT}")
        self.register_outputs({"host": self.host})
