"""Sizes of objects and of their annotations."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from models.paths import Path
from models.problems import Problem
from planning.refusals.tables import rules

_NOTHING: Mapping[str, str] = {}
_SHORTEN = "shorten them, or put the text into a ConfigMap"
_ROOM = 4096
"""Bytes for annotations besides those that users write: this program's, the provider's, and those that controllers add
when they copy annotations of a workload to its ReplicaSets."""
_OWN_SHARE = 2 / 3
"""Share of a request to etcd that the manifest may take. The rest is for what the API server adds, above all who
manages each field."""


def annotations(at: Path, written: Mapping[str, str], inherited: Mapping[str, str] = _NOTHING) -> Iterator[Problem]:
    """Check the bytes of annotations, and those of `inherited` annotations that the same object has.

    Inherited annotations that are too long already are no problem of this place.
    """
    largest = rules().sizes.annotations - _ROOM
    merged = {**inherited, **written}
    size = _annotation_bytes(merged)
    if size > largest >= _annotation_bytes(inherited):
        longest = max(merged, key=lambda key: _bytes(merged[key]))
        what = f"makes {size} bytes of annotations (the longest is {longest}), and {largest} fit beside those of others"
        yield Problem(at, what, _SHORTEN)


def rendered_annotations(at: Path, written: Mapping[str, str]) -> Iterator[Problem]:
    """Check the bytes of all annotations of a rendered object."""
    largest = rules().sizes.annotations
    size = _annotation_bytes(written)
    if size > largest:
        what = f"makes {size} bytes of annotations, and Kubernetes takes {largest}"
        yield Problem(at, what, _SHORTEN)


def manifest(tree: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what is wrong with an object that is too large to be stored, and a remedy; None for other objects."""
    largest = int(rules().sizes.request * _OWN_SHARE)
    size = _bytes(json.dumps(tree, separators=(",", ":"), ensure_ascii=False))
    if size <= largest:
        return None
    name = f"{tree.get('kind')} {tree.get('metadata', {}).get('name')}"
    what = f"makes {name} of {size} bytes, and etcd can store about {largest}"
    return what, "shorten variables, arguments and annotations, or move them into a ConfigMap"


def _annotation_bytes(written: Mapping[str, str]) -> int:
    return sum(_bytes(key) + _bytes(value) for key, value in written.items())


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
