"""Devices and costs that a plan promises for a month."""

from planning import money
from planning.money import Cost, DeviceRange
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


def by_class(service: ServicePlan) -> dict[str, DeviceRange]:
    """Return the devices of a service, with one range for each accelerator class, by name of the class."""
    ranges = dict[str, DeviceRange]()
    for part in devices(service):
        before = ranges.get(part.accelerator, DeviceRange(part.accelerator, 0, 0))
        ranges[part.accelerator] = DeviceRange(part.accelerator, before.low + part.low, before.high + part.high)
    return dict(sorted(ranges.items()))


def of_service(service: ServicePlan, plan: StackPlan) -> Cost:
    """Return the monthly cost of the devices of a service, by the prices of the stack."""
    return money.cost(devices(service), plan.prices)
