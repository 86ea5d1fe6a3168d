"""Rules of the API server in what a patch makes of an object."""

from judging import server_rules


def deployment(**container):
    spec = {"containers": [{"name": "vllm", **container}]}
    return {"kind": "Deployment", "metadata": {}, "spec": {"template": {"spec": spec}}}


def told(manifest):
    return [str(problem) for problem in server_rules.problems(manifest)]


def test_a_variable_without_nul_and_amounts_below_their_limits_are_fine():
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    assert told(deployment(env=[{"name": "A", "value": "a"}], resources=resources)) == []


def test_a_variable_with_a_nul_is_reported_at_its_value():
    (line,) = told(deployment(env=[{"name": "A", "value": "a\0"}]))
    assert line.startswith("spec.template.spec.containers[0].env[0].value: has a NUL character")


def test_a_request_above_its_limit_is_reported():
    (line,) = told(deployment(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}))
    assert line.startswith("spec.template.spec.containers[0].resources")


def test_metrics_and_behaviour_of_an_autoscaler_are_reported_where_they_stand():
    spec = {"metrics": [{"type": "Resources"}], "behavior": {"scaleUp": {"selectPolicy": "Most"}}}
    behavior, metric = told({"kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": spec})
    assert behavior.startswith("spec.behavior.scaleUp.selectPolicy: is not known to Kubernetes (Most)")
    assert metric.startswith("spec.metrics[0].type: is not known to Kubernetes (Resources)")
