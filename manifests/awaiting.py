"""Waits of a run, as the annotations that the provider reads."""

import json
from dataclasses import replace

from manifests.objects import Manifest, Rendered
from planning.ground.awaiting import Wait


def with_wait(rendered: Rendered, wait: Wait) -> Rendered:
    """Return an object with a wait, both in the field `wait` and in the annotations of the manifest."""
    return replace(rendered, manifest=annotate(rendered.manifest, wait), wait=wait)


def annotate(manifest: Manifest, wait: Wait) -> Manifest:
    """Return a manifest with the annotations of a wait after the manifest's other annotations."""
    wait_annotations = _annotations(wait)
    if not wait_annotations:
        return manifest
    metadata = manifest["metadata"]
    return {
        **manifest,
        "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **wait_annotations}},
    }


def _annotations(wait: Wait) -> dict[str, str]:
    annotations: dict[str, str] = {}
    if wait.conditions:
        annotations["pulumi.com/waitFor"] = json.dumps(wait.conditions)
    if wait.skip:
        annotations["pulumi.com/skipAwait"] = "true"
    if wait.replace_unready:
        annotations["pulumi.com/replaceUnready"] = "true"
    return annotations
