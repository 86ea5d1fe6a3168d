"""Faults of a living stack: how each is made, which services it stops, what `status` blames, and how it is repaired."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from judging.status.records import Finding
from planning.ground import labels
from tests.support.cluster.editing import manager_of
from tests.support.traffic.data_path import SERVER
from tests.support.traffic.living import LEASE, NAMESPACE, TIMES, LivingStack, crashing, running

GATEWAY = ("gateways", "gateway")
EVERY = frozenset(TIMES)
REFUSAL = "failed to load the configuration: unknown plugin type"
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
Undo = Callable[[], None]


@dataclass(frozen=True)
class Fault:
    """A fault."""

    name: str
    about: frozenset[str]
    """Parts of the stack that it touches. Faults that touch the same part are not made together: repairing one would
    undo the other."""
    make: Callable[[LivingStack], Undo]
    """Make the fault, and return what repairs it."""
    blamed: frozenset[tuple[str, str]]
    """Kind of the object and id of the state that `status` blames."""
    names: Callable[[str], bool] = field(default=lambda _: True)
    """Whether an object with this name is the one to blame."""
    stops: frozenset[str] = frozenset()
    """Services of which requests are not answered."""

    def is_blamed(self, finding: Finding) -> bool:
        """Tell whether a culprit is this fault."""
        return (finding.object.kind, finding.state.id) in self.blamed and self.names(finding.object.name)


def _named(*names: str) -> Callable[[str], bool]:
    return lambda name: name in names


def _of_pods(deployment: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(f"{deployment}-") or name == deployment


def edited(kind: str, place: tuple[str, str], path: str, value: object) -> Callable[[LivingStack], Undo]:
    """Change a field of an object; the repair writes back what it was."""

    def make(stack: LivingStack) -> Undo:
        editor = stack.editor
        before: Any = editor.get(kind, *place)
        manager = manager_of(before)
        for key in path.strip("/").split("/"):
            step = key.replace("~1", "/")
            before = before[int(step)] if isinstance(before, list) else before.get(step)
        editor.patch(kind, *place, {"op": "add", "path": path, "value": value})
        repair = (
            {"op": "replace", "path": path, "value": before} if before is not None else {"op": "remove", "path": path}
        )
        return lambda: editor.patch(kind, *place, repair, manager)

    return make


def deleted(kind: str, place: tuple[str, str]) -> Callable[[LivingStack], Undo]:
    """Delete an object; the repair makes it anew."""

    def make(stack: LivingStack) -> Undo:
        before = stack.editor.delete(kind, *place)
        return lambda: stack.editor.create(kind, before, manager_of(before))

    return make


def unready(service: str, variant: str = "primary", *, count: int | None = None) -> Callable[[LivingStack], Undo]:
    """Let the engines of pods hang: their probes fail, and nothing answers."""

    def make(stack: LivingStack) -> Undo:
        pods = stack.pods(SERVER, service, variant)[:count]
        for pod in pods:
            stack.stop_server(pod["metadata"]["name"])
            stack.tell(pod, running(is_ready=False, container=_container(pod), started=LONG_AGO))

        def repair() -> None:
            for pod in pods:
                stack.tell(pod, running(is_ready=True, container=_container(pod), started=LONG_AGO))

        return repair

    return make


def _container(pod: Any) -> str:
    return pod["spec"]["containers"][0]["name"]


def scaled(deployment: str, replicas: int) -> Callable[[LivingStack], Undo]:
    """Scale a workload of engines, as somebody would by hand."""
    return edited("Deployment", (NAMESPACE, deployment), "/spec/replicas", replicas)


def picker_gone(name: str, change: Callable[[LivingStack], Undo]) -> Callable[[LivingStack], Undo]:
    """Change the Deployment of a picker so that its process ends."""

    def make(stack: LivingStack) -> Undo:
        repair = change(stack)
        stack.stop_picker(name)

        def undo() -> None:
            repair()
            stack.start_picker(name)

        return undo

    return make


def picker_down(
    name: str, service: str, variant: str, status: Callable[[], Mapping[str, Any]]
) -> Callable[[LivingStack], Undo]:
    """End the process of a picker, and say of all its pods what a kubelet would."""

    def make(stack: LivingStack) -> Undo:
        pods = stack.pods("endpoint-picker", service, variant)
        stack.stop_picker(name)
        for pod in pods:
            stack.tell(pod, status())

        def repair() -> None:
            if service == "pair":
                # The leader ended without giving its Lease back, which then runs for 15 seconds.
                stack.editor.delete("Lease", NAMESPACE, LEASE)
            stack.start_picker(name)
            for pod in pods:
                stack.tell(pod, running(is_ready=pod is pods[0], container="epp"))

        return repair

    return make


def _waiting() -> Mapping[str, Any]:
    return running(is_ready=False, container="epp")


def _crashing() -> Mapping[str, Any]:
    return crashing("epp", 1, REFUSAL)


def leaderless(stack: LivingStack) -> Undo:
    """End the leader so that its Lease runs out, while all pods run on without anybody who takes it."""
    return picker_down("pair-epp", "pair", "primary", _waiting)(stack)


def quota(service: str) -> Callable[[LivingStack], Undo]:
    """Use up a quota of pods, and lose the pods of a service."""
    used_up = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": NAMESPACE}}

    def make(stack: LivingStack) -> Undo:
        stack.editor.create("ResourceQuota", used_up | {"spec": {"hard": {"count/pods": "0"}}})
        stack.wait_for_quota("few")
        for pod in stack.pods(SERVER, service):
            stack.editor.delete("Pod", NAMESPACE, pod["metadata"]["name"])

        def repair() -> None:
            stack.editor.delete("ResourceQuota", NAMESPACE, "few")
            stack.hurry()

        return repair

    return make


def _faults() -> tuple[Fault, ...]:
    return (*_of_gateways(), *_of_routes(), *_of_pools(), *_of_pickers(), *_of_workloads())


def _with_pickers(change: Callable[[LivingStack], Undo]) -> Callable[[LivingStack], Undo]:
    """Make a change that takes all listeners away; the repair returns when the new ones ask pickers again."""

    def make(stack: LivingStack) -> Undo:
        repair = change(stack)

        def undo() -> None:
            repair()
            stack.renew_listener()

        return undo

    return make


def _of_gateways() -> tuple[Fault, ...]:
    about = frozenset({"gateway"})
    same = edited("Gateway", GATEWAY, "/spec/listeners/0/allowedRoutes/namespaces/from", "Same")
    other_class = _with_pickers(edited("Gateway", GATEWAY, "/spec/gatewayClassName", "nowhere"))
    gone = _with_pickers(deleted("Gateway", GATEWAY))
    is_gateway = _named("gateway")
    return (
        Fault("no-admission", about, same, frozenset({("HTTPRoute", "route-refused")}), stops=EVERY),
        Fault("no-class", about, other_class, frozenset({("Gateway", "gateway-unseen")}), is_gateway, EVERY),
        Fault(
            "no-gateway",
            about,
            gone,
            frozenset({("Gateway", "gateway-missing")}),
            is_gateway,
            EVERY,
        ),
    )


def _of_routes() -> tuple[Fault, ...]:
    faults = [fault for service in sorted(EVERY) for fault in _of_route(service)]
    weight = edited("HTTPRoute", (NAMESPACE, "chat"), "/spec/rules/0/backendRefs/0/weight", 90)
    blamed = frozenset({("HTTPRoute", "weight-differs")})
    return *faults, Fault("other-weights", frozenset({"route/chat"}), weight, blamed, _named("chat"))


def _of_route(service: str) -> Iterator[Fault]:
    """Yield the faults of the route of a service."""
    place = (NAMESPACE, service)
    other = f"other-{service}"
    shared = {"about": frozenset({f"route/{service}"}), "stops": frozenset({service})}
    is_route = _named(service)
    refused = _blames("HTTPRoute", "route-refused")
    section = edited("HTTPRoute", place, "/spec/parentRefs/0/sectionName", "nowhere")
    parent = edited("HTTPRoute", place, "/spec/parentRefs/0/name", other)
    missing = _blames("HTTPRoute", "route-missing")
    yield Fault(f"no-route-{service}", make=deleted("HTTPRoute", place), blamed=missing, names=is_route, **shared)
    yield Fault(f"no-section-{service}", make=section, blamed=refused, names=is_route, **shared)
    absent = _blames("Gateway", "gateway-missing")
    yield Fault(f"no-parent-{service}", make=parent, blamed=absent, names=_named(other), **shared)
    yield from _of_backends(service, place, shared)


def _of_backends(service: str, place: tuple[str, str], shared: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the faults of the backends of a route. `shared` are fields that all faults of the route have."""
    backend = f"/spec/rules/0/backendRefs/{1 if service == 'chat' else 0}"
    other = "nowhere" if service == "plain" else f"no-{service}"
    wrong = edited("HTTPRoute", place, f"{backend}/name", other)
    if service == "plain":
        unresolved = _blames("HTTPRoute", "route-unresolved")
        yield Fault("no-service-plain", make=wrong, blamed=unresolved, names=_named(service), **shared)
        return
    missing = _blames("InferencePool", "pool-missing")
    yield Fault(f"no-backend-{service}", make=wrong, blamed=missing, names=_named(other), **shared)
    if service != "chat":
        empty = edited("HTTPRoute", place, f"{backend}/weight", 0)
        without = _blames("HTTPRoute", "route-empty")
        yield Fault(f"no-share-{service}", make=empty, blamed=without, names=_named(service), **shared)


def _of_pools() -> tuple[Fault, ...]:
    services = {"chat": "chat", "chat-canary": "chat", "code": "code", "open": "open", "pair": "pair"}
    return tuple(
        fault
        for name, service in services.items()
        for fault in (*_of_pool(name, service), *_of_picker_references(name, service))
    )


def _of_pool(name: str, service: str) -> Iterator[Fault]:
    """Yield the faults of a pool, which requests to a service need."""
    place = (NAMESPACE, name)
    shared = {"about": frozenset({f"pool/{name}"}), "names": _named(name), "stops": frozenset({service})}
    selector = "/spec/selector/matchLabels/"
    nobody = edited("InferencePool", place, f"{selector}{labels.SERVICE.replace('/', '~1')}", "nobody")
    generation = edited("InferencePool", place, f"{selector}{labels.GENERATION.replace('/', '~1')}", "3f2a1")
    missing = _blames("InferencePool", "pool-missing")
    yield Fault(f"no-pool-{name}", make=deleted("InferencePool", place), blamed=missing, **shared)
    nothing = _blames("InferencePool", "selects-nothing")
    yield Fault(f"no-selection-{name}", make=nobody, blamed=nothing, **shared)
    other = _blames("InferencePool", "other-generation")
    yield Fault(f"other-generation-{name}", make=generation, blamed=other, **shared)


def _of_picker_references(name: str, service: str) -> Iterator[Fault]:
    """Yield the faults of a pool's reference to its picker, which stop no request if the pool fails open."""
    place = (NAMESPACE, name)
    stops = frozenset() if name in {"open", "chat-canary"} else frozenset({service})
    shared = {"about": frozenset({f"pool/{name}"}), "names": _named(name), "stops": stops}
    port = edited("InferencePool", place, "/spec/endpointPickerRef/port/number", 9999)
    reference = edited("InferencePool", place, "/spec/endpointPickerRef/name", "nowhere")
    closed = _blames("InferencePool", "picker-port")
    yield Fault(f"other-port-{name}", make=port, blamed=closed, **shared)
    if name != "chat-canary":
        refused = _blames("InferencePool", "pool-refused")
        yield Fault(f"no-picker-service-{name}", make=reference, blamed=refused, **shared)


def _blames(kind: str, state: str) -> frozenset[tuple[str, str]]:
    return frozenset({(kind, state)})


def _of_pickers() -> tuple[Fault, ...]:
    faults = [fault for name in ("chat", "chat-canary", "code", "open", "pair") for fault in _of_picker(name)]
    pair = frozenset({"picker/pair"})
    return *faults, Fault("no-leader", pair, leaderless, _blames("Lease", "no-leader"), _named(LEASE), _stops("pair"))


def _of_picker(name: str) -> Iterator[Fault]:
    """Yield the faults of the picker of a variant, which stop no request if its pool fails open."""
    service, _, variant = name.partition("-")
    deployment = f"{name}-epp"
    stops = frozenset[str]() if name in {"open", "chat-canary"} else _stops(service)
    shared: dict[str, Any] = {"about": frozenset({f"picker/{name}"}), "stops": stops}
    refuses = picker_down(deployment, service, variant or "primary", _crashing)
    of_pods = {**shared, "names": _of_pods(deployment)}
    yield Fault(f"picker-refuses-{name}", make=refuses, blamed=_blames("Pod", "picker-refuses"), **of_pods)
    if name != "pair":
        hangs = picker_down(deployment, service, variant or "primary", _waiting)
        yield Fault(f"picker-hangs-{name}", make=hangs, blamed=_blames("Pod", "picker-slow"), **of_pods)
        yield from _of_picker_deployment(name, deployment, shared)


def _of_picker_deployment(name: str, deployment: str, shared: Mapping[str, Any]) -> Iterator[Fault]:
    place = (NAMESPACE, deployment)
    shared = {**shared, "names": _named(deployment)}
    gone = picker_gone(deployment, deleted("Deployment", place))
    yield Fault(f"no-picker-{name}", make=gone, blamed=_blames("Deployment", "picker-missing"), **shared)
    zero = picker_gone(deployment, edited("Deployment", place, "/spec/replicas", 0))
    yield Fault(f"picker-stopped-{name}", make=zero, blamed=_blames("Deployment", "picker-stopped"), **shared)


def _stops(service: str) -> frozenset[str]:
    return frozenset({service})


def _of_workloads() -> tuple[Fault, ...]:
    names = ("chat", "chat-canary", "code", "open", "pair", "plain")
    faults = [fault for name in names for fault in _of_workload(name)]
    about = frozenset({"workload/chat"})
    half = unready("chat", count=1)
    half_down = Fault("an-engine-hangs-chat", about, half, _blames("Pod", "not-ready"), _of_pods("chat-decode"))
    return *faults, half_down


def _of_workload(name: str) -> Iterator[Fault]:
    """Yield the faults of the workload of a variant."""
    service, _, variant = name.partition("-")
    deployment = f"{name}-decode"
    about = frozenset({f"workload/{name}"})
    shared: dict[str, Any] = {"about": about, "stops": _stops(service)}
    named = {**shared, "names": _named(deployment)}
    hangs = unready(service, variant or "primary")
    not_ready = _blames("Pod", "not-ready")
    yield Fault(f"engines-hang-{name}", make=hangs, blamed=not_ready, names=_of_pods(deployment), **shared)
    gone = deleted("Deployment", (NAMESPACE, deployment))
    yield Fault(f"no-workload-{name}", make=gone, blamed=_blames("Deployment", "workload-missing"), **named)
    zero = scaled(deployment, 0)
    yield Fault(f"scaled-to-zero-{name}", make=zero, blamed=_blames("Deployment", "scaled-by-hand"), **named)
    if not variant:
        used: dict[str, Any] = {"about": about | {"quota"}, "stops": _stops(service)}
        yield Fault(f"no-quota-{name}", make=quota(service), blamed=_blames("Deployment", "quota"), **used)


FAULTS = _faults()
