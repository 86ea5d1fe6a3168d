import pytest

from models.service import Service
from planning.releases import channel, engine_kinds
from planning.variant import images

RELEASE = channel("llm-d-0.10")


def service(**fields):
    return Service.model_validate({"accelerator": "nvidia", "model": {"source": "hf://org/model"}, **fields})


INSIDE = service(model={"source": "image://registry.example/model:v1"})
EXPLICIT = service(engine={"image": "registry.example/vllm-openai:v0.21.0"})


@pytest.mark.parametrize(
    ("spec", "is_custom"),
    [
        (service(), False),
        (service(engine={"type": "custom", "image": "registry.example/server:1"}), True),
        (INSIDE, True),
        (service(model={"source": "image://registry.example/model:v1"}, engine={"type": "vllm"}), False),
    ],
)
def test_an_engine_with_an_entrypoint_of_its_own_is_custom(spec, is_custom):
    assert (engine_kinds.of(spec, spec).name == "custom") is is_custom
    assert engine_kinds.of(spec, spec).is_generated is not is_custom


@pytest.mark.parametrize(
    ("spec", "vendor", "image"),
    [
        (INSIDE, "nvidia", "registry.example/model:v1"),
        (EXPLICIT, "nvidia", "registry.example/vllm-openai:v0.21.0"),
        (service(), "nvidia", RELEASE.images.engine["nvidia"].ref),
        (service(), "nobody", None),
    ],
)
def test_the_image_is_that_of_the_weights_else_the_explicit_one_else_the_channels(spec, vendor, image):
    assert images.engine(spec, spec, vendor, RELEASE) == image
    assert images.identity(spec, image) == image


def test_an_engine_without_an_image_has_no_version():
    assert images.version(None, "nobody", RELEASE) is None
    assert str(images.version(EXPLICIT.engine.image, "nvidia", RELEASE).number) == "0.21.0"
