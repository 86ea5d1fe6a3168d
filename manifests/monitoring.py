"""Monitors of pods and picker, and the accounts and permissions with which scrapers read the picker's metrics."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from manifests import about, objects, rbac
from manifests.objects import Manifest, Rendered, compact
from planning.ground import labels, parts
from planning.network.monitoring import PICKER_PATH, PICKER_SERIES, POD_SERIES, Monitoring, Scrape
from planning.plans import VariantPlan

_OPERATOR_API = "monitoring.coreos.com/v1"
_TOKEN_KEY = "token"  # noqa: S105, the key that Kubernetes writes the token under
_NOT_IN_LABEL_NAMES = re.compile(r"[^a-zA-Z0-9_]")
"""Characters that Prometheus replaces by `_` in the names of labels that it discovers (prometheus v0.311.3,
util/strutil/strconv.go, SanitizeLabelName)."""


def of_pods(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the monitors of the serving pods, role by role."""
    monitoring = variant.monitoring
    if monitoring is None:
        return
    for workload in variant.workloads:
        scrape = monitoring.roles.get(workload.role)
        if scrape is None:
            continue
        metadata = _monitor_metadata(variant, monitoring, about.MODEL_SERVER, workload.name)
        selector = labels.role_selector(variant.names, workload.role)
        if monitoring.type == "gmp":
            manifest = _pod_monitoring(metadata, selector, scrape, POD_SERIES, None)
        else:
            manifest = _pod_monitor(metadata, selector, scrape)
        yield about.part_object(variant, parts.ROLES[workload.stage.name].monitor, manifest, workload.set_name)


def of_picker(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the monitor of the picker, after the service account whose token the monitor uses."""
    monitoring = variant.monitoring
    if monitoring is None or monitoring.picker is None:
        return
    if monitoring.authenticated:
        yield from _metrics_reader(variant)
        if monitoring.token_readers:
            yield from _token_reader(variant, monitoring.token_readers)
    manifest = _picker_monitor(variant, monitoring, monitoring.picker)
    yield about.part_object(variant, parts.PICKER_MONITOR, manifest)


def _monitor_metadata(variant: VariantPlan, monitoring: Monitoring, component: str, name: str) -> dict[str, Any]:
    """Return the metadata of a monitor, including the labels by which the scraper selects it."""
    monitor_labels = about.object_labels(variant, component, base=monitoring.labels)
    return objects.metadata(name, variant.names.namespace, monitor_labels, variant.user_annotations)


def _metrics_reader(variant: VariantPlan) -> Iterator[Rendered]:
    """Render a service account for scrapers, its token, and its only permission: to get the path /metrics.

    Scrapers read tokens only from Secrets, and a token in a Secret is valid as long as the Secret exists. The picker's
    service account has more permissions, so scrapers get an account of their own.
    """
    names = variant.names
    metadata = about.metadata(variant, about.PICKER, names.metrics_reader)
    account = {**rbac.service_account(metadata), "automountServiceAccountToken": False}
    yield about.part_object(variant, parts.METRICS_READER, account)
    yield about.part_object(variant, parts.METRICS_READER_TOKEN, _token(variant, metadata))
    cluster_metadata = about.cluster_metadata(variant, about.PICKER, names.metrics_reader_cluster_scoped)
    role = rbac.cluster_role(cluster_metadata, [{"nonResourceURLs": [PICKER_PATH], "verbs": ["get"]}])
    yield about.part_object(variant, parts.METRICS_READER_ROLE, role)
    subjects = [rbac.subject(names.metrics_reader, names.namespace)]
    binding = rbac.cluster_role_binding(cluster_metadata, names.metrics_reader_cluster_scoped, subjects)
    yield about.part_object(variant, parts.METRICS_READER_BINDING, binding)


def _token(variant: VariantPlan, metadata: Mapping[str, Any]) -> Manifest:
    annotations = {**variant.user_annotations, "kubernetes.io/service-account.name": variant.names.metrics_reader}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**metadata, "annotations": objects.sort_keys(annotations)},
        "type": "kubernetes.io/service-account-token",
    }


def _token_reader(variant: VariantPlan, readers: Iterable[tuple[str, str]]) -> Iterator[Rendered]:
    """Render the permission to read the token's Secret, for the service accounts in `Monitoring.token_readers`."""
    name = variant.names.metrics_reader
    metadata = about.metadata(variant, about.PICKER, name)
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [name], "verbs": ["get", "list", "watch"]}
    yield about.part_object(variant, parts.TOKEN_ROLE, rbac.role(metadata, [rule]))
    subjects = [rbac.subject(account, namespace) for namespace, account in readers]
    binding = rbac.role_binding(metadata, name, subjects)
    yield about.part_object(variant, parts.TOKEN_ROLE_BINDING, binding)


def _picker_monitor(variant: VariantPlan, monitoring: Monitoring, scrape: Scrape) -> Manifest:
    names = variant.names
    metadata = _monitor_metadata(variant, monitoring, about.PICKER, names.picker)
    selector = labels.picker_selector(names)
    token = {"name": names.metrics_reader, "key": _TOKEN_KEY}
    if monitoring.type == "gmp":
        authorization = {"credentials": {"secret": token}} if monitoring.authenticated else None
        return _pod_monitoring(metadata, selector, scrape, PICKER_SERIES, authorization)
    endpoints = [*_endpoints(scrape, "service", PICKER_SERIES)]
    if monitoring.authenticated:
        endpoints = [{**endpoint, "authorization": {"credentials": token}} for endpoint in endpoints]
    spec = {"selector": {"matchLabels": selector}, "endpoints": endpoints}
    return {"apiVersion": _OPERATOR_API, "kind": "ServiceMonitor", "metadata": metadata, "spec": spec}


def _pod_monitor(metadata: Mapping[str, Any], selector: Mapping[str, str], scrape: Scrape) -> Manifest:
    spec = {"selector": {"matchLabels": selector}, "podMetricsEndpoints": list(_endpoints(scrape, "pod", POD_SERIES))}
    return {"apiVersion": _OPERATOR_API, "kind": "PodMonitor", "metadata": metadata, "spec": spec}


def _endpoints(scrape: Scrape, target: str, series: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the endpoints of a monitor for the Prometheus operator.

    `target` is the kind of object by which the operator finds the ports: `pod` or `service`. `series` has the labels of
    the series, by the labels of this object.

    The operator writes its own labels before it relabels by `relabelings`, and `podTargetLabels` cannot rename labels
    (prometheus-operator v0.85.0, pkg/prometheus/promcfg.go, generateServiceMonitorConfig).
    """
    relabelings = [_relabeling(target, label, series_label) for label, series_label in series.items()]
    for port in scrape.ports:
        yield {**_scrape_fields(scrape, port, "tlsConfig"), "relabelings": relabelings}


def _relabeling(target: str, label: str, series_label: str) -> dict[str, Any]:
    source = f"__meta_kubernetes_{target}_label_{_NOT_IN_LABEL_NAMES.sub('_', label)}"
    return {"action": "replace", "sourceLabels": [source], "targetLabel": series_label}


def _pod_monitoring(
    metadata: Mapping[str, Any],
    selector: Mapping[str, str],
    scrape: Scrape,
    series: Mapping[str, str],
    authorization: Mapping[str, Any] | None,
) -> Manifest:
    return {
        "apiVersion": "monitoring.googleapis.com/v1",
        "kind": "PodMonitoring",
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": selector},
            "endpoints": [
                compact({**_scrape_fields(scrape, port, "tls"), "authorization": authorization})
                for port in scrape.ports
            ],
            "targetLabels": {"fromPod": [{"from": label, "to": to} for label, to in series.items()]},
        },
    }


def _scrape_fields(scrape: Scrape, port: str, tls: str) -> dict[str, Any]:
    """Return the fields that all kinds of monitors have. `tls` is the name of the field with the settings of TLS."""
    fields: dict[str, Any] = {"port": port, "path": scrape.path, "interval": scrape.interval}
    if scrape.tls:
        fields |= {"scheme": "https", tls: {"insecureSkipVerify": True}}
    return fields
