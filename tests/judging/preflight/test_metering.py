"""Resource ids of planned Services beside those of the cluster."""

from judging.preflight.metering import metering, unresolved_ids
from planning.ground.cluster_facts import ClusterFacts, Served, Unknown
from planning.ground.inventory import Metered, MeteredService
from planning.ground.marks import Mark
from tests.support.stacks import NAME, lines, plan, rendered, tree

METERED = tree(qwen={"interceptor": {"resourceId": "chat"}}, bert={"interceptor": {"enabled": False}}) | {
    "interceptor": {"mode": "label", "namespace": "metering"}
}


def beside(*services, mode="strict"):
    """Return the problems of a metered stack beside Services of the cluster."""
    return metering(plan(METERED), ClusterFacts(Served(frozenset()), metered=Metered(services)), mode)


def holder(name, resource_id="chat", namespace="models", **fields):
    return MeteredService(namespace, name, resource_id, **{"service_type": "internal", **fields})


def test_rendered_services_that_the_interceptor_cannot_resolve_are_errors():
    metered = tree(qwen={}) | {"interceptor": {"mode": "label", "namespace": "metering"}}
    services = [manifest for manifest in rendered(metered) if manifest["kind"] == "Service"]
    twice = [*services, *services]
    several = [{**service, "spec": {"ports": [{"port": 1}, {"port": 2}]}} for service in services]
    reasons = {0: services, "no Service has": [], "several Services have": twice, "the Service has neither": several}
    for reason, found in reasons.items():
        problems = lines(unresolved_ids(plan(metered), found), "error")
        assert [line.partition("404: ")[2].startswith(str(reason)) for line in problems] == ([True] if reason else [])


def test_a_resource_id_that_a_service_of_somebody_else_has_is_told_with_its_place():
    twice = "the interceptor would find two Services and answer 404 (chat); choose another id"
    at = "services.qwen.interceptor.resourceId: is also the id of Service models/twin of"
    assert lines(beside(holder("twin")), "error") == [f"{at} somebody else: {twice}"]
    marked = holder("twin", mark=Mark(stack="acme/chat/prod"))
    assert lines(beside(marked), "error") == [f"{at} stack acme/chat/prod: {twice}"]
    assert lines(beside(marked, mode="warn"), "warning") == [f"{at} stack acme/chat/prod: {twice}"]
    assert list(beside(marked, mode="skip")) == []


def test_a_resource_id_of_another_namespace_type_or_name_is_free():
    planned = holder("qwen")
    others = holder("a", namespace="elsewhere"), holder("b", service_type="external"), holder("c", "bert")
    assert list(beside(planned, *others, holder("d", service_type=None))) == []


def test_a_key_that_is_renamed_with_its_id_is_an_error_and_a_name_that_changes_alone_a_warning():
    """See defects U2."""
    ours = Mark(stack=str(NAME))
    (renamed,) = beside(holder("renamed", key="qwen", mark=ours))
    assert (renamed.severity, str(renamed)) == (
        "warning",
        (
            "services.qwen: gets a Service of another name than Service models/renamed, whose address the interceptor "
            "keeps for up to 5 minutes; keep the name, or restart the interceptor's pods after the run; until then "
            "requests are answered 502"
        ),
    )
    (line,) = lines(beside(holder("old", key="old", mark=ours)), "error")
    assert "Service models/old, which is deleted only after the new Service exists" in line
    assert line.endswith("first deploy with another id; deploy with this id when the old Service is gone")


def test_metering_that_could_not_be_read_is_no_problem_of_an_id():
    assert (
        list(metering(plan(METERED), ClusterFacts(Served(frozenset()), metered=Unknown("no answer")), "strict")) == []
    )
