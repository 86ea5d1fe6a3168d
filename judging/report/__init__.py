"""The report on a change: the devices that it needs, what happens to requests meanwhile, and what it costs."""

from judging.report.bill import cost, usages
from judging.report.checks import Mode, Present
from judging.report.checks import problems as capacity_problems
from judging.report.running import WORKLOADS, template

__all__ = ["WORKLOADS", "Mode", "Present", "capacity_problems", "cost", "template", "usages"]
