import pytest

from models.stack import Stack
from planning.ground.names import CANARY, PRIMARY
from planning.variant import context, roles

QWEN = {"accelerator": "nvidia", "model": {"source": "hf://org/model"}}


def stack(**fields):
    return Stack.model_validate({"release": "llm-d-0.10", "namespace": "models", "services": {"qwen": QWEN}, **fields})


def test_the_owner_of_a_canary_is_no_key_of_a_service():
    assert context.owner("qwen", PRIMARY) == "qwen"
    assert context.owner("qwen", CANARY) == "qwen.canary"


def test_a_service_has_the_gateway_of_its_route_else_that_of_the_stack():
    shared = {"name": "shared", "namespace": "gateways", "provider": "istio"}
    separate = {"name": "own", "namespace": "gateways", "provider": "istio"}
    both = stack(gateway=shared, services={"qwen": QWEN, "own": {**QWEN, "route": {"gateway": separate}}})
    assert context.gateway(both.services["qwen"], both).name == "shared"
    assert context.gateway(both.services["own"], both).name == "own"
    assert context.gateway(stack().services["qwen"], stack()) is None


@pytest.mark.parametrize(
    ("role", "number"),
    [
        ({"replicas": 3}, 3),
        ({"autoscaling": {"type": "hpa", "maxReplicas": 8, "metrics": [{"type": "queue-size", "target": 5}]}}, 8),
    ],
)
def test_a_role_has_at_most_the_replicas_of_its_autoscaler(role, number):
    spec = stack(services={"qwen": {**QWEN, **role}}).services["qwen"]
    assert roles.max_replicas(spec) == number


def test_variants_are_yielded_in_order_each_primary_before_its_canary():
    weighted = {"weight": 10, "accelerator": "nvidia", "model": {"source": "hf://org/other"}}
    both = stack(services={"qwen": {**QWEN, "canary": weighted}, "chat": QWEN})
    places = [str(variant.path) for variant in context.configured_variants(both)]
    assert places == ["services.qwen", "services.qwen.canary", "services.chat"]
