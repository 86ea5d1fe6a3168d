"""The encode stage of a picker's configuration: it sends the images, sound and video of requests to encode pods."""

from collections.abc import Iterator, Mapping
from typing import Any

from models.trees import mapping
from planning.ground import stages
from planning.releases.picker_facts import EncodeFacts


def with_stage(config: Mapping[str, Any], facts: EncodeFacts) -> dict[str, Any]:
    """Return a preset's configuration with the encode stage.

    A configuration without profile handler has one profile. It becomes the profile of decode pods, which process the
    prompts, too.
    """
    types = {plugin["type"] for plugin in config["plugins"]}
    added = [plugin for plugin in facts.plugins if plugin["type"] not in types]
    profiles = list(config["schedulingProfiles"])
    plugins = [_with_decider(plugin, facts) for plugin in config["plugins"]]
    if facts.handler not in types:
        added.append({"type": facts.decode_filter})
        plugins.append(_with_decider({"type": facts.handler}, facts))
        profiles = list(_of_decode(profiles, facts))
    encode = {"name": stages.ENCODE.name, "plugins": facts.profile}
    return {**config, "plugins": [*added, *plugins], "schedulingProfiles": [encode, *profiles]}


def _with_decider(plugin: Mapping[str, Any], facts: EncodeFacts) -> dict[str, Any]:
    """Return a plugin; the profile handler gets the decider of the encode stage."""
    if plugin["type"] != facts.handler:
        return {**plugin}
    parameters = mapping(plugin.get("parameters"))
    deciders = {**mapping(parameters.get("deciders")), stages.ENCODE.name: facts.decider}
    return {**plugin, "parameters": {**parameters, "deciders": deciders}}


def _of_decode(profiles: list[dict[str, Any]], facts: EncodeFacts) -> Iterator[dict[str, Any]]:
    for profile in profiles:
        yield {"name": stages.DECODE.name, "plugins": [{"pluginRef": facts.decode_filter}, *profile["plugins"]]}
