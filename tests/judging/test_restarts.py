"""Services that a run restarts, as Pulumi's state shows it, and what waits for them."""

import copy
from dataclasses import replace

import pytest

from judging import restarts
from judging.losses.continuity import Continuity
from manifests.assembly import objects, render
from models.load import load
from models.trees import EMPTY
from planning.ground import parts, turns
from planning.ground.cluster_facts import FieldOwner, LiveObject, LiveObjects, Unknown
from planning.ground.order import Id
from planning.ground.recorded import NOTHING_RECORDED, Recorded, RecordedObject
from tests.support.stacks import plan, tree

UNREAD = Unknown("no answer")
GROUPS = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}}
SERVICES = {
    "bert": {},
    "chat": {"canary": {"weight": 10}},
    "large": GROUPS,
    "pair": {"prefill": {}},
    "qwen": {"replicas": 3, "endpointPicker": {"replicas": 2}},
}
OTHER = {"engine": {"maxNumSeqs": 8}}


def stack(limit=1, order=(), **services):
    return tree(**services) | {"upgrades": {"atOnce": limit, "order": [*order]}}


def changed(**changes):
    """Return the services, some of them with other words; None removes a service."""
    found = {key: {**SERVICES.get(key, {}), **(changes.get(key) or {})} for key in {**SERVICES, **changes}}
    return {key: service for key, service in found.items() if changes.get(key, {}) is not None}


def status(manifest):
    """Return the status of a workload whose pods are ready, or of pickers of which one leads."""
    number = manifest["spec"].get("replicas", 1)
    ready = 1 if manifest["metadata"]["name"].endswith("-epp") else number
    return {"updatedReplicas": number, "readyReplicas": ready}


def recorded(tree, **contents):
    """Return Pulumi's state of a deployed stack; `contents` change the content of workloads, by name."""
    found = []
    for component in render(plan(tree)):
        for item in component.objects:
            content = EMPTY
            if item.place[1] in {"Deployment", "LeaderWorkerSet"}:
                live = copy.deepcopy(dict(item.manifest)) | {"status": status(item.manifest)}
                content = live | {"__inputs": item.manifest} | contents.get(item.place[3].replace("-", "_"), {})
            identity = component.identity(item)
            urn = f"urn:pulumi:dev::p::{identity.component}${identity.type}::{identity.name}"
            found.append(RecordedObject(urn, identity, item.place, "1", content))
    return Recorded(tuple(found))


def continuity(state, aliases=None):
    return Continuity(state, aliases or {}, owner=plan(tree()).identity)


def restarting(after, state, live=UNREAD, aliases=None):
    planned = plan(after)
    compared = continuity(state, aliases)
    return restarts.order(render(planned), planned, compared, live, load(after).stack.upgrades).services


BEFORE = recorded(stack(**SERVICES))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ()),
        ({"bert": OTHER}, ("bert",)),
        ({"large": OTHER}, ("large",)),
        ({"pair": OTHER}, ("pair",)),
        ({"chat": {"canary": {"weight": 10, **OTHER}}}, ("chat",)),
        ({"qwen": {"endpointPicker": {"replicas": 2, "scorerWeights": {"queue-scorer": 7}}}}, ("qwen",)),
        ({"pair": {"kvCache": {"blockSize": 128}}}, ("pair",)),
        ({"bert": {"prefill": {}}}, ("bert",)),
        ({"bert": GROUPS}, ("bert",)),
        ({"bert": {"name": "other"}}, ("bert",)),
        ({"bert": {"replicas": 4}}, ()),
        ({"chat": {"canary": {"weight": 50}}}, ()),
        ({"bert": {"canary": {"weight": 10}}}, ()),
        ({"bert": {"route": {"matches": [{"path": "/other"}]}}}, ()),
        ({"new": {}}, ()),
        ({"bert": None}, ()),
        (dict.fromkeys(SERVICES, OTHER), ("bert", "chat", "large", "pair", "qwen")),
    ],
)
def test_services_restart_of_which_pods_are_replaced(changes, expected):
    assert restarting(stack(**changed(**changes)), BEFORE) == expected


def test_nothing_restarts_in_a_first_run():
    assert restarting(stack(**SERVICES), NOTHING_RECORDED) == ()


def test_without_the_word_no_service_has_a_turn():
    after = tree(**changed(bert=OTHER))
    assert restarting(after, BEFORE) == ()


def test_every_service_has_a_turn_if_the_state_is_unknown():
    planned = plan(tree(**SERVICES))
    upgrades = load(stack(**SERVICES)).stack.upgrades
    assert restarts.order(render(planned), planned, Continuity(), UNREAD, upgrades).services == (*SERVICES,)


@pytest.mark.parametrize("left", [{"updatedReplicas": 2, "readyReplicas": 3}, {"updatedReplicas": 3}, {}])
def test_a_service_that_an_earlier_run_left_unready_has_a_turn(left):
    before = recorded(stack(**SERVICES), qwen_decode={"status": left})
    assert restarting(stack(**SERVICES), before) == ("qwen",)


def test_pickers_without_a_leader_have_a_turn():
    before = recorded(stack(**SERVICES), qwen_epp={"status": {"updatedReplicas": 2}})
    assert restarting(stack(**SERVICES), before) == ("qwen",)


def test_fields_that_the_api_server_adds_restart_nothing():
    (item,) = [item for item in objects(render(plan(tree(**SERVICES)))) if item.place[3] == "bert-decode"]
    spec = copy.deepcopy(dict(item.manifest["spec"]))
    spec["template"]["spec"]["dnsPolicy"] = "ClusterFirst"
    assert restarting(stack(**SERVICES), recorded(stack(**SERVICES), bert_decode={"spec": spec})) == ()


def test_a_state_without_what_was_sent_is_compared_as_it_is():
    before = recorded(stack(**SERVICES))
    plain = [
        replace(each, content={key: value for key, value in each.content.items() if key != "__inputs"})
        for each in before.objects
    ]
    assert restarting(stack(**SERVICES), Recorded(tuple(plain))) == ()
    assert restarting(stack(**changed(bert=OTHER)), Recorded(tuple(plain))) == ("bert",)


def test_an_object_that_the_state_has_under_another_name_is_found_by_its_alias():
    before = recorded(stack(**SERVICES))
    moved = {each.identity.name: replace(each, identity=each.identity._replace(name="x")) for each in before.objects}
    after = stack(**changed(bert=OTHER))
    aliases = {item.id: moved[name].urn for name, item in named(after).items() if name in moved}
    assert restarting(after, Recorded(tuple(moved.values()))) == ()
    assert restarting(after, Recorded(tuple(moved.values())), aliases=aliases) == ("bert",)


def named(tree):
    return {component.identity(item).name: item for component in render(plan(tree)) for item in component.objects}


def test_a_workload_of_which_a_run_takes_back_additions_has_a_turn():
    (item,) = [item for item in objects(render(plan(tree(**SERVICES)))) if item.place[3] == "bert-decode"]
    content = copy.deepcopy(dict(item.manifest))
    (container,) = content["spec"]["template"]["spec"]["containers"]
    container["args"] = [*container["args"], "--other"]
    owner = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"vllm"}': {"f:args": {}}}}}}}
    live = LiveObjects({item.place: LiveObject(content, (FieldOwner("kubectl-patch", "today", owner),))})
    assert restarting(stack(**SERVICES), BEFORE, live) == ("bert",)
    assert restarting(stack(**SERVICES), BEFORE, LiveObjects({})) == ()


def chained(after, run):
    planned = plan(after)
    return restarts.chain(render(planned), planned, run)


def pods(key, *canary):
    """Return the ids of what a service has pods of."""
    owners = (key, *canary)
    return {Id(owner, part) for owner in owners for part in (parts.DECODE.workload, parts.PICKER)}


def test_every_object_of_a_service_waits_for_the_pods_of_those_before_it():
    after = stack(**SERVICES)
    run = turns.of(("bert", "chat", "qwen"), load(stack(1, ["chat", "qwen"], **SERVICES)).stack.upgrades)
    plain = {item.id: set(item.after) for item in objects(render(plan(after)))}
    waiting = {item.id: set(item.after) - plain[item.id] for item in objects(chained(after, run))}
    routing = {item.id for item in chained(after, run)[-1].objects}
    for object_id, earlier in waiting.items():
        match object_id.owner:
            case "qwen" if object_id not in routing:
                assert earlier == pods("chat", "chat.canary")
            case "bert" if object_id not in routing:
                assert earlier == pods("qwen")
            case _:
                assert earlier == set()


@pytest.mark.parametrize("limit", [1, 2, 9])
def test_objects_are_registered_after_those_that_they_wait_for(limit):
    after = stack(limit, ["qwen", "pair", "bert"], **SERVICES)
    run = turns.of((*SERVICES,), load(after).stack.upgrades)
    seen = set()
    for item in objects(chained(after, run)):
        assert seen.issuperset(item.after)
        seen.add(item.id)
    assert seen == {item.id for item in objects(render(plan(after)))}


def test_without_turns_components_stay_as_they_are():
    after = stack(**SERVICES)
    assert chained(after, turns.of((), load(after).stack.upgrades)) == render(plan(after))
    assert chained(after, turns.SIDE_BY_SIDE) == render(plan(after))


def test_turns_change_no_object():
    after = stack(**SERVICES)
    run = turns.of((*SERVICES,), load(after).stack.upgrades)
    plain = {item.id: replace(item, after=()) for item in objects(render(plan(after)))}
    assert {item.id: replace(item, after=()) for item in objects(chained(after, run))} == plain
