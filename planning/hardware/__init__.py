"""Accelerator classes, the layout of replicas over devices, and the placement of pods."""

from planning.hardware.rules import check_class, judge, layout_problems

__all__ = ["check_class", "judge", "layout_problems"]
