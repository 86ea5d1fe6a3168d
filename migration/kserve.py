"""Reader of KServe's LLMInferenceServices, with the LLMInferenceServiceConfigs and ConfigMaps that they refer to."""

from collections.abc import Mapping, Sequence
from typing import Any

from migration import kserve_engine, kserve_groups, kserve_presets, kserve_routes, kserve_scaling, pods, serving_pods
from migration.accounts import Original
from migration.converted import Converted
from migration.names import sanitize_dns1035_label
from migration.serving_pods import Role
from models.paths import Path
from models.trees import at, mapping, texts

KIND = "serving.kserve.io/LLMInferenceService"
CONFIG = "serving.kserve.io/LLMInferenceServiceConfig"
CONFIG_MAP = "/ConfigMap"
TABLES: Mapping[str, str] = {KIND: "kserve"}
COMPANIONS: Mapping[str, str] = {CONFIG: "kserve-config", CONFIG_MAP: "config-map"}
_SPEC = Path("spec")
_NAMELESS = "llm"
_PRESETS = (
    "images, probes and variables of the configs that KServe applies by itself are not those of this program, unless "
    "these configs are named after --with"
)
_TLS = "pods serve in clear within the cluster, and only the endpoint picker has TLS"
_ALIAS = "the model has one name, and not publishers/<namespace>/models/<name> too"
_MERGED = "fields in notes are those of the spec into which its LLMInferenceServiceConfigs are merged"
_STOP = "serving.kserve.io/stop"
_SCHEMES = frozenset({"hf", "s3", "pvc", "oci"})
_LORA = ("maxRank", "maxAdapters", "maxCpuAdapters")
_SIDECAR = "llm-d-routing-sidecar"
_GENERATED = {
    _SIDECAR: "the sidecar is that of the release",
    "storage-initializer": "the weights are fetched by this program",
    "tls-certs": "pods serve in clear within the cluster",
}
"""Reasons by the names of volumes and containers of KServe's configs and controller."""
_SELECTORS = frozenset({
    "app.kubernetes.io/component", "app.kubernetes.io/name", "app.kubernetes.io/part-of", "kserve.io/component",
    "llm-d.ai/role",
})  # fmt: skip


def read(documents: Sequence[Original], companions: Sequence[Original]) -> list[Converted]:
    """Return the service of each LLMInferenceService. Two that share requests are a service and its canary."""
    services = [
        _service(
            document,
            _nearest(companions, CONFIG, document.namespace),
            _nearest(companions, CONFIG_MAP, document.namespace),
        )
        for document in documents
    ]
    return kserve_groups.join(services)


def _nearest(companions: Sequence[Original], kind: str, namespace: str) -> dict[str, Original]:
    """Return the companions of a kind by name. Of several with one name, that in `namespace` counts."""
    of_kind = [document for document in companions if document.kind == kind]
    return {document.name: document for document in sorted(of_kind, key=lambda other: other.namespace == namespace)}


def _service(document: Original, configs: Mapping[str, Original], maps: Mapping[str, Original]) -> Converted:
    """Return the service of one LLMInferenceService."""
    _merge(document, configs)
    name = document.text(Path("metadata", "name")) or _NAMELESS
    key = sanitize_dns1035_label(name)
    converted = Converted(key, documents=(document,))
    if key != name:
        document.note(Path("metadata", "name"), "differs", key=converted.key_of())
    converted.set_in_stack(document.text(Path("metadata", "namespace")), "namespace")
    document.remark("differs", _TLS)
    document.remark("differs", _ALIAS)
    reason = f"taken over from LLMInferenceService {name}"
    decode = Role(document, converted, (), reason, _GENERATED)
    _model(document, converted)
    _role(decode, _SPEC)
    prefill = _SPEC / "prefill"
    if document.has(prefill):
        document.take_presence(prefill)
        converted.set({}, "prefill")
        _role(Role(document, converted, ("prefill",), reason, _GENERATED), prefill)
        tiers = converted.service.get("kvCache", {}).get("tiers", ())
        serving_pods.separate(converted.service, [tier["volume"] for tier in tiers if "volume" in tier])
    if document.peek(Path("metadata", "annotations", _STOP)) == "true":
        document.take(Path("metadata", "annotations", _STOP))
        _stop(converted)
    else:
        document.drop(Path("metadata", "annotations", _STOP))
    _tracing(document, converted)
    kserve_routes.read_route(document, converted, maps)
    kserve_routes.read_picker(document, converted, maps)
    document.ask_about_actions()
    return converted


def _merge(document: Original, configs: Mapping[str, Original]) -> None:
    """Replace the spec of a document by the one that KServe makes of it and of configs."""
    spec = mapping(document.peek(_SPEC))
    names = kserve_presets.named_configs(spec)
    for index, name in enumerate(names):
        if name in configs:
            document.drop(_SPEC / "baseRefs" / index, "its values are merged into those of the service")
        else:
            document.note(_SPEC / "baseRefs" / index, "ask")
    tree = {name: document.peek(Path(name)) for name in document.keys(Path())}
    implied = implied_configs(tree, {name: mapping(config.peek(_SPEC)) for name, config in configs.items()})
    if not any(name in configs for name in implied):
        document.remark("differs", _PRESETS)
    result: Mapping[str, Any] = {}
    for name in (*implied, *names):
        if name in configs:
            result = kserve_presets.merge(result, mapping(configs[name].peek(_SPEC)))
    if result:
        document.remark("differs", _MERGED)
    result = kserve_presets.merge(result, spec)
    tree["spec"] = kserve_presets.fill(result, kserve_presets.values(tree, result))
    document.replace(tree)


def implied_configs(tree: Mapping[str, Any], configs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the configs that KServe applies by itself to an LLMInferenceService.

    `configs` are the specs of configs by name. Those that the service names may add roles.
    """
    spec = merged_spec(mapping(tree.get("spec")), configs)
    return kserve_presets.implied_configs(spec, texts(at(tree, "status", "annotations")))


def merged_spec(spec: Mapping[str, Any], configs: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the spec of an LLMInferenceService with those of the configs that it names.

    `configs` are the specs of configs by name.
    """
    result: Mapping[str, Any] = {}
    for name in kserve_presets.named_configs(spec):
        if name in configs:
            result = kserve_presets.merge(result, configs[name])
    return kserve_presets.merge(result, spec)


def _model(document: Original, converted: Converted) -> None:
    model = _SPEC / "model"
    uri = document.text(model / "uri")
    scheme = (uri or "").partition("://")[0]
    if uri is not None and scheme not in _SCHEMES:
        document.note(model / "uri", "cannot", key=converted.key_of("model"))
    elif uri is not None and scheme == "oci" and ":" not in uri.rpartition("/")[2]:
        document.note(model / "uri", "ask", key=converted.key_of("model"))
    elif uri is not None:
        converted.set(uri.rstrip("/"), "model", "source")
    name = document.text(model / "name") or document.name or None
    converted.set(name, "model", "name")
    _lora(document, converted)
    if document.peek(model / "confidential" / "enabled") is not True:
        document.drop(model / "confidential")
    if document.peek(_SPEC / "storageInitializer" / "enabled") is False:
        document.note(_SPEC / "storageInitializer" / "enabled", "ask", key=converted.key_of("model"))


def _lora(document: Original, converted: Converted) -> None:
    lora = _SPEC / "model" / "lora"
    for item in document.items(lora / "adapters"):
        name = document.text(item / "name")
        uri = document.text(item / "uri")
        if (uri or "").partition("://")[0] not in {"hf", "s3"}:
            document.note(item, "cannot")
        elif name and uri:
            converted.set({"source": uri}, "model", "lora", "adapters", name)
    if at(converted.service, "model", "lora", "adapters") is None:
        for name in _LORA:
            document.drop(lora / name, "no adapter is served")
        return
    for name in _LORA:
        converted.set(document.number(lora / name), "model", "lora", name)


def _role(role: Role, spec: Path) -> None:
    """Read the fields of decode or prefill."""
    document = role.original
    pod = spec / "template"
    engine = serving_pods.engine_place(role, pod, "main")
    kserve_engine.read(role, spec, engine)
    if not role.keys:
        _sidecar(role, pod)
    serving_pods.read(role, pod, engine)
    _labels(role, spec)
    kserve_scaling.read(role, spec)
    document.take_presence(pod)
    if document.has(spec / "worker"):
        kserve_engine.compare_workers(document, pod, spec / "worker")


def _sidecar(role: Role, pod: Path) -> None:
    """Read the resources of the sidecar, which KServe has as an init container of decode pods."""
    document = role.original
    for place in document.items(pod / "initContainers"):
        if document.peek(place / "name") == _SIDECAR and document.has(_SPEC / "prefill"):
            resources = pods.resources(document, place / "resources", {})
            if resources:
                document.note(place / "resources", "carried", "sidecar.resources")
            role.set(resources, "sidecar", "resources")


def _labels(role: Role, spec: Path) -> None:
    document = role.original
    for name in document.keys(spec / "labels"):
        if name in _SELECTORS:
            document.drop(spec / "labels" / name)
        else:
            role.set(document.text(spec / "labels" / name), "pod", "labels", name)
    for name in document.keys(spec / "annotations"):
        row = document.table.row(spec / "annotations" / name)
        if row is not None and row.fate == "carried":
            role.set(document.text(spec / "annotations" / name), "pod", "annotations", name)
    networks = Path("metadata", "annotations", "k8s.v1.cni.cncf.io/networks")
    role.set(document.text(networks), "pod", "annotations", "k8s.v1.cni.cncf.io/networks")


def _stop(converted: Converted) -> None:
    """Let a stopped service have no pods."""
    roles: list[dict[str, Any]] = [converted.service]
    if "prefill" in converted.service:
        roles.append(converted.service["prefill"])
    for role in roles:
        role.pop("autoscaling", None)
        role["replicas"] = 0


def _tracing(document: Original, converted: Converted) -> None:
    tracing = _SPEC / "tracing"
    if not document.has(tracing):
        return
    document.take_presence(tracing)
    endpoint = document.text(tracing / "exporterEndpoint") or "http://otel-collector:4317"
    sampler = document.text(tracing / "sampler") or "parentbased_traceidratio"
    argument = document.text(tracing / "samplerArg") or "0.05"
    converted.set_in_stack(
        {"endpoint": endpoint, "sampler": sampler, "samplerArg": argument}, "observability", "tracing"
    )
    if document.peek(tracing / "exporter") not in (None, "otlp"):
        document.note(tracing / "exporter", "cannot")
