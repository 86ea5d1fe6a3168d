"""The interceptor's search for a Service by its labels: its own test vectors, and runs of its binary."""

import pytest

from planning.interceptor.resolution import Unresolved, resolve

NAMESPACE = "main-namespace"
NOT_FOUND, AMBIGUOUS, NO_PORT = Unresolved


def port(name, number, protocol="TCP"):
    """Return a port; it has no name if that is empty."""
    return {**({"name": name} if name else {}), "port": number, "protocol": protocol}


def service(name, resource_id, *ports, kind="internal", namespace=NAMESPACE):
    """Return a Service with a resource id and a type."""
    labels = {"saturncloud.io/resource-id": resource_id, "saturncloud.io/service-type": kind}
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": {"ports": [*ports]}}


SERVED = port("8000", 8000)
MODEL = service("pd-abcde-mymodel-r123", "r123", SERVED)
SSH = service("pd-abcde-mymodel-r123-ssh", "r123", port("ssh", 22), kind="ssh")
URL = "http://pd-abcde-mymodel-r123.main-namespace.svc.cluster.local:8000"
LOOKUPS = {
    "resolves internal": ([MODEL], URL),
    "ignores ssh": ([MODEL, SSH], URL),
    "ssh alone": ([SSH], NOT_FOUND),
    "unknown": ([service("other", "r999", SERVED)], NOT_FOUND),
    "ambiguous": ([service("svc-a", "r123", SERVED), service("svc-b", "r123", SERVED)], AMBIGUOUS),
    "another namespace": ([service("svc-a", "r123", SERVED, namespace="trials")], NOT_FOUND),
    "no labels": ([{"metadata": {"name": "a", "namespace": NAMESPACE}}], NOT_FOUND),
}
PORTS = {
    "the name": ([SERVED], 8000),
    "the name behind another": ([port("metrics", 9090), SERVED], 8000),
    "a single port without a name": ([port("", 8000)], 8000),
    "several ports of other names": ([port("http", 80), port("metrics", 9090)], NO_PORT),
    "the name of another number": ([port("8000", 80), port("m", 9090)], 80),
    "the number of another name": ([port("http", 8000), port("m", 9090)], NO_PORT),
    "a single port of ssh": ([port("ssh", 22)], 22),
    "a single port of UDP": ([port("dns", 53, "UDP")], 53),
    "no port": ([], NO_PORT),
    "two ports without a name": ([port("", 80), port("", 81)], NO_PORT),
}


@pytest.mark.parametrize(("services", "expected"), LOOKUPS.values(), ids=LOOKUPS)
def test_a_lookup_finds_the_one_service_with_both_labels(services, expected):
    """See phoebe 3.1, 3.3, 3.5."""
    assert resolve(services, "r123", NAMESPACE) == expected


@pytest.mark.parametrize(("ports", "expected"), PORTS.values(), ids=PORTS)
def test_the_named_port_wins_and_else_the_only_one(ports, expected):
    """See phoebe 5.1."""
    answer = resolve([service("model", "r123", *ports)], "r123", NAMESPACE)
    url = f"http://model.{NAMESPACE}.svc.cluster.local:{expected}"
    assert answer == (expected if isinstance(expected, Unresolved) else url)


def test_a_search_without_a_namespace_is_a_mistake():
    """See phoebe 5.1."""
    with pytest.raises(ValueError, match="one namespace"):
        resolve([MODEL], "r123", "")
