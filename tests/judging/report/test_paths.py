"""Changes of addresses of routes."""

from judging.report import paths
from judging.report.events import Step

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
        ("delete", "llm.example/a", ""),
        ("create", "llm.example/b", ""),
    ]


def test_other_weights_are_told_in_percent():
    assert told(step(route("/a", old=1), route("/a", old=9, new=1))) == [
        ("update", "llm.example/a", "old → old 90 %, new 10 %")
    ]


def test_an_address_that_moves_to_another_route_with_its_backends_is_no_change():
    assert told(step(route("/a", pool=1), {}), step({}, route("/a", name="other", pool=1))) == []
