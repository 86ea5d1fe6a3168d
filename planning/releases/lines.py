"""Release lines: the channels to which an image belongs by its repository and tag."""

from planning.releases import ImageFamily, Release, channel, channels, repository_and_tag


def other_line(release: Release, image: str) -> tuple[str, ...] | None:
    """Return the channels to which an image belongs, or None if the image fits `release`.

    The tuple is empty if no channel has the version of the image. An image fits if it belongs to the release line of
    `release`. An image about which nothing is known fits, too: its repository is in no line, or its tag is no version.
    """
    repository, tag = repository_and_tag(image)
    families = {name: channel(name).line.images for name in channels()}
    if not any(family.repository == repository for images in families.values() for family in images):
        return None
    if not tag.startswith("v") or any(_is_in(family, repository, tag) for family in release.line.images):
        return None
    return tuple(name for name, images in families.items() if any(_is_in(family, repository, tag) for family in images))


def line_has(release: Release, image: str) -> bool:
    """Tell whether an image belongs to the release line of `release`."""
    return any(_is_in(family, *repository_and_tag(image)) for family in release.line.images)


def _is_in(family: ImageFamily, repository: str, tag: str) -> bool:
    """Tell whether a family contains the image with this repository and tag."""
    return family.repository == repository and (
        tag == family.tag or tag.startswith((f"{family.tag}.", f"{family.tag}-"))
    )
