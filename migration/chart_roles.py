"""Reader of the roles in values of the Helm chart llm-d-modelservice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from migration import flags, pods, serving_pods
from migration.kserve_engine import tokens_of_program
from migration.serving_pods import Role
from models.paths import Path
from models.trees import mapping
from planning.hardware import accelerators
from planning.hardware.accelerators import AcceleratorClass

_ACCELERATOR = Path("accelerator")
_CPU = "cpu"
_STYLES = ("vllmServe", "imageDefault", "custom")
_SIMULATOR = "llm-d-inference-sim"
"""Part of the image of a program that only simulates an engine, and gets no devices."""
_SERVICE_PORT = Path("routing", "servicePort")
_TARGET_PORT = Path("routing", "proxy", "targetPort")
_DEFAULT_RESOURCES = {"rebellions-atom": "rebellions.ai/ATOM"}
"""Resources of the chart's defaults that no shipped class has."""
_DEFAULT_CLASSES = {
    "amd": "gpu.amd.com",
    "google": "tpu.google.com",
    "intel": "gpu.intel.com",
    "intel-gaudi": "gaudi.intel.com",
    "intel-i915": "gpu.intel.com",
    "intel-xe": "gpu.intel.com",
    "nvidia": "gpu.nvidia.com",
}
"""Device classes of the chart's defaults."""
_DEFAULT_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "intel-i915": {"VLLM_USE_V1": "1", "TORCH_LLM_ALLREDUCE": "1", "VLLM_WORKER_MULTIPROC_METHOD": "spawn"},
    "intel-xe": {"VLLM_WORKER_MULTIPROC_METHOD": "spawn"},
}
"""Variables of the chart's defaults by accelerator."""
_VENDORS = {"intel": "intel-xe"}
"""Shipped classes of types that have another name here."""


@dataclass(frozen=True, slots=True)
class ChartRole:
    """A role in the values of the chart."""

    role: Role
    at: Path
    """Path of its values: decode or prefill."""
    has_sidecar: bool

    @property
    def container(self) -> Path | None:
        """Path of the engine's container, which is the first one; None if there is none."""
        return next(self.role.original.items(self.at / "containers"), None)

    @property
    def port(self) -> int:
        """Port of the engine."""
        place = _TARGET_PORT if self.has_sidecar else _SERVICE_PORT
        port = self.role.original.peek(place)
        if isinstance(port, int):
            return port
        return 8200 if self.has_sidecar else 8000

    @property
    def is_simulated(self) -> bool:
        """Whether a program runs that only simulates an engine."""
        image = None
        if self.container is not None:
            image = self.role.original.peek(self.container / "image")
        return _SIMULATOR in str(image)


def read(chart: ChartRole) -> None:
    """Read the values of a role."""
    role = chart.role
    original = role.original
    role.set(original.number(chart.at / "replicas"), "replicas")
    if not role.keys:
        role.set(original.number(_SERVICE_PORT), "engine", "port")
    layout = _layout(chart)
    devices = _accelerator(chart, layout)
    container = chart.container
    if container is not None:
        _engine(chart, container)
        role.set(pods.resources(original, container / "resources", devices), "resources")
        original.drop(container / "name")
        serving_pods.keep_image(role, container / "image")
    _pod(chart, container)
    if original.peek(chart.at / "autoscaling" / "enabled") is True:
        original.note(chart.at / "autoscaling" / "enabled", "ask", key=role.key_of("replicas"))
    _rollout(chart)


def _layout(chart: ChartRole) -> dict[str, int]:
    """Read the parallelism of a role, and return its numbers."""
    at = chart.at / "parallelism"
    original = chart.role.original
    numbers = {name: original.number(at / name) for name in ("tensor", "data", "dataLocal", "workers")}
    tensor = numbers["tensor"] or 1
    data, local, workers = (numbers[name] for name in ("data", "dataLocal", "workers"))
    if not data:
        data = (local or 1) * (workers or 1) if local else 1
    if not local:
        local = data // workers if workers and data % workers == 0 else data
    if workers and data % workers:
        original.note(at / "workers", "cannot", "so many pods cannot share the copies")
    layout = {"tensor": tensor, "data": data, "dataLocal": local}
    for name, number in layout.items():
        if number > 1 or numbers[name] is not None:
            chart.role.set(number, "parallelism", name)
    return layout


def _accelerator(chart: ChartRole, layout: Mapping[str, int]) -> dict[str, int]:
    """Set the accelerator of a role, and return the number of devices of a pod by the name of their resource."""
    role = chart.role
    original = role.original
    at = chart.at / "accelerator"
    stated = original.text(at / "type")
    kind = stated or original.text(_ACCELERATOR / "type") or "nvidia"
    _variables_of(chart, kind)
    dra = original.peek(at / "dra")
    if dra is None:
        dra = original.peek(_ACCELERATOR / "dra")
    for place in (at / "dra", _ACCELERATOR / "dra"):
        if original.peek(place) is True:
            original.take(place)
        else:
            original.drop(place)
    if chart.is_simulated or kind == _CPU:
        role.set(_CPU, "accelerator")
        original.drop(_ACCELERATOR / "resources", "the pods have no devices")
        return {}
    shipped = accelerators.classes({}).get(_VENDORS.get(kind, kind))
    if dra is not True:
        original.drop(_ACCELERATOR / "resourceClaimTemplates", "no role claims its devices")
    if dra is True:
        original.drop(_ACCELERATOR / "resources", "roles claim their devices")
        _claims(chart, kind, shipped, layout)
        return {}
    return _resource(chart, kind, shipped, layout["tensor"] * layout["dataLocal"])


def _resource(chart: ChartRole, kind: str, shipped: AcceleratorClass | None, number: int) -> dict[str, int]:
    role = chart.role
    resources = _ACCELERATOR / "resources"
    known = getattr(getattr(shipped, "allocation", None), "resource_name", None)
    resource = role.original.peek(resources / kind) or known or _DEFAULT_RESOURCES.get(kind)
    for name in role.original.keys(resources):
        if name != kind or resource == known:
            role.original.drop(resources / name)
        else:
            role.original.take(resources / name)
    role.set(kind, "accelerator")
    if resource is not None and resource != known:
        allocation = {"type": "extended-resource", "resourceName": resource}
        entry = {"allocation": allocation} if shipped is not None else {"vendor": kind, "allocation": allocation}
        role.converted.set_in_stack(entry, "accelerators", kind)
    return {str(resource): number}


def _claims(chart: ChartRole, kind: str, shipped: AcceleratorClass | None, layout: Mapping[str, int]) -> None:
    """Let pods of a role claim their devices."""
    role = chart.role
    original = role.original
    templates = _ACCELERATOR / "resourceClaimTemplates"
    for name in original.keys(templates):
        if name != kind:
            original.drop(templates / name, "no role has this type")
    at = templates / kind
    allocation: dict[str, Any] = {"type": "resource-claim"}
    allocation["deviceClassName"] = original.text(at / "class") or _DEFAULT_CLASSES.get(kind, f"gpu.{kind}.com")
    expressions = [original.text(item / "cel" / "expression") for item in original.items(at / "selectors")]
    selectors = [text for text in expressions if text]
    if selectors:
        allocation["selectors"] = selectors
    if original.peek(at / "match") not in (None, "exactly"):
        original.note(at / "match", "cannot")
    count = original.peek(at / "count")
    if count is not None and count != layout["tensor"] * layout["dataLocal"]:
        original.note(at / "count", "cannot", key=role.key_of("parallelism"))
    vendor = shipped.vendor if shipped is not None else kind
    role.converted.set_in_stack({"vendor": vendor, "allocation": allocation}, "accelerators", f"{kind}-claims")
    role.set(f"{kind}-claims", "accelerator")


def _variables_of(chart: ChartRole, kind: str) -> None:
    """Set the variables that the chart has for an accelerator."""
    original = chart.role.original
    at = _ACCELERATOR / "env"
    for name in original.keys(at):
        if name != kind:
            original.drop(at / name, "no role has this type")
    variables = dict(_DEFAULT_VARIABLES.get(kind, {}))
    if original.has(at / kind):
        variables = pods.variables(original, at / kind)
    for name, value in variables.items():
        chart.role.set(value, "engine", "env", name)


def _engine(chart: ChartRole, container: Path) -> None:
    """Read the image and the program of the engine."""
    role = chart.role
    original = role.original
    role.set(pods.image(original, container / "image", role.key_of("engine")), "engine", "image")
    role.set(original.text(container / "imagePullPolicy"), "engine", "imagePullPolicy")
    for name, value in pods.variables(original, container / "env").items():
        role.set(value, "engine", "env", name)
    original.drop(container / "mountModelVolume")
    style = original.text(container / "modelCommand") or "custom"
    if chart.is_simulated and style != "custom":
        _simulator(chart, pods.arguments(original, container / "args"))
        return
    if style not in _STYLES:
        original.note(container / "modelCommand", "cannot", "the chart has no such command", role.key_of("engine"))
    if style == "imageDefault":
        original.note(container / "modelCommand", "differs", key=role.key_of("engine"))
    if style == "custom":
        _custom(chart, container)
        return
    original.drop(container / "command", "the chart has a command of its own")
    _set(chart, flags.read(original, tuple(original.items(container / "args")), _model(chart)))


def _set(chart: ChartRole, arguments: flags.ReadArguments) -> None:
    role = chart.role
    serving_pods.set_arguments(role, arguments.keys)
    role.set(arguments.rest, "engine", "args")


def _model(chart: ChartRole) -> Mapping[str, Any]:
    return mapping(chart.role.converted.service.get("model"))


def _custom(chart: ChartRole, container: Path) -> None:
    """Read a command of the user's own."""
    role = chart.role
    command = flags.tokens(role.original, container / "command")
    texts = flags.tokens(role.original, container / "args")
    tokens = tokens_of_program(command, texts, {})
    if tokens is not None:
        _set(chart, flags.read_tokens(role.original, tokens, _model(chart)))
        return
    own_command, own_arguments = pods.program(role.original, container)
    role.set("custom", "engine", "type")
    role.set(own_command, "engine", "command")
    role.set(own_arguments, "engine", "args")


def _simulator(chart: ChartRole, arguments: Sequence[str]) -> None:
    """Give a simulator the arguments of the chart, because nothing here generates any for it."""
    role = chart.role
    name = str(role.converted.service.get("model", {}).get("name", ""))
    source = str(role.converted.service.get("model", {}).get("source", ""))
    role.set("custom", "engine", "type")
    generated = ["--model", source.partition("://")[2] or name, "--port", str(chart.port), "--served-model-name", name]
    role.set([*generated, *arguments], "engine", "args")


def _pod(chart: ChartRole, container: Path | None) -> None:
    """Read the pods of a role."""
    role = chart.role
    original = role.original
    role.set(original.text(Path("schedulerName")), "pod", "schedulerName")
    role.set(original.text(Path("serviceAccountOverride")), "pod", "serviceAccountName")
    serving_pods.read(role, chart.at, container)
    if str(original.peek(chart.at / "priorityClassName")).lower() == "none":
        original.drop(chart.at / "priorityClassName", "it stands for no class")
        role.unset("pod", "priorityClassName")
    serving_pods.read_claims(role, chart.at / "resourceClaims")
    serving_pods.read_security(role, chart.at / "podSecurityContext")
    if original.has(chart.at / "extraConfig"):
        serving_pods.read_settings(role, chart.at / "extraConfig")
    if container is not None and original.has(container / "extraConfig"):
        serving_pods.read_security(role, container / "extraConfig" / "securityContext")
        serving_pods.read_probes(role, container / "extraConfig")
        policy = original.text(container / "extraConfig" / "imagePullPolicy")
        role.set(policy, "engine", "imagePullPolicy")
    role.set(original.entries(chart.at / "podAnnotations"), "pod", "annotations")
    _node_affinity(chart)


def _node_affinity(chart: ChartRole) -> None:
    original = chart.role.original
    at = chart.at / "acceleratorTypes"
    key = original.text(at / "labelKey")
    labels = original.texts(at / "labelValues")
    if not key:
        return
    if chart.role.get("pod", "affinity") is not None:
        original.note(at, "cannot", "extraConfig has an affinity, too, and pods have one")
        return
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": labels}]}
    required = {"nodeSelectorTerms": [term]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    chart.role.set(affinity, "pod", "affinity")


def _rollout(chart: ChartRole) -> None:
    original = chart.role.original
    at = chart.at / "strategy"
    kind = original.text(at / "type")
    rollout: dict[str, Any] = {}
    for name in ("maxSurge", "maxUnavailable"):
        value = original.peek(at / "rollingUpdate" / name)
        if isinstance(value, int):
            rollout[name] = original.take(at / "rollingUpdate" / name)
        elif value is not None:
            original.note(at / "rollingUpdate" / name, "cannot", key=chart.role.key_of("rollout"))
    if kind is not None or rollout:
        chart.role.set({"type": kind or "RollingUpdate", **rollout}, "rollout")
