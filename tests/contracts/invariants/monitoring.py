"""Each monitor asks the port that serves metrics, as somebody who may read them and nothing else.

And what the load balancer of a GKE Gateway is told about the pool that it reaches pod by pod.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.contracts.invariants import identity
from tests.contracts.invariants.facts import POOL_GROUP, READ, seconds
from tests.contracts.invariants.trees import look
from tests.contracts.invariants.wishes import Role, Wish
from tests.contracts.invariants.world import Place, World, reference, same, subject

OPERATOR, GOOGLE = "prometheus-operator", "gmp"
MONITORS = ("ServiceMonitor", "PodMonitor", "PodMonitoring")
POLICIES = ("HealthCheckPolicy", "GCPBackendPolicy")
COLLECTORS = [subject("collector", namespace) for namespace in ("gmp-system", "gke-gmp-system")]
NAMED = {"pod": "__meta_kubernetes_pod_label_app_kubernetes_io_name"}
NAMED["service"] = NAMED["pod"].replace("pod", "service")


def places(wish: Wish) -> Iterator[tuple[Place, str]]:
    """Yield where every object is, and what it is a part of."""
    reader, cluster = _reader(wish), f"inference-stacks:{wish.namespace}:{_reader(wish)}"
    for role in _scraped(wish):
        kind = "PodMonitoring" if _scraper(wish) == GOOGLE else "PodMonitor"
        yield (kind, role.workload, wish.namespace), "model-server"
    if _is_picker_scraped(wish):
        kind = "PodMonitoring" if _scraper(wish) == GOOGLE else "ServiceMonitor"
        yield (kind, wish.picker, wish.namespace), "endpoint-picker"
    if _asks_for_a_token(wish):
        kinds = ["ServiceAccount", "Secret", *(["Role", "RoleBinding"] if _scraper(wish) == GOOGLE else [])]
        yield from (((kind, reader, wish.namespace), "endpoint-picker") for kind in kinds)
        yield from (((kind, cluster, None), "endpoint-picker") for kind in ("ClusterRole", "ClusterRoleBinding"))
    if wish.provider == "gke":
        component = "endpoint-picker" if wish.picked else "model-server"
        yield from (((kind, _balanced(wish), wish.namespace), component) for kind in POLICIES)


def _balanced(wish: Wish) -> str:
    """Return the name of the policies of what the load balancer reaches: that of the pool, or of the pods."""
    return wish.pool if wish.picked else f"{wish.base}-decode"


def labels(world: World, place: Place) -> dict[str, str]:
    """Return what an object carries besides its marks: what a scraper looks for, and what a monitor finds."""
    if place[0] in MONITORS:
        return look(world.wish.stack, ("observability", "metrics", "labels"), {})
    return identity.picker(world) if place[:2] == ("Service", world.wish.picker) else {}


def annotations(wish: Wish, place: Place) -> dict[str, str]:
    return {"kubernetes.io/service-account.name": _reader(wish)} if place[0] == "Secret" else {}


def _reader(wish: Wish) -> str:
    return f"{wish.picker}-metrics-reader"


def _scraper(wish: Wish) -> str:
    return look(wish.stack, ("observability", "metrics", "type"), "none")


def _scraped(wish: Wish) -> list[Role]:
    wanted = _scraper(wish) != "none"
    return [role for role in wish.roles if wanted and wish.say("metrics", role.name, default=True)]


def _is_picker_scraped(wish: Wish) -> bool:
    return wish.picked and _scraper(wish) != "none" and wish.say("metrics", "picker", default=True)


def _asks_for_a_token(wish: Wish) -> bool:
    return _is_picker_scraped(wish) and wish.say("endpointPicker", "metricsAuth", default=True)


def the_monitors_of_pods_ask_the_engine_itself(world: World) -> Iterator[str]:
    for role in _scraped(world.wish):
        (engine,) = [pods.engine for pods in world.pods if pods.role == role and pods.serves]
        ports = [one["name"] for one in engine["ports"] if one["containerPort"] in role.engine_ports]
        path = world.wish.say("metrics", "path", default="/metrics")
        endpoints = [_endpoint(world.wish, port, path) for port in ports]
        selector = identity.role(world, role.name)
        about, secure = f"{role.workload} monitor", {"insecureSkipVerify": True}
        if _scraper(world.wish) == GOOGLE:
            tls = {"scheme": "https", "tls": secure} if role.certificate else {}
            expected = _of_google(selector, *(endpoint | tls for endpoint in endpoints))
            yield from same(about, world.get("PodMonitoring", role.workload)["spec"], expected)
            continue
        tls = {"scheme": "https", "tlsConfig": secure} if role.certificate else {}
        asked = [endpoint | tls | _named("pod") for endpoint in endpoints]
        expected = {"podMetricsEndpoints": asked, "selector": {"matchLabels": selector}}
        yield from same(about, world.get("PodMonitor", role.workload)["spec"], expected)


def the_monitor_of_the_picker_shows_its_token(world: World) -> Iterator[str]:
    wish, name = world.wish, world.wish.picker
    if not _is_picker_scraped(wish):
        return
    (port,) = [one["name"] for one in world.get("Service", name)["spec"]["ports"] if one["targetPort"] == 9090]
    named = [one["name"] for one in world.picker["ports"] if one["containerPort"] == 9090]
    yield from same("picker's port for metrics", named, [port])
    endpoint, selector = _endpoint(wish, port, "/metrics"), identity.picker(world)
    secret = {"name": _reader(wish), "key": "token"}
    if _scraper(wish) == GOOGLE:
        token = {"authorization": {"credentials": {"secret": secret}}} if _asks_for_a_token(wish) else {}
        expected = _of_google(selector, endpoint | token)
        yield from same("picker monitor", world.get("PodMonitoring", name)["spec"], expected)
        return
    token = {"authorization": {"credentials": secret}} if _asks_for_a_token(wish) else {}
    expected = {"endpoints": [endpoint | token | _named("service")], "selector": {"matchLabels": selector}}
    yield from same("picker monitor", world.get("ServiceMonitor", name)["spec"], expected)


def _endpoint(wish: Wish, port: str, path: str) -> dict[str, Any]:
    interval = f"{seconds(wish.say('metrics', 'interval', default='30s'))}s"
    return {"port": port, "path": path, "interval": interval}


def _named(found_by: str) -> dict[str, Any]:
    """Return what names the service in every series: its pods' names change with what they run."""
    relabeling = {"action": "replace", "sourceLabels": [NAMED[found_by]], "targetLabel": "model_service"}
    return {"relabelings": [relabeling]}


def _of_google(selector: Mapping[str, str], *endpoints: Mapping[str, Any]) -> dict[str, Any]:
    named = {"fromPod": [{"from": "app.kubernetes.io/name", "to": "model_service"}]}
    return {"endpoints": list(endpoints), "selector": {"matchLabels": selector}, "targetLabels": named}


def the_reader_may_read_metrics_and_nothing_else(world: World) -> Iterator[str]:
    wish, name = world.wish, _reader(world.wish)
    if not _asks_for_a_token(wish):
        return
    cluster, me = f"inference-stacks:{wish.namespace}:{name}", [subject(name, wish.namespace)]
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    yield from same("reader's rules", world.get("ClusterRole", cluster, None)["rules"], rules)
    binding = world.get("ClusterRoleBinding", cluster, None)
    told = (binding["roleRef"], binding["subjects"])
    yield from same("reader's role", told, (reference("ClusterRole", cluster), me))
    yield from same("reader's pods", world.get("ServiceAccount", name)["automountServiceAccountToken"], False)
    yield from same("reader's token", world.get("Secret", name)["type"], "kubernetes.io/service-account-token")
    if _scraper(wish) == GOOGLE:
        rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [name], "verbs": READ}
        yield from same("collector's rules", world.get("Role", name)["rules"], [rule])
        binding = world.get("RoleBinding", name)
        told = (binding["roleRef"], binding["subjects"])
        yield from same("collector's role", told, (reference("Role", name), COLLECTORS))


def the_load_balancer_knows_the_pool(world: World) -> Iterator[str]:
    wish = world.wish
    if wish.provider != "gke":
        return
    target = {"group": POOL_GROUP, "kind": "InferencePool", "name": wish.pool}
    if not wish.picked:
        target = {"group": "", "kind": "Service", "name": wish.base}
    check = {"requestPath": wish.say("health", "livenessPath", default="/health"), "port": wish.port}
    health = {"checkIntervalSec": 2, "timeoutSec": 2, "config": {"type": "HTTP", "httpHealthCheck": check}}
    patience = {"timeoutSec": max(300, wish.roles[0].drain), "logging": {"enabled": True}}
    for kind, default in zip(POLICIES, (health, patience), strict=True):
        yield from same(kind, world.get(kind, _balanced(wish))["spec"], {"default": default, "targetRef": target})
