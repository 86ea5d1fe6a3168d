"""Shipped profiles: what each is made from, that an engine knows its arguments, and that it fits its devices."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml

from models.profile import CatalogueFile
from models.source import hub
from models.vocabulary import amount
from planning.hardware import accelerators
from planning.selection import shipped
from tests.support.catalogue import COMMENT, comments, profiles, service, stack
from tests.support.fit import demand, room
from tests.support.known_flags import engine_version, engines, unknown_to_engine
from tests.support.stacks import find, lines, plan, rendered, tree

TABLE = yaml.load(Path("tests/contracts/catalogue-weights.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
WEIGHTS = TABLE["weights"]
FILE = re.compile(r"https://github\.com/(?P<repository>[\w.-]+/[\w.-]+)/blob/[0-9a-f]{40}/[\w./+-]+(#L\d+(-L\d+)?)?")
PAGE = re.compile(r"https://[\w./-]+, read \d{4}-\d{2}-\d{2}")
PUBLISHERS = {
    "GoogleCloudPlatform/kubernetes-engine-samples": "the provider's own tutorial",
    "ai-dynamo/dynamo": "recipes of the devices' vendor, with benchmarks",
    "amd-enterprise-ai/aim-build": "profiles of the devices' vendor, whose type follows from a performance gate",
    "gpustack/gpustack": "measurements, with commands and results",
    "llm-d/llm-d": "guides, with measurements",
    "vllm-project/recipes": "the engine's own recipes",
    "vllm-project/vllm": "the engine's own benchmarks",
}
"""Repositories whose configurations ran on the devices that they are for."""
NUMBERS = {"ai-dynamo/aiconfigurator", "kaito-project/kaito"}
"""Repositories with copies of a model's own numbers. What else they say may be simulated or estimated."""
OF_NUMBERS = {"service.model.size", "precision"}


@cache
def planned():
    return plan(stack())


@cache
def workloads():
    """Return the workload of each profile."""
    found = {each.key: variant for each in planned().services for variant in each.variants}
    return {key: found[f"p{index}"].roles["decode"] for index, key in enumerate(profiles())}


def leaves(value, path=""):
    """Yield the path of each value of a profile. A list is a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}".strip("."))
    else:
        yield path


def places(key):
    """Return where the values of a profile were read: of all that no comment names, and of those that one names."""
    found = [COMMENT.fullmatch(line) for line in comments().get(key, [])]
    assert all(found), comments()[key]
    named = {name: line["place"] for line in found for name in line["keys"].split(", ")}
    return {"": profiles()[key]["source"], **named}


def is_place(text):
    return bool(FILE.fullmatch(text) or PAGE.fullmatch(text))


def test_a_file_has_the_profiles_of_one_model_and_is_called_like_it():
    for document in shipped.files():
        CatalogueFile.model_validate(document.tree)
        (model,) = {profile["model"] for profile in document.tree["profiles"].values()}
        name = Path(document.file).stem
        assert name == model.partition("/")[2].lower()
        assert {key.startswith(f"{name.replace('.', '-')}-") for key in document.tree["profiles"]} == {True}
    assert len(profiles()) == sum(len(document.tree["profiles"]) for document in shipped.files())


def test_the_catalogue_has_models_of_each_kind_for_both_vendors():
    found = Counter()
    for document in shipped.files():
        about = Path(document.file).read_text(encoding="utf-8").splitlines()[0]
        vendors = {
            profile["service"]["accelerator"].partition("-")[0] for profile in document.tree["profiles"].values()
        }
        kinds = [kind for kind in ("Dense", "Mixture", "images", "Embeddings") if kind in about]
        found.update((kind, vendor) for kind in kinds for vendor in vendors)
    assert len(shipped.files()) >= 12
    assert {profile["type"] for profile in profiles().values()} == {"optimized", "general", "preview"}
    assert {kind for kind, _ in found} == {"Dense", "Mixture", "images", "Embeddings"}
    assert {vendor for _, vendor in found} == {"amd", "nvidia"}
    assert len(found) == 8


@pytest.mark.parametrize("key", profiles())
def test_every_value_was_read_in_a_public_file_of_a_commit_or_on_a_page_of_a_day(key):
    found = places(key)
    assert [text for text in found.values() if not is_place(text)] == []
    paths = {*leaves(profiles()[key])}
    assert [name for name in found if not any(path.startswith(name) for path in paths)] == []
    for name, text in found.items():
        file = FILE.fullmatch(text)
        if file is not None:
            known = PUBLISHERS.keys() | (NUMBERS if name in OF_NUMBERS else set())
            assert file["repository"] in known, f"{name} of {key}"


@pytest.mark.parametrize(
    "text",
    [
        "a page",
        "https://github.com/acme/recipes/blob/main/qwen3.md",
        "https://docs.example/page",
        "https://github.com/acme/recipes/blob/0f1e2d3/qwen3.md",
    ],
)
def test_what_says_neither_commit_nor_day_is_no_source(text):
    assert not is_place(text)


def test_services_of_profiles_are_warned_of_what_no_profile_knows():
    """They know neither the current commit nor the group of a node that opens its device files.

    Advisories of the channel's engine are warnings of the release.
    """
    messages = [line for line in lines(planned().warnings, "warning") if not line.startswith("release: ")]
    keys = {message.partition(": ")[0].partition(".p")[2].partition(".")[2] for message in messages}
    assert keys == {"model.source", "pod.supplementalGroups"}
    assert len(messages) == len(profiles()) + sum(
        profile["service"]["accelerator"].startswith("amd") for profile in profiles().values()
    )


def test_engines_know_the_arguments_and_variables_of_every_profile():
    containers = engines(rendered(stack()))
    assert len(containers) == len(profiles())
    assert all(engine_version(container["image"]) for container in containers)
    assert [name for container in containers for name in unknown_to_engine(container)] == []


@pytest.mark.parametrize("key", profiles())
def test_every_profile_fits_its_devices(key):
    profile, workload = profiles()[key], workloads()[key]
    record = WEIGHTS[hub(profile["service"]["model"]["source"])[0]]
    assert workload.layout.devices_per_pod * workload.layout.pods_per_replica == profile["deviceCount"]
    assert workload.layout.devices_per_pod <= (workload.accelerator.devices_per_node or profile["deviceCount"])
    assert demand(workload, record) <= room(workload)
    assert float(amount(profile["service"]["model"].get("size", "1Ei"))) >= record["bytes"]


def test_a_profile_that_does_not_fit_is_noticed():
    given = service("llama-3-3-70b-instruct-h200-fp8-throughput") | {"accelerator": "nvidia-h100-80gb"}
    (variant,) = plan(tree(llama=given)).services[0].variants
    assert demand(variant.roles["decode"], WEIGHTS["nvidia/Llama-3.3-70B-Instruct-FP8"]) > room(variant.roles["decode"])


def test_every_record_of_weights_has_its_use_and_its_pages():
    used = {hub(profile["service"]["model"]["source"])[0] for profile in profiles().values()}
    assert used == WEIGHTS.keys()
    assert all(page.startswith("https://") for record in WEIGHTS.values() for page in record["shown"])


def test_profiles_for_one_class_differ_in_what_they_are_ranked_by():
    """Without a wish, and with any: what is equal in maturity, metric and precision is a tie."""
    known = accelerators.classes({})
    assert {profile["service"]["accelerator"] for profile in profiles().values()} <= known.keys()
    for name, cls in known.items():
        fitting = {name, *(other for other in known if known[other].vendor == cls.vendor and not known[other].product)}
        ranks = Counter(
            (profile["model"], profile["type"], profile.get("metric"), profile.get("precision"))
            for profile in profiles().values()
            if profile["service"]["accelerator"] in fitting
        )
        assert [rank for rank, count in ranks.items() if count > 1] == []


def test_a_profile_reaches_the_engine():
    """The largest context, the share of memory, the block size and the layout are arguments; devices are a limit."""
    manifests = rendered(tree(oss=service("gpt-oss-120b-h100-fp4")))
    (engine,) = engines([find(manifests, "Deployment", "oss-decode")])
    assert {"--gpu-memory-utilization=0.95", "--block-size=128", "--reasoning-parser=openai_gptoss"} <= {
        *engine["args"]
    }
    assert engine["resources"]["limits"]["nvidia.com/gpu"] == "1"
