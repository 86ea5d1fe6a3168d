"""Monitors, with targets and identities, and the checks that GKE's load balancer makes of a pool."""

import copy
import re

import pytest

from judging import validation
from judging.preflight.kinds import kinds
from manifests.assembly import objects, render
from planning.ground import parts
from planning.ground.cluster_facts import ClusterFacts, Served
from planning.ground.order import Id
from tests.support.stacks import as_rendered, find, lines, plain, plan, rendered, tree

OPERATOR = {"type": "prometheus-operator", "labels": {"release": "kube-prometheus-stack"}}
GOOGLE = {"type": "gmp"}
MONITORS = {"ServiceMonitor", "PodMonitor", "PodMonitoring"}
READER = "qwen-epp-metrics-reader"
CERTIFIED = {"sidecar": {"tls": {"prefill": True, "certificate": "serving"}}}
MARKS = {"app.kubernetes.io/part-of": "inference-stacks", "app.kubernetes.io/managed-by": "pulumi"}


def scraped(metrics, **services):
    """Return a stack whose services are scraped; one called `qwen` if none is given."""
    return tree(**services) | {"observability": {"metrics": metrics}}


def made(stack, *listed_kinds):
    """Return kind and name of every object of the kinds, without generations."""
    return {
        (manifest["kind"], plain(manifest["metadata"]["name"]))
        for manifest in rendered(stack)
        if manifest["kind"] in listed_kinds
    }


def marks(name, component):
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/component": component, **MARKS}


SERIES = {
    "pod": {
        "app_kubernetes_io_name": "model_service",
        "inference_stacks_io_service": "inference_service",
        "inference_stacks_io_variant": "variant",
        "inference_stacks_io_role": "role",
    },
    "service": {
        "app_kubernetes_io_name": "model_service",
        "inference_stacks_io_endpoint_picker": "inference_service",
        "inference_stacks_io_variant": "variant",
    },
}
"""Labels of series, by the labels of pods or Services as Prometheus spells them."""
OF_OPERATOR = {"container", "endpoint", "instance", "job", "namespace", "node", "pod", "service"}
"""Labels that the Prometheus operator and Prometheus write (prometheus-operator v0.85.0, pkg/prometheus/promcfg.go)."""


def relabelings(kind):
    """Return the relabelings of a monitor that finds its targets by pods or by Services."""
    return [
        {"action": "replace", "sourceLabels": [f"__meta_kubernetes_{kind}_label_{label}"], "targetLabel": target}
        for label, target in SERIES[kind].items()
    ]


def series_labels(monitor, labels):
    """Return the labels that Prometheus gives to the series of an object with these labels.

    It replaces what is no letter, digit or underscore in the name of a label, and drops a label without a value.
    """
    if monitor["kind"] == "PodMonitoring":
        pairs = [(item["from"], item["to"]) for item in monitor["spec"]["targetLabels"]["fromPod"]]
        return {target: labels[label] for label, target in pairs if labels.get(label)}
    kind, field = {"PodMonitor": ("pod", "podMetricsEndpoints"), "ServiceMonitor": ("service", "endpoints")}[
        monitor["kind"]
    ]
    discovered = {
        f"__meta_kubernetes_{kind}_label_{re.sub('[^a-zA-Z0-9_]', '_', label)}": value
        for label, value in labels.items()
    }
    (endpoint,) = monitor["spec"][field]
    pairs = [(item["sourceLabels"][0], item["targetLabel"]) for item in endpoint["relabelings"]]
    return {target: discovered[source] for source, target in pairs if discovered.get(source)}


def test_nothing_is_scraped_unless_it_is_asked_for():
    """See otterscale 3.22, A2."""
    assert made(tree(), *MONITORS, "Secret", "ClusterRole") == set()
    assert rendered(tree()) == rendered(scraped({"type": "none"}))


def test_the_operator_finds_the_engines_of_one_role():
    assert find(rendered(scraped(OPERATOR)), "PodMonitor", "qwen-decode") == {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {
            "name": "qwen-decode",
            "namespace": "models",
            "labels": {"release": "kube-prometheus-stack", **marks("qwen", "model-server")},
        },
        "spec": {
            "selector": {
                "matchLabels": {
                    "inference-stacks.io/service": "qwen",
                    "inference-stacks.io/variant": "primary",
                    "inference-stacks.io/role": "decode",
                }
            },
            "podMetricsEndpoints": [
                {
                    "port": "http",
                    "path": "/metrics",
                    "interval": "30s",
                    "relabelings": relabelings("pod"),
                }
            ],
        },
    }


def picker_monitor():
    """Return the monitor that reads the metrics of the picker of `qwen`."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {
            "name": "qwen-epp",
            "namespace": "models",
            "labels": {"release": "kube-prometheus-stack", **marks("qwen", "endpoint-picker")},
        },
        "spec": {
            "selector": {
                "matchLabels": {
                    "inference-stacks.io/endpoint-picker": "qwen",
                    "inference-stacks.io/variant": "primary",
                }
            },
            "endpoints": [
                {
                    "port": "http-metrics",
                    "path": "/metrics",
                    "interval": "30s",
                    "authorization": {"credentials": {"name": READER, "key": "token"}},
                    "relabelings": relabelings("service"),
                }
            ],
        },
    }


def reader_token():
    """Return the Secret that holds the token of the reader of metrics."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": READER,
            "namespace": "models",
            "labels": marks("qwen", "endpoint-picker"),
            "annotations": {"kubernetes.io/service-account.name": READER},
        },
        "type": "kubernetes.io/service-account-token",
    }


def test_the_operator_reads_the_picker_with_a_token_of_its_own():
    everything = rendered(scraped(OPERATOR))
    assert find(everything, "ServiceMonitor", "qwen-epp") == picker_monitor()
    assert find(everything, "Secret", READER) == reader_token()


def test_a_reader_of_metrics_may_only_get_them():
    everything = rendered(scraped(OPERATOR))
    cluster = f"inference-stacks:models:{READER}"
    assert find(everything, "ClusterRole", cluster)["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    held = [
        (manifest["kind"], manifest["roleRef"]["name"])
        for manifest in everything
        if READER in [subject["name"] for subject in manifest.get("subjects", ())]
    ]
    assert held == [("ClusterRoleBinding", cluster)]
    assert find(everything, "ServiceAccount", READER)["automountServiceAccountToken"] is False


def test_google_finds_pods_and_is_let_to_the_token():
    everything = rendered(scraped(GOOGLE))
    assert find(everything, "PodMonitoring", "qwen-epp")["spec"] == {
        "selector": {
            "matchLabels": {
                "inference-stacks.io/endpoint-picker": "qwen",
                "inference-stacks.io/variant": "primary",
            }
        },
        "endpoints": [
            {
                "port": "http-metrics",
                "path": "/metrics",
                "interval": "30s",
                "authorization": {"credentials": {"secret": {"name": READER, "key": "token"}}},
            }
        ],
        "targetLabels": {
            "fromPod": [
                {"from": "app.kubernetes.io/name", "to": "model_service"},
                {"from": "inference-stacks.io/endpoint-picker", "to": "inference_service"},
                {"from": "inference-stacks.io/variant", "to": "variant"},
            ]
        },
    }
    assert find(everything, "PodMonitoring", "qwen-decode")["spec"]["endpoints"] == [
        {"port": "http", "path": "/metrics", "interval": "30s"}
    ]
    assert find(everything, "Role", READER)["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [READER], "verbs": ["get", "list", "watch"]}
    ]
    assert find(everything, "RoleBinding", READER)["subjects"] == [
        {"kind": "ServiceAccount", "name": "collector", "namespace": "gmp-system"},
        {"kind": "ServiceAccount", "name": "collector", "namespace": "gke-gmp-system"},
    ]


@pytest.mark.parametrize(("metrics", "kind"), [(OPERATOR, "PodMonitor"), (GOOGLE, "PodMonitoring")])
def test_each_part_has_a_switch_of_its_own(metrics, kind):
    """See otterscale 3.22, A2."""
    every = {("decode", kind, "qwen-decode"), ("prefill", kind, "qwen-prefill")}
    every |= {("picker", "ServiceMonitor" if kind == "PodMonitor" else kind, "qwen-epp")}
    for off in ("decode", "prefill", "picker"):
        stack = scraped(metrics, qwen={"prefill": {}, "metrics": {off: False}})
        assert made(stack, *MONITORS) == {(of, name) for part, of, name in every if part != off}


@pytest.mark.parametrize("metrics", [OPERATOR, GOOGLE])
@pytest.mark.parametrize("service", [{"endpointPicker": {"metricsAuth": False}}, {"metrics": {"picker": False}}])
def test_no_token_is_made_that_nobody_shows(metrics, service):
    everything = rendered(scraped(metrics, qwen=service))
    assert [manifest["kind"] for manifest in everything if "metrics-reader" in manifest["metadata"]["name"]] == []
    assert "'authorization'" not in str(everything)


def test_with_a_sidecar_in_front_the_engine_itself_is_asked():
    """The sidecar would pass the question on, and a sidecar that fails would look like an engine that does.

    See otterscale 3.22.
    """
    everything = rendered(scraped(OPERATOR, qwen={"prefill": {}}))
    pod = find(everything, "Deployment", "qwen-decode")["spec"]["template"]["spec"]
    (port,) = pod["containers"][0]["ports"]
    (endpoint,) = find(everything, "PodMonitor", "qwen-decode")["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], port["containerPort"]) == (port["name"], 8200)
    assert find(everything, "PodMonitor", "qwen-prefill")["spec"]["podMetricsEndpoints"][0]["port"] == "http"


def test_prefill_behind_a_certificate_is_asked_over_tls():
    stack = scraped(OPERATOR, qwen={"prefill": {}, **CERTIFIED})
    everything = rendered(stack)
    (endpoint,) = find(everything, "PodMonitor", "qwen-prefill")["spec"]["podMetricsEndpoints"]
    assert (endpoint["scheme"], endpoint["tlsConfig"]) == ("https", {"insecureSkipVerify": True})
    (endpoint,) = find(everything, "PodMonitor", "qwen-decode")["spec"]["podMetricsEndpoints"]
    assert not {"scheme", "tlsConfig"} & endpoint.keys()
    everything = rendered(stack | {"observability": {"metrics": GOOGLE}})
    (endpoint,) = find(everything, "PodMonitoring", "qwen-prefill")["spec"]["endpoints"]
    assert (endpoint["scheme"], endpoint["tls"]) == ("https", {"insecureSkipVerify": True})


def selected(monitor, pod_labels):
    return monitor["spec"]["selector"]["matchLabels"].items() <= pod_labels.items()


def test_of_a_group_only_the_leader_is_asked():
    spanning = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}}
    everything = rendered(scraped(OPERATOR, qwen=spanning))
    monitor = find(everything, "PodMonitor", "qwen-decode")
    templates = find(everything, "LeaderWorkerSet", "qwen-decode")["spec"]["leaderWorkerTemplate"]
    assert selected(monitor, templates["leaderTemplate"]["metadata"]["labels"])
    assert not selected(monitor, templates["workerTemplate"]["metadata"]["labels"])


def test_no_monitor_asks_anothers_pods():
    """Not of the other role, not of the canary, not of another service, not of another generation."""
    service = {"prefill": {}, "canary": {"weight": 10}}
    manifests = rendered(scraped(OPERATOR, qwen=service, bert=service))
    other = rendered(scraped(OPERATOR, qwen={**service, "kvCache": {"blockSize": 128}}, bert=service))
    monitors = [manifest for manifest in manifests if manifest["kind"] == "PodMonitor"]
    pods = {
        manifest["metadata"]["name"]: manifest["spec"]["template"]["metadata"]["labels"]
        for manifest in [*manifests, *other]
        if manifest["kind"] == "Deployment"
    }
    assert len(monitors) == 8
    assert len(pods) == 18
    for monitor in monitors:
        assert [name for name, labels in pods.items() if selected(monitor, labels)] == [monitor["metadata"]["name"]]


def test_the_monitor_of_a_picker_finds_one_service():
    service = {"prefill": {}, "canary": {"weight": 10}}
    manifests = rendered(scraped(OPERATOR, qwen=service, bert={}))
    other = rendered(scraped(OPERATOR, qwen={**service, "kvCache": {"blockSize": 128}}, bert={}))
    services = {
        manifest["metadata"]["name"]: manifest for manifest in [*manifests, *other] if manifest["kind"] == "Service"
    }
    for monitor in (manifest for manifest in manifests if manifest["kind"] == "ServiceMonitor"):
        result = [name for name, manifest in services.items() if selected(monitor, manifest["metadata"]["labels"])]
        assert result == [monitor["metadata"]["name"]]
        (endpoint,) = monitor["spec"]["endpoints"]
        assert endpoint["port"] in [port["name"] for port in services[result[0]]["spec"]["ports"]]


@pytest.mark.parametrize("metrics", [OPERATOR, GOOGLE], ids=["operator", "google"])
def test_series_say_of_which_service_variant_and_role_they_are(metrics):
    """Prefill and decode of one variant have the same `model_service`."""
    everything = rendered(scraped(metrics, qwen={"prefill": {}, "canary": {"weight": 10}}))
    targets = [
        manifest["spec"]["template"]["metadata"]["labels"]
        for manifest in everything
        if manifest["kind"] in {"Deployment", "LeaderWorkerSet"}
    ]
    if metrics is OPERATOR:
        targets += [manifest["metadata"]["labels"] for manifest in everything if manifest["kind"] == "Service"]
    labels = {
        plain(monitor["metadata"]["name"]): series_labels(monitor, target)
        for monitor in everything
        if monitor["kind"] in MONITORS
        for target in targets
        if selected(monitor, target)
    }
    primary = {"model_service": "qwen", "inference_service": "qwen", "variant": "primary"}
    canary = {"model_service": "qwen-canary", "inference_service": "qwen", "variant": "canary"}
    assert labels == {
        "qwen-decode": {**primary, "role": "decode"},
        "qwen-prefill": {**primary, "role": "prefill"},
        "qwen-epp": primary,
        "qwen-canary-decode": {**canary, "role": "decode"},
        "qwen-canary-prefill": {**canary, "role": "prefill"},
        "qwen-canary-epp": canary,
    }


def test_no_label_of_the_operator_is_overwritten():
    """The operator writes the name of the scraped Service into `service`, before our relabelings."""
    everything = rendered(scraped(OPERATOR, qwen={"prefill": {}}))
    monitors = [manifest["spec"] for manifest in everything if manifest["kind"] in MONITORS]
    endpoints = [endpoint for spec in monitors for endpoint in spec.get("endpoints", spec.get("podMetricsEndpoints"))]
    targets = {relabeling["targetLabel"] for endpoint in endpoints for relabeling in endpoint["relabelings"]}
    assert targets == {"model_service", "inference_service", "variant", "role"}
    assert targets.isdisjoint(OF_OPERATOR)


def test_no_two_services_share_a_token_or_what_is_cluster_scoped():
    """`a-b` in `c` and `b-c` in `a` are different services, however their names are put together."""
    stack = scraped(OPERATOR, one={"name": "a-b", "namespace": "c"}, two={"name": "b-c", "namespace": "a"}, three={})
    stack["services"]["three"] |= {"canary": {"weight": 10}}
    everything = [
        manifest for manifest in rendered(stack) if manifest["kind"] in {"Secret", "ClusterRole", "ClusterRoleBinding"}
    ]
    places = [
        (manifest["kind"], manifest["metadata"].get("namespace"), manifest["metadata"]["name"])
        for manifest in everything
    ]
    assert len(set(places)) == len(places) == 4 * 4


@pytest.mark.parametrize(
    ("written", "read"), [("30s", "30s"), ("1m30s", "90s"), ("30s1m", "90s"), ("1500ms", "1500ms"), ("1h", "3600s")]
)
def test_an_interval_is_written_as_prometheus_reads_it(written, read):
    """See otterscale 3.23."""
    everything = rendered(scraped(OPERATOR, qwen={"metrics": {"interval": written}}))
    validation.check(map(as_rendered, everything))
    for kind, name, part in (("PodMonitor", "decode", "podMetricsEndpoints"), ("ServiceMonitor", "epp", "endpoints")):
        assert find(everything, kind, f"qwen-{name}")["spec"][part][0]["interval"] == read


def test_the_path_is_the_engines_alone():
    everything = rendered(scraped(OPERATOR, qwen={"metrics": {"path": "/stats"}}))
    assert find(everything, "PodMonitor", "qwen-decode")["spec"]["podMetricsEndpoints"][0]["path"] == "/stats"
    assert find(everything, "ServiceMonitor", "qwen-epp")["spec"]["endpoints"][0]["path"] == "/metrics"


def test_a_canary_is_scraped_as_its_service_unless_it_says_otherwise():
    service = {"metrics": {"interval": "10s"}, "canary": {"weight": 10, "metrics": {"picker": False}}}
    everything = rendered(scraped(OPERATOR, qwen=service))
    endpoint = find(everything, "PodMonitor", "qwen-canary-decode")["spec"]["podMetricsEndpoints"][0]
    assert endpoint["interval"] == "10s"
    assert made(scraped(OPERATOR, qwen=service), "ServiceMonitor") == {("ServiceMonitor", "qwen-epp")}


def test_what_is_scraped_makes_no_canary_another_model():
    """Nor does it change the pods: a monitor that comes or goes rolls nothing."""
    alone = {"canary": {"weight": 10, "metrics": {"decode": False}}}
    planned = plan(scraped(OPERATOR, qwen=alone))
    assert "services.qwen.canary: its pods run the same as the service's pods" in lines(planned.warnings, "warning")
    without = rendered(tree(qwen={"prefill": {}}))
    scraping = rendered(scraped(OPERATOR, qwen={"prefill": {}}))
    added = [manifest for manifest in scraping if manifest not in without]
    assert [manifest for manifest in without if manifest not in scraping] == []
    assert {manifest["kind"] for manifest in added} == {
        *("PodMonitor", "ServiceMonitor", "ServiceAccount", "Secret", "ClusterRole", "ClusterRoleBinding")
    }


def test_monitors_come_after_what_they_ask_and_no_route_waits_for_them():
    order = {resource.id: resource.after for resource in objects(render(plan(scraped(GOOGLE, qwen={"prefill": {}}))))}
    assert order[Id("qwen", parts.DECODE.monitor)] == (Id("qwen", parts.DECODE.workload),)
    assert order[Id("qwen", parts.PREFILL.monitor)] == (Id("qwen", parts.PREFILL.workload),)
    before = {earlier.part for earlier in order[Id("qwen", parts.PICKER_MONITOR)]}
    assert before == set(parts.PICKER_MONITOR.after)
    assert order[Id("qwen", parts.METRICS_READER_TOKEN)] == (Id("qwen", parts.METRICS_READER),)
    assert not [earlier for earlier in order[Id("qwen", parts.ROUTE)] if "monitor" in earlier.part.name]


def behind_gke(**services):
    stack = tree(**services)
    stack["gateway"]["provider"] = "gke"
    return stack


STACKS = {"operator": scraped(OPERATOR), "google": scraped(GOOGLE), "gke": behind_gke()}
CUSTOM = [
    ("operator", "PodMonitor", "qwen-decode", ["podMetricsEndpoints", 0]),
    ("operator", "PodMonitor", "qwen-decode", ["podMetricsEndpoints", 0, "relabelings", 0]),
    ("operator", "ServiceMonitor", "qwen-epp", ["endpoints", 0, "authorization", "credentials"]),
    ("operator", "ServiceMonitor", "qwen-epp", ["selector"]),
    ("google", "PodMonitoring", "qwen-epp", ["endpoints", 0, "authorization", "credentials", "secret"]),
    ("google", "PodMonitoring", "qwen-epp", ["targetLabels", "fromPod", 0]),
    ("gke", "HealthCheckPolicy", "qwen", ["default", "config", "httpHealthCheck"]),
    ("gke", "GCPBackendPolicy", "qwen", ["default", "logging"]),
    ("gke", "GCPBackendPolicy", "qwen", ["targetRef"]),
]


@pytest.mark.parametrize(("stack", "kind", "name", "path"), CUSTOM)
def test_a_misspelt_field_never_reaches_a_server_that_would_drop_it(stack, kind, name, path):
    manifest = copy.deepcopy(find(rendered(STACKS[stack]), kind, name))
    validation.check([as_rendered(manifest)])
    inside = manifest["spec"]
    for part in path:
        inside = inside[part]
    inside["misspelt"] = "x"
    with pytest.raises(validation.SchemaError, match="misspelt"):
        validation.check([as_rendered(manifest)])


@pytest.mark.parametrize(
    ("stack", "path", "value"),
    [
        ("google", ["endpoints"], []),
        ("google", ["endpoints", 0, "interval"], "soon"),
        ("google", ["endpoints", 0, "scheme"], "HTTPS"),
        ("google", ["targetLabels", "fromPod", 0, "to"], "namespace"),
        ("gke", ["default", "checkIntervalSec"], 301),
        ("gke", ["default", "config", "type"], "HTTPS"),
        ("gke", ["default", "config", "httpHealthCheck", "requestPath"], "health"),
        ("gke", ["targetRef", "group"], "no group"),
    ],
)
def test_what_google_would_refuse_is_refused_before(stack, path, value):
    kind, name = ("PodMonitoring", "qwen-epp") if stack == "google" else ("HealthCheckPolicy", "qwen")
    manifest = copy.deepcopy(find(rendered(STACKS[stack]), kind, name))
    inside = manifest["spec"]
    for part in path[:-1]:
        inside = inside[part]
    inside[path[-1]] = value
    with pytest.raises(validation.SchemaError):
        validation.check([as_rendered(manifest)])


@pytest.mark.parametrize(
    ("stack", "remedy"),
    [
        ("operator", "install Prometheus operator v0.85.0: kubectl apply"),
        ("google", "install Managed Service for Prometheus, in GKE 1.28.15-gke.2475000: gcloud container clusters"),
        ("gke", "install Gateway API, in GKE 1.34.0-gke.1626000: gcloud container clusters update"),
    ],
)
def test_a_cluster_without_the_kinds_is_an_error_that_says_how_to_get_them(stack, remedy):
    needed = {f"{manifest['apiVersion']}/{manifest['kind']}" for manifest in rendered(STACKS[stack])}
    absent = {kind for kind in needed if kind.partition("/")[0].startswith(("monitoring.", "networking.gke."))}
    errors = lines(kinds(needed, ClusterFacts(apis=Served(frozenset(needed - absent))), "strict"), "error")
    assert len(errors) == len(absent) > 0
    assert all(remedy in error for error in errors)
