"""Statuses that real kubelets wrote, on the real API server: kubectl's word agrees with the state, or is coarser."""

import copy
import json

import pytest

from judging.status import pods
from tests.support import captured_statuses
from tests.support.cluster import status_pods
from tests.support.cluster.server import ask

pytestmark = pytest.mark.real

NAMESPACE = "status-words"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
WORDS = {
    "ErrImagePull": {"image-denied", "image-missing", "image-pull"},
    "ImagePullBackOff": {"image-denied", "image-missing", "image-pull"},
    "InvalidImageName": {"image-name"},
    "CreateContainerConfigError": {"secret-missing", "config-missing"},
    "Init:CreateContainerConfigError": {"secret-missing", "config-missing"},
    "StartError": {"start-failed"},
    "PostStartHookError": {"start-failed"},
    "Init:Error": {"fetch-failed"},
    "Init:CrashLoopBackOff": {"fetch-failed"},
    "CrashLoopBackOff": {"crash"},
    "Error": {"crash"},
    "ContainerCreating": {"starting"},
    "Evicted": {"evicted"},
    "OutOfephemeral-storage": {"rejected"},
    "Running": set(),
    "ContainerStatusUnknown": set(),
}
"""States that a word of kubectl's column STATUS names."""
COARSER = {
    "ContainerCreating": {"secret-missing", "config-missing", "mount-failed"},
    "ContainerStatusUnknown": {"evicted"},
    "CrashLoopBackOff": {"out-of-memory"},
    "Running": {"loading", "too-slow", "not-ready", "unhealthy", "out-of-memory"},
}
"""States that a word does not name, because kubectl looks at no event, probe or last end of a container."""
ENTRIES = captured_statuses.ENTRIES


@pytest.fixture(scope="module")
def words(plane):
    """Write each captured status through the status subresource. No scheduler and no node looks at the pods.

    Return the pod that the API server returns, and the word of its table, by name of the capture.
    """
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    manifests = [_pod(f"p{number}", entry) for number, entry in enumerate(ENTRIES)]
    status_pods.apply(plane, namespace, *({**manifest, "status": {}} for manifest in manifests))
    status_pods.apply(plane, *manifests, status=True)
    status, table = ask(plane, f"/api/v1/namespaces/{NAMESPACE}/pods?includeObject=Metadata", TABLE)
    assert status == 200
    column = [definition["name"] for definition in table["columnDefinitions"]].index("Status")
    rows = {row["object"]["metadata"]["name"]: row["cells"][column] for row in table["rows"]}
    live = status_pods.pods_of(plane, NAMESPACE)
    yield {entry["name"]: (live[f"p{number}"], rows[f"p{number}"]) for number, entry in enumerate(ENTRIES)}
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def _pod(name, entry):
    """Return the pod of a capture that the API server accepts, and that nobody runs."""
    spec = copy.deepcopy(entry["spec"]) | {"schedulerName": "nobody"}
    for container in spec["containers"]:
        container.setdefault("terminationMessagePolicy", "File")
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}}
    return json.loads(json.dumps({**manifest, "spec": spec, "status": _complete(entry["status"])}))


def _complete(status):
    """Return a status with the fields that the API server demands."""
    status = copy.deepcopy(status)
    for key in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(key, ()):
            container.setdefault("imageID", "")
            container.setdefault("lastState", {})
    return status


def _state(entry, live):
    """Return the state of a live pod as if it were on its node, with the time and the events of the capture."""
    expected = captured_statuses.pod(entry)
    placed = {**live, "metadata": expected["metadata"], "spec": {**live["spec"], "nodeName": "gpu-h100-0"}}
    return pods.cause(placed, "decode", captured_statuses.reading(entry)).state.id


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["name"] for entry in ENTRIES])
def test_the_word_of_the_real_api_server_agrees_with_the_state_or_is_coarser(words, entry):
    live, word = words[entry["name"]]
    assert word == entry["word"]
    state = _state(entry, live)
    assert state == entry["state"]
    assert state in WORDS[word] | COARSER.get(word, set())


def test_a_word_is_coarser_only_for_states_that_it_does_not_name(words):
    """Negative control: each exception is needed, and no word names a state that it is too coarse for."""
    seen = {(word, _state(entry, words[entry["name"]][0])) for entry in ENTRIES for word in [words[entry["name"]][1]]}
    assert {(word, state) for word, states in COARSER.items() for state in states} <= seen
    assert [word for word, states in COARSER.items() if states & WORDS[word]] == []
