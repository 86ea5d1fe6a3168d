"""Facts of rendered objects: values of fields by path, in one form for objects of this program and of guides.

The path of a fact begins with the role of the pods, such as `decode.engine.args.--block-size`, and for a second
workload of a role with its name. Names of objects and volumes are no facts.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from models import trees
from models.vocabulary import amount, is_quantity
from planning.ground import yaml_text
from tests.support.guides import shell

Fact = str | list[Any]
ENGINES = ("modelserver", "vllm", "engine", "sglang", "trtllm")
"""Names of the containers of engines."""
_SIDECAR = "routing-proxy"
_PICKER = "endpoint-picker"
_ROUTER = ("epp", "proxy")
"""Names of the containers in the pods of pickers."""
_ROLE = "llm-d.ai/role"
_DECODE = "decode"
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_POD_FIELDS = (
    "affinity",
    "dnsPolicy",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "nodeSelector",
    "priorityClassName",
    "resourceClaims",
    "runtimeClassName",
    "schedulerName",
    "securityContext",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
)
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")


def of(manifests: Iterable[Mapping[str, Any]]) -> dict[str, Fact]:
    """Return the facts of the workloads, pools and picker's configurations among objects."""
    facts = dict[str, Fact]()
    for manifest in manifests:
        further = dict(_of_object(manifest))
        if further.keys() & facts.keys():
            further = {f"{manifest['metadata']['name']}.{at}": value for at, value in further.items()}
        facts |= further
    return dict(sorted(facts.items()))


def of_picker(config: Mapping[str, Any]) -> dict[str, Fact]:
    """Return the facts of a picker's configuration."""
    return dict(sorted(_flat("picker", _picker(config))))


def of_values(values: Mapping[str, Any]) -> dict[str, Fact]:
    """Return the facts of the values of the guides' router chart: picker, proxy and pool."""
    router = values["router"]
    picker = router["epp"]
    facts = _configuration(picker, router["modelServers"])
    verbosity = picker.get("flags", {}).get("v")
    ports = router["modelServers"].get("targetPorts", [{"number": 8000}])
    facts |= dict(_flat("router", _router(picker.get("replicas"), verbosity, picker, router.get("proxy", {}))))
    facts["pool.failureMode"] = router["inferencePool"]["failureMode"]
    facts["pool.targetPorts"] = [str(port["number"]) for port in ports]
    return dict(sorted(facts.items()))


def _configuration(picker: Mapping[str, Any], servers: Mapping[str, Any]) -> dict[str, Fact]:
    """Return the facts of the picker's configuration, with the plugins that the chart makes from other values."""
    facts = dict[str, Fact]()
    for file in picker.get("pluginsCustomConfig", {}).values():
        facts |= of_picker(trees.mapping(yaml_text.load(file)))
    made = {
        "metrics-data-source": trees.without_none({"path": picker.get("metricsDataSource", {}).get("path")}),
        "core-metrics-extractor": trees.without_none({"defaultEngine": servers.get("type")}),
    }
    for plugin, parameters in made.items():
        if parameters:
            facts |= dict(_flat(f"picker.plugins.{plugin}", {"type": plugin, "parameters": parameters}))
    return facts


def _router(replicas: object, verbosity: object, *containers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pods of a router: the container of the picker comes first, that of the proxy second."""
    resources = [container.get("resources", {}) for container in containers]
    return {"replicas": replicas, "verbosity": verbosity, **dict(zip(("picker", "proxy"), resources, strict=False))}


def _of_object(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Fact]]:
    spec = manifest.get("spec", {})
    match manifest["kind"]:
        case "Deployment" if _PICKER in manifest["metadata"].get("labels", {}).values():
            containers = spec["template"]["spec"]["containers"]
            verbosity = dict(shell.engine(containers[0], {}))["args.--v"]
            served = [container for container in containers if container["name"] in _ROUTER]
            yield from _flat("router", _router(spec["replicas"], verbosity, *served))
        case "Deployment" | "StatefulSet":
            yield from _workload(manifest, {"": spec["template"]})
        case "LeaderWorkerSet":
            group = spec["leaderWorkerTemplate"]
            templates = {"": group.get("leaderTemplate") or group["workerTemplate"]}
            if "leaderTemplate" in group:
                templates[".worker"] = group["workerTemplate"]
            yield from _workload(manifest, templates)
        case "InferencePool":
            yield "pool.failureMode", spec["endpointPickerRef"]["failureMode"]
            yield "pool.targetPorts", [str(port["number"]) for port in spec["targetPorts"]]
        case "ConfigMap" if "config.yaml" in manifest.get("data", {}):
            config: Any = yaml_text.load(manifest["data"]["config.yaml"])
            yield from _flat("picker", _picker(config))
        case _:
            return


def _workload(manifest: Mapping[str, Any], templates: Mapping[str, Any]) -> Iterator[tuple[str, Fact]]:
    labels = templates[""]["metadata"].get("labels", {})
    role = labels.get(_ROLE, _DECODE)
    spec = manifest["spec"]
    size = spec.get("leaderWorkerTemplate", {}).get("size")
    yield from _flat(role, {"kind": manifest["kind"], "replicas": spec.get("replicas", 1), "size": size})
    for suffix, template in templates.items():
        yield from _flat(f"{role}{suffix}", _pod(template))


def _pod(template: Mapping[str, Any]) -> dict[str, Any]:
    spec = template["spec"]
    containers = [*spec.get("containers", ())]
    engine = next((container for container in containers if container["name"] in ENGINES), containers[0])
    inits = [*spec.get("initContainers", ())]
    others = [container for container in (*inits, *containers) if container is not engine]
    volumes = {volume["name"]: _volume(volume) for volume in spec.get("volumes", ())}
    metadata = template.get("metadata", {})
    return {
        "labels": dict(metadata.get("labels", {})),
        **{field: spec.get(field) for field in _POD_FIELDS},
        "engine": _container(engine, volumes),
        "sidecar": next((_container(other, volumes) for other in others if other["name"] == _SIDECAR), None),
        "containers": {other["name"]: _container(other, volumes) for other in others if other["name"] != _SIDECAR},
    }


def _volume(volume: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type of a volume with its settings; a type without settings is a fact as well."""
    return {key: value or "{}" for key, value in volume.items() if key != "name"}


def _container(container: Mapping[str, Any], volumes: Mapping[str, Any]) -> dict[str, Any]:
    variables = {entry["name"]: _variable(entry) for entry in container.get("env", ())}
    texts = {entry["name"]: str(entry["value"]) for entry in container.get("env", ()) if "value" in entry}
    ports = {port["name"]: port["containerPort"] for port in container.get("ports", ()) if "name" in port}
    resources = container.get("resources", {})
    return {
        "image": container.get("image"),
        "imagePullPolicy": container.get("imagePullPolicy"),
        **dict(shell.engine(container, texts)),
        "env": variables,
        "ports": sorted(str(port["containerPort"]) for port in container.get("ports", ())),
        "requests": resources.get("requests"),
        "limits": resources.get("limits"),
        "claims": [claim["name"] for claim in resources.get("claims", ())],
        **{probe: _probe(container.get(probe), ports) for probe in _PROBES},
        "lifecycle": container.get("lifecycle"),
        "restartPolicy": container.get("restartPolicy"),
        "securityContext": container.get("securityContext"),
        "mounts": {mount["mountPath"]: _mount(mount, volumes) for mount in container.get("volumeMounts", ())},
    }


def _variable(entry: Mapping[str, Any]) -> object:
    """Return the value of a variable or its reference, without the version that the API server adds."""
    if "value" in entry:
        return entry["value"]
    return {
        kind: {key: value for key, value in reference.items() if (key, value) != ("apiVersion", "v1")}
        for kind, reference in entry.get("valueFrom", {}).items()
    }


def _mount(mount: Mapping[str, Any], volumes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **volumes.get(mount["name"], {}),
        "subPath": mount.get("subPath"),
        "readOnly": mount.get("readOnly"),
    }


def _probe(probe: Mapping[str, Any] | None, ports: Mapping[str, int]) -> dict[str, Any] | None:
    if probe is None:
        return None
    fields = {key: value for key, value in probe.items() if key not in {"httpGet", "tcpSocket"}}
    for handler in ("httpGet", "tcpSocket"):
        if handler in probe:
            target = dict(probe[handler])
            target["port"] = ports.get(target["port"], target["port"])
            fields[handler] = target
    # Kubernetes takes no delay as 0.
    return {key: value for key, value in fields.items() if (key, value) != ("initialDelaySeconds", 0)}


def _picker(config: Mapping[str, Any]) -> dict[str, Any]:
    plugins = {plugin.get("name") or plugin["type"]: plugin for plugin in config.get("plugins", ())}
    profiles = {
        profile["name"]: {entry["pluginRef"]: entry.get("weight", "") for entry in profile.get("plugins", ())}
        for profile in config.get("schedulingProfiles", ())
    }
    rest = {
        key: value
        for key, value in config.items()
        if key not in {"apiVersion", "kind", "plugins", "schedulingProfiles", "featureGates"}
    }
    kinds = {name: {"type": plugin["type"], "parameters": plugin.get("parameters")} for name, plugin in plugins.items()}
    return {"plugins": kinds, "profiles": profiles, "gates": sorted(config.get("featureGates", ())), **rest}


def _flat(at: str, value: Any) -> Iterator[tuple[str, Fact]]:
    """Yield the leaves of a tree by path. Lists are leaves; empty values and null are none."""
    if isinstance(value, dict):
        for key, child in cast("dict[str, Any]", value).items():
            yield from _flat(f"{at}.{key}", child)
    elif isinstance(value, list):
        if value:
            yield at, [_plain(child) for child in cast("list[Any]", value)]
    elif value is not None:
        yield at, _text(at, value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.loads(json.dumps(value, sort_keys=True))
    return str(value)


def _text(at: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if _DECIMAL.fullmatch(text):
        return f"{float(text):g}"
    if any(part in at for part in (".requests.", ".limits.", ".sizeLimit")) and is_quantity(text):
        return f"{amount(text).normalize():f}"
    return text
