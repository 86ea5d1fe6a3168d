"""Serving workloads: engine, routing sidecar, autoscaler, and the user's patch of the object."""

from planning.serving.context import EngineContext
from planning.serving.rules import judge
from planning.serving.workload import Workload, plan

__all__ = ["EngineContext", "Workload", "judge", "plan"]
