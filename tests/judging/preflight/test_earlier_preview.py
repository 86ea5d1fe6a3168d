"""Facts beside those of an approved preview."""

from judging.preflight import earlier_preview
from planning.ground.cluster_facts import ClusterFacts, Served, Unknown
from planning.ground.inventory import Metered, MeteredService
from planning.ground.marks import Mark
from planning.ground.needs import Needs
from tests.support.stacks import NAME, plan, tree

METERED = tree(qwen={"interceptor": {"resourceId": "chat"}}, bert={"interceptor": {"enabled": False}}) | {
    "interceptor": {"mode": "label", "namespace": "metering"}
}


def holder(name, resource_id="chat", namespace="models", **fields):
    return MeteredService(namespace, name, resource_id, **{"service_type": "internal", **fields})


def test_metered_services_that_changed_since_a_preview_are_told_and_those_of_the_stack_are_not():
    def reading(*services):
        return ClusterFacts(Served(frozenset()), metered=Metered(services))

    needs, identity, ours = Needs(metered=frozenset({"models"})), plan(METERED).identity, Mark(stack=str(NAME))
    others = holder("elsewhere", namespace="elsewhere"), holder("qwen", mark=ours)
    assert list(earlier_preview.judge(reading(), reading(*others), needs, identity)) == []
    (line,) = map(str, earlier_preview.judge(reading(), reading(holder("twin"), *others), needs, identity))
    assert "the cluster has changed since this file was written (metered: " in line
    assert "twin" in line
    unread = ClusterFacts(Unknown("no answer"))
    (line,) = map(str, earlier_preview.judge(unread, reading(), needs, identity))
    assert line.startswith("inference-stacks:previewed: no answer; name a file")
    assert list(earlier_preview.judge(reading(), unread, needs, identity)) == []
