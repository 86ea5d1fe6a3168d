"""A run that leads to another cluster, under the name of the first one and under its own, and to none at all."""

import json

import pytest

from local import ports
from tests.support.cluster.server import read
from tests.support.cluster.workstations import Workstation, renamed, small, uids

pytestmark = pytest.mark.real

UP = ("up", "--yes", "--skip-preview")
REFRESH = ("refresh", "--yes", "--skip-preview")
DESTROY = ("destroy", "--yes", "--skip-preview")
EMPTY = ("preview", "--expect-no-changes", "--diff")
NAME = "inference-stacks-local"
"""Name that every kubeconfig of a control plane here has for its cluster."""


@pytest.fixture(scope="module")
def other(new_plane):
    """Return the control plane of another cluster. It is no copy of the prepared one, whose UIDs all copies have."""
    return new_plane(crds=())


@pytest.fixture
def ann(home, packages, plane, tmp_path, request):
    """Return a workstation with a stack that is deployed, called as the test's row."""
    user = Workstation(tmp_path / "ann", home, packages, called=request.param)
    user.kubeconfig(plane)
    user.begin(small(f"other-{request.param}"))
    user.succeed(*UP)
    return user


def identity(plane):
    """Return the UID of a cluster."""
    (namespace,) = [item for item in read(plane, "namespaces") if item["metadata"]["name"] == "kube-system"]
    return namespace["metadata"]["uid"]


def text(plane, other, name, objects):
    return (
        f"cluster: this run leads to another cluster ({name}, kube-system has the UID {identity(other)}) than earlier "
        f"runs ({NAME}, kube-system has the UID {identity(plane)}, where this stack has {objects} objects); "
        "lead this run to that cluster (KUBECONFIG, cluster.context); "
        "`pulumi stack init` makes a stack for this one; to move this stack, write allow: [cluster]"
    )


@pytest.mark.parametrize(
    ("ann", "name"), [("same-name", NAME), ("own-name", "prod")], indirect=["ann"], ids=["same-name", "own-name"]
)
def test_another_cluster_is_refused_with_both_named(ann, name, plane, other):
    """See defects L1."""
    namespace = f"other-{ann.called}"
    before = uids(plane, namespace)
    ann.kubeconfig(other, renamed(cluster=name), name="other")
    for command in (("preview",), ("preview", "--refresh"), UP, (*UP, "--refresh")):
        assert text(plane, other, name, 3) in ann.fail(*command), command
        assert (uids(plane, namespace), uids(other, namespace)) == (before, {}), command
    ann.succeed(*REFRESH)
    assert (uids(plane, namespace), uids(other, namespace)) == (before, {})
    ann.kubeconfig(plane)
    # The refresh took the objects out of the state: no program runs before it. The next run takes them back.
    assert f"Service {namespace}/bert and 1 further object exist" in ann.succeed("preview")
    ann.succeed(*UP)
    assert uids(plane, namespace) == before
    ann.succeed(*EMPTY, "--refresh")
    ann.succeed(*DESTROY)
    assert uids(plane, namespace) == {}


@pytest.mark.parametrize("ann", ["on-purpose"], indirect=True)
def test_a_stack_moves_to_another_cluster_on_purpose_and_leaves_the_first_one(ann, plane, other):
    """See defects L1."""
    namespace = "other-on-purpose"
    before = uids(plane, namespace)
    ann.kubeconfig(other, renamed(cluster="prod"), name="other")
    ann.write(small(namespace, allow=["cluster"]))
    first = ann.fail(*UP)
    assert "objects of the state are not in this cluster (prod, kube-system" in first
    assert "run `pulumi refresh` first: it takes them out of the state, and leaves them there" in first
    ann.succeed(*REFRESH)
    ann.write(small(namespace))
    assert "this run leads to another cluster (prod" in ann.fail(*UP)
    assert (uids(plane, namespace), uids(other, namespace)) == (before, {})
    ann.write(small(namespace, allow=["cluster"]))
    assert "this stack moves to another cluster (prod" in ann.succeed("preview")
    ann.succeed(*UP)
    assert uids(plane, namespace) == before
    assert {kind for kind, *_ in uids(other, namespace)} == {kind for kind, *_ in before}
    assert "allow[0]: has no effect in this run (cluster); take it out" in ann.succeed(*EMPTY)
    ann.write(small(namespace))
    ann.succeed(*EMPTY, "--refresh")
    ann.succeed(*DESTROY)
    assert (uids(plane, namespace), uids(other, namespace)) == (before, {})


def by_context(user, plane, other):
    """Let the configuration name a context of another cluster in one kubeconfig."""
    path = user.kubeconfig(plane)
    content = json.loads(path.read_text(encoding="utf-8"))
    added = json.loads(other.kubeconfig.read_text(encoding="utf-8"))
    renamed("other", "other", "other")(added)
    for section in ("clusters", "contexts", "users"):
        content[section] += added[section]
    path.write_text(json.dumps(content), encoding="utf-8")
    user.write(small("other-context", cluster={"context": "other"}))


def by_secret(user, _, other):
    """Let the secret key have the kubeconfig of another cluster."""
    text = other.kubeconfig.read_text(encoding="utf-8")
    user.succeed("config", "set", "--secret", "kubeconfig", text)


WAYS = {"context": by_context, "secret": by_secret}


@pytest.mark.parametrize("ann", WAYS, indirect=True)
def test_another_cluster_of_the_configuration_is_refused(ann, plane, other):
    """See defects L1."""
    namespace = f"other-{ann.called}"
    before = uids(plane, namespace)
    WAYS[ann.called](ann, plane, other)
    for command in (("preview",), UP):
        assert f"kube-system has the UID {identity(other)}) than earlier runs" in ann.fail(*command), command
        assert (uids(plane, namespace), uids(other, namespace)) == (before, {}), command


@pytest.mark.parametrize("ann", ["unchecked"], indirect=True)
def test_a_program_without_the_check_forgets_the_first_cluster(ann, plane, other, home, plain_python, tmp_path):
    """See defects L1."""
    namespace = "other-unchecked"
    before = uids(plane, namespace)
    careless = Workstation(tmp_path / "careless", home, plain_python, called="unchecked")
    careless.without_checks()
    careless.take(ann)
    careless.kubeconfig(other)
    careless.succeed(*UP, "--refresh")
    assert uids(other, namespace)
    assert uids(plane, namespace) == before
    state = careless.succeed("stack", "export")
    (deployment,) = [uid for (kind, *_), uid in before.items() if kind == "Deployment"]
    assert deployment not in state


def nowhere(user):
    user.variables["KUBECONFIG"] = "/nowhere"


def dead_server(user):
    path = user.directory / "config"
    content = json.loads(path.read_text(encoding="utf-8"))
    (port,) = ports.free_ports(["dead"]).values()
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    path.write_text(json.dumps(content), encoding="utf-8")


LOST = {"nowhere": nowhere, "dead-server": dead_server}


@pytest.mark.parametrize("ann", LOST, indirect=True)
def test_commands_without_a_cluster_fail_and_leave_the_living_one(ann, plane):
    """See defects L2."""
    namespace = f"other-{ann.called}"
    before = uids(plane, namespace)
    LOST[ann.called](ann)
    for command in (REFRESH, DESTROY):
        ann.fail(*command)
        assert uids(plane, namespace) == before, command
    assert "cluster: whether earlier runs deployed to this cluster went unchecked" in ann.succeed(*UP)
    assert uids(plane, namespace) == before
    ann.kubeconfig(plane)
    ann.succeed(*EMPTY, "--refresh")
    ann.succeed(*DESTROY)
    assert uids(plane, namespace) == {}
