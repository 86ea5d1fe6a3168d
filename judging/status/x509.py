"""Reader of a certificate's validity (RFC 5280). Nothing is verified, and no key is looked at."""

import base64
import binascii
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

from models.trees import at
from planning.ground.snapshot import Manifest

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----")
_SEQUENCE = 0x30
_VERSION = 0xA0
"""Tag of the version, the only optional element before the validity."""
_FIELDS = 5
"""Number of elements up to the validity: version, serial number, algorithm of the signature, issuer, validity."""
_TIMES = {0x17: ("%y%m%d%H%M%SZ", 13), 0x18: ("%Y%m%d%H%M%SZ", 15)}
"""Format and length of UTCTime and GeneralizedTime as certificates have them (RFC 5280 4.1.2.5)."""
_LONG = 0x80
"""Bit of a length whose lower bits are the number of bytes of the real length."""
_CENTURY = 100
_FIRST_YEAR = 1950
"""Two digits of a year stand for one from here on (RFC 5280 4.1.2.5.1)."""


def validity_of_secret(secret: Manifest) -> tuple[datetime, datetime] | None:
    """Return begin and end of the first certificate in `tls.crt` of a Secret, that of the server; None without one."""
    data = at(secret, "data", "tls.crt")
    if not isinstance(data, str):
        return None
    try:
        text = base64.b64decode(data, validate=True).decode("latin-1")
        block = _PEM.search(text)
        return None if block is None else validity(base64.b64decode(block[1]))
    except (binascii.Error, ValueError):
        return None


def validity(certificate: bytes) -> tuple[datetime, datetime]:
    """Return begin and end of the validity of a certificate in DER. Raises `ValueError` for anything else."""
    body = _inside(_inside(certificate))
    fields = [(tag, content) for tag, content in islice(_elements(body), _FIELDS) if tag != _VERSION]
    moments = [moment for _, content in fields[3:4] for moment in _elements(content)]
    if len(moments) != len(("notBefore", "notAfter")):
        raise ValueError("no validity")
    return _time(*moments[0]), _time(*moments[1])


def _inside(data: bytes) -> bytes:
    """Return the content of the sequence with which data begins."""
    tag, content = next(_elements(data), (0, b""))
    if tag != _SEQUENCE:
        raise ValueError("no sequence")
    return content


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of the elements of data. Raises `ValueError` if the data are cut short."""
    position = 0
    while position < len(data):
        header = 2
        length = data[position + 1] if len(data) > position + 1 else 0
        if length & _LONG:
            header += length & ~_LONG
            length = int.from_bytes(data[position + 2 : position + header], "big")
        end = position + header + length
        if len(data) < end:
            raise ValueError("cut short")
        yield data[position], data[position + header : end]
        position = end


def _time(tag: int, content: bytes) -> datetime:
    form, length = _TIMES.get(tag, ("", 0))
    text = content.decode("latin-1")
    if len(text) != length:
        raise ValueError("no time")
    moment = datetime.strptime(text, form).replace(tzinfo=UTC)
    if tag == min(_TIMES) and moment.year >= _FIRST_YEAR + _CENTURY:
        moment = moment.replace(year=moment.year - _CENTURY)
    return moment
