"""Costs of the devices of a plan, and shares of services in budgets."""

from collections.abc import Iterator

from models.money import Prices
from models.stack import Stack
from planning import money
from planning.money import Cost, DeviceRange, Usage
from planning.plans import ServicePlan, StackPlan


def devices(service: ServicePlan) -> tuple[DeviceRange, ...]:
    """Return the devices of all roles of a service, including the roles of its canary."""
    of_roles = list[DeviceRange]()
    for variant in service.variants:
        for workload in variant.workloads:
            per_replica = workload.layout.devices_per_pod * workload.layout.pods_per_replica
            scaler = workload.autoscaler
            high = workload.max_replicas
            low = high
            if scaler is not None:
                low = scaler.min_replicas
            if per_replica * high:
                of_roles.append(DeviceRange(variant.accelerators[workload.role], per_replica * low, per_replica * high))
    return tuple(of_roles)


def cost(plan: StackPlan, prices: Prices) -> Cost:
    """Return the monthly cost of all devices of a stack."""
    return money.cost((of_role for service in plan.services for of_role in devices(service)), prices)


def usages(stack: Stack, plan: StackPlan) -> Iterator[Usage]:
    """Yield every budget of a stack, with the shares of the services that count against this budget."""
    return money.usages(stack, {service.key: devices(service) for service in plan.services})
