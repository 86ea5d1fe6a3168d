"""The version of vLLM in an image, and the flags and features of that version."""

import pytest

from planning.releases import channel
from planning.releases.engine_versions import EngineVersion, of_image, versions_with

RELEASE = channel("llm-d-0.10")


@pytest.mark.parametrize(("tag", "closest"), [("v0.6.0", "0.8.5"), ("v99.0.0", None)])
def test_a_version_outside_the_table_gets_the_flags_of_the_closest(tag, closest):
    version = of_image(f"vllm/vllm-openai:{tag}", "nvidia", RELEASE)
    assert not version.is_known
    assert closest in {None, version.number}


@pytest.mark.parametrize(
    "name", ["vllm/vllm-openai:nightly", "vllm/vllm-openai:v0.22.0rc1", "ghcr.io/llm-d/llm-d-cuda:v9"]
)
def test_an_image_without_a_known_version_is_taken_for_the_channels(name):
    assert of_image(name, "nvidia", RELEASE) == EngineVersion("0.30.0", is_known=False)
    assert of_image(name, "nvidia", channel("gie-1.3")) == EngineVersion("0.15.1", is_known=False)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("--shutdown-timeout", True),
        ("--no-enable-prefix-caching", True),
        ("--tp", True),
        ("--speculative-config.model", True),
        ("--max-num-batched", True),
        ("--optimization-level", True),
        ("--max-num", False),
        ("--no-such-flag", False),
    ],
)
def test_flags_are_known_as_argparse_knows_them(name, known):
    assert EngineVersion("0.21.0", is_known=True).knows_flag(name) == known


def test_the_versions_that_know_a_name_are_told():
    assert versions_with("--shutdown-timeout") == "from 0.18.0 on"
    assert versions_with("--disable-log-requests").startswith("up to 0.")
    assert versions_with("--no-such-flag") is None
