"""Sources of weights: URIs whose scheme decides how weights are fetched."""

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from models.vocabulary import IMAGE, Shape, check_authority, refuse

_LONGEST = 512
_REPOSITORY = r"[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"
_HUB_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_REVISION = rf"{_HUB_NAME}(/{_HUB_NAME})*"
"""A branch, a tag, a commit, or a reference such as refs/pr/5."""
_OBJECT_PATH = r"[A-Za-z0-9!_.*'()=-]+"
_CLAIM = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"


@dataclass(frozen=True, slots=True)
class Scheme:
    """One scheme of sources."""

    noun: str
    """Name of the text after `://`, for messages."""
    pattern: str
    """Regular expression of the text after `://`."""
    remedy: str
    """Advice for a source that does not match."""


_TAG_OR_DIGEST = r"(:[A-Za-z0-9_][A-Za-z0-9_.-]*|@sha256:[0-9a-f]{64})"
SCHEMES = {
    "kit": Scheme(
        "a ModelKit reference",
        _REPOSITORY + _TAG_OR_DIGEST,
        "write kit://registry/repository with a tag or digest, such as "
        "kit://jozu.ml/jozu/bert-base-uncased:safetensors",
    ),
    "hf": Scheme(
        "a Hugging Face model",
        rf"{_HUB_NAME}/{_HUB_NAME}(@{_REVISION})?",
        "write hf://organisation/name, with @revision to pin a revision, such as hf://Qwen/Qwen3-0.6B@main",
    ),
    "s3": Scheme(
        "an S3 prefix",
        rf"[a-z0-9][a-z0-9.-]{{1,61}}[a-z0-9](/{_OBJECT_PATH})+/?",
        "write s3://bucket/prefix, such as s3://acme-models/mistral-small-24b",
    ),
    "pvc": Scheme(
        "a claim's path",
        rf"{_CLAIM}(/[A-Za-z0-9._-]+)*",
        "write pvc://claim or pvc://claim/path, such as pvc://weights/qwen3",
    ),
    "oci": Scheme(
        "a reference of an image or artifact",
        _REPOSITORY + _TAG_OR_DIGEST,
        "write oci://registry/repository with a tag or digest, such as oci://registry.example/models/qwen3:v1",
    ),
    "image": Scheme(
        "an image reference",
        IMAGE,
        "write image://registry/repository with a tag or digest, such as image://ghcr.io/org/model-server:v1",
    ),
}
_AT_REGISTRIES = frozenset({"kit", "oci", "image"})
"""Schemes of sources that begin with the address of a registry."""


_CONTENT = {"hf": r"[0-9a-f]{40}", **dict.fromkeys(("kit", "oci", "image"), r"sha256:[0-9a-f]{64}")}
"""Pattern of the text after `@` that names the content of a source: a commit, or the digest of a manifest."""


@dataclass(frozen=True, slots=True)
class _SourceShape:
    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_check_source, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        alternatives = "|".join(f"{name}://(?:{scheme.pattern})" for name, scheme in SCHEMES.items())
        return handler(schema) | {"pattern": f"^(?:{alternatives})$", "maxLength": _LONGEST}


def _check_source(value: str) -> str:
    name, separator, rest = value.partition("://")
    scheme = SCHEMES.get(name)
    if scheme is None or not separator:
        raise refuse("has an unknown scheme", f"begin with {', '.join(f'{known}://' for known in SCHEMES)}")
    if re.fullmatch(scheme.pattern, rest) is None or any(part in {".", ".."} for part in rest.split("/")):
        raise refuse(f"is not {scheme.noun}", scheme.remedy)
    if len(value) > _LONGEST:
        raise refuse(f"is {len(value)} characters long", f"write at most {_LONGEST}", echoed=False)
    if name in _AT_REGISTRIES:
        check_authority(rest)
    return value


ModelSource = Annotated[str, _SourceShape()]
FilePattern = Annotated[
    str,
    Shape(
        "is not a pattern of files",
        r"[A-Za-z0-9_*?.!\[\]-][A-Za-z0-9_*?.!\[\]/-]*",
        "write a path in the repository, with * for any text, such as original/**",
    ),
]
"""Pattern of files in a repository, as Python's `fnmatch` reads it: `*` stands for any text, slashes included."""


def scheme(source: str) -> str:
    """Return the scheme of a source."""
    return source.partition("://")[0]


def place(source: str) -> str:
    """Return a source without its scheme and `://`."""
    return source.partition("://")[2]


def hub(source: str) -> tuple[str, str | None]:
    """Return repository and revision of an `hf://` source.

    The revision is None if the source names none. Hugging Face then uses the default branch.
    """
    name, _, revision = place(source).partition("@")
    return name, revision or None


def bare(source: str) -> str:
    """Return a source without its revision, tag and digest."""
    before = source.partition("@")[0]
    folder, slash, name = before.rpartition("/")
    if scheme(source) not in _AT_REGISTRIES:
        return before
    return f"{folder}{slash}{name.partition(':')[0]}"


def content(source: str) -> str | None:
    """Return the commit or the digest in a source; None if the source names none, or if its scheme has none.

    A commit has 40 hex digits in lower case, as hubs write them.
    """
    version = source.partition("@")[2].lower()
    pattern = _CONTENT.get(scheme(source))
    if pattern is None or re.fullmatch(pattern, version) is None:
        return None
    return version


def is_pin(pinned: str, source: str) -> bool:
    """Return whether `pinned` is `source` with nothing but its commit or digest added.

    An S3 prefix and a claim have neither. A source that names its content is pinned to this content alone.
    """
    if scheme(source) not in _CONTENT:
        return pinned == source
    named = content(pinned)
    return named is not None and pinned == f"{bare(source)}@{named}" and content(source) in {None, named}


def tag_of_files(source: str) -> str | None:
    """Return the tag of a source `kit://` or `oci://`; None for a source with a digest or with another scheme."""
    if scheme(source) not in {"kit", "oci"} or "@" in source:
        return None
    return place(source).rpartition("/")[2].partition(":")[2]


def served_name(name: str | None, source: str) -> str | None:
    """Return the served model name: the explicit name, else the repository of an `hf://` source, else None."""
    if name is None and scheme(source) == "hf":
        return hub(source)[0]
    return name
