"""Workloads among the objects of a rendering."""

from typing import Any

from migration import renderings

CONTAINER = {"name": "vllm", "image": "ghcr.io/acme/vllm:v1"}
POD = {"metadata": {"labels": {"app": "chat"}}, "spec": {"containers": [{"name": "beside"}, CONTAINER]}}


def workload(kind: str, spec: dict[str, Any], **metadata: Any) -> renderings.RenderedWorkload:
    (only,) = renderings.workloads([{"kind": kind, "metadata": {"name": "chat", **metadata}, "spec": spec}])
    return only


def test_a_deployment_has_pods_with_an_engine() -> None:
    """Labels are those of the pods. Without a number, there is one replica of one pod."""
    deployed = workload("Deployment", {"template": POD}, namespace="ml")
    assert (deployed.replicas, deployed.size, deployed.labels, deployed.engine) == (1, 1, {"app": "chat"}, CONTAINER)
    assert str(deployed) == "Deployment ml/chat"


def test_a_group_has_the_pod_of_its_leader() -> None:
    """Without a leader of its own, all pods of a group are alike."""
    worker = {"spec": {"containers": [{"name": "worker"}]}}
    group = workload("LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": POD}})
    assert (group.replicas, group.size, group.engine) == (2, 4, CONTAINER)
    both = {"size": 4, "leaderTemplate": POD, "workerTemplate": worker}
    assert workload("LeaderWorkerSet", {"leaderWorkerTemplate": both}).engine == CONTAINER


def test_what_a_workload_made_is_none_of_its_own() -> None:
    """A cluster lists the ReplicaSet and the pods of a Deployment too."""
    owners = [{"kind": "Deployment", "name": "chat"}]
    made = {"kind": "ReplicaSet", "metadata": {"name": "chat-1", "ownerReferences": owners}, "spec": {"template": POD}}
    assert list(renderings.workloads([made])) == []
    owners[0]["kind"] = "LLMInferenceService"
    assert len(list(renderings.workloads([made]))) == 1


def test_a_picker_is_no_engine() -> None:
    """KServe names the containers of engine and picker alike."""
    picker = {"name": "main", "args": ["--pool-name", "chat"]}
    assert workload("Deployment", {"template": {"spec": {"containers": [picker]}}}).engine is None
    serving = {"name": "main", "args": ["--port", "8000"]}
    assert workload("Deployment", {"template": {"spec": {"containers": [serving]}}}).engine == serving


def test_a_kind_that_is_no_text_is_that_of_no_workload() -> None:
    """Renderings come from anywhere, and may be broken."""
    broken = [{"kind": ["Deployment"]}, {"kind": {"a": 1}}]
    assert list(renderings.workloads(broken)) == []
    assert list(renderings.other_kinds(broken)) == ["['Deployment']", "{'a': 1}"]
    owners = {"ownerReferences": [{"kind": ["Deployment"]}, "text", None]}
    assert workload("Pod", {"containers": [CONTAINER, None, "text"]}, **owners).engine == CONTAINER


def test_objects_without_pods_are_counted_by_kind() -> None:
    """A document without a kind is none that a cluster knows."""
    kinds = renderings.other_kinds([{"kind": "Service"}, {"kind": "Deployment"}, {}])
    assert list(kinds) == ["Service", "document without a kind"]
