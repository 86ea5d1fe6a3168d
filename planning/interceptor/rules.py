"""Validation of metering: errors in its settings, and warnings about tasks for other people."""

import json
from collections.abc import Iterator

from models.interceptor import Interceptor, InterceptorDeployment
from models.paths import Path
from models.problems import Problem, gap, warning
from models.routing import MAX_HEADERS
from models.service import Service
from models.stack import Stack
from planning.ground import gateways
from planning.ground.api_groups import GATEWAY_GROUP
from planning.interceptor import bypass, edge
from planning.interceptor.deployment import wal_folder
from planning.interceptor.facts import facts
from planning.interceptor.records import InterceptorPlan
from planning.releases import engine_kinds
from planning.variant.context import VariantContext, gateway, resource_id

_AT = Path("interceptor")
_UNBILLED = ("/v1/responses", "/v1/messages", "/tokenize")
"""Paths of vLLM 0.32 whose answers have no usage in the form that phoebe counts (ae059e9 and 9f8dcc0)."""
_LOWEST_PORT = 1024
"""Lowest port on which a process without privileges can listen."""
_SYSTEM_FOLDERS = ("/dev", "/etc", "/proc", "/sys", "/var/run", "/run", "/bin", "/lib", "/usr")
"""Folders of an image that a volume must not cover."""


def judge(stack: Stack) -> Iterator[Problem]:
    """Yield the problems of a stack's settings for metering."""
    spec = stack.interceptor
    for key, service in stack.services.items():
        path = Path("services", key)
        yield from _without_interceptor(path, service, stack)
        if spec is not None and edge.is_metered(service, stack):
            yield from bypass.judge(path, service, spec.mode)
            yield from _headers(path, service, stack, spec)
    if spec is not None:
        yield from _search(stack, spec)
        yield from _without_deployment(spec)
        if spec.deploy is not None:
            yield from _deployment(spec, spec.deploy)


def _without_interceptor(path: Path, service: Service, stack: Stack) -> Iterator[Problem]:
    if stack.interceptor is None and service.interceptor.resource_id is not None:
        what = "has no effect without an interceptor"
        remedy = "add interceptor, or remove it"
        yield Problem(path / "interceptor" / "resourceId", what, remedy, (_AT,), explicit_only=True)


def _search(stack: Stack, spec: Interceptor) -> Iterator[Problem]:
    """Check that resource ids are distinct and, in mode label, that the interceptor can find all Services.

    In mode label, the interceptor searches only one namespace, and forwards only to names below one domain.
    """
    holders = dict[str, str]()
    namespaces = set[str]()
    for key, service in stack.services.items():
        identifier = resource_id(service, key, stack)
        if identifier is None:
            continue
        namespaces.add(service.namespace or stack.namespace)
        if identifier in holders:
            what = f"is used by services.{holders[identifier]} ({identifier})"
            remedy = "choose another id, because requests are billed by it"
            yield Problem(Path("services", key, "interceptor", "resourceId"), what, remedy)
        holders.setdefault(identifier, key)
    domain = facts().routing.domain
    if spec.mode == "label" and len(namespaces) > 1:
        what = f"label finds only Services of one namespace (label; services live in {', '.join(sorted(namespaces))})"
        remedy = "use mode: header, one stack per namespace, or interceptor.enabled: false in all but one namespace"
        yield Problem(_AT / "mode", what, remedy)
    if spec.mode == "label" and stack.cluster.domain != domain:
        what = f"label forwards only to names below {domain} (label; cluster.domain is {stack.cluster.domain})"
        yield Problem(_AT / "mode", what, "use mode: header", (Path("cluster", "domain"),))


def _without_deployment(spec: Interceptor) -> Iterator[Problem]:
    if spec.mode == "header" and spec.deploy is None and "service_account_name" in spec.explicit_fields:
        what = "has no effect in mode header, which asks no API server"
        yield Problem(_AT / "serviceAccountName", what, "remove it, or add deploy", (_AT / "mode", _AT / "deploy"))


def _deployment(spec: Interceptor, deploy: InterceptorDeployment) -> Iterator[Problem]:
    """Check the deployment against the facts of its image, and against the rights of a process without privileges."""
    at = _AT / "deploy"
    line = facts().line_of(deploy.image)
    if line is not None and line.mode != spec.mode:
        name = deploy.image.partition("@")[0].rpartition("/")[2]
        what = f"cannot do {spec.mode} routing (…/{name} is of the {line.mode} line)"
        remedy = f"use an image of the {spec.mode} line, or mode: {line.mode}"
        yield Problem(at / "image", what, remedy, (_AT / "mode",))
    if spec.port < _LOWEST_PORT:
        what = f"is a port on which a process without privileges cannot listen ({spec.port})"
        yield Problem(_AT / "port", what, "write 1024 or more, such as 8080", (at,))
    folder = wal_folder(deploy)
    covered = (facts().pod.settings, facts().pod.program, *_SYSTEM_FOLDERS)
    if any(f"{other}/".startswith(f"{folder}/") or f"{folder}/".startswith(f"{other}/") for other in covered):
        what = f"would make a volume cover a folder of the image ({deploy.emit.wal_path})"
        yield Problem(at / "emit" / "walPath", what, "write a path such as /var/lib/phoebe/metering-wal.jsonl")
    if deploy.settings_secret is not None and "stream_name" in deploy.emit.explicit_fields:
        what = "has no effect beside settingsSecret, which has all settings"
        yield Problem(at / "emit" / "streamName", what, "remove it, or remove settingsSecret", (at / "settingsSecret",))


def _headers(path: Path, service: Service, stack: Stack, spec: Interceptor) -> Iterator[Problem]:
    """Reject a route that changes headers of the interceptor's contract, or that has too many headers in one filter."""
    if not edge.is_led(service, stack):
        return
    known = facts().headers
    removed = edge.removed_headers(spec.mode)
    at = path / "route"
    added = [known.resource_id]
    if spec.mode == "header":
        added.append(known.upstream)
    decided = {name.lower() for name in (*added, *removed)}
    places = [(at / "setHeaders" / name, name) for name in service.route.set_headers]
    places += [(at / "removeHeaders" / index, name) for index, name in enumerate(service.route.remove_headers)]
    for place, name in places:
        if name.lower() in decided:
            yield Problem(place, f"is decided by the interceptor's contract ({name})", "remove it", (_AT / "mode",))
        elif name.lower() == known.auth_id.lower() and "removeHeaders" in place:
            what = f"removes the identity that requests are billed to; requests without it are answered 400 ({name})"
            yield Problem(place, what, "remove it, and let the authentication in front overwrite the header")
    for key, count in (
        ("setHeaders", len(service.route.set_headers) + len(added)),
        ("removeHeaders", len(service.route.remove_headers) + len(removed)),
    ):
        if count > MAX_HEADERS:
            what = f"has {count} headers together with those of the interceptor"
            yield Problem(at / key, what, f"leave at most {MAX_HEADERS}", (_AT,))


def judge_plan(stack: Stack, plan: InterceptorPlan | None) -> Iterator[Problem]:
    """Yield warnings about tasks for other people, and about checks that did not run."""
    spec = stack.interceptor
    if spec is None or plan is None:
        return
    led = {key: service for key, service in stack.services.items() if edge.is_led(service, stack)}
    if not any(edge.is_metered(service, stack) for service in stack.services.values()):
        yield warning(_AT, "meters nothing, because every service has interceptor.enabled: false")
    yield from _authentication(stack, led)
    yield from _unbilled_paths(led)
    if spec.deploy is None:
        yield from _others_grant(plan)
        yield from _others_policies(stack, led)
    else:
        yield from _events(spec.deploy)


def _authentication(stack: Stack, led: dict[str, Service]) -> Iterator[Problem]:
    """Yield a warning if a route does not set the header with the identity, because somebody else must then set it."""
    name = facts().headers.auth_id
    unset = [key for key in led if name.lower() not in map(str.lower, led[key].route.set_headers)]
    if not unset:
        return
    parents = [gateway(led[key], stack) for key in unset]
    places = sorted({f"{parent.namespace or stack.namespace}/{parent.name}" for parent in parents if parent})
    what = (
        f"not every route sets the header {name}, to which requests are billed: until the authentication in front of "
        f"{', '.join(places)} overwrites the header, clients can forge it, and requests without it are answered 400"
    )
    yield warning(_AT, what)


def _unbilled_paths(led: dict[str, Service]) -> Iterator[Problem]:
    """Yield a warning with the paths of engines whose requests the interceptor bills with 0, or not at all."""
    engines = [f"services.{key}" for key, service in led.items() if engine_kinds.of(service, service).vllm_tables]
    if engines:
        paths = f"{', '.join(_UNBILLED[:-1])} and {_UNBILLED[-1]}"
        what = f"does not bill requests for {paths}, which the routes of {', '.join(engines)} let through"
        yield warning(_AT, what, "let the authentication in front of the gateway refuse these paths")


def _others_grant(plan: InterceptorPlan) -> Iterator[Problem]:
    """Yield a warning with the ReferenceGrant that the owner of the interceptor's namespace has to make."""
    grant = plan.route_grant
    if grant is None:
        return
    sources = [{"group": GATEWAY_GROUP, "kind": "HTTPRoute", "namespace": source} for source in grant.sources]
    manifest = {
        "apiVersion": f"{GATEWAY_GROUP}/v1beta1",
        "kind": "ReferenceGrant",
        "metadata": {"name": grant.name, "namespace": grant.namespace},
        "spec": {"from": sources, "to": [{"group": "", "kind": "Service", "name": grant.service}]},
    }
    what = f"namespace {grant.namespace} is not of this stack, so routes lead there only with a ReferenceGrant"
    yield warning(_AT / "namespace", what, f"apply {json.dumps(manifest)}")


def _others_policies(stack: Stack, led: dict[str, Service]) -> Iterator[Problem]:
    """Yield a warning if a load balancer of Google leads to an interceptor that this stack does not deploy."""
    gateways_of_google = [
        parent for service in led.values() if (parent := gateway(service, stack)) and parent.provider == "gke"
    ]
    if gateways_of_google:
        known = gateways.facts(gateways_of_google[0])
        title = ""
        if known is not None:
            title = known.title
        what = (
            f"{title} checks the path / and cuts answers after 30 seconds, unless policies of the Service change this"
        )
        remedy = f"let a HealthCheckPolicy ask {facts().pod.health}, and a GCPBackendPolicy set timeoutSec"
        yield warning(_AT / "serviceName", what, remedy)


def _events(deploy: InterceptorDeployment) -> Iterator[Problem]:
    at = _AT / "deploy"
    if facts().line_of(deploy.image) is None:
        reason = "the image is unknown; name a known tag beside the digest, or send a test request after the run"
        yield gap(at / "image", "support for the mode", reason)
    if deploy.emit.valkey_addr is None and deploy.settings_secret is None:
        what = "events of metering stay in the pods, and are lost when the pods end"
        yield warning(at / "emit", what, "set valkeyAddr")


def judge_service(variant: VariantContext) -> Iterator[Problem]:
    """Yield warnings about a metered service: an endpoint picker without requests, and requests without metering."""
    if variant.metered_as is None:
        return
    yield from bypass.judge_picker(variant)
    if not edge.is_led(variant.service, variant.stack):
        what = "has no route to the interceptor, so requests are metered only if somebody else leads them there"
        yield warning(variant.path / "interceptor", what, "add a gateway, or set interceptor.enabled: false")
