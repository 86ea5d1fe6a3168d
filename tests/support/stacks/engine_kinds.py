"""Services of every kind of engine.

They have every shape of the kinds besides vLLM that get generated arguments, and each field that flags carry.
"""

from typing import Any

_HF = {"model": {"source": "hf://org/model"}}
SGLANG = {**_HF, "engine": {"type": "sglang", "image": "docker.io/lmsysorg/sglang:v0.5.13.post1"}}
TENSORRT_LLM = {
    **_HF,
    "engine": {
        "type": "trtllm-serve",
        "image": "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc18",
        "gpuMemoryUtilization": 0.8,
        "maxNumSeqs": 64,
        "args": ["--backend=pytorch"],
    },
    "model": {"source": "hf://org/model", "maxModelLen": 8192},
    "parallelism": {"tensor": 2, "expert": True},
}
ENGINES = {
    "sglang": {
        **SGLANG,
        "engine": {**SGLANG["engine"], "gpuMemoryUtilization": 0.8, "maxNumSeqs": 64},
        "model": {"source": "hf://org/model", "maxModelLen": 8192},
        "kvCache": {"blockSize": 64, "events": True},
        "parallelism": {"tensor": 2, "expert": True, "data": 2},
    },
    "sglang-prefill": {
        **SGLANG,
        "parallelism": {"tensor": 4},
        "prefill": {"parallelism": {"tensor": 1}, "replicas": 2},
    },
    "sglang-group": {**SGLANG, "accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}},
    "trtllm-serve": TENSORRT_LLM,
}
"""Services by the name of their shape."""
IMAGES = {
    "custom": "registry.example/server:v1",
    "sglang": "docker.io/lmsysorg/sglang:v0.5.13.post1",
    "trtllm-serve": "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc18",
    "vllm": "docker.io/vllm/vllm-openai:v0.30.0",
}
"""Image of each kind."""
_GROUP = {"accelerator": "nvidia-h100-80gb"}
_MODEL = {"source": "hf://org/model"}
FIELDS: dict[str, dict[str, Any]] = {
    "encode": {"encode": {}},
    "engine.gpuMemoryUtilization": {"engine": {"gpuMemoryUtilization": 0.5}},
    "engine.load": {"engine": {"load": {"type": "runai-streamer"}}},
    "engine.maxNumSeqs": {"engine": {"maxNumSeqs": 7}},
    "engine.port": {"engine": {"port": 9000}},
    "kvCache.blockSize": {"kvCache": {"blockSize": 32}},
    "kvCache.cpuOffload": {"kvCache": {"cpuOffload": "1Gi"}},
    "kvCache.events": {"kvCache": {"events": True}},
    "kvCache.tiers": {"kvCache": {"tiers": [{"type": "cpu", "size": "1Gi"}]}},
    "model.lora": {"model": {**_MODEL, "lora": {"adapters": {"sql": {"source": "hf://org/sql"}}}}},
    "model.maxModelLen": {"model": {**_MODEL, "maxModelLen": 4096}},
    "model.name": {"model": {**_MODEL, "name": "org/other"}},
    "model.speculative": {"model": {**_MODEL, "speculative": {"method": "ngram", "tokens": 3}}},
    "model.revision": {"model": {"source": "hf://org/model@v1"}, "storage": {"type": "engine"}},
    "observability.tracing.endpoint": {},
    "parallelism.data": {"parallelism": {"data": 2}},
    "parallelism.dataLocal": {**_GROUP, "parallelism": {"data": 16, "dataLocal": 8, "loadBalancing": "external"}},
    "parallelism.expert": {"parallelism": {"tensor": 2, "expert": True}},
    "parallelism.loadBalancing": {"parallelism": {"data": 2, "loadBalancing": "external"}},
    "parallelism.pipeline": {**_GROUP, "parallelism": {"tensor": 4, "pipeline": 2}},
    "parallelism.tensor": {"parallelism": {"tensor": 2}},
}
"""Services that set one field which an engine gets by flags, by the place of the field."""


def with_field(kind: str, field: str) -> dict[str, Any]:
    """Return the keys of a stack with a service of a kind of engine that sets one field."""
    service: dict[str, Any] = {"model": _MODEL, **FIELDS[field]}
    engine = {"type": kind, "image": IMAGES[kind], **service.get("engine", {})}
    stack: dict[str, Any] = {"services": {"qwen": {**service, "engine": engine}}}
    if field.startswith("observability."):
        stack["observability"] = {"tracing": {"endpoint": "http://collector:4317"}}
    return stack
