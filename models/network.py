"""Spec of the NetworkPolicies of a stack."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from models.base import Spec
from models.vocabulary import DnsLabel, Items, LabelKey, LabelValue, Port, refuse

_CIDR = r"([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9A-Fa-f:]+(:[0-9]{1,3}(\.[0-9]{1,3}){3})?)/(0|[1-9][0-9]{0,2})"


@dataclass(frozen=True, slots=True)
class _CidrShape:
    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_check_cidr, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"pattern": f"^(?:{_CIDR})$"}


def _check_cidr(value: str) -> str:
    network = _network(value)
    if network is None:
        raise refuse("is not a range of addresses", "write address/length, such as 10.96.0.1/32")
    if network.network_address != ipaddress.ip_address(value.partition("/")[0]):
        raise refuse("does not begin with the first address of its range", f"write {network}")
    return value


def _network(value: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Parse CIDR notation. Return None for any other text, such as a dotted mask (10.0.0.0/255.0.0.0)."""
    if re.fullmatch(_CIDR, value) is None:
        return None
    try:
        return ipaddress.ip_network(value, strict=False)
    except ValueError:
        return None


Cidr = Annotated[str, _CidrShape()]


class NetworkPolicies(Spec):
    """NetworkPolicies that deny all connections except those that follow from the configuration.

    Your own policies can allow more connections.

    If an address in the configuration names a Service of the cluster, connections to all pods in that Service's
    namespace are allowed, on the port that the address names. The pods must listen on that port.
    """

    gateway_pods: dict[LabelKey, LabelValue] = Field(
        default={}, examples=[{"gateway.networking.k8s.io/gateway-name": "inference-gateway"}]
    )
    """Labels of the gateway's pods, in their namespace; absent: any pod there. The load balancer of provider gke has no
    pods: instead, connections are allowed from the addresses of its front ends and health checks, and from
    proxyCIDRs."""
    gateway_namespace: DnsLabel | None = Field(default=None, examples=["istio-ingress"])
    """Namespace of the gateway's pods; absent: the namespace of the object that the key gateway names. If that object
    is a ListenerSet and the Gateway's pods are in another namespace, set this key."""
    proxy_cidrs: Items[Cidr] = Field(default=(), alias="proxyCIDRs", examples=[["10.129.0.0/23"]])
    """Addresses of proxies that are not pods and forward the gateway's requests, such as the proxy-only subnet of
    provider gke. They are allowed in addition to the known addresses of the provider."""
    prometheus_namespace: DnsLabel = "monitoring"
    """Namespace of the Prometheus that scrapes the pods. This key has no effect if observability.metrics.type is gmp,
    because Google's collectors have fixed namespaces."""
    dns_namespace: DnsLabel = "kube-system"
    """Namespace of the DNS server's pods."""
    dns_port: Port = 53
    """Port on which the DNS server's pods listen, such as 5353 on OpenShift."""
    dns_cidrs: Items[Cidr] = Field(
        default=("169.254.20.10/32", "169.254.169.254/32"), alias="dnsCIDRs", examples=[["169.254.20.10/32"]]
    )
    """Addresses of DNS servers that are not pods, on port 53; absent: those of NodeLocal DNSCache and of Cloud DNS for
    GKE."""
    api_server_cidrs: Items[Cidr] = Field(default=(), alias="apiServerCIDRs", examples=[["10.0.0.10/32"]])
    """Addresses of the API server behind its Service, on any port; absent: any address on ports 443 and 6443. These
    addresses have no effect in networks that match neither nodes nor the API server by address, such as Cilium's by
    default."""
    egress_cidrs: Items[Cidr] = Field(default=(), alias="egressCIDRs", examples=[["203.0.113.0/24"]])
    """Addresses outside the cluster from which models are fetched and to which traces are sent. They are allowed on
    port 443, and on the ports of the URLs in this configuration. Absent: any address, except link-local addresses and
    fd00:ec2::/32, at which clouds give credentials away."""
