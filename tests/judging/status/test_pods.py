"""The states of pods, from statuses that real kubelets wrote, and pods in each phase of a healthy life."""

import copy
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from judging.status import evidence, kubelet_texts, pods
from judging.status.evidence import Evidence, Expectation
from judging.status.states import Level
from planning.ground.snapshot import EVENT, NODE, POD, Snapshot
from tests.support import captured_statuses
from tests.support.captured_statuses import stamp

CAPTURED = captured_statuses.ENTRIES
NAMESPACE, POD_NAME = captured_statuses.NAMESPACE, captured_statuses.NAME


def reading(now, events=(), nodes=(captured_statuses.NODE,), unread=(), expected=None):
    return Evidence(
        now,
        {("Pod", NAMESPACE, POD_NAME): list(events)},
        {node["metadata"]["name"]: node for node in nodes},
        dict.fromkeys(unread, "403"),
        expected or {},
    )


@pytest.mark.parametrize(
    "entry", [pytest.param(entry, marks=pytest.mark.states(entry["state"]), id=entry["name"]) for entry in CAPTURED]
)
def test_a_status_of_a_real_kubelet_has_the_state_that_its_source_is_about(entry):
    (finding,) = pods.findings([captured_statuses.pod(entry)], "decode", captured_statuses.reading(entry))
    assert (finding.state.id, finding.role) == (entry["state"], "decode")
    assert finding.since is not None
    assert finding.words
    assert "{" not in finding.words + finding.remedy


def test_every_captured_status_has_its_source():
    assert [entry["name"] for entry in CAPTURED if not entry.get("source")] == []
    assert len({entry["name"] for entry in CAPTURED}) == len(CAPTURED)


def one(name):
    return next(entry for entry in CAPTURED if entry["name"] == name)


WORDS = {
    "an image that needs credentials": (
        "cannot pull nginx211: access is denied",
        "name a Secret with credentials for docker.io in `pod.imagePullSecrets`",
    ),
    "an image that needs credentials, while the kubelet waits": (
        "cannot pull octarinesec/guardrails-enforcer:20.7: access is denied",
        "correct the credentials for docker.io in the Secret registry",
    ),
    "a Secret that lacks a key": (
        "needs the key network in the Secret hcloud, which does not exist",
        "create the key network in the Secret hcloud in the namespace models; the pods start by themselves",
    ),
    "a Secret that a volume needs": (
        "needs the Secret secrets-2.16.4-1, which does not exist",
        "create the Secret secrets-2.16.4-1 in the namespace models; the pods start by themselves",
    ),
    "a ConfigMap that lacks a key": (
        "needs the key template in the ConfigMap chat-template, which does not exist",
        "create the key template in the ConfigMap chat-template in the namespace models; the pods start by themselves",
    ),
    "a container that ended for lack of memory and runs again": (
        "has the container oomkilled, which was killed because it needs more than 48Gi of memory",
        "raise `resources.limits.memory`",
    ),
    "a container that fails again and again": (
        "has the container main, which ended with exit code 1 (an error)",
        f"read its last log: `kubectl logs --previous -n models {POD_NAME} -c main`",
    ),
    "an engine that is killed while it loads": (
        "has not loaded its model within 2 h, and was killed once",
        "raise `health.startupTimeout`, or see in the log what takes so long",
    ),
    "an engine that loads while its startup probe fails": (
        "loads its model for 18 s, and is killed after 2 min",
        "",
    ),
    "a pod that was evicted for lack of disk": (
        (
            "was evicted by its node: The node was low on resource: ephemeral-storage. Container kube-prometheus-stack "
            "was using 19212Ki, which exceeds its request of 0."
        ),
        "raise the requests and limits of what ran out in `resources`, or state `model.size` so that the disk is sized",
    ),
    "a container whose readiness probe fails": (
        'is alive but not ready: "Readiness probe failed: dial tcp 10.244.0.12:8080: connect: connection refused"',
        f"read its log: `kubectl logs -n models {POD_NAME}`",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_and_remedy_say_what_the_kubelet_wrote(name):
    entry = one(name)
    (finding,) = pods.findings([captured_statuses.pod(entry)], "decode", captured_statuses.reading(entry))
    assert (finding.words, finding.remedy) == WORDS[name]


def test_without_events_the_cause_is_not_guessed():
    """Without the events the cause may be another one, so no state is named but that it cannot be told."""
    differing = set()
    for entry in CAPTURED:
        whole = pods.cause(captured_statuses.pod(entry), "decode", captured_statuses.reading(entry))
        partial = pods.cause(captured_statuses.pod(entry), "decode", captured_statuses.reading(entry, unread=(EVENT,)))
        assert partial.state.id in {whole.state.id, "pod-unread"}, entry["name"]
        if partial.state.id != whole.state.id:
            differing.add(entry["state"])
    assert {"image-missing", "secret-missing", "not-ready", "too-slow", "unhealthy"} <= differing


NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
LIMIT = timedelta(seconds=600)
SPEC = {
    "nodeName": "gpu-h100-0",
    "terminationGracePeriodSeconds": 75,
    "initContainers": [
        {"name": "model-fetch", "image": "fetch"},
        {"name": "routing-proxy", "image": "proxy", "restartPolicy": "Always"},
    ],
    "containers": [
        {
            "name": "vllm",
            "image": "vllm",
            "startupProbe": {"periodSeconds": 10, "failureThreshold": 60},
            "livenessProbe": {"periodSeconds": 10},
            "resources": {"limits": {"memory": "48Gi"}},
        }
    ],
}


def ago(seconds):
    return stamp(NOW - timedelta(seconds=seconds))


def pod(*, fetch=None, proxy=None, engine=None, ready="False", age=300, **more):
    """Return a pod whose containers have these statuses; None for a container without one."""
    spec = {**copy.deepcopy(SPEC), **more.pop("spec", {})}
    status = {
        "phase": "Pending",
        "startTime": ago(age - 1),
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(age - 1)},
            {"type": "Ready", "status": ready, "lastTransitionTime": ago(age - 1)},
        ],
        "initContainerStatuses": [
            {"name": name, **entry} for name, entry in (("model-fetch", fetch), ("routing-proxy", proxy)) if entry
        ],
        "containerStatuses": [{"name": "vllm", **engine}] if engine else [],
        **more.pop("status", {}),
    }
    metadata = {
        "name": POD_NAME,
        "namespace": NAMESPACE,
        "creationTimestamp": ago(age),
        "ownerReferences": [{"kind": "ReplicaSet", "name": "qwen-decode-5d4f8b7c9"}],
        **more.pop("metadata", {}),
    }
    return {"metadata": metadata, "spec": spec, "status": status}


def running(seconds, *, started=True, ready=True, **more):
    return {"state": {"running": {"startedAt": ago(seconds)}}, "started": started, "ready": ready, **more}


def ended(code=0, *, ran=(200, 100), reason="Completed", **more):
    state = {"exitCode": code, "reason": reason, "startedAt": ago(ran[0]), "finishedAt": ago(ran[1]), **more}
    return {"terminated": state}


DONE = {"state": ended(), "ready": True, "started": False}
WAITING = {"state": {"waiting": {"reason": "PodInitializing"}}, "ready": False, "started": False}
HEALTHY = {
    "just made": pod(age=2, spec={"nodeName": None}, status={"conditions": [], "startTime": None}),
    "just scheduled": pod(age=2),
    "mounts and pulls": pod(fetch=WAITING, engine=WAITING, age=20),
    "pulls a big image": pod(fetch=WAITING, engine=WAITING, age=900),
    "fetches": pod(fetch=running(240, started=False, ready=False), engine=WAITING, age=300),
    "pulls the proxy": pod(fetch=DONE, proxy=WAITING, engine=WAITING),
    "starts the proxy": pod(fetch=DONE, proxy=running(2, started=False, ready=False), engine=WAITING),
    "pulls the engine": pod(
        fetch=DONE, proxy=running(9), engine={"state": {"waiting": {"reason": "ContainerCreating"}}}
    ),
    "loads": pod(fetch=DONE, proxy=running(99), engine=running(90, started=False, ready=False)),
    "has just loaded": pod(fetch=DONE, proxy=running(99), engine=running(90, ready=False)),
    "loads until the limit": pod(fetch=DONE, proxy=running(600), engine=running(599, started=False, ready=False)),
}


@pytest.mark.parametrize("phase", HEALTHY)
def test_a_pod_in_a_phase_of_a_healthy_life_has_only_normal_states(phase):
    (finding,) = pods.findings([HEALTHY[phase]], "decode", reading(NOW))
    assert finding.level is Level.NORMAL, finding


def test_a_pod_that_is_ready_is_done_or_ends_in_time_has_no_state():
    ready = pod(fetch=DONE, proxy=running(600), engine=running(500), ready="True")
    done = pod(status={"phase": "Succeeded"})
    ending = pod(engine=running(500), ready="True", metadata={"deletionTimestamp": stamp(NOW + timedelta(seconds=40))})
    assert pods.findings([ready, done, ending], "decode", reading(NOW)) == ()


def test_what_is_usual_and_the_limit_are_said_where_they_are_known():
    expected = {(NAMESPACE, "qwen-decode"): Expectation(1, 34 * 2**30, 540, 300)}
    seen = reading(NOW, expected=expected)
    assert pods.cause(HEALTHY["fetches"], "", seen).words == "fetches 34 GiB of weights for 4 min of about 9 min"
    assert pods.cause(HEALTHY["loads"], "", seen).words == (
        "loads its model for 90 s of about 5 min, and is killed after 10 min"
    )
    assert pods.cause(HEALTHY["fetches"], "", reading(NOW)).words == "fetches its weights for 4 min"


def test_a_pod_of_a_set_is_expected_under_the_name_of_its_set():
    label = {"labels": {"leaderworkerset.sigs.k8s.io/name": "qwen-decode"}, "ownerReferences": []}
    leader = pod(fetch=running(60, started=False, ready=False), metadata=label)
    expected = {(NAMESPACE, "qwen-decode"): Expectation(1, 2**30, 120, None)}
    assert "1 GiB of weights for 60 s of about 2 min" in pods.cause(leader, "", reading(NOW, expected=expected)).words


def test_an_engine_that_loads_again_is_to_blame_until_it_comes_further_than_last_time():
    def engine(seconds):
        last = {"lastState": ended(1, ran=(seconds + 130, seconds + 10), reason="Error"), "restartCount": 3}
        return pod(fetch=DONE, proxy=running(600), engine=running(seconds, started=False, ready=False, **last))

    assert [pods.cause(engine(seconds), "", reading(NOW)).state.id for seconds in (5, 119, 121)] == [
        "crash",
        "crash",
        "loading",
    ]


def test_an_engine_that_starts_again_with_its_node_is_not_to_blame():
    last = {"lastState": ended(255, ran=(90000, 300), reason="Unknown"), "restartCount": 1}
    assert (
        pods.cause(
            pod(fetch=DONE, proxy=running(99), engine=running(90, started=False, ready=False, **last)), "", reading(NOW)
        ).state.id
        == "loading"
    )


def test_an_engine_that_ends_when_its_time_is_up_is_too_slow_and_one_that_ends_before_has_crashed():
    """The startup probe allows 600 s here; 75 s more are for the end."""

    def state(seconds, code):
        last = {"lastState": ended(code, ran=(seconds + 30, 30), reason="Error"), "restartCount": 2}
        engine = running(20, started=False, ready=False, **last)
        return pods.cause(pod(fetch=DONE, proxy=running(5), engine=engine), "", reading(NOW)).state.id

    assert [state(seconds, 143) for seconds in (300, 595, 605, 690)] == ["crash", "too-slow", "too-slow", "too-slow"]
    assert state(605, 139) == "crash"
    assert state(5000, 137) == "crash"


def test_an_engine_that_nobody_kills_is_too_slow_long_after_its_limit():
    engine = running(800, started=False, ready=False)
    assert pods.cause(pod(fetch=DONE, proxy=running(900), engine=engine), "", reading(NOW)).state.id == "too-slow"


TOKEN = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"


def test_the_last_line_of_a_crash_is_shown_without_credentials_and_cut():
    text = f"Traceback\n  File x\nRuntimeError: token {TOKEN} was refused\n\n"
    failed = {"state": ended(1, reason="Error", message=text), "restartCount": 1}
    words = pods.cause(pod(fetch=DONE, proxy=running(5), engine=failed), "", reading(NOW)).words
    assert words.endswith('which ended with exit code 1 (an error): "RuntimeError: token … was refused"')
    long = {"state": ended(1, reason="Error", message="x" * 5000), "restartCount": 1}
    assert len(pods.cause(pod(fetch=DONE, proxy=running(5), engine=long), "", reading(NOW)).words) < 300


FETCH_ENDS = {
    "the source has changed since it was locked": "s3://models/qwen is not what the lock of the stack has",
    "there is no space left on the disk": "OSError: [Errno 28] No space left on device",
    "access is denied": "RuntimeError: HuggingFace authentication failed. Set HF_TOKEN or request access.",
    "the source does not exist": "RuntimeError: HuggingFace resource 'org/model' not found.",
    "the source cannot be reached": "RuntimeError: Failed to connect to S3 endpoint 'models'.",
}


@pytest.mark.parametrize("words", FETCH_ENDS)
def test_the_end_of_a_fetch_is_said_in_words(words):
    failed = {"state": ended(1, reason="Error", message=f"Traceback\n{FETCH_ENDS[words]}\n"), "restartCount": 1}
    finding = pods.cause(pod(fetch=failed, engine=WAITING), "", reading(NOW))
    assert (finding.state.id, finding.words.split(": ")[1]) == ("fetch-failed", words)


def test_the_code_in_a_traceback_says_nothing_of_a_fetch():
    code = (
        '  File "/usr/lib/python3.11/concurrent/futures/_base.py", line 401, in __get_result\n    self.get(timeout=1)\n'
    )
    known = kubelet_texts.fetch_failure(f"Traceback\n{code}httpx.ConnectError: [Errno 111] Connection refused")
    assert known is not None
    assert known.words == "the source cannot be reached"
    assert kubelet_texts.fetch_failure(f"Traceback\n{code}KeyError: 'x'") is None


def test_a_pod_of_a_job_fetches_in_its_main_container():
    label = {"labels": {"batch.kubernetes.io/job-name": "fill"}}
    spec = {"initContainers": [], "containers": [{"name": "model-fetch", "image": "fetch"}]}

    def state(status, **more):
        job_pod = pod(
            metadata=label, spec=spec, status={"containerStatuses": [{"name": "model-fetch", **status}], **more}
        )
        found = pods.cause(job_pod, "", reading(NOW))
        return found and found.state.id

    assert state(running(60)) == "fetching"
    assert state({"state": ended(1, reason="Error")}, phase="Failed") == "fetch-failed"
    assert state({"state": ended(137, reason="OOMKilled")}, phase="Failed") == "out-of-memory"
    assert state({"state": ended()}, phase="Succeeded") is None


def test_a_pod_of_a_picker_may_be_unready_for_a_minute_and_then_is_to_blame():
    def state(seconds, events=()):
        spec = {"initContainers": [], "containers": [{"name": "epp", "image": "epp", "readinessProbe": {}}]}
        status = {"containerStatuses": [{"name": "epp", **running(seconds, ready=False)}]}
        return pods.cause(pod(spec=spec, status=status, age=seconds + 2), "", reading(NOW, events)).state.id

    event = {"reason": "Unhealthy", "message": "Readiness probe failed: NOT_SERVING", "lastTimestamp": ago(1)}
    assert [state(59, [event]), state(61, [event]), state(61)] == ["starting", "not-ready", "not-ready"]


def test_a_probe_that_failed_long_ago_is_no_reason():
    loaded = pod(fetch=DONE, proxy=running(99), engine=running(90, ready=False))
    event = {"reason": "Unhealthy", "message": "Liveness probe failed: 500"}
    fresh, old = ({**event, "lastTimestamp": ago(seconds)} for seconds in (10, 600))
    assert pods.cause(loaded, "", reading(NOW, [fresh])).state.id == "unhealthy"
    assert pods.cause(loaded, "", reading(NOW, [old])).state.id == "starting"


def test_a_mount_that_fails_at_first_is_no_reason_yet():
    event = {
        "reason": "FailedMount",
        "message": 'MountVolume.SetUp failed for volume "api-token" : configmap "kube-root-ca.crt" not found',
    }
    seen = reading(NOW, [{**event, "lastTimestamp": ago(1)}])
    assert pods.cause(pod(fetch=WAITING, engine=WAITING, age=30), "", seen).state.id == "starting"
    assert pods.cause(pod(fetch=WAITING, engine=WAITING, age=90), "", seen).state.id == "config-missing"


def test_a_key_that_a_volume_needs_is_named_with_its_secret():
    event = {
        "reason": "FailedMount",
        "message": 'MountVolume.SetUp failed for volume "key" : references non-existent secret key: cosign.pub',
    }
    seen = reading(NOW, [{**event, "lastTimestamp": ago(1)}])
    spec = {"volumes": [{"name": "key", "secret": {"secretName": "cosign"}}]}
    assert pods.cause(pod(fetch=WAITING, engine=WAITING, spec=spec), "", seen).words == (
        "needs the key cosign.pub in the Secret cosign, which does not exist"
    )


def lost_node(ready="Unknown"):
    condition = {
        "type": "Ready",
        "status": ready,
        "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": ago(90),
    }
    return {"metadata": {"name": "gpu-h100-0"}, "status": {"conditions": [condition]}}


def test_a_pod_on_a_node_that_does_not_report_is_lost_whatever_its_containers_say():
    engine = pod(fetch=DONE, proxy=running(600), engine=running(500))
    finding = pods.cause(engine, "", reading(NOW, nodes=[lost_node()]))
    assert (finding.state.id, stamp(finding.since)) == ("node-lost", ago(90))
    assert finding.words == "is on the node gpu-h100-0, which is not ready: Kubelet stopped posting node status."
    gone = pods.cause(engine, "", reading(NOW, nodes=[]))
    assert (gone.state.id, gone.words) == ("node-lost", "is on the node gpu-h100-0, which does not exist any more")
    assert pods.cause(engine, "", reading(NOW, nodes=[], unread=[NODE])).state.id == "pod-unread"
    assert pods.cause(engine, "", reading(NOW)).state.id == "not-ready"


def test_a_pod_that_should_have_ended_is_stuck_and_says_who_holds_it():
    metadata = {"deletionTimestamp": ago(120), "finalizers": ["example.com/hold"]}
    finding = pods.cause(pod(engine=running(900), metadata=metadata), "", reading(NOW))
    assert (finding.state.id, stamp(finding.since)) == ("stuck-ending", ago(120))
    assert finding.words == "should have ended 2 min ago; it waits for example.com/hold"


def named(name, manifest):
    return {**manifest, "metadata": {**manifest["metadata"], "name": name}}


def test_pods_in_the_same_state_for_the_same_reason_are_counted_whatever_the_time():
    first = pod(fetch=running(240, started=False, ready=False))
    second = pod(fetch=running(60, started=False, ready=False))
    (finding,) = pods.findings([named("b", first), named("a", second)], "decode", reading(NOW))
    assert (finding.count, finding.object.name, stamp(finding.since)) == (2, "a", ago(240))


GPU_SPEC = {
    "nodeName": None,
    "initContainers": [],
    "containers": [{"name": "vllm", "resources": {"requests": {"nvidia.com/gpu": "1"}}}],
}
REFUSED = {
    "phase": "Pending",
    "startTime": None,
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
            "lastTransitionTime": ago(20),
        }
    ],
}


def test_a_new_pod_waits_for_the_place_of_an_old_one_that_ends_in_time():
    """In a rollout without a surge, the new pod is made before the old one has freed its devices."""
    new = [named(name, pod(age=20, spec=GPU_SPEC, status=REFUSED)) for name in ("a", "b")]
    soon = named("old", pod(engine=running(900), metadata={"deletionTimestamp": stamp(NOW + timedelta(seconds=40))}))
    late = named("old", pod(engine=running(900), metadata={"deletionTimestamp": ago(100)}))

    def states(listed, **more):
        return [entry.state.id for entry in pods.findings(listed, "", reading(NOW), **more)]

    assert states([new[0], soon]) == ["awaits-place"]
    assert states(new[:1], beside=[soon, new[0]]) == ["awaits-place"]
    assert states([*new, soon]) == ["awaits-place", "no-devices"]
    assert states(new[:1]) == ["no-devices"]
    assert states([new[0], late]) == ["stuck-ending", "no-devices"]


BIG_NODE = {
    "metadata": {"name": "gpu-h100-0"},
    "status": {**captured_statuses.NODE["status"], "allocatable": {"nvidia.com/gpu": "1"}},
}


def test_a_pod_gets_the_place_of_one_of_another_service_that_ends_or_has_just_ended():
    """The scheduler looks again within seconds. Until then the pod still says that it found no node."""

    def state(age, *others, nodes=(BIG_NODE,)):
        waiting = pod(age=age, spec=GPU_SPEC, status=REFUSED)
        seen = evidence.of(Snapshot(NOW, {POD: [waiting, *others], NODE: nodes}), {}, {})
        return pods.cause(waiting, "", seen).state.id

    holder = pod(engine=running(900), spec={**GPU_SPEC, "nodeName": "gpu-h100-0"}, ready="True")
    ends = {**holder, "metadata": {**holder["metadata"], "deletionTimestamp": stamp(NOW + timedelta(seconds=40))}}
    stuck = {**holder, "metadata": {**holder["metadata"], "deletionTimestamp": ago(120)}}
    done = {**holder, "status": {**holder["status"], "phase": "Succeeded"}}
    assert [state(9, holder), state(9, stuck), state(900, holder), state(900)] == ["no-devices"] * 4
    assert [state(9, ends), state(900, ends), state(9), state(94), state(9, done)] == ["awaits-place"] * 5
    assert [state(96), state(9, nodes=[captured_statuses.NODE])] == ["no-devices"] * 2


def test_an_eviction_is_past_once_a_younger_pod_is_ready():
    evicted = named("a", pod(age=900, status={"phase": "Failed", "reason": "Evicted", "message": "The node was low"}))
    loads = named("b", pod(age=300, fetch=DONE, proxy=running(99), engine=running(90, started=False, ready=False)))
    ready = named("b", pod(age=300, fetch=DONE, proxy=running(99), engine=running(90), ready="True"))
    assert [entry.state.id for entry in pods.findings([loads, evicted], "", reading(NOW))] == ["evicted", "loading"]
    assert pods.findings([evicted, ready], "", reading(NOW)) == ()
    older = named("b", pod(age=1000, fetch=DONE, proxy=running(99), engine=running(90), ready="True"))
    assert [entry.state.id for entry in pods.findings([evicted, older], "", reading(NOW))] == ["evicted"]


@pytest.mark.parametrize("garbage", [None, 1, "x", [], {}, [1], {"x": 1}, [{"name": 1, "state": 7}]])
@pytest.mark.parametrize(
    "place", [("spec",), ("status",), ("status", "containerStatuses"), ("status", "conditions"), ("spec", "containers")]
)
def test_a_pod_of_any_shape_raises_nothing(garbage, place):
    broken = copy.deepcopy(HEALTHY["loads"])
    target = broken
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = garbage
    for manifest in (broken, {}, {"metadata": garbage}, {"metadata": {}, "spec": garbage, "status": garbage}):
        pods.findings([manifest], "decode", reading(NOW))


STRANGE = (
    None,
    True,
    -1,
    2**70,
    math.nan,
    "",
    "x",
    "2026-13-45T99:99:99Z",
    "{0}{x!r}",
    [],
    [None],
    {},
    {"a": None},
    [[]],
)


def leaves(tree, path=()):
    """Yield the path of every value in a tree, those of mappings and lists included."""
    if path:
        yield path
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in entries:
        yield from leaves(value, (*path, key))


def changed(tree, path, value):
    """Return a tree with another value at a path."""
    copied = copy.deepcopy(tree)
    target = copied
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return copied


STRANGE_NODE = {
    **BIG_NODE,
    "spec": {"taints": [{"key": "team", "value": "search", "effect": "NoSchedule"}], "unschedulable": True},
}
PICKY = {
    "nodeSelector": {"zone": "a"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["1"]}]}]
            }
        }
    },
    "tolerations": [{"key": "team", "operator": "Equal", "value": "other", "effect": "NoSchedule"}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
    "schedulingGates": [{"name": "gate"}],
}


def test_no_value_at_any_place_of_a_pod_an_event_or_a_node_raises():
    places = [(captured_statuses.pod(entry), captured_statuses.reading(entry)) for entry in CAPTURED]
    places.append((pod(spec={**GPU_SPEC, **PICKY}, status=REFUSED), reading(NOW, nodes=[STRANGE_NODE])))
    places.append((pod(spec={**GPU_SPEC, **PICKY}, status={"conditions": []}), reading(NOW, nodes=[STRANGE_NODE])))
    for number, (manifest, seen) in enumerate(places):
        for path in leaves(manifest):
            for value in STRANGE:
                listed = [changed(manifest, path, value)]
                for finding in pods.findings(listed, "decode", seen):
                    assert finding.words, (number, path, value)
        (key,) = seen.events
        for path in filter(lambda path: len(path) > 1, leaves(list(seen.events[key]))):
            for value in STRANGE:
                events = {key: changed(list(seen.events[key]), path, value)}
                pods.findings([manifest], "decode", replace(seen, events=events))
    for path in leaves(STRANGE_NODE):
        for value in STRANGE:
            node = changed(STRANGE_NODE, path, value)
            seen = replace(reading(NOW), nodes={"gpu-h100-0": node})
            pods.findings([places[-2][0], HEALTHY["loads"]], "decode", seen)
