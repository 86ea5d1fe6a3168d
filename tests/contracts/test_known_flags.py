"""Every flag, variable and JSON value that a stack renders is known to the program that gets it.

What programs know is upstream's own word: `make facts` writes `planning/releases/engines/vllm.yaml` from published
wheels, and `upstream-flags.yaml` was read in the sources of pickers and sidecars.
"""

import json
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from planning.releases import channel, channels
from tests.support.stacks import SHIPPED, rendered, tree
from tests.support.stacks.shapes import every_stack

UPSTREAM = yaml.safe_load(Path("tests/contracts/upstream-flags.yaml").read_text(encoding="utf-8"))
VERSION_OF = {"ghcr.io/llm-d/llm-d-cuda:v0.5.1": "0.15.1"}
"""Versions of vLLM in images whose tag is another version."""
FREE_JSON = {"--additional-config", "--hf-overrides"}
"""Flags whose JSON the engine does not check."""
PICKER, SIDECAR = "epp", "routing-proxy"
SERVE = ["vllm", "serve"]


@cache
def ranges(group):
    """Return the ranges of versions that know a name, by the names of a group."""
    text = Path("planning/releases/engines/vllm.yaml").read_text(encoding="utf-8")
    table = yaml.load(text, Loader=yaml.CSafeLoader)
    return {name: known.split(", ") for known, names in table[group].items() for name in names}


def order(version):
    return [int(number) for number in re.findall(r"\d+", version)]


def is_known(group, name, version):
    """Tell whether a version is within one of a name's ranges."""
    for bounds in ranges(group).get(name, []):
        first, _, last = bounds.partition("..")
        if order(first) <= order(version) <= order(last or version):
            return True
    return False


def engine_version(image):
    """Return the version of vLLM that an image's name says; None for made-up images of tests."""
    image = image.partition("@")[0]
    found = re.search(r"/vllm-(?:openai|tpu)[a-z-]*:v(\d+\.\d+\.\d+)", image)
    return VERSION_OF.get(image, found and found[1])


def unknown_to_engine(container):
    """Yield what the container of an engine holds that its version does not know."""
    version = engine_version(container["image"])
    if version is None:
        return
    for argument in (one for one in container["args"] if one.startswith("-")):
        flag, _, value = argument.partition("=")
        yield from [] if is_known("flags", flag, version) else [flag]
        is_object = value.startswith("{") and flag not in FREE_JSON
        for key, inner in (json.loads(value) if is_object else {}).items():
            yield from unknown_values(f"{flag}.{key}", inner, version)
    names = (variable["name"] for variable in container["env"])
    yield from (name for name in names if name.startswith("VLLM_") and not is_known("variables", name, version))


def unknown_values(key, value, version):
    yield from [] if is_known("values", key, version) else [key]
    if any(name.startswith(f"{key}=") for name in ranges("values")):
        yield from [] if is_known("values", f"{key}={value}", version) else [f"{key}={value}"]


def containers(manifests):
    """Yield every container of workloads."""
    for spec in (manifest.get("spec", {}) for manifest in manifests):
        group = spec.get("leaderWorkerTemplate", {})
        for template in (spec.get("template", {}), group.get("leaderTemplate", {}), group.get("workerTemplate", {})):
            pod = template.get("spec", {})
            yield from [*pod.get("initContainers", []), *pod.get("containers", [])]


def engines(manifests):
    return [one for one in containers(manifests) if one.get("command") == SERVE]


def golden(path):
    text = Path("tests/contracts/goldens", path.name.replace("Pulumi.", "")).read_text(encoding="utf-8")
    return [one for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one]


def unknown_to_router(manifests, release):
    """Yield the flags of pickers and sidecars that are not upstream's."""
    for container in containers(manifests):
        part = {PICKER: "picker", SIDECAR: "sidecar"}.get(container["name"])
        if part is not None:
            flags = {argument.partition("=")[0].removeprefix("--") for argument in container["args"]}
            yield from sorted(flags - set(UPSTREAM[release][part]["flags"]))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_engines_of_a_shipped_stack_know_what_they_are_told(path):
    """No version is unknown, and nothing is unknown to it. See defects A22."""
    found = engines(golden(path))
    assert found
    assert all(engine_version(one["image"]) for one in found)
    assert [each for one in found for each in unknown_to_engine(one)] == []


@every_stack
def test_engines_know_what_they_are_told(stack):
    assert [each for one in engines(rendered(stack)) for each in unknown_to_engine(one)] == []


@pytest.mark.parametrize("release", channels())
def test_engines_of_every_channel_know_what_they_are_told(release):
    roles = {} if channel(release).sidecar is None else {"prefill": {}}
    found = engines(rendered({**tree(qwen={"kvCache": {"events": True}, **roles}), "release": release}))
    assert all(engine_version(one["image"]) for one in found)
    assert [each for one in found for each in unknown_to_engine(one)] == []


@pytest.mark.parametrize(
    ("argument", "unknown"),
    [
        ("--shutdown-timeout=45", ["--shutdown-timeout"]),
        ("--kv-offloading-sise=8", ["--kv-offloading-sise"]),
        ('--kv-events-config={"topics":"kv"}', ["--kv-events-config.topics"]),
        ('--kv-transfer-config={"kv_role":"kv_all"}', ["--kv-transfer-config.kv_role=kv_all"]),
        ("--max-num-seqs=8", []),
    ],
)
def test_what_an_engine_does_not_know_is_noticed(argument, unknown):
    container = {"image": "registry.example/vllm-openai:v0.15.1", "args": ["/models", argument], "env": []}
    assert [*unknown_to_engine(container)] == unknown


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_router_of_a_shipped_stack_knows_what_it_is_told(path):
    stack = yaml.safe_load(path.read_text(encoding="utf-8"))["config"]["inference-stacks:stack"]
    found = golden(path)
    assert PICKER in {one["name"] for one in containers(found)}
    assert [*unknown_to_router(found, stack.get("release", "llm-d-0.10"))] == []


@pytest.mark.parametrize("release", channels())
def test_the_table_of_a_channel_has_flags_of_its_picker_and_sidecar_only(release):
    facts, upstream = channel(release), UPSTREAM[release]
    always = {flag.partition("=")[0].removeprefix("--") for flag in facts.picker.flags.always}
    known = {*facts.picker.flags.known, *facts.picker.flags.rejected, *always}
    assert known - {*upstream["picker"]["flags"]} == set()
    if facts.sidecar is not None:
        flags = [*facts.sidecar.flags, *facts.sidecar.tls, *facts.sidecar.tracing, *facts.sidecar.log_level]
        assert {flag.partition("=")[0].removeprefix("--") for flag in flags} - {*upstream["sidecar"]["flags"]} == set()


def test_a_flag_that_the_router_does_not_know_is_noticed():
    container = {"name": PICKER, "args": ["--pool-name=a", "--pool-nmae=a"]}
    deployment = {"spec": {"template": {"spec": {"containers": [container]}}}}
    assert [*unknown_to_router([deployment], "llm-d-0.10")] == ["pool-nmae"]
