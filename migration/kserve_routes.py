"""Reader of the routers of LLMInferenceServices: route, Gateway and endpoint picker."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from migration import pods, serving_pods
from migration.accounts import Original
from migration.converted import Converted
from migration.serving_pods import Role
from models import engine_yaml
from models.flags import parse
from models.paths import Path
from models.problems import ConfigError
from models.trees import at, mapping, sequence

_ROUTER = Path("spec", "router")
_HTTP = _ROUTER / "route" / "http" / "spec"
_PICKER = _ROUTER / "scheduler"
_SETTINGS = "inferenceservice-config"
"""ConfigMap of KServe's installation."""
_NO_GATEWAY = (
    f"the Gateway of KServe's installation is in its ConfigMap {_SETTINGS}: name a file with it after --with, or write "
    "gateway"
)
_PROVIDER = "gateway.provider: the file does not say which program implements the Gateway; with none, no policy is made"
_GATEWAY_TEXTS = ("name", "namespace", "sectionName", "group", "kind")
_KSERVE = ("InferencePool", "Service", None)
_FAIL_OPEN = "FailOpen"
_PLUGINS = "the picker has the plugins of a preset of this program, and not those of KServe's default"
_PICKED = "prefill needs an endpoint picker, so there is one"
_CLOSED = "requests are refused while no picker answers, and KServe sends them to any pod (FailOpen)"
_SAME_RULES = "rules of the route have other timeouts or filters than the first one, and here all rules have the same"
_EXACT = "Exact"
_PREDICTION = "predicted-latency-producer"
"""Plugin for which KServe's controller adds a latency predictor to the pods of the picker."""
_GENERATED_FLAGS = frozenset({
    "cert-path", "config-file", "config-text", "enable-cert-reload", "grpc-health-port", "grpc-port",
    "metrics-endpoint-auth", "metrics-port", "model-server-metrics-scheme", "pool-group", "pool-name",
    "pool-namespace", "secure-serving", "v", "zap-encoder",
})  # fmt: skip
"""Flags of the picker that keys of endpointPicker set, or that this program generates."""
_SIZE = re.compile(r"[1-9][0-9]{0,5}")
_BLOCK_SIZE = "--block-size"
"""Flag of engines and of simulators of engines."""
_GENERATED = "this program sets the flag, or a key of endpointPicker does"


def read_route(document: Original, converted: Converted, maps: Mapping[str, Original]) -> None:
    """Read route and Gateway. Without a route, the service can be reached only inside the cluster."""
    document.take_presence(_ROUTER)
    document.take_presence(_ROUTER / "gateway")
    if not document.has(_ROUTER / "route"):
        for item in document.items(_ROUTER / "gateway" / "refs"):
            document.drop(item, "without a route, no Gateway is asked")
        return
    document.take_presence(_ROUTER / "route")
    gateway = _gateway(document, maps)
    if gateway is None:
        document.remark("ask", _NO_GATEWAY)
        if document.has(_HTTP):
            document.note(_HTTP, "ask", "a route needs gateway")
        return
    document.remark("ask", _PROVIDER)
    converted.set_in_stack({**gateway, "provider": "none"}, "gateway")
    if not document.has(_HTTP / "rules"):
        path = f"/{document.namespace or 'default'}/{document.name}"
        converted.set([{"path": path}], "route", "matches")
        converted.set({"request": "0s", "backendRequest": "0s"}, "route", "timeouts")
    converted.set(document.texts(_HTTP / "hostnames") or None, "route", "hostnames")
    _rules(document, converted)


def _gateway(document: Original, maps: Mapping[str, Original]) -> dict[str, Any] | None:
    """Return the Gateway that a service names, or else that of KServe's installation; None if neither is known."""
    places = [*document.items(_ROUTER / "gateway" / "refs"), *document.items(_HTTP / "parentRefs")]
    for place in places[1:]:
        document.note(place, "cannot", "a route has one Gateway")
    for place in places[:1]:
        texts = {name: document.text(place / name) for name in _GATEWAY_TEXTS}
        if texts["namespace"] is None and document.namespace:
            texts["namespace"] = document.namespace
        gateway: dict[str, Any] = {name: text for name, text in texts.items() if text}
        port = document.number(place / "port")
        if port is not None:
            gateway["port"] = port
        if "name" in gateway:
            return gateway
    if _SETTINGS not in maps:
        return None
    return _gateway_of_installation(maps[_SETTINGS])


def _gateway_of_installation(settings: Original) -> dict[str, Any] | None:
    text = settings.peek(Path("data", "ingress"))
    try:
        ingress = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    namespace, _, name = str(at(ingress, "kserveIngressGateway") or "").partition("/")
    if not name:
        return None
    return {"name": name, "namespace": namespace}


def _rules(document: Original, converted: Converted) -> None:
    """Read the rules of a route of the user's own."""
    settings = [
        (document.peek(rule / "timeouts"), _effects(document, rule)) for rule in document.items(_HTTP / "rules")
    ]
    if any(of_rule != settings[0] for of_rule in settings[1:]):
        document.remark("cannot", _SAME_RULES, converted.key_of("route"))
    matches: list[dict[str, Any]] = []
    for rule in document.items(_HTTP / "rules"):
        matches += [match for item in document.items(rule / "matches") if (match := _match(document, item))]
        for name in ("request", "backendRequest"):
            converted.set(document.text(rule / "timeouts" / name), "route", "timeouts", name)
        for item in document.items(rule / "filters"):
            _filter(document, converted, item)
        for item in document.items(rule / "backendRefs"):
            if document.peek(item / "kind") not in _KSERVE:
                document.note(item, "cannot")
    if matches:
        converted.set(
            list({json.dumps(match, sort_keys=True): match for match in matches}.values()), "route", "matches"
        )


def _effects(document: Original, rule: Path) -> list[object]:
    """Return what the filters of a rule do."""
    names = ("urlRewrite", "requestHeaderModifier")
    return [document.peek(item / name) for item in document.items(rule / "filters") for name in names]


def _match(document: Original, item: Path) -> dict[str, Any]:
    match: dict[str, Any] = {}
    path = document.text(item / "path" / "value")
    if path:
        match["path"] = path
    if document.peek(item / "path" / "type") not in (None, "PathPrefix"):
        document.note(item / "path" / "type", "differs")
    headers = dict[str, str]()
    for header in document.items(item / "headers"):
        name = document.text(header / "name")
        value = document.text(header / "value")
        if document.peek(header / "type") not in (None, _EXACT):
            document.note(header, "cannot")
        elif name and value:
            document.take(header / "type")
            headers[name] = value
    if headers:
        match["headers"] = headers
    return match


def _filter(document: Original, converted: Converted, item: Path) -> None:
    prefix = document.text(item / "urlRewrite" / "path" / "replacePrefixMatch")
    if prefix is not None:
        converted.set(prefix, "route", "replacePrefixMatch")
    for header in document.items(item / "requestHeaderModifier" / "set"):
        name = document.text(header / "name")
        if name:
            converted.set(document.text(header / "value"), "route", "setHeaders", name)
    removed = document.texts(item / "requestHeaderModifier" / "remove")
    converted.set(removed or None, "route", "removeHeaders")


def read_picker(document: Original, converted: Converted, maps: Mapping[str, Original]) -> None:
    """Read the scheduler, which is the endpoint picker."""
    if not document.has(_PICKER):
        if "prefill" in converted.service:
            document.remark("differs", _PICKED, converted.key_of("prefill"))
        else:
            converted.disable("endpointPicker", "enabled")
        return
    document.take_presence(_PICKER)
    config = _config(document, maps)
    if config is None:
        document.remark("differs", _PLUGINS, converted.key_of("endpointPicker"))
    if not document.has(_PICKER / "pool"):
        document.remark("differs", _CLOSED, converted.key_of("endpointPicker"))
    if config is not None:
        converted.set("custom", "endpointPicker", "preset")
        converted.set(_complete(config, converted), "endpointPicker", "config")
        _block_size(config, converted)
        if any(at(plugin, "type") == _PREDICTION for plugin in sequence(config.get("plugins"))):
            converted.set({}, "endpointPicker", "latencyPredictor", "deploy")
    converted.set(document.number(_PICKER / "replicas"), "endpointPicker", "replicas")
    for name in ("labels", "annotations"):
        converted.set(document.entries(_PICKER / name) or None, "endpointPicker", "pod", name)
    mode = _PICKER / "pool" / "spec" / "endpointPickerRef" / "failureMode"
    if document.peek(mode) == _FAIL_OPEN:
        document.note(mode, "ask")
    else:
        converted.set(document.text(mode), "endpointPicker", "failureMode")
    _template(document, converted)


def _config(document: Original, maps: Mapping[str, Original]) -> dict[str, Any] | None:
    """Return the EndpointPickerConfig; None if the service has none of its own."""
    inline = _PICKER / "config" / "inline"
    if document.has(inline):
        return _tree(document, inline, document.take(inline))
    reference = _PICKER / "config" / "ref"
    name = document.peek(reference / "name")
    if name is None or str(name) not in maps:
        return None
    text = maps[str(name)].peek(Path("data", str(document.peek(reference / "key") or "epp")))
    tree = _tree(document, reference, text)
    if tree is not None:
        document.note(reference, "carried", "endpointPicker.config")
    return tree


def _tree(document: Original, place: Path, value: object) -> dict[str, Any] | None:
    if isinstance(value, str):
        try:
            value = engine_yaml.parse(value, document.file).tree
        except ConfigError:
            document.note(place, "cannot", "it is no YAML")
            return None
    if not isinstance(value, Mapping):
        document.note(place, "cannot", "it is no EndpointPickerConfig")
        return None
    return dict(mapping(cast("object", value)))


def _complete(config: dict[str, Any], converted: Converted) -> dict[str, Any]:
    """Return a configuration with the parameters that KServe's controller adds: the model of the tokenizer."""
    model = at(converted.service, "model", "name")
    plugins = [dict(mapping(plugin)) for plugin in sequence(config.get("plugins"))]
    for plugin in plugins:
        if plugin.get("type") == "token-producer":
            plugin["parameters"] = {"modelName": model, **mapping(plugin.get("parameters"))}
    return {**config, "plugins": plugins}


def _block_size(config: Mapping[str, Any], converted: Converted) -> None:
    """Set the block size of a program that is no vLLM, if the picker counts its blocks."""
    counts = any(at(plugin, "parameters", "tokenProcessorConfig") for plugin in sequence(config.get("plugins")))
    arguments = at(converted.service, "engine", "args")
    if not counts or at(converted.service, "engine", "type") != "custom":
        return
    for flag in parse([text for text in sequence(arguments) if isinstance(text, str)]):
        if flag.name == _BLOCK_SIZE and _SIZE.fullmatch(flag.value or ""):
            converted.set(int(flag.value or ""), "kvCache", "blockSize")


def _template(document: Original, converted: Converted) -> None:
    """Read the pod of the picker: its placement, and resources and variables of its container."""
    pod = _PICKER / "template"
    if not document.has(pod):
        return
    role = Role(document, converted, ("endpointPicker",), "")
    serving_pods.read_placement(role, pod)
    names = pods.secret_names(document, pod / "imagePullSecrets")
    role.set([{"name": name} for name in names], "pod", "imagePullSecrets")
    main = serving_pods.engine_place(role, pod, "main")
    if main is None:
        return
    document.take(main / "image")
    role.set(pods.resources(document, main / "resources", {}), "resources")
    role.set(pods.variables(document, main / "env"), "env")
    _flags(role, main)
    for place in document.items(pod / "containers"):
        if place != main:
            _picker_container(role, place)


def _flags(role: Role, main: Path) -> None:
    """Read the flags of the picker."""
    document = role.original
    command = document.texts(main / "command")
    for item in document.items(main / "command"):
        document.drop(item, "the program is that of the release's picker")
    places = list(document.items(main / "args"))
    arguments = document.texts(main / "args")
    further = dict[str, str]()
    for flag in parse([*command[1:], *arguments]):
        name = flag.name.removeprefix("--")
        index = flag.index - len(command[1:])
        for place in places[max(index, 0) : max(index + len(flag.tokens), 0)]:
            if name in _GENERATED_FLAGS or not name:
                document.drop(place, _GENERATED)
        if name and name not in _GENERATED_FLAGS:
            further[name] = flag.value or "true"
    if document.peek(main / "args") and "--metrics-endpoint-auth=false" in arguments:
        role.converted.disable("endpointPicker", "metricsAuth")
    role.set(further, "flags")


def _picker_container(role: Role, place: Path) -> None:
    """Read a container beside the picker."""
    document = role.original
    name = document.text(place / "name")
    image = pods.image(document, place / "image", role.key_of("containers"))
    if not name or not image:
        return
    container: dict[str, Any] = {"image": image}
    container["command"], container["args"] = pods.program(document, place)
    container["env"] = pods.variables(document, place / "env")
    container["resources"] = pods.resources(document, place / "resources", {})
    for field in ("name", "image", "command", "args"):
        if document.has(place / field):
            document.note(place / field, "carried", "endpointPicker.containers")
    role.set({key: value for key, value in container.items() if value}, "containers", name)
