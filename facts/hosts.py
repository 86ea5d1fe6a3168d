"""Hosts that get the identity of the caller, as the caller's environment says.

A configuration may come from somebody else, so nothing of it decides here. The variables of Hugging Face are those of
huggingface_hub 1.25 (`constants.py`: HF_ENDPOINT, HF_TOKEN), those of AWS are those of botocore 1.44
(`configprovider.py`: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL).
"""

import ipaddress
import os
import re
from typing import NamedTuple
from urllib.parse import urlsplit

OFFLINE = "INFERENCE_STACKS_OFFLINE"
"""Variable that forbids every request."""
TRUSTED = "INFERENCE_STACKS_TRUSTED_ENDPOINTS"
"""Variable with URLs, separated by commas: S3 endpoints that get the AWS identity, and servers whose failures are told
in detail."""
HUB = "https://huggingface.co"
DOCKER_HUB = "registry-1.docker.io"
_PORTS = {"http": 80, "https": 443}
_NO = frozenset({"", "0", "false"})
_S3 = re.compile(
    r"s3(?:-fips|-accelerate)?(?:\.dualstack)?(?:[.-][a-z]{2}(?:-[a-z]+)+-[0-9]+)?\.amazonaws\.com(?:\.cn)?"
    r"|bucket\.vpce-[0-9a-z-]+\.s3\.[a-z]{2}(?:-[a-z]+)+-[0-9]+\.vpce\.amazonaws\.com(?:\.cn)?"
)
"""Hosts of S3 (AWS General Reference, "Amazon Simple Storage Service endpoints"; S3 User Guide, "AWS PrivateLink").

Other names below amazonaws.com lead to machines of anybody, such as `ec2-….compute-1.amazonaws.com`.
"""
_REFUSED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "169.254.0.0/16",  # link-local (RFC 3927); metadata of AWS, Google Cloud, Azure; ECS and EKS credentials
        "fe80::/10",  # link-local (RFC 4291)
        "fd00:ec2::/32",  # AWS: fd00:ec2::254 metadata, fd00:ec2::23 EKS credentials (EC2 and EKS User Guides)
        "fd20:ce::254/128",  # Google Cloud, "About VM metadata"
        "100.100.100.200/32",  # Alibaba Cloud ECS, "View instance metadata"
        "168.63.129.16/32",  # Azure, "What is IP address 168.63.129.16?"
    )
)


class ServerOrigin(NamedTuple):
    """Scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int | None

    @property
    def is_loopback(self) -> bool:
        """Return whether the host is this machine."""
        address = _address(self.host)
        return self.host == "localhost" or (address is not None and address.is_loopback)

    @property
    def is_confidential(self) -> bool:
        """Return whether nobody on the way reads requests: they are encrypted, or stay on this machine."""
        return self.scheme == "https" or self.is_loopback


def origin(url: str) -> ServerOrigin | None:
    """Return the origin of a URL; None if the text is no URL of http or https."""
    try:
        parts = urlsplit(url)
        scheme = parts.scheme
        host = (parts.hostname or "").rstrip(".")
        port = parts.port
    except ValueError:
        return None
    if scheme in _PORTS and host:
        return ServerOrigin(scheme, host, port or _PORTS[scheme])
    return None


def is_offline() -> bool:
    """Return whether the environment forbids every request. Any text but `0` and `false` forbids them."""
    return os.environ.get(OFFLINE, "").strip().lower() not in _NO


def gets_hub_token(url: str) -> bool:
    """Return whether a request to `url` may carry HF_TOKEN.

    The token goes to huggingface.co and to the server of HF_ENDPOINT, and to no server by plain http except on this
    machine.
    """
    asked = origin(url)
    return asked is not None and asked.is_confidential and asked in _of_urls(HUB, os.environ.get("HF_ENDPOINT", ""))


def gets_aws_identity(endpoint: str | None) -> bool:
    """Return whether requests to an S3 endpoint may be signed. The endpoint of AWS is None, or one of its own names.

    Further endpoints are those that the environment names. If it names one with http, requests go there by http.
    """
    if endpoint is None:
        return True
    asked = origin(endpoint)
    is_of_aws = asked is not None and asked.scheme == "https" and _S3.fullmatch(asked.host) is not None
    named = (os.environ.get(name, "") for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
    return is_of_aws or asked in _of_urls(*named) or is_trusted(endpoint)


def is_trusted(url: str) -> bool:
    """Return whether the environment lists the server of a URL as trusted."""
    return origin(url) in _of_urls(*os.environ.get(TRUSTED, "").split(","))


def is_known(server: ServerOrigin) -> bool:
    """Return whether the environment names a server, or every caller knows it."""
    names = ("HF_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    named = (*(os.environ.get(name, "") for name in names), *os.environ.get(TRUSTED, "").split(","))
    return server in _of_urls(HUB, f"https://{DOCKER_HUB}", *named)


def is_refused(host: str) -> bool:
    """Return whether a host is written as a link-local address or as the address of a cloud's metadata."""
    address = _address(host)
    return address is not None and any(address in network for network in _REFUSED if network.version == address.version)


def is_public(host: str) -> bool:
    """Return whether a host is written as an address of the public Internet."""
    address = _address(host)
    return address is not None and address.is_global


def _of_urls(*urls: str) -> set[ServerOrigin]:
    return {known for known in map(origin, map(str.strip, urls)) if known is not None}


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a text is; of an IPv6 address that embeds an IPv4 address, the latter."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses by which networks reach IPv4 addresses (RFC 6052)."""
