"""One stack from several workstations: names, paths and addresses of a cluster are no identity.

Each row is deployed once. Then every command runs on another workstation, and namespaces and pods keep their UIDs.
"""

import json
import os
import shutil

import pytest

from local.errors import LocalError
from tests.support.cluster import pythons
from tests.support.cluster.deployments import PROGRAM, ROOT
from tests.support.cluster.workstations import (
    UNCHANGED,
    Workstation,
    addressed,
    default_kubeconfig,
    renamed,
    separated,
    small,
    uids,
    with_token,
)
from tests.support.rows import mostly_proven

pytestmark = pytest.mark.real

PROVIDER = "pulumi:providers:kubernetes"
SHARED = "shared-by-workstations"
"""Stack, and its namespace, that workstations with different kubeconfigs share."""


@pytest.fixture
def workstation(home, packages, tmp_path):
    """Return a function that makes workstations."""
    return lambda name, **more: Workstation(tmp_path / name, home, packages, **more)


def token_of_another(plane):
    """Return a token of another administrator."""
    try:
        plane.kubectl("create", "serviceaccount", "second", "-n", "default")
        plane.kubectl(
            "create", "clusterrolebinding", "second", "--clusterrole=cluster-admin", "--serviceaccount=default:second"
        )
    except LocalError:
        pass
    return plane.kubectl("create", "token", "second", "-n", "default").strip()


def two_files(user, plane):
    """Give a workstation a kubeconfig of two files, of which the second has cluster and user."""
    first, second = (user.kubeconfig(plane, edit, name=name) for name, edit in separated().items())
    user.variables["KUBECONFIG"] = os.pathsep.join(map(str, (first, second)))


def no_variable(user, plane):
    default_kubeconfig(user, user.kubeconfig(plane))


KUBECONFIGS = {
    "path": lambda user, plane: user.kubeconfig(plane, name="elsewhere"),
    "cluster": lambda user, plane: user.kubeconfig(plane, renamed(cluster="other")),
    "context": lambda user, plane: user.kubeconfig(plane, renamed(context="other")),
    "user": lambda user, plane: user.kubeconfig(plane, renamed(user="other")),
    "all-names": lambda user, plane: user.kubeconfig(plane, renamed("a", "b", "c")),
    "token": lambda user, plane: user.kubeconfig(plane, with_token(token_of_another(plane))),
    "address": lambda user, plane: user.kubeconfig(plane, addressed("localhost")),
    "two-files": two_files,
    "no-variable": no_variable,
}
"""Ways in which the kubeconfig of a second workstation differs."""


@pytest.fixture(scope="module")
def ann(home, packages, plane, tmp_path_factory):
    """Return the workstation that deployed a stack, and the UIDs of what runs. Another one destroys it at the end."""
    first = Workstation(tmp_path_factory.mktemp("workstation") / "ann", home, packages, SHARED)
    first.kubeconfig(plane)
    first.begin(small(SHARED))
    first.succeed("up", "--yes", "--skip-preview")
    before = uids(plane, SHARED)
    assert {kind for kind, *_ in before} == {"Namespace", "Pod", "Deployment", "ReplicaSet"}
    yield first, before
    last = Workstation(tmp_path_factory.mktemp("workstation") / "last", home, packages, SHARED)
    last.kubeconfig(plane, renamed("a", "b", "c"))
    last.take(first)
    last.succeed("destroy", "--yes", "--skip-preview")
    assert uids(plane, SHARED) == {}


@pytest.mark.parametrize("row", KUBECONFIGS)
def test_another_kubeconfig_of_the_same_cluster_changes_nothing(row, ann, workstation, plane):
    """See defects L1, L2."""
    first, before = ann
    ben = workstation("ben", called=SHARED)
    KUBECONFIGS[row](ben, plane)
    ben.take(first)
    for command in UNCHANGED:
        ben.succeed(*command)
        assert uids(plane, SHARED) == before, command
    assert_no_kubeconfig(ben)


def assert_no_kubeconfig(user):
    """Assert that the state has nothing of a kubeconfig."""
    text = user.succeed("stack", "export")
    (provider,) = [each for each in json.loads(text)["deployment"]["resources"] if each["type"] == PROVIDER]
    assert provider["inputs"].keys() & {"kubeconfig", "context", "cluster"} == set()
    assert str(user.directory) not in text


NAMED = {
    "added": ({}, {"cluster": {"name": "prod"}}),
    "changed": ({"cluster": {"name": "prod"}}, {"cluster": {"name": "prod-eu"}}),
    "removed": ({"cluster": {"name": "prod"}}, {}),
}
"""`cluster.name` before and after a change."""


@pytest.mark.parametrize("row", mostly_proven(NAMED, {"removed"}))
def test_the_name_of_the_cluster_in_the_configuration_is_no_identity(row, workstation, plane):
    """See defects L1."""
    namespace = f"cluster-name-{row}"
    before, after = NAMED[row]
    ann = workstation("ann", called=row)
    ben = workstation("ben", called=row)
    ann.kubeconfig(plane)
    ann.begin(small(namespace, **before))
    ann.succeed("up", "--yes", "--skip-preview")
    running = uids(plane, namespace)
    ben.kubeconfig(plane, renamed("a", "b", "c"))
    ben.take(ann)
    ben.write(small(namespace, **after))
    for command in UNCHANGED:
        ben.succeed(*command)
        assert uids(plane, namespace) == running, command
    ben.succeed("destroy", "--yes", "--skip-preview")
    assert uids(plane, namespace) == {}


PYTHONS = {"clone": "plain_python"} | ({"python": "another_python"} if pythons.another() else {})
"""Fixtures with the Python of a second workstation: the same version, and another one where this machine has it."""


@pytest.mark.parametrize("row", mostly_proven(PYTHONS, {"clone"}))
def test_a_clone_at_another_path_of_another_user_changes_nothing(row, request, home, workstation, plane, tmp_path):
    """See defects L3."""
    python = request.getfixturevalue(PYTHONS[row])
    namespace = f"workstation-{row}"
    clone = tmp_path / "quite" / "another" / "place"
    clone.mkdir(parents=True)
    for name in set(PROGRAM) - {".venv"}:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, clone / name)
    ann = workstation("ann", called=row)
    ben = Workstation(tmp_path / "ben", home, python, row, clone)
    ann.kubeconfig(plane)
    ann.begin(small(namespace))
    ann.succeed("up", "--yes", "--skip-preview")
    before = uids(plane, namespace)
    ben.kubeconfig(plane, renamed("a", "b", "c"))
    ben.take(ann)
    for user in (ben, ann):
        for command in UNCHANGED:
            user.succeed(*command)
            assert uids(plane, namespace) == before, command
