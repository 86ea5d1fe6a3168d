"""Routes of AIMServices."""

import pytest

from tests.support.migration import AIM_MODEL, aim_object, aim_service, objects, only_service, places, stack

GATEWAY = "gatewayRef: {name: edge, namespace: gateways}"


def routed(text: str, *configs: str):
    """Convert an AIMService with routing, beside runtime configs."""
    return objects(aim_service(f"{AIM_MODEL}routing: {{{text}}}\n", "{team: Search-1}"), *configs)


def config(text: str, kind: str = "AIMRuntimeConfig") -> str:
    """Return the default runtime config with routing."""
    return aim_object(kind, "default", f"routing: {{{text}}}")


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("/Chat/v1/", "/chat/v1"),
        ("/{.metadata.namespace}/{.metadata.name}", "/ml/chat"),
        ("{ .metadata.labels['team'] }", "/search-1"),
        ('/x/{.metadata.labels["team"]}', "/x/search-1"),
        ("/{.spec.model.custom.baseImage}", "/registry-example-aim-base-1"),
    ],
)
def test_a_template_of_a_path_has_its_values(template: str, path: str) -> None:
    """Segments are DNS labels, as aim-engine has them."""
    quoted = template.replace("'", "''")
    service = only_service(routed(f"enabled: true, {GATEWAY}, pathTemplate: '{quoted}'"))
    assert service["route"]["matches"] == [{"path": path}]


@pytest.mark.parametrize("template", ["/{.metadata.labels['none']}", "/{.spec.none}", "/{range .items}"])
def test_a_template_without_a_value_is_lost(template: str) -> None:
    """aim-engine takes the default path, and says nothing."""
    quoted = template.replace("'", "''")
    printed = routed(f"enabled: true, {GATEWAY}, pathTemplate: '{quoted}'")
    assert places(printed, "cannot") == {"spec.routing.pathTemplate"}
    assert only_service(printed)["route"]["matches"] == [{"path": "/ml/chat"}]


def test_without_a_template_the_path_is_asked_for() -> None:
    """The default one ends with the uid of the live object."""
    printed = routed(f"enabled: true, {GATEWAY}")
    assert any("ends with the uid" in note.reason for note in printed.notes if note.fate == "ask")


def test_the_gateway_of_the_service_replaces_that_of_the_configs_and_configs_merge() -> None:
    """Field by field between the configs alone."""
    cluster = config(
        "enabled: true, gatewayRef: {name: low, namespace: gateways, sectionName: https}", "AIMClusterRuntimeConfig"
    )
    printed = routed("pathTemplate: /a", cluster, config("enabled: false, gatewayRef: {name: high}"))
    assert stack(printed)["gateway"] == {
        "name": "high",
        "namespace": "gateways",
        "sectionName": "https",
        "provider": "none",
    }
    printed = routed("pathTemplate: /a, gatewayRef: {name: own}", cluster)
    assert stack(printed)["gateway"] == {"name": "own", "provider": "none"}


def test_a_service_can_switch_its_route_off() -> None:
    """Its own false counts, other than that of a config of the namespace."""
    printed = routed("enabled: false", config(f"enabled: true, {GATEWAY}"))
    assert "gateway" not in stack(printed)
    assert "route" not in only_service(printed)


def test_a_route_without_a_gateway_is_asked_for() -> None:
    """aim-engine fails with such a service."""
    printed = routed("enabled: true, pathTemplate: /a")
    assert any("no file names it; write gateway" in note.reason for note in printed.notes if note.fate == "ask")
    assert "gateway" not in stack(printed)


@pytest.mark.parametrize(("limit", "is_carried"), [("180s", True), ("1h30m0s", True), ("1.5s", False), ("soon", False)])
def test_a_time_limit_is_one_of_the_gateway_api(limit: str, is_carried: bool) -> None:  # noqa: FBT001, a column
    """aim-engine writes others into objects that the API server rejects."""
    printed = routed(f"enabled: true, {GATEWAY}, pathTemplate: /a, requestTimeout: {limit}")
    assert ("timeouts" in only_service(printed)["route"]) == is_carried
    assert ("spec.routing.requestTimeout" in places(printed, "cannot")) != is_carried
