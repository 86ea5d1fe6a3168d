"""A Certificate of cert-manager is blamed once its issuer has had time to answer, or has failed."""

from datetime import UTC, datetime, timedelta

import pytest

from judging.status import certificates, evidence
from planning.ground.snapshot import CERTIFICATE, Snapshot

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
GATEWAY = {"metadata": {"namespace": "gateways", "name": "front"}}
LISTENER = {"name": "https", "tls": {"certificateRefs": [{"name": "public-tls"}]}}


def text(moment):
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def states(seconds, **status):
    """Return the states of a Certificate that has not been ready for some seconds."""
    ready = {"type": "Ready", "status": "False", "reason": "DoesNotExist", "message": "no Secret"}
    ready["lastTransitionTime"] = text(NOW - timedelta(seconds=seconds))
    certificate = {
        "metadata": {"namespace": "gateways", "name": "public"},
        "spec": {"secretName": "public-tls"},
        "status": {"conditions": [ready], **status},
    }
    reading = evidence.of(Snapshot(NOW, {CERTIFICATE: (certificate,)}), {}, {})
    return [finding.state.id for finding in certificates.findings(GATEWAY, LISTENER, reading)]


@pytest.mark.parametrize(("seconds", "names"), [(3, []), (299, []), (301, ["certificate-unready"])])
def test_an_issuer_has_five_minutes_to_answer(seconds, names):
    assert states(seconds) == names


def test_a_request_that_has_failed_is_named_at_once():
    assert states(3, lastFailureTime=text(NOW)) == ["certificate-unready"]
