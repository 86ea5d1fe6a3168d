"""The real LeaderWorkerSet controller: what it adds to pods, and when its status says that they are up."""

import contextlib
import json
import subprocess
import time
from functools import partial
from operator import itemgetter

import pytest

from local import processes
from tests.support.cluster.lws import injects
from tests.support.cluster.server import read, read_one

pytestmark = pytest.mark.real
DOMAIN = "leaderworkerset.sigs.k8s.io"
WEBHOOKS = ("mutatingwebhookconfiguration", "mutating-webhook-configuration")
LEFT = ("pods", "statefulsets", "controllerrevisions", "services")
SECONDS = 240


def until(condition, deadline=SECONDS):
    """Wait until the condition holds, and return what it returned."""
    end = time.monotonic() + deadline
    while not (value := condition()):
        assert time.monotonic() < end, condition
        time.sleep(0.1)
    return value


def template(role, image="v1", gpus="1"):
    own_variables = [{"name": "OWN", "value": "1"}, {"name": "REFERS", "value": "$(LWS_LEADER_ADDRESS):$(OWN)"}]
    devices = {"nvidia.com/gpu": gpus}
    init = {"name": "init", "image": "registry.example/init:v1", "env": own_variables[:1]}
    main = {"name": "main", "image": f"registry.example/main:{image}", "env": own_variables}
    main["resources"] = {"requests": devices, "limits": devices}
    return {"metadata": {"labels": {"role": role}}, "spec": {"initContainers": [init], "containers": [main]}}


def group_set(replicas=1, image="v1", gpus="1"):
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "big"},
        "spec": {
            "replicas": replicas,
            "startupPolicy": "LeaderCreated",
            "networkConfig": {"subdomainPolicy": "Shared"},
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0},
            },
            "leaderWorkerTemplate": {
                "size": 2,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": template("leader", image),
                "workerTemplate": template("worker", image, gpus),
            },
        },
    }


class Space:
    """A namespace of the control plane, with every state of its LeaderWorkerSet as the API server announced it."""

    def __init__(self, plane, name, events):
        self.plane = plane
        self.name = name
        self._events = events

    def kubectl(self, verb, *arguments, **more):
        return self.plane.kubectl(verb, *arguments, "-n", self.name, **more)

    def apply(self, **changes):
        self.kubectl("apply", "-f", "-", input=json.dumps(group_set(**changes)))

    def get(self, kind, name):
        return read_one(self.plane, kind, name, self.name)

    def all(self, kinds):
        return read(self.plane, kinds, self.name)

    def pods(self):
        return {pod["metadata"]["name"]: pod for pod in self.all("pods")}

    def states(self):
        text = self._events.read_text(encoding="utf-8")
        decoder = json.JSONDecoder()
        found = []
        with contextlib.suppress(ValueError):
            while text := text.lstrip():
                event, end = decoder.raw_decode(text)
                found.append(event["object"])
                text = text[end:]
        return found

    def up(self, generation):
        """Return the states of a generation, once it is up."""
        return until(partial(self._up, generation))

    def _up(self, generation):
        states = [state for state in self.states() if state["metadata"]["generation"] == generation]
        return states if states and is_up(states[-1]) else None


@pytest.fixture
def space(lws_plane, tools, tmp_path, request):
    name = request.node.originalname.removeprefix("test_").replace("_", "-")[:60].strip("-")
    lws_plane.kubectl("create", "namespace", name)
    watch = [str(tools["kubectl"].path), f"--kubeconfig={lws_plane.kubeconfig}", "get", "leaderworkersets", "-n", name]
    watch += ["--watch", "--output-watch-events", "-o", "json"]
    with (tmp_path / "events").open("wb") as stream:
        watcher = subprocess.Popen(processes.tied_command(watch), stdout=stream, env={"HOME": str(tmp_path)})
    yield Space(lws_plane, name, tmp_path / "events")
    watcher.kill()
    watcher.wait()
    lws_plane.kubectl("delete", "namespace", name, "--wait=false")


def conditions(state):
    return {condition["type"]: condition["status"] for condition in state.get("status", {}).get("conditions", ())}


def is_up(state):
    """Say what a wait for a rollout must: the status is that of this generation, and says that every group is ready."""
    generation = state.get("status", {}).get("observedGeneration")
    return generation == state["metadata"]["generation"] and conditions(state).get("Available") == "True"


def counts(state):
    return itemgetter("replicas", "readyReplicas", "updatedReplicas")(state["status"])


def variables(pod):
    containers = pod["spec"]["initContainers"] + pod["spec"]["containers"]
    return [[(variable["name"], variable["value"]) for variable in container["env"]] for container in containers]


def test_every_container_is_told_its_group_before_its_own_variables(space):
    space.apply()
    space.up(1)
    pods = space.pods()
    assert {name: pod["status"]["phase"] for name, pod in pods.items()} == {"big-0": "Running", "big-0-1": "Running"}
    own_variables = [("OWN", "1"), ("REFERS", "$(LWS_LEADER_ADDRESS):$(OWN)")]
    for index, pod in enumerate((pods["big-0"], pods["big-0-1"])):
        group = [("LWS_LEADER_ADDRESS", f"big-0.big.{space.name}")]
        group += [("LWS_GROUP_SIZE", "2"), ("LWS_WORKER_INDEX", str(index))]
        assert variables(pod) == [group + own_variables[:1], group + own_variables]
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == (pod["metadata"]["name"], "big")


def test_pods_are_labelled_with_set_group_and_index(space):
    space.apply()
    space.up(1)
    pods = space.pods()
    added = [{k: v for k, v in pod["metadata"]["labels"].items() if DOMAIN in k} for pod in pods.values()]
    common = {key: added[0][f"{DOMAIN}/{key}"] for key in ("group-key", "template-revision-hash")}
    assert added == [
        {f"{DOMAIN}/{k}": v for k, v in (common | {"name": "big", "group-index": "0", "worker-index": index}).items()}
        for index in ("0", "1")
    ]
    assert pods["big-0"]["metadata"]["annotations"] == {f"{DOMAIN}/size": "2"}
    assert pods["big-0-1"]["metadata"]["annotations"] == {f"{DOMAIN}/size": "2", f"{DOMAIN}/leader-name": "big-0"}
    service = space.get("service", "big")["spec"]
    assert (service["clusterIP"], service["selector"]) == ("None", {f"{DOMAIN}/name": "big"})
    assert service["publishNotReadyAddresses"] is True
    assert "ports" not in service


def test_without_the_pod_webhook_nothing_is_told(space):
    with without_pod_webhook(space.plane):
        space.apply()
        pod = until(lambda: space.pods().get("big-0"))
    assert variables(pod) == [[("OWN", "1")], [("OWN", "1"), ("REFERS", "$(LWS_LEADER_ADDRESS):$(OWN)")]]
    assert f"{DOMAIN}/group-index" not in pod["metadata"]["labels"]


@contextlib.contextmanager
def without_pod_webhook(plane):
    webhooks = json.loads(plane.kubectl("get", *WEBHOOKS, "-o", "json"))["webhooks"]
    register(plane, [webhook for webhook in webhooks if webhook["name"] != "mpod.kb.io"])
    try:
        until(lambda: not injects(plane))
        yield
    finally:
        register(plane, webhooks)
        until(lambda: injects(plane))


def register(plane, webhooks):
    plane.kubectl("patch", *WEBHOOKS, "--type=merge", "-p", json.dumps({"webhooks": webhooks}))


def test_the_status_of_a_generation_is_up_only_when_all_its_groups_are(space):
    space.apply()
    space.up(1)
    space.apply(replicas=2)
    grown = space.up(2)
    assert (counts(grown[0]), counts(grown[-1])) == ((1, 1, 1), (2, 2, 2))
    space.apply(replicas=2, image="v2")
    rolled = space.up(3)
    images = {container["image"] for pod in space.pods().values() for container in pod["spec"]["containers"]}
    assert images == {"registry.example/main:v2"}
    assert counts(rolled[-1]) == (2, 2, 2)
    assert all(counts(state) == (2, 2, 2) for state in rolled if is_up(state))
    assert any(conditions(state).get("UpdateInProgress") == "True" for state in rolled)


def test_a_new_generation_begins_with_the_status_of_the_old(space):
    space.apply()
    space.up(1)
    space.apply(image="v2")
    first = space.up(2)[0]
    assert (conditions(first)["Available"], counts(first)) == ("True", (1, 1, 1))
    assert first["status"]["observedGeneration"] == 1
    assert not is_up(first)


def test_a_rollout_that_never_starts_is_never_up_and_leaves_the_other_group(space):
    space.apply(replicas=2)
    space.up(1)
    space.apply(replicas=2, image="v2", gpus="9")
    space.kubectl("wait", "leaderworkerset/big", "--for=jsonpath={.status.updatedReplicas}=1", f"--timeout={SECONDS}s")
    until(lambda: space.pods().get("big-1-1", {}).get("status", {}).get("phase") == "Pending")
    assert [state for state in space.states() if state["metadata"]["generation"] == 2 and is_up(state)] == []
    last = space.get("leaderworkerset", "big")
    assert (conditions(last)["Available"], conditions(last)["UpdateInProgress"]) == ("False", "True")
    assert counts(last) == (2, 1, 1)
    assert space.pods()["big-0"]["spec"]["containers"][0]["image"] == "registry.example/main:v1"


def test_a_lost_worker_takes_its_leader_with_it(space):
    space.apply()
    space.up(1)
    before = {name: pod["metadata"]["uid"] for name, pod in space.pods().items()}
    space.kubectl("delete", "pod", "big-0-1")
    until(lambda: space.pods().get("big-0", {}).get("metadata", {}).get("uid") not in {before["big-0"], None})
    until(lambda: set(before) == set(space.pods()))
    assert not set(before.values()) & {pod["metadata"]["uid"] for pod in space.pods().values()}


def test_nothing_of_a_deleted_set_stays(space):
    space.apply(replicas=2)
    space.up(1)
    assert all(space.all(kind) for kind in LEFT)
    space.kubectl("delete", "leaderworkerset", "big")
    until(lambda: not space.all(",".join(LEFT)))
