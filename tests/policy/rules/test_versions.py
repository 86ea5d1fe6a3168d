"""Release channels, versions of engines, and advisories at the bounds of their versions."""

from dataclasses import replace

import pytest

from planning.releases import engine_versions
from policy.rules.versions import version_of
from tests.support.policies import lines, raw, verdicts, view
from tests.support.stacks import SHIPPED, rendered, shipped, tree


def engine(version, *arguments, image="r.example/vllm-openai:v{}"):
    container = {"name": "vllm", "image": image.format(version), "args": list(arguments)}
    metadata = {"name": "p", "namespace": "n"}
    return raw({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}})


@pytest.mark.parametrize(("version", "refused"), [("0.29.9", True), ("0.30", False), ("0.30.0", False), ("1.0", False)])
def test_an_engine_is_at_least_as_new_as_the_minimum(version, refused):
    printed = lines(engine(version), "engine-versions", minimum="0.30", severity="critical")
    assert bool(printed) is refused


@pytest.mark.parametrize(
    ("version", "arguments", "advisory", "met"),
    [
        ("0.8.9", (), "CVE-2025-48942", True),
        ("0.8.0", (), "CVE-2025-48942", True),
        ("0.9.0", (), "CVE-2025-48942", False),
        ("0.7.9", (), "CVE-2025-48942", False),
        ("0.8.9", ("--runner=pooling",), "CVE-2025-48942", False),
        ("0.8.4", ('--kv-transfer-config={"kv_connector": "MooncakeConnector"}',), "CVE-2025-32444", True),
        ("0.8.4", ('--kv-transfer-config={"kv_connector": "NixlConnector"}',), "CVE-2025-32444", False),
        ("0.8.4", (), "CVE-2025-32444", False),
    ],
)
def test_an_advisory_counts_in_the_versions_and_with_the_settings_that_it_affects(version, arguments, advisory, met):
    printed = " ".join(lines(engine(version, *arguments), "engine-versions", severity="low"))
    assert (advisory in printed) is met


def test_only_advisories_of_the_severity_and_above_count():
    low, high = (len(lines(engine("0.8.9"), "engine-versions", severity=name)[0]) for name in ("low", "high"))
    assert high < low


def test_the_remedy_names_a_version_that_meets_nothing():
    (line,) = lines(engine("0.8.9"), "engine-versions", severity="low")
    version = line.partition("of vLLM ")[2].split()[0]
    assert lines(engine(version), "engine-versions", severity="low") == []


@pytest.mark.parametrize("image", ["r.example/vllm-openai:latest", "r.example/mine@sha256:0", "llm-d-cuda:v9"])
def test_an_engine_of_an_unknown_version_is_a_question(image):
    (verdict,) = verdicts(engine("", image=image), "engine-versions")
    assert not verdict.is_refusal
    assert "can't tell: Pod n/p spec.containers[vllm].image has an unknown version of vLLM" in str(verdict)


@pytest.mark.parametrize(("image", "refused"), [("x/vllm-openai:v0.20.0", True), ("x/other:v0.20.0", False)])
def test_an_engine_is_known_by_its_image_whatever_the_container_is_called(image, refused):
    judged = engine("", image=image)
    judged.objects[0].manifest["spec"]["containers"][0]["name"] = "server"
    assert bool(lines(judged, "engine-versions", minimum="0.30")) is refused


def test_other_containers_run_no_engine():
    judged = engine("", image="redis:1")
    container = judged.objects[0].manifest["spec"]["containers"][0]
    container["name"] = "cache"
    assert lines(judged, "engine-versions", minimum="9") == []


def test_versions_of_images_are_those_that_the_program_knows():
    images = {
        container["image"]
        for path in SHIPPED
        for manifest in rendered(shipped(path))
        if manifest["kind"] == "Deployment"
        for container in manifest["spec"]["template"]["spec"]["containers"]
        if container["name"] == "vllm"
    }
    assert len(images) > 3
    for image in images:
        version = version_of(image)
        known = engine_versions.number_in(image)
        assert known is not None
        assert version is not None
        assert ".".join(map(str, version)) == known


@pytest.mark.parametrize(
    ("release", "allowed", "refused"), [("llm-d-0.9", [], False), ("llm-d-0.9", ["llm-d-0.10"], True)]
)
def test_a_release_is_in_the_list_or_not_retired(release, allowed, refused):
    assert bool(lines(view({**tree(), "release": release}), "release-allowed", releases=allowed)) is refused


def with_release(name):
    judged = view(tree(qwen={"canary": {"weight": 10}}))
    (contract,) = judged.contracts
    services = {"qwen": {**contract.services["qwen"]}}
    services["qwen"]["canary"] = {**services["qwen"]["canary"], "release": name}
    return replace(judged, contracts=(replace(contract, outputs={**contract.outputs, "services": services}),))


def test_a_retired_release_of_a_canary_is_refused_and_an_unknown_one_is_a_question():
    (verdict,) = verdicts(with_release("llm-d-0.6"), "release-allowed")
    assert verdict.is_refusal
    assert "services.qwen.canary has a release that is not allowed (llm-d-0.6)" in str(verdict)
    (verdict,) = verdicts(with_release("llm-d-9"), "release-allowed")
    assert not verdict.is_refusal
    assert "can't tell: services.qwen.canary has a release that the pack does not know (llm-d-9)" in str(verdict)
