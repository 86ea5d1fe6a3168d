"""Requests are matched by the model in their bodies."""

from dataclasses import replace

import pytest

from planning.releases import channel
from planning.routes import model_names
from planning.routes.records import ModelNames
from tests.support.stacks import find, plan, rendered
from tests.support.stacks.routed import (
    BASE_MODEL,
    BODY,
    MODEL,
    headers,
    route,
    routed,
    rules,
    told,
)
from tests.support.stacks.routed import told as refused


def test_a_model_is_matched_in_the_header_that_the_payload_processor_sets():
    manifest = route("qwen", BODY, matches=[{"model": "org/m"}])
    (rule,) = rules(manifest)
    assert rule["matches"] == [
        {
            "path": {"type": "PathPrefix", "value": "/"},
            "headers": [{"type": "Exact", "name": BASE_MODEL, "value": "org/m"}],
        }
    ]


@pytest.mark.parametrize("release", ["llm-d-0.10", "llm-d-0.9", "llm-d-0.8", "llm-d-0.6", "gie-1.3"])
def test_every_release_knows_the_header_of_the_base_model(release):
    stack = routed(BODY, matches=[{"model": "org/m"}]) | {"release": release}
    (rule,) = rules(find(rendered(stack), "HTTPRoute", "qwen"))
    assert headers(rule["matches"][0]) == {BASE_MODEL: "org/m"}


def test_a_model_is_not_matched_where_nobody_reads_bodies():
    (line,) = told(routed(matches=[{"model": "org/m"}]))
    assert line.startswith("services.qwen.route.matches[0].model: is matched in a header that nobody sets")


def test_a_header_of_the_model_is_no_other_matchs():
    (line,) = told(routed(BODY, matches=[{"model": "org/m", "headers": {BASE_MODEL.lower(): "x"}}]))
    assert line.startswith("services.qwen.route.matches[0].model: is matched by headers, too")


def bodies(stack, name="qwen"):
    return find(rendered(stack), "ConfigMap", f"{name}-models")


LORA = {"model": {**MODEL, "lora": {"adapters": {"sql": {"source": "hf://org/sql"}}}}}


LATEST = {"rewrites": [{"model": "latest", "targets": [{"model": "org/m"}]}]}


def test_a_payload_processor_is_told_the_base_model_its_adapters_and_its_aliases():
    """See defects A8."""
    manifest = bodies(routed(BODY, service=LORA | LATEST, matches=[{"model": "org/m"}]))
    assert manifest["data"] == {"baseModel": "org/m", "adapters": '["latest", "sql"]'}
    labels = manifest["metadata"]["labels"]
    assert labels["inference.networking.k8s.io/bbr-managed"] == labels["inference.llm-d.ai/ipp-managed"] == "true"
    assert bodies(routed(BODY, matches=[{"model": "org/m"}]))["data"] == {"baseModel": "org/m"}


def test_the_processor_is_told_before_the_route_comes():
    """See defects A8."""
    kinds = [
        (manifest["kind"], manifest["metadata"]["name"])
        for manifest in rendered(routed(BODY, matches=[{"model": "org/m"}]))
    ]
    assert kinds.index(("ConfigMap", "qwen-models")) < kinds.index(("HTTPRoute", "qwen"))


def test_nobody_is_told_of_a_service_that_is_found_by_its_path():
    """See defects A8."""
    assert [manifest for manifest in rendered(routed(BODY)) if manifest["metadata"]["name"] == "qwen-models"] == []


@pytest.mark.parametrize("name", ["sql", "latest", "org/other"])
def test_a_name_that_the_header_never_holds_is_refused(name):
    """See defects A8."""
    (line,) = refused(routed(BODY, service=LORA | LATEST, matches=[{"model": name}]))
    assert line == (
        "services.qwen.route.matches[0].model: is never in the header, which holds the service's base "
        f"model org/m ({name}); write org/m; the match then includes requests for the service's adapters and rewrites"
    )


def test_a_name_that_means_two_base_models_is_refused():
    """See defects A8."""
    other = {"model": {**LORA["model"], "name": "org/n"}, "route": {"matches": [{"model": "org/n"}]}}
    (line,) = refused(routed(BODY, others={"bert": other}, service=LORA, matches=[{"model": "org/m"}]))
    assert line == (
        "services.bert: uses a model name that services.qwen uses for base model org/m (sql); "
        "rename the adapter or the rewrite"
    )


def test_services_on_one_gateway_match_models_in_one_header():
    """A payload processor sets one header, so the matches of the other service would never apply."""
    planned = plan(routed(BODY, others={"bert": {"model": {**MODEL, "name": "org/n"}}}, matches=[{"model": "org/m"}]))
    (first, second) = [route for route in planned.routes for _ in range(2) if route.model_names is not None]
    other = replace(second, key="bert", model_names=ModelNames("org/n", (), "x-other"))
    assert list(model_names.different_headers([first, replace(second, key="bert")])) == []
    (problem,) = model_names.different_headers([first, other])
    assert str(problem) == (
        "services.bert.release: matches models in header x-other, but services.qwen on the same gateway in "
        f"{BASE_MODEL}; choose releases that match in one header, or another gateway"
    )
    elsewhere = replace(other, parent=replace(other.parent, name="elsewhere"))
    assert list(model_names.different_headers([first, elsewhere])) == []


def test_a_match_has_the_header_of_its_services_release():
    stack = routed(BODY, service={"release": "gie-1.3"}, matches=[{"model": "org/m"}])
    (route,) = plan(stack).routes
    assert route.model_names is not None
    assert route.model_names.header == channel("gie-1.3").picker.headers.base_model
