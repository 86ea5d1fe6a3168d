"""The encode stage of presets."""

import pytest
import yaml

from models.problems import ConfigError
from planning.releases import channel, offered_channels
from tests.support.stacks import find, plan, rendered, tree

IMAGE = {"engine": {"image": "registry.example/vllm:nightly"}}
CHANNELS = [name for name in offered_channels() if channel(name).picker.encode is not None]
PRESETS = ("approximate-prefix-cache", "precise-prefix-cache")


def config(release, preset, **service):
    stack = tree(qwen=IMAGE | {"endpointPicker": {"preset": preset}} | service) | {"release": release}
    (text,) = find(rendered(stack), "ConfigMap", "qwen-epp")["data"].values()
    return yaml.safe_load(text)


def types(entries):
    return [entry["pluginRef"] for entry in entries["plugins"]]


def test_the_newest_releases_know_encode_pods():
    assert CHANNELS[-1] == offered_channels()[-1]
    assert "gie-1.3" not in CHANNELS


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("release", CHANNELS)
def test_a_preset_sends_images_to_encode_pods_and_whole_requests_to_decode_pods(release, preset):
    made = config(release, preset, encode={})
    encode, decode = made["schedulingProfiles"]
    assert (encode["name"], types(encode)[0]) == ("encode", "encode-filter")
    assert (decode["name"], types(decode)[0]) == ("decode", "decode-filter")
    (handler,) = [plugin for plugin in made["plugins"] if plugin["type"] == "disagg-profile-handler"]
    assert handler["parameters"] == {"deciders": {"encode": "always-disagg-multimodal-decider"}}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("release", CHANNELS)
def test_with_prefill_the_handler_of_the_preset_gets_a_second_decider(release, preset):
    made = config(release, preset, prefill={}, encode={})
    without = config(release, preset, prefill={})
    assert [profile["name"] for profile in made["schedulingProfiles"]] == ["encode", "prefill", "decode"]
    assert made["schedulingProfiles"][1:] == without["schedulingProfiles"]
    (handler,) = [plugin for plugin in made["plugins"] if plugin["type"] == "disagg-profile-handler"]
    assert handler["parameters"]["deciders"].keys() == {"encode", "prefill"}
    assert len({plugin["type"] for plugin in made["plugins"]}) == len(made["plugins"])


def test_a_configuration_without_encode_profile_is_refused_only_with_encode_pods():
    plugins = [{"type": "queue-scorer"}]
    profiles = [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}]
    picker = {"preset": "custom", "config": {"plugins": plugins, "schedulingProfiles": profiles}}
    plan(tree(qwen={"endpointPicker": picker}))
    with pytest.raises(ConfigError, match="sends nothing to encode pods"):
        plan(tree(qwen={"endpointPicker": picker, "encode": {}}))
