"""Engines of LLMInferenceServices."""

from tests.support.migration import llm_service, objects, places, stack


def test_claims_of_devices_become_a_class() -> None:
    """KServe claims devices by annotations of the service."""
    annotations = (
        "{serving.kserve.io/exp-dra-device-class: gpu.nvidia.com, serving.kserve.io/exp-dra-device-count: '2', "
        "serving.kserve.io/exp-dra-cel-selector: \"device.attributes['gpu.nvidia.com']['type'] == 'A100'\"}"
    )
    configuration = stack(objects(llm_service("  model: {uri: 'hf://acme/chat'}\n", annotations=annotations)))
    assert configuration["services"]["chat"]["accelerator"] == "chat-devices"
    assert configuration["services"]["chat"]["parallelism"] == {"tensor": 2}
    assert configuration["accelerators"]["chat-devices"]["allocation"]["selectors"] == [
        "device.attributes['gpu.nvidia.com']['type'] == 'A100'"
    ]


def test_workers_that_differ_from_the_first_pod_are_noted() -> None:
    """Here all pods of a replica have one template."""
    spec = """
  model: {uri: "hf://acme/chat"}
  parallelism: {data: 2, dataLocal: 1}
  template:
    containers:
      - name: main
        env: [{name: A, value: "1"}, {name: B, value: "1"}]
        resources: {limits: {nvidia.com/gpu: 1}}
  worker:
    containers:
      - name: main
        env: [{name: B, value: "2"}, {name: A, value: "1"}]
        resources: {limits: {nvidia.com/gpu: 1}}
"""
    assert places(objects(llm_service(spec)), "cannot") == {"spec.worker.containers[0].env[0].value"}


def test_an_unknown_program_runs_as_it_is() -> None:
    """A simulator of engines is no vLLM."""
    spec = """
  model: {uri: "hf://acme/chat"}
  template:
    containers: [{name: main, image: "ghcr.io/acme/sim:v1", command: [/app/sim], args: ["--block-size", "16"]}]
"""
    service = stack(objects(llm_service(spec)))["services"]["chat"]
    assert service["engine"]["type"] == "custom"
    assert service["engine"]["args"] == ["--block-size", "16"]


def test_tiers_of_the_cache_get_volumes() -> None:
    """The second tier is a folder that ends with the pod, and the third one a claim."""
    spec = """
  model: {uri: "hf://acme/chat"}
  kvCacheOffloading:
    cpu: 10Gi
    secondary: [{fileSystem: {emptyDir: {size: 1Gi}}}, {fileSystem: {pvc: {ref: {name: blocks, path: chat}}}}]
  template: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
    service = stack(objects(llm_service(spec)))["services"]["chat"]
    assert service["kvCache"]["tiers"] == [
        {"type": "cpu", "size": "10Gi"},
        {"type": "file-system", "volume": "kv-cache-0"},
        {"type": "file-system", "volume": "kv-cache-1"},
    ]
    assert service["pod"]["volumes"]["kv-cache-1"] == {
        "mountPath": "/mnt/kv-cache-1",
        "type": "claim",
        "claimName": "blocks",
        "subPath": "chat",
    }


def test_an_engine_that_calls_kserves_picker_is_asked_about() -> None:
    """The Service goes with KServe's object. Events of the cache are a key."""
    arguments = "--kv-events-config '{}' --reporter tcp://chat-epp-service:5557"
    spec = f"""
  model: {{uri: "hf://acme/chat"}}
  template: {{containers: [{{name: main, env: [{{name: VLLM_ADDITIONAL_ARGS, value: "{arguments}"}}]}}]}}
"""
    printed = objects(llm_service(spec))
    assert stack(printed)["services"]["chat"]["kvCache"] == {"events": True}
    assert any("chat-epp-service" in note.reason for note in printed.notes if note.fate == "ask")
