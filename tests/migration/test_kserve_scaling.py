"""Replicas of LLMInferenceServices."""

from tests.support.migration import llm_service, objects, places, stack


def test_keda_scales_by_the_triggers_of_thellm_service() -> None:
    """Numbers of a formula are texts in KEDA's objects."""
    spec = """
  model: {uri: "hf://acme/chat"}
  scaling:
    minReplicas: 1
    maxReplicas: 4
    keda:
      pollingInterval: 15
      initialCooldownPeriod: 60
      triggers: [{type: prometheus, name: load, metadata: {serverAddress: "http://p:9090", query: up, threshold: "5"}}]
      fallback: {failureThreshold: 3, replicas: 2}
      advanced: {scalingModifiers: {formula: load + 1, target: "5"}}
"""
    printed = objects(llm_service(spec))
    scaling = stack(printed)["services"]["chat"]["autoscaling"]
    assert scaling["minReplicas"] == 1
    assert scaling["pollingInterval"] == "15s"
    assert scaling["metrics"][0]["spec"]["name"] == "load"
    assert scaling["scalingModifiers"] == {"formula": "load + 1", "target": 5.0}
    assert "spec.scaling.keda.initialCooldownPeriod" in places(printed, "cannot")


def test_an_autoscaler_of_kserves_own_leaves_the_minimum() -> None:
    """Without a metric the number of replicas is fixed. A percentage is no number of replicas."""
    spec = """
  model: {uri: "hf://acme/chat"}
  scaling: {minReplicas: 2, maxReplicas: 8, wva: {hpa: {}}}
  rolloutStrategy: {maxSurge: 1, maxUnavailable: 25%}
"""
    printed = objects(llm_service(spec))
    service = stack(printed)["services"]["chat"]
    assert service["replicas"] == 2
    assert service["rollout"] == {"type": "RollingUpdate", "maxSurge": 1}
    assert "spec.scaling.wva" in places(printed, "cannot")
    assert "spec.rolloutStrategy.maxUnavailable" in places(printed, "cannot")


def test_what_is_not_in_the_file_is_not_lost() -> None:
    """The minimum becomes the number of replicas, and the file names no autoscaler."""
    printed = objects(llm_service('  model: {uri: "hf://acme/chat"}\n  scaling: {minReplicas: 2, maxReplicas: 8}\n'))
    assert places(printed, "cannot") == {"spec.scaling.maxReplicas"}
    assert "spec.scaling.minReplicas" in places(printed, "differs")
