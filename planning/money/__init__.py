"""Prices of devices, and budgets for services: limits on devices and on money.

`judging/report/bill.py` compares the costs and budgets of two plans with these records.
"""

from planning.money.budgets import Usage, judge, usages
from planning.money.costs import Cost, DeviceRange, cost, text

__all__ = ["Cost", "DeviceRange", "Usage", "cost", "judge", "text", "usages"]
