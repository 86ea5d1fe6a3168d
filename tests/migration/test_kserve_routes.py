"""Routes and pickers of LLMInferenceServices."""

import json
from pathlib import Path as File

import pytest

from migration import conversion
from migration.files import documents
from tests.support.migration import llm_service, objects, places, stack

SAMPLE = (File(__file__).with_name("samples") / "kserve-roles.yaml").read_text(encoding="utf-8")
SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: inferenceservice-config, namespace: kserve}
data:
  ingress: '{"kserveIngressGateway": "kserve/ingress-gateway"}'
"""


def test_the_gateway_of_the_installation_is_in_its_config_map() -> None:
    """`gateway: {}` means the Gateway of KServe's own settings."""
    spec = "  model: {uri: 'hf://acme/chat'}\n  router: {route: {}, gateway: {}, scheduler: {}}\n"
    assert "gateway" not in stack(objects(llm_service(spec)))
    assert stack(objects(llm_service(spec), SETTINGS))["gateway"] == {
        "name": "ingress-gateway",
        "namespace": "kserve",
        "provider": "none",
    }


def test_a_route_keeps_the_path_of_kserve_and_the_picker_its_settings() -> None:
    """Clients keep the path with namespace and name. Flags that this program sets stay as they are."""
    configuration = stack(objects(SAMPLE))
    service = configuration["services"]["chat"]
    assert configuration["gateway"] == {
        "name": "public",
        "namespace": "gateways",
        "sectionName": "https",
        "provider": "none",
    }
    assert service["route"]["matches"] == [{"path": "/ml/chat"}]
    picker = service["endpointPicker"]
    assert picker["flags"] == {"drain-timeout": "60s"}
    assert picker["resources"] == {"requests": {"cpu": "2"}}
    assert picker["containers"] == {"beside": {"image": "ghcr.io/acme/beside:v1"}}
    assert picker["pod"]["nodeSelector"] == {"pool": "system"}


def test_rules_of_the_users_own_become_matches() -> None:
    """Filters and matches that a route here lacks are noted at their places."""
    spec = """
  model: {uri: "hf://acme/chat"}
  router:
    gateway: {refs: [{name: public}, {name: second}]}
    scheduler: {}
    route:
      http:
        spec:
          hostnames: [llm.example.com]
          rules:
            - matches: [{path: {type: PathPrefix, value: /chat}, headers: [{name: x-team, value: a}]}]
              timeouts: {request: 60s}
              filters:
                - {type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /v1}}}
                - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}], remove: [c]}}
                - {type: CORS, cors: {allowOrigins: ["*"]}}
            - matches: [{method: GET}]
"""
    printed = objects(llm_service(spec))
    assert stack(printed)["services"]["chat"]["route"] == {
        "hostnames": ["llm.example.com"],
        "timeouts": {"request": "60s"},
        "replacePrefixMatch": "/v1",
        "setHeaders": {"a": "b"},
        "removeHeaders": ["c"],
        "matches": [{"path": "/chat", "headers": {"x-team": "a"}}],
    }
    assert places(printed, "cannot") == {
        "",
        "spec.router.gateway.refs[1]",
        "spec.router.route.http.spec.rules[0].filters[2].cors",
        "spec.router.route.http.spec.rules[1].matches[0].method",
    }


def test_a_picker_that_predicts_latency_gets_a_predictor() -> None:
    """KServe's controller adds the predictor to the pods of such a picker."""
    spec = """
  model: {uri: "hf://acme/chat"}
  router:
    scheduler:
      config:
        inline:
          plugins: [{type: predicted-latency-producer}, {type: latency-scorer}, {type: weighted-random-picker}]
          schedulingProfiles:
            - {name: default, plugins: [{pluginRef: latency-scorer}, {pluginRef: weighted-random-picker}]}
"""
    picker = stack(objects(llm_service(spec)))["services"]["chat"]["endpointPicker"]
    assert picker["latencyPredictor"] == {"deploy": {}}


def test_the_block_size_of_a_simulator_is_that_of_the_picker() -> None:
    """A picker that counts blocks has to know their size, and nothing generates arguments for a simulator."""
    spec = """
  model: {uri: "hf://acme/chat", name: acme/chat}
  router:
    scheduler:
      config:
        inline:
          plugins:
            - {type: token-producer}
            - {type: precise-prefix-cache-producer, parameters: {tokenProcessorConfig: {blockSize: 16}}}
          schedulingProfiles: []
  template:
    containers: [{name: main, image: "ghcr.io/acme/sim:v1", command: [/app/sim], args: ["--block-size", "16"]}]
"""
    (service,) = conversion.convert(documents(llm_service(spec), "chat.yaml")).services
    assert service.service["kvCache"] == {"blockSize": 16}
    producer = service.service["endpointPicker"]["config"]["plugins"][0]
    assert producer == {"type": "token-producer", "parameters": {"modelName": "acme/chat"}}


def _with_map(name: str, key: str, text: str) -> tuple[set[str], set[str]]:
    """Return the places of what is lost, and of what is carried, of a service with a ConfigMap."""
    spec = """
  model: {uri: "hf://acme/chat"}
  router: {route: {}, scheduler: {config: {ref: {name: picker, key: epp}}}}
"""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: text}}
    printed = objects(llm_service(spec), json.dumps(config))
    return places(printed, "cannot"), places(printed, "carried")


@pytest.mark.parametrize("text", ["a: [", "text", "plugins: [{type: a, parameters: {password: hunter2-Correct}}]"])
def test_a_configuration_that_cannot_be_read_is_not_carried(text: str) -> None:
    """The picker gets the plugins of a preset instead."""
    lost, carried = _with_map("picker", "epp", text)
    assert "spec.router.scheduler.config.ref" in lost
    assert not any(place.startswith("spec.router.scheduler.config.ref") for place in carried)


def test_settings_of_the_installation_that_are_nested_without_end_name_no_gateway() -> None:
    """They are no mistake of the program."""
    assert _with_map("inferenceservice-config", "ingress", "[" * 100_000)[0] == set()


@pytest.mark.parametrize(
    ("second", "is_lost"),
    [
        ("timeouts: {request: 60s}, filters: [{urlRewrite: {path: {replacePrefixMatch: /v1}}}]", False),
        ("timeouts: {request: 99s}, filters: [{urlRewrite: {path: {replacePrefixMatch: /v1}}}]", True),
        ("timeouts: {request: 60s}", True),
    ],
)
def test_rules_that_do_other_things_than_the_first_one_are_noted(second: str, is_lost: bool) -> None:  # noqa: FBT001
    """A route here has one set of timeouts and filters."""
    first = "timeouts: {request: 60s}, filters: [{urlRewrite: {path: {replacePrefixMatch: /v1}}}]"
    spec = f"""
  model: {{uri: "hf://acme/chat"}}
  router: {{gateway: {{refs: [{{name: a}}]}}, route: {{http: {{spec: {{rules: [{{{first}}}, {{{second}}}]}}}}}}}}
"""
    assert ("" in places(objects(llm_service(spec)), "cannot")) is is_lost
