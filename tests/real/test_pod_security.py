"""The API server refuses exactly the pods and Deployments that we say it refuses, and for the same of two reasons.

The server's own Pod Security admission judges the pods, and its own validation the pods and the Deployments. Pods of
stacks with privileges are judged at every level, and a preview names the level that they need.
"""

import re

import pytest

from composition import Composition, Live, compose
from judging import pod_security
from manifests import pod_templates
from models.paths import Path
from planning.ground.labels import POD_SECURITY_LEVEL
from planning.ground.needs import BASELINE, LEVELS, PRIVILEGED, PodPrivileges
from planning.ground.needs import RESTRICTED as RESTRICTED_LEVEL
from tests.support.cluster.server import refusals
from tests.support.cluster.verdicts import ours
from tests.support.engine import shipped
from tests.support.stacks import NAME, PIN, WORDS, patched_pods, rendered, tree

pytestmark = pytest.mark.real

COUNT = 300
VALID = "admitted"
RESTRICTED = "not restricted"
INVALID = "invalid"
KEPT = {str(path) for path in (*WORDS, *shipped.ROWS)}
"""Names of the stacks with words that no shipped stack has, and of those that say llm-d's guides."""
OTHERS = ("serviceAccountName", "priorityClassName", "runtimeClassName")
"""Fields with names of objects that the pods need besides. They decide nothing about levels."""
PRIVILEGES = {
    "none": (None, RESTRICTED_LEVEL),
    "root": ({"root": True}, BASELINE),
    "capability": ({"root": True, "capabilities": ["CHOWN"]}, BASELINE),
    "locked": ({"root": True, "capabilities": ["IPC_LOCK"]}, PRIVILEGED),
    "unconfined": ({"unconfined": True}, PRIVILEGED),
    "host": ({"hostIPC": True, "hostPID": True, "hostNetwork": True}, PRIVILEGED),
    "privileged": ({"privileged": True}, PRIVILEGED),
}
"""Privileges of a service, and the strictest level that admits its pods."""
ANSWER = re.compile(r"\w+ ([\w-]+): \d+ ([\s\S]*)")


@pytest.fixture(scope="module", autouse=True)
def _namespace(plane):
    """Make a namespace that enforces the level `restricted`, with the account of its pods."""
    name = patched_pods.NAMESPACE
    plane.kubectl("create", "namespace", name)
    plane.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "--namespace", name, "--timeout=60s")
    yield
    plane.kubectl("delete", "namespace", name, "--wait=false")


def theirs(plane, manifests):
    """Return the server's verdict on each object, by name."""
    answers = dict(ANSWER.fullmatch(line).groups() for line in refusals(plane, manifests))
    verdicts = {name: RESTRICTED if "violates PodSecurity" in text else INVALID for name, text in answers.items()}
    return {manifest["metadata"]["name"]: VALID for manifest in manifests} | verdicts


def of_pod(deployment):
    """Return our verdict on the pods of a Deployment. The server validates a pod before it judges its level."""
    if not ours(deployment):
        return INVALID
    findings = [
        finding for template in pod_templates.templates(deployment) for finding in pod_security.findings(template)
    ]
    return RESTRICTED if any(finding.excess.is_refused(None) for finding in findings) else VALID


def test_the_server_admits_to_a_restricted_namespace_the_pods_that_we_admit_and_no_other(plane):
    """See defects H10."""
    deployments = list(patched_pods.of_pods(COUNT))
    expected = {manifest["metadata"]["name"]: of_pod(manifest) for manifest in deployments}
    assert {*expected.values()} == {VALID, RESTRICTED, INVALID}
    assert theirs(plane, [patched_pods.pod(manifest) for manifest in deployments]) == expected


def test_the_server_takes_the_deployments_that_we_take_and_no_other(plane):
    """See defects H10."""
    deployments = list(patched_pods.deployments(COUNT))
    expected = {manifest["metadata"]["name"]: VALID if ours(manifest) else INVALID for manifest in deployments}
    assert {*expected.values()} == {VALID, INVALID}
    assert theirs(plane, deployments) == expected


@pytest.fixture(scope="module")
def levels(plane):
    """Make a namespace for each level, and return their names by level."""
    names = {level: f"level-{level}" for level in LEVELS}
    for level, name in names.items():
        plane.kubectl("create", "namespace", name)
        plane.kubectl("label", "namespace", name, f"{POD_SECURITY_LEVEL}={level}")
        plane.kubectl("wait", "--for=create", "serviceaccount/default", "--namespace", name, "--timeout=60s")
    yield names
    for name in names.values():
        plane.kubectl("delete", "namespace", name, "--wait=false")


def pods_of(manifests):
    """Yield a name, a spec and our level of the pods of each template. Its name has the template's place."""
    for manifest in manifests:
        for index, template in enumerate(pod_templates.templates(manifest)):
            excesses = tuple(finding.excess for finding in pod_security.findings(template))
            name = f"{manifest['kind']}-{manifest['metadata']['name']}-{index}".lower()
            spec = {key: value for key, value in template.spec.items() if key not in OTHERS}
            yield name, spec, PodPrivileges(excesses, "", Path(), "").level(None)


def admitted(plane, names, pods):
    """Return the strictest level that admits each pod, by its name. `pods` are specs by name."""
    strictest = dict.fromkeys(pods, "none")
    for level in LEVELS:
        manifests = [
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": names[level]}, "spec": spec}
            for name, spec in pods.items()
        ]
        refused = theirs(plane, manifests)
        strictest |= {name: level for name in pods if refused[name] == VALID}
    return strictest


def stack_with(privileges, **keys):
    """Return a stack whose engine has privileges."""
    pod = {} if privileges is None else {"pod": {"privileges": {"reason": "a test", **privileges}}}
    return {**tree(qwen={"model": {"name": "org/m", "source": f"kit://registry.example/m@{PIN}"}, **pod}), **keys}


def test_the_server_admits_pods_of_each_stack_at_the_level_that_we_say(plane, levels):
    specs = dict[str, object]()
    expected = dict[str, str]()
    for index, (origin, stack) in enumerate((name, stack) for name, stack in shipped.stacks() if name in KEPT):
        for name, spec, level in pods_of(rendered(stack)):
            specs[f"s{index}-{name}"] = spec
            expected[f"s{index}-{name}"] = level
        assert origin in KEPT
    assert admitted(plane, levels, specs) == expected
    assert {*expected.values()} == {*LEVELS}


def test_each_privilege_needs_the_level_that_we_say(plane, levels):
    specs = dict[str, object]()
    expected = dict[str, str]()
    for name, (privileges, level) in PRIVILEGES.items():
        for _, spec, ours_of_pod in pods_of(rendered(stack_with(privileges))):
            if any(container["name"] == "vllm" for container in spec["containers"]):
                specs[name] = spec
                expected[name] = level
                assert ours_of_pod == level
    assert admitted(plane, levels, specs) == expected


@pytest.mark.parametrize(("name", "level"), [(name, level) for name in PRIVILEGES for level in LEVELS])
def test_a_preview_names_the_level_that_pods_with_privileges_need(plane, levels, name, level):
    privileges, needed = PRIVILEGES[name]
    stack = stack_with(privileges, namespace=levels[level])
    composition = compose(stack, Live(plane.kubeconfig.read_text(encoding="utf-8"), None), NAME)
    assert isinstance(composition, Composition)
    messages = [str(problem) for problem in composition.preflight if "are not admitted" in str(problem)]
    is_admitted = LEVELS.index(needed) >= LEVELS.index(level)
    assert bool(messages) is not is_admitted
    for message in messages:
        assert f"are not admitted in namespace level-{level}, whose level is {level} (" in message
        assert message.endswith(f"or set {POD_SECURITY_LEVEL}: {needed} on the namespace")
