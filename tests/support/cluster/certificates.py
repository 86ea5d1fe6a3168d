"""Certificates of a cluster: an authority, a server named `api.example.com` on loopback, and a client."""

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SERVER = "api.example.com"


@dataclass(frozen=True)
class Certificates:
    """Folder with `ca.pem`, and certificate and key of `server` and `client`."""

    folder: Path

    def data(self, name):
        return (self.folder / f"{name}.pem").read_bytes()

    def server_context(self):
        """Return the context of a server that takes the authority's clients, and clients without a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.pem", self.folder / "server-key.pem")
        context.load_verify_locations(self.folder / "ca.pem")
        context.verify_mode = ssl.CERT_OPTIONAL
        return context


def make(folder, names=(SERVER,), days=1.0):
    """Make certificates of an authority, of a server with some names, and of a client.

    Those of server and client end in some days.
    """
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = _name("authority")
    root = _builder(issuer, issuer, authority)
    for extension in (x509.BasicConstraints(ca=True, path_length=None), _usage()):
        root = root.add_extension(extension, critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    _write(folder, "ca", authority, root.add_extension(identifier, critical=False), None)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    alternatives = x509.SubjectAlternativeName([*map(x509.DNSName, names), address])
    for name in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name), issuer, key, days).add_extension(alternatives, critical=False)
        signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
        _write(folder, name, authority, builder.add_extension(signer, critical=False), key)
    return Certificates(folder)


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage():
    """Return the usage of an authority's key, without which OpenSSL's strict checks refuse it."""
    others = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    return x509.KeyUsage(
        **dict.fromkeys((*others, "encipher_only", "decipher_only"), False), key_cert_sign=True, crl_sign=True
    )


def _builder(subject, issuer, key, days=1.0):
    now = dt.datetime.now(tz=dt.UTC)
    day = dt.timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + days * day)
    )


def _write(folder, name, authority, builder, key):
    pem = builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    (folder / f"{name}.pem").write_bytes(pem)
    if key:
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (folder / f"{name}-key.pem").write_bytes(key.private_bytes(*form))
