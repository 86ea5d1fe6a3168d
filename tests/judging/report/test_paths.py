"""Changes of addresses of routes."""

from judging.report import paths
from judging.report.events import Step
from tests.support.stacks import find, rendered, tree

TYPE = "kubernetes:gateway.networking.k8s.io/v1:HTTPRoute"


def route(path, *, name="qwen", **backends):
    refs = [{"name": backend, "weight": weight} for backend, weight in backends.items()]
    rule = {"matches": [{"path": {"value": path}}], "backendRefs": refs}
    return {"metadata": {"name": name}, "spec": {"hostnames": ["llm.example"], "rules": [rule]}}


def step(old, new):
    return Step("update", "urn", TYPE, old, new, (), is_custom=True)


def told(*steps):
    return [(change.operation, change.address, change.text) for change in paths.changes(steps)]


def test_an_address_is_added_or_removed():
    assert told(step({}, route("/a", pool=1))) == [("create", "llm.example/a", "")]
    assert told(step(route("/a", pool=1), route("/b", pool=1))) == [
        ("delete", "llm.example/a", "404"),
        ("create", "llm.example/b", ""),
    ]


def test_other_weights_are_told_in_percent():
    assert told(step(route("/a", old=1), route("/a", old=9, new=1))) == [
        ("update", "llm.example/a", "old → old 90 %, new 10 %")
    ]


def test_an_address_that_moves_to_another_route_with_its_backends_is_no_change():
    assert told(step(route("/a", pool=1), {}), step({}, route("/a", name="other", pool=1))) == []


def proxies(generation=None, **settings):
    stack = tree(qwen={"endpointPicker": {"proxy": {}}, **settings})
    service = find(rendered(stack), "Service", "qwen-proxy")
    if generation is not None:
        service["spec"]["selector"]["inference-stacks.io/generation"] = generation
    return service


def test_the_address_of_a_proxy_is_told_with_the_pool_behind_it():
    (change,) = paths.changes([of_service({}, proxies())])
    assert (change.operation, change.service, change.address) == ("create", "qwen", "qwen-proxy.models.svc")
    old, new = proxies("0ff1c"), proxies("c4e12")
    assert told(of_service(old, new)) == [("update", "qwen-proxy.models.svc", "qwen-0ff1c → qwen-c4e12")]
    assert told(of_service(proxies(), {})) == [("delete", "qwen-proxy.models.svc", "no such host")]


def test_other_services_have_no_addresses_for_clients():
    for name in ("qwen", "qwen-epp"):
        service = find(rendered(tree(qwen={"endpointPicker": {"proxy": {}}})), "Service", name)
        assert told(of_service({}, service)) == []


def of_service(old, new):
    return Step("update", "urn", "kubernetes:core/v1:Service", old, new, (), is_custom=True)
