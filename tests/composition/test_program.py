"""The composition root under mocks: what it registers, with which options, and that nothing is registered unchecked."""

import json

import pulumi
import pytest

from manifests import pods
from manifests.assembly import objects, render
from tests.support.program import Recorder, as_registered, run
from tests.support.stacks import plan, tree


def stack(**services):
    return tree(**services) | {"cluster": {"facts": {"type": "none"}, "name": "prod"}}


def test_every_rendered_object_is_registered_as_it_was_rendered():
    made = run(stack(qwen={}))
    for item in objects(render(plan(stack(qwen={})))):
        (name,) = [name for name, args in made.items() if place(args.inputs) == item.place[1:]]
        for field, value in as_registered(item.manifest).items():
            if field not in {"apiVersion", "kind"}:
                assert plain(made[name].inputs[field]) == plain(value), (name, field)


def place(inputs):
    metadata = inputs.get("metadata") or {}
    return inputs.get("kind"), metadata.get("namespace", ""), metadata.get("name")


def plain(value):
    """Return a value as mocks carry it: numbers as floats."""
    return json.loads(json.dumps(value), parse_int=float)


def test_logical_names_are_identity():
    made = run(stack(qwen={}))
    assert {"cluster", "qwen", "qwen-decode", "qwen-service", "qwen-epp", "qwen-epp-pool", "routing-qwen-route"} <= set(
        made
    )


def test_the_provider_is_explicit_and_known_by_the_clusters_name():
    provider = run(stack(qwen={}))["cluster"].inputs
    assert provider["clusterIdentifier"] == "prod"
    assert provider["enableConfigMapMutable"] == provider["enableSecretMutable"] == "true"
    assert json.loads(provider["kubeClientSettings"])["qps"] == 1000
    assert "kubeconfig" not in provider


def test_a_kubeconfig_is_registered_as_a_secret():
    kubeconfig = run(stack(qwen={}), **{"inference-stacks:kubeconfig": "kind: Config"})["cluster"].inputs["kubeconfig"]
    assert kubeconfig[pulumi.runtime.rpc._special_sig_key] == pulumi.runtime.rpc._special_secret_sig


def test_a_misspelt_field_fails_before_anything_is_registered(monkeypatch):
    monkeypatch.setattr(pods, "security", lambda *_: {"runAsNonRot": True})
    recorder = Recorder()
    monkeypatch.setattr(Recorder, "new_resource", lambda _, args: recorder.made.setdefault(args.name, args))
    with pytest.raises(pulumi.RunError, match="runAsNonRot"):
        run(stack(qwen={}))
    assert set(recorder.made) <= {"inference-stacks-dev"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"a":' * 5000 + "1" + "}" * 5000, "is nested too deeply; write at most 100 levels"),
        ("text with a secret", "is not a mapping; write keys with values below it"),
    ],
    ids=["deep", "text"],
)
def test_a_configuration_that_the_sdk_cannot_read_is_a_mistake_without_its_value(text, what):
    """See defects H25."""
    with pytest.raises(pulumi.RunError) as error:
        run({}, **{"inference-stacks:stack": text})
    assert str(error.value) == (
        f"The configuration is mistaken, nothing was changed:\n  - inference-stacks:stack: {what}"
    )


def test_a_mistaken_configuration_is_one_error_that_says_that_nothing_was_changed():
    with pytest.raises(pulumi.RunError) as error:
        run(stack(qwen={"replica": 2}))
    assert str(error.value) == (
        "The configuration is mistaken, nothing was changed:\n"
        "  - services.qwen.replica: unknown key (replica); did you mean replicas?"
    )
