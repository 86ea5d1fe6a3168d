"""Images of rendered pods get their digests, and nothing else of an object changes."""

import copy

from manifests import image_pins
from manifests.assembly import objects, render
from tests.support.stacks import plan, tree

DIGEST = f"sha256:{'7' * 64}"
ENGINE, MORE = "registry.example/engine:v1", "registry.example/more:v1"
SERVICES = {
    "qwen": {
        "engine": {"image": ENGINE},
        "pod": {"containers": {"more": {"image": MORE}}, "imagePullSecrets": [{"name": "pull"}]},
        "prefill": {},
    },
    "llama": {
        "engine": {"image": ENGINE},
        "parallelism": {"tensor": 8, "pipeline": 2},
        "accelerator": "nvidia-h100-80gb",
    },
    "kept": {
        "storage": {"type": "dedicated"},
        "model": {"name": "m", "source": "kit://registry.example/m:v1", "size": "5Gi"},
    },
}
STACK = {**tree(**SERVICES), "images": {"kit": "registry.example/kit:v1"}}


def components():
    return render(plan(STACK))


def every_image(value):
    """Yield what stands at a key `image` or `reference`, at any depth."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if key in {"image", "reference"} and isinstance(inner, str):
            yield inner
        elif isinstance(inner, dict | list | tuple):
            yield from every_image(inner)


def test_all_images_of_pods_are_known_and_each_gets_its_digest():
    rendered = components()
    manifests = [item.manifest for item in objects(rendered)]
    kinds = {manifest["kind"] for manifest in manifests if [*every_image(manifest)]}
    assert kinds == {"Deployment", "LeaderWorkerSet", "Job"}
    unpinned = {image for manifest in manifests for image in every_image(manifest) if "@" not in image}
    references = image_pins.references(objects(rendered), ())
    assert references.keys() == unpinned >= {ENGINE, MORE, "registry.example/kit:v1"}
    pinned = image_pins.pin(rendered, dict.fromkeys(references, DIGEST))
    after = [image for item in objects(pinned) for image in every_image(item.manifest)]
    assert all("@sha256:" in image for image in after)
    assert f"{ENGINE}@{DIGEST}" in after
    assert image_pins.references(objects(pinned), ()) == {}


def test_nothing_but_images_changes_and_the_order_of_keys_stays():
    rendered = components()
    before = copy.deepcopy([item.manifest for item in objects(rendered)])
    pinned = image_pins.pin(rendered, {ENGINE: DIGEST, "registry.example/unknown:v1": DIGEST})
    assert [item.manifest for item in objects(rendered)] == before
    texts = [repr(item.manifest).replace(f"{ENGINE}@{DIGEST}", ENGINE) for item in objects(pinned)]
    assert texts == [*map(repr, before)]
    assert image_pins.pin(rendered, {}) is rendered


def test_an_image_says_whether_its_pods_have_credentials():
    references = image_pins.references(objects(components()), ())
    assert references[ENGINE] is True
    assert references["registry.example/kit:v1"] is True
    alone = image_pins.references(objects(render(plan(tree(qwen={"engine": {"image": ENGINE}})))), ())
    assert alone[ENGINE] is False


def test_sources_and_images_with_a_digest_are_left_out():
    inside = {"model": {"name": "m", "source": "image://registry.example/inside:v1"}}
    rendered = render(plan(tree(qwen=inside, other={"engine": {"image": f"{ENGINE}@{DIGEST}"}})))
    assert "registry.example/inside:v1" in image_pins.references(objects(rendered), ())
    left = image_pins.references(objects(rendered), {"registry.example/inside:v1"})
    assert not {image for image in left if "inside" in image or "engine" in image}
