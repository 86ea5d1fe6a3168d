"""Stacks with one mistake in their objects, and what Istio says of them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from local.gateway.objects import Manifest
from tests.support.cluster.judge import UNJUDGED, Place, Verdict, gateways_for, moved
from tests.support.stacks import rendered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TABLE = yaml.load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
JUDGED = ("HTTPRoute chat", "HTTPRoute code", "InferencePool chat", "InferencePool chat-canary")
"""Objects of the stack that Istio judges, all in one namespace."""


@dataclass(frozen=True)
class Mistake:
    """A row of the table."""

    name: str
    row: Mapping[str, Any]

    def gateways_and_objects(self, suffix: str) -> tuple[list[Manifest], list[Manifest]]:
        """Return the objects of the stack with the mistake, in namespaces with a suffix."""
        found = moved(rendered(TABLE["stack"]), suffix)
        return self._edited(gateways_for(found)), self._edited(found)

    def verdicts(self, suffix: str) -> dict[Place, Verdict]:
        """Return what Istio says of all that it judges; of what the table leaves out, all conditions are true."""
        texts = {each: self.row["says"].get(each) for each in JUDGED}
        return {
            (*each.split()[:1], f"{TABLE['stack']['namespace']}{suffix}", each.split()[1]): _verdict(text)
            for each, text in texts.items()
        }

    def _edited(self, manifests: Sequence[Manifest]) -> list[Manifest]:
        found = list[Manifest]()
        for manifest in manifests:
            if f"{manifest['kind']} {manifest['metadata']['name']}" != self.row["object"]:
                found.append(manifest)
            elif "path" in self.row:
                found.append(self._with_value(manifest))
        return found

    def _with_value(self, manifest: Manifest) -> Manifest:
        edited = copy.deepcopy(manifest)
        *way, last = (int(key) if key.isdecimal() else key for key in self.row["path"].split("."))
        parent: Any = edited
        for key in way:
            parent = parent[key]
        if "value" in self.row:
            parent[last] = self.row["value"]
        else:
            del parent[last]
        return edited


def _verdict(text: str | None) -> Verdict:
    if text is None:
        return {}
    return UNJUDGED if text == "nothing" else dict([text.split()])


MISTAKES = tuple(Mistake(name, row) for name, row in TABLE["mistakes"].items())
"""All rows of the table."""
