"""Release lines and their images."""

import pytest

from planning.releases import channel, channels
from planning.releases.lines import line_has, other_line


@pytest.fixture(params=channels())
def release(request):
    return channel(request.param)


def test_the_image_of_a_channel_is_of_its_own_line(release):
    refs = [release.images.picker.ref, *([release.images.sidecar.ref] if release.images.sidecar else [])]
    assert [other_line(release, ref) for ref in refs] == [None] * len(refs)


@pytest.mark.parametrize(
    ("image", "lines"),
    [
        ("registry.example/mirror/llm-d-inference-scheduler:v0.6.1", ("llm-d-0.6",)),
        ("registry.example:5000/llm-d-router-endpoint-picker:v0.9.2-rc.1", ("llm-d-0.8",)),
        ("registry.example/llm-d-router-endpoint-picker:v0.100.0", ()),
        ("registry.example/llm-d-router-endpoint-picker:v0.10", None),
        ("registry.example/llm-d-router-endpoint-picker:main", None),
        ("registry.example/llm-d-router-endpoint-picker@sha256:" + "0" * 64, None),
        ("registry.example/our-own-picker:v0.6.0", None),
    ],
)
def test_an_image_of_another_line_is_told_by_repository_and_tag(image, lines):
    assert other_line(channel("llm-d-0.9"), image) == lines


def test_a_line_has_the_images_of_its_own_channel_and_no_others():
    picker = channel("llm-d-0.9").images.picker.ref
    assert [name for name in channels() if line_has(channel(name), picker)] == ["llm-d-0.9"]
