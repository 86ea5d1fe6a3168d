"""Release channels: every fact has a source, and the channels agree with what is made of them."""

import hashlib
import json

import pytest

from models.stack import Stack
from planning.ground.labels import LLM_D_ROLE, serving
from planning.picker import config as picker_config
from planning.picker import value_shapes
from planning.releases import Retirement, channel, channels, departures, repository_and_tag
from planning.releases.picker_facts import DEFAULT_PRESET
from tests.support.stacks import find, rendered, tree

DEFAULT = Stack.model_fields["release"].default
GROUPS = {
    "decider", "detector", "discovery", "eviction", "extractor", "fairness", "filter", "ordering", "parser", "picker",
    "producer", "profile-handler", "request", "scorer", "source", "usage-limit",
}  # fmt: skip


@pytest.fixture(params=channels())
def release(request):
    return channel(request.param)


def words(shape):
    if isinstance(shape, dict):
        for inner in shape.values():
            yield from words(inner)
    elif isinstance(shape, list):
        yield from words(shape[0])
    else:
        yield shape


def test_a_channel_knows_its_name(release):
    assert release is channel(release.name)


def test_every_entry_says_where_and_when_it_was_read(release):
    entries = release.entries
    parts = {"engine", "line", "picker", "picker.config", "picker.flags", "picker.plugins", "picker.rbac"}
    assert parts | {f"picker.presets.{DEFAULT_PRESET}", "requirements.istio"} <= {at for at, _ in entries}
    assert all(entry.source and entry.date.year >= 2025 for _, entry in entries)


def test_only_a_channel_that_was_not_run_has_facts_that_are_stated(release):
    proofs = {entry.proof for _, entry in release.entries if not isinstance(entry, Retirement)}
    assert ("stated" in proofs) == (release.line.built is not None)


COMPONENTS = {
    "llm-d-0.10": ("v0.11.0", "v0.11.0", "v0.30.0", "v1.5.0", "0.9.0"),
    "llm-d-0.9": ("v0.10.0", "v0.10.0", "v0.26.0", "v1.5.0", "0.9.0"),
    "llm-d-0.8": ("v0.9.0", "v0.9.0", "v0.23.0", "v1.5.0", "v0.8.0"),
    "gie-1.5": ("v1.5.0", None, "v0.18.1", "v1.5.0", None),
    "gie-1.3": ("v1.3.0", None, "v0.15.1", "v1.3.0", None),
}
"""Versions by channel: picker, sidecar, vLLM, CRDs of the inference extension, and latency predictor.

Sources: the component summaries of llm-d v0.8.1 and v0.9.0 (github.com/llm-d/llm-d/releases), that of v0.10.0 as public
texts quote it (the predictor is that of v0.9.0), and the charts and manifests of the inference extension.
"""


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_channel_has_the_components_of_its_release(name):
    release = channel(name)
    images = release.images
    predictor = release.picker.latency_predictor
    servers = predictor and predictor.servers
    refs = [images.picker, images.sidecar, images.engine["nvidia"], servers and servers.training]
    tags = [ref and repository_and_tag(ref.ref)[1] for ref in refs]
    picker, sidecar, engine, definitions, trained = COMPONENTS[name]
    assert tags == [picker, sidecar, engine, trained]
    needed = [release.requirements.inference_pool.version, release.requirements.pool_ports.version]
    assert all(departures.order(version) <= departures.order(definitions) for version in needed)


@pytest.mark.parametrize(
    ("kind", "digest", "length"),
    [
        ("together", "9051e075b8854abaf24a51848440af42b4da7ab7f9b3387bf42ee0556ad3ed59", 367),
        ("apart", "9369149aeb30bf412873a8256da2bd365a09eeeb32437f9f060a4b472c4e6a9e", 905),
    ],
)
def test_the_plugin_files_of_llm_d_0_6_are_the_seed_operators_byte_for_byte(kind, digest, length):
    """See otterscale 3.12."""
    service = {"prefill": {}} if kind == "apart" else {}
    written = find(rendered(tree(qwen=service) | {"release": "llm-d-0.6"}), "ConfigMap", "qwen-epp")["data"]
    (text,) = written.values()
    assert (hashlib.sha256(text.encode()).hexdigest(), len(text)) == (digest, length)


@pytest.mark.parametrize(
    ("key", "kind", "digest"),
    [
        ("default-plugins.yaml", "aggregated", "3aee930c4fc2cf8c749623ba30a077bd93d5cca0c6513c87a5fe3427b089f2f1"),
        ("pd-config.yaml", "disaggregated", "da2206ceec8c17d0eef3714ea7387e412c7b565661113eef5c0d0fd2b083eb23"),
    ],
)
def test_the_seed_operators_configuration_hash_is_that_of_key_and_file(key, kind, digest):
    """See otterscale 3.13."""
    facts = channel("llm-d-0.6").picker
    text = picker_config.text(getattr(facts.presets[DEFAULT_PRESET], kind), facts)
    assert hashlib.sha256(f"{key}{text}".encode()).hexdigest() == digest


def test_llm_d_0_6_has_the_seed_operators_images():
    images = channel("llm-d-0.6").images
    assert [images.engine["nvidia"].ref, images.picker.ref, images.sidecar.ref, images.kit.ref] == [
        "ghcr.io/llm-d/llm-d-cuda:v0.5.1",
        "ghcr.io/llm-d/llm-d-inference-scheduler:v0.6.0",
        "ghcr.io/llm-d/llm-d-routing-sidecar:v0.6.0",
        "ghcr.io/kitops-ml/kitops:v1.11.0",
    ]


def test_the_sidecar_of_llm_d_0_6_has_the_flags_of_its_time():
    stack = tree(qwen={"prefill": {}}) | {"release": "llm-d-0.6"}
    everything = rendered(stack)
    pod = find(everything, "Deployment", "qwen-decode")["spec"]["template"]["spec"]
    (sidecar,) = [container for container in pod["initContainers"] if container["name"] == "routing-proxy"]
    pool = find(everything, "InferencePool", "qwen")["metadata"]["name"]
    assert sidecar["args"] == [
        "--port=8000",
        "--vllm-port=8200",
        "--connector=nixlv2",
        "--secure-proxy=false",
        "--enable-ssrf-protection=true",
        "--inference-pool-namespace=models",
        f"--inference-pool-name={pool}",
        "--pool-group=inference.networking.k8s.io",
    ]


def test_every_shape_is_made_of_known_words(release):
    facts = release.picker
    shaped = [facts.config.shape, *facts.flags.known.values(), *facts.flags.others.values()]
    for plugin in facts.plugins.table.values():
        shaped += [shape for shape in (plugin.parameters, plugin.former_parameters, plugin.corrected) if shape]
    for word in words({str(index): shape for index, shape in enumerate(shaped)}):
        leaf = value_shapes.leaf(word)
        assert leaf.word in value_shapes.WORDS, word
        assert set(leaf.groups) <= GROUPS | {"syncer", "any"}, word
        assert word == word.strip()
        constraints = len(leaf.bounds) + leaf.nonempty + (leaf.choices is not None) + (leaf.folded is not None)
        assert constraints == len(word.split(" ")) - 1, word


def paths(shape, prefix=""):
    """Yield the dotted paths of a shape, those of mappings and lists included."""
    if isinstance(shape, list):
        yield from paths(shape[0], prefix)
    for key, inner in shape.items() if isinstance(shape, dict) else ():
        yield f"{prefix}{key}"
        yield from paths(inner, f"{prefix}{key}.")


def paths_of(condition):
    bounds = (condition.above, condition.at_least, condition.below, condition.at_most)
    return {condition.at, condition.or_value_of, condition.differs, *(item for item in bounds if isinstance(item, str))}


def test_every_demand_is_about_parameters_that_there_are(release):
    table = release.picker.plugins.table
    data = release.picker.plugins.data
    for name, plugin in table.items():
        known = {None, *paths(plugin.parameters), *paths(plugin.former_parameters)}
        for rule in plugin.rules:
            prefix = f"{rule.items_of}." if rule.items_of else ""
            inner = {path for item in (*rule.when, rule.must) for path in paths_of(item) if path}
            outer = {path for item in rule.parent for path in paths_of(item) if path}
            assert {f"{prefix}{path}" for path in inner} | outer <= known, name
        for consumed in plugin.consumes:
            assert consumed.data in data, name
            assert consumed.producer in known, name
        assert {*plugin.defaults, *plugin.corrected, *plugin.unread, *plugin.superseded} <= known, name
        assert set(plugin.produces) <= data.keys(), name
        assert set(plugin.wants) <= table.keys(), name
    assert {known.producer for known in data.values()} <= table.keys()


def test_every_plugin_is_of_known_groups_and_names_only_what_exists(release):
    table = release.picker.plugins.table
    for name, plugin in table.items():
        assert plugin.groups, name
        assert set(plugin.groups) <= GROUPS, name
        assert plugin.requires.keys() <= table.keys(), name
        assert set(plugin.gates) <= set(release.picker.config.gates), name
        assert ("profile-handler" in plugin.groups) == (plugin.handler is not None), name
        assert not set(plugin.protocols) or "parser" in plugin.groups, name
        if plugin.deprecated is not None:
            assert any(other in table for other in plugin.deprecated.by.split()), name


def test_a_channel_without_stability_has_no_alpha_plugins(release):
    stages = {plugin.stability for plugin in release.picker.plugins.table.values()}
    assert (release.picker.flags.experimental is None) == (stages == {"beta"})


def test_no_flag_is_both_known_and_rejected(release):
    flags = release.picker.flags
    always = {flag.removeprefix("--").partition("=")[0] for flag in flags.always}
    assert not flags.known.keys() & flags.rejected.keys()
    assert not always & (flags.known.keys() | flags.rejected.keys())


def test_the_role_of_the_picker_is_the_channels(release):
    role = find(rendered(tree() | {"release": release.name}), "Role", "qwen-epp")
    expected = [
        {
            "apiGroups": rule.api_groups,
            "resources": rule.resources,
            **({"resourceNames": ["qwen"]} if rule.pool_only else {}),
            "verbs": rule.verbs,
        }
        for rule in release.picker.rbac.rules
    ]
    assert role["rules"] == expected


def test_the_filters_of_roles_read_the_label_that_pods_carry():
    assert serving("qwen", "prefill")[LLM_D_ROLE] == "prefill"


def test_the_metrics_and_headers_of_a_channel_are_of_its_own_api(release):
    new = release.picker.objectives_group == "llm-d.ai"
    assert release.picker.headers.objective.startswith("x-llm-d-" if new else "x-gateway-")
    names = [item.series for item in release.picker.metrics.series.values()]
    assert all(name.startswith("llm_d_epp_" if new else "inference_") for name in names)
    assert release.requirements.objectives.group == release.picker.objectives_group


def test_every_entry_of_a_channel_has_a_source_and_the_default_channel_a_proof():
    assert channels() == ("gie-1.3", "gie-1.5", "llm-d-0.6", "llm-d-0.8", "llm-d-0.9", "llm-d-0.10")
    facts = json.loads(channel("llm-d-0.10").model_dump_json())
    proofs = [facts["picker"]["proof"], facts["images"]["picker"]["proof"], facts["images"]["kit"]["proof"]]
    proofs += [image["proof"] for image in facts["images"]["engine"].values()]
    assert "none" not in proofs


def test_images_are_pinned():
    for name in channels():
        images = channel(name).images
        for image in (images.picker, images.kit, *images.engine.values()):
            assert ":v" in image.ref
