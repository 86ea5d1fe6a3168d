"""The API server refuses exactly the pods and Deployments that we say it refuses, and for the same of two reasons.

The server's own Pod Security admission judges the pods, and its own validation the pods and the Deployments.
"""

import re

import pytest

from judging import pod_security
from manifests import pod_templates
from tests.support.cluster.server import refusals
from tests.support.cluster.verdicts import ours
from tests.support.stacks import patched_pods

pytestmark = pytest.mark.real

COUNT = 300
VALID = "admitted"
RESTRICTED = "not restricted"
INVALID = "invalid"
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
