"""Rules on what stands beside workloads: `network-policies`, `disruption-budgets`, `two-pickers`, `metrics-auth`."""

from collections.abc import Iterator, Mapping

from policy.rules import pods, trees, workloads
from policy.rules.records import DeployedObject, PolicyFinding, Settings, View, of_object
from policy.rules.trees import Tree

_TWO = 2
"""Least number of endpoint pickers of a pool."""
_AUTH = "--metrics-endpoint-auth"
_STANDING = ("DaemonSet", "Deployment", "LeaderWorkerSet", "ReplicaSet", "StatefulSet")
"""Kinds of workloads whose pods are replaced when they end."""


def selects(selector: Tree, labels: Mapping[str, str]) -> bool:
    """Tell whether a label selector selects pods with some labels. An empty selector selects all pods."""
    if any(labels.get(key) != value for key, value in trees.labels(selector, "matchLabels").items()):
        return False
    return all(_meets(expression, labels) for expression in trees.mappings(selector, "matchExpressions"))


def _meets(expression: Tree, labels: Mapping[str, str]) -> bool:
    key = trees.text(expression, "key")
    values = trees.texts(expression, "values")
    match trees.text(expression, "operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def network_policies(view: View, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the workloads whose pods no NetworkPolicy selects, so that everybody reaches them."""
    namespaces: list[str] = settings["namespaces"]
    policies = [*view.of_kinds("NetworkPolicy")]
    for item in view.of_kinds(*pods.KINDS):
        if namespaces and item.namespace not in namespaces:
            continue
        for template in pods.templates(item):
            selectors = [
                trees.mapping(policy.manifest, "spec", "podSelector")
                for policy in policies
                if policy.namespace == item.namespace
            ]
            if not any(selects(selector, template.labels) for selector in selectors):
                remedy = "add a NetworkPolicy that selects its pods"
                if item.is_ours:
                    remedy = "write networkPolicies: {} into the stack"
                yield of_object(item, template.at, "has pods that no NetworkPolicy selects", remedy)


def disruption_budgets(view: View, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the workloads of several replicas that no PodDisruptionBudget selects: a drain may end all at once."""
    namespaces: list[str] = settings["namespaces"]
    budgets = [*view.of_kinds("PodDisruptionBudget")]
    for workload in workloads.all_of(view):
        item = workload.item
        if item.kind not in _STANDING or item.kind == "DaemonSet" or workload.replicas <= 1:
            continue
        # The configuration gives no budget to pickers: one of them is active, and another takes over.
        if workload.labels.get("app.kubernetes.io/component") == "endpoint-picker" and item.is_ours:
            continue
        if namespaces and item.namespace not in namespaces:
            continue
        labels = workload.labels
        selectors = [
            trees.mapping(budget.manifest, "spec", "selector")
            for budget in budgets
            if budget.namespace == item.namespace
        ]
        if not any(selects(selector, labels) for selector in selectors):
            remedy = "add a PodDisruptionBudget that selects its pods"
            if workload.key("disruptionBudget"):
                remedy = f"set {workload.key('disruptionBudget.enabled')} to true"
            what = f"has {workload.replicas} replicas and no PodDisruptionBudget"
            yield of_object(item, "", what, remedy)


def two_pickers(view: View, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the pools whose endpoint picker has one replica: while it restarts, requests are refused or go anywhere."""
    namespaces: list[str] = settings["namespaces"]
    services = {(item.namespace, item.name): item for item in view.of_kinds("Service")}
    every = [workload for workload in workloads.all_of(view) if workload.item.kind in _STANDING]
    for pool in view.of_kinds("InferencePool"):
        if namespaces and pool.namespace not in namespaces:
            continue
        name = trees.text(pool.manifest, "spec", "endpointPickerRef", "name") or trees.text(
            pool.manifest, "spec", "extensionRef", "name"
        )
        service = services.get((pool.namespace, name))
        if service is None:
            what = f"names a picker that is deployed elsewhere ({name})"
            yield PolicyFinding(pool.subject, what, "judge it where it is deployed", urn=pool.urn, is_known=False)
            continue
        selector = {"matchLabels": trees.mapping(service.manifest, "spec", "selector")}
        for workload in every:
            if (
                workload.item.namespace == pool.namespace
                and selects(selector, workload.labels)
                and workload.replicas < _TWO
            ):
                remedy = "write spec.replicas: 2"
                if workload.key("endpointPicker"):
                    remedy = f"set {workload.key('endpointPicker.replicas')} to 2"
                yield of_object(workload.item, "spec.replicas", "is an endpoint picker of one replica", remedy)


def metrics_auth(item: DeployedObject, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the endpoint pickers whose metrics everybody reads who reaches their port."""
    namespaces: list[str] = settings["namespaces"]
    if namespaces and item.namespace not in namespaces:
        return
    for container in pods.containers(item):
        arguments = container.arguments
        if not any(argument.startswith("--pool-name") for argument in arguments):
            continue
        values = [argument.partition("=")[2] for argument in arguments if argument.partition("=")[0] == _AUTH]
        # The flag is true by default (gateway-api-inference-extension v1.3.0, cmd/epp/runner).
        if values and values[-1].lower() not in {"", "1", "t", "true"}:
            remedy = f"remove {_AUTH}=false"
            if container.template.key("endpointPicker"):
                remedy = f"set {container.template.key('endpointPicker.metricsAuth')} to true"
            yield of_object(item, container.at, "shows its metrics to everybody", remedy)
