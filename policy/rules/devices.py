"""Rules on devices and money: `allowed-accelerators`, `device-budget`, `replicas-max`, `money`.

Their parameters may differ by scope: a namespace, a label with a value, or both.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from policy.rules import contracts, pods, trees, workloads
from policy.rules.records import DeployedObject, PolicyFinding, ReadContract, Settings, View, of_object
from policy.rules.trees import Tree
from policy.rules.workloads import JudgedWorkload

HOURS = 730
"""Hours of a month, as in the budgets of a stack."""
_WHOLE = "the stack"


@dataclass(frozen=True, slots=True)
class LimitScope:
    """Workloads that share a limit: those of a namespace, those with a label, or all."""

    limits: Tree
    namespace: str = ""
    label: str = ""

    @property
    def name(self) -> str:
        """Return the scope as reports name it."""
        parts = list[str]()
        if self.namespace:
            parts.append(f"namespace {self.namespace}")
        if self.label:
            parts.append(self.label)
        return ", ".join(parts) or _WHOLE

    def has(self, item: DeployedObject, labels: Mapping[str, str]) -> bool:
        """Tell whether an object with these labels is in the scope."""
        key, _, value = self.label.partition("=")
        is_labelled = not self.label or labels.get(key) == value
        return is_labelled and (not self.namespace or item.namespace == self.namespace)


def scopes(settings: Settings) -> list[LimitScope]:
    """Return the scopes of a rule, narrow ones first. The last has the parameters that hold for everything."""
    narrow = [
        LimitScope(scope, trees.text(scope, "namespace"), trees.text(scope, "label"))
        for scope in trees.mappings(settings, "scopes")
    ]
    return [*narrow, LimitScope(settings)]


def _narrowest(settings: Settings, item: DeployedObject, labels: Mapping[str, str], name: str) -> LimitScope | None:
    """Return the first scope of an object that states a parameter; None if none does."""
    for scope in scopes(settings):
        if trees.at(scope.limits, name) is not None and scope.has(item, labels):
            return scope
    return None


def allowed_accelerators(view: View, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the devices and the accelerator classes that are not allowed where they are used."""
    for workload in workloads.all_of(view):
        scope = _narrowest(settings, workload.item, workload.labels, "accelerators")
        if scope is not None:
            allowed = trees.texts(scope.limits, "accelerators")
            remedy = f"use {' or '.join(allowed)}"
            if workload.key("accelerator"):
                remedy = f"set {workload.key('accelerator')} to {' or '.join(allowed)}"
            for name in _accelerators(workload, view):
                if name not in allowed:
                    what = f"uses a device that is not allowed in {scope.name} ({name})"
                    yield of_object(workload.item, "", what, remedy)


def _accelerators(workload: JudgedWorkload, view: View) -> Iterable[str]:
    """Return the classes that the contract names, or else the resources and device classes of the pods."""
    if workload.declared:
        return sorted(workload.declared)
    classes = {
        (item.namespace, item.name): set(_device_classes(item)) for item in view.of_kinds("ResourceClaimTemplate")
    }
    names = set[str]()
    for template in pods.templates(workload.item):
        names |= {resource for resource, number in workloads.device_limits(template).items() if number}
        for claim in trees.mappings(template.spec, "resourceClaims"):
            name = trees.text(claim, "resourceClaimTemplateName") or trees.text(claim, "resourceClaimName")
            names |= classes.get((workload.item.namespace, name), {f"claim {name}"})
    return sorted(names)


def _device_classes(item: DeployedObject) -> Iterator[str]:
    for request in trees.mappings(item.manifest, "spec", "spec", "devices", "requests"):
        for entry in (request, trees.mapping(request, "exactly"), *trees.mappings(request, "firstAvailable")):
            if trees.text(entry, "deviceClassName"):
                yield trees.text(entry, "deviceClassName")


def device_budget(view: View, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the scopes whose workloads may take more devices than the budget, with the highest numbers of replicas."""
    every = tuple(workloads.all_of(view))
    for scope in scopes(settings):
        budget = trees.at(scope.limits, "devices")
        if budget is None:
            continue
        members = [workload for workload in every if scope.has(workload.item, workload.labels)]
        numbers = {workload.item.subject: sum(workload.devices().values()) for workload in members}
        total = sum(numbers.values())
        if total > budget:
            # The engine sends resources in another order than they are rendered.
            largest = max(members, key=lambda workload: (numbers[workload.item.subject], workload.item.subject))
            what = f"takes most of {total} devices of {scope.name}, which has {budget:g}"
            remedy = f"lower {_replicas_key(largest)} until at most {budget:g} devices remain"
            yield of_object(largest.item, "", what, remedy)


def _replicas_key(workload: JudgedWorkload) -> str:
    """Return the key that decides on the number of replicas; for objects of others, the field."""
    key = "replicas"
    components = [template.labels.get("app.kubernetes.io/component") for template in pods.templates(workload.item)]
    if "endpoint-picker" in components:
        key = "endpointPicker.replicas"
    elif workload.autoscaler:
        key = "autoscaling.maxReplicas"
    if workload.autoscaler and not workload.item.is_ours:
        return f"the highest number of replicas of {workload.autoscaler}"
    return workload.key(key) or "spec.replicas"


def replicas_max(view: View, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the workloads that may have more replicas than the maximum."""
    for workload in workloads.all_of(view):
        scope = _narrowest(settings, workload.item, workload.labels, "replicas")
        if scope is None:
            continue
        limit = trees.number(scope.limits, "replicas", default=0)
        if workload.replicas > limit:
            what = f"may have {workload.replicas} replicas, and {scope.name} has a maximum of {limit}"
            yield of_object(workload.item, "", what, f"lower {_replicas_key(workload)} to {limit}")


def money(view: View, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the scopes whose devices may cost more in a month than the budget, and classes without a price."""
    limited = [scope for scope in scopes(settings) if trees.at(scope.limits, "perMonth") is not None]
    if limited:
        yield from contracts.questions(view)
    prices = trees.mapping(settings, "prices")
    labels = {_key(workload.item): workload.labels for workload in workloads.all_of(view)}
    for scope in limited:
        yield from _bill(view, scope, prices, labels)


def _key(item: DeployedObject) -> tuple[str, str, str]:
    return item.namespace, item.kind, item.name


def _bill(
    view: View, scope: LimitScope, prices: Tree, labels: Mapping[tuple[str, str, str], Mapping[str, str]]
) -> Iterator[PolicyFinding]:
    """Yield the findings about the price of the devices of all inference stacks in a scope."""
    budget = float(trees.at(scope.limits, "perMonth"))
    amounts = dict[str, float]()
    unpriced = set[str]()
    for at, namespace, role in (row for contract in view.contracts for row in _roles(contract)):
        gpus = trees.mapping(role, "gpus")
        workload = trees.mapping(role, "workload")
        key = (namespace, trees.text(workload, "kind"), trees.text(workload, "name"))
        item = DeployedObject({"metadata": {"namespace": namespace}})
        if not gpus or not scope.has(item, labels.get(key, {})):
            continue
        name = trees.text(gpus, "class")
        price = trees.at(prices, name)
        if price is None:
            unpriced.add(name)
        else:
            amounts[at] = amounts.get(at, 0) + trees.number(gpus, "max", default=0) * float(price) * HOURS
    total = sum(amounts.values())
    urn = next((contract.urn for contract in view.contracts), "")
    if total > budget:
        dearest = max(sorted(amounts), key=lambda at: amounts[at])
        what = f"costs most of {total:.0f} in a month for devices of {scope.name}, which has {budget:.0f}"
        remedy = f"lower {dearest}.replicas, or choose another {dearest}.accelerator"
        yield PolicyFinding(dearest, what, remedy, urn=urn)
    elif unpriced:
        names = ", ".join(sorted(unpriced))
        what = f"has devices without a price ({names})"
        yield PolicyFinding("the stack", what, f"add {names} to the prices of the rule", urn=urn, is_known=False)


def _roles(contract: ReadContract) -> Iterator[tuple[str, str, Tree]]:
    """Yield the path in the configuration, the namespace and the role of each role of an inference stack."""
    for key, service in contract.services.items():
        namespace = trees.text(service, "namespace")
        for at, variant in ((f"services.{key}", "primary"), (f"services.{key}.canary", "canary")):
            for role in contracts.roles(trees.mapping(service, variant)).values():
                yield at, namespace, trees.mapping(role)
