"""Prices of devices, and budgets for services."""

from planning.money.budgets import Usage, problems, usages, warnings
from planning.money.costs import Cost, Devices, cost, text

__all__ = ["Cost", "Devices", "Usage", "cost", "problems", "text", "usages", "warnings"]
