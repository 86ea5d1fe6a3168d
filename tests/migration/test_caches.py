"""Caches of weights and namespaces of services."""

from cli.convert import PrintedConfiguration, convert
from migration.files import documents
from tests.support.migration import aim_service, places, stack

WEIGHTS = """
model:
  custom:
    baseImage: registry.example/aim/base:1
    modelSources: [{modelId: acme/chat, sourceUri: "hf://acme/chat"}]
    hardware: {gpu: {requests: 1, model: MI300X}}
"""
NAMELESS = aim_service(WEIGHTS).replace(", namespace: ml", "")
OTHER = """
apiVersion: model.otterscale.io/v1alpha1
kind: ModelService
metadata: {name: first, namespace: NAMESPACE}
spec: {model: {name: m, image: "r/m:v1"}, accelerator: {type: nvidia}, decode: {}, engine: {port: 8000}}
"""


def beside(namespace: str) -> PrintedConfiguration:
    """Convert a service with a cache in the namespace `ml`, and a service of another reader, which comes first."""
    return convert(documents(f"{aim_service(WEIGHTS)}\n---{OTHER.replace('NAMESPACE', namespace)}", "a.yaml"))


def test_a_service_of_another_reader_decides_the_namespace_of_caches() -> None:
    """A service elsewhere has a claim, and one in the namespace of the stack has a cache."""
    printed = beside("others")
    assert places(printed, "cannot") == set()
    assert stack(printed)["namespace"] == "others"
    assert stack(printed)["services"]["chat"]["storage"] == {
        "type": "dedicated",
        "mountPath": "/workspace/cache/acme/chat",
    }
    assert "caches" not in stack(printed)
    assert "# differs: a cache is in the namespace of the stack, so this service has a claim of its own" in printed.text
    assert stack(beside("ml"))["services"]["chat"]["storage"]["type"] == "shared"


def test_the_namespace_of_the_option_is_that_of_a_service_without_one() -> None:
    """Both services then are in the namespace of the stack, and share a cache."""
    both = f"{NAMELESS}\n---\n{aim_service(WEIGHTS).replace('name: chat', 'name: two')}"
    services = stack(convert(documents(both, "a.yaml"), (), None, "ml"))["services"]
    assert [service["storage"]["type"] for service in services.values()] == ["shared", "shared"]
