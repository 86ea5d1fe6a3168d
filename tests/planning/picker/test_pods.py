"""Pods of the picker: variables, further containers, patch, size by traffic, and several that are all at work."""

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
RENDER = {"image": "registry.example/render:v1"}


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


def test_variables_of_the_user_follow_the_generated_ones():
    env = containers(env={"TOKEN": {"secretKeyRef": {"name": "one", "key": "two"}}, "ZONE": "$(NAMESPACE)"})["epp"][
        "env"
    ]
    assert [variable["name"] for variable in env] == ["NAMESPACE", "POD_NAME", "TOKEN", "ZONE"]
    assert env[2]["valueFrom"] == {"secretKeyRef": {"name": "one", "key": "two"}}


def test_a_flag_may_refer_to_a_variable_that_the_picker_has():
    arguments = containers(flags={"tls-min-version": "$(VERSION)"}, env={"VERSION": "1.3"})["epp"]["args"]
    assert arguments[-1] == "--tls-min-version=$(VERSION)"


def test_a_further_container_may_gain_no_privileges():
    found = containers(containers={"render": {**RENDER, "runAsUser": 7}})
    assert [*found] == ["epp", "render"]
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsUser": 7}
    assert found["render"] == {"name": "render", "image": RENDER["image"], "securityContext": security}


def test_containers_merge_by_name_whatever_they_are_called():
    inherited = {"endpointPicker": {"containers": {"gateway": {**RENDER, "ports": [8000]}, "patch": RENDER}}}
    service = {"endpointPicker": {"containers": {"gateway": {"args": ["org/m"]}, "patch": None}}}
    everything = rendered(tree(qwen=service) | {"defaults": inherited})
    (_, found) = find(everything, "Deployment", "qwen-epp")["spec"]["template"]["spec"]["containers"]
    assert (found["name"], found["image"], found["args"]) == ("gateway", RENDER["image"], ["org/m"])


def test_a_patch_is_the_last_word_on_the_pickers_deployment():
    change = {"spec": {"template": {"spec": {"containers": [{"name": "epp", "tty": True}, {"name": "own", **RENDER}]}}}}
    patched, plain = deployment(patch=change), deployment()
    assert [container["name"] for container in patched["spec"]["template"]["spec"]["containers"]] == ["epp", "own"]
    patched["spec"]["template"]["spec"]["containers"].pop()
    assert patched["spec"]["template"]["spec"]["containers"][0].pop("tty") is True
    assert patched == plain


@pytest.mark.parametrize(
    ("traffic", "cpu", "memory"),
    [
        ({"requestsPerSecond": 1}, "2", "3Gi"),
        ({"requestsPerSecond": 50, "inputTokens": 100_000}, "52", "6Gi"),
        ({"requestsPerSecond": 50, "inputTokens": 100_000, "outputTokens": 5000}, "52", "20Gi"),
        ({"requestsPerSecond": 0.1, "inputTokens": 100, "outputTokens": 1}, "2", "3Gi"),
    ],
)
def test_a_picker_has_what_its_traffic_takes(traffic, cpu, memory):
    """The third has what upstream says that such traffic takes: up to a core for each request, and 20 GiB."""
    resources = containers(traffic=traffic)["epp"]["resources"]
    assert resources == {
        "requests": {"cpu": cpu, "memory": memory},
        "limits": {"memory": f"{2 * int(memory.removesuffix('Gi'))}Gi"},
    }


def test_a_picker_has_the_cores_to_read_the_metrics_of_its_pool():
    """A hundred pods take 7.5 cores while no request arrives, as upstream measured."""
    idle = {"requestsPerSecond": 0.001, "inputTokens": 1}
    resources = deployment({"replicas": 60, "prefill": {"replicas": 40}}, traffic=idle)
    assert resources["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "9"


@pytest.mark.parametrize(
    ("waiting", "memory"),
    [
        (None, "3Gi"),
        ({}, "3Gi"),
        ({"priorityBands": [{"priority": 1}, {"priority": 2}]}, "5Gi"),
        ({"priorityBands": [{"priority": 1, "maxBytes": "10Gi"}]}, "13Gi"),
        ({"maxBytes": "10Gi", "priorityBands": [{"priority": 1}]}, "13Gi"),
    ],
)
def test_a_picker_has_the_memory_for_requests_that_wait(waiting, memory):
    more = {} if waiting is None else {"flowControl": waiting}
    requests = containers(traffic={"requestsPerSecond": 1}, **more)["epp"]["resources"]["requests"]
    assert requests["memory"] == memory


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
    assert supported is (release in {"llm-d-0.9", "llm-d-0.10"})


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
    found = plan_of_replication({"preset": "custom", "config": config, "replicas": 2, "replication": "active-active"})
    assert bool(found) is divided


def plan_of_replication(picker):
    """Return what is said of several pickers with a configuration, whatever else is wrong with it."""
    contexts = resolve(load(tree(qwen={"endpointPicker": picker})).stack).contexts
    return [*several_pickers.judge_updates(Path("endpointPicker"), contexts.primary("qwen"))]


@pytest.mark.parametrize(("release", "tag"), [("llm-d-0.10", "0.9.0"), ("llm-d-0.9", "v0.8.0")])
def test_a_predictor_beside_the_picker_has_the_images_of_its_release(release, tag):
    picker = {"preset": "predicted-latency", "latencyPredictor": {"deploy": {}}}
    pod = find(rendered(stack(release, **picker)), "Deployment", "qwen-epp")["spec"]["template"]["spec"]
    found = {container["name"]: container for container in pod["containers"]}
    assert [found[name]["image"].rpartition(":")[2] for name in ("training-server", "prediction-server")] == [tag, tag]
    variables = {variable["name"]: variable.get("value") for variable in found["epp"]["env"]}
    assert variables["TRAINING_SERVER_URL"] == "http://localhost:8000"
    assert variables["PREDICTION_SERVER_URL"] == "http://localhost:8001"


def test_a_predictor_that_has_learnt_nothing_does_not_keep_the_picker_from_its_requests():
    found = containers(preset="predicted-latency", latencyPredictor={"deploy": {}})
    assert "readinessProbe" not in found["training-server"]
    assert "readinessProbe" not in found["prediction-server"]
