"""The component of a service has what a preview shows of it as inputs, and the serving objects as its children."""

from google.protobuf.json_format import MessageToDict

from tests.support.program import run_whole
from tests.support.stacks import plan, tree


def test_a_service_is_a_component_with_its_variants_below_it():
    stack = tree(qwen={"canary": {"weight": 10}})
    requests = run_whole(stack).requests
    ((urn, request),) = [item for item in requests.items() if item[1].type.endswith(":ModelServiceStack")]
    assert request.name == "qwen"
    assert MessageToDict(request.object) == plan(stack).services[0].preview_inputs()
    children = {child.name for child in requests.values() if child.parent == urn}
    assert children == {"qwen-decode", "qwen-service", "qwen-canary-decode", "qwen-canary-service"}
