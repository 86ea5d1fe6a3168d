"""Requests and limits of a picker follow from its traffic."""

import pytest

from tests.support.stacks import find, rendered, tree


def stack(release="llm-d-0.10", service=None, **picker):
    return tree(qwen={"endpointPicker": picker, **(service or {})}) | {"release": release}


def deployment(service=None, **picker):
    return find(rendered(stack(service=service, **picker)), "Deployment", "qwen-epp")


def containers(**picker):
    return {
        container["name"]: container for container in deployment(**picker)["spec"]["template"]["spec"]["containers"]
    }


@pytest.mark.parametrize(
    ("traffic", "cpu", "memory"),
    [
        ({"requestsPerSecond": 1}, "2", "3Gi"),
        ({"requestsPerSecond": 50, "inputTokens": 100_000}, "52", "6Gi"),
        ({"requestsPerSecond": 50, "inputTokens": 100_000, "outputTokens": 5000}, "52", "20Gi"),
        ({"requestsPerSecond": 0.1, "inputTokens": 100, "outputTokens": 1}, "2", "3Gi"),
    ],
)
def test_a_picker_has_what_its_traffic_takes(traffic, cpu, memory):
    """The third has what upstream says that such traffic takes: up to a core for each request, and 20 GiB."""
    resources = containers(traffic=traffic)["epp"]["resources"]
    assert resources == {
        "requests": {"cpu": cpu, "memory": memory},
        "limits": {"memory": f"{2 * int(memory.removesuffix('Gi'))}Gi"},
    }


def test_a_picker_has_the_cores_to_read_the_metrics_of_its_pool():
    """A hundred pods take 7.5 cores while no request arrives, as upstream measured."""
    idle = {"requestsPerSecond": 0.001, "inputTokens": 1}
    resources = deployment({"replicas": 60, "prefill": {"replicas": 40}}, traffic=idle)
    assert resources["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "9"


@pytest.mark.parametrize(
    ("waiting", "memory"),
    [
        (None, "3Gi"),
        ({}, "3Gi"),
        ({"priorityBands": [{"priority": 1}, {"priority": 2}]}, "5Gi"),
        ({"priorityBands": [{"priority": 1, "maxBytes": "10Gi"}]}, "13Gi"),
        ({"maxBytes": "10Gi", "priorityBands": [{"priority": 1}]}, "13Gi"),
    ],
)
def test_a_picker_has_the_memory_for_requests_that_wait(waiting, memory):
    more = {} if waiting is None else {"flowControl": waiting}
    requests = containers(traffic={"requestsPerSecond": 1}, **more)["epp"]["resources"]["requests"]
    assert requests["memory"] == memory
