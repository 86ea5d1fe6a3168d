"""What a deployment run waits for, written out as the annotations that the provider reads."""

import json
from dataclasses import replace

from manifests.objects import Manifest, Rendered
from planning.ground.awaiting import Wait


def awaited(rendered: Rendered, wait: Wait) -> Rendered:
    """Return an object that is done when what is waited for holds."""
    return replace(rendered, manifest=annotated(rendered.manifest, wait), wait=wait)


def annotated(manifest: Manifest, wait: Wait) -> Manifest:
    """Return a manifest with the annotations of a wait behind its own."""
    written = _annotations(wait)
    if not written:
        return manifest
    metadata = manifest["metadata"]
    return {**manifest, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **written}}}


def _annotations(wait: Wait) -> dict[str, str]:
    return {
        **({"pulumi.com/waitFor": json.dumps(wait.conditions)} if wait.conditions else {}),
        **({"pulumi.com/skipAwait": "true"} if wait.skip else {}),
        **({"pulumi.com/replaceUnready": "true"} if wait.replace_unready else {}),
    }
