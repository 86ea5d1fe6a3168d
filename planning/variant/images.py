"""Which image an engine runs, and whose entrypoint."""

from models.role import Role
from models.service import Variant
from models.source import scheme
from planning.releases import Release


def is_custom(spec: Variant, role: Role) -> bool:
    """Say whether the image's own entrypoint runs, without anything generated."""
    return role.engine.type == "custom" or (role.engine.type is None and scheme(spec.model.source) == "image")


def engine(spec: Variant, role: Role, vendor: str, release: Release) -> str | None:
    """Return the engine's image: the one that holds the weights, the written one, or the channel's."""
    if scheme(spec.model.source) == "image":
        return spec.model.source.removeprefix("image://")
    if role.engine.image is not None:
        return role.engine.image
    own = release.images.engine.get(vendor)
    return None if own is None else own.ref
