"""Translator that plays gateways which ask the picker of each backend, as GKE's, agentgateway and later Istios do.

It turns what the API server holds into configuration of Envoy: Gateway API, its inference extension and Istio's
DestinationRule. It raises where an object says what it does not play. Pods are found by selectors, because the API
server refuses EndpointSlices of loopback addresses.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.traffic.pickers import Picker

KINDS = (
    "httproutes.gateway.networking.k8s.io",
    "referencegrants.gateway.networking.k8s.io",
    "inferencepools.inference.networking.k8s.io",
    "destinationrules.networking.istio.io",
    "services",
    "pods",
)
EXTENSION = "type.googleapis.com/envoy.extensions"
EXT_PROC = "envoy.filters.http.ext_proc"
PROCESSING = {
    "request_header_mode": "SEND",
    "response_header_mode": "SEND",
    "request_body_mode": "FULL_DUPLEX_STREAMED",
    "response_body_mode": "FULL_DUPLEX_STREAMED",
    "request_trailer_mode": "SEND",
    "response_trailer_mode": "SEND",
}
"""The picker answers the request's headers only after its body, and sends a body in pieces."""
PICKED = ("envoy.lb", "x-gateway-destination-endpoint")
"""Metadata in which the picker names its endpoint; a client could write the header of that name itself."""
H2C = {"kubernetes.io/h2c", "http2", "grpc"}
ANY_HOST = "*"
UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
PATHS = ("Exact", "RegularExpression", "PathPrefix")
"""In the order of their precedence; where regular expressions stand in it is left to the gateway."""
BACKENDS = {("", "Service"), ("inference.networking.k8s.io", "InferencePool")}
"""Groups and kinds of backends; any other backend answers 500."""
DURATION = re.compile(r"(?:\d+(?:ms|h|m|s))+")
Tree = dict[str, Any]
Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """One match of one rule of a route, under one of its hostnames."""

    hostname: str
    route: Tree
    place: tuple[int, int]
    """The rule, and the match in it."""
    match: Tree

    @property
    def rule(self) -> Tree:
        """Return the rule that holds the match."""
        return self.route["spec"]["rules"][self.place[0]]

    def precedence(self) -> tuple[Any, ...]:
        """Return what orders matches, as Gateway API does."""
        path = self.match.get("path", {})
        about = self.route["metadata"]
        return (
            self.hostname.startswith(ANY_HOST),
            -len(self.hostname),
            PATHS.index(path.get("type", "PathPrefix")),
            -len(path.get("value", "/")),
            "method" not in self.match,
            -len(self.match.get("headers", ())),
            -len(self.match.get("queryParams", ())),
            about["creationTimestamp"],
            f"{about['namespace']}/{about['name']}",
            self.place,
        )


class Translation:
    """The clusters and routes of Envoy for a gateway's routes."""

    def __init__(self, objects: Sequence[Tree], gateway: str, pickers: Collection[Picker]) -> None:
        self._objects = objects
        self._pickers = pickers
        self._clusters = dict[str, Tree]()
        attached = [route for route in self._of("HTTPRoute") if gateway in _parents(route)]
        entries = [entry for route in attached for entry in _entries(route)]
        hosts = sorted({entry.hostname for entry in entries})
        self.routes = {"virtual_hosts": [self._host(host, entries) for host in hosts]}
        self.clusters = list(self._clusters.values())

    def _host(self, host: str, entries: Collection[Entry]) -> Tree:
        """Return the routes of a host; those of less exact hosts come after its own."""
        covering = sorted((entry for entry in entries if _covers(entry.hostname, host)), key=Entry.precedence)
        return {"name": host, "domains": [host], "routes": [self._route(entry) for entry in covering]}

    def _route(self, entry: Entry) -> Tree:
        about = entry.route["metadata"]
        name = f"{about['namespace']}/{about['name']}/{entry.place[0]}"
        answered = {"name": name, "match": _match(entry.match)}
        action, more = self._filtered(entry)
        if "redirect" in more:
            return answered | more
        backends = [self._backend(ref, about["namespace"]) for ref in entry.rule.get("backendRefs", ())]
        if not any(backend["weight"] for backend in backends):
            return answered | more | {"direct_response": {"status": 500}}
        action |= {"weighted_clusters": {"clusters": backends}, "timeout": _timeout(entry.rule.get("timeouts", {}))}
        return answered | more | {"route": action | {"cluster_not_found_response_code": "INTERNAL_SERVER_ERROR"}}

    def _filtered(self, entry: Entry) -> tuple[Tree, Tree]:
        """Return what a rule's filters add to the action of a route, and to the route."""
        action = dict[str, Any]()
        more = dict[str, Any]()
        for rule_filter in entry.rule.get("filters", ()):
            match rule_filter["type"]:
                case "RequestHeaderModifier":
                    more |= _headers("request", rule_filter["requestHeaderModifier"])
                case "ResponseHeaderModifier":
                    more |= _headers("response", rule_filter["responseHeaderModifier"])
                case "URLRewrite":
                    action |= _rewrite(rule_filter["urlRewrite"], entry.match)
                case "RequestMirror":
                    mirror = self._mirror(rule_filter["requestMirror"], entry.route["metadata"]["namespace"])
                    action.setdefault("request_mirror_policies", []).append(mirror)
                case "RequestRedirect":
                    more["redirect"] = _redirect(rule_filter["requestRedirect"])
                case unknown:
                    raise ValueError(f"a filter that this gateway does not play: {unknown}")
        return action, more

    def _mirror(self, mirror: Tree, namespace: str) -> Tree:
        fraction = mirror.get("fraction", {"numerator": mirror.get("percent", 100)})
        share = {"numerator": round(1e6 * fraction["numerator"] / fraction.get("denominator", 100))}
        name = self._backend(mirror["backendRef"], namespace)["name"]
        return {"cluster": name, "runtime_fraction": {"default_value": share | {"denominator": "MILLION"}}}

    def _backend(self, ref: Tree, namespace: str) -> Tree:
        """Return a backend with its share; one that is not there, or not granted, answers 500."""
        kind = ref.get("kind", "Service")
        target = ref.get("namespace", namespace)
        more = dict[str, Any]()
        for rule_filter in ref.get("filters", ()):
            if rule_filter["type"] != "RequestHeaderModifier":
                raise ValueError(f"a filter of a backend that this gateway does not play: {rule_filter['type']}")
            more |= _headers("request", rule_filter["requestHeaderModifier"])
        weighted = {"name": f"missing/{target}/{ref['name']}", "weight": ref.get("weight", 1)} | more
        known = (ref.get("group", ""), kind) in BACKENDS
        found = self._find(kind, target, ref["name"]) if known else None
        if found is None or not (target == namespace or self._granted(namespace, kind, found)):
            return weighted
        if kind == "InferencePool":
            processed = {EXT_PROC: self._picked_by(found)}
            return weighted | {"name": self._pool(found), "typed_per_filter_config": processed}
        return weighted | {"name": self._service(found, ref["port"])}

    def _granted(self, namespace: str, kind: str, target: Tree) -> bool:
        source = {"kind": "HTTPRoute", "namespace": namespace}.items()
        about = target["metadata"]
        return any(
            any(source <= peer.items() for peer in grant["spec"]["from"])
            and any(
                target_ref["kind"] == kind and target_ref.get("name", about["name"]) == about["name"]
                for target_ref in grant["spec"]["to"]
            )
            for grant in self._of("ReferenceGrant")
            if grant["metadata"]["namespace"] == about["namespace"]
        )

    def _pool(self, pool: Tree) -> str:
        """Return the cluster of a pool: its ready pods on its ports, of which the picker says one by its address."""
        about = pool["metadata"]
        spec = pool["spec"]
        name = f"pool/{about['namespace']}/{about['name']}"
        pods = self._ready_pods(about["namespace"], spec["selector"]["matchLabels"])
        ports = [port["number"] for port in spec["targetPorts"]]
        addresses = [(pod["status"]["podIP"], port) for pod in pods for port in ports]
        namespace, key = PICKED
        picked = {"metadata": {"key": namespace, "path": [{"key": key}]}}
        fallback = {"policies": [_policy("round_robin", "RoundRobin")]}
        balanced = _policy("override_host", "OverrideHost", override_host_sources=[picked], fallback_policy=fallback)
        more = {"load_balancing_policy": {"policies": [balanced]}}
        return self._cluster(name, addresses, more, http2=spec.get("appProtocol") in H2C)

    def _picked_by(self, pool: Tree) -> Tree:
        """Return how the picker of a pool is asked."""
        ref = pool["spec"]["endpointPickerRef"]
        namespace = pool["metadata"]["namespace"]
        if (ref.get("group", ""), ref.get("kind", "Service")) != ("", "Service"):
            raise ValueError(f"a picker that this gateway does not play: {ref}")
        number = ref["port"]["number"]
        host = f"{ref['name']}.{namespace}.svc"
        tls = self._tls(host, number)
        addresses = list(self._addresses(namespace, ref["name"], number))
        # A change of addresses alone does not replace the cluster, which would end the streams that run.
        more = {"type": "EDS", **tls}
        name = self._cluster(f"picker/{namespace}/{ref['name']}:{number}", addresses, more, http2=True)
        service = {"envoy_grpc": {"cluster_name": name, "authority": f"{host}:{number}"}}
        overrides = {"grpc_service": service, "processing_mode": PROCESSING}
        overrides["failure_mode_allow"] = {"FailClose": False, "FailOpen": True}[ref.get("failureMode", "FailClose")]
        return {"@type": f"{EXTENSION}.filters.http.ext_proc.v3.ExtProcPerRoute", "overrides": overrides}

    def _addresses(self, namespace: str, name: str, number: int) -> Iterator[Address]:
        """Yield where a picker's Service leads, as kube-proxy would: to those that run here in the place of pods."""
        service = self._find("Service", namespace, name)
        for port in [] if service is None else service["spec"]["ports"]:
            for picker in self._pickers if port["port"] == number else ():
                target = port.get("targetPort", number)
                if (
                    picker.namespace == namespace
                    and target in picker.ports
                    and _selects(service["spec"]["selector"], picker.labels)
                ):
                    yield "127.0.0.1", picker.ports[target]

    def _tls(self, host: str, number: int) -> Tree:
        """Return how a Service's port is encrypted: as its DestinationRule says, else not at all."""
        rules = [rule for rule in self._of("DestinationRule") if rule["spec"]["host"] == f"{host}.cluster.local"]
        policies = [rule["spec"].get("trafficPolicy", {}) for rule in rules]
        by_port = [
            setting
            for policy in policies
            for setting in policy.get("portLevelSettings", ())
            if setting["port"]["number"] == number
        ]
        modes = [policy["tls"] for policy in (by_port or policies) if "tls" in policy]
        if not modes:
            return {}
        if modes != [{"mode": "SIMPLE", "insecureSkipVerify": True}]:
            raise ValueError(f"encryption that this gateway does not play: {modes}")
        context = {"@type": f"{EXTENSION}.transport_sockets.tls.v3.UpstreamTlsContext"}
        context["common_tls_context"] = {"alpn_protocols": ["h2"]}
        return {"transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": context}}

    def _service(self, service: Tree, number: int) -> str:
        """Return the cluster of a Service's port: the ready pods that it selects."""
        about = service["metadata"]
        spec = service["spec"]
        (port,) = (port for port in spec["ports"] if port["port"] == number)
        pods = self._ready_pods(about["namespace"], spec["selector"])
        addresses = [(pod["status"]["podIP"], _container_port(pod, port.get("targetPort", number))) for pod in pods]
        name = f"service/{about['namespace']}/{about['name']}:{number}"
        return self._cluster(name, addresses, {}, http2=port.get("appProtocol") in H2C)

    def _cluster(self, name: str, addresses: Sequence[Address], more: Tree, *, http2: bool) -> str:
        endpoints = [{"endpoint": {"address": _socket(*address)}} for address in addresses]
        protocol = {"http2_protocol_options": {}} if http2 else {"http_protocol_options": {}}
        message = "upstreams.http.v3.HttpProtocolOptions"
        options = {"@type": f"{EXTENSION}.{message}", "explicit_http_config": protocol}
        self._clusters[name] = {
            "name": name,
            "type": "STATIC",
            "connect_timeout": "2s",
            "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": endpoints}]},
            "typed_extension_protocol_options": {f"envoy.extensions.{message}": options},
            **more,
        }
        return name

    def _ready_pods(self, namespace: str, selector: Mapping[str, str]) -> list[Tree]:
        pods = [pod for pod in self._of("Pod") if pod["metadata"]["namespace"] == namespace and is_ready(pod)]
        return [pod for pod in pods if _selects(selector, pod["metadata"].get("labels", {}))]

    def _of(self, kind: str) -> list[Tree]:
        return [manifest for manifest in self._objects if manifest["kind"] == kind]

    def _find(self, kind: str, namespace: str, name: str) -> Tree | None:
        identity = {"namespace": namespace, "name": name}.items()
        return next((manifest for manifest in self._of(kind) if identity <= manifest["metadata"].items()), None)


def is_ready(pod: Tree) -> bool:
    """Tell whether a pod may get requests."""
    conditions = pod.get("status", {}).get("conditions", ())
    ready = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def _parents(route: Tree) -> set[str]:
    """Return the gateways to which a route is attached, each as namespace/name."""
    namespace = route["metadata"]["namespace"]
    group = "gateway.networking.k8s.io"
    return {
        f"{parent.get('namespace', namespace)}/{parent['name']}"
        for parent in route["spec"].get("parentRefs", ())
        if (parent.get("group", group), parent.get("kind", "Gateway")) == (group, "Gateway")
    }


def _entries(route: Tree) -> Iterator[Entry]:
    for hostname in route["spec"].get("hostnames") or (ANY_HOST,):
        for number, rule in enumerate(route["spec"].get("rules", ())):
            for place, match in enumerate(rule.get("matches") or ({},)):
                yield Entry(hostname, route, (number, place), match)


def _covers(hostname: str, host: str) -> bool:
    """Tell whether everything that asks for a host asks for the hostname, too."""
    return hostname in {ANY_HOST, host} or (hostname.startswith("*.") and host.endswith(hostname[1:]))


def _match(match: Tree) -> Tree:
    path = match.get("path", {"type": "PathPrefix", "value": "/"})
    headers = [{"name": header["name"], "string_match": _string(header)} for header in match.get("headers", ())]
    if "method" in match:
        headers.append({"name": ":method", "string_match": {"exact": match["method"]}})
    asked = [
        {"name": parameter["name"], "string_match": _string(parameter)} for parameter in match.get("queryParams", ())
    ]
    return _path(path["type"], path["value"]) | {"headers": headers, "query_parameters": asked}


def _path(kind: str, value: str) -> Tree:
    if kind == "Exact":
        return {"path": value}
    if kind == "RegularExpression":
        return {"safe_regex": {"regex": value}}
    whole = value.rstrip("/")
    return {"path_separated_prefix": whole} if whole else {"prefix": "/"}


def _string(matcher: Tree) -> Tree:
    if matcher.get("type", "Exact") == "Exact":
        return {"exact": matcher["value"]}
    return {"safe_regex": {"regex": matcher["value"]}}


def _rewrite(rewrite: Tree, match: Tree) -> Tree:
    host = {"host_rewrite_literal": rewrite["hostname"]} if "hostname" in rewrite else {}
    path = rewrite.get("path")
    if path is None:
        return host
    if path["type"] == "ReplaceFullPath":
        return host | {"regex_rewrite": {"pattern": {"regex": ".*"}, "substitution": path["replaceFullPath"]}}
    if path["type"] != "ReplacePrefixMatch":
        raise ValueError(f"a rewrite that this gateway does not play: {path['type']}")
    prefix = match["path"]["value"].rstrip("/")
    other = path["replacePrefixMatch"].rstrip("/")
    if match["path"]["type"] != "PathPrefix":
        raise ValueError("only of a prefix the prefix can be replaced")
    # What follows the prefix begins with a slash, or is nothing; both become what begins with one.
    pattern = f"^{re.escape(prefix)}/*"
    return host | {"regex_rewrite": {"pattern": {"regex": pattern}, "substitution": f"{other}/"}}


def _redirect(redirect: Tree) -> Tree:
    codes = {
        301: "MOVED_PERMANENTLY",
        302: "FOUND",
        303: "SEE_OTHER",
        307: "TEMPORARY_REDIRECT",
        308: "PERMANENT_REDIRECT",
    }
    named = {"scheme": "scheme_redirect", "hostname": "host_redirect", "port": "port_redirect"}
    unknown = redirect.keys() - {*named, "statusCode"}
    if unknown:
        raise ValueError(f"redirects that this gateway does not play: {unknown}")
    target = {theirs: redirect[ours] for ours, theirs in named.items() if ours in redirect}
    return target | {"response_code": codes[redirect.get("statusCode", 302)]}


def _headers(direction: str, change: Tree) -> Tree:
    actions = {"set": "OVERWRITE_IF_EXISTS_OR_ADD", "add": "APPEND_IF_EXISTS_OR_ADD"}
    added = [
        {"header": {"key": header["name"], "value": header["value"]}, "append_action": action}
        for key, action in actions.items()
        for header in change.get(key, ())
    ]
    return {f"{direction}_headers_to_add": added, f"{direction}_headers_to_remove": change.get("remove", [])}


def _timeout(timeouts: Tree) -> str:
    """Return how long a request may take, which is tried once: the shorter time holds. 0s is no limit."""
    text = timeouts.get("backendRequest", timeouts.get("request", "0s"))
    for limit in timeouts.values():
        if not DURATION.fullmatch(limit):
            raise ValueError(f"no duration: {limit}")
    seconds = sum(float(number) * UNITS[unit] for number, unit in re.findall(r"(\d+)(ms|h|m|s)", text))
    return f"{seconds:.3f}s"


def _policy(name: str, message: str, **more: Any) -> Tree:
    typed = {"@type": f"{EXTENSION}.load_balancing_policies.{name}.v3.{message}", **more}
    return {"typed_extension_config": {"name": f"envoy.load_balancing_policies.{name}", "typed_config": typed}}


def _socket(address: str, port: int) -> Tree:
    return {"socket_address": {"address": address, "port_value": port}}


def _container_port(pod: Tree, target: str | int) -> int:
    if isinstance(target, int):
        return target
    ports = [port for container in pod["spec"]["containers"] for port in container.get("ports", ())]
    return next(port["containerPort"] for port in ports if port.get("name") == target)


def _selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return bool(selector) and selector.items() <= labels.items()
