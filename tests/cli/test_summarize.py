"""The report on a run: goldens for 1, 20 and 200 services, secrets, cuts, mistakes and drift."""

import copy
import gc
import json
import runpy
import sys
from dataclasses import replace
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
from planning.ground.inventory import LiveNode, Nodes, Quotas, Requested
from tests.support.events import log
from tests.support.stacks import plan, profiles, tree

H100, GPU = "nvidia-h100-80gb", "nvidia.com/gpu"
LABELS = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
GOLDENS = Path("tests/cli/reports")
MODEL = {"name": "org/model", "source": "kit://registry.example/org/model:v1", "size": "140Gi"}
SERVICE = {"model": MODEL, "accelerator": H100, "parallelism": {"tensor": 4}, "replicas": 2}
SCALING = {"type": "hpa", "minReplicas": 2, "maxReplicas": 3, "metrics": [{"type": "cpu", "targetPercent": 80}]}
MONEY = {
    "prices": {"perDeviceHour": {H100: 4.10}},
    "budgets": {"by": "team", "limits": {"search": {"perMonth": 10000000}}},
    "labels": {"team": "search"},
}


def nodes(count, requested=0):
    found = [
        LiveNode(f"gpu-{number}", LABELS, ready=True, cordoned=False, taints=(), devices={GPU: 8})
        for number in range(count)
    ]
    used = Requested({node.name: {GPU: requested} for node in found})
    return replace(NOTHING_READ, nodes=Nodes(tuple(found)), requested=used, quotas=Quotas(()))


def changed(number, service):
    """Return a service after the change, by its number: an outage, a rolling restart, more replicas, another path."""
    found = copy.deepcopy(service)
    match number % 4:
        case 0:
            found |= {"replicas": 1, "engine": {"image": "registry.example/vllm-openai:v0.22.0"}}
        case 1:
            found["model"]["maxModelLen"] = 65536
        case 2:
            found["replicas"] = 3
        case _:
            found["route"] = {"matches": [{"path": f"/moved/{number}"}]}
    return found


def stacks(count):
    before = {f"model-{number}": {**SERVICE, "replicas": 1 if number % 4 == 0 else 2} for number in range(count)}
    after = {key: changed(number, service) for number, (key, service) in enumerate(before.items())}
    if count > 1:
        before["old"] = SERVICE
        after["new"] = SERVICE
    return tree(**before) | MONEY, tree(**after) | MONEY


def made(before, after, facts, *messages):
    composed = ComposedStack(load(after).stack, plan(after), facts)
    return summary.summarize(events.read(log(before, after, *messages)), composed)


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


def test_the_profile_of_a_service_is_a_line_of_the_report():
    both = {"small": profiles.profile("amd-mi210"), "large": profiles.profile("amd-mi300x", metric="latency")}
    composition = profiles.composed(profiles.stack(both))
    found = summary.summarize(
        events.read(log(tree(qwen=SERVICE), tree(qwen={**SERVICE, "replicas": 3}))),
        ComposedStack(composition.stack, composition.plan, nodes(1)),
    )
    (line,) = [line for line in summary_blocks.fitting(found, documents.text).splitlines() if "profile of" in line]
    assert line.strip() == "profile of qwen: large (optimized, latency, amd-mi300x)"


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


def test_policies_and_diagnostics_are_said_once_and_without_colours():
    lines = log(None, tree(qwen=SERVICE), ("warning", "<{%fg 3%}>careful<{%reset%}>\n"), ("warning", "careful"))
    violation = {"message": "no digest", "policyName": "pinned", "policyPackName": "p", "enforcementLevel": "mandatory"}
    lines.append(json.dumps({"policyEvent": {**violation, "resourceUrn": "urn:pulumi:prod::p::t::qwen-decode"}}))
    stack = tree(qwen=SERVICE)
    found = summary.summarize(events.read(lines), ComposedStack(load(stack).stack, plan(stack), NOTHING_READ))
    text = documents.text(tuple(summary_blocks.blocks(found, 10)))
    assert "x policy pinned: no digest (qwen-decode)" in text
    assert text.count("careful") == 1


def test_a_policy_cannot_pass_for_a_check_that_did_not_run():
    message = LogLine.write(gap(ConfigPath(), "images", "nobody looked"))
    violation = {"message": message, "policyName": "pinned", "policyPackName": "p", "enforcementLevel": "advisory"}
    lines = [*log(None, tree(qwen=SERVICE)), json.dumps({"policyEvent": violation})]
    stack = tree(qwen=SERVICE)
    report = summary.summarize(events.read(lines), ComposedStack(load(stack).stack, plan(stack), NOTHING_READ))
    assert not [line for line in report.unchecked if "images" in line]
    assert [warning.policy for warning in report.warnings] == ["pinned"]


def test_a_run_without_an_end_is_said():
    lines = log(None, tree(qwen=SERVICE))[:-1]
    found = summary.of_events(events.read(lines))
    assert "The run stopped early" in documents.text(tuple(summary_blocks.blocks(found, 10)))


URN = "urn:pulumi:prod::p::kubernetes:apps/v1:Deployment::x"


def step(**changes):
    """Return the line of a step on a Deployment, with other values of its metadata."""
    metadata = {"op": "create", "urn": URN, "type": "kubernetes:apps/v1:Deployment", **changes}
    return json.dumps({"resourcePreEvent": {"metadata": metadata}})


NO_EVENTS = (
    *("{", "[]", "NaN", '"x"', '{"resourcePreEvent": {}}', '{"resourcePreEvent": {"metadata": {"op": 1}}}'),
    *(step(urn={}), step(op=7), step(type=None), step(new={"inputs": "text"}), step(new=[]), step(new={"custom": 1})),
    *(step(diffs=[1]), step(detailedDiff="spec"), '{"diagnosticEvent": {"severity": "error", "message": 1}}'),
    '{"resourcePreEvent": ' + "[" * 100_000,
    '{"summaryEvent": {"x": ' + "[" * 300 + "]" * 300 + "}}",
    r'{"diagnosticEvent": {"severity": "error", "message": "\ud800"}}',
)


@pytest.mark.parametrize("line", NO_EVENTS, ids=map(str, range(len(NO_EVENTS))))
def test_a_line_that_is_no_event_is_named(line):
    with pytest.raises(events.EventError, match="line 2 is no event of the engine"):
        events.read(["{}", line])


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


def test_colour_codes_are_removed_in_one_pass():
    """See defects H7. Time that grows with the square of the length would be minutes here."""
    assert events.plain("<{%fg 1%}>a" * 300_000) == "a" * 300_000
    assert events.plain("<{%" * 300_000) == "<{%" * 300_000
    assert events.plain(" a<{%x<{%y%}>b%}> ") == "ab%}>"


STACK_FILE = """config:
  inference-stacks:stack:
    namespace: models
    services:
      qwen: {model: {name: org/m, source: 'kit://registry.example/m:v1'}, accelerator: nvidia}
"""


def run(capsys, monkeypatch, *arguments):
    """Run the command in this process; return its exit code, output and errors."""
    monkeypatch.setattr(sys, "argv", ["cli", "summarize", *arguments])
    monkeypatch.setattr(gc, "disable", lambda: None)
    with pytest.raises(SystemExit) as end:
        runpy.run_module("cli", run_name="__main__")
    return end.value.code, *capsys.readouterr()


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a stack file and a log, and returns the arguments that name them."""

    def write(lines, text=STACK_FILE):
        (tmp_path / "Pulumi.prod.yaml").write_text(text, encoding="utf-8")
        (tmp_path / "log").write_text("\n".join(lines), encoding="utf-8")
        return str(tmp_path / "Pulumi.prod.yaml"), "--events", str(tmp_path / "log")

    return write


def test_the_command_prints_a_report(capsys, monkeypatch, written):
    code, output, _ = run(capsys, monkeypatch, *written(log(None, tree(qwen={}))))
    assert code == 0
    assert output.startswith("### prod · 1 service changes · +1 nvidia\n")
    code, output, _ = run(capsys, monkeypatch, *written(log(None, tree(qwen={}))), "--format", "text")
    assert output.startswith("prod · 1 service changes · +1 nvidia\n")


QWEN = {"model": {"source": "hf://Qwen/Qwen3-8B", "maxModelLen": 8192}, "accelerator": "nvidia-l40s"}
LONGER = {**QWEN, "model": {**QWEN["model"], "maxModelLen": 32768}}


def test_the_command_says_what_a_change_takes_of_the_room_for_the_cache(capsys, monkeypatch, written):
    def edits(before, after):
        """Return what the report says of the pods of a service that changes, and of its fit."""
        stack = tree(qwen=after)
        text = json.dumps({"config": {"inference-stacks:stack": stack}})
        code, output, _ = run(capsys, monkeypatch, *written(log(tree(qwen=before), stack), text), "--format", "text")
        assert code == 0
        (line,) = [line for line in output.splitlines() if line.startswith("! qwen-decode · ")]
        return line.split(" · ")[1].split(", ")

    taken = "headroom of a device 22.0Gi → 18.6Gi (20 → 5 × 32768 tokens)"
    assert edits(QWEN, LONGER) == ["--max-model-len 8192 → 32768", taken]
    assert edits(LONGER, QWEN) == ["--max-model-len 32768 → 8192"]


def test_a_mistake_that_the_run_has_said_is_reported_and_any_other_ends_the_command(capsys, monkeypatch, written):
    mistaken = STACK_FILE.replace("accelerator", "acelerator")
    event = {"severity": "error", "message": "The configuration is mistaken:\n  - x"}
    code, output, _ = run(capsys, monkeypatch, *written([json.dumps({"diagnosticEvent": event})], mistaken))
    assert (code, "1 error · no service changes" in output, "- `x` - x" in output) == (0, True, True)
    code, output, errors = run(capsys, monkeypatch, *written([], mistaken))
    assert (code, output) == (2, "")
    assert "did you mean accelerator?" in errors
    assert errors.startswith("--events: has neither a step nor an error of a run; ")


@pytest.mark.parametrize("lines", [[], [""], ["{}"], [json.dumps({"summaryEvent": {}})]])
@pytest.mark.parametrize("options", [(), ("--drift",)])
def test_a_log_without_a_run_is_no_report(capsys, monkeypatch, written, lines, options):
    """See defects H7."""
    code, output, errors = run(capsys, monkeypatch, *written(lines), *options)
    remedy = "name the file that pulumi preview --event-log wrote"
    assert (code, output, errors) == (2, "", f"--events: has neither a step nor an error of a run; {remedy}\n")


def test_a_log_that_cannot_be_read_is_named(capsys, monkeypatch, written):
    remedy = "name the file that pulumi preview --event-log wrote"
    code, _, errors = run(capsys, monkeypatch, *written(["{"]))
    assert (code, errors) == (2, f"--events: line 1 is no event of the engine; {remedy}\n")
    stack, option, _ = written([])
    code, _, errors = run(capsys, monkeypatch, stack, option, "absent")
    assert (code, errors) == (2, f"--events: could not be read (FileNotFoundError); {remedy}\n")


def test_drift_ends_with_7_and_its_absence_with_0(capsys, monkeypatch, written):
    metadata = {
        "op": "refresh",
        "urn": "urn:pulumi:prod::p::kubernetes:v1:Service::qwen",
        "type": "kubernetes:v1:Service",
    }
    content = {"custom": True, "inputs": {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "qwen"}}}
    lines = [
        json.dumps({event: {"metadata": {**metadata, "op": op, "old": content, "new": new}}})
        for event, op, new in (("resourcePreEvent", "refresh", content), ("resOutputsEvent", "delete", None))
    ]
    code, output, _ = run(capsys, monkeypatch, *written(lines), "--drift")
    assert (code, output) == (7, "### 1 object changed by hand\n\n- `-` Service qwen is gone\n")
    code, output, _ = run(capsys, monkeypatch, *written(lines[:1]), "--drift")
    assert (code, output) == (0, "### as deployed\n")


LOGS = Path("tests/cli/logs")
"""Logs of engine 3.230 and provider 4.25, without the steps on objects that no report names, and without outputs."""


@pytest.mark.parametrize(
    ("report", "log_of", "drifted"),
    [
        ("change", "change", ()),
        ("mistake", "mistake", ()),
        ("drift", "drift", ("--drift",)),
        ("refresh", "refresh", ("--drift",)),
        ("refreshed", "refresh", ()),
    ],
)
def test_the_report_of_a_log_that_the_engine_wrote(golden, capsys, monkeypatch, report, log_of, drifted):
    arguments = [str(LOGS / "Pulumi.dev.yaml"), "--events", str(LOGS / f"{log_of}.jsonl"), "--format", "text", *drifted]
    code, output, _ = run(capsys, monkeypatch, *arguments)
    assert code == (7 if drifted else 0)
    assert "hunter2" not in output
    golden(GOLDENS / f"{report}.txt", output)
