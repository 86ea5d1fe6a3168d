"""The report on a change: the devices that it needs, what happens to requests meanwhile, and what it costs."""

from planning.report.bill import cost, usages
from planning.report.checks import Mode, Present
from planning.report.checks import problems as capacity_problems
from planning.report.running import WORKLOADS, template

__all__ = ["WORKLOADS", "Mode", "Present", "capacity_problems", "cost", "template", "usages"]
