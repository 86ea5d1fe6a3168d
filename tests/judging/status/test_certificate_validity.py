"""The certificates of a listener are judged together: one that clients accept suffices."""

import base64
import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from judging.status.records import Link
from planning.ground.snapshot import TLS_CERTIFICATE
from tests.support.living_objects import Living

DAY = dt.timedelta(days=1)
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
