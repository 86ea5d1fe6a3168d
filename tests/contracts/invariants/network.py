"""Rights of each kind of pods in the network, from its own point of view."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.contracts.invariants import identity, metering
from tests.contracts.invariants.facts import FRONT_ENDS
from tests.contracts.invariants.storage import Owner, of_variant, weights_of
from tests.contracts.invariants.trees import look
from tests.contracts.invariants.variants import Role, Variant
from tests.contracts.invariants.weights import Item, fetched
from tests.contracts.invariants.world import Place, World, marks, same

ANY, DNS = {"protocol": "TCP"}, [{"protocol": protocol, "port": 53} for protocol in ("TCP", "UDP")]
ENGINE_METRICS = {"queue-size", "running-requests", "kv-cache-utilization"}
VENDORS = {"hf": ("HF_ENDPOINT", "https://huggingface.co"), "s3": ("AWS_ENDPOINT_URL", "https://s3.amazonaws.com")}
OUTSIDE = [
    {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}},
    {"ipBlock": {"cidr": "::/0", "except": ["fe80::/10", "fd00:ec2::/32"]}},
]
Peers = list[dict[str, Any]]
_text = json.JSONEncoder(sort_keys=True).encode


def places(variant: Variant) -> Iterator[tuple[Place, str]]:
    """Yield where every policy of a variant is, and what it is a part of."""
    if "networkPolicies" in variant.stack:
        for role in variant.roles:
            yield ("NetworkPolicy", role.workload, variant.namespace), "model-server"
            if role.pods > 1:
                yield ("NetworkPolicy", role.policy_of_workers, variant.namespace), "model-server"
        if variant.picked:
            yield ("NetworkPolicy", variant.picker, variant.namespace), "endpoint-picker"


def _tcp(*ports: int) -> list[dict[str, Any]]:
    return [{"protocol": "TCP", "port": port} for port in ports]


def _rule(peers: Peers, ports: list[dict[str, Any]]) -> str:
    """Write a rule so that it compares, whatever stands first in it."""
    return f"{sorted(map(_text, peers))} {sorted(map(_text, ports))}"


def _written(rules: list[Any], direction: str) -> list[str]:
    for rule in rules:
        assert set(rule) <= {direction, "ports"}
    return sorted(_rule(rule.get(direction, []), rule["ports"]) for rule in rules)


def _pods(labels: Mapping[str, str]) -> Peers:
    return [{"podSelector": {"matchLabels": dict(labels)}}]


def _in(namespace: str, policy_namespace: str, labels: Mapping[str, str] | None = None) -> Peers:
    """Return pods of a namespace, as one peer."""
    pods = {"podSelector": {"matchLabels": dict(labels)}} if labels else {}
    if namespace == policy_namespace:
        return [pods or {"podSelector": {}}]
    return [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}} | pods]


def _blocks(*ranges: str) -> Peers:
    return [{"ipBlock": {"cidr": cidr}} for cidr in ranges]


def _compare(what: str, policy: Any, labels: Mapping[str, str], reaching: set[str], begun: set[str]) -> Iterator[str]:
    spec = policy["spec"]
    yield from same(f"{what} pods", spec["podSelector"], {"matchLabels": dict(labels)})
    yield from same(f"{what} directions", sorted(spec["policyTypes"]), ["Egress", "Ingress"])
    yield from same(f"{what} ingress", _written(spec.get("ingress", []), "from"), sorted(reaching))
    yield from same(f"{what} egress", _written(spec["egress"], "to"), sorted(begun))


def the_policies_let_through_what_is_needed(world: World) -> Iterator[str]:
    variant = world.variant
    if "networkPolicies" not in variant.stack:
        return
    for role in variant.roles:
        yield from _of_a_role(world, role, serves=True)
        if role.pods > 1:
            yield from _of_a_role(world, role, serves=False)
    if not variant.picked:
        return
    begun = {_asks_pods(world, role) for role in variant.roles} | {*_past_the_pool(world)} | {*_picker_leaving(variant)}
    begun |= {*_any_set(world)}
    policy = world.get("NetworkPolicy", variant.picker)
    yield from _compare(variant.picker, policy, identity.picker(world), {*_asking_the_picker(world)}, begun)


def _of_a_role(world: World, role: Role, *, serves: bool) -> Iterator[str]:
    name = role.workload if serves else role.policy_of_workers
    labels = identity.role(world, role.name) if serves else _working(world, role)
    both = {_rule(_pods(peer), [ANY]) for peer in _peers(world, role, serves=serves)}
    asked = {*_requests(world, role), *_of_the_picker(world, role), *_scraping(world, role)} if serves else set[str]()
    begun = both | {*_leaving(world, role, serves=serves)}
    yield from _compare(name, world.get("NetworkPolicy", name), labels, asked | both, begun)


def _working(world: World, role: Role) -> dict[str, str]:
    labels = identity.role(world, role.name)
    return {"inference-stacks.io/worker-of": labels.pop("inference-stacks.io/service"), **labels}


def _gateway(variant: Variant, other: Variant) -> list[Peers]:
    """Return whence a service's requests come, as policies beside `variant` name it."""
    return _gateway_from(variant.namespace, other)


def _gateway_from(namespace: str, other: Variant) -> list[Peers]:
    if not other.is_routed:
        return []
    spec = other.stack["networkPolicies"]
    proxies = spec.get("proxyCIDRs", [])
    if other.provider == "gke":
        return [_blocks(*FRONT_ENDS, *proxies)]
    space = spec.get("gatewayNamespace", other.gateway.get("namespace", other.stack["namespace"]))
    pods = _in(space, namespace, spec.get("gatewayPods"))
    return [pods, _blocks(*proxies)] if proxies else [pods]


def _requests(world: World, role: Role) -> Iterator[str]:
    variant = world.variant
    decodes = role.stage == "decode"
    passed = variant.say("endpointPicker", "failureMode") == "FailOpen" or variant.provider == "gke"
    if metering.billed(variant) is not None and decodes:
        spec = variant.stack["interceptor"]
        pods = _interceptor(spec) if "deploy" in spec else None
        yield _rule(_in(spec["namespace"], variant.namespace, pods), _tcp(variant.port))
    elif metering.billed(variant) is None:
        for gateway in _gateway(variant, variant) if decodes or passed else []:
            yield _rule(gateway, _tcp(*role.pool_ports))
    if variant.is_canary or not decodes:
        return
    for other in (Variant(variant.stack, key) for key in variant.stack["services"]):
        if other.mirrored is not None and other.mirrored.key == variant.key:
            yield from (_rule(gateway, _tcp(variant.port)) for gateway in _gateway(variant, other))


def _interceptor(spec: Mapping[str, Any]) -> dict[str, str]:
    return {"inference-stacks.io/interceptor": spec.get("serviceName", "phoebe-interceptor")}


def the_interceptors_policy_lets_through_what_is_needed(
    stack: Mapping[str, Any], every: Sequence[Variant], index: Mapping[Place, Any]
) -> Iterator[str]:
    """Compare the policy of an interceptor's pods: gateways ask it, and it asks models, and what it needs for that."""
    spec = stack.get("interceptor", {})
    if "deploy" not in spec or "networkPolicies" not in stack:
        return
    space, (name,) = spec["namespace"], _interceptor(spec).values()
    metered = [variant for variant in every if metering.billed(variant) is not None]
    ports = _tcp(spec.get("port", 8080))
    reaching = {_rule(peers, ports) for variant in metered for peers in _gateway_from(space, variant)}
    begun = {*_dns(stack, space)}
    for variant in metered:
        pods = identity.destinations(World(variant, index))
        begun.add(_rule(_in(variant.namespace, space, pods), _tcp(variant.port)))
    if spec["mode"] == "label":
        begun.add(_api_server(stack))
    address = look(spec, ("deploy", "emit", "valkeyAddr"), None)
    begun |= set() if address is None else {*_asked(stack, space, f"http://{address}")}
    yield from _compare(name, index["NetworkPolicy", name, space], _interceptor(spec), reaching, begun)


def _events(role: Role) -> list[int]:
    publishes = role.variant.precise or role.variant.say("kvCache", "events", default=False)
    return [5556 + rank for rank in role.ranks] if publishes and not role.custom else []


def _tokenizes(world: World) -> bool:
    """Say whether the picker asks the Service of the variant for tokens, which finds pods of any generation."""
    return world.variant.precise and world.variant.generation is not None


def _of_the_picker(world: World, role: Role) -> Iterator[str]:
    picker_labels, events = identity.picker(world), _events(role)
    if not world.variant.picked:
        return
    if role.stage == "decode" and _tokenizes(world):
        yield _rule(_pods(picker_labels), _tcp(*role.pool_ports[1:], *events))
        every = {key: value for key, value in picker_labels.items() if "generation" not in key}
        yield _rule(_pods(every), _tcp(world.variant.port))
    else:
        yield _rule(_pods(picker_labels), _tcp(*role.pool_ports, *events))


def _asks_pods(world: World, role: Role) -> str:
    only = role.stage == "decode" and _tokenizes(world)
    ports = _tcp(*(role.pool_ports[1:] if only else role.pool_ports), *_events(role))
    return _rule(_pods(identity.role(world, role.name)), ports)


def _any_set(world: World) -> Iterator[str]:
    """Yield the rules for decode pods that precede the sets, or that a set of another name has."""
    destinations = world.variant.destinations
    is_divided = len(destinations) > 1 or destinations[0].name != "decode"
    if is_divided and not _tokenizes(world):
        for role in destinations:
            yield _rule(_pods(identity.destinations(world)), _tcp(*role.pool_ports, *_events(role)))


def _past_the_pool(world: World) -> Iterator[str]:
    if _tokenizes(world):
        yield _rule(_pods(identity.routed(world)), _tcp(world.variant.port))


def _scrapers(variant: Variant) -> list[Peers]:
    if _type(variant) == "gmp":
        return [_in(namespace, variant.namespace) for namespace in ("gmp-system", "gke-gmp-system")]
    return [_in(variant.stack["networkPolicies"].get("prometheusNamespace", "monitoring"), variant.namespace)]


def _type(variant: Variant) -> str:
    return look(variant.stack, ("observability", "metrics", "type"), "none")


def _scraping(world: World, role: Role) -> Iterator[str]:
    variant = world.variant
    follows = ENGINE_METRICS & {metric["type"] for metric in (role.scaling or {}).get("metrics", [])}
    if follows or (_type(variant) != "none" and variant.say("metrics", role.stage, default=True)):
        yield from (_rule(scraper, _tcp(*role.engine_ports)) for scraper in _scrapers(variant))


def _asking_the_picker(world: World) -> Iterator[str]:
    variant = world.variant
    ports = [variant.say("endpointPicker", "port", default=9002), *([9003] if variant.provider == "gke" else [])]
    if metering.billed(variant) is None:
        yield from (_rule(gateway, _tcp(*ports)) for gateway in _gateway(variant, variant))
    if variant.proxy is not None:
        yield _rule([], _tcp(variant.proxy.get("port", 8081)))
    wakes = any(role.scaling and role.scaling.get("minReplicas", 1) == 0 for role in variant.roles)
    if wakes or (_type(variant) != "none" and variant.say("metrics", "picker", default=True)):
        yield from (_rule(scraper, _tcp(9090)) for scraper in _scrapers(variant))


def _peers(world: World, role: Role, *, serves: bool) -> Iterator[dict[str, str]]:
    """Yield the pods that some exchange anything with, either way."""
    for other in world.variant.roles:
        leads, works = identity.role(world, other.name), _working(world, other)
        if other.name != role.name and other.stage == role.stage:
            # Sets of one stage exchange nothing.
            continue
        if other.name != role.name:
            yield leads
            if other.pods > 1:
                yield works
        elif other.pods > 1:
            if not serves:
                yield leads
            if serves or other.pods > 2:
                yield works


def _leaving(world: World, role: Role, *, serves: bool) -> Iterator[str]:
    variant = world.variant
    yield from _dns(variant.stack, variant.namespace)
    if serves and role.proxied:
        yield _api_server(variant.stack)
    if not role.custom and variant.tracing is not None:
        yield from _asked(variant.stack, variant.namespace, variant.tracing["endpoint"])
    for item in fetched(variant):
        yield from _fetching(variant.stack, variant.namespace, item, {})


def _picker_leaving(variant: Variant) -> Iterator[str]:
    yield from _dns(variant.stack, variant.namespace)
    yield _api_server(variant.stack)
    predictor = variant.say("endpointPicker", "latencyPredictor", default={})
    urls = [predictor["trainingServer"], *predictor["predictionServers"]] if "trainingServer" in predictor else []
    for url in [*urls, *([variant.tracing["endpoint"]] if variant.tracing is not None else [])]:
        yield from _asked(variant.stack, variant.namespace, url)


def _dns(stack: Mapping[str, Any], namespace: str) -> Iterator[str]:
    """Yield the rules for the DNS server's pods, and for servers in the network of a node."""
    spec = stack["networkPolicies"]
    ports = [{"protocol": protocol, "port": spec.get("dnsPort", 53)} for protocol in ("TCP", "UDP")]
    yield _rule(_in(spec.get("dnsNamespace", "kube-system"), namespace), ports)
    if local := spec.get("dnsCIDRs", ["169.254.20.10/32", "169.254.169.254/32"]):
        yield _rule(_blocks(*local), DNS)


def _api_server(stack: Mapping[str, Any]) -> str:
    ranges = stack["networkPolicies"].get("apiServerCIDRs", [])
    return _rule(_blocks(*ranges), [ANY] if ranges else _tcp(443, 6443))


def _fetching(stack: Mapping[str, Any], namespace: str, item: Item, env: Mapping[str, Any]) -> Iterator[str]:
    model = item.variant.model
    if item.scheme == "kit":
        urls = [f"{'http' if model.get('insecure') else 'https'}://{item.place.partition('/')[0]}"]
        urls += ["https://rekor.sigstore.dev"] if "verify" in model else []
    else:
        variable, vendor = VENDORS[item.scheme]
        urls = [env.get(variable, model.get("endpoint", vendor))]
    proxies = [env[name] for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") if name in env]
    for url in [*urls, *proxies]:
        yield from _asked(stack, namespace, url, 443)


def _asked(stack: Mapping[str, Any], namespace: str, url: str, *further: int) -> Iterator[str]:
    """Yield the rules for whom a URL names: in the namespace of a Service, outside, or either where nobody can tell."""
    scheme, _, place = url.partition("://")
    host, _, written = place.partition("/")[0].partition(":")
    port = int(written or {"http": 80, "https": 443}[scheme])
    parts = host.split(".")
    if parts[-1].isdigit():
        yield _rule(_blocks(f"{host}/32"), _tcp(*sorted({port, *further})))
        return
    serves = len(parts) == 1 or "svc" in parts or (len(parts) == 2 and port != 443)
    if serves:
        inside = namespace if len(parts) == 1 else parts[1]
        yield _rule(_in(inside, namespace), _tcp(port))
    if len(parts) > 1 and "svc" not in parts:
        written = stack["networkPolicies"].get("egressCIDRs")
        yield _rule(_blocks(*written) if written else OUTSIDE, _tcp(*sorted({port, *further})))


def the_job_of_a_variant_may_ask_for_its_weights(world: World) -> Iterator[str]:
    owner = of_variant(world.variant)
    if owner is not None:
        yield from a_job_may_ask_for_weights(owner, world.index)


def a_job_may_ask_for_weights(owner: Owner, index: Mapping[Place, Any]) -> Iterator[str]:
    """Compare the policy of what fills a claim: nobody asks it anything."""
    if "networkPolicies" not in owner.stack:
        return
    policy = index["NetworkPolicy", owner.job, owner.namespace]
    metadata = policy["metadata"]
    yield from same(f"{owner.job} labels", metadata["labels"], {**owner.labels, **marks(owner.part_of, "weights")})
    yield from same(f"{owner.job} annotations", metadata.get("annotations", {}), owner.annotations)
    begun = {*_dns(owner.stack, owner.namespace)}
    env = {name: value for name, value in owner.fill.get("env", {}).items() if isinstance(value, str)}
    begun |= {*_fetching(owner.stack, owner.namespace, weights_of(owner), env)}
    yield from _compare(owner.job, policy, {"batch.kubernetes.io/job-name": owner.job}, set(), begun)
