"""Metrics of Kubernetes itself."""

from planning.ground import cluster_series


def test_each_metric_has_one_name_and_sorted_labels():
    metrics = cluster_series.metrics()
    names = [metric.name for metric in metrics.values()]
    assert len(set(names)) == len(names)
    for name, metric in metrics.items():
        assert metric.labels == sorted(set(metric.labels)), name
        assert metric.name.endswith("_total") == (metric.kind == "counter"), name


def test_a_metric_is_found_in_the_exporter_that_has_it():
    assert cluster_series.exporter_of("container_restarts") == "kube-state-metrics"
    assert cluster_series.exporter_of("claim_used") == "kubelet"
