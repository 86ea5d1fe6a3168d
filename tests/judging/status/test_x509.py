"""The end of a certificate as the program reads it, beside the reading of `cryptography` and of a TLS client."""

import base64
import datetime as dt
import socket
import ssl
import threading

import pytest
from cryptography import x509 as oracle
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

from judging.status import x509
from tests.support.cluster import certificates

YEARS = (1951, 1999, 2000, 2026, 2049, 2050, 2099, 9999)


def secret(pem):
    return {"data": {"tls.crt": base64.b64encode(pem).decode()}}


@pytest.mark.parametrize("year", YEARS)
def test_the_end_is_read_in_both_forms_of_time(year):
    key = ec.generate_private_key(ec.SECP256R1())
    name = oracle.Name([oracle.NameAttribute(oracle.NameOID.COMMON_NAME, "x" * 60)])
    end = dt.datetime(year, 12, 31, 23, 59, 58, tzinfo=dt.UTC)
    builder = oracle.CertificateBuilder(name, name, key.public_key(), 5, dt.datetime(1950, 1, 2, tzinfo=dt.UTC), end)
    der = builder.sign(key, SHA256()).public_bytes(certificates.serialization.Encoding.DER)
    assert x509.validity(der) == (dt.datetime(1950, 1, 2, tzinfo=dt.UTC), end)
    assert oracle.load_der_x509_certificate(der).not_valid_after_utc == end
    for length in range(len(der)):
        with pytest.raises(ValueError, match=r"."):
            x509.validity(der[:length])


def test_the_first_certificate_of_a_chain_counts_and_text_before_it_does_not(tmp_path):
    made = certificates.make(tmp_path)
    server = oracle.load_pem_x509_certificate(made.data("server")).not_valid_after_utc
    other = certificates.make(tmp_path, days=9)
    chain = b"subject=x\n" + made.data("server") + other.data("ca")
    assert x509.validity_of_secret(secret(chain))[1] == oracle.load_pem_x509_certificate(chain).not_valid_after_utc
    assert x509.validity_of_secret(secret(chain))[1] != server


@pytest.mark.parametrize("data", [None, 5, "", "=", "%%%", "aGVsbG8=", base64.b64encode(b"\xff" * 9).decode()])
def test_what_is_no_certificate_has_no_end(data):
    assert x509.validity_of_secret({"data": {"tls.crt": data}}) is None
    assert x509.validity_of_secret({}) is None
    empty = b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"
    assert x509.validity_of_secret(secret(empty)) is None


def test_elements_after_the_validity_are_not_read():
    """They are of another length than they say, so that reading them would fail."""
    times = b"\x17\x0d260101000000Z" * 2
    fields = (
        b"\x02\x01\x05"
        + b"\x30\x00" * 2
        + b"\x30"
        + bytes([len(times)])
        + times
        + b"\x05\x00" * 9
        + b"\x05\x84\xff\xff\xff\xff"
    )
    body = b"\x30\x84" + len(fields).to_bytes(4, "big") + fields
    der = b"\x30\x84" + len(body).to_bytes(4, "big") + body
    assert x509.validity(der) == (dt.datetime(2026, 1, 1, tzinfo=dt.UTC),) * 2


@pytest.mark.parametrize(("days", "outcome"), [(1, "connected"), (-0.5, "certificate has expired")])
def test_a_client_that_verifies_ends_the_connection_exactly_if_the_certificate_has_expired(tmp_path, days, outcome):
    made = certificates.make(tmp_path, days=days)
    _, end = x509.validity_of_secret(secret(made.data("server")))
    assert (end <= dt.datetime.now(dt.UTC)) == (outcome != "connected")
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=(server, made.server_context()))
        thread.start()
        try:
            with socket.create_connection(server.getsockname()) as client:
                assert shaken(context, client).count(outcome)
        finally:
            thread.join()


def shaken(context, client):
    """Return what becomes of a handshake with the server."""
    try:
        with context.wrap_socket(client, server_hostname=certificates.SERVER):
            return "connected"
    except ssl.SSLCertVerificationError as error:
        return error.verify_message


def answer(server, context):
    connection, _ = server.accept()
    try:
        with context.wrap_socket(connection, server_side=True):
            pass
    except (ssl.SSLError, ConnectionError):
        pass
