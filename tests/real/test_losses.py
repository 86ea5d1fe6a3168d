"""Runs that would end running services: each is refused with its cause, and passes with its word.

With a program that checks no losses, the same runs end the services.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.workstations import Workstation, small, uids
from tests.support.rows import mostly_proven
from tests.support.stacks import with_copies

pytestmark = pytest.mark.real

UP = ("up", "--yes", "--skip-preview")
SPLIT = {"prefill": {}, "drainTimeout": "1s"}
"""A service of which another release replaces all pods."""
WORDS = ["cluster", "name", "namespace", "release", "removal", "takeover"]


def split(namespace, **more):
    """Return a stack with a service of two roles, and no route."""
    stack = in_namespace(namespace, bert=SPLIT)
    del stack["gateway"]
    return stack | more


def two(namespace, **more):
    """Return a stack with two services."""
    stack = small(namespace)
    return stack | {"services": {"bert": stack["services"]["bert"], "qwen": stack["services"]["bert"]}} | more


def with_service(stack, key="bert", **changes):
    """Return a stack whose one service has another key or other values."""
    return stack | {"services": {key: stack["services"]["bert"] | changes}}


class Row(NamedTuple):
    """A change that ends running services."""

    before: Callable[[str], dict[str, Any]]
    """Function that returns the stack before the change, in a namespace."""
    after: Callable[[str], dict[str, Any]]
    word: str
    """Word that allows the change."""
    path: str
    """Path that the refusal names."""
    reason: str
    """Text of the refusal after the path, with `{a}` for the namespace."""


POD = "(1 pod with 1 device)"
ROWS = {
    "namespace": Row(
        small,
        lambda a: small(f"{a}-moved"),
        "namespace",
        "services.bert",
        f"all of {{a}}/bert {POD}: its namespace becomes {{a}}-moved; keep namespace: {{a}}",
    ),
    "of-service": Row(
        small,
        lambda a: with_service(small(a), namespace=f"{a}-own"),
        "namespace",
        "services.bert",
        f"all of {{a}}/bert {POD}: its namespace becomes {{a}}-own; keep namespace: {{a}}",
    ),
    "created": Row(
        small,
        lambda a: small(a, namespaceOptions={"create": False}),
        "namespace",
        "namespaceOptions.create",
        f"all of {{a}}/bert {POD}: it would delete namespace {{a}}, which the state has and the configuration does not "
        "create; keep it true",
    ),
    "name": Row(
        small,
        lambda a: with_service(small(a), name="bertha"),
        "name",
        "services.bert",
        f"all of {{a}}/bert {POD}: its name becomes bertha; keep name: bert",
    ),
    "key": Row(
        small,
        lambda a: with_service(small(a), key="bertha"),
        "removal",
        "services.bert",
        f"all of {{a}}/bert {POD}: the configuration does not have it; if its key was renamed, write name: bert below "
        "the new key",
    ),
    "removal": Row(
        two,
        small,
        "removal",
        "services.qwen",
        f"all of {{a}}/qwen {POD}: the configuration does not have it; if its key was renamed, write name: qwen below "
        "the new key",
    ),
    "release": Row(
        split,
        lambda a: with_copies(split(a, release="llm-d-0.6")),
        "release",
        "services.bert",
        "all of {a}/bert (2 pods with 2 devices): release llm-d-0.6 replaces all pods of release llm-d-0.10, which run "
        "beside them meanwhile; keep release: llm-d-0.10",
    ),
}


@pytest.fixture
def user(home, packages, plane, tmp_path, request):
    """Return a workstation for a stack that is called as the test's row."""
    user = Workstation(tmp_path / "user", home, packages, called=request.node.callspec.id)
    user.kubeconfig(plane)
    return user


@pytest.fixture
def unchecked(user, home, plain_python, plane, tmp_path):
    """Return a workstation for the same stack, with a program that checks no losses."""
    careless = Workstation(tmp_path / "careless", home, plain_python, called=user.called)
    careless.kubeconfig(plane)
    careless.without_checks()
    return careless


def lines(text):
    return [line.strip() for line in text.splitlines()]


def serving_pods(plane, namespace):
    """Return the UIDs of the pods of the services in a namespace."""
    return {
        name: uid for (kind, _, name), uid in uids(plane, namespace).items() if kind == "Pod" and "-epp-" not in name
    }


@pytest.mark.parametrize("name", mostly_proven(ROWS, {"namespace", "created", "key", "removal"}))
def test_a_loss_is_refused_with_its_cause_passes_with_its_word_and_happens_unchecked(name, user, unchecked, plane):
    """See defects L1."""
    row = ROWS[name]
    namespace = f"lost-{user.called}"
    before = row.before(namespace)
    after = row.after(namespace)
    user.begin(before)
    user.succeed(*UP)
    running = uids(plane, namespace)
    user.write(after)
    remedy = f", or write allow: [{row.word}] for one run"
    line = f"- {row.path}: this run would end {row.reason.format(a=namespace)}{remedy}"
    for command in (("preview",), UP):
        assert line in lines(user.fail(*command)), command
        assert uids(plane, namespace) == running, command
    user.write(after | {"allow": [word for word in WORDS if word != row.word]})
    assert line in lines(user.fail(*UP))
    for careless in (user, unchecked):
        user.write(before | {"allow": [row.word]})
        user.succeed(*UP, "--refresh")
        served = serving_pods(plane, namespace)
        assert served
        careless.take(user)
        careless.write(after | ({"allow": [row.word]} if careless is user else {}))
        careless.succeed(*UP)
        ended = {name for name, uid in served.items() if serving_pods(plane, namespace).get(name) != uid}
        assert ended == {name for name in served if name.startswith("qwen" if row is ROWS["removal"] else "bert")}


OF_ANOTHER_STATE = {"project": ("chat", "project"), "stack": ("inference-stacks", "stack-2")}
"""Project and stack to which a user switches without moving the state."""


@pytest.mark.parametrize("row", OF_ANOTHER_STATE)
def test_objects_of_another_state_are_taken_over_on_purpose_only(row, user, unchecked, plane):
    """See defects L1."""
    namespace = f"lost-{row}"
    former = f"inference-stacks/{row}"
    user.begin(small(namespace))
    user.succeed(*UP)
    running = uids(plane, namespace)
    project, called = OF_ANOTHER_STATE[row]
    for workstation in (user, unchecked):
        workstation.rename_project(project)
        workstation.called = called
    stack = small(namespace, formerly=[former])
    user.begin(stack)
    line = (
        f"- formerly: Service {namespace}/bert and 1 further object exist with the mark of organization/{former}, "
        f"whose state has them, too, and can delete them; rename that stack (pulumi stack rename "
        f"organization/{project}/{called}), or write allow: [takeover] for one run"
    )
    for command in (("preview",), UP):
        assert line in lines(user.fail(*command)), command
    unchecked.take(user)
    user.write(stack | {"allow": ["takeover"]})
    user.succeed("preview")
    unchecked.succeed(*UP)
    assert uids(plane, namespace) == running
    user.rename_project("inference-stacks")
    user.called = row
    user.succeed("destroy", "--yes", "--skip-preview")
    assert uids(plane, namespace) == {}
