"""Accelerator classes, how replicas are spread over their devices, and where pods may run."""

from planning.hardware.rules import known, layout_problems, problems

__all__ = ["known", "layout_problems", "problems"]
