"""Objects of Pulumi's state that keep their place in the cluster, whatever their logical names become."""

from judging.losses import matching
from judging.losses.matching import PlannedObject
from planning.ground.cluster_facts import LiveObject, LiveObjects, Unknown
from planning.ground.recorded import Recorded, RecordedIdentity, RecordedObject

COMPONENT = "inference-stacks:index:ModelServiceStack"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
PROVIDER = "pulumi:providers:kubernetes"
STACK = "inference-stacks:index:InferenceStack"


def place(name, namespace="models"):
    return "apps", "Deployment", namespace, name


def identity(name):
    return RecordedIdentity(COMPONENT, DEPLOYMENT, name)


def recorded(name, at, uid="1"):
    return RecordedObject(f"urn:pulumi:dev::p::{COMPONENT}${DEPLOYMENT}::{name}", identity(name), at, uid)


def live(at, uid):
    return LiveObjects({at: LiveObject({"metadata": {"uid": uid}})})


def test_an_object_is_matched_by_its_identity_and_stays_if_its_place_is_the_same():
    state = Recorded((recorded("qwen-decode", place("qwen-decode")), recorded("bert-decode", place("bert-decode"))))
    planned = [
        PlannedObject(identity("qwen-decode"), place("qwen-decode")),
        PlannedObject(identity("bert-decode"), place("bert-decode", "other")),
    ]
    matches = matching.match(planned, state)
    assert matches.by_identity == {item.identity: item for item in state.objects}
    assert matches.by_place == {}
    assert matches.staying == {state.objects[0].urn}


def test_an_object_with_another_logical_name_is_matched_by_its_place():
    state = Recorded((recorded("qwen-decode", place("qwen-decode")),))
    matches = matching.match([PlannedObject(identity("chat-decode"), place("qwen-decode"))], state)
    assert matches.by_place == {identity("chat-decode"): state.objects[0]}
    assert matches.staying == {state.objects[0].urn}


def test_names_that_two_services_swap_are_not_matched_by_place():
    state = Recorded((recorded("a-decode", place("a-decode")), recorded("b-decode", place("b-decode"))))
    planned = [
        PlannedObject(identity("a-decode"), place("b-decode")),
        PlannedObject(identity("b-decode"), place("a-decode")),
    ]
    matches = matching.match(planned, state)
    assert (matches.by_place, matches.staying) == ({}, frozenset())


def test_matches_by_place_count_only_in_the_cluster_that_has_the_object():
    at = place("qwen-decode")
    matches = matching.match([PlannedObject(identity("chat-decode"), at)], Recorded((recorded("qwen-decode", at),)))
    assert matching.in_cluster(matches, live(at, "1")) == matches
    for elsewhere in (live(at, "2"), LiveObjects({}), Unknown("it was not read")):
        assert matching.in_cluster(matches, elsewhere).by_place == {}


def test_a_provider_keeps_its_urn_by_its_name_or_by_the_names_of_the_objects():
    urns = {name: f"urn:pulumi:dev::p::{STACK}${PROVIDER}::{name}" for name in ("cluster", "old-cluster")}
    state = Recorded(
        (recorded("old-qwen-decode", place("qwen-decode")),), providers=dict.fromkeys(urns.values(), "edge")
    )
    matches = matching.match([PlannedObject(identity("new-qwen-decode"), place("qwen-decode"))], state)
    assert matching.provider_alias(matches, state, "cluster", "") == urns["cluster"]
    assert matching.provider_alias(matches, state, "new-cluster", "new-") == urns["old-cluster"]
    nothing = matching.match([], state)
    assert matching.provider_alias(nothing, state, "new-cluster", "new-") is None
