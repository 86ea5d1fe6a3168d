"""References of container images: registry, repository, tag and digest.

A reference without a registry means Docker Hub. A reference that has neither a tag nor a digest means the tag `latest`.
Therefore, different texts can mean the same image.
"""

import re
from dataclasses import dataclass

_DEFAULT_REGISTRY = "docker.io"
_DEFAULT_NAMESPACE = "library"
DEFAULT_TAG = "latest"
"""Tag of a reference that has neither a tag nor a digest."""
_LOCAL = "localhost"
_SHORT_DIGEST = 6
"""Number of hex digits of a digest in `ImageReference.version`."""


class ImageReferenceError(ValueError):
    """Error for a text that is no image reference. The message of the error says why."""


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image. All texts that refer to the same image give equal records."""

    registry: str
    repository: str
    tag: str | None
    """Tag; None for a reference that has a digest and no tag."""
    digest: str | None
    """Digest with its algorithm; None for a reference without a digest."""

    @property
    def name(self) -> str:
        """Return the last segment of the repository's path, as lower-case letters, digits and hyphens.

        If the reference has both a tag and a digest, the tag is appended, because `version` then contains no tag.
        """
        last = self.repository.rpartition("/")[2]
        if self.tag is not None and self.digest is not None:
            last = f"{last}-{self.tag}"
        return _legal(last)

    @property
    def version(self) -> str:
        """Return the beginning of the digest; without a digest, the tag as lower-case letters, digits and hyphens."""
        if self.digest is not None:
            return self.digest.partition(":")[2][:_SHORT_DIGEST]
        return _legal(self.tag or DEFAULT_TAG)


def parse(text: str) -> ImageReference:
    """Return the image that a reference means. Raises `ImageReferenceError` if the reference is malformed."""
    if not text:
        raise ImageReferenceError("image reference is empty")
    place, at, digest = text.partition("@")
    if at:
        _check_digest(text, digest)
    registry, _, path = place.partition("/")
    if not path or not ("." in registry or ":" in registry or registry == _LOCAL):
        registry = _DEFAULT_REGISTRY
        path = place
    repository, colon, tag = _split_tag(path)
    if colon and not tag and _legal(repository):
        raise ImageReferenceError(f"malformed tag reference (empty tag): {text}")
    if not _legal(repository.rpartition("/")[2]):
        raise ImageReferenceError("image name is empty after sanitization")
    if registry == _DEFAULT_REGISTRY and "/" not in repository:
        repository = f"{_DEFAULT_NAMESPACE}/{repository}"
    if not tag and not digest:
        tag = DEFAULT_TAG
    return ImageReference(registry.lower(), repository, tag or None, digest or None)


def _split_tag(path: str) -> tuple[str, str, str]:
    """Return repository, separator and tag. The separator is `:`, or empty if the path has no tag."""
    before, slash, last = path.rpartition("/")
    name, colon, tag = last.partition(":")
    return f"{before}{slash}{name}", colon, tag


def _check_digest(text: str, digest: str) -> None:
    if not digest:
        raise ImageReferenceError(f"malformed digest reference: {text}")
    _, colon, value = digest.partition(":")
    if not colon:
        raise ImageReferenceError(f"malformed digest (missing colon): {digest}")
    if not value:
        raise ImageReferenceError(f"malformed digest (no hash after colon): {digest}")


def _legal(text: str) -> str:
    """Return a text in lower case, with one hyphen for each sequence of characters other than letters and digits.

    Hyphens at both ends are removed.
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
