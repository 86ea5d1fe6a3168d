"""The component of routes has the paths of services as inputs, and the routes as its children."""

from google.protobuf.json_format import MessageToDict

from tests.support.program import run_whole
from tests.support.stacks import tree


def test_routes_of_all_services_are_children_of_one_component():
    stack = tree(qwen={}, bert={"route": {"enabled": False}}, gemma={})
    requests = run_whole(stack).requests
    ((urn, request),) = [item for item in requests.items() if item[1].type.endswith(":RoutingStack")]
    assert request.name == "routing"
    assert MessageToDict(request.object) == {"paths": {"qwen": ["/models/qwen"], "gemma": ["/models/gemma"]}}
    assert {child.name for child in requests.values() if child.parent == urn} == {
        "routing-qwen-route",
        "routing-gemma-route",
    }
