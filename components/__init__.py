"""The Pulumi components. Each component registers its rendered objects in the planned order.

Only this package and the root program import Pulumi.
"""

from components.epp import EPPArgs, EPPStack
from components.inference_stack import InferenceStack
from components.model_service import ModelServiceArgs, ModelServiceStack
from components.platform import read_platform
from components.routing import RoutingArgs, RoutingStack

__all__ = [
    "EPPArgs",
    "EPPStack",
    "InferenceStack",
    "ModelServiceArgs",
    "ModelServiceStack",
    "RoutingArgs",
    "RoutingStack",
    "read_platform",
]
