"""Several pickers elect a leader, or all are at work."""

import json

import pytest

from models.load import load
from models.paths import Path
from planning.picker import several_pickers
from planning.releases import channel, channels
from planning.resolve import resolve
from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.stacks.shapes import told

AT = "services.qwen.endpointPicker"


PRECISE = {"preset": "precise-prefix-cache"}


ACTIVE = {**PRECISE, "replicas": 2, "replication": "active-active"}


def stack(release="llm-d-0.10", service=None, **picker):
    return tree(qwen={"endpointPicker": picker, **(service or {})}) | {"release": release}


def deployment(service=None, **picker):
    return find(rendered(stack(service=service, **picker)), "Deployment", "qwen-epp")


def containers(**picker):
    return {
        container["name"]: container for container in deployment(**picker)["spec"]["template"]["spec"]["containers"]
    }


def warned(service=None, **picker):
    return [line for line in lines(plan(stack(service=service, **picker)).warnings, "warning") if "replic" in line]


def test_of_pickers_that_are_all_at_work_a_new_one_answers_before_an_old_one_ends():
    """See defects A19."""
    spec, metadata = (deployment(**ACTIVE)[key] for key in ("spec", "metadata"))
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert "annotations" not in metadata
    assert warned(**ACTIVE) == []


def test_pickers_that_are_all_at_work_elect_nobody():
    assert not any("leader" in argument for argument in containers(**ACTIVE)["epp"]["args"])
    groups = [rule["apiGroups"] for rule in find(rendered(stack(**ACTIVE)), "Role", "qwen-epp")["rules"]]
    assert ["coordination.k8s.io"] not in groups


@pytest.mark.parametrize(
    ("picker", "fate", "way"),
    [
        ({}, "refused", "use one picker, or preset: precise-prefix-cache and replication: active-active: then"),
        (PRECISE, "refused", "use one picker, or replication: active-active: then"),
        ({**PRECISE, "failureMode": "FailOpen", "failOpenReason": "any"}, "sent to any pod", "use one picker, or rep"),
    ],
)
def test_pickers_that_elect_a_leader_are_told_to_end_all_at_once(picker, fate, way):
    """See defects A19."""
    (line,) = [line for line in warned(**picker, replicas=3) if "ends all its pods" in line]
    what = f"a change of the picker ends all its pods together (3); until a new pod leads, requests are {fate}"
    assert line.startswith(f"{AT}.replicas: {what}; {way}")


@pytest.mark.parametrize("release", channels())
def test_a_release_says_whether_its_pickers_may_be_all_at_work(release):
    supported = channel(release).picker.active_active is not None
    messages = told(stack(release, replicas=2, replication="active-active"))
    assert any("is not supported by the pickers" in line for line in messages) is not supported
    assert supported is (release in {"llm-d-0.8", "llm-d-0.9", "llm-d-0.10"})


@pytest.mark.parametrize(
    ("plugin", "divided"),
    [
        ({"type": "prefix-cache-scorer"}, True),
        ({"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "precise"}}, False),
        ({"type": "approx-prefix-cache-producer"}, True),
        ({"type": "queue-scorer"}, False),
    ],
)
def test_a_configuration_that_remembers_requests_is_told_that_pickers_divide_them(plugin, divided):
    precise = {"type": "precise-prefix-cache-producer", "name": "precise"}
    config = {"plugins": [precise, plugin], "schedulingProfiles": [{"name": "default", "plugins": []}]}
    warnings = plan_of_replication(
        {"preset": "custom", "config": config, "replicas": 2, "replication": "active-active"}
    )
    assert bool(warnings) is divided


def plan_of_replication(picker):
    """Return what is said of several pickers with a configuration, whatever else is wrong with it."""
    contexts = resolve(load(tree(qwen={"endpointPicker": picker})).stack).contexts
    return [*several_pickers.judge_updates(Path("endpointPicker"), contexts.primary("qwen"))]


def everything(release="llm-d-0.10", **picker):
    return rendered(stack(release, **picker))


def pod(**picker):
    return deployment(**picker)["spec"]["template"]["spec"]


def container(**picker):
    (epp,) = pod(**picker)["containers"]
    return epp


def new_arguments(**picker):
    """Return the arguments that a picker has beyond those of one without wishes."""
    return [argument for argument in container(**picker)["args"] if argument not in container()["args"]]


@pytest.mark.parametrize("count", [2, 3])
def test_several_pickers_elect_a_leader(count):
    assert new_arguments(replicas=count) == ["--ha-enable-leader-election=true"]
    assert deployment(replicas=count)["spec"]["replicas"] == count


@pytest.mark.parametrize("count", [2, 3])
def test_several_pickers_are_replaced_all_at_once_as_those_without_the_lease_are_never_ready(count):
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": count}}
    assert deployment(replicas=count)["spec"]["strategy"] == strategy


def test_several_pickers_are_up_when_all_are_of_now_and_one_leads():
    waits = json.loads(deployment(replicas=3)["metadata"]["annotations"]["pulumi.com/waitFor"])
    assert waits == [
        "jsonpath={$[?(@.observedGeneration==$.metadata.generation)].observedGeneration}",
        "jsonpath={.status.updatedReplicas}=3",
        "jsonpath={.status.replicas}=3",
        "jsonpath={.status.readyReplicas}=1",
    ]


def test_several_pickers_are_told_to_look_changed_to_a_refresh():
    line, _ = lines(plan(tree(qwen={"endpointPicker": {"replicas": 2}})).warnings, "warning")
    assert line.startswith("services.qwen.endpointPicker.replicas: a refresh reports an update of the pickers")
    assert plan(tree(qwen={"endpointPicker": {"replicas": 1}})).warnings_of("qwen") == ()
