"""Resources of the engine's container: devices, and how a given request or limit moves the other default."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.stacks import find, rendered, tree


def engine(**service):
    return find(rendered(tree(qwen=service)), "Deployment", "qwen-decode")["spec"]["template"]["spec"]["containers"][0]


@given(st.integers(1, 16), st.integers(1, 16))
def test_devices_of_a_pod_are_tensor_times_data(tensor, data):
    resources = engine(parallelism={"tensor": tensor, "data": data})["resources"]
    assert resources["requests"]["nvidia.com/gpu"] == resources["limits"]["nvidia.com/gpu"] == str(tensor * data)


def test_a_limit_below_the_default_request_lowers_it_and_a_request_above_the_default_limit_raises_that():
    assert engine(resources={"limits": {"memory": "16Gi"}})["resources"]["requests"]["memory"] == "16Gi"
    assert engine(resources={"requests": {"memory": "64Gi"}})["resources"]["limits"]["memory"] == "64Gi"
