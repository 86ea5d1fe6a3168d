"""An inference stack makes one provider, through which all its objects are registered."""

from tests.support.program import run_whole
from tests.support.stacks import tree


def test_every_object_is_below_the_inference_stack_and_goes_through_its_provider():
    run = run_whole(tree() | {"namespaceOptions": {"create": True}})
    by_name = {request.name: (urn, request) for urn, request in run.requests.items()}
    top, _ = by_name["inference-stack"]
    cluster, provider = by_name["cluster"]
    assert (provider.type, provider.parent) == ("pulumi:providers:kubernetes", top)
    namespace = by_name["namespace-models"][1]
    assert namespace.parent == top
    assert namespace.provider.startswith(cluster)
    objects = [request for request in run.requests.values() if request.custom and request is not provider]
    assert len(objects) > 10
    assert {request.provider.rpartition("::")[0] for request in objects} == {cluster}


def test_the_outputs_name_what_is_awaited_of_each_service():
    run = run_whole(tree())
    assert run.outputs["services"]["qwen"]["namespace"] == "models"
    assert run.urn("Deployment", "qwen-decode") in run.awaited["qwen"]
