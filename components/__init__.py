"""The components: each registers rendered objects in their planned order. The only layer that knows Pulumi."""

from components.epp import EPPArgs, EPPStack
from components.model_service import ModelServiceArgs, ModelServiceStack
from components.routing import RoutingArgs, RoutingStack

__all__ = ["EPPArgs", "EPPStack", "ModelServiceArgs", "ModelServiceStack", "RoutingArgs", "RoutingStack"]
