"""The reader of single objects and of selected ones, and what it says of those that it may not read."""

import json
import threading

import pytest

from facts import named_objects
from facts.kubeconfig import KubeAccess
from facts.named_objects import Forbidden
from planning.ground.cluster_facts import Unknown
from tests.support.cluster import loopback
from tests.support.cluster.kubeconfigs import config

CONFIGS = "/apis/serving.kserve.io/v1alpha2/namespaces/{}/llminferenceserviceconfigs/base"
KIND = "serving.kserve.io/v1alpha2/LLMInferenceServiceConfig"
BASE = [(KIND, "ml", "base"), (KIND, "kserve", "base")]
PODS = "/api/v1/namespaces/ml/pods?limit=500&labelSelector=llm-d.ai%2Fmodel%3Dchat%2Crole"
SELECTION = ("v1/Pod", "ml", (("llm-d.ai/model", "chat"), ("role", "")))
SECONDS = 300


@pytest.fixture
def api(patience):
    with loopback.serve({}) as server:
        yield server


def access(server):
    return KubeAccess(json.dumps(config(server.url, {"token": "right"})), None)


def read(server, places=BASE):
    return named_objects.objects(access(server), {"base": places}, SECONDS)["base"]


def listed(server, selection=SELECTION):
    return named_objects.lists(access(server), {"pods": selection}, SECONDS)["pods"]


def test_the_first_place_with_an_object_counts(api):
    assert read(api) is None
    api.answers[CONFIGS.format("kserve")] = {"metadata": {"name": "base", "namespace": "kserve"}}
    assert read(api)["metadata"]["namespace"] == "kserve"
    assert read(api)["kind"] == "LLMInferenceServiceConfig"
    api.answers[CONFIGS.format("ml")] = {"metadata": {"name": "base", "namespace": "ml"}}
    asked = len(api.seen)
    assert read(api)["metadata"]["namespace"] == "ml"
    assert len(api.seen) == asked + 1


def test_a_cluster_scoped_object_has_no_namespace_in_its_path(api):
    api.answers["/apis/a.example/v1/things/base"] = {"metadata": {"name": "base"}}
    assert read(api, [("a.example/v1/Thing", "", "base")])["apiVersion"] == "a.example/v1"


@pytest.mark.parametrize("status", [401, 403])
def test_a_place_that_may_not_be_read_ends_the_search(api, status):
    api.answers[CONFIGS.format("kserve")] = {"metadata": {"name": "base"}}
    api.statuses[CONFIGS.format("ml")] = status
    assert read(api) == Forbidden("get", KIND, "ml", "base")


def test_objects_with_labels_are_one_list_with_their_kind(api):
    api.answers[PODS] = {"items": [{"metadata": {"name": "a"}}]}
    assert listed(api) == [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]
    api.refused.add(PODS)
    assert listed(api) == Forbidden("list", "v1/Pod", "ml", "")


def test_a_kind_that_is_not_served_has_no_objects(api):
    assert listed(api) == []


@pytest.mark.parametrize("answer", [{"items": [{"metadata": {}}]}, {"items": 3}, {}, []])
def test_an_answer_that_is_no_list_of_objects_is_unknown(api, answer):
    api.answers[PODS] = answer
    assert isinstance(listed(api), Unknown)


def test_a_failed_read_is_unknown_and_raises_nothing(api):
    api.statuses[CONFIGS.format("ml")] = 500
    assert isinstance(read(api), Unknown)
    assert isinstance(named_objects.objects(KubeAccess("{", None), {"a": BASE}, SECONDS)["a"], Unknown)


def test_what_does_not_come_in_time_is_unknown(api):
    api.hang = threading.Event()
    answers = named_objects.objects(access(api), {"a": BASE, "b": BASE}, 0.1)
    assert [type(answer) for answer in answers.values()] == [Unknown, Unknown]
