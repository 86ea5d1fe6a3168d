"""Strict validation: what Kubernetes would drop or refuse never reaches registration."""

import copy

import pytest
import yaml

from judging import validation
from models.problems import ConfigError
from tests.support.stacks import as_rendered, find, rendered, tree

POD = ("spec", "template", "spec")
WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: qwen-decode, namespace: models}
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      tolerations: []
      containers:
      - {name: vllm, image: x, env: [{name: A, value: a}], args: [serve]}
"""


def check(manifest):
    validation.check([as_rendered(manifest)])


def workload(at=POD, **fields):
    """Return a Deployment with fields set at a path, the pod if none is given."""
    manifest = yaml.load(WORKLOAD, yaml.CSafeLoader)
    inside = manifest
    for part in at:
        inside = inside[part]
    inside.update(fields)
    return manifest


def told(manifest, origins):
    """Return what a user is told of an object of which parts were passed through."""
    with pytest.raises(ConfigError) as error:
        validation.check([as_rendered(manifest, origins)])
    return str(error.value).splitlines()


def kinds():
    stack = tree() | {"namespaceOptions": {"create": True}, "interceptor": {"mode": "label", "namespace": "metering"}}
    return {manifest["kind"]: manifest for manifest in rendered(stack)}


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_a_misspelt_field_of_any_kind_is_refused(kind):
    manifest = copy.deepcopy(dict(kinds()[kind]))
    check(manifest)
    field = next(name for name in ("spec", "rules", "data", "subjects", "metadata") if name in manifest)
    inner = (
        manifest[field][0] if isinstance(manifest[field], list) else manifest[field] if field == "spec" else manifest
    )
    inner["misspelt"] = "x"
    with pytest.raises(validation.SchemaError, match="misspelt"):
        check(manifest)


def test_a_misspelt_field_deep_inside_is_refused_with_its_path():
    deployment = copy.deepcopy(find(rendered(tree()), "Deployment", "qwen-decode"))
    probe = deployment["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]
    probe["periodSecond"] = probe.pop("periodSeconds")
    with pytest.raises(
        validation.SchemaError, match=r"spec\.template\.spec\.containers\[0\]\.readinessProbe\.periodSecond: unknown"
    ):
        check(deployment)


def test_a_kind_without_a_schema_is_refused():
    manifest = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}}
    with pytest.raises(validation.SchemaError, match="no schema is known"):
        check(manifest)


def test_a_custom_kind_is_not_mistaken_for_a_built_in_one_of_the_same_name():
    manifest = {"apiVersion": "networking.example.com/v1", "kind": "Ingress", "metadata": {"name": "x"}}
    with pytest.raises(validation.SchemaError, match="no schema is known"):
        check(manifest)


AFFINITY = {(*POD, "affinity"): "services.qwen.pod.affinity"}
TOLERATIONS = {(*POD, "tolerations"): "services.qwen.pod.tolerations"}


def test_a_fitting_object_is_accepted_whoever_wrote_it():
    validation.check([as_rendered(workload(tolerations=[{"operator": "Exists"}]), TOLERATIONS)])


def test_a_misspelt_field_that_a_user_wrote_is_told_in_the_users_words():
    manifest = workload(affinity={"nodeAfinity": {}})
    (problem,) = told(manifest, AFFINITY)
    assert problem == (
        "services.qwen.pod.affinity.nodeAfinity: does not fit Kubernetes' schema (unknown key nodeAfinity); "
        "did you mean nodeAffinity?"
    )


def test_every_mistake_of_a_user_is_told_together():
    tolerations = [{"kye": "a"}, {"zzz": "a"}, {"operator": 3}, "all"]
    at, known = "services.qwen.pod.tolerations", "effect, key, operator, tolerationSeconds, value"
    assert set(told(workload(tolerations=tolerations), TOLERATIONS)) == {
        f"{at}[0].kye: does not fit Kubernetes' schema (unknown key kye); did you mean key?",
        f"{at}[1].zzz: does not fit Kubernetes' schema (unknown key zzz); known here: {known}",
        f"{at}[2].operator: does not fit Kubernetes' schema (is not a string: 3); write it quoted",
        f"{at}[3]: does not fit Kubernetes' schema (is not a mapping: all); write a mapping",
    }


def test_a_missing_field_is_told_where_it_belongs():
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {}}
    (problem,) = told(workload(affinity={"nodeAffinity": required}), AFFINITY)
    assert problem == (
        "services.qwen.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
        "does not fit Kubernetes' schema (is missing); add it"
    )


def test_a_value_of_one_of_several_types_is_told_with_all_of_them():
    manifest = workload(("spec",), strategy={"rollingUpdate": {"maxSurge": True}})
    (problem,) = told(manifest, {(): "services.qwen.patch"})
    assert problem == (
        "services.qwen.patch.spec.strategy.rollingUpdate.maxSurge: "
        "does not fit Kubernetes' schema (is not a string or a whole number: true); write a string or a whole number"
    )


def test_a_word_outside_the_schemas_list_is_told_with_the_list():
    route = copy.deepcopy(dict(find(rendered(tree()), "HTTPRoute", "qwen")))
    route["spec"]["rules"][0]["matches"][0]["path"]["type"] = "Prefix"
    (problem,) = told(route, {("spec", "rules"): "services.qwen.route"})
    assert problem == (
        "services.qwen.route[0].matches[0].path.type: does not fit Kubernetes' schema "
        "(is not one of Exact, PathPrefix, RegularExpression: Prefix); choose one of them"
    )


def test_the_longest_prefix_that_a_user_wrote_wins():
    origins = {(): "services.qwen.patch", **TOLERATIONS, (*POD, "tolerations", 1): "defaults.pod.tolerations[0]"}
    manifest = workload(tolerations=[{"kye": "a"}, {"kye": "b"}], hostNetwork="yes")
    assert sorted(problem.partition(":")[0] for problem in told(manifest, origins)) == [
        "defaults.pod.tolerations[0].kye",
        "services.qwen.patch.spec.template.spec.hostNetwork",
        "services.qwen.pod.tolerations[0].kye",
    ]


def test_a_mistake_beside_what_the_user_wrote_is_ours():
    with pytest.raises(validation.SchemaError, match="hostNetwrk"):
        validation.check([as_rendered(workload(hostNetwrk=True), TOLERATIONS)])


def test_a_prefix_covers_whole_keys_only():
    with pytest.raises(validation.SchemaError, match="tolerationsX"):
        validation.check([as_rendered(workload(tolerationsX=[]), TOLERATIONS)])


def test_an_unknown_kind_is_never_the_users_mistake():
    manifest = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}}
    with pytest.raises(validation.SchemaError, match="no schema is known"):
        validation.check([as_rendered(manifest, {(): "services.qwen.patch"})])


@pytest.mark.parametrize("origins", [{}, {(): "services.qwen.patch"}], ids=["ours", "the user's"])
@pytest.mark.parametrize(
    "fields",
    [
        {"env": [{"name": "PIN", "value": 271828}]},
        {"env": "PIN=271828"},
        {"env": [{"name": "PIN", "valueFrom": "271828"}]},
        {"args": [271828]},
        {"args": "271828"},
    ],
)
def test_no_message_has_a_value_of_a_variable_or_an_argument(fields, origins):
    manifest = workload((*POD, "containers", 0), **fields)
    with pytest.raises((ConfigError, validation.SchemaError)) as error:
        validation.check([as_rendered(manifest, origins)])
    assert next(iter(fields)) in str(error.value)
    assert "271828" not in str(error.value)


def test_without_the_package_of_schemas_no_object_is_accepted(monkeypatch):
    monkeypatch.setattr(validation, "find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match="kubernetes-validate is not installed"):
        validation._builtin_schemas.__wrapped__()
