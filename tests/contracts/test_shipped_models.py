"""Shipped stacks serve models that a public page shows and that their hardware holds."""

import datetime as dt
import re
from pathlib import Path

import pytest
import yaml

from models.source import hub, scheme
from models.vocabulary import amount
from tests.support.fit import GI, cache, demand, room
from tests.support.stacks import SHIPPED, lines, plan, shipped

TABLE = yaml.load(Path("tests/contracts/shipped-models.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
MODELS, ADAPTERS, PRIVATE = TABLE["models"], TABLE["adapters"], TABLE["private"]
EVERY = {path.name: plan(shipped(path)) for path in SHIPPED}
SHOWN = 0.937
"""Share of a device's nominal memory that a driver shows: 46068Mi of 48Gi."""


def variants(stack):
    """Return every primary and canary of a stack."""
    return [variant for service in stack.services for variant in service.variants]


def adapters(name):
    """Return the sources of the adapters of a shipped stack."""
    stack = shipped(next(path for path in SHIPPED if path.name == name))
    models = [each.get("model", {}) for each in stack["services"].values()]
    return [adapter["source"] for model in models for adapter in model.get("lora", {}).get("adapters", {}).values()]


def model(source):
    """Return the record of the model that a source holds; None for a server of a reader's own."""
    if source in TABLE["servers"]:
        return None
    return MODELS[hub(source)[0] if scheme(source) == "hf" else PRIVATE[source]]


@pytest.mark.parametrize("name", EVERY)
def test_every_model_fits_the_hardware_that_its_stack_gives_it(name):
    """See defects A9."""
    for variant in variants(EVERY[name]):
        record = model(variant.source)
        for workload in variant.workloads if record is not None else ():
            assert demand(workload, record) <= room(workload, SHOWN), f"{workload.path} of {name}"
            space = {each.name: each.value for each in workload.engine.env}.get("VLLM_CPU_KVCACHE_SPACE")
            assert space is None or cache(workload, record) <= float(space) * GI, f"{workload.path} of {name}"


@pytest.mark.parametrize("name", EVERY)
def test_every_size_has_room_for_the_weights(name):
    stack = shipped(next(path for path in SHIPPED if path.name == name))
    holders = [*stack.get("caches", {}).values(), *(service["model"] for service in stack["services"].values())]
    for holder in holders:
        if "size" in holder:
            assert float(amount(holder["size"])) >= model(holder["source"])["bytes"]


@pytest.mark.parametrize("name", EVERY)
def test_every_source_has_a_public_page_and_the_day_on_which_it_was_read(name):
    """See defects A5."""
    for source in [*(variant.source for variant in variants(EVERY[name])), *adapters(name)]:
        if scheme(source) != "hf":
            assert source in PRIVATE or source in TABLE["servers"]
            continue
        repository, revision = hub(source)
        record = MODELS.get(repository) or ADAPTERS[source]
        assert record["page"] == f"https://huggingface.co/{repository}"
        assert revision is None or revision in record["revisions"]


def test_no_record_is_without_use_and_each_says_where_and_when_it_was_read():
    for record in (*MODELS.values(), *ADAPTERS.values()):
        assert isinstance(record["date"], dt.date)
        assert record["shown"]
        assert all(page.startswith("https://") for page in record["shown"])
    sources = [variant.source for stack in EVERY.values() for variant in variants(stack)]
    sources += [source for name in EVERY for source in adapters(name)]
    assert {*PRIVATE, *ADAPTERS, *TABLE["servers"]} <= {*sources}
    public = {hub(source)[0] for source in sources if scheme(source) == "hf"} - {
        hub(adapter)[0] for adapter in ADAPTERS
    }
    assert {*PRIVATE.values(), *public} == MODELS.keys()
    assert {adapter["base"] for adapter in ADAPTERS.values()} <= MODELS.keys()


@pytest.mark.parametrize("path", [Path("Pulumi.dev.yaml"), Path("README.md")], ids=str)
def test_the_first_stack_serves_a_small_model_that_generates(path):
    """See defects A5."""
    (source,) = re.findall(r"source: \"?(\w+://[^\s\"},]+)", path.read_text(encoding="utf-8"))
    record = model(source)
    assert record["architecture"].endswith("ForCausalLM")
    assert record["bytes"] < 4 * GI
    assert lines(EVERY["Pulumi.dev.yaml"].warnings, "warning") == []


def test_the_lines_of_the_readme_are_those_of_the_first_stack():
    (block,) = re.findall(r"```yaml\n(.*?)```", Path("README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert Path("Pulumi.dev.yaml").read_text(encoding="utf-8").partition("\n")[2] == block


def test_a_model_that_is_too_large_is_noticed():
    """See defects A9."""
    stack = shipped(Path("examples/shared-weights.yaml"))
    stack["services"]["mistral"]["parallelism"] = {"tensor": 1}
    (variant,) = variants(plan(stack))
    assert demand(variant.roles["decode"], model(variant.source)) > room(variant.roles["decode"], SHOWN)
