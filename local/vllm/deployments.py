"""Deployments for whose pods processes of this machine can stand, and what the others lack."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local.errors import LocalError
from local.gateway.model_server import models
from local.gateway.simulator import SELECTED
from local.vllm import families, flags, installation
from local.vllm.command import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from local.vllm.families import Family
    from local.vllm.installation import Version

ENGINE_MEGABYTES = 3000
"""Memory of an engine with a small model: a gigabyte of KV cache, and three processes that import torch."""
MEMORY = Path("/proc/meminfo")
KINDS = ("Deployment", "LeaderWorkerSet")
AUTOSCALER = "HorizontalPodAutoscaler"
COMMAND = ["vllm", "serve"]
IMAGE_VERSION = re.compile(r"/[^/:]*vllm[^/:]*:v?(\d+\.\d+\.\d+)\b")
"""Image of vLLM, and the version in its tag."""
SERVICE, VARIANT = "inference-stacks.io/service", "inference-stacks.io/variant"
PRIMARY = "primary"


@dataclass(frozen=True)
class EngineDeployment:
    """A Deployment of vLLM whose pods are served by processes of this machine."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    """Labels that select the pods."""
    replicas: int
    """Number of pods; if they are autoscaled, the fewest."""
    image: str
    version: Version
    family: Family
    setting: str
    """Key of the stack that sets the image, such as `services.chat.engine.image`."""
    is_autoscaled: bool = False


@dataclass(frozen=True)
class EngineSelection:
    """Model servers of a stack: those that run, and those that stay simulated."""

    engines: tuple[EngineDeployment, ...] = ()
    simulated: Mapping[str, str] = field(default_factory=dict[str, str])
    """Reasons, by kind, namespace and name of the object."""

    @property
    def versions(self) -> list[Version]:
        """Versions of vLLM, each of them once."""
        return list({engine.version.name: engine.version for engine in self.engines}.values())


def select(manifests: Iterable[Mapping[str, Any]]) -> EngineSelection:
    """Return which model servers of a rendered stack can run here.

    Raises LocalError if none can, or if a version of vLLM cannot be installed.
    """
    objects = [*manifests]
    autoscalers = _autoscalers(objects)
    engines = list[EngineDeployment]()
    simulated = dict[str, str]()
    for manifest in objects:
        if manifest["kind"] not in KINDS or SELECTED not in manifest["metadata"].get("labels", {}).items():
            continue
        reason = _reason(manifest)
        if reason:
            metadata = manifest["metadata"]
            simulated[f"{manifest['kind']} {metadata['namespace']}/{metadata['name']}"] = reason
        else:
            engines.append(_engine(manifest, autoscalers))
    if not engines:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in simulated.items())
        raise LocalError(
            f"vLLM can stand for no pod of this stack ({reasons or 'it has none'}); `make try` without ENGINE=vllm "
            "simulates them"
        )
    return EngineSelection(tuple(engines), simulated)


def image_settings(selection: EngineSelection) -> dict[str, str]:
    """Return the keys of the stack with which the engines keep their images, whatever the release is."""
    return {engine.setting: engine.image for engine in selection.engines}


def check_memory(selection: EngineSelection, memory: Path = MEMORY, *, freed: float = 0.0) -> None:
    """Raise LocalError if the machine has too little free memory for the engines.

    `freed` is memory, in megabytes, that will be free before they start.
    """
    number = sum(engine.replicas for engine in selection.engines)
    lines = memory.read_text(encoding="ascii").splitlines()
    available = freed + next(int(line.split()[1]) / 1000 for line in lines if line.startswith("MemAvailable:"))
    if number * ENGINE_MEGABYTES > available:
        raise LocalError(
            f"{number} engines need {number * ENGINE_MEGABYTES / 1000:.0f} GB of memory; this machine has "
            f"{available / 1000:.1f} GB available; reduce the replicas, or leave ENGINE=vllm out"
        )


def _reason(manifest: Mapping[str, Any]) -> str:
    """Return why the pods of an object stay simulated; "" if they can run here."""
    if manifest["kind"] != "Deployment":
        return "each of its groups has several pods"
    pod = manifest["spec"]["template"]["spec"]
    sidecars = [item["name"] for item in pod.get("initContainers", ()) if item.get("restartPolicy") == "Always"]
    sidecars += [item["name"] for item in pod["containers"][1:]]
    if sidecars:
        return f"its pods have the sidecar {sidecars[0]}"
    container = pod["containers"][0]
    if container.get("command", ())[:2] != COMMAND or _version(container["image"]) is None:
        return f"its engine is no vLLM whose image names the version: {container['image']}"
    names = {flag.name for flag in flags.parse(container.get("args", ()))}
    variables = {item["name"] for item in container.get("env", ())}
    for row in table()["simulated"]:
        if "variable" in row and row["variable"] in variables:
            return f"{row['variable']}: {row['reason']}"
        if "flag" in row and not names.isdisjoint(flags.names(row)):
            return f"{row['flag']}: {row['reason']}"
    return _model_reason(manifest["spec"]["template"])


def _version(image: str) -> str | None:
    """Return the version of vLLM in the tag of an image; None if there is none."""
    match = IMAGE_VERSION.search(f"/{image}")
    return match and match[1]


def _model_reason(template: Mapping[str, Any]) -> str:
    """Return why no small model stands for the model of a pod; "" if a small model does."""
    container = template["spec"]["containers"][0]
    if not next(iter(container.get("args", ())), "/").startswith(("/", "-")):
        return "its engine opens the source of the model itself"
    try:
        return _family(template).obstacle(container.get("args", ()), _version(container["image"])) or ""
    except LocalError as error:
        return str(error)


def _family(template: Mapping[str, Any]) -> Family:
    """Return the family of a pod's model, by the name that is served, or by the source that the pod fetches.

    Raises LocalError if no family has the model.
    """
    sources = [
        argument for container in template["spec"].get("initContainers", ()) for argument in container.get("args", ())
    ]
    names = [*models(template), *sources]
    known = (name for name in names if any(row.has(name) for row in families.families()))
    return families.family(next(known, next(iter(names), "a model without a name")))


def _autoscalers(manifests: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """Return `minReplicas` of the HorizontalPodAutoscalers of Deployments, by namespace and name of the Deployment.

    ScaledObjects have no effect here, because KEDA does not run.
    """
    minimums = dict[tuple[str, str], int]()
    for manifest in manifests:
        if manifest["kind"] == AUTOSCALER and manifest["spec"]["scaleTargetRef"]["kind"] == "Deployment":
            place = (manifest["metadata"]["namespace"], manifest["spec"]["scaleTargetRef"]["name"])
            minimums[place] = manifest["spec"].get("minReplicas", 1)
    return minimums


def _engine(manifest: Mapping[str, Any], autoscalers: Mapping[tuple[str, str], int]) -> EngineDeployment:
    """Return what runs for a Deployment. Raises LocalError if its version of vLLM cannot be installed."""
    metadata = manifest["metadata"]
    spec = manifest["spec"]
    template = spec["template"]
    labels = template["metadata"]["labels"]
    image = template["spec"]["containers"][0]["image"]
    name = _version(image) or ""
    owner = f"services.{labels[SERVICE]}"
    if labels[VARIANT] != PRIMARY:
        owner = f"{owner}.{labels[VARIANT]}"
    setting = f"{owner}.engine.image"
    if name not in installation.versions():
        known = ", ".join(installation.versions())
        raise LocalError(
            f"{metadata['name']} runs vLLM {name}, which cannot be installed here; set {setting} to an image of one "
            f"of {known}, or run `make try` without ENGINE=vllm"
        )
    place = (metadata["namespace"], metadata["name"])
    return EngineDeployment(
        *place,
        spec["selector"]["matchLabels"],
        spec.get("replicas", max(1, autoscalers.get(place, 1))),
        image,
        installation.version(name),
        _family(template),
        setting,
        is_autoscaled=place in autoscalers,
    )
