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
    assert list(references.without_status([document], "default")) == [(document, CHAT)]
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


def test_each_kind_of_the_table_makes_services_or_is_beside_them():
    known = {*conversion.kinds(), *conversion.chart_names(), *conversion.understood_kinds()}
    assert references.kinds() <= known
