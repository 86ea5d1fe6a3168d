"""Rules on versions: `release-allowed`, `engine-versions`, with the tables of release channels and of advisories."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from policy.rules import contracts, pods, tables, trees
from policy.rules.pods import JudgedContainer
from policy.rules.records import DeployedObject, PolicyFinding, Settings, View, cannot_tell, of_object
from policy.rules.trees import Tree

Version = tuple[int, ...]
SEVERITIES = ("low", "medium", "high", "critical")
"""Severities of advisories, the lowest first."""
_NUMBER = re.compile(r"v?(\d+(?:\.\d+)+)")
_ENGINES = frozenset({"vllm"})
"""Names of containers that run vLLM, whatever their image is called."""
_POOLING = ("--runner=pooling", "--runner pooling", "--task=embed", "--task embed")
"""Flags of engines that generate no text."""
_FLAGS = {"trusts-remote-code": "--trust-remote-code", "takes-prompt-embeddings": "--enable-prompt-embeds"}
"""Flags that show that an engine meets a condition."""
_CONNECTOR = re.compile(r'"kv_connector"\s*:\s*"(\w+)"')


@dataclass(frozen=True, slots=True)
class KnownAdvisory:
    """A published advisory of vLLM."""

    id: str
    since: Version
    fixed_in: Version
    condition: str
    words: tuple[str, ...]
    severity: str


def release_allowed(view: View, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the release channels that are not allowed: those that are retired, or not in the list."""
    allowed: list[str] = settings["releases"]
    channels = _channels()

    def judge(at: str, variant: Tree, _: Tree) -> Iterator[PolicyFinding]:
        release = trees.text(variant, "release")
        names = allowed or [name for name, row in channels.items() if not row["retired"]]
        if release in names:
            return
        finding = PolicyFinding(
            at, f"has a release that is not allowed ({release})", f"write release: {' or '.join(names)}"
        )
        if not allowed and release not in channels:
            what = f"has a release that the pack does not know ({release})"
            finding = cannot_tell(
                PolicyFinding(at, what, "take a newer pack, or name the release in the rule's releases")
            )
        yield finding

    yield from contracts.of_variants(view, judge)


def _channels() -> Mapping[str, Mapping[str, Any]]:
    return tables.read("releases")["channels"]


def engine_versions(item: DeployedObject, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the engines that are older than the minimum, and those that meet a published advisory."""
    minimum = _version(settings["minimum"])
    refused = SEVERITIES[SEVERITIES.index(settings["severity"]) :]
    for container in pods.containers(item):
        repository = container.image.partition("@")[0].rpartition("/")[2].partition(":")[0]
        if container.name not in _ENGINES and repository not in _families():
            continue
        at = f"{container.at}.image"
        version = version_of(container.image)
        if version is None:
            what = f"has an unknown version of vLLM ({container.image})"
            remedy = f"name the version in the tag of {container.image_key}"
            yield cannot_tell(of_object(item, at, what, remedy))
            continue
        yield from _of_version(container, version, minimum, refused)


def _of_version(
    container: JudgedContainer, version: Version, minimum: Version, refused: tuple[str, ...]
) -> Iterator[PolicyFinding]:
    at = f"{container.at}.image"
    met = [
        advisory for advisory in _advisories() if advisory.severity in refused and _meets(advisory, version, container)
    ]
    needed = max((minimum, *(advisory.fixed_in for advisory in met)))
    remedy = f"set {container.image_key} to an image of vLLM {_text(needed)} or newer"
    if version < minimum:
        what = f"runs vLLM {_text(version)}, and the minimum is {_text(minimum)}"
        yield of_object(container.template.item, at, what, remedy)
    if met:
        names = ", ".join(advisory.id for advisory in met)
        what = f"runs vLLM {_text(version)}, which meets {names}"
        yield of_object(container.template.item, at, what, remedy)


def version_of(image: str) -> Version | None:
    """Return the version of vLLM in an image; None if its tag does not tell."""
    name = image.partition("@")[0].rpartition("/")[2]
    repository, _, tag = name.partition(":")
    versions = _families().get(repository)
    if versions:
        return _version(versions[tag]) if tag in versions else None
    match = _NUMBER.match(tag)
    return _version(match[1]) if match else None


def _meets(advisory: KnownAdvisory, version: Version, container: JudgedContainer) -> bool:
    """Tell whether an engine meets an advisory, as far as its arguments say."""
    if not advisory.since <= version < advisory.fixed_in:
        return False
    line = " ".join(container.arguments)
    flags = line.replace("_", "-")
    if advisory.condition == "transfers-cache":
        return any(not advisory.words or name in advisory.words for name in _CONNECTOR.findall(line))
    if advisory.condition == "generates-text":
        return not any(flag in flags for flag in _POOLING)
    if advisory.condition in _FLAGS:
        return _FLAGS[advisory.condition] in flags
    return advisory.condition == "answers-requests"


def _version(text: str) -> Version:
    return tuple(int(part) for part in text.removeprefix("v").split(".") if part)


def _text(version: Version) -> str:
    return ".".join(str(part) for part in version)


@cache
def _advisories() -> tuple[KnownAdvisory, ...]:
    return tuple(
        KnownAdvisory(
            row["id"],
            _version(row.get("since", "0")),
            _version(row["fixedIn"]),
            row["condition"],
            tuple(row.get("words", ())),
            row["severity"],
        )
        for row in tables.read("advisories")["advisories"]
    )


@cache
def _families() -> Mapping[str, Mapping[str, str]]:
    """Return the versions of vLLM by tag, by name of the image's repository; empty if the tag is the version."""
    rows = tables.read("engine_images")["families"]
    return {name: row.get("versions", {}) for row in rows for name in row["repositories"]}
