"""Rules on images and on sources of models: `image-digests`, `image-registries`, `locked-sources`."""

import re
from collections.abc import Iterator

from policy.rules import contracts, pods, trees
from policy.rules.records import DeployedObject, PolicyFinding, Settings, View, of_object
from policy.rules.trees import Tree

_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_LIBRARY = "docker.io/library"
_HUB = "docker.io"
_FETCHERS = frozenset({"model-download", "model-unpack"})
"""Names of the containers that fetch sources. The name of the container of an adapter begins with `adapter-`."""


def image_digests(item: DeployedObject, _: Settings) -> Iterator[PolicyFinding]:
    """Yield the images of containers and of volumes that have no digest."""
    for at, image, key in _images(item):
        if not _DIGEST.search(image):
            remedy = f"write {image.partition('@')[0]}@sha256:… as {key}"
            if item.is_ours:
                remedy = f"{remedy}, or run python -m cli lock --images STACK"
            yield of_object(item, at, f"has no digest ({image})", remedy)


def image_registries(item: DeployedObject, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the images that do not come from an allowed registry or repository."""
    allowed: list[str] = settings["registries"]
    if not allowed:
        return
    for at, image, key in _images(item):
        if not any(_is_below(full_name(image), registry) for registry in allowed):
            remedy = f"write a copy of it in {' or '.join(allowed)} as {key}"
            yield of_object(item, at, f"comes from a registry that is not allowed ({image})", remedy)


def full_name(image: str) -> str:
    """Return the repository of an image with its registry; an image without one comes from Docker Hub."""
    name = image.partition("@")[0]
    head, separator, rest = name.partition("/")
    if not separator:
        return f"{_LIBRARY}/{name.partition(':')[0]}"
    if head != "localhost" and "." not in head and ":" not in head:
        return f"{_HUB}/{name.rpartition(':')[0] or name}"
    return f"{head}/{rest.partition(':')[0]}"


def _is_below(name: str, registry: str) -> bool:
    """Tell whether a repository is the allowed one, or lies below an allowed registry or folder."""
    return f"{name}/".startswith(f"{registry.removesuffix('/')}/")


def _images(item: DeployedObject) -> Iterator[tuple[str, str, str]]:
    """Yield path, reference and key of the configuration of each image of an object's pods."""
    for container in pods.containers(item):
        yield f"{container.at}.image", container.image, container.image_key
    for template in pods.templates(item):
        for volume in trees.mappings(template.spec, "volumes"):
            reference = trees.text(volume, "image", "reference")
            if reference:
                name = trees.text(volume, "name")
                at = f"{template.spec_at}.volumes[{name}].image.reference"
                yield at, reference, template.key(f"pod.volumes.{name}.reference") or at


def fetched_sources(item: DeployedObject, _: Settings) -> Iterator[PolicyFinding]:
    """Yield the sources among the arguments of fetching containers whose content may change."""
    for container in pods.containers(item):
        if container.name not in _FETCHERS and not container.name.startswith("adapter-"):
            continue
        for argument in container.arguments:
            source = argument.replace("hf://", "", 1)
            if source == argument:
                continue
            if not _COMMIT.fullmatch(source.rpartition(":")[2]):
                remedy = _remedy(container.template.key("model.source") or "it")
                yield of_object(item, f"{container.at}.args", f"fetches a source that may change ({argument})", remedy)


def locked_sources(view: View, _: Settings) -> Iterator[PolicyFinding]:
    """Yield the models whose content neither the lock nor the source pins.

    Pods and pools of somebody else have no source that the stack could pin.
    """

    def judge(at: str, variant: Tree, model: Tree) -> Iterator[PolicyFinding]:
        source = trees.text(model, "source")
        if variant and source and not _is_pinned(model):
            yield PolicyFinding(at, f"has a source that may change ({source})", _remedy(f"{at}.model.source"))

    yield from contracts.of_variants(view, judge)


def _is_pinned(model: Tree) -> bool:
    """Tell whether lock, digest or commit pin a model. An image or a claim of the cluster is no source to lock."""
    if trees.at(model, "locked") is not None or trees.at(model, "digest") is not None:
        return True
    return _COMMIT.fullmatch(trees.text(model, "revision")) is not None


def _remedy(key: str) -> str:
    return f"run python -m cli lock STACK, or pin {key} to a digest or a commit"
