"""The contents of a report on a run: what changes, what pods do meanwhile, and what nobody checked."""

import json
from dataclasses import replace

import pytest

from judging.report import events, summary
from judging.report.summary import ComposedStack
from models.load import load
from models.paths import Path as ConfigPath
from models.problems import LogLine, gap
from planning.ground.cluster_facts import NOTHING_READ
from tests.support.events import log
from tests.support.reports import SERVICE, made, nodes, stacks
from tests.support.stacks import plan, tree


def test_a_change_without_facts_says_what_is_unchecked_and_is_otherwise_the_same():
    nodes_unread = LogLine.write(gap(ConfigPath(), "nodes", "cluster.facts is none"))
    messages = [("warning", nodes_unread), ("warning", "careful")]
    known = made(*stacks(4), nodes(8), messages[1])
    unknown = made(*stacks(4), NOTHING_READ, *messages)
    assert known.unchecked == ()
    assert unknown.unchecked == (
        "nodes with nvidia.com/gpu (cluster.facts is none)",
        "quotas of models (cluster.facts is none)",
        "nodes (cluster.facts is none)",
    )
    without = [replace(each, capacity=known.capacity, unchecked=()) for each in (known, unknown)]
    assert without[0] == without[1]


@pytest.mark.parametrize(
    "message",
    [
        "interceptor.deploy.image: is not a known image, so its support for the mode went unchecked; name a known tag",
        "running pods went unchecked (access was denied), so the next deployment replaces pods: all of them",
        "nodes went unchecked: says a provider",
    ],
)
def test_a_warning_that_says_so_in_other_words_stays_whole(message):
    """See defects R2."""
    found = made(None, tree(qwen=SERVICE), nodes(1), ("warning", message))
    assert (found.unchecked, [warning.message for warning in found.warnings]) == ((), [message])


def test_a_service_without_devices_is_reported_as_any_other():
    before = tree(qwen={"accelerator": "cpu"}, gone={"accelerator": "cpu"})
    after = tree(qwen={"accelerator": "cpu", "engine": {"image": "registry.example/vllm:v0.22.0"}})
    found = made(before, after, nodes(1))
    assert [(line.name, line.mark) for line in found.workloads] == [("qwen-decode", "!"), ("gone-decode", "-")]
    assert (found.capacity.classes, found.before, found.unchecked) == ((), found.after, ())


def test_pods_under_another_name_run_beside_those_that_they_replace():
    before, after = tree(qwen={**SERVICE, "replicas": 1}), tree(qwen={**SERVICE, "replicas": 1, "name": "chat"})
    found = made(before, after, nodes(2))
    (line,), (devices,) = found.workloads, found.capacity.classes
    assert (str(devices.before), str(devices.after), str(devices.peak)) == ("4", "4", "8")
    assert found.before == found.after
    assert line.fate == "replaced under another name · the old pods end when the new ones are ready · about 16 min"
    assert line.outage is None


def test_an_object_that_is_replaced_counts_once():
    before, after = tree(qwen=SERVICE), tree(qwen={**SERVICE, "name": "chat"})
    lines = log(before, after)
    parts = [line.replace("create-replacement", part) for line in lines for part in ("replace", "delete-replaced")]
    composed = ComposedStack(load(after).stack, plan(after), nodes(1))
    alone, whole = (summary.summarize(events.read(found), composed) for found in (lines, [*lines, *parts]))
    assert alone.others["replace"]["Service"] > 0
    assert whole.others == alone.others


def test_a_policy_cannot_pass_for_a_check_that_did_not_run():
    message = LogLine.write(gap(ConfigPath(), "images", "nobody looked"))
    violation = {"message": message, "policyName": "pinned", "policyPackName": "p", "enforcementLevel": "advisory"}
    lines = [*log(None, tree(qwen=SERVICE)), json.dumps({"policyEvent": violation})]
    stack = tree(qwen=SERVICE)
    report = summary.summarize(events.read(lines), ComposedStack(load(stack).stack, plan(stack), NOTHING_READ))
    assert not [line for line in report.unchecked if "images" in line]
    assert [warning.policy for warning in report.warnings] == ["pinned"]


OTHER_LENGTH = {"engine": {"maxNumSeqs": 8}}
OTHER_PICKER = {"endpointPicker": {"scorerWeights": {"queue-scorer": 7}}}


def staged(number, **changes):
    """Return the report on a change of services with surges, of which so many restart at once."""
    surging = {**SERVICE, "rollout": {"type": "RollingUpdate", "maxSurge": 1}}
    before = dict.fromkeys(("bert", "chat", "qwen"), surging) | {"pair": {**surging, "prefill": {}}}
    after = {key: {**service, **changes.get(key, {})} for key, service in before.items()}
    limit = {"upgrades": {"atOnce": number, "order": ["qwen"]}}
    return made(tree(**before) | limit, tree(**after) | limit, nodes(8))


@pytest.mark.parametrize(("number", "peak"), [(1, 40), (2, 44), (3, 48)])
def test_services_that_restart_in_turns_need_devices_for_the_surges_of_some(number, peak):
    found = staged(number, chat=OTHER_LENGTH, qwen=OTHER_LENGTH, bert={**OTHER_LENGTH, **OTHER_PICKER})
    assert (found.turns.at_once, found.turns.services) == (number, ("qwen", "bert", "chat"))
    (devices,) = found.capacity.classes
    assert (devices.before.high, devices.after.high, devices.peak.high) == (36, 36, peak)


def test_pickers_and_generations_take_turns_and_new_services_do_not():
    found = staged(1, chat=OTHER_PICKER, pair={"kvCache": {"blockSize": 128}}, bert={"replicas": 3})
    assert found.turns.services == ("chat", "pair")
    new_for_old = made(tree(old={}) | {"upgrades": {}}, tree(new={}) | {"upgrades": {}}, nodes(1))
    assert new_for_old.turns.services == ()
