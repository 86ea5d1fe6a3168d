"""The certificates of a Gateway's listeners: when they expire, and whether cert-manager renews them.

They are read only if somebody asks for them, because a right to read a Secret is one to read its private key.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from judging.status import x509
from judging.status.evidence import Evidence
from judging.status.history import is_within
from judging.status.pod_words import duration
from judging.status.quotes import quote
from judging.status.records import Finding, ObjectRef, condition, finding, time
from models.trees import at
from planning.ground import listeners
from planning.ground.snapshot import TLS_CERTIFICATE, Manifest

_SOON = timedelta(days=14)
"""Time before the end of a certificate from which on it is named. Renewal is due long before: cert-manager renews a
certificate of 90 days 30 days before its end (cert-manager v1.18, pkg/util/pki/renewaltime.go)."""
_ISSUING_SECONDS = 300
"""Time within which an issuer answers. If the latest request failed, `status.lastFailureTime` says so (cert-manager
v1.18, pkg/apis/certmanager/v1/types_certificate.go)."""


def findings(gateway: Manifest, listener: Mapping[str, Any], reading: Evidence) -> Iterator[Finding]:
    """Yield the states of the certificates of a listener."""
    for place in listeners.secrets(gateway, listener):
        name = quote(listener.get("name"))
        secret = reading.secrets.get(place)
        if secret is not None:
            yield from _expiry(secret, name, reading)
        renewal = reading.renewals.get(place)
        if renewal is not None:
            yield from _renewal(renewal, reading)


def is_broken(gateway: Manifest, listener: Mapping[str, Any], reading: Evidence) -> bool | None:
    """Tell whether no client gets past the certificates of a listener; None if a certificate could not be read.

    A client that verifies certificates ends the connection if that of the server is not valid at this time. Of several
    certificates of a listener, each may serve some clients.
    """
    places = [*listeners.secrets(gateway, listener)]
    if TLS_CERTIFICATE in reading.unread and places:
        return None
    secrets = [reading.secrets[place] for place in places if place in reading.secrets]
    verdicts = [_is_refused(secret, reading) for secret in secrets]
    if not verdicts or False in verdicts:
        return False
    return None if None in verdicts else True


def _is_refused(secret: Manifest, reading: Evidence) -> bool | None:
    """Tell whether clients refuse the certificate of a Secret; None if it cannot be read."""
    validity = x509.validity_of_secret(secret)
    if validity is None:
        return None
    begin, end = validity
    return not begin <= reading.now < end


def _expiry(secret: Manifest, listener: str, reading: Evidence) -> Iterator[Finding]:
    """Yield the state of a certificate that expires soon, that has expired, or that is not valid yet."""
    validity = x509.validity_of_secret(secret)
    if validity is None:
        return
    begin, end = validity
    at_object = ObjectRef.of(secret, "Secret")
    moment = f"{end:%Y-%m-%d %H:%M} UTC"
    if begin > reading.now:
        yield finding("certificate-early", at_object, listener=listener, moment=f"{begin:%Y-%m-%d %H:%M} UTC")
    elif end <= reading.now:
        yield finding("certificate-expired", at_object, end, listener=listener, moment=moment)
    elif end - reading.now <= _SOON:
        left = duration((end - reading.now).total_seconds())
        yield finding("certificate-expires", at_object, end - _SOON, listener=listener, moment=moment, left=left)


def _renewal(certificate: Manifest, reading: Evidence) -> Iterator[Finding]:
    """Yield the state of a Certificate that cert-manager does not bring up to date.

    A Certificate is not ready while its issuer answers the first request. One with a failure is named at once.
    """
    ready = condition(certificate, "Ready")
    since = time(ready.get("lastTransitionTime"))
    has_failed = at(certificate, "status", "lastFailureTime") is not None
    if ready.get("status") == "False" and (has_failed or not is_within(since, _ISSUING_SECONDS, reading.now)):
        reason = quote(ready.get("reason"))
        message = quote(ready.get("message"))
        reference = ObjectRef.of(certificate, "Certificate")
        yield finding("certificate-unready", reference, since, reason=reason, message=message)
