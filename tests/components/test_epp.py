"""The component of a picker has the image as its input, and the picker's objects as its children."""

from google.protobuf.json_format import MessageToDict

from tests.support.program import run_whole
from tests.support.stacks import plan, tree


def test_the_picker_of_each_variant_is_a_component_with_its_image():
    stack = tree(qwen={"canary": {"weight": 10}})
    requests = run_whole(stack).requests
    pickers = {request.name: urn for urn, request in requests.items() if request.type.endswith(":EPPStack")}
    assert {*pickers} == {"qwen-epp", "qwen-canary-epp"}
    image = plan(stack).services[0].primary.picker.image
    assert MessageToDict(requests[pickers["qwen-epp"]].object) == {"image": image}
    children = {request.name for request in requests.values() if request.parent == pickers["qwen-epp"]}
    assert {"qwen-epp-deployment", "qwen-epp-pool", "qwen-epp-service", "qwen-epp-config"} < children
    assert all(name.startswith("qwen-epp-") for name in children)
