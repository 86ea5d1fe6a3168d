"""Image of an engine, and the version of vLLM in it."""

from models.role import Role
from models.service import Variant
from models.source import place, scheme
from planning.releases import Release, engine_versions
from planning.releases.engine_versions import EngineVersion


def engine(spec: Variant, role: Role, vendor: str, release: Release) -> str | None:
    """Return the engine's image: the image that contains the weights, else the explicit image, else the channel's.

    None if the channel has no image for the accelerator vendor.
    """
    if scheme(spec.model.source) == "image":
        return place(spec.model.pinned_source)
    if role.engine.image is not None:
        return role.engine.image
    default = release.images.engine.get(vendor)
    if default is None:
        return None
    return default.ref


def identity(spec: Variant, image: str | None) -> str | None:
    """Return the engine's image as it enters names and hashes of objects. `image` is the result of `engine`.

    An image with weights counts as the user wrote it until the digest in the lock file changes, and then with the
    changed digest. So the first lock file changes no name of an object.
    """
    if scheme(spec.model.source) == "image":
        return place(spec.model.identity)
    return image


def version(image: str | None, vendor: str, release: Release) -> EngineVersion | None:
    """Return the version of vLLM that an engine's image has; None if there is no image."""
    if image is None:
        return None
    return engine_versions.of_image(image, vendor, release)
