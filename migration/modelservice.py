"""Reader of OtterScale's ModelServices.

The model-operator decides some settings for all ModelServices by its own flags. They are read from its Deployment, if
this Deployment is among the companions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from migration import flags, operator_flags, pods
from migration.accounts import Original
from migration.converted import Converted, set_value
from migration.flags import ReadArguments
from migration.names import sanitize_dns1035_label
from migration.operator_flags import OperatorFlags
from models.paths import Path
from models.trees import mapping
from planning.hardware import accelerators

TABLES: Mapping[str, str] = {"model.otterscale.io/ModelService": "modelservice"}
COMPANIONS: Mapping[str, str] = {"apps/Deployment": "operator"}
_SPEC = Path("spec")
_ENGINE = _SPEC / "engine"
_PROXY = _SPEC / "routingProxy"
_PICKER = _SPEC / "inferencePool" / "endpointPicker"
_GATEWAY = _SPEC / "httpRoute" / "gatewayRef"
_MONITOR = _SPEC / "monitoring" / "podMonitor"
_NAMELESS = "modelservice"
_RELEASE = (
    "the images of engine, sidecar and picker are those of this program's release where the file names none, and not "
    "those of the model-operator"
)
_HEADER = "OtterScale-Model-Name"
"""Header by which the model-operator's routes choose the model."""
_CONNECTOR = "nixlv2"
_FAIL_OPEN = "FailOpen"
_PORT_NAME = "http"
_DEFAULT_REPLICAS = 1
_SIDECAR_FIELDS = (
    "image", "connector", "targetPort", "zapEncoder", "zapLogLevel", "secureProxy", "prefillerUseTLS", "certPath",
)  # fmt: skip
_LAYOUT = ("tensor", "data", "dataLocal")
_CONTRADICTION = "the arguments of the engine say another number"


def read(documents: Sequence[Original], companions: Sequence[Original]) -> list[Converted]:
    """Return the service of each ModelService."""
    operator = operator_flags.read(companions)
    services = [_service(document, operator) for document in documents]
    is_scraped = any(_is_scraped(document) for document in documents)
    for document, service in zip(documents, services, strict=True):
        if is_scraped:
            _scrape(document, service)
        else:
            _leave_unscraped(document)
    return services


def _service(document: Original, operator: OperatorFlags | None) -> Converted:
    converted = Converted(_key(document), documents=(document,))
    document.remark("differs", _RELEASE)
    converted.set_in_stack(document.text(Path("metadata", "namespace")), "namespace")
    known = operator or operator_flags.DEFAULTS
    if operator is None:
        document.remark("ask", operator_flags.QUESTION)
    _model(document, converted)
    places = tuple(document.items(_ENGINE / "args"))
    arguments = flags.read(document, places, mapping(converted.service.get("model")))
    _engine(document, converted, arguments, known)
    _role(document, converted, _SPEC / "decode", arguments)
    document.take_presence(_SPEC / "decode")
    if document.has(_SPEC / "prefill"):
        document.take_presence(_SPEC / "prefill")
        set_value(converted.service, {}, "prefill")
        _role(document, converted, _SPEC / "prefill", arguments, "prefill")
        _restore_defaults(converted.service)
        _sidecar(document, converted)
    else:
        for name in _SIDECAR_FIELDS:
            document.drop(_PROXY / name, "a sidecar without prefill only passes requests on")
    _picker(document, converted, known)
    _route(document, converted, known)
    if known.tracing is not None:
        converted.set_in_stack(dict(known.tracing), "observability", "tracing")
    return converted


def _key(document: Original) -> str:
    name = document.text(Path("metadata", "name")) or _NAMELESS
    key = sanitize_dns1035_label(name)
    if key != name:
        document.note(Path("metadata", "name"), "differs", key=Path("services", key))
    return key


def _model(document: Original, converted: Converted) -> None:
    at = _SPEC / "model"
    converted.set(document.text(at / "name"), "model", "name")
    image = document.text(at / "image", converted.key_of("model", "insecure"))
    if image:
        converted.set(f"kit://{image}", "model", "source")
        converted.enable("model", "insecure")
    path = document.text(at / "mountPath")
    if path:
        converted.set({"type": "ephemeral", "mountPath": path}, "storage")
    names = pods.secret_names(document, at / "imagePullSecrets")
    if names:
        converted.set(names[:1], "model", "secrets")
        converted.set([{"name": name} for name in names], "pod", "imagePullSecrets")


def _engine(document: Original, converted: Converted, arguments: ReadArguments, operator: OperatorFlags) -> None:
    image = pods.image(document, _ENGINE / "image", converted.key_of("engine"))
    if image is None and not document.has(_ENGINE / "image"):
        image = operator.engine_image
    converted.set(image, "engine", "image")
    converted.set(document.text(_ENGINE / "imagePullPolicy") or None, "engine", "imagePullPolicy")
    converted.set(document.number(_ENGINE / "port"), "engine", "port")
    converted.set(pods.variables(document, _ENGINE / "env") or None, "engine", "env")
    converted.set(arguments.rest or None, "engine", "args")
    for key, value in arguments.keys.items():
        converted.set(value, *key)
    converted.set(document.text(_SPEC / "accelerator" / "type"), "accelerator")


def _role(document: Original, converted: Converted, at: Path, arguments: ReadArguments, *role: str) -> None:
    """Read the fields of decode or prefill. `role` are the keys of the role in the service."""
    converted.set(document.number(at / "replicas"), *role, "replicas")
    layout = _layout(document, at / "parallelism", arguments)
    if role:
        layout = _not_inherited(converted, layout)
    for name, number in layout.items():
        converted.set(number, *role, "parallelism", name)
    devices = _devices(document, layout)
    converted.set(pods.resources(document, at / "resources", devices) or None, *role, "resources")
    converted.set(document.entries(at / "nodeSelector") or None, *role, "pod", "nodeSelector")
    converted.set(pods.tolerations(document, at / "tolerations") or None, *role, "pod", "tolerations")
    converted.set(document.entries(at / "annotations") or None, *role, "pod", "annotations")


def _not_inherited(converted: Converted, layout: Mapping[str, int]) -> dict[str, int]:
    """Return the layout of prefill with a number in place of each that it would inherit, but for that of pipelines."""
    names = [name for name in _LAYOUT if not layout or name in mapping(converted.service.get("parallelism"))]
    return {**dict.fromkeys(names, 1), **layout}


def _layout(document: Original, at: Path, arguments: ReadArguments) -> dict[str, int]:
    """Return the layout of a role. Numbers in the engine's arguments come after those of the fields, and win."""
    layout = dict[str, int]()
    for name in _LAYOUT:
        number = document.number(at / name)
        argument = arguments.keys.get(("parallelism", name))
        if isinstance(argument, int) and number not in {None, argument}:
            document.note(at / name, "cannot", _CONTRADICTION)
            number = argument
        if number is not None:
            layout[name] = number
    data = layout.get("data", 1)
    local = layout.get("dataLocal", 1)
    if local > data:
        document.note(at / "dataLocal", "differs")
        layout["data"] = local
    elif local < data:
        document.note(at / "data", "differs")
        layout["dataLocal"] = local
    return layout


def _devices(document: Original, layout: Mapping[str, int]) -> dict[str, int]:
    """Return the number of devices of a pod by the name of their resource; empty if the accelerator has none."""
    kind = document.peek(_SPEC / "accelerator" / "type")
    known = accelerators.classes({}).get(str(kind))
    resource = getattr(getattr(known, "allocation", None), "resource_name", None)
    if resource is None:
        return {}
    return {resource: layout.get("tensor", 1) * layout.get("dataLocal", 1)}


def _restore_defaults(service: dict[str, Any]) -> None:
    """Let prefill not inherit what only decode has, because the roles of a ModelService have nothing in common."""
    for keys in (("resources",), ("pod", "nodeSelector"), ("pod", "tolerations"), ("pod", "annotations")):
        if _has(service, keys) and not _has(service["prefill"], keys):
            holder = service["prefill"]
            for key in keys[:-1]:
                holder = holder.setdefault(key, {})
            holder[keys[-1]] = None


def _has(tree: Mapping[str, Any], keys: Sequence[str]) -> bool:
    for key in keys:
        if key not in tree:
            return False
        tree = tree[key]
    return True


def _sidecar(document: Original, converted: Converted) -> None:
    document.take_presence(_PROXY)
    converted.set(pods.image(document, _PROXY / "image", converted.key_of("sidecar")), "sidecar", "image")
    connector = document.text(_PROXY / "connector")
    if connector not in {None, _CONNECTOR}:
        document.note(_PROXY / "connector", "cannot")
        connector = None
    converted.set(connector, "kvCache", "connector")
    converted.set(document.number(_PROXY / "targetPort"), "sidecar", "enginePort")
    converted.set(document.text(_PROXY / "zapLogLevel"), "sidecar", "logLevel")
    if document.peek(_PROXY / "secureProxy") is True:
        document.note(_PROXY / "secureProxy", "cannot")
    if document.switch(_PROXY / "prefillerUseTLS"):
        document.note(_PROXY / "prefillerUseTLS", "ask", key=converted.key_of("sidecar"))
    else:
        document.drop(_PROXY / "prefillerUseTLS")


def _picker(document: Original, converted: Converted, operator: OperatorFlags) -> None:
    image = pods.image(document, _PICKER / "image", converted.key_of("endpointPicker"))
    if image is None and not document.has(_PICKER / "image"):
        image = operator.picker_image
    converted.set(image, "endpointPicker", "image")
    replicas = document.number(_PICKER / "replicas")
    converted.set(replicas, "endpointPicker", "replicas")
    converted.set(pods.resources(document, _PICKER / "resources", {}) or None, "endpointPicker", "resources")
    converted.set(document.number(_PICKER / "port"), "endpointPicker", "port")
    if not operator.metrics_auth:
        converted.disable("endpointPicker", "metricsAuth")
    if not document.has(_PICKER):
        return
    mode = document.text(_PICKER / "failureMode")
    if mode in {None, _FAIL_OPEN}:
        document.note(_PICKER / "failureMode", "ask", key=converted.key_of("endpointPicker"))
    else:
        converted.set(mode, "endpointPicker", "failureMode")


def _route(document: Original, converted: Converted, operator: OperatorFlags) -> None:
    name = document.text(_GATEWAY / "name") or None
    namespace = document.text(_GATEWAY / "namespace") or document.namespace or None
    if name is None:
        name = operator.gateway_name
        namespace = operator_flags.GATEWAY_NAMESPACE
    if not name:
        return
    gateway = {"name": name, "namespace": namespace, "provider": operator.provider}
    converted.set_in_stack({key: text for key, text in gateway.items() if text is not None}, "gateway")
    converted.set([{"headers": {_HEADER: document.name or _NAMELESS}}], "route", "matches")
    converted.set(document.texts(_SPEC / "httpRoute" / "hostnames") or None, "route", "hostnames")


def _is_scraped(document: Original) -> bool:
    """Tell whether the pods are scraped: without podMonitor they are, and with it they are if it is enabled."""
    return not document.has(_MONITOR) or document.peek(_MONITOR / "enabled") is True


def _scrape(document: Original, converted: Converted) -> None:
    """Set the keys about metrics of a service in a stack with at least one service that is scraped."""
    converted.set_in_stack("prometheus-operator", "observability", "metrics", "type")
    document.switch(_MONITOR / "enabled")
    converted.set(document.text(_MONITOR / "path"), "metrics", "path")
    converted.set(document.text(_MONITOR / "interval"), "metrics", "interval")
    if document.peek(_MONITOR / "portName") == _PORT_NAME:
        document.drop(_MONITOR / "portName", "the ports of pods have names of this program")
    if not _is_scraped(document):
        for role in ("decode", "picker"):
            converted.disable("metrics", role)


def _leave_unscraped(document: Original) -> None:
    """Take the fields about metrics of a ModelService in a stack without monitors."""
    document.take_presence(_MONITOR)
    document.switch(_MONITOR / "enabled")
    for name in ("path", "interval", "portName"):
        document.drop(_MONITOR / name, "nothing is scraped")
