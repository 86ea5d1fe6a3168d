"""Serving workloads: engine, routing sidecar, autoscaler, and the user's patch of the object."""

from planning.serving.rules import problems, warnings, workload_warnings
from planning.serving.workload import Workload, plan

__all__ = ["Workload", "plan", "problems", "warnings", "workload_warnings"]
