"""Certificates of listeners: those that clients accept, and those that an issuer does not make."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from judging.status import certificates, evidence
from judging.status.records import Link
from planning.ground.snapshot import CERTIFICATE, TLS_CERTIFICATE, Snapshot
from tests.support.living_objects import Living

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


DAY = timedelta(days=1)
VALID, ENDED, EARLY = (-9, 90), (-9, -1), (1, 90)


def secret(name, data):
    return {"metadata": {"namespace": "gateways", "name": name}, "data": {"tls.crt": data}}


def certificate(now, begin, end):
    """Return a certificate, as a Secret has it, that is valid between two numbers of days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    made = x509.CertificateBuilder(name, name, key.public_key(), 5, now + begin * DAY, now + end * DAY)
    pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return base64.b64encode(pem).decode()


def gateway_with(*validities):
    """Return the link of a Gateway whose listeners have certificates; None for one that cannot be read."""
    living = Living()
    names = [f"tls-{number}" for number in range(len(validities))]
    for listener in living.of("Gateway", "gateway")["spec"]["listeners"]:
        listener["tls"] = {"certificateRefs": [{"name": name} for name in names]}
    contents = ["" if days is None else certificate(living.read_at, *days) for days in validities]
    living.objects[TLS_CERTIFICATE] = list(map(secret, names, contents))
    status = living.status("plain")
    return status.serves, next(link for link in status.components if link.link is Link.GATEWAY)


@pytest.mark.states("certificate-early")
@pytest.mark.parametrize(("days", "state"), [(ENDED, "certificate-expired"), (EARLY, "certificate-early")])
def test_a_certificate_outside_its_validity_stops_clients_and_beside_a_valid_one_it_does_not(days, state):
    serves, gateway = gateway_with(days)
    assert (serves, gateway.findings[0].state.id) == (False, state)
    serves, gateway = gateway_with(days, VALID)
    assert (serves, gateway.is_broken, gateway.findings[0].state.id) == (True, False, state)


def test_nothing_is_known_of_a_certificate_that_cannot_be_read():
    assert gateway_with(None)[0] is None
    assert gateway_with(ENDED, None)[0] is None
    assert gateway_with(VALID, None)[0] is True
