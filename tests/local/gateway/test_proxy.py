"""A proxy starts with the places of istiod and of the addresses, and with the label by which Istio adds its filters."""

from local.gateway import proxy
from local.gateway.objects import LABEL


def test_the_bootstrap_names_the_gateway_and_both_servers():
    config = proxy.bootstrap("inference", "gateways", "127.0.0.9", 15010, 15020)
    assert config["node"]["id"] == "router~127.0.0.9~inference-istio.gateways~gateways.svc.cluster.local"
    assert config["node"]["metadata"]["LABELS"] == {LABEL: "inference"}
    istiod, addresses = config["static_resources"]["clusters"]
    assert [port(istiod), port(addresses)] == [15010, 15020]
    assert [protocol(istiod), protocol(addresses)] == [["http2_protocol_options"], ["http_protocol_options"]]


def port(cluster):
    (endpoint,) = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]
    return endpoint["endpoint"]["address"]["socket_address"]["port_value"]


def protocol(cluster):
    (options,) = cluster["typed_extension_protocol_options"].values()
    return [*options["explicit_http_config"]]


def test_envoy_writes_its_address_into_a_file():
    assert proxy.arguments("envoy.json", "admin")[:4] == [
        "--config-path",
        "envoy.json",
        "--admin-address-path",
        "admin",
    ]
