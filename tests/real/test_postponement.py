"""A field of containers that a new version adds: pods are replaced for it once, with another change or when asked."""

import shutil

import pytest

from tests.support.cluster.deployments import ROOT, in_namespace, provide
from tests.support.cluster.server import read
from tests.support.cluster.workstations import UNCHANGED, Workstation, uids
from tests.support.stacks import plain
from tests.support.stacks.states import containers

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

UP = ("up", "--yes", "--skip-preview")
WORKLOADS = ("deployments", "leaderworkersets")
EXPLAINED = {"FallbackToLogsOnError"}
UNEXPLAINED = {"File"}
"""The default of the API server, which it does not write into groups of pods."""
SEQUENCES = {"engine": {"maxNumSeqs": 8}}


RESOURCES = {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"memory": "2048Mi"}}
"""Quantities that the API server spells otherwise, as 500m, 1Gi and 2Gi."""


def services(namespace):
    """Return services with pods, groups and Jobs of all kinds."""
    model = {"name": "org/model", "source": "hf://org/model@v1", "size": "1Gi"}
    storage = {"type": "dedicated", "storageClassName": namespace}
    return {
        "bert": {},
        "filled": {"model": model, "storage": storage, "endpointPicker": {"enabled": False}},
        "group": {"parallelism": {"pipeline": 2}, "endpointPicker": {"enabled": False}},
        "pair": {"prefill": {}, "resources": RESOURCES},
    }


def stack(namespace, *changed, **upgrades):
    """Return a stack; the services in `changed` have another number of sequences."""
    everything = services(namespace)
    for key in changed:
        everything[key] |= SEQUENCES
    more = {"upgrades": upgrades} if upgrades else {}
    return in_namespace(namespace, **everything) | {"defaults": {"drainTimeout": "1s"}, **more}


def policies(plane, namespace):
    """Return the policies of termination messages of each workload, by its name without its generation."""
    items = [item for kind in WORKLOADS for item in read(plane, kind, namespace)]
    return {
        plain(item["metadata"]["name"]): {
            container.get("terminationMessagePolicy", "File") for container in containers(item)
        }
        for item in items
    }


def serving_pods(plane, namespace):
    """Return the UIDs of all pods but those of Jobs."""
    pods = read(plane, "pods", namespace)
    return {pod["metadata"]["uid"] for pod in pods if "batch.kubernetes.io/job-name" not in pod["metadata"]["labels"]}


def pods_of(identities, *names):
    """Return the UIDs of the pods of workloads. `identities` has UIDs by kind, namespace and name."""
    beginnings = tuple(f"{name}-" for name in names)
    return {uid for (kind, _, name), uid in identities.items() if kind == "Pod" and name.startswith(beginnings)}


def jobs(plane, namespace):
    """Return the specs of Jobs by UID."""
    return {item["metadata"]["uid"]: item["spec"] for item in read(plane, "jobs", namespace)}


def edited_program(directory, module, row, text):
    """Write the layer of a program in which one row of a module has another text. Return the folder."""
    layer = module.partition("/")[0]
    shutil.copytree(ROOT / layer, directory / layer)
    path = directory / module
    source = path.read_text(encoding="utf-8")
    assert source.count(row) == 1
    path.write_text(source.replace(row, text), encoding="utf-8")
    return directory


def earlier_program(directory):
    """Return a program that writes no policy, as earlier versions did."""
    row = 'TERMINATION = {"terminationMessagePolicy": "FallbackToLogsOnError"}\n'
    return edited_program(directory, "manifests/pods.py", row, "TERMINATION: dict[str, str] = {}\n")


@pytest.fixture
def upgraded(home, packages, lws_plane, tmp_path):
    """Return a function that deploys with the earlier program, and returns another workstation with a later one."""

    def new(namespace, program=ROOT):
        provide(lws_plane, namespace)
        earlier = earlier_program(tmp_path / "earlier")
        ann = Workstation(tmp_path / "ann", home, packages, called=namespace, program=earlier)
        ben = Workstation(tmp_path / "ben", home, packages, called=namespace, program=program)
        for user in (ann, ben):
            user.kubeconfig(lws_plane)
        ann.begin(stack(namespace))
        ann.succeed(*UP)
        ben.take(ann)
        return ben

    return new


def assert_unchanged(user, plane, namespace):
    before = uids(plane, namespace)
    for command in UNCHANGED:
        user.succeed(*command)
        assert uids(plane, namespace) == before, command


def test_pods_stay_until_another_change_or_a_word_replaces_them(upgraded, lws_plane):
    name = "postponed"
    ben = upgraded(name)
    plane = lws_plane
    everything = dict.fromkeys(policies(plane, name), UNEXPLAINED)
    assert everything.keys() == {
        *("bert-decode", "bert-epp", "filled-decode", "group-decode"),
        *("pair-decode", "pair-prefill", "pair-epp"),
    }
    filling = jobs(plane, name)
    assert len(filling) == 1
    assert policies(plane, name) == everything

    assert_unchanged(ben, plane, name)
    assert policies(plane, name) == everything

    before = uids(plane, name)
    ben.write(stack(name, "bert", "group"))
    ben.succeed(*UP)
    restarted = {"bert-decode": EXPLAINED, "group-decode": EXPLAINED}
    assert policies(plane, name) == everything | restarted
    after = uids(plane, name)
    stayed = {key for key in before if not key[2].startswith(("bert-decode", "group-decode"))}
    assert {key: after[key] for key in stayed} == {key: before[key] for key in stayed}
    assert pods_of(before, *restarted).isdisjoint(pods_of(after, *restarted))
    assert_unchanged(ben, plane, name)

    ben.write(stack(name))
    ben.succeed(*UP)
    assert policies(plane, name) == everything | restarted
    assert_unchanged(ben, plane, name)

    ben.write(stack(name, postpone=False))
    ben.succeed(*UP)
    assert policies(plane, name) == dict.fromkeys(everything, EXPLAINED)
    assert_unchanged(ben, plane, name)

    before = uids(plane, name)
    ben.write(stack(name))
    ben.succeed(*UP)
    assert policies(plane, name) == dict.fromkeys(everything, EXPLAINED)
    assert uids(plane, name) == before
    assert jobs(plane, name) == filling
    ben.succeed("destroy", "--yes", "--skip-preview")


def test_a_program_that_postponed_nothing_would_replace_all_pods(upgraded, lws_plane, tmp_path):
    """The negative control: an upgrade alone restarts every service."""
    name = "replaced"
    ben = upgraded(name, edited_program(tmp_path / "impatient", "judging/postponement.py", "    **TERMINATION,\n", ""))
    before = serving_pods(lws_plane, name)
    assert before
    ben.succeed(*UP)
    assert before.isdisjoint(serving_pods(lws_plane, name))
    assert set().union(*policies(lws_plane, name).values()) == EXPLAINED
    ben.succeed("destroy", "--yes", "--skip-preview")
