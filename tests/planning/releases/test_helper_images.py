"""Images of what fetches, routes and picks beside the engine: exact in every channel, and the user's to pin."""

import re

import pytest

from planning.releases import channel, channels
from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import DIGEST, containers, templates

PINNED = f"registry.example/{{}}@{DIGEST}"


def helpers(release):
    """Return the images of a channel that are not engines, by name."""
    images = channel(release).images
    result = {
        "picker": images.picker,
        "kit": images.kit,
        "kitVerify": images.kit_verify,
        "downloader": images.downloader,
    }
    return result if images.sidecar is None else {**result, "sidecar": images.sidecar}


@pytest.mark.parametrize("release", channels())
def test_an_image_of_a_channel_is_a_digest_or_a_version(release):
    references = [image.ref for image in helpers(release).values()]
    assert [
        reference for reference in references if not re.search(r"@sha256:[0-9a-f]{64}$|:v\d+\.\d+\.\d+$", reference)
    ] == []


def test_every_helper_takes_a_digest():
    service = {
        "model": {
            "name": "org/m",
            "source": "kit://registry.example/org/m:v1",
            "lora": {"adapters": {"sql": {"source": "hf://org/sql"}}},
        },
        "prefill": {},
        "sidecar": {"image": PINNED.format("sidecar")},
        "endpointPicker": {"image": PINNED.format("picker")},
    }
    images = {"kit": PINNED.format("kit"), "downloader": PINNED.format("downloader")}
    by_name = {
        container["image"]
        for template in templates(rendered(tree(qwen=service) | {"images": images}))
        for container in containers(template)
        if container["name"] != "vllm"
    }
    assert by_name == {PINNED.format(name) for name in ("kit", "downloader", "sidecar", "picker")}
