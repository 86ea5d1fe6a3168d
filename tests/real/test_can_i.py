"""Everything that each identity may do, as the API server lists it, against committed tables to be reviewed."""

import json
import time
from pathlib import Path

import pytest

from tests.support.cluster.leader import WAITING, leading
from tests.support.stacks import rendered, tree, with_copies

pytestmark = pytest.mark.real

TABLES = Path("tests/contracts/can-i")
METERING = "metering"
INTERCEPTOR = "phoebe-interceptor"
EVERYONE = ("default", "nobody")
"""An account that nobody made: it may do what every authenticated one may."""
SERVICES = {
    # Two roles of one generation, whose objects' names have none, and one picker that asks who scrapes it.
    "apart": {"rollout": {"type": "Recreate"}, "prefill": {}, "interceptor": {"enabled": False}},
    # Several pickers that anybody may scrape.
    "several": {"endpointPicker": {"replicas": 2, "metricsAuth": False, "pod": {"annotations": WAITING}}},
}
SAME = {"llm-d-0.8": "llm-d-0.10", "llm-d-0.9": "llm-d-0.10", "gie-1.3": "llm-d-0.6", "gie-1.5": "llm-d-0.6"}
"""Channels whose identities may do what those of another channel may."""


def stack(namespace, release, services=SERVICES):
    whole = with_copies(tree(**services) | {"release": release})
    whole |= {"namespace": namespace, "namespaceOptions": {"create": True}}
    interceptor = {"mode": "label", "namespace": METERING}
    return whole | {"observability": {"metrics": {"type": "prometheus-operator"}}, "interceptor": interceptor}


def listed(plane, account, namespace):
    """Return what an account may do in a namespace and outside of all, a line for each rule."""
    arguments = ("--list", f"--as=system:serviceaccount:{':'.join(account)}", "--no-headers", "-n", namespace)
    return {" ".join(line.split()) for line in plane.kubectl("auth", "can-i", *arguments).splitlines()}


def table(plane, account, namespace):
    """Return what an account may do beyond every authenticated one, in its models' namespace and in another.

    What every one may do is a table of its own, `everyone.txt`: nothing is granted to all of them unseen.
    """
    here, elsewhere = (
        sorted(listed(plane, account, place) - listed(plane, EVERYONE, place)) for place in (namespace, "default")
    )
    lines = ["in its models' namespace:", *here, "in another:", *elsewhere]
    return "".join(f"{line.replace(namespace, '<namespace>')}\n" for line in lines)


def settled(question, deadline=120):
    """Ask until two answers are alike: the API server takes a moment to see a binding come."""
    until = time.monotonic() + deadline
    last = question()
    while (found := question()) != last and time.monotonic() < until:
        last = found
    return found


def identities(plane, namespace):
    """Return every account that the stack makes, or gives something to."""
    made = json.loads(plane.kubectl("get", "serviceaccounts", "-n", namespace, "-o", "json"))["items"]
    names = sorted(account["metadata"]["name"] for account in made if "labels" in account["metadata"])
    return [*((namespace, name) for name in names), (METERING, INTERCEPTOR)]


@pytest.mark.parametrize("release", sorted(set(SAME.values())))
def test_each_identity_may_do_what_its_table_says(release, deploy, plane, golden):
    namespace = f"rights-{release.replace('.', '-')}"
    deployed = deploy(stack(namespace, release))
    with leading(plane, namespace, "several"):
        deployed.up()
    tables = {
        account[1]: settled(lambda account=account: table(plane, account, namespace))
        for account in identities(plane, namespace)
    }
    golden(TABLES / f"{release}.txt", "\n".join(f"# {name}\n{text}" for name, text in tables.items()))
    # The negative control: one rule more in a Role shows.
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}
    more = json.dumps([{"op": "add", "path": "/rules/-", "value": rule}])
    plane.kubectl("patch", "role", "apart-epp", "-n", namespace, "--type=json", "-p", more)
    before = tables["apart-epp"].splitlines()
    until = time.monotonic() + 120
    while (after := table(plane, (namespace, "apart-epp"), namespace).splitlines()) == before:
        assert time.monotonic() < until
    assert set(after) - set(before) == {"secrets [] [] [list]"}


def test_what_everyone_may_do_is_what_kubernetes_grants(plane, golden):
    golden(TABLES / "everyone.txt", "".join(f"{line}\n" for line in sorted(listed(plane, EVERYONE, "default"))))


@pytest.mark.parametrize(("release", "other"), SAME.items())
def test_a_channel_without_a_table_has_the_rights_of_another(release, other):
    """A release without a sidecar knows no prefill, so both are compared without."""
    services = {"several": SERVICES["several"], "alone": {}}
    kinds = {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
    first, second = (
        [manifest for manifest in rendered(stack("models", name, services)) if manifest["kind"] in kinds]
        for name in (release, other)
    )
    assert first == second
