"""Kinds that the cluster has to serve: what is an error, what is a warning, and what is skipped."""

from judging.preflight import earlier_preview
from judging.preflight.kinds import kinds
from judging.preflight.metering import metering, unresolved_ids
from judging.transition import refused_pools
from planning.ground.cluster_facts import ClusterFacts, LiveObject, LiveObjects, Served, Unknown
from planning.ground.inventory import Metered, MeteredService
from planning.ground.marks import Mark
from planning.ground.needs import Needs
from tests.support.stacks import NAME, lines, plan, rendered, tree

NEEDED = ["inference.networking.k8s.io/v1/InferencePool", "v1/Service"]


def test_a_missing_kind_is_an_error_with_its_bundle_version_and_command():
    verdict = kinds(NEEDED, ClusterFacts(Served(frozenset({"v1/Service"}))), "strict")
    (error,) = lines(verdict, "error")
    assert "inference.networking.k8s.io/v1/InferencePool" in error
    assert "Gateway API Inference Extension v1.5.0: kubectl apply" in error


def test_a_failed_read_is_a_warning_that_says_what_went_unchecked_whatever_the_mode():
    verdict = kinds(NEEDED, ClusterFacts(Unknown("no answer")), "strict")
    assert lines(verdict, "error") == []
    assert lines(verdict, "warning") == [f"whether the cluster serves {', '.join(NEEDED)} went unchecked: no answer"]


def test_the_modes_of_the_check():
    facts = ClusterFacts(Served(frozenset({"v1/Service"})))
    assert len(lines(kinds(NEEDED, facts, "warn"), "warning")) == 1
    assert kinds(NEEDED, facts, "skip") == kinds([], facts, "strict")


def test_a_pool_that_its_gateway_refuses_is_told():
    def saying(*conditions):
        found = {"status": {"parents": [{"conditions": [{"type": kind, **rest} for kind, rest in conditions]}]}}
        return LiveObjects({("inference.networking.k8s.io", "InferencePool", "models", "qwen"): LiveObject(found)})

    refused = {"status": "False", "reason": "InvalidExtensionRef", "message": "no Service qwen-epp"}
    accepted, unknown = {"status": "True"}, {"status": "Unknown"}
    (line,) = lines(refused_pools(saying(("Accepted", accepted), ("ResolvedRefs", refused))), "warning")
    reason = "InvalidExtensionRef: no Service qwen-epp"
    assert line == f"InferencePool models/qwen: the gateway does not accept this pool ({reason})"
    assert (
        list(refused_pools(saying(("Accepted", accepted)))) == list(refused_pools(saying(("Accepted", unknown)))) == []
    )
    assert list(refused_pools(saying())) == list(refused_pools(saying(("Other", refused)))) == []


def test_rendered_services_that_the_interceptor_cannot_resolve_are_errors():
    metered = tree(qwen={}) | {"interceptor": {"mode": "label", "namespace": "metering"}}
    services = [manifest for manifest in rendered(metered) if manifest["kind"] == "Service"]
    twice = [*services, *services]
    several = [{**service, "spec": {"ports": [{"port": 1}, {"port": 2}]}} for service in services]
    reasons = {0: services, "no Service has": [], "several Services have": twice, "the Service has neither": several}
    for reason, found in reasons.items():
        problems = lines(unresolved_ids(plan(metered), found), "error")
        assert [line.partition("404: ")[2].startswith(str(reason)) for line in problems] == ([True] if reason else [])


METERED = tree(qwen={"interceptor": {"resourceId": "chat"}}, bert={"interceptor": {"enabled": False}}) | {
    "interceptor": {"mode": "label", "namespace": "metering"}
}


def beside(*services, mode="strict"):
    """Return the problems of a metered stack beside Services of the cluster."""
    return metering(plan(METERED), ClusterFacts(Served(frozenset()), metered=Metered(services)), mode)


def holder(name, resource_id="chat", namespace="models", **fields):
    return MeteredService(namespace, name, resource_id, **{"service_type": "internal", **fields})


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
