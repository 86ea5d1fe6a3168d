"""Every flag, variable and JSON value that a stack renders is known to the program that gets it.

What programs know is upstream's own word: `make facts` writes `planning/releases/engines/vllm.yaml` from published
wheels, and `upstream-flags.yaml` was read in the sources of pickers and sidecars.
"""

from pathlib import Path

import pytest
import yaml

from planning.releases import channel, channels, engine_flags, engine_kinds
from tests.support.engine import shipped
from tests.support.known_flags import (
    containers,
    engine_version,
    engines,
    flags_without_a_table,
    kind_of,
    unknown_to_engine,
)
from tests.support.stacks import SHIPPED, rendered, tree
from tests.support.stacks.engine_kinds import ENGINES
from tests.support.stacks.shapes import every_stack

UPSTREAM = yaml.load(Path("tests/contracts/upstream-flags.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
PICKER, SIDECAR = "epp", "routing-proxy"


def golden(path):
    text = Path("tests/contracts/goldens", path.name.replace("Pulumi.", "")).read_text(encoding="utf-8")
    return [manifest for manifest in yaml.load_all(text, Loader=yaml.CSafeLoader) if manifest]


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
    assert all(engine_version(container["image"]) for container in found)
    assert [each for container in found for each in unknown_to_engine(container)] == []


@every_stack
def test_engines_know_what_they_are_told(stack):
    assert [each for container in engines(rendered(stack)) for each in unknown_to_engine(container)] == []


@pytest.mark.parametrize("release", channels())
def test_engines_of_every_channel_know_what_they_are_told(release):
    roles = {} if channel(release).sidecar is None else {"prefill": {}}
    found = engines(rendered({**tree(qwen={"kvCache": {"events": True}, **roles}), "release": release}))
    assert all(engine_version(container["image"]) for container in found)
    assert [each for container in found for each in unknown_to_engine(container)] == []


@pytest.mark.parametrize(
    ("argument", "unknown"),
    [
        ("--shutdown-timeout=45", ["--shutdown-timeout"]),
        ("--kv-offloading-sise=8", ["--kv-offloading-sise"]),
        ('--kv-events-config={"topics":"kv"}', ["--kv-events-config.topics"]),
        ('--kv-transfer-config={"kv_role":"kv_all"}', ["--kv-transfer-config.kv_role=kv_all"]),
        ('--ec-transfer-config={"ec_role":"ec_none"}', ["--ec-transfer-config.ec_role=ec_none"]),
        ('--ec-transfer-config={"ec_roles":"ec_both"}', ["--ec-transfer-config.ec_roles"]),
        ("--max-num-seqs=8", []),
        ("--no-enable-chunked-prefill", []),
        ("--no-chunked", ["--no-chunked"]),
    ],
)
def test_what_an_engine_does_not_know_is_noticed(argument, unknown):
    container = {"image": "registry.example/vllm-openai:v0.15.1", "args": ["/models", argument], "env": []}
    assert [*unknown_to_engine(container)] == unknown


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_router_of_a_shipped_stack_knows_what_it_is_told(path):
    stack = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["config"]["inference-stacks:stack"]
    found = golden(path)
    is_picked = any(manifest["kind"] == "InferencePool" for manifest in found)
    assert (PICKER in {container["name"] for container in containers(found)}) == is_picked
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


def unknown_to_its_kind(container, table, version):
    """Return the flags in the arguments of an engine other than vLLM that the table lacks."""
    names = {argument.partition("=")[0] for argument in container["args"] if argument.startswith("-")}
    return sorted(names - table.flags_of(version))


@pytest.mark.parametrize("name", ENGINES)
def test_engines_of_every_kind_know_what_they_are_told(name):
    service = ENGINES[name]
    table = engine_flags.of_kind(engine_kinds.kind(service["engine"]["type"]))
    found = [container for container in containers(rendered(tree(qwen=service))) if container["name"] == "engine"]
    assert found
    for container in found:
        version = table.version_in(container["image"]) or "1"
        assert unknown_to_its_kind(container, table, version) == []
        strange = {"args": [*container["args"], "--strange"]}
        assert unknown_to_its_kind(strange, table, version) == ["--strange"]


STACKS = dict(shipped.stacks())
"""Examples, guides, profiles and channels, and the stacks that tests keep."""


@pytest.mark.parametrize("name", STACKS)
def test_the_tables_of_engines_have_every_flag_that_is_rendered(name):
    """A flag that no table has is noticed in each container of an engine, whether a field or the user gave it."""
    for container in containers(rendered(STACKS[name])):
        assert flags_without_a_table(container) == []
        if kind_of(container) is not None:
            strange = {**container, "args": [*container["args"], "--strange=1"]}
            assert flags_without_a_table(strange) == ["--strange"]


def test_engines_of_all_kinds_with_a_table_are_rendered():
    stacks = [*STACKS.values(), *(tree(qwen=service) for service in ENGINES.values())]
    kinds = [kind_of(container) for stack in stacks for container in containers(rendered(stack))]
    assert {kind.name for kind in kinds if kind is not None} == {*engine_kinds.names()} - {engine_kinds.CUSTOM}
