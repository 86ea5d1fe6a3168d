"""OtterScale's ModelService, the endpoint picker and security: that we have none of its weaknesses.

Names begin with the weakness's id (E endpoint picker, S security). `docs/deviations.md` lists where we differ on
purpose.
"""

import json

import pytest

from models.vocabulary import amount
from planning.releases import channel, channels
from tests.support.stacks import SERVICE, exactly, find, rendered, tree
from tests.support.stacks.otterscale import kind, picker, pod
from tests.support.stacks.shapes import (
    DIGEST,
    EVERY,
    containers,
    engine,
    every_picked_rendering,
    every_rendering,
    every_stack,
    fetching,
    flag,
    label,
    model_servers,
    serving,
    sidecars,
    templates,
    told,
    values,
    volumes,
)


def test_e4_a_picker_asks_for_less_than_theirs_and_can_be_told_what():
    requests = picker(rendered(tree()))["resources"]["requests"]
    assert amount(requests["cpu"]) < 4
    assert amount(requests["memory"]) < amount("8Gi")
    resources = {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}
    assert picker(rendered(tree(qwen={"endpointPicker": {"resources": resources}})))["resources"] == resources


@every_rendering
def test_e5_a_missing_configuration_is_not_hidden(everything):
    for template in templates(everything):
        for volume in template["spec"]["volumes"]:
            sources = (volume.get(kind, {}) for kind in ("configMap", "secret", "projected"))
            assert not any(source.get("optional") for source in sources)


@every_stack
def test_s1_models_are_pulled_over_tls_unless_the_service_says_otherwise(stack):
    insecure = {
        service.get("name", key) for key, service in stack["services"].items() if service["model"].get("insecure")
    }
    for template in model_servers(rendered(stack)):
        plain = "plain-http" in json.dumps(fetching(template))
        assert plain == (label(template, "app.kubernetes.io/name") in insecure)


def test_s1_plain_http_is_one_services_own_choice():
    insecure = {"model": {**SERVICE["model"], "insecure": True}}
    everything = rendered(tree(a={}, b=insecure))
    plain = ["--plain-http" in json.dumps(fetching(template)) for template in serving(everything)]
    assert plain == [False, True]


@every_picked_rendering
def test_s7_no_picker_serves_profiles(everything):
    pickers = [template for template in templates(everything) if engine(template)["name"] == "epp"]
    assert pickers
    assert all(flag(engine(template), "--enable-pprof") == "false" for template in pickers)


@pytest.mark.parametrize("name", ["prefill", "prefill-by-an-account", "spanning-prefill", "prefill-decode"])
def test_s8_the_sidecar_asks_only_pods_of_its_pool_and_alone_has_the_token_for_that(name):
    everything = rendered(EVERY[name])
    (pool,) = kind(everything, "InferencePool")
    (template,) = [template for template in serving(everything) if sidecars(template)]
    (proxy,) = sidecars(template)
    assert flag(proxy, "--enable-ssrf-protection") == "true"
    assert flag(proxy, "--inference-pool") == f"{pool['metadata']['namespace']}/{pool['metadata']['name']}"
    account = template["spec"]["serviceAccountName"]
    tokens = {
        volume["name"]
        for volume in template["spec"]["volumes"]
        if any("serviceAccountToken" in source for source in volume.get("projected", {}).get("sources", []))
    }
    holders = [
        container["name"]
        for container in containers(template)
        if tokens & {m["name"] for m in container["volumeMounts"]}
    ]
    assert holders == ["routing-proxy"]
    (binding,) = [binding for binding in kind(everything, "RoleBinding") if binding["subjects"][0]["name"] == account]
    role = exactly(everything, "Role", binding["roleRef"]["name"])
    assert [(rule["resources"], rule.get("resourceNames"), rule["verbs"]) for rule in role["rules"]] == [
        (["pods"], None, ["list", "watch"]),
        (["inferencepools"], [pool["metadata"]["name"]], ["list", "watch"]),
    ]


@every_rendering
def test_s8_no_model_pod_is_given_a_token_unasked(everything):
    for template in model_servers(everything):
        assert template["spec"]["automountServiceAccountToken"] is False
        assert bool(sidecars(template)) == ("serviceAccountToken" in json.dumps(template["spec"]["volumes"]))


@every_rendering
def test_s9_a_picker_reads_its_own_pool_and_no_secrets(everything):
    for pool in kind(everything, "InferencePool"):
        name = pool["metadata"]["name"]
        rules = exactly(everything, "Role", f"{name}-epp")["rules"]
        (pools,) = [rule for rule in rules if "inferencepools" in rule["resources"]]
        assert pools["resourceNames"] == [name]
        assert {"get", "list", "watch"} >= {verb for rule in rules for verb in rule["verbs"]}
        assert "secrets" not in [resource for rule in rules for resource in rule["resources"]]


@every_picked_rendering
def test_s9_only_the_picker_itself_has_its_token(everything):
    """See defects H8."""
    pickers = [template for template in templates(everything) if engine(template)["name"] == "epp"]
    assert [token_holders(template) for template in pickers] == [["epp"]] * len(pickers)


def test_s9_containers_beside_the_picker_have_no_token():
    """See defects H8."""
    picker = {"containers": {"log": {"image": "registry.example/log:v1"}}, "preset": "predicted-latency"}
    picker["latencyPredictor"] = {"deploy": {}}
    template = find(rendered(tree(qwen={"endpointPicker": picker})), "Deployment", "qwen-epp")["spec"]["template"]
    names = [container["name"] for container in containers(template)]
    assert names == ["epp", "log", "training-server", "prediction-server"]
    assert token_holders(template) == ["epp"]


@every_rendering
def test_s8_nobody_but_picker_sidecar_and_interceptor_has_a_token(everything):
    jobs = [manifest["spec"]["template"] for manifest in everything if manifest["kind"] == "Job"]
    held = {name for template in [*templates(everything), *jobs] for name in token_holders(template)}
    assert held <= {"epp", "routing-proxy", "interceptor"}


def token_holders(template):
    """Return the names of the containers with a token of the pod's account, as Kubernetes mounts it or by a volume."""
    everyone = [container["name"] for container in containers(template)]
    if template["spec"].get("automountServiceAccountToken", True):
        return everyone
    tokens = {
        volume["name"]
        for volume in template["spec"].get("volumes", [])
        if "serviceAccountToken" in json.dumps(volume.get("projected", {}))
    }
    return [
        container["name"]
        for container in containers(template)
        if tokens & {mount["name"] for mount in container.get("volumeMounts", [])}
    ]


@every_rendering
def test_s10_every_image_has_a_tag_or_a_digest_and_none_is_the_latest(everything):
    for template in templates(everything):
        for container in containers(template):
            assert is_pinned(container["image"]), container["image"]


def is_pinned(image):
    name = image.rpartition("/")[2]
    tag = name.partition("@")[0].partition(":")[2]
    return "@sha256:" in name or tag not in {"", "latest"}


def images(facts):
    tools = [facts.images.picker, facts.images.kit, facts.images.kit_verify, facts.images.downloader]
    return [*tools, *facts.images.engine.values(), *([facts.images.sidecar] if facts.images.sidecar else [])]


@pytest.mark.parametrize("release", channels())
def test_s10_a_channel_is_pinned(release):
    assert all(is_pinned(image.ref) for image in images(channel(release)))


def test_s10_digests_that_the_channel_knows_reach_the_pods():
    facts = channel("llm-d-0.10").images
    assert "@sha256:" in facts.engine["nvidia"].ref
    assert engine(pod({}))["image"] == facts.engine["nvidia"].ref
    assert engine(pod({"accelerator": "amd"}))["image"] == facts.engine["amd"].ref
    facts = channel("llm-d-0.9").images
    assert "@sha256:" in facts.picker.ref
    assert picker(rendered(tree() | {"release": "llm-d-0.9"}))["image"] == facts.picker.ref


def test_s10_a_users_digest_is_kept_and_an_image_without_tag_or_digest_refused():
    image = f"registry.example/vllm:v1@{DIGEST}"
    assert engine(pod({"engine": {"image": image}}))["image"] == image
    assert engine(pod({"model": {"name": "m", "source": f"image://registry.example/server@{DIGEST}"}}))[
        "image"
    ].endswith(DIGEST)
    (kit,) = fetching(pod({"model": {"name": "m", "source": f"kit://registry.example/m@{DIGEST}"}}))
    assert f"registry.example/m@{DIGEST}" in kit["command"]
    for service in (
        {"engine": {"image": "registry.example/vllm"}},
        {"endpointPicker": {"image": "registry.example:5000/epp"}},
        {"model": {"name": "m", "source": "image://registry.example/server"}},
        {"model": {"name": "m", "source": "kit://registry.example/m"}},
    ):
        (message,) = told(tree(qwen=service))
        assert "with a tag or digest" in message


def test_s11_kit_gets_its_one_secret_whatever_opens_the_images():
    secrets = {"imagePullSecrets": [{"name": "first"}, {"name": "second"}]}
    service = {"model": {**SERVICE["model"], "secrets": ["models"]}, "pod": secrets}
    template = pod(service)
    (kit,) = fetching(template)
    (mount,) = [mount for mount in kit["volumeMounts"] if mount["mountPath"] == values(kit)["DOCKER_CONFIG"]]
    assert volumes(template)[mount["name"]]["secret"] == {
        "secretName": "models",
        "items": [{"key": ".dockerconfigjson", "path": "config.json"}],
    }
    assert template["spec"]["imagePullSecrets"] == [{"name": "first"}, {"name": "second"}]


def test_s11_a_second_secret_of_kit_is_refused_with_a_remedy():
    (message,) = told(tree(qwen={"model": {**SERVICE["model"], "secrets": ["first", "second"]}}))
    assert message.startswith("services.qwen.model.secrets: ")
    assert "merge them into one" in message.partition("; ")[2]
