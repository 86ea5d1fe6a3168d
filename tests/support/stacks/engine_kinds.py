"""Services of every kind of engine that gets generated arguments, besides vLLM, in every shape."""

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
