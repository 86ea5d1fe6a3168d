"""The printed rights suffice on the real API server, with a token of exactly these rules; each of them is needed."""

import json
import time
from pathlib import Path

import pytest
import yaml

from cli import rights as command
from composition import Composition, Given, Live, compose
from planning.ground.cluster_facts import NOTHING_READ
from planning.rights import Options, Purpose
from tests.support.cluster.deployments import provide, told
from tests.support.cluster.recorder import recording
from tests.support.stacks import NAME, tree

pytestmark = pytest.mark.real

NAMESPACE, GATEWAYS = "rights", "rights-gateways"
PULLED = {"name": "org/m", "source": "kit://registry.example/m:v1", "secrets": ["registry"]}
SERVICE = {"model": PULLED, "pod": {"priorityClassName": "rights"}}
STORED = {
    "model": {"source": "hf://org/stored@v1", "size": "64Mi"},
    "storage": {"type": "dedicated", "storageClassName": NAMESPACE},
}
WITH_SECRETS = Options(secrets=True)
UNCHECKED = ("went unchecked", "could not be read")


def stack():
    whole = tree(qwen=SERVICE, stored=STORED) | {"namespace": NAMESPACE}
    return whole | {"gateway": {"name": "gateway", "namespace": GATEWAYS, "provider": "istio", "version": "1.31.2"}}


def apply(plane, *items):
    plane.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}))


def named(kind, name, namespace=None, api="v1", **more):
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **place}, **more}


@pytest.fixture(scope="module")
def ground(plane):
    """Make what the stack needs, and return the control plane."""
    listener = {"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}}
    provide(plane, NAMESPACE)
    apply(
        plane,
        named("Namespace", NAMESPACE),
        named("Namespace", GATEWAYS),
        named("PriorityClass", "rights", api="scheduling.k8s.io/v1", value=10),
        named("Secret", "registry", NAMESPACE),
        named(
            "Gateway",
            "gateway",
            GATEWAYS,
            "gateway.networking.k8s.io/v1",
            spec={"gatewayClassName": "nobody", "listeners": [listener]},
        ),
    )
    return plane


class Runner:
    """An identity with given rules and nothing else."""

    def __init__(self, plane, name, server=None):
        self.plane, self.name = plane, name
        apply(plane, named("ServiceAccount", name, NAMESPACE))
        token = plane.kubectl("create", "token", name, "-n", NAMESPACE).strip()
        config = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))
        config["users"][0]["user"] = {"token": token}
        if server is not None:
            config["clusters"][0]["cluster"]["server"] = server
        self.kubeconfig = yaml.safe_dump(config)

    def may(self, roles):
        """Give the identity some rules, in place of those that it had."""
        subject = {"kind": "ServiceAccount", "name": self.name, "namespace": NAMESPACE}
        for role in roles:
            name, kind = f"{self.name}-rights", role["kind"]
            place = role["metadata"].get("namespace")
            api = "rbac.authorization.k8s.io/v1"
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
            apply(
                self.plane,
                named(kind, name, place, api, rules=role["rules"]),
                named(f"{kind}Binding", name, place, api, roleRef=reference, subjects=[subject]),
            )

    def report(self):
        """Return what a run says of the cluster, of what it could not read alone."""
        composed = compose(stack(), Live(self.kubeconfig, Path()), NAME)
        assert isinstance(composed, Composition)
        problems = (*composed.preflight, *composed.waits.warnings, *composed.announcements)
        return [str(problem) for problem in problems if any(text in str(problem) for text in UNCHECKED)]

    def settled(self, condition, deadline=15):
        """Wait until the report is as expected: the API server takes a moment to see a rule come or go."""
        until = time.monotonic() + deadline
        while not condition(found := self.report()):
            assert time.monotonic() < until, found
            time.sleep(0.1)
        return found


def printed(purpose, options):
    composed = compose(stack(), Given(NOTHING_READ), NAME)
    assert isinstance(composed, Composition)
    return list(command.roles(command.of_composition(composed, purpose, options), purpose))


def lacking(roles):
    """Yield each single right, and the roles without it."""
    for number, role in enumerate(roles):
        for index, rule in enumerate(role["rules"]):
            for resource in rule.get("resources", ()):
                fewer = {**rule, "resources": [each for each in rule["resources"] if each != resource]}
                rules = [*role["rules"][:index], *([fewer] if fewer["resources"] else []), *role["rules"][index + 1 :]]
                yield resource, [*roles[:number], {**role, "rules": rules}, *roles[number + 1 :]]


def test_the_rights_to_look_suffice_and_without_any_of_them_it_is_told_what_went_unchecked(ground):
    runner, roles = Runner(ground, "looker"), printed(Purpose.STATUS, WITH_SECRETS)
    runner.may(roles)
    runner.settled(lambda found: found == [])
    count = 0
    for resource, fewer in lacking(roles):
        runner.may(fewer)
        runner.settled(lambda found: found != [])
        runner.may(roles)
        runner.settled(lambda found: found == [])
        count += 1
        assert resource
    assert count > 12


def test_a_preview_without_secrets_names_them_and_nothing_else(ground):
    runner = Runner(ground, "looker-at-objects")
    runner.may(printed(Purpose.PREVIEW, Options()))
    found = runner.settled(lambda found: len(found) == 1)
    assert found == [
        f"Secrets of pods (1 in {NAMESPACE}) went unchecked: the cluster could not be read (it answered 403)"
    ]


def each(roles):
    """Return (namespace, group, resource, names, verb) of every right to objects in some roles."""
    return {
        (role["metadata"].get("namespace", ""), group, resource, tuple(rule.get("resourceNames", ())), verb)
        for role in roles
        for rule in role["rules"]
        for group in rule.get("apiGroups", ())
        for resource in rule.get("resources", ())
        for verb in rule["verbs"]
    }


def is_used(right, asked):
    """Tell whether a request takes a right."""
    namespace, group, resource, names, verb = right
    return any(
        (request.group, request.resource, request.verb) == (group, resource, verb)
        and namespace in {"", request.namespace}
        and (not names or request.name in names)
        for request in asked
    )


def given():
    """Return the rights that the stack gives to its own identities: who makes a Role needs what it gives."""
    composed = compose(stack(), Given(NOTHING_READ), NAME)
    made = [item.manifest for item in composed.objects]
    bound = {manifest["roleRef"]["name"] for manifest in made if "roleRef" in manifest}
    roles = [manifest for manifest in made if manifest["kind"] in {"Role", "ClusterRole"}]
    return each(roles), bound - {role["metadata"]["name"] for role in roles}


def unused(roles, asked):
    """Return the rights that no request takes, and nobody needs to give them away."""
    given_rights, bound = given()
    return {
        right
        for right in each(roles)
        if not is_used(right, asked) and right not in given_rights and not (right[4] == "bind" and {*right[3]} <= bound)
    }


def test_the_rights_to_deploy_and_to_preview_suffice_and_a_run_uses_each(ground, deploy):
    """Without a right, the request that takes it is refused: rights only add up."""
    deploying, previewing = printed(Purpose.DEPLOY, Options()), printed(Purpose.PREVIEW, Options())
    with recording(ground) as recorder:
        runner, one = Runner(ground, "runner", recorder.url), deploy(stack())
        one.engine._kubeconfig = one.project / "kubeconfig"
        one.engine._kubeconfig.write_text(runner.kubeconfig)
        runner.may(deploying)
        runner.settled(lambda found: found == [])
        done, _ = one.attempt()
        assert done.returncode == 0, told(done)
        deployed = recorder.take()
        # A refresh has the credentials of the run before it, so the same identity previews.
        runner.may(previewing)
        runner.settled(lambda found: len(found) == 1)
        done = one.preview("--refresh")
        assert done.returncode == 0, told(done)
        previewed = recorder.take()
        runner.may(deploying)
        runner.settled(lambda found: found == [])
        one.destroy()
        deployed |= recorder.take()
    assert sorted(unused(deploying, deployed)) == []
    assert sorted(unused(previewing, previewed)) == []
