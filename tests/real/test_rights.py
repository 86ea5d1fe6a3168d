"""The printed rights suffice on the real API server, with a token of exactly these rules; each of them is needed."""

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from cli import rights as command
from composition import Composition, Given, Live, compose
from facts import cluster, facts_file
from facts.kubeconfig import KubeAccess
from judging import rights
from judging.rights import Options, Purpose
from planning.ground.cluster_facts import NOTHING_READ
from tests.support.cluster import identities
from tests.support.cluster.deployments import provide, told
from tests.support.cluster.identities import Right, single_rights
from tests.support.cluster.recorder import Asked, Request, recording
from tests.support.stacks import NAME, tree

pytestmark = pytest.mark.real

NAMESPACE = "rights"
GATEWAYS = "rights-gateways"
PULLED = {"name": "org/m", "source": "kit://registry.example/m:v1", "secrets": ["registry"]}
NETWORK = "nic.rights.example"
SERVICE = {
    "model": PULLED,
    "pod": {
        "priorityClassName": "rights",
        "claims": {"nic": {"deviceClassName": NETWORK}},
        "initContainers": {"wait": {"image": "registry.example/wait:v1"}},
        "privileges": {"reason": "the engine pins memory", "root": True, "capabilities": ["IPC_LOCK"]},
        "volumes": {"settings": {"type": "config-map", "mountPath": "/etc/engine", "files": {"engine.yaml": "a: 1\n"}}},
    },
    "endpointPicker": {"proxy": {}},
}
STAGES = {"encode": {}, "prefill": {"sets": {"long": {}, "short": {}}}}
STORED = {
    "model": {"source": "hf://org/stored@v1", "size": "64Mi"},
    "storage": {"type": "dedicated", "storageClassName": NAMESPACE},
}
CARDS = {
    "driver": NETWORK,
    "allNodes": True,
    "pool": {"name": NAMESPACE, "generation": 1, "resourceSliceCount": 1},
    "devices": [{"name": f"nic-{index}"} for index in range(8)],
}
"""Network cards that pods may claim on every node."""
WITH_SECRETS = Options(secrets=True)
UNCHECKED = ("went unchecked", "could not be read")
RBAC = "rbac.authorization.k8s.io/v1"


def stack():
    whole = tree(qwen=SERVICE, staged=STAGES, stored=STORED) | {"namespace": NAMESPACE}
    whole["observability"] = {"metrics": {"type": "prometheus-operator"}, "rules": {}, "dashboards": {}}
    whole["defaults"] = {"endpointPicker": {"metricsAuth": False}}
    return whole | {"gateway": {"name": "gateway", "namespace": GATEWAYS, "provider": "istio", "version": "1.31.2"}}


def apply(plane, *items):
    plane.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}))


def named(kind, name, namespace=None, api="v1", **more):
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **place}, **more}


@pytest.fixture(scope="module")
def earlier(plane, tmp_path_factory):
    """Return a file with the facts of the cluster before it has anything for the stack."""
    file = tmp_path_factory.mktemp("facts") / "facts.json"
    file.write_text(facts_file.text(cluster.read_all(KubeAccess(plane.kubeconfig.read_text(encoding="utf-8"), None))))
    return file


@pytest.fixture(scope="module")
def ground(plane, earlier):
    """Make what the stack needs, and return the control plane."""
    assert earlier.exists()
    listener = {"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}}
    provide(plane, NAMESPACE)
    apply(
        plane,
        named("Namespace", NAMESPACE),
        named("Namespace", GATEWAYS),
        named("PriorityClass", "rights", api="scheduling.k8s.io/v1", value=10),
        named("DeviceClass", NETWORK, api="resource.k8s.io/v1", spec={"selectors": [{"cel": {"expression": "true"}}]}),
        named("ResourceSlice", NAMESPACE, api="resource.k8s.io/v1", spec=CARDS),
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


def kubeconfig(plane, token, server=None):
    """Return the kubeconfig of an identity, at another address if one is given."""
    config = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": token}
    if server is not None:
        config["clusters"][0]["cluster"]["server"] = server
    return yaml.safe_dump(config)


def report(config):
    """Return what a run says of the cluster, of what it could not read alone."""
    found = compose(stack(), Live(config, Path()), NAME)
    assert isinstance(found, Composition)
    problems = (*found.preflight, *found.waits.warnings, *found.announcements)
    return [str(problem) for problem in problems if any(text in str(problem) for text in UNCHECKED)]


class Runner:
    """An identity with given rules and nothing else."""

    def __init__(self, plane, name, server=None):
        self.plane = plane
        self.name = name
        apply(plane, named("ServiceAccount", name, NAMESPACE))
        self.token = plane.kubectl("create", "token", name, "-n", NAMESPACE).strip()
        self.kubeconfig = kubeconfig(plane, self.token, server)

    def may(self, roles, without=()):
        """Give the identity the rules of some roles, in place of those that it had, and wait until it has them."""
        subject = {"kind": "ServiceAccount", "name": self.name, "namespace": NAMESPACE}
        name = f"{self.name}-rights"
        items = []
        absent = {each for each in single_rights(roles) if each[2:] in without}
        for role in roles:
            place = role["metadata"].get("namespace", "")
            rules = [right.rule for right in sorted(single_rights([role]) - absent)] if without else role["rules"]
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role["kind"], "name": name}
            items += [
                named(role["kind"], name, place, RBAC, rules=rules),
                named(f"{role['kind']}Binding", name, place, RBAC, roleRef=reference, subjects=[subject]),
            ]
        apply(self.plane, *items)
        self._settle({right: right not in absent for right in single_rights(roles)})

    def _settle(self, expected, deadline=120):
        """Wait until the rights are as expected: the API server takes a moment to see a rule come or go."""
        until = time.monotonic() + deadline
        with identities.client(self.plane) as api:
            for right, is_allowed in expected.items():
                while api.may(self.token, right) is not is_allowed:
                    assert time.monotonic() < until, right
                    time.sleep(0.05)


def composed():
    found = compose(stack(), Given(NOTHING_READ), NAME)
    assert isinstance(found, Composition)
    return found


def printed(purpose, options):
    return list(command.roles(command.of_composition(composed(), purpose, options), purpose))


SUBJECTS = {
    "customresourcedefinitions": "whether the cluster's CRDs are new enough went unchecked",
    "gateways": f"listeners of {GATEWAYS}/gateway went unchecked",
    "httproutes": "routes",
    "namespaces": f"namespaces ({NAMESPACE}) went unchecked",
    "nodes": "nodes went unchecked",
    "resourcequotas": f"quotas of {NAMESPACE} went unchecked",
    "priorityclasses": "PriorityClasses (rights) went unchecked",
    "secrets": f"Secrets of pods (1 in {NAMESPACE}) went unchecked",
    "storageclasses": f"StorageClasses ({NAMESPACE}) went unchecked",
}
"""Beginning of the line that names a resource as unchecked. Objects of the stack are named by their kinds."""


def is_named(right, lines):
    """Tell whether a report names what a right is for."""
    subject = SUBJECTS.get(right.resource)
    text = "\n".join(lines)
    return subject in text if subject is not None else right.resource.removesuffix("s") in text.lower()


def test_the_rights_to_preview_leave_nothing_unchecked(ground):
    runner = Runner(ground, "looker")
    runner.may(printed(Purpose.PREVIEW, WITH_SECRETS))
    assert report(runner.kubeconfig) == []


def test_a_preview_without_secrets_names_them_and_nothing_else(ground):
    runner = Runner(ground, "looker-at-objects")
    runner.may(printed(Purpose.PREVIEW, Options()))
    assert report(runner.kubeconfig) == [
        f"Secrets of pods (1 in {NAMESPACE}) went unchecked: the cluster could not be read (it answered 403)"
    ]


@dataclass(frozen=True)
class Runs:
    """Requests of runs, and their output."""

    deployed: Mapping[Asked, Request]
    previewed: Mapping[Asked, Request]
    refused: Mapping[str, Collection[Asked]]
    """Refused requests of runs with all of the printed rights, by command."""
    deployment: str
    """Output of the run that deployed with all of the printed rights."""
    failures: Mapping[str, str]
    """Output of runs that lack some rights, by command."""
    preview: str


class Steps:
    """Runs of one deployment, by an identity with printed rights, before a recorder."""

    def __init__(self, deployment, runner, recorder):
        self.deployment = deployment
        self.runner = runner
        self.recorder = recorder
        self.deployed = {}
        self.refused = {}
        self.failures = {}

    def succeed(self, roles, *command):
        """Run a command with some roles, and return what it asked and said."""
        self.runner.may(roles)
        self.recorder.refused.clear()
        done = self.deployment.engine.run(*command, check=False)
        assert done.returncode == 0, told(done)
        asked, self.refused[command[0]] = self.recorder.take()
        return asked, told(done)

    def fail(self, roles, without, *command):
        """Run a command without some of the rights of roles, and return what was allowed nevertheless."""
        self.runner.may(roles, without)
        done = self.deployment.engine.run(*command, check=False)
        assert done.returncode != 0, told(done)
        self.failures[command[0]] = told(done)
        return self.recorder.take()[0]


@pytest.fixture(scope="module")
def runs(ground, earlier, deploy_for_all):
    """Deploy, preview and destroy with the printed rights alone, each after a run without some of them."""
    deploying = printed(Purpose.DEPLOY, Options())
    previewing = printed(Purpose.PREVIEW, WITH_SECRETS)
    up = ("up", "--yes", "--skip-preview")
    refreshed = ("preview", "--refresh")
    destroy = ("destroy", "--yes")
    with recording(ground) as recorder:
        runner = Runner(ground, "runner", recorder.url)
        deployment = deploy_for_all(stack())
        deployment.engine._kubeconfig = deployment.project / "kubeconfig"
        deployment.engine._kubeconfig.write_text(runner.kubeconfig)
        steps = Steps(deployment, runner, recorder)
        without = {("services", (), "create"), ("configmaps", (), "patch")}
        deployed = steps.fail(deploying, without, *up, "--continue-on-error")
        asked, deployment_text = steps.succeed(deploying, *up)
        deployed |= asked
        # A refresh has the credentials of the run before it, so the same identity previews.
        steps.fail(previewing, {("services", (), "get")}, *refreshed)
        change = ("--expect-no-changes", "-c", f"inference-stacks:previewed={earlier}")
        previewed, preview = steps.succeed(previewing, *refreshed, *change)
        deployed |= steps.fail(deploying, {("services", (), "delete")}, *destroy, "--skip-preview")
        deployed |= steps.succeed(deploying, *destroy, "--skip-preview")[0]
    return Runs(deployed, previewed, steps.refused, deployment_text, steps.failures, preview)


FAILURES = {
    "create": ("up", 'cannot create resource "services"'),
    "patch": ("up", 'cannot patch resource "configmaps"'),
    "get": ("preview", 'cannot get resource "services"'),
    "delete": ("destroy", 'cannot delete resource "services"'),
}
"""Command that lacks a verb, and a part of its output."""


@pytest.mark.parametrize("verb", FAILURES)
def test_a_run_without_a_right_fails_and_names_the_object(runs, verb):
    run, text = FAILURES[verb]
    assert text in runs.failures[run]


@pytest.mark.parametrize("command", ["up", "preview", "destroy"])
def test_nothing_is_refused_to_a_run_with_the_printed_rights(runs, command):
    # The provider explains what it waits for by events, if it may read them.
    assert [asked for asked in sorted(runs.refused[command]) if asked.resource != "events"] == []


def test_a_preview_tells_what_has_changed_since_the_one_that_was_approved(runs):
    text = "inference-stacks:previewed: the cluster has changed since this file was written"
    for change in (f"namespaces: {NAMESPACE} is new", "priority_classes: rights is new"):
        assert f"{text} ({change})" in runs.preview


def unrefused(api, tokens, asked):
    """Return the rights without which no request is refused, each with the answers.

    `tokens` belong to identities that have every other right. There is no answer if no request needs the right.
    """
    found = {}
    for right, token in tokens.items():
        uses = [request for each, request in asked.items() if right.is_used(each)]
        gifts = [request for each, request in asked.items() if right.is_given(each, request)]
        answers = [api.answer(token, request) for request in (uses or gifts)[:1]]
        text = right.refusal(is_given=not uses)
        if not any(status == 403 and text in message for status, message in answers):
            found[right] = answers
    return found


@pytest.fixture(scope="module")
def deployers(ground):
    """Return tokens of identities that each lack one right to deploy, by right."""
    with identities.client(ground) as api:
        return identities.tokens_without(api, single_rights(printed(Purpose.DEPLOY, Options())), NAMESPACE, "deployer")


def test_every_right_to_deploy_is_needed_by_a_request_of_a_run(ground, runs, deployers):
    bound = {right for right in deployers if right.resource == "rolebindings"}
    with identities.client(ground) as api:
        others = {right: token for right, token in deployers.items() if right not in bound}
        assert unrefused(api, others, runs.deployed) == {}
        # Of a Role that is not there, the API server says nothing else.
        apply(ground, *(item.manifest for item in composed().objects if item.manifest["kind"] == "Role"))
        assert unrefused(api, {right: deployers[right] for right in bound}, runs.deployed) == {}
    assert len(deployers) > 90


def test_a_run_names_each_right_that_it_lacks_before_anything_changes(ground, runs, deployers):
    needed = command.of_composition(composed(), Purpose.DEPLOY, Options())
    found = dict[Right, list[str]]()
    for right, token in deployers.items():
        permissions = cluster.permissions(KubeAccess(kubeconfig(ground, token), None), [NAMESPACE, GATEWAYS])
        found[right] = [str(problem) for problem in rights.judge(needed, permissions)]
    place = {right: f"namespace {right.namespace}" if right.namespace else "the whole cluster" for right in found}
    assert {right: lines for right, lines in found.items() if len(lines) != 1} == {}
    for right, (line,) in found.items():
        assert f"is not allowed to {right.verb} {right.resource} in {place[right]}" in line
    assert "this run is not allowed to patch configmaps, create services in namespace rights" in runs.failures["up"]
    assert "this run is not allowed to" not in runs.deployment


def test_without_any_right_to_preview_it_is_told_what_went_unchecked_or_a_refresh_is_refused(ground, runs):
    needed = single_rights(printed(Purpose.PREVIEW, WITH_SECRETS))
    with identities.client(ground) as api:
        tokens = identities.tokens_without(api, needed, NAMESPACE, "previewer")
        found = {right: report(kubeconfig(ground, token)) for right, token in tokens.items()}
        unnamed = {right: tokens[right] for right, lines in found.items() if not is_named(right, lines)}
        # Objects of the stack are listed by the program. The provider reads each of them, and what pods belong to.
        assert unnamed.keys() == {
            right
            for right in needed
            if (right.verb == "get" and not right.names) or right.resource in {"pods", "replicasets"}
        }
        assert unrefused(api, unnamed, runs.previewed) == {}
