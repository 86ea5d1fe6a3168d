"""Stacks whose services have objectives, alerts and dashboards."""

from typing import Any

from tests.support.stacks import tree


def _watched() -> dict[str, Any]:
    """Return a service of two variants, with all that rules and dashboards can say."""
    slo = {"availability": 99.9, "ttft": {"within": "1s", "percent": 95}, "tpot": {"within": "100ms", "percent": 95}}
    queue = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "cpu", "targetPercent": 80}]}
    service = {
        "engine": {"maxNumSeqs": 32},
        "endpointPicker": {"flowControl": {"defaultRequestTTL": "5m"}},
        "slo": slo,
        "autoscaling": queue,
        "canary": {"weight": 10},
    }
    stack = tree(qwen=service)
    stack["observability"] = {
        "metrics": {"type": "prometheus-operator"},
        "rules": {
            "labels": {"release": "kps"},
            "severities": {"page": "p1", "ticket": "p3"},
            "runbooks": "https://wiki.example.com/inference#{alert}",
        },
        "dashboards": {
            "namespace": "monitoring",
            "labels": {"grafana_dashboard": "1"},
            "annotations": {"grafana_folder": "Inference"},
        },
    }
    return stack


def _watched_by_google() -> dict[str, Any]:
    """Return two roles whose requests the picker counts, in Google's cloud."""
    slo = {"window": "28d", "availability": 99, "ttft": {"within": "2s", "percent": 90}, "source": "picker"}
    stack = tree(qwen={"slo": slo, "prefill": {}})
    stack["gateway"]["provider"] = "gke"
    del stack["gateway"]["version"]
    return stack | {"observability": {"metrics": {"type": "gmp"}, "rules": {}, "dashboards": {}}}


OBSERVED: dict[str, Any] = {"watched": _watched(), "watched-by-google": _watched_by_google()}
