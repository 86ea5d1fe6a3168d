"""Settings of pods that the level `restricted` does not admit, each with the strictest level that admits it."""

import pytest

from judging import pod_security
from manifests import pod_templates

SEALED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
POD = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [{"name": "a", "securityContext": SEALED}],
}


def told(**changes):
    """Return text and level of each finding about a pod."""
    template = {"metadata": {}, "spec": {**POD, **changes}}
    (found,) = pod_templates.templates({"kind": "Deployment", "spec": {"template": template}})
    return [(finding.excess.text, finding.excess.level) for finding in pod_security.findings(found)]


def test_a_sealed_pod_is_admitted():
    assert told() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"hostNetwork": True}, ("hostNetwork: true", "privileged")),
        ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, ("hostPath", "privileged")),
        ({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}, ("runAsNonRoot", "baseline")),
    ],
)
def test_a_setting_has_the_strictest_level_that_admits_it(changes, expected):
    ((text, level),) = told(**changes)
    assert (expected[0] in text, level) == (True, expected[1])
