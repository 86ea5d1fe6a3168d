"""References of documents to a cluster."""

import json

import pytest

from migration import conversion, references
from migration.files import RawDocument, documents
from migration.references import LabelSelection, ObjectPlace, ObjectReference
from tests.support.migration import chart_values, llm_service

CONFIG = "serving.kserve.io/v1alpha2/LLMInferenceServiceConfig"
SETTINGS = ObjectPlace("v1/ConfigMap", "kserve", "inferenceservice-config")
CHAT = ObjectPlace("serving.kserve.io/v1alpha2/LLMInferenceService", "ml", "chat")
MODELSERVICE = "apiVersion: model.otterscale.io/v1alpha1\nkind: ModelService\nmetadata: {name: chat}\n"


def read(text, *further):
    return documents("\n---\n".join((text, *further)), "a.yaml")


def places(name, *, optional=False):
    return ObjectReference((ObjectPlace(CONFIG, "ml", name), ObjectPlace(CONFIG, "kserve", name)), optional=optional)


def config(name, spec="{}"):
    head = "apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceServiceConfig"
    return f"{head}\nmetadata: {{name: {name}}}\nspec: {spec}"


def test_a_service_refers_to_the_objects_that_it_names_and_those_that_its_program_applies():
    text = llm_service("  baseRefs: [{name: base}, {name: more}]\n  router: {scheduler: {config: {ref: {name: epp}}}}")
    assert references.open_references(read(text), "default") == [
        places("base"),
        places("more"),
        ObjectReference((ObjectPlace("v1/ConfigMap", "ml", "epp"),)),
        places("kserve-config-llm-template", optional=True),
        ObjectReference((SETTINGS,), optional=True),
    ]


def test_an_object_that_is_there_is_not_read_and_a_config_decides_what_else_is():
    text = llm_service("  baseRefs: [{name: base}]\n  router: {gateway: {refs: [{name: g}]}}")
    assert references.open_references(read(text, config("base", "{prefill: {}}")), "default") == [
        places("kserve-config-llm-prefill-template", optional=True),
        places("kserve-config-llm-decode-template", optional=True),
    ]
    elsewhere = config("base").replace("name: base", "name: base, namespace: other")
    assert places("base") in references.open_references(read(text, elsewhere), "default")


def test_a_config_may_name_further_objects_for_the_service():
    text = llm_service("  baseRefs: [{name: base}]")
    beside = config("base", "{router: {gateway: {refs: [{name: g}]}, scheduler: {config: {ref: {name: epp}}}}}")
    assert references.open_references(
        read(text, beside.replace("name: base}", "name: base, namespace: kserve}")), "x"
    ) == [
        ObjectReference((ObjectPlace("v1/ConfigMap", "ml", "epp"),)),
        places("kserve-config-llm-template", optional=True),
    ]


def test_only_kinds_with_a_reader_are_read(monkeypatch):
    monkeypatch.setattr(conversion, "understood_kinds", lambda: frozenset({"serving.kserve.io/LLMInferenceService"}))
    assert references.open_references(read(llm_service("  baseRefs: [{name: base}]")), "default") == []


@pytest.mark.parametrize("name", ["../../../../api/v1/secrets/a", "A", "a?b", "a/b", "", "x" * 254])
def test_a_name_that_no_object_has_makes_no_request(name):
    text = llm_service(f"  baseRefs: [{{name: {json.dumps(name)}}}]\n  router: {{gateway: {{refs: [{{}}]}}}}")
    assert references.open_references(read(text), "default") == [places("kserve-config-llm-template", optional=True)]
    (document,) = read(llm_service("  model: {}"))
    tree = {**document.tree, "metadata": {"name": name or "../x", "namespace": "ml"}}
    assert references.open_references([RawDocument("a", tree)], "default") == []
    assert list(references.without_status([RawDocument("a", tree)], "default")) == []
    for version in ("v1", "serving.kserve.io/v1/../../..", "serving.kserve.io/v1?x"):
        tree = {**document.tree, "apiVersion": version}
        assert list(references.without_status([RawDocument("a", tree)], "default")) == []


def test_a_namespace_that_is_none_is_that_of_the_command():
    (document,) = read(llm_service("  model: {}").replace("namespace: ml", "namespace: ../x"))
    ((_, place),) = references.without_status([document], "default")
    assert place == CHAT._replace(namespace="default")


def test_a_status_is_needed_by_some_kinds_that_have_none():
    (document,) = read(llm_service("  model: {}"))
    assert list(references.without_status([document], "default")) == [(0, CHAT)]
    printed = RawDocument("a", {**document.tree, "status": {"annotations": {}}})
    assert list(references.without_status([printed], "default")) == []
    assert list(references.without_status(read(MODELSERVICE), "default")) == []


def test_a_list_is_needed_unless_its_kind_is_there():
    (operator,) = references.lists(read(MODELSERVICE, MODELSERVICE))
    assert operator.api == "apps/v1/Deployment"
    assert references.lists(read(MODELSERVICE, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}")) == []


def test_pods_are_told_by_labels():
    (document,) = read(MODELSERVICE)
    assert references.pods(document, None, "default") == [
        LabelSelection("v1/Pod", "default", (("llm-d.ai/model", "chat"),)),
        LabelSelection(
            "v1/Pod",
            "default",
            (("app.kubernetes.io/name", "chat-epp"), ("app.kubernetes.io/managed-by", "model-operator")),
        ),
    ]
    (values,) = read(chart_values("{image: a}"))
    role = ("llm-d.ai/role", "")
    assert references.pods(values, "llm-d-modelservice", "ml") == [
        LabelSelection("v1/Pod", "ml", (role, ("llm-d.ai/inference-serving", "true")))
    ]
    labelled = RawDocument("a", {**values.tree, "modelArtifacts": {"labels": {"model": "chat"}}})
    assert references.pods(labelled, "llm-d-modelservice", "ml") == [
        LabelSelection("v1/Pod", "ml", (role, ("model", "chat")))
    ]
    assert references.pods(RawDocument("a", {"kind": "Job", "apiVersion": "batch/v1"}), None, "ml") == []


@pytest.mark.parametrize("labels", [{"model": "a,b=c"}, {"model in (a)": "b"}, {"a": " "}])
def test_labels_that_no_pod_has_select_nothing(labels):
    values = RawDocument("a", {"modelArtifacts": {"labels": labels}})
    assert references.pods(values, "llm-d-modelservice", "ml") == []


def test_rights_are_those_of_each_namespace():
    text = llm_service("  baseRefs: [{name: base}]\n  router: {scheduler: {config: {ref: {name: epp}}}}")
    configs = {"apiGroups": ["serving.kserve.io"], "resources": ["llminferenceserviceconfigs"], "verbs": ["get"]}
    settings = {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["inferenceservice-config"],
        "verbs": ["get"],
    }
    assert (
        references.rights(read(text), None, "default")
        == {
            "kserve": [settings, configs],
            "ml": [
                {**settings, "resourceNames": ["epp"]},
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
                {**configs, "resources": ["llminferenceservices"]},
                configs,
            ],
        }
        or references.rights(read(text), None, "default")["ml"]
    )


AIM = "aim.eai.amd.com"
AIM_SERVICE = f"""
apiVersion: {AIM}/v1alpha1
kind: AIMService
metadata: {{name: chat, namespace: ml}}
spec: {{model: {{name: llama}}, template: {{name: fast}}}}
status: {{resolvedTemplate: {{name: faster}}, cache: {{templateCacheRef: {{name: warm}}}}}}
"""


def of_aim(kind, *names):
    """Return the places of objects of a kind, in the namespace of the service and in the whole cluster."""
    return [
        ObjectReference(
            (
                ObjectPlace(f"{AIM}/v1alpha1/AIM{kind}", "ml", name),
                ObjectPlace(f"{AIM}/v1alpha1/AIMCluster{kind}", "", name),
            )
        )
        for name in names
    ]


def test_an_aim_service_refers_to_model_templates_and_both_runtime_configs():
    (model,) = of_aim("Model", "llama")
    configs = [
        ObjectReference((ObjectPlace(f"{AIM}/v1alpha1/AIMRuntimeConfig", "ml", "default"),), optional=True),
        ObjectReference(
            (ObjectPlace(f"{AIM}/v1alpha1/AIMClusterRuntimeConfig", "", "default"),), optional=True, empty=True
        ),
    ]
    cache = ObjectReference((ObjectPlace(f"{AIM}/v1alpha1/AIMTemplateCache", "ml", "warm"),))
    assert references.open_references(read(AIM_SERVICE), "default") == [
        model, *of_aim("ServiceTemplate", "fast", "faster"), *configs, cache
    ]  # fmt: skip
    cluster_template = AIM_SERVICE.replace("AIMService", "AIMClusterServiceTemplate").replace("chat", "fast")
    cluster_template = cluster_template.replace(", namespace: ml", "").replace("model: {name: llama}", "modelName: phi")
    open_references = references.open_references(read(AIM_SERVICE, cluster_template), "default")
    assert open_references == [
        model,
        *of_aim("ServiceTemplate", "faster"),
        *configs,
        cache,
        ObjectReference((ObjectPlace(f"{AIM}/v1alpha1/AIMClusterModel", "", "phi"),), optional=True),
    ]


def test_the_artifacts_of_a_cache_and_the_status_of_objects_without_a_namespace_are_read():
    cache = f"apiVersion: {AIM}/v1alpha1\nkind: AIMTemplateCache\nmetadata: {{name: warm, namespace: ml}}\n"
    cache += "status: {artifacts: {llama: {name: llama-weights}, phi: {name: phi-weights}}}\n"
    assert references.open_references(read(cache), "default") == [
        ObjectReference((ObjectPlace(f"{AIM}/v1alpha1/AIMArtifact", "ml", f"{name}-weights"),))
        for name in ("llama", "phi")
    ]
    model = f"apiVersion: {AIM}/v1alpha1\nkind: AIMClusterModel\nmetadata: {{name: llama}}\n"
    place = ObjectPlace(f"{AIM}/v1alpha1/AIMClusterModel", "", "llama")
    assert list(references.without_status(read(cache, model), "default")) == [(1, place)]


def test_objects_of_the_whole_cluster_need_rights_in_it():
    rights = references.rights(read(AIM_SERVICE), None, "default")
    assert rights.keys() == {"", "ml"}
    resources = {place: {name for rule in rules for name in rule["resources"]} for place, rules in rights.items()}
    assert resources[""] == {"aimclustermodels", "aimclusterservicetemplates", "aimclusterruntimeconfigs"}
    assert resources["ml"] == {
        *("pods", "aimmodels", "aimservicetemplates", "aimruntimeconfigs"),
        *("aimtemplatecaches", "aimartifacts"),
    }
    assert {verb for rules in rights.values() for rule in rules for verb in rule["verbs"]} == {"get", "list"}


def test_each_kind_of_the_table_makes_services_or_is_beside_them():
    known = {*conversion.kinds(), *conversion.chart_names(), *conversion.understood_kinds()}
    assert references.kinds() <= known
