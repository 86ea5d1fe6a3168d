"""EPPStack: the endpoint picker of one service variant and its InferencePool."""

from dataclasses import dataclass

import pulumi

from components.registration import ResourcesById, register
from manifests.objects import Rendered
from planning.plans import VariantPlan


@dataclass(frozen=True, slots=True)
class EPPArgs:
    """The plan of a variant, the rendered objects of its picker, and the registered resources of the stack."""

    plan: VariantPlan
    objects: tuple[Rendered, ...]
    registered: ResourcesById


class EPPStack(pulumi.ComponentResource):
    """The endpoint picker of one service variant, with its InferencePool, configuration and RBAC."""

    host: pulumi.Output[str]
    """In-cluster address of the picker's ext-proc server, host:port."""

    def __init__(self, name: str, args: EPPArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Register the picker's objects in their planned order."""
        super().__init__("inference-stacks:index:EPPStack", name, {"image": args.plan.picker.image}, opts)
        register(name, args.objects, args.registered, pulumi.ResourceOptions(parent=self))
        self.host = pulumi.Output.from_input(f"{args.plan.host(args.plan.names.picker)}:{args.plan.picker.port}")
        self.register_outputs({"host": self.host})
