"""Costs of the devices of a plan, and shares of services in budgets."""

from collections.abc import Iterator

from models.money import Prices
from models.stack import Stack
from planning import bill, money
from planning.money import Cost, Usage
from planning.plans import StackPlan


def cost(plan: StackPlan, prices: Prices) -> Cost:
    """Return the monthly cost of all devices of a stack."""
    return money.cost((of_role for service in plan.services for of_role in bill.devices(service)), prices)


def usages(stack: Stack, plan: StackPlan) -> Iterator[Usage]:
    """Yield every budget of a stack, with the shares of the services that count against this budget."""
    return money.usages(stack, {service.key: bill.devices(service) for service in plan.services})
