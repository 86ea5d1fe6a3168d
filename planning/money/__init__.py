"""Prices of devices, and budgets for services: limits on devices and on money.

`planning/bill.py` has the devices of a plan. `judging/report/bill.py` compares the costs and budgets of two plans with
these records.
"""

from planning.money.budgets import Usage, judge, usages
from planning.money.costs import HOURS, Cost, DeviceRange, cents, cost, text

__all__ = ["HOURS", "Cost", "DeviceRange", "Usage", "cents", "cost", "judge", "text", "usages"]
