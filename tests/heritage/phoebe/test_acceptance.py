"""The checklist of phoebe's interceptor, point by point, for what a stack renders."""

import itertools

import pytest

from judging import validation
from manifests.assembly import objects, render
from models.problems import ConfigError
from planning.interceptor.resolution import resolve
from tests.contracts.invariants.trees import over
from tests.support.stacks import exactly, plan, rendered
from tests.support.stacks.otterscale import kind
from tests.support.stacks.varied_metering import METERED, metered


def test_8_6_and_8_7_each_id_is_that_of_one_service_which_the_interceptor_resolves():
    """See phoebe 8.6, 8.7, 7.1, 7.2."""
    stack = metered(
        qwen={"interceptor": {"resourceId": "chat-7f3a"}}, bert={}, free={"interceptor": {"enabled": False}}
    )
    stack["services"]["free"]["canary"] = {"weight": 10}
    services = kind(rendered(stack), "Service")
    for identity, name in (("chat-7f3a", "qwen"), ("bert", "bert")):
        assert resolve(services, identity, "models") == f"http://{name}.models.svc.cluster.local:8000"
        spec = exactly(services, "Service", name)["spec"]
        assert spec["type"] == "ClusterIP"
        assert [(each["name"], each["targetPort"]) for each in spec["ports"]] == [("8000", 8000)]
    carrying = [each for each in services if "saturncloud.io/service-type" in each["metadata"]["labels"]]
    assert len(carrying) == 2


@pytest.mark.parametrize("key", ["strategy", "layout", "conventionTemplate", "defaultUpstream"])
def test_8_12_what_guesses_addresses_is_no_word_of_a_stack(key):
    """See phoebe 8.12, 3.8."""
    stack = metered()
    stack["interceptor"][key] = "chain"
    with pytest.raises(ConfigError, match=rf"interceptor\.{key}: unknown key"):
        plan(stack)


@pytest.mark.parametrize("stack", METERED.values(), ids=METERED)
def test_all_objects_fit_the_schemas_of_their_kinds(stack):
    """See phoebe 1.9."""
    validation.check(objects(render(plan(stack))))
    changed = over(stack, {"labels": {"other": "label"}})
    pairs = zip(rendered(stack), rendered(changed), strict=True)
    assert all(itertools.starmap(lambda item, other: item["metadata"]["name"] == other["metadata"]["name"], pairs))
