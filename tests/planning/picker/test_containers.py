"""Further containers in the pods of a picker: those of users, and servers of a latency predictor."""

import pytest

from tests.support.stacks import find, rendered, tree

RENDER = {"image": "registry.example/render:v1"}


def stack(release="llm-d-0.10", service=None, **picker):
    return tree(qwen={"endpointPicker": picker, **(service or {})}) | {"release": release}


def deployment(service=None, **picker):
    return find(rendered(stack(service=service, **picker)), "Deployment", "qwen-epp")


def containers(**picker):
    return {
        container["name"]: container for container in deployment(**picker)["spec"]["template"]["spec"]["containers"]
    }


def test_a_further_container_may_gain_no_privileges():
    companions = containers(containers={"render": {**RENDER, "runAsUser": 7}})
    assert [*companions] == ["epp", "render"]
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsUser": 7}
    assert companions["render"] == {
        "name": "render",
        "image": RENDER["image"],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": security,
    }


def test_containers_merge_by_name_whatever_they_are_called():
    inherited = {"endpointPicker": {"containers": {"gateway": {**RENDER, "ports": [8000]}, "patch": RENDER}}}
    service = {"endpointPicker": {"containers": {"gateway": {"args": ["org/m"]}, "patch": None}}}
    everything = rendered(tree(qwen=service) | {"defaults": inherited})
    (_, manifest) = find(everything, "Deployment", "qwen-epp")["spec"]["template"]["spec"]["containers"]
    assert (manifest["name"], manifest["image"], manifest["args"]) == ("gateway", RENDER["image"], ["org/m"])


@pytest.mark.parametrize(("release", "tag"), [("llm-d-0.10", "0.9.0"), ("llm-d-0.9", "0.9.0"), ("llm-d-0.8", "v0.8.0")])
def test_a_predictor_beside_the_picker_has_the_images_of_its_release(release, tag):
    picker = {"preset": "predicted-latency", "latencyPredictor": {"deploy": {}}}
    pod = find(rendered(stack(release, **picker)), "Deployment", "qwen-epp")["spec"]["template"]["spec"]
    by_name = {container["name"]: container for container in pod["containers"]}
    assert [by_name[name]["image"].rpartition(":")[2] for name in ("training-server", "prediction-server")] == [
        tag,
        tag,
    ]
    variables = {variable["name"]: variable.get("value") for variable in by_name["epp"]["env"]}
    assert variables["TRAINING_SERVER_URL"] == "http://localhost:8000"
    assert variables["PREDICTION_SERVER_URL"] == "http://localhost:8001"


def test_a_predictor_that_has_learnt_nothing_does_not_keep_the_picker_from_its_requests():
    companions = containers(preset="predicted-latency", latencyPredictor={"deploy": {}})
    assert "readinessProbe" not in companions["training-server"]
    assert "readinessProbe" not in companions["prediction-server"]
