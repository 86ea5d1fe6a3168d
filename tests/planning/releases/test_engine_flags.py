"""The flags of an engine's versions come from a table with ranges of versions."""

import pytest

from planning.releases import engine_flags, engine_kinds

SGLANG = engine_flags.of_kind(engine_kinds.kind("sglang"))


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("docker.io/lmsysorg/sglang:v0.5.13.post1", "0.5.13.post1"),
        ("docker.io/lmsysorg/sglang:v0.5.13.post1-rocm720-mi30x", "0.5.13.post1"),
        ("registry.example/sglang:0.5.12-gpu-py312-cu130-ubuntu24.04-ec2", "0.5.12"),
        ("docker.io/lmsysorg/sglang:kimi-k3", None),
        ("docker.io/lmsysorg/sglang:v9.9.9", None),
    ],
)
def test_the_tag_of_an_image_states_its_version(image, version):
    assert SGLANG.version_in(image) == version


def test_a_version_knows_its_own_flags_only():
    assert SGLANG.knows("0.5.23", "--gated-launch-port")
    assert not SGLANG.knows("0.5.12", "--gated-launch-port")


def test_an_unambiguous_prefix_of_a_flag_counts_as_the_flag():
    assert SGLANG.knows("0.5.13.post1", "--mem-fraction-st")
    assert not SGLANG.knows("0.5.13.post1", "--enable")


def test_flags_with_underscores_are_known_in_the_canonical_form():
    assert engine_flags.of_kind(engine_kinds.kind("trtllm-serve")).knows("1", "--tp-size")


def test_a_custom_engine_has_no_table():
    assert engine_flags.of_kind(engine_kinds.kind("custom")) is None
