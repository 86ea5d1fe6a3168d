"""The text of a report on a run: goldens for 1, 20 and 200 services, secrets, cuts and mistakes."""

import json
from functools import cache
from pathlib import Path

import pytest

from cli import documents, summary_blocks
from judging.report import events, summary
from judging.report.summary import ComposedStack
from models.load import load
from models.paths import Path as ConfigPath
from models.problems import LogLine, gap
from planning.ground.cluster_facts import NOTHING_READ
from tests.support.events import log, step
from tests.support.reports import H100, SERVICE, made, nodes, stacks
from tests.support.stacks import plan, profiles, tree

GOLDENS = Path("tests/cli/reports")

SCALING = {"type": "hpa", "minReplicas": 2, "maxReplicas": 3, "metrics": [{"type": "cpu", "targetPercent": 80}]}


@cache
def of_services(count):
    """Return the report on a number of services, which is written in each form."""
    return made(*stacks(count), nodes(2 * count, requested=4))


@pytest.mark.parametrize("count", [1, 20, 200])
@pytest.mark.parametrize("form", ["md", "txt"])
def test_the_report_of_services(golden, count, form):
    write = documents.markdown if form == "md" else documents.text
    text = summary_blocks.fitting(of_services(count), write)
    assert len(text) <= summary_blocks.LONGEST
    golden(GOLDENS / f"{count}.{form}", text)


def test_a_report_that_is_too_long_counts_what_it_leaves_out():
    found = made(*stacks(40), nodes(80))
    text = summary_blocks.fitting(found, documents.markdown, 4000)
    assert len(text) <= 4000
    assert "- `…` and 37 more: 6 !, 1 +, 1 -, 29 ~" in text or " more: " in text
    outages = [line for line in found.workloads if line.outage is not None]
    assert f"{len(outages)} outages" in text.splitlines()[0]


def test_no_report_shows_values_of_variables_arguments_and_annotations():
    before = tree(qwen=SERVICE)
    secret = {
        "engine": {
            "args": ["--tokenizer", "hunter2-args", "--download-dir=hunter2-flag"],
            "env": {"WHO": "hunter2-env"},
        },
        "annotations": {"example.com/who": "hunter2-annotation"},
        "pod": {"annotations": {"example.com/pod": "hunter2-pod"}},
    }
    after = tree(qwen={**SERVICE, **secret})
    messages = [("error", "Invalid value: hunter2-args, hunter2-env"), ("warning", "hunter2-flag, hunter2-pod")]
    for pair in ((before, after), (after, before), (None, after), (after, tree(bert=SERVICE))):
        found = made(*pair, nodes(2), *messages)
        text = "".join(summary_blocks.fitting(found, write) for write in (documents.markdown, documents.text))
        assert "hunter2" not in text
        assert "Invalid value" in text
    changed_names = documents.text(tuple(summary_blocks.blocks(made(before, after, nodes(2)), 10)))
    assert "--tokenizer is added, --download-dir is added, variable WHO, annotations of pods" in changed_names


@pytest.mark.parametrize(
    ("replicas", "free", "room"),
    [
        ({"replicas": 2}, 7, "7: **does not fit**: this change takes 8 more at once"),
        ({"replicas": 2}, 8, "8: fits (4 + 4 on `gpu-0`)"),
        ({"autoscaling": SCALING}, 8, "8: fits, but not at the largest number of replicas"),
    ],
)
def test_the_row_of_a_class_says_whether_additional_pods_fit(replicas, free, room):
    service = {key: value for key, value in SERVICE.items() if key != "replicas"} | replicas
    found = made(None, tree(qwen=service), nodes(1, requested=8 - free))
    (row,) = [
        line for line in summary_blocks.fitting(found, documents.markdown).splitlines() if f"| `{H100}` |" in line
    ]
    assert room in row


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (gap(ConfigPath(), "nodes", "it answered 403"), "nodes (it answered 403)"),
        (
            gap(ConfigPath(), "whether it is new", "they refused", ["a", "b"]),
            "whether it is new for a, b (they refused)",
        ),
        (gap(ConfigPath("services", "qwen"), "pods", "no"), "services.qwen: pods (no)"),
    ],
)
def test_checks_that_a_run_could_not_make_are_listed_with_their_reason(problem, text):
    found = made(None, tree(qwen=SERVICE), nodes(1), ("warning", LogLine.write(problem)))
    assert (found.unchecked, found.warnings) == ((text,), ())
    written = documents.text(tuple(summary_blocks.blocks(found, 10)))
    assert f"\nunchecked: {text}\n" in written


def test_the_profile_of_a_service_is_a_line_of_the_report():
    both = {"small": profiles.profile("amd-mi210"), "large": profiles.profile("amd-mi300x", metric="latency")}
    composition = profiles.composed(profiles.stack(both))
    found = summary.summarize(
        events.read(log(tree(qwen=SERVICE), tree(qwen={**SERVICE, "replicas": 3}))),
        ComposedStack(composition.stack, composition.plan, nodes(1)),
    )
    (line,) = [line for line in summary_blocks.fitting(found, documents.text).splitlines() if "profile of" in line]
    assert line.strip() == "profile of qwen: large (optimized, latency, amd-mi300x)"


def test_policies_and_diagnostics_are_said_once_and_without_colours():
    lines = log(None, tree(qwen=SERVICE), ("warning", "<{%fg 3%}>careful<{%reset%}>\n"), ("warning", "careful"))
    violation = {"message": "no digest", "policyName": "pinned", "policyPackName": "p", "enforcementLevel": "mandatory"}
    lines.append(json.dumps({"policyEvent": {**violation, "resourceUrn": "urn:pulumi:prod::p::t::qwen-decode"}}))
    stack = tree(qwen=SERVICE)
    found = summary.summarize(events.read(lines), ComposedStack(load(stack).stack, plan(stack), NOTHING_READ))
    text = documents.text(tuple(summary_blocks.blocks(found, 10)))
    assert "x policy pinned: no digest (qwen-decode)" in text
    assert text.count("careful") == 1


def test_a_violation_of_a_policy_is_one_line_though_its_message_has_two():
    violation = {"message": "Refuses tags.\nDeployment a/b\n  has a tag", "policyName": "pinned", "policyPackName": "p"}
    for level, sign in (("mandatory", "x"), ("advisory", "?")):
        event = {**violation, "enforcementLevel": level, "resourceUrn": "urn:pulumi:prod::p::t::qwen-decode"}
        lines = [*log(None, tree(qwen=SERVICE)), json.dumps({"policyEvent": event})]
        text = documents.text(tuple(summary_blocks.blocks(summary.of_events(events.read(lines)), 10)))
        (line,) = [line for line in text.splitlines() if "pinned" in line or "has a tag" in line]
        assert line.strip() == f"{sign} policy pinned: Refuses tags. Deployment a/b has a tag (qwen-decode)"


def test_a_run_without_an_end_is_said():
    lines = log(None, tree(qwen=SERVICE))[:-1]
    found = summary.of_events(events.read(lines))
    assert "The run stopped early" in documents.text(tuple(summary_blocks.blocks(found, 10)))


@pytest.mark.parametrize(
    "inputs",
    [
        {"metadata": None, "kind": "Deployment"},
        {"metadata": "04da6b54-80e4-46f7-96ec-b56ff0331ba9"},
        {"kind": ["Deployment"], "apiVersion": 1, "metadata": {"name": {}, "namespace": [], "labels": {"a": {}}}},
        {"kind": "HTTPRoute", "spec": {"rules": [[None]], "hostnames": "x"}},
        {"kind": "HTTPRoute", "spec": {"rules": [{"matches": [{"path": 1, "headers": [{}]}], "backendRefs": [{}, 0]}]}},
        {"kind": "Deployment", "spec": {"replicas": 10**400, "template": {"spec": {"containers": "x"}}}},
        {"kind": "Deployment", "spec": {"template": {"spec": {"containers": [{"env": [0], "args": [0, None]}, 1]}}}},
        {"kind": "LeaderWorkerSet", "spec": {"leaderWorkerTemplate": {"size": float("inf"), "workerTemplate": []}}},
    ],
)
@pytest.mark.parametrize("op", ["create", "update", "delete", "refresh", "nonsense"])
def test_objects_of_other_shapes_are_passed_over(inputs, op):
    """See defects H7.

    A preview has any text where it knows no value yet, and an embedding program has resources of other providers.
    """
    state = {"custom": True, "inputs": inputs}
    for old, new in ((state, None), (None, state), (state, {"custom": True, "inputs": {"kind": "Deployment"}})):
        found = events.read([step(op=op, old=old, new=new, detailedDiff={"spec.replicas": {}})])
        stack = tree(qwen=SERVICE)
        made_of = summary.summarize(found, ComposedStack(load(stack).stack, plan(stack), NOTHING_READ))
        assert summary_blocks.fitting(made_of, documents.markdown)


def test_the_cold_start_of_a_service_has_a_timeline_for_each_role_that_differs():
    scaling = {
        "type": "keda",
        "minReplicas": 0,
        "maxReplicas": 2,
        "cooldownPeriod": "3h",
        "metrics": [{"type": "cpu", "targetPercent": 80}],
    }
    flow = {"endpointPicker": {"flowControl": {"defaultRequestTTL": "3h"}}}
    prometheus = {"observability": {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}}
    service = {key: value for key, value in SERVICE.items() if key != "replicas"}
    after = tree(qwen={**service, **flow, "prefill": {"autoscaling": scaling}}) | prometheus
    (line,) = [
        line
        for line in summary_blocks.fitting(made(None, after, nodes(4)), documents.text).splitlines()
        if "cold start of" in line
    ]
    start = "fetch 4480s (weights at 32Mi/s) + load 2840s (10m and the weights at 64Mi/s)"
    wait = "requests wait 10800s (defaultRequestTTL)"
    end = "drain 45s (drainTimeout) · kill after 75s"
    assert line.strip() == (
        f"cold start of qwen: decode: {start} = ready within 7320s · {wait} · {end}; prefill: query 30s "
        f"(pollingInterval) + {start} = awake within 7350s · {wait} · asleep after 10800s (cooldownPeriod) · {end}"
    )


def test_services_with_the_same_cold_start_share_a_line():
    services = dict.fromkeys(("a", "b", "c", "d", "e"), SERVICE)
    services["f"] = {**SERVICE, "drainTimeout": "10m"}
    text = summary_blocks.fitting(made(None, tree(**services), nodes(9)), documents.text)
    starts = [line.partition(": ")[0].strip() for line in text.splitlines() if "cold start of" in line]
    assert starts == ["cold start of a, b, c and 2 more", "cold start of f"]


def test_the_order_of_restarts_is_a_line_if_several_services_restart():
    before = tree(**dict.fromkeys(("bert", "chat", "qwen"), SERVICE)) | {"upgrades": {"atOnce": 2, "order": ["qwen"]}}

    def told(length, *keys):
        other = {key: {**SERVICE, "engine": {"maxNumSeqs": 8}} for key in keys}
        after = {**before, "services": {**before["services"], **tree(**other)["services"]}}
        return documents.text(tuple(summary_blocks.blocks(made(before, after, nodes(8)), length)))

    assert "3 services restart, at most 2 at a time, in this order: qwen, bert, chat\n" in told(10, *before["services"])
    assert "at a time, in this order: qwen, bert and 1 more\n" in told(2, *before["services"])
    assert "at a time" not in told(10, "chat")
