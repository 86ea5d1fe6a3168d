"""The merge of LLMInferenceServiceConfigs."""

from typing import Any

from migration import kserve_presets


def _spec(**container: Any) -> dict[str, Any]:
    return {"template": {"containers": [{"name": "main", **container}]}}


def test_a_container_merges_by_its_name() -> None:
    """Keys of the upper layer win, and keys of the lower layer stay."""
    merged = kserve_presets.merge(_spec(image="low", command=["a", "b"]), _spec(image="high"))
    assert merged == _spec(image="high", command=["a", "b"])


def test_a_container_with_another_name_is_added() -> None:
    """A list of a pod's spec is not replaced."""
    merged = kserve_presets.merge(_spec(image="low"), {"template": {"containers": [{"name": "beside"}]}})
    assert [container["name"] for container in merged["template"]["containers"]] == ["main", "beside"]


def test_variables_merge_by_name_and_arguments_are_replaced() -> None:
    """A list without a merge key is one value."""
    low = _spec(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "1"}], args=["--a", "--b"])
    high = _spec(env=[{"name": "B", "value": "2"}], args=["--c"])
    assert kserve_presets.merge(low, high) == _spec(
        env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], args=["--c"]
    )


def test_a_volume_has_one_source() -> None:
    """A volume loses the source of the lower layer if the upper layer has another one."""
    low = {"template": {"volumes": [{"name": "home", "emptyDir": {"sizeLimit": "1Gi"}}]}}
    high = {"template": {"volumes": [{"name": "home", "hostPath": {"path": "/home"}}]}}
    assert kserve_presets.merge(low, high) == high


def test_a_list_outside_a_pod_is_replaced() -> None:
    """Triggers have names, too, but KServe replaces the list."""
    low = {"scaling": {"keda": {"triggers": [{"name": "a", "type": "cpu"}]}}}
    high = {"scaling": {"keda": {"triggers": [{"name": "b", "type": "cpu"}]}}}
    assert kserve_presets.merge(low, high) == high


def test_an_empty_mapping_counts_and_null_does_not() -> None:
    """`router.gateway: {}` asks for a gateway; null is the same as nothing."""
    merged = kserve_presets.merge(
        {"router": {"route": {}}, "replicas": 2}, {"router": {"gateway": {}}, "replicas": None}
    )
    assert merged == {"router": {"route": {}, "gateway": {}}, "replicas": 2}


def test_the_configs_of_a_service_follow_from_what_it_has() -> None:
    """KServe applies configs for traces and each role, in the versions that the status names."""
    spec = {"tracing": {}, "worker": {}, "parallelism": {"data": 2}, "prefill": {"template": {}}}
    assert kserve_presets.implied_configs(spec) == [
        "kserve-config-llm-tracing",
        "kserve-config-llm-prefill-template",
        "kserve-config-llm-decode-worker-data-parallel",
    ]
    pinned = {"serving.kserve.io/config-llm-template": "v0-20-config-llm-template"}
    assert kserve_presets.implied_configs({}, pinned) == ["v0-20-config-llm-template"]
    assert kserve_presets.implied_configs({"worker": {}}) == ["kserve-config-llm-worker-pipeline-parallel"]


def test_texts_get_values_of_the_service() -> None:
    """A text with an action of another kind stays as it is."""
    tree = {"metadata": {"name": "chat", "namespace": "ml"}}
    spec = {
        "model": {"name": "org/chat"},
        "args": ["--name", "{{ .Spec.Model.Name }}", "{{ shutdownTimeout .Spec 15 }}"],
    }
    assert kserve_presets.fill(spec["args"], kserve_presets.values(tree, spec)) == [
        "--name",
        "org/chat",
        "{{ shutdownTimeout .Spec 15 }}",
    ]
