"""Serving workloads: engine, routing sidecar, autoscaler, and the user's patch of the object."""

from planning.serving.autoscaling import warnings
from planning.serving.rules import problems, workload_warnings
from planning.serving.workload import Workload, plan

__all__ = ["Workload", "plan", "problems", "warnings", "workload_warnings"]
