"""Deviations of the endpoint picker, its rights, its pool, and the objects that route to it or scrape it."""

import hashlib
from typing import Any

from tests.heritage.fidelity.deviation import container, deviation, drop, drop_arguments, named, pod

PICKER = "Deployment EPP"
_EPP = "*/containers/epp"


def _file(theirs: Any) -> str:
    """Return the name of the configuration: one for two roles, another for one."""
    (service,) = theirs.tree["services"].values()
    return "pd-config.yaml" if "prefill" in service else "default-plugins.yaml"


@deviation(
    "3.12 names", "ConfigMap EPP", PICKER,
    about=(
        "/metadata/name", "/data/*", "*/volumes/config/*", "*/volumes/epp-config/*", "*/volumeMounts/config/*",
        "*/volumeMounts/epp-config/*", "*/args/--config-file=*",
    ),
)  # fmt: skip
def configuration_names(manifest: Any, theirs: Any) -> None:
    """Call ConfigMap, file and volume as they do."""
    file = _file(theirs)
    if manifest["kind"] == "ConfigMap":
        manifest["metadata"]["name"] += "-config"
        manifest["data"][file] = manifest["data"].pop("config.yaml")
        return
    volume = named(pod(manifest)["volumes"], "config")
    volume["name"] = named(container(manifest)["volumeMounts"], "config")["name"] = "epp-config"
    volume["configMap"]["name"] += "-config"
    container(manifest)["args"] = [word.replace("config.yaml", file) for word in container(manifest)["args"]]


@deviation("3.13 checksum", PICKER, about="*/annotations/checksum/config")
def checksum(manifest: Any, theirs: Any) -> None:
    """Count the file's name in."""
    text = theirs.configuration
    annotations = manifest["spec"]["template"]["metadata"]["annotations"]
    if annotations["checksum/config"] == hashlib.sha256(text.encode()).hexdigest():
        annotations["checksum/config"] = hashlib.sha256(f"{_file(theirs)}{text}".encode()).hexdigest()


@deviation("E5 optional configuration", PICKER, about="*/configMap/optional")
def optional(manifest: Any, _: Any) -> None:
    pod(manifest)["volumes"][0]["configMap"]["optional"] = True


@deviation("E2 replacing", PICKER, about="/spec/strategy/*")
def replacing(manifest: Any, _: Any) -> None:
    manifest["spec"]["strategy"] = {"type": "Recreate"}


@deviation("E2 reason", "InferencePool", about="/metadata/annotations/*", only=("full",))
def reason(manifest: Any, _: Any) -> None:
    del manifest["metadata"]["annotations"]["inference-stacks.io/fail-open-reason"]


@deviation("S7 profiles", PICKER, about="*/args/--enable-pprof=false")
def profiles(manifest: Any, _: Any) -> None:
    drop_arguments(container(manifest), "--enable-pprof")


@deviation(
    "3.14 arguments", PICKER,
    about=(
        "*/args/--grpc-health-port=*", "*/args/--metrics-port=*", "*/args/--metrics-endpoint-auth=true", "*/args/--v=1",
        "*/args/--ha-enable-leader-election*",
    ),
)  # fmt: skip
def defaults(manifest: Any, _: Any) -> None:
    """Leave out what is the picker's own default, and order the rest as they do."""
    epp = container(manifest)
    drop_arguments(epp, "--grpc-health-port", "--metrics-port", "--metrics-endpoint-auth=true", "--v=1")
    words = [word.replace("leader-election=true", "leader-election") for word in epp["args"]]
    last = ("--zap-encoder", "--ha-", "--tracing", "--metrics-endpoint-auth", "--v")
    epp["args"] = sorted(words, key=lambda word: [index for index, flag in enumerate(last) if word.startswith(flag)])


@deviation("A8 flags", PICKER, about="*/args/--a=b", only=("full",))
def flags(manifest: Any, _: Any) -> None:
    """Pass a flag that the picker does not know."""
    arguments = container(manifest)["args"]
    arguments.insert(arguments.index("--v=2"), "--a=b")


@deviation("3.14 health", PICKER, about="*/grpc/service", only=("min", "alt"))
def health(manifest: Any, _: Any) -> None:
    for probe in ("readinessProbe", "livenessProbe"):
        container(manifest)[probe]["grpc"]["service"] = "inference-extension"


@deviation("3.14 pull policy", PICKER, about=f"{_EPP}/imagePullPolicy")
def pull_policy(manifest: Any, _: Any) -> None:
    container(manifest)["imagePullPolicy"] = "IfNotPresent"


@deviation("E4 picker's resources", PICKER, about=f"{_EPP}/resources/*", only=("min", "full"))
def resources(manifest: Any, _: Any) -> None:
    container(manifest)["resources"] = {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"memory": "16Gi"}}


@deviation("C1 written defaults", PICKER, "Service EPP", about=("*/fieldRef/apiVersion", "/spec/type"))
def written_defaults(manifest: Any, _: Any) -> None:
    """Leave out what the API server fills in."""
    if manifest["kind"] == "Service":
        del manifest["spec"]["type"]
        return
    for variable in container(manifest)["env"]:
        variable.get("valueFrom", {}).get("fieldRef", {}).pop("apiVersion", None)


@deviation("3.14 tracing", PICKER, about=f"{_EPP}/env/OTEL_RESOURCE_ATTRIBUTES*", only=("full",))
def attributes(manifest: Any, _: Any) -> None:
    """Say in the environment which pod a trace is of."""
    prefix, fields = "OTEL_RESOURCE_ATTRIBUTES", {"NODE_NAME": "spec.nodeName", "POD_NAME": "metadata.name"}
    variables = [
        {"name": f"{prefix}_{name}", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": field}}}
        for name, field in fields.items()
    ]
    value = f"k8s.namespace.name=$(NAMESPACE),k8s.node.name=$({prefix}_NODE_NAME),k8s.pod.name=$({prefix}_POD_NAME)"
    found = container(manifest)["env"]
    where = [variable["name"] for variable in found].index("OTEL_TRACES_SAMPLER")
    found[where:where] = [*variables, {"name": prefix, "value": value}]


@deviation("3.15 protocol", "Service EPP", about="*/appProtocol")
def protocol(manifest: Any, _: Any) -> None:
    del manifest["spec"]["ports"][0]["appProtocol"]


@deviation("S9 picker's Role", "Role EPP", about=("*/resourceNames/*", "/rules/leases/*"))
def every_pool(manifest: Any, _: Any) -> None:
    """Allow the same of every pool, and everything of every lease."""
    rules = [{key: value for key, value in rule.items() if key != "resourceNames"} for rule in manifest["rules"]]
    leases = [rule for rule in rules if rule["resources"] == ["leases"]]
    for rule in leases[:1]:
        verbs = [verb for each in leases for verb in each["verbs"]]
        every = ["get", "list", "watch", "create", "update", "patch", "delete"]
        rule["verbs"] = sorted([*verbs, "list", "watch", "patch", "delete"], key=every.index)
    manifest["rules"] = [rule for rule in rules if rule not in leases[1:]]


@deviation(
    "S9 picker's token", PICKER,
    about=("*/automountServiceAccountToken", "*/volumes/api-token/*", f"{_EPP}/volumeMounts/api-token/*"),
)  # fmt: skip
def every_container(manifest: Any, _: Any) -> None:
    """Leave it to Kubernetes, which mounts the token into every container."""
    del pod(manifest)["automountServiceAccountToken"]
    drop(pod(manifest)["volumes"], "api-token")
    drop(container(manifest)["volumeMounts"], "api-token")


@deviation("3.17 order", "Role EPP", about=())
def order(manifest: Any, _: Any) -> None:
    """Name pools after objectives, and to watch before to list."""
    rules = manifest["rules"]
    rules[1], rules[2] = rules[2], rules[1]
    for rule in rules[:3]:
        rule["verbs"].sort(key=["get", "watch", "list"].index)


@deviation(
    "S4 scraper's token", "Secret *", "ClusterRole *",
    about=("/metadata/name", "/metadata/annotations/kubernetes.io/service-account.name"),
)  # fmt: skip
def token(manifest: Any, _: Any) -> None:
    """Take the picker's own identity for the scraper's."""
    if manifest["kind"] == "Secret":
        account = "kubernetes.io/service-account.name"
        given = manifest["metadata"]["annotations"]
        given[account] = given[account].removesuffix("-metrics-reader")
    else:
        manifest["metadata"]["name"] = manifest["metadata"]["name"].removesuffix("-metrics-reader")


@deviation("3.16 name", "Secret *", "ServiceMonitor EPP", about=("/metadata/name", "*/credentials/*"))
def token_name(manifest: Any, _: Any) -> None:
    holder = (
        manifest["metadata"]
        if manifest["kind"] == "Secret"
        else manifest["spec"]["endpoints"][0]["authorization"]["credentials"]
    )
    holder["name"] = holder["name"].replace("-metrics-reader", "-sa-metrics-reader-secret")


@deviation("S6 delegation", "ClusterRole *", "ClusterRoleBinding *", about=("/rules/*", "/roleRef/name"))
def delegation(manifest: Any, _: Any) -> None:
    """Let a role of its own say what Kubernetes' role for it says."""
    if manifest["kind"] == "ClusterRoleBinding":
        manifest["roleRef"]["name"] = manifest["metadata"]["name"].removeprefix("inference-stacks:").replace(":", "-")
        return
    asked = {"authentication.k8s.io": "tokenreviews", "authorization.k8s.io": "subjectaccessreviews"}
    rules = [{"apiGroups": [group], "resources": [resource], "verbs": ["create"]} for group, resource in asked.items()]
    manifest["rules"][:0] = rules


@deviation("E8 route", "HTTPRoute", about=("*/matches/*", "*/filters/*"))
def route(manifest: Any, theirs: Any) -> None:
    """Match a header at every path instead of a path of the service's own."""
    (rule,) = manifest["spec"]["rules"]
    del rule["filters"]
    (match,) = rule["matches"]
    match["path"]["value"] = "/"
    match["headers"] = [{"type": "Exact", "name": "OtterScale-Model-Name", "value": theirs.key}]


@deviation("3.20 weight", "HTTPRoute", about="*/backendRefs/*/weight")
def weight(manifest: Any, _: Any) -> None:
    del manifest["spec"]["rules"][0]["backendRefs"][0]["weight"]


@deviation("3.20 parent", "HTTPRoute", about="/spec/parentRefs/*", only=("full", "alt"))
def parent(manifest: Any, _: Any) -> None:
    """Leave out of a gateway that was said what is its default."""
    (gateway,) = manifest["spec"]["parentRefs"]
    del gateway["group"], gateway["kind"]
    if gateway["namespace"] == manifest["metadata"]["namespace"]:
        del gateway["namespace"]


@deviation("E10 ports of TLS", "DestinationRule EPP", about="/spec/trafficPolicy/*")
def every_port(manifest: Any, _: Any) -> None:
    policy = manifest["spec"]["trafficPolicy"]
    (settings,) = policy.pop("portLevelSettings")
    policy["tls"] = settings["tls"]


@deviation("3.21 version", "DestinationRule EPP", about="/apiVersion")
def istio_version(manifest: Any, _: Any) -> None:
    manifest["apiVersion"] = "networking.istio.io/v1beta1"


@deviation("3.22 port behind a sidecar", "PodMonitor decode", about="*/port", only=("full",))
def scraped_port(manifest: Any, _: Any) -> None:
    manifest["spec"]["podMetricsEndpoints"][0]["port"] = "http"


@deviation("A7 certificate", "PodMonitor prefill", about=("*/scheme", "*/tlsConfig/*"), only=("full",))
def scraped_in_clear(manifest: Any, _: Any) -> None:
    endpoint = manifest["spec"]["podMetricsEndpoints"][0]
    del endpoint["scheme"], endpoint["tlsConfig"]


@deviation("3.23 interval", "ServiceMonitor EPP", about="*/interval", only=("full",))
def interval(manifest: Any, _: Any) -> None:
    manifest["spec"]["endpoints"][0]["interval"] = "30s"


@deviation("3.23 relabeling", "ServiceMonitor EPP", about=("*/path", "*/relabelings/*"), only=("full",))
def relabeling(manifest: Any, _: Any) -> None:
    endpoint = manifest["spec"]["endpoints"][0]
    del endpoint["path"], endpoint["relabelings"]


@deviation("3.22 labels of series", "PodMonitor *", about="*/relabelings/*")
def series(manifest: Any, _: Any) -> None:
    for endpoint in manifest["spec"]["podMetricsEndpoints"]:
        del endpoint["relabelings"][1:]


@deviation("E7 traces without a collector", PICKER, about="*/env/OTEL_TRACES_SAMPLER_ARG/*", only=("min", "alt"))
def traced_unasked(manifest: Any, _: Any) -> None:
    drop(container(manifest)["env"], "OTEL_TRACES_SAMPLER_ARG")


DEVIATIONS = [
    configuration_names, checksum, optional, traced_unasked, replacing, reason, profiles, defaults, flags, health,
    pull_policy, resources, written_defaults, attributes, protocol, every_pool, every_container, order, token,
    token_name, delegation,
    route, weight,
    parent, every_port, istio_version, scraped_port, scraped_in_clear, interval, relabeling,
    series,
]  # fmt: skip
