"""Reader of the values of the Helm chart llm-d-modelservice. Pool, picker and route are those of other charts."""

from collections.abc import Mapping, Sequence
from typing import Any

from migration import chart_roles, kserve_presets
from migration.accounts import Original
from migration.chart_roles import ChartRole
from migration.converted import Converted
from migration.names import sanitize_dns1035_label
from migration.serving_pods import Role, separate
from models.paths import Path
from models.trees import at as value_at
from models.trees import mapping

NAME = "llm-d-modelservice"
TABLES: Mapping[str, str] = {NAME: "modelservice-chart"}
COMPANIONS: Mapping[str, str] = {}
_ARTIFACTS = Path("modelArtifacts")
_PROXY = Path("routing", "proxy")
_TRACING = Path("tracing")
_DECODE = Path("decode")
_PREFILL = Path("prefill")
_PLACES = (
    "the chart makes no InferencePool, no endpoint picker and no route: write endpointPicker, gateway and route as "
    "they are beside it"
)
_RELEASE_NAME = "the name of the Helm release is in no file, so the service is named after its model"
_VARIABLES = "variables DP_SIZE, TP_SIZE and DP_SIZE_LOCAL of the chart are not set"
_NO_SIDECAR = "requests go to the engine at once, because decode pods have a sidecar with prefill alone"
_LEVELS = ("debug", "info", "error")
_CONNECTOR = "nixlv2"
"""Connector of the chart's defaults."""
_ZAP = {
    "zapEncoder": "zap-encoder",
    "zapDevel": "zap-devel",
    "zapStacktraceLevel": "zap-stacktrace-level",
    "zapTimeEncoding": "zap-time-encoding",
}
"""Flags of the sidecar by the values that set them."""
_MODEL_CACHE = "/model-cache"
_TOKEN = "HF_TOKEN"  # noqa: S105, the name of a variable


def read(documents: Sequence[Original], companions: Sequence[Original]) -> list[Converted]:  # noqa: ARG001
    """Return the service of each file with values."""
    return [_service(document) for document in documents]


def _service(document: Original) -> Converted:
    tree: dict[str, Any] = {name: document.peek(Path(name)) for name in document.keys(Path())}
    document.replace(mapping(kserve_presets.fill(tree, {"Values": tree})))
    converted = Converted(_key(document), documents=(document,))
    document.remark("ask", _PLACES)
    document.remark("differs", _VARIABLES)
    needs = _of_roles(document, converted)
    decode = Role(document, converted, (), f"taken over from values of {NAME}")
    _set_needs(decode, needs)
    has_prefill = _has_prefill(document)
    if document.peek(_DECODE / "create") is False:
        document.note(_DECODE / "create", "cannot")
    else:
        document.take(_DECODE / "create")
    if has_prefill:
        _sidecar(document, converted)
    else:
        _leave_sidecar(document)
    chart_roles.read(ChartRole(decode, _DECODE, has_sidecar=has_prefill))
    converted.set(document.entries(_DECODE / "annotations") or None, "annotations")
    if has_prefill:
        document.take(_PREFILL / "create")
        converted.set({}, "prefill")
        prefill = Role(document, converted, ("prefill",), decode.reason)
        _set_needs(prefill, needs)
        chart_roles.read(ChartRole(prefill, _PREFILL, has_sidecar=False))
        separate(converted.service)
    else:
        document.drop(_PREFILL, "it has no pods")
    roles = (_DECODE, _PREFILL) if has_prefill else (_DECODE,)
    if all(document.has(at / "accelerator" / "type") for at in roles):
        document.drop(Path("accelerator", "type"), "each role has a type of its own")
    _monitors(document, converted, has_prefill=has_prefill)
    _tracing(document, converted)
    if document.peek(Path("requester", "enable")) is not True:
        document.drop(Path("requester"))
    if document.peek(Path("enabled")) is False:
        document.note(Path("enabled"), "cannot")
    document.ask_about_actions()
    return converted


def _key(document: Original) -> str:
    """Return the key of the service: the name of its objects, or else the end of the model's name."""
    full = document.text(Path("fullnameOverride"))
    if full:
        document.drop(Path("nameOverride"), "fullnameOverride is the name")
    full = full or document.text(Path("nameOverride"))
    if full:
        return sanitize_dns1035_label(full)
    document.remark("differs", _RELEASE_NAME)
    name = document.peek(_ARTIFACTS / "name")
    text = name if isinstance(name, str) and name else NAME
    return sanitize_dns1035_label(text.rpartition("/")[2])


def _has_prefill(document: Original) -> bool:
    """Tell whether there are prefill pods. The chart makes a Deployment without replicas by default."""
    replicas = document.peek(_PREFILL / "replicas")
    return document.peek(_PREFILL / "create") is not False and isinstance(replicas, int) and replicas > 0


def _hub_cache(converted: Converted, place: str, mount: str) -> dict[str, Any]:
    """Let the engine read its model from the cache of a hub in a claim. Returns what each role needs for it."""
    claim, *folders = place.split("/")
    converted.set(f"hf://{'/'.join(folders[-2:])}", "model", "source")
    converted.set({"type": "engine"}, "storage")
    volume = {"type": "claim", "claimName": claim, "mountPath": mount}
    cache = f"{mount}/{'/'.join(folders[:-2])}"
    return {"pod": {"volumes": {"model-storage": volume}}, "engine": {"env": {"HF_HUB_CACHE": cache}}}


def _of_roles(document: Original, converted: Converted) -> dict[str, Any]:
    """Read where weights come from. Returns what each role needs for weights in a claim."""
    name = document.text(_ARTIFACTS / "name")
    converted.set(name, "model", "name")
    uri = (document.text(_ARTIFACTS / "uri") or (f"hf://{name}" if name else "")).replace('"', "")
    scheme, _, place = uri.partition("://")
    secret = document.text(_ARTIFACTS / "authSecretName")
    mount = document.text(_ARTIFACTS / "mountPath")
    if scheme == "hf":
        converted.set(uri, "model", "source")
        converted.set([secret] if secret else None, "model", "secrets")
        size = document.text(_ARTIFACTS / "size", converted.key_of("storage"))
        stated = {key: value for key, value in (("sizeLimit", size), ("mountPath", mount)) if value}
        converted.set({"type": "ephemeral", **stated} if stated else None, "storage")
        return {}
    document.drop(_ARTIFACTS / "size", "the claim has its size")
    needs: dict[str, Any] = {}
    if scheme == "pvc":
        converted.set(uri.rstrip("/"), "model", "source")
        document.drop(_ARTIFACTS / "mountPath", "the engine reads the weights at a path of this program")
    elif scheme == "pvc+hf":
        needs = _hub_cache(converted, place, mount or _MODEL_CACHE)
    else:
        document.note(_ARTIFACTS / "uri", "cannot", key=converted.key_of("model"))
    if secret:
        token = {"secretKeyRef": {"name": secret, "key": _TOKEN}}
        needs.setdefault("engine", {}).setdefault("env", {})[_TOKEN] = token
    return needs


def _set_needs(role: Role, needs: Mapping[str, Any]) -> None:
    for name, value in mapping(mapping(needs.get("pod")).get("volumes")).items():
        role.set(dict(value), "pod", "volumes", name)
    for name, value in mapping(mapping(needs.get("engine")).get("env")).items():
        role.set(value, "engine", "env", name)


def _sidecar(document: Original, converted: Converted) -> None:
    document.drop(_PROXY / "enabled")
    for name in ("image", "imagePullPolicy"):
        document.take(_PROXY / name)
    converted.set(document.number(_PROXY / "targetPort"), "sidecar", "enginePort")
    converted.set(document.text(_PROXY / "connector") or _CONNECTOR, "kvCache", "connector")
    level = document.peek(_PROXY / "zapLogLevel")
    if level in _LEVELS:
        converted.set(document.take(_PROXY / "zapLogLevel"), "sidecar", "logLevel")
    elif level is not None:
        document.note(_PROXY / "zapLogLevel", "cannot")
    for name, flag in _ZAP.items():
        value = document.take(_PROXY / name) if document.has(_PROXY / name) else None
        converted.set(None if value is None else str(value).lower(), "sidecar", "flags", flag)
    if document.peek(_PROXY / "secure") is True:
        document.note(_PROXY / "secure", "cannot")
    if document.switch(_PROXY / "prefillerUseTLS"):
        document.note(
            _PROXY / "prefillerUseTLS", "ask", "sidecar.tls.certificate names the Secret with the certificate"
        )


def _leave_sidecar(document: Original) -> None:
    if document.peek(_PROXY / "enabled") is not False:
        document.remark("differs", _NO_SIDECAR)
    for name in document.keys(_PROXY):
        document.drop(_PROXY / name, "without prefill there is no sidecar")


def _monitors(document: Original, converted: Converted, *, has_prefill: bool) -> None:
    roles = {"decode": _DECODE, "prefill": _PREFILL} if has_prefill else {"decode": _DECODE}
    monitors = {name: at / "monitoring" / "podmonitor" for name, at in roles.items()}
    if not any(document.peek(at / "enabled") is True for at in monitors.values()):
        for at in monitors.values():
            document.drop(at, "nothing is scraped")
        return
    converted.set_in_stack("prometheus-operator", "observability", "metrics", "type")
    converted.disable("metrics", "picker")
    for name, at in monitors.items():
        if not document.switch(at / "enabled"):
            converted.disable("metrics", name)
            document.drop(at, "the role is not scraped")
            continue
        for key in ("path", "interval"):
            _set_of_monitor(document, converted, at / key, key)
        labels = document.entries(at / "labels")
        converted.set_in_stack(labels or None, "observability", "metrics", "labels")


def _set_of_monitor(document: Original, converted: Converted, place: Path, key: str) -> None:
    """Set a key about metrics, of which the first role that is scraped decides the value for all."""
    value = document.text(place)
    stated = value_at(converted.service, "metrics", key)
    if stated is None:
        converted.set(value, "metrics", key)
    elif value not in {None, stated}:
        document.note(place, "cannot", "decode states another value, and all roles have the same")


def _tracing(document: Original, converted: Converted) -> None:
    if document.peek(_TRACING / "enabled") is not True:
        document.drop(_TRACING, "there are no traces")
        return
    document.take(_TRACING / "enabled")
    endpoint = document.text(_TRACING / "otlpEndpoint") or "http://otel-collector:4317"
    sampler = document.text(_TRACING / "sampling" / "sampler") or "parentbased_traceidratio"
    argument = document.text(_TRACING / "sampling" / "samplerArg") or "1.0"
    tracing = {"endpoint": endpoint, "sampler": sampler, "samplerArg": argument}
    converted.set_in_stack(tracing, "observability", "tracing")
    details = document.text(_TRACING / "vllm" / "collectDetailedTraces") or "all"
    arguments = converted.service.setdefault("engine", {}).setdefault("args", [])
    arguments += ["--collect-detailed-traces", details]
