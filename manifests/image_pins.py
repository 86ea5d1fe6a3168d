"""Images of the pods of rendered objects: which there are, and objects with their digests.

An image that has a digest already is left out. So are sources of weights, which have pins of their own.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from manifests import pod_templates
from manifests.assembly import Component
from manifests.objects import Rendered
from manifests.pod_templates import mappings
from models import trees
from models.trees import mapping

_CONTAINERS = ("initContainers", "containers")
_DIGEST = "@"
"""Sign before a digest."""


def references(objects: Iterable[Rendered], sources: Collection[str]) -> dict[str, bool]:
    """Return the images without a digest in their order, each with whether its pods have credentials for registries.

    `sources` are references of images that hold weights.
    """
    images = dict[str, bool]()
    for rendered in objects:
        for template in pod_templates.templates(rendered.manifest):
            has_credentials = bool(template.spec.get("imagePullSecrets"))
            for reference in _of_pod(template.spec):
                if _DIGEST not in reference and reference not in sources:
                    images[reference] = images.get(reference, False) or has_credentials
    return images


def _of_pod(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the images of the containers and of the volumes of a pod."""
    places = [container.get("image") for field in _CONTAINERS for container in mappings(spec.get(field))]
    places += [trees.at(volume, "image", "reference") for volume in mappings(spec.get("volumes"))]
    yield from (reference for reference in places if isinstance(reference, str) and reference)


def pin(components: tuple[Component, ...], digests: Mapping[str, str]) -> tuple[Component, ...]:
    """Return the components; each image that `digests` has, by reference, gets its digest."""
    if not digests:
        return components

    def with_digest(reference: object) -> object:
        digest = digests.get(reference) if isinstance(reference, str) else None
        return reference if digest is None else f"{reference}{_DIGEST}{digest}"

    return tuple(
        replace(component, objects=tuple(_pin_object(rendered, with_digest) for rendered in component.objects))
        for component in components
    )


def _pin_object(rendered: Rendered, with_digest: Callable[[object], object]) -> Rendered:
    manifest = rendered.manifest
    for template in pod_templates.templates(manifest):
        keys = tuple(map(str, template.at))
        manifest = _with(manifest, (*keys, "spec"), _pin_pod(template.spec, with_digest))
    if manifest is rendered.manifest:
        return rendered
    return replace(rendered, manifest=manifest)


def _pin_pod(spec: Mapping[str, Any], with_digest: Callable[[object], object]) -> dict[str, Any]:
    pod = dict(spec)
    for field in _CONTAINERS:
        if isinstance(pod.get(field), list | tuple):
            pod[field] = [_edit(container, ("image",), with_digest) for container in pod[field]]
    if isinstance(pod.get("volumes"), list | tuple):
        pod["volumes"] = [_edit(volume, ("image", "reference"), with_digest) for volume in pod["volumes"]]
    return pod


def _edit(item: object, keys: tuple[str, ...], with_digest: Callable[[object], object]) -> object:
    """Return an item of a list with its image changed; the item itself if it has none."""
    reference = trees.at(item, *keys)
    if reference is None:
        return item
    return _with(mapping(item), keys, with_digest(reference))


def _with(tree: Mapping[str, Any], keys: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return a tree with another value at nested keys, in the order of its keys."""
    key = keys[0]
    if len(keys) > 1:
        value = _with(cast("Mapping[str, Any]", tree[key]), keys[1:], value)
    return {**tree, key: value}
