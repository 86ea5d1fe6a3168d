"""Stack trees for tests: a valid one, and copies with named deviations."""

import copy
import pathlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, cast

import planning
from cli import stackfile
from composition import Given, selecting
from composition.sources import Sources
from manifests.assembly import objects, render
from manifests.objects import Manifest, Rendered
from models.load import load
from models.paths import Path
from models.problems import ConfigError, Problem
from planning.ground import parts
from planning.ground.cluster_facts import NOTHING_READ
from planning.ground.marks import StackName
from planning.ground.order import Id
from planning.plans import StackPlan
from planning.releases import channel, channels

SHIPPED = [pathlib.Path("Pulumi.dev.yaml"), *sorted(pathlib.Path("examples").glob("*.yaml"))]
WORDS = sorted(pathlib.Path("tests/contracts/stacks").glob("*.yaml"))
"""Stacks with words that no shipped stack has."""
PIN = f"sha256:{'1d' * 32}"
SERVICE = {
    "model": {"name": "org/model", "source": f"kit://registry.example/org/model@{PIN}"},
    "accelerator": "nvidia",
}
NAME = StackName("organization", "inference-stacks", "dev")
"""The stack that is planned, rendered or run under mocks."""
OF_CHANNEL = "release llm-d-0.10: the picker v0.11.0 was not run here: "
"""Begin of the warning that every stack of the default channel gets."""
GATEWAY = {"name": "gateway", "namespace": "gateways", "provider": "istio", "version": "1.31.2"}


def tree(**services: Mapping[str, Any]) -> dict[str, Any]:
    """Return a valid stack with the given services, each over `SERVICE`; one called `qwen` if none is given."""
    given = services or {"qwen": {}}
    return {
        "namespace": "models",
        "gateway": dict(GATEWAY),
        "services": {key: copy.deepcopy(SERVICE) | dict(service) for key, service in given.items()},
    }


def plan(stack: Mapping[str, Any]) -> StackPlan:
    """Plan a tree. A stack of a retired channel brings copies of its images."""
    return planning.plan(load(with_copies(stack)), NAME)


def with_copies(stack: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tree; if its channel is retired, with the images that nobody can pull as images of its own."""
    name = stack.get("release")
    if name not in channels() or channel(name).retired is None:
        return dict(stack)
    images = channel(name).images
    services = dict(stack["services"])
    for key, service in services.items():
        copies = {"endpointPicker": {"image": images.picker.ref} | service.get("endpointPicker", {})}
        if "prefill" in service and images.sidecar is not None:
            copies["sidecar"] = {"image": images.sidecar.ref} | service.get("sidecar", {})
        services[key] = service | copies
    return {**stack, "services": services}


def mistakes(stack: Mapping[str, Any]) -> list[str]:
    """Return the lines with which the loader refuses a tree; none if it takes the tree."""
    try:
        load(dict(stack)).finish()
    except ConfigError as error:
        return str(error).splitlines()
    return []


def rendered(stack: Mapping[str, Any]) -> list[Manifest]:
    """Render a tree to its objects, in order."""
    return [item.manifest for item in objects(render(plan(stack)))]


def shipped(path: pathlib.Path) -> dict[str, Any]:
    """Return the tree of a shipped stack file, with the keys of the profiles that its services select."""
    return copy.deepcopy(_read(path.resolve()))


@cache
def _read(path: pathlib.Path) -> dict[str, Any]:
    """Return the tree of a stack file that stays as it is while tests run."""
    read = stackfile.read(path)
    assert isinstance(read, dict)
    found = cast("dict[str, Any]", read)
    layers = selecting.select(found, Sources(), None, NAME.stack, Given(NOTHING_READ)).layers.by_path
    for (_, key), layer in layers.items():
        written = {name: value for name, value in found["services"][key].items() if name != "selection"}
        found["services"][key] = _over(written, layer.tree)
    return found


def _over(upper: Mapping[str, Any], lower: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of two mappings. Where both have a value that is no mapping, the upper one's counts."""
    both = {key: _over(upper[key], lower[key]) for key in upper.keys() & lower.keys() if isinstance(upper[key], dict)}
    return {**lower, **upper, **both}


def find(everything: list[Manifest], kind: str, name: str) -> Any:
    """Return the object of a kind and name, whatever its generation; exactly one."""
    (found,) = [
        manifest for manifest in everything if manifest["kind"] == kind and plain(manifest["metadata"]["name"]) == name
    ]
    return found


def exactly(everything: list[Manifest], kind: str, name: str) -> Any:
    """Return the object of a kind that is called just so; exactly one."""
    (found,) = [
        manifest for manifest in everything if manifest["kind"] == kind and manifest["metadata"]["name"] == name
    ]
    return found


def plain(name: str) -> str:
    """Return a name without its generation, and a claim's or Job's without what it holds."""
    held = re.fullmatch(r"(.+-weights|cache-.+)-[0-9a-f]{8}", name)
    return (
        held[1]
        if held
        else re.sub(r"-[0-9a-f]{5}(?=$|-(?:decode|prefill|encode)(?:-|$)|-epp(-metrics-reader)?$)", "", name)
    )


def place(text: str) -> Path:
    """Return the path that a text means whose keys have no dots."""
    return Path(*(int(index) if index else key for key, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", text)))


def lines(problems: Iterable[Problem], severity: str) -> list[str]:
    """Return what a user is told of problems of one severity, without what every stack of its channel is told."""
    texts = [str(problem) for problem in problems if problem.severity == severity]
    return [text for text in texts if not text.startswith(OF_CHANNEL)]


def as_rendered(manifest: Manifest, origins: Mapping[tuple[str | int, ...], str] | None = None) -> Rendered:
    """Return an object as the renderer would hand it over, of which the user wrote the parts in `origins`."""
    passed = {Path(*at): place(written) for at, written in (origins or {}).items()}
    return Rendered(Id("qwen", parts.DECODE.workload), manifest, "decode", origins=passed)
