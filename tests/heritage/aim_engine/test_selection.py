"""aim-engine's selection of templates, by the ids of its own vectors: `vectors.yaml` has them, and our answers."""

import re
from pathlib import Path

import pytest
import yaml

from composition import LockFile
from models import image_references
from models.image_references import ImageReferenceError
from models.problems import ConfigError
from planning.hardware import accelerators
from planning.selection import explanation
from planning.selection.records import Scope
from planning.selection.stages import STAGES
from tests.support.stacks import find, profiles, rendered, tree
from tests.support.stacks.profiles import MODEL, among, catalogue, cluster, composed, facts, node, profile, question

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
VECTORS = yaml.load(Path(__file__).with_name("vectors.yaml").read_text(encoding="utf-8"), Loader=LOADER)
"""Vectors by section and id."""
NAMED = {"model": {"name": MODEL}}
"""A service that names the model, and nothing else."""
COUNTS = {
    "filters": [f"F{number}" for number in range(1, 27)],
    "ranking": [f"R{number}" for number in range(1, 14)],
    "selection": [f"S{number}" for number in range(1, 11)],
    "stacks": [f"I{number}" for number in range(1, 8)],
    "labels": 9,
    "normalised names": 1,
    "memory": 7,
    "models": 10,
    "derived": 8,
    "scenarios": 18,
    "checklist": ["1", "2", "3", "4", "5", "9", "11", "12"],
}
"""Ids of each section, or their number."""
WORDS = {
    "type": {"general", "preview", "unoptimized"},
    "metric": {"latency", "throughput"},
    "precision": {"fp4", "fp8", "fp16", "bf16"},
}


def vectors(section):
    """Return the vectors of a section that apply."""
    found = VECTORS[section].items()
    return [pytest.param(each, id=name) for name, each in found if "not" not in each and "test" not in each]


def written(words, model=MODEL):
    """Return a candidate as a profile, from its words."""
    accelerator, *others = words.split()
    found = {key: word for word in others for key, known in WORDS.items() if word in known}
    count = next((int(word) for word in others if word.isdigit()), 1)
    return profile(accelerator, count, model=model, **found)


def table(vector, *, stages=STAGES):
    """Return the table of a vector."""
    candidates = vector["candidates"]
    scopes = {name: Scope.SHIPPED for name, words in candidates.items() if words.endswith(" shipped")}
    whole = catalogue({name: written(words.removesuffix(" shipped")) for name, words in candidates.items()}, scopes)
    known = cluster(*vector["cluster"]) if "cluster" in vector else facts([node("plain")])
    return profiles.selection(whole.candidates(MODEL), question(**vector.get("wishes", {})), known, stages)


def compared(found):
    """Return the ids of the candidates that no filter drops, sorted."""
    return sorted(row.candidate.id for row in found.rows if row.rank is not None)


def chosen(found):
    """Return the id of the selected candidate, or None."""
    return None if found.chosen is None else found.chosen.id


def test_10_6_every_vector_is_tested_or_says_why_it_does_not_apply():
    assert VECTORS.keys() == COUNTS.keys()
    for section, expected in COUNTS.items():
        assert len(VECTORS[section]) == (expected if isinstance(expected, int) else len(expected))
        assert isinstance(expected, int) or [*VECTORS[section]] == expected
    listed = [each for section in VECTORS.values() for each in section.values()]
    assert all(
        "test" in each or "not" in each or "candidates" in each or {"labels", "least"} & {*each} for each in listed
    )
    known = {path: path.read_text(encoding="utf-8") for path in Path("tests").rglob("test_*.py")}
    for each in listed:
        path, _, name = each.get("test", "").rpartition("::")
        assert not name or f"def {name}(" in known[Path(path) if path else Path(__file__).relative_to(Path.cwd())]


@pytest.mark.parametrize("vector", vectors("filters"))
def test_9_1_filters(vector):
    """See aim-engine 2.4."""
    stages = tuple(stage for stage in STAGES if stage.name in vector["stages"])
    assert len(stages) == len(vector["stages"])
    assert compared(table(vector, stages=stages)) == vector["passes"]


@pytest.mark.parametrize("vector", vectors("ranking"))
def test_9_2_ranking(vector):
    """See aim-engine B1, B2."""
    found = table(vector, stages=())
    assert chosen(found) == vector["chosen"]
    assert sorted(each.id for each in found.tied) == vector.get("tied", [])


@pytest.mark.parametrize("vector", vectors("selection"))
def test_9_3_full_selection(vector):
    """See aim-engine B3, B6."""
    found = table(vector)
    assert chosen(found) == vector["chosen"]
    reasons, ranks = profiles.reasons(found), {row.candidate.id: row.rank for row in found.rows}
    assert vector.get("reasons", {}).items() <= reasons.items()
    assert vector.get("ranks", {}).items() <= ranks.items()
    assert vector.get("diagnostics", {}).items() <= explanation.diagnostics(found).items()
    assert reasons.keys() == vector["candidates"].keys()


@pytest.mark.parametrize("vector", vectors("stacks"))
def test_9_3_through_a_stack(vector):
    """See aim-engine B4, B5."""
    written_profiles = {name: written(words, vector.get("of", MODEL)) for name, words in vector["candidates"].items()}
    service = {"model": {"name": MODEL}, "selection": vector.get("wishes", {})}
    stack = profiles.stack(written_profiles, qwen=service)
    if "error" not in vector:
        outputs = composed(stack, cluster(*vector["cluster"])).contract["services"]["qwen"]
        assert outputs["profile"]["id"] == vector["chosen"]
        return
    with pytest.raises(ConfigError) as caught:
        composed(stack, cluster(*vector["cluster"]))
    first, *rows = [str(problem) for problem in caught.value.problems]
    assert first == vector["error"]
    assert len(rows) == (0 if "model.name" in first else len(written_profiles))


@pytest.mark.parametrize("vector", vectors("labels"))
def test_9_7_b8_a_class_is_detected_by_the_labels_that_place_its_pods(vector):
    """See aim-engine B7."""
    vendor = vector["vendor"]
    classes = accelerators.classes({})
    products = [name for name, each in classes.items() if each.vendor == vendor and each.product is not None]
    live = node("node", labels=vector["labels"], devices={profiles.DEVICES[vendor]: 8})
    found = among({name: profile(name) for name in products}, facts([live]))
    assert compared(found) == ([] if vector["class"] is None else [vector["class"]])
    assert vector["class"] is None or classes[vector["class"]].node_labels.keys() == vector["labels"].keys()


@pytest.mark.parametrize("vector", vectors("memory"))
def test_9_7_the_least_memory_of_a_device(vector):
    found = among({name: profile(name) for name in vector["classes"]}, minDeviceMemory=vector["least"])
    assert compared(found) == vector["passes"]


def test_b7_devices_that_no_node_has_together_are_not_there():
    profiles_by_count = {"small": profile(count=2), "large": profile("amd-mi325x", count=8)}
    found = among(profiles_by_count, facts([node("a", "amd-mi300x", 2), node("b", "amd-mi325x", 4)]))
    assert profiles.reasons(found) == {"small": "BestMatch", "large": "DeviceCountExceedsNodes"}


def test_b9_b12_one_profile_has_the_class_the_devices_and_the_preferences():
    written_profile = profile("amd-mi325x", 4, metric="latency", precision="fp8")
    stack = profiles.stack({"a": written_profile})
    outputs = composed(stack, cluster("amd-mi325x")).contract["services"]["qwen"]
    gpus = outputs["primary"]["roles"]["decode"]["gpus"]
    assert (gpus["class"], gpus["perReplica"]) == ("amd-mi325x", 4)
    assert outputs["profile"]["reasons"] == ["optimized", "latency", "fp8", "amd-mi325x"]


def test_b10_the_affinity_of_a_class_has_one_order():
    stack = profiles.stack({"a": profile("amd-mi300x")})
    texts = {str(find([each.manifest for each in composed(stack).objects], "Deployment", "qwen-decode")) for _ in "ab"}
    assert len(texts) == 1
    assert "['74a1', '74a9', '74b5', '74bd']" in texts.pop()


@pytest.mark.parametrize(("minimum", "expected"), [(None, []), ("preview", ["a"]), ("unoptimized", ["a", "b"])])
def test_b13_each_type_can_be_admitted_alone(minimum, expected):
    constraints = {} if minimum is None else {"minimumType": minimum}
    assert compared(among({"a": profile(type="preview"), "b": profile(type="unoptimized")}, **constraints)) == expected


def test_b14_auto_is_no_preference():
    both = {
        "auto": profile(precision="auto"),
        "silent": profile("amd-mi325x"),
        "fp8": profile("amd-mi210", precision="fp8"),
    }
    assert compared(among(both, precision="auto")) == compared(among(both)) == ["auto", "fp8", "silent"]
    assert compared(among(both, precision="fp8")) == ["fp8"]
    same = among({"auto": profile(precision="auto"), "silent": profile()})
    assert sorted(each.id for each in same.tied) == ["auto", "silent"]


def test_b15_the_default_of_a_model_breaks_a_tie_and_nothing_else():
    assert chosen(among({"a": profile(), "b": profile(default=True)})) == "b"
    assert chosen(among({"a": profile(metric="latency"), "b": profile(default=True)})) == "a"


def test_b16_the_type_is_what_the_profile_says():
    assert compared(among({"a": profile(type="unoptimized")})) == []
    assert (
        composed(profiles.stack({"a": profile()})).contract["services"]["qwen"]["profile"]["reasons"][0] == "optimized"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "image reference is empty"),
        (":::invalid", "image name is empty after sanitization"),
        ("ghcr.io/amd/model@sha256", "malformed digest (missing colon): sha256"),
        ("ghcr.io/amd/model@", "malformed digest reference: ghcr.io/amd/model@"),
        ("ghcr.io/amd/model:", "malformed tag reference (empty tag): ghcr.io/amd/model:"),
        ("ghcr.io/amd/model@sha256:", "malformed digest (no hash after colon): sha256:"),
    ],
)
def test_4_4_the_six_errors_of_an_image_reference(text, message):
    """See aim-engine 9.4."""
    with pytest.raises(ImageReferenceError, match=f"^{re.escape(message)}$"):
        image_references.parse(text)
    if text:
        stack = profiles.stack({"a": profile()}, qwen={"model": {"source": f"image://{text}"}})
        with pytest.raises(ConfigError, match=re.escape(f"services.qwen.model.source: names no image ({message})")):
            composed(stack)


@pytest.mark.parametrize(
    ("text", "registry", "name", "version"),
    [
        ("ghcr.io/amd/llama-3-8b:v1.0.0", "ghcr.io", "llama-3-8b", "v1-0-0"),
        ("registry.example.com:5000/models/mistral:latest", "registry.example.com:5000", "mistral", "latest"),
        ("ghcr.io/amd/model@sha256:abc123", "ghcr.io", "model", "abc123"),
        ("ghcr.io/amd/model", "ghcr.io", "model", "latest"),
        ("amdenterpriseai/aim-qwen-qwen3-32b:0.8.5", "docker.io", "aim-qwen-qwen3-32b", "0-8-5"),
        ("nginx:latest", "docker.io", "nginx", "latest"),
        ("localhost:5000/my-image:dev", "localhost:5000", "my-image", "dev"),
        ("localhost/my-image:dev", "localhost", "my-image", "dev"),
        ("ghcr.io/org/name:tag@sha256:0123456789abcdef", "ghcr.io", "name-tag", "012345"),
        ("GHCR.IO/AMD/Model_X:V1_2", "ghcr.io", "model-x", "v1-2"),
    ],
)
def test_4_4_the_grammar_of_an_image_reference(text, registry, name, version):
    """See aim-engine 9.4."""
    found = image_references.parse(text)
    assert (found.registry, found.name, found.version) == (registry, name, version)


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("nginx", "docker.io/library/nginx:latest", True),
        ("amd/model:v1", "docker.io/amd/model:v1", True),
        ("ghcr.io/amd/model:v1", "ghcr.io/amd/model:v2", False),
        ("ghcr.io/amd/model:v1", "docker.io/amd/model:v1", False),
        ("ghcr.io/amd/model@sha256:ab", "ghcr.io/amd/model:latest", False),
    ],
)
def test_b43_references_are_compared_by_what_they_mean(text, other, same):
    assert (image_references.parse(text) == image_references.parse(other)) is same


def test_9_9_a_model_is_found_by_its_name_in_every_scope_the_nearest_first():
    """See aim-engine 5.1."""
    near, far = {"near": profile("amd-mi210")}, {"far": profile("amd-mi355x")}
    whole = catalogue(near | far, {"far": Scope.SHIPPED})
    assert chosen(profiles.selection(whole.candidates(MODEL))) == "near"
    assert chosen(profiles.selection(catalogue(far, {"far": Scope.SHIPPED}).candidates(MODEL))) == "far"
    assert chosen(profiles.selection(catalogue(near).candidates(MODEL))) == "near"
    with pytest.raises(ConfigError, match=r"model\.name: is not in the catalogue \(org/gone\)"):
        composed(profiles.stack(near, qwen={"model": {"name": "org/gone"}}))


IMAGE = "registry.example/server:v1"


def test_9_9_b42_an_image_names_one_model_or_none_and_several_are_an_error_that_lists_them():
    """See aim-engine 5.2, B43."""
    served = {"model": {"source": f"image://{IMAGE}"}}
    service = {"model": {"source": f"image://{IMAGE}"}}
    composition = composed(profiles.stack({"a": profile(service=served)}, qwen=service))
    assert composition.contract["services"]["qwen"]["model"]["name"] == MODEL
    assert composition.contract["services"]["qwen"]["profile"]["id"] == "a"
    both = {"a": profile(service=served), "b": profile(model="org/other", service=served)}
    with pytest.raises(ConfigError) as caught:
        composed(profiles.stack(both, qwen=service))
    what = "services.qwen.model.source: is the image of several models of the catalogue (org/model, org/other)"
    assert [str(problem) for problem in caught.value.problems] == [f"{what}; set model.name to one of these models"]
    named = {"model": {"name": "org/other", "source": f"image://{IMAGE}"}, "selection": {}}
    assert composed(profiles.stack(both, qwen=named)).contract["services"]["qwen"]["profile"]["id"] == "b"
    none = {"model": {"name": "org/custom", "source": f"image://{IMAGE}"}, "accelerator": "amd"}
    assert composed(profiles.stack({"a": profile()}, qwen=none)).contract["services"]["qwen"]["profile"] is None


def test_9_9_b44_b45_services_of_one_source_keep_their_own_hardware_and_credentials():
    """See aim-engine 5.3."""
    model = {"name": "org/model", "source": "s3://bucket/model", "size": "16Gi"}

    def service(accelerator, secret):
        reference = {"secretKeyRef": {"name": secret, "key": "url"}}
        fill = {"env": {"AWS_ENDPOINT_URL_S3": reference}}
        return {"model": model, "accelerator": accelerator, "storage": {"type": "dedicated", "fill": fill}}

    found = rendered(tree(small=service("nvidia-l4", "one"), large=service("amd-mi300x", "two")))
    texts = {name: str(find(found, "Deployment", f"{name}-decode")) for name in ("small", "large")}
    assert "nvidia.com/gpu" in texts["small"]
    assert "amd.com/gpu" in texts["large"]
    jobs = {each["metadata"]["name"]: str(each) for each in found if each["kind"] == "Job"}
    assert [("'one'" in text, "'two'" in text) for _, text in sorted(jobs.items())] == [(False, True), (True, False)]


@pytest.mark.parametrize(
    ("fields", "accelerator", "devices"),
    [
        ({}, "amd-mi300x", 1),
        ({"parallelism": {"tensor": 4}}, "amd-mi300x", 4),
        ({"accelerator": "amd-mi300x", "parallelism": {"tensor": 2}}, "amd-mi300x", 2),
    ],
)
def test_9_9_hardware_merges_key_by_key(fields, accelerator, devices):
    """See aim-engine B11."""
    service = {"model": {"name": MODEL}, **fields}
    found = composed(profiles.stack({"a": profile("amd-mi300x")}, qwen=service), cluster("amd-mi300x"))
    gpus = found.contract["services"]["qwen"]["primary"]["roles"]["decode"]["gpus"]
    assert (gpus["class"], gpus["perReplica"]) == (accelerator, devices)


def test_9_10_b11_what_a_service_overrides_changes_no_profile():
    both = {"a": profile("amd-mi300x"), "b": profile("amd-mi325x", service={"engine": {"maxNumSeqs": 7}})}
    service = {"model": {"name": MODEL}}
    fields = service | {"parallelism": {"tensor": 2}, "engine": {"args": ["--enforce-eager"]}, "selection": {}}
    alone = composed(profiles.stack(both, qwen=service)).contract["services"]["qwen"]
    beside = composed(profiles.stack(both, qwen=service, other=fields)).contract["services"]
    assert beside["qwen"] == alone
    assert beside["other"]["profile"] == alone["profile"]
    assert beside["other"]["primary"]["roles"]["decode"]["gpus"]["perReplica"] == 2


def test_9_9_a_locked_profile_is_used_again(tmp_path):
    """See aim-engine 2.1."""
    first = composed(profiles.stack({"a": profile("amd-mi210")}))
    assert first.contract["services"]["qwen"]["profile"]["locked"] is False
    profiles.lock(profiles.stack({"a": profile("amd-mi210")}), tmp_path)
    better = profiles.stack({"a": profile("amd-mi210"), "b": profile("amd-mi355x")})
    assert composed(better).contract["services"]["qwen"]["profile"]["id"] == "b"
    again = composed(better, lock=LockFile(tmp_path)).contract["services"]["qwen"]["profile"]
    assert (again["id"], again["locked"]) == ("a", True)


@pytest.mark.parametrize(
    ("both", "service", "message"),
    [
        ({"a": profile()}, {"model": {"name": "org/gone"}}, "services.qwen.model.name: is not in the catalogue"),
        ({}, {"model": {}}, "services.qwen.model: has neither name nor source"),
        (
            {"a": profile()},
            {"model": {"name": MODEL}, "selection": {"metric": "latency"}},
            "services.qwen.selection: the",
        ),
        ({"a": profile(), "b": profile()}, NAMED, "services.qwen.selection: two profiles are"),
    ],
)
def test_10_6_a_preview_fails_with_the_table(both, service, message):
    with pytest.raises(ConfigError) as caught:
        composed(profiles.stack(both, qwen=service))
    first, *rows = map(str, caught.value.problems)
    assert first.startswith(message)
    assert len(rows) == (len(both) if "selection" in message else 0)
    assert all(f" {name} (stack): " in row for name, row in zip(sorted(both), rows, strict=False))


def test_10_6_no_credential_of_a_profile_is_text():
    token = {"engine": {"env": {"HF_TOKEN": "hf_" + "a" * 34}}}
    with pytest.raises(ConfigError) as caught:
        composed(profiles.stack({"a": profile(service=token)}))
    assert [str(problem).partition(";")[0] for problem in caught.value.problems] == [
        "catalogue.profiles.a.service.engine.env.HF_TOKEN: holds a credential in clear"
    ]
