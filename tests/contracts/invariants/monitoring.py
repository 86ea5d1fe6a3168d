"""Each monitor asks the port that serves metrics, as somebody who may read them and nothing else.

And what the load balancer of a GKE Gateway is told about the pool that it reaches pod by pod.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.contracts.invariants import identity
from tests.contracts.invariants.facts import POOL_GROUP, READ, seconds
from tests.contracts.invariants.trees import look
from tests.contracts.invariants.variants import Role, Variant
from tests.contracts.invariants.world import Place, World, reference, same, subject

OPERATOR, GOOGLE = "prometheus-operator", "gmp"
MONITORS = ("ServiceMonitor", "PodMonitor", "PodMonitoring")
POLICIES = ("HealthCheckPolicy", "GCPBackendPolicy")
COLLECTORS = [subject("collector", namespace) for namespace in ("gmp-system", "gke-gmp-system")]
OURS = "inference-stacks.io"
SERVERS = {
    "app.kubernetes.io/name": "model_service",
    f"{OURS}/service": "inference_service",
    f"{OURS}/variant": "variant",
    f"{OURS}/role": "role",
}
PICKERS = {
    "app.kubernetes.io/name": "model_service",
    f"{OURS}/endpoint-picker": "inference_service",
    f"{OURS}/variant": "variant",
}


def places(variant: Variant) -> Iterator[tuple[Place, str]]:
    """Yield where every object is, and what it is a part of."""
    reader, cluster = _reader(variant), f"inference-stacks:{variant.namespace}:{_reader(variant)}"
    for role in _scraped(variant):
        kind = "PodMonitoring" if _scraper(variant) == GOOGLE else "PodMonitor"
        yield (kind, role.workload, variant.namespace), "model-server"
    if _is_picker_scraped(variant):
        kind = "PodMonitoring" if _scraper(variant) == GOOGLE else "ServiceMonitor"
        yield (kind, variant.picker, variant.namespace), "endpoint-picker"
    if _asks_for_a_token(variant):
        kinds = ["ServiceAccount", "Secret", *(["Role", "RoleBinding"] if _scraper(variant) == GOOGLE else [])]
        yield from (((kind, reader, variant.namespace), "endpoint-picker") for kind in kinds)
        yield from (((kind, cluster, None), "endpoint-picker") for kind in ("ClusterRole", "ClusterRoleBinding"))
    if variant.provider == "gke":
        component = "endpoint-picker" if variant.picked else "model-server"
        yield from (((kind, _balanced(variant), variant.namespace), component) for kind in POLICIES)


def _balanced(variant: Variant) -> str:
    """Return the name of the policies of what the load balancer reaches: that of the pool, or of the pods."""
    return variant.pool if variant.picked else f"{variant.base}-decode"


def labels(world: World, place: Place) -> dict[str, str]:
    """Return what an object carries besides its marks: what a scraper looks for, and what a monitor finds."""
    if place[0] in MONITORS:
        return look(world.variant.stack, ("observability", "metrics", "labels"), {})
    return identity.picker(world) if place[:2] == ("Service", world.variant.picker) else {}


def annotations(variant: Variant, place: Place) -> dict[str, str]:
    return {"kubernetes.io/service-account.name": _reader(variant)} if place[0] == "Secret" else {}


def _reader(variant: Variant) -> str:
    return f"{variant.picker}-metrics-reader"


def _scraper(variant: Variant) -> str:
    return look(variant.stack, ("observability", "metrics", "type"), "none")


def _scraped(variant: Variant) -> list[Role]:
    scrapes = _scraper(variant) != "none"
    return [role for role in variant.roles if scrapes and variant.say("metrics", role.stage, default=True)]


def _is_picker_scraped(variant: Variant) -> bool:
    return variant.picked and _scraper(variant) != "none" and variant.say("metrics", "picker", default=True)


def _asks_for_a_token(variant: Variant) -> bool:
    return _is_picker_scraped(variant) and variant.say("endpointPicker", "metricsAuth", default=True)


def the_monitors_of_pods_ask_the_engine_itself(world: World) -> Iterator[str]:
    for role in _scraped(world.variant):
        (engine,) = [pods.engine for pods in world.pods if pods.role == role and pods.serves]
        ports = [port["name"] for port in engine["ports"] if port["containerPort"] in role.engine_ports]
        path = world.variant.say("metrics", "path", default="/metrics")
        endpoints = [_endpoint(world.variant, port, path) for port in ports]
        selector = identity.role(world, role.name)
        about, secure = f"{role.workload} monitor", {"insecureSkipVerify": True}
        if _scraper(world.variant) == GOOGLE:
            tls = {"scheme": "https", "tls": secure} if role.certificate else {}
            expected = _of_google(selector, SERVERS, *(endpoint | tls for endpoint in endpoints))
            yield from same(about, world.get("PodMonitoring", role.workload)["spec"], expected)
            continue
        tls = {"scheme": "https", "tlsConfig": secure} if role.certificate else {}
        asked = [endpoint | tls | _named("pod", SERVERS) for endpoint in endpoints]
        expected = {"podMetricsEndpoints": asked, "selector": {"matchLabels": selector}}
        yield from same(about, world.get("PodMonitor", role.workload)["spec"], expected)


def the_monitor_of_the_picker_shows_its_token(world: World) -> Iterator[str]:
    variant, name = world.variant, world.variant.picker
    if not _is_picker_scraped(variant):
        return
    (port,) = [
        service_port["name"]
        for service_port in world.get("Service", name)["spec"]["ports"]
        if service_port["targetPort"] == 9090
    ]
    named = [
        container_port["name"] for container_port in world.picker["ports"] if container_port["containerPort"] == 9090
    ]
    yield from same("picker's port for metrics", named, [port])
    endpoint, selector = _endpoint(variant, port, "/metrics"), identity.picker(world)
    secret = {"name": _reader(variant), "key": "token"}
    if _scraper(variant) == GOOGLE:
        token = {"authorization": {"credentials": {"secret": secret}}} if _asks_for_a_token(variant) else {}
        expected = _of_google(selector, PICKERS, endpoint | token)
        yield from same("picker monitor", world.get("PodMonitoring", name)["spec"], expected)
        return
    token = {"authorization": {"credentials": secret}} if _asks_for_a_token(variant) else {}
    expected = {"endpoints": [endpoint | token | _named("service", PICKERS)], "selector": {"matchLabels": selector}}
    yield from same("picker monitor", world.get("ServiceMonitor", name)["spec"], expected)


def _endpoint(variant: Variant, port: str, path: str) -> dict[str, Any]:
    interval = f"{seconds(variant.say('metrics', 'interval', default='30s'))}s"
    return {"port": port, "path": path, "interval": interval}


def _named(found_by: str, series: Mapping[str, str]) -> dict[str, Any]:
    """Return what names the service in every series: its pods' names change with what they run."""
    labels = {label: label.replace(".", "_").replace("-", "_").replace("/", "_") for label in series}
    relabelings = [
        {
            "action": "replace",
            "sourceLabels": [f"__meta_kubernetes_{found_by}_label_{labels[label]}"],
            "targetLabel": target,
        }
        for label, target in series.items()
    ]
    return {"relabelings": relabelings}


def _of_google(selector: Mapping[str, str], series: Mapping[str, str], *endpoints: Mapping[str, Any]) -> dict[str, Any]:
    named = {"fromPod": [{"from": label, "to": target} for label, target in series.items()]}
    return {"endpoints": list(endpoints), "selector": {"matchLabels": selector}, "targetLabels": named}


def the_reader_may_read_metrics_and_nothing_else(world: World) -> Iterator[str]:
    variant, name = world.variant, _reader(world.variant)
    if not _asks_for_a_token(variant):
        return
    cluster, me = f"inference-stacks:{variant.namespace}:{name}", [subject(name, variant.namespace)]
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    yield from same("reader's rules", world.get("ClusterRole", cluster, None)["rules"], rules)
    binding = world.get("ClusterRoleBinding", cluster, None)
    role_and_subjects = (binding["roleRef"], binding["subjects"])
    yield from same("reader's role", role_and_subjects, (reference("ClusterRole", cluster), me))
    yield from same("reader's pods", world.get("ServiceAccount", name)["automountServiceAccountToken"], False)
    yield from same("reader's token", world.get("Secret", name)["type"], "kubernetes.io/service-account-token")
    if _scraper(variant) == GOOGLE:
        rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [name], "verbs": READ}
        yield from same("collector's rules", world.get("Role", name)["rules"], [rule])
        binding = world.get("RoleBinding", name)
        role_and_subjects = (binding["roleRef"], binding["subjects"])
        yield from same("collector's role", role_and_subjects, (reference("Role", name), COLLECTORS))


def the_load_balancer_knows_the_pool(world: World) -> Iterator[str]:
    variant = world.variant
    if variant.provider != "gke":
        return
    target = {"group": POOL_GROUP, "kind": "InferencePool", "name": variant.pool}
    if not variant.picked:
        target = {"group": "", "kind": "Service", "name": variant.base}
    check = {"requestPath": variant.say("health", "livenessPath", default="/health"), "port": variant.port}
    health = {"checkIntervalSec": 2, "timeoutSec": 2, "config": {"type": "HTTP", "httpHealthCheck": check}}
    patience = {"timeoutSec": max(300, variant.roles[0].drain), "logging": {"enabled": True}}
    for kind, default in zip(POLICIES, (health, patience), strict=True):
        yield from same(kind, world.get(kind, _balanced(variant))["spec"], {"default": default, "targetRef": target})
