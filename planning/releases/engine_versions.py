"""Versions of vLLM: the version in an image, and the flags, variables and JSON values that a version knows.

The table `engines/vllm.yaml` has ranges of versions, written by `make facts` from the published wheels.
"""

import re
from dataclasses import dataclass
from functools import cache

from pydantic import Field

from models.base import Spec
from planning.ground import tables
from planning.releases import Release, Sourced, repository_and_tag

_TAG = re.compile(r"v?(\d+\.\d+\.\d+(?:\.\d+)?(?:\.post\d+)?)(?:-.+)?")
"""Tag of a release of vLLM. The name of a build may follow. Examples are `v0.21.0` and `v0.15.1-x86_64`."""


class EngineImageFamily(Sourced):
    """Images whose version of vLLM is known."""

    repositories: list[str]
    """Last segments of the names of the images' repositories. They also match images in a mirror."""
    versions: dict[str, str] = Field(default={})
    """Version of vLLM by tag; empty if the tag itself is the version."""


class EngineImages(Spec):
    """The known images of vLLM."""

    families: list[EngineImageFamily]


class GroupFlags(Sourced):
    """Flags that are restricted in some layouts of replicas, in the canonical form of `models.flags`."""

    flags: list[str]


class MultiPort(GroupFlags):
    """Flags that do not work if every copy of the model in a pod has its own port (`loadBalancing: external`)."""

    tls_since: str
    """First version that serves TLS on several ports."""


class Groups(Spec):
    """Flags that are restricted in replicas of several pods, or in pods with several ports."""

    leader: GroupFlags
    """Flags that only the first pod of a replica takes."""
    multi_port: MultiPort


class VersionTable(Spec):
    """Names that versions of vLLM know, by ranges of versions.

    A range is `0.18.0..` or `0.9.0..0.11.2`. Several ranges are separated by commas.
    """

    versions: list[str]
    """The versions whose wheels were read, in ascending order."""
    flags: dict[str, list[str]]
    """Flags of `vllm serve` as they are written, including short flags."""
    variables: dict[str, list[str]]
    """Environment variables of vLLM itself."""
    values: dict[str, list[str]]
    """Keys of JSON values, as `--flag.key`. If vLLM lists the allowed values of a key, `--flag.key=value` as well."""


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """The version of vLLM in an image."""

    number: str
    """The version. If the image's version is unknown, the version of the release channel's image counts. If the version
    is older or newer than all versions in the table, the closest version in the table counts."""
    is_known: bool
    """Whether `number` is the image's own version."""

    @property
    def flags(self) -> frozenset[str]:
        """Return the flags that the version knows, as they are written."""
        return _names("flags", self.number)

    def is_at_least(self, number: str) -> bool:
        """Tell whether the version is `number` or a newer one."""
        return not is_older(self.number, number)

    def knows_flag(self, name: str) -> bool:
        """Tell whether the version knows a flag. `name` has the canonical form of `models.flags`.

        An unambiguous prefix of a flag counts, because argparse takes it as the flag.
        """
        return _knows_flag(self.number, name.partition(".")[0])

    def knows_variable(self, name: str) -> bool:
        """Tell whether the version knows an environment variable."""
        return name in _names("variables", self.number)

    def knows_value(self, key: str) -> bool:
        """Tell whether the version knows a key or value in JSON, such as `--kv-transfer-config.kv_role=kv_both`."""
        return key in _names("values", self.number)


def of_image(image: str, vendor: str, release: Release) -> EngineVersion:
    """Return the version of vLLM in an image.

    If the version is unknown, the result is the version of the channel's image for the accelerator vendor `vendor`.
    """
    number = number_in(image)
    versions = table().versions
    if number is None:
        default = release.images.engine.get(vendor) or release.images.engine["nvidia"]
        return EngineVersion(number_in(default.ref) or versions[-1], is_known=False)
    closest = min(max(number, versions[0], key=order), versions[-1], key=order)
    return EngineVersion(closest, is_known=closest == number)


@cache
def number_in(image: str) -> str | None:
    """Return the version of vLLM that the name of an image states; None if it states no version."""
    repository, tag = repository_and_tag(image)
    for family in tables.read(EngineImages, "releases/engines/images.yaml").families:
        if repository in family.repositories:
            if family.versions:
                return family.versions.get(tag)
            match = _TAG.fullmatch(tag)
            return match and match[1]
    return None


@cache
def order(version: str) -> tuple[int, ...]:
    """Return the numbers in a version, by which versions are ordered."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def is_older(version: str, other: str) -> bool:
    """Tell whether a version is older than another one."""
    return order(version) < order(other)


@cache
def versions_with(name: str) -> str | None:
    """Return a text for messages with the newest range of versions that know a flag, JSON value or variable.

    None if no version knows it.
    """
    for known, names in (*table().flags.items(), *table().values.items(), *table().variables.items()):
        if name in names or name[1:] in names:
            first, _, last = known.rpartition(", ")[2].partition("..")
            if not last:
                return f"from {first} on"
            return f"up to {last}"
    return None


@cache
def table() -> VersionTable:
    """Return the table of versions."""
    return tables.read(VersionTable, "releases/engines/vllm.yaml")


def groups() -> Groups:
    """Return the flags that are restricted in replicas of several pods, or in pods with several ports."""
    return tables.read(Groups, "releases/engines/groups.yaml")


@cache
def _knows_flag(version: str, name: str) -> bool:
    """Tell whether a version knows a flag. Results are cached, because every service has the same generated flags."""
    known = _names("flags", version)
    positive = name
    if name.startswith("--no-"):
        positive = f"--{name.removeprefix('--no-')}"
    spellings = {name, name[1:], positive}
    if name == "--optimization-level":
        spellings.add("-O")
    return bool(spellings & known) or sum(flag.startswith(positive) for flag in known) == 1


@cache
def _names(group: str, version: str) -> frozenset[str]:
    """Return the flags, variables or values that a version knows."""
    groups_of_names: dict[str, list[str]] = getattr(table(), group)
    return frozenset(name for known, names in groups_of_names.items() if is_within(version, known) for name in names)


def is_within(version: str, known: str) -> bool:
    """Tell whether a version is within one of the ranges in `known`."""
    for bounds in known.split(", "):
        first, _, last = bounds.partition("..")
        if order(first) <= order(version) and (not last or order(version) <= order(last)):
            return True
    return False
