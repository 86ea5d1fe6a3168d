"""Facts that the proofs know without the program: images, devices, labels of nodes, features of the channels."""

GI = 2**30
UNITS = {"Mi": 2**20, "Gi": GI, "Ti": 2**40}
SECONDS = {"s": 1, "m": 60, "h": 3600}

ENGINE_IMAGES = {
    ("llm-d-0.10", "nvidia"): "vllm/vllm-openai:v0.30.0"
    "@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
    ("llm-d-0.10", "amd"): "vllm/vllm-openai-rocm:v0.30.0"
    "@sha256:2e7da1ad1c66836802072588adea75f9f4991da5f9545b4318e91d422c22ce6a",
    ("llm-d-0.10", "cpu"): "vllm/vllm-openai-cpu:v0.30.0",
    ("llm-d-0.9", "nvidia"): "vllm/vllm-openai:v0.26.0"
    "@sha256:ffb2d59b1c059a5bd8d781320c9f5189de8293693b7d95da54befddaa54abf52",
    ("llm-d-0.9", "amd"): "vllm/vllm-openai-rocm:v0.26.0",
    ("llm-d-0.9", "cpu"): "vllm/vllm-openai-cpu:v0.26.0",
    ("gie-1.5", "nvidia"): "vllm/vllm-openai:v0.18.1",
    ("gie-1.5", "cpu"): "vllm/vllm-openai-cpu:v0.18.1",
    ("gie-1.3", "nvidia"): "vllm/vllm-openai:v0.15.1",
    ("gie-1.3", "cpu"): "vllm/vllm-openai-cpu:v0.15.1-x86_64",
}
PICKER_IMAGES = {
    "llm-d-0.10": "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.11.0",
    "llm-d-0.9": "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0"
    "@sha256:2e516fa1310da7be59b82beb1445362139597d6d553ef04d546716abe3aaaa70",
    "gie-1.5": "registry.k8s.io/gateway-api-inference-extension/epp:v1.5.0",
    "gie-1.3": "registry.k8s.io/gateway-api-inference-extension/epp:v1.3.0",
}
SIDECAR_IMAGES = {
    "llm-d-0.10": "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.11.0",
    "llm-d-0.9": "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0",
}
KIT, KIT_VERIFYING = "ghcr.io/kitops-ml/kitops:v1.11.0", "ghcr.io/kitops-ml/kitops-init:v1.7.0"
DOWNLOADER = "kserve/storage-initializer:v0.20.0"
IGNORED = [
    *("original/**", "metal/**", "coreml/**", "onnx/**", "openvino/**", "*.onnx", "*.onnx_data", "*.pth", "*.h5"),
    *("*.msgpack", "*.ot", "*.tflite", "*.gguf"),
]
"""Files of a repository that the downloader leaves out, because vLLM never reads them."""
CONFIG_GROUPS = {
    "llm-d-0.10": ("llm-d.ai/v1alpha1", "llm-d.ai"),
    "llm-d-0.9": ("llm-d.ai/v1alpha1", "llm-d.ai"),
    "gie-1.5": ("inference.networking.x-k8s.io/v1alpha1", "inference.networking.x-k8s.io"),
    "gie-1.3": ("inference.networking.x-k8s.io/v1alpha1", "inference.networking.x-k8s.io"),
}
LEASES = {
    "llm-d-0.10": "epp-{}-{}.llm-d.ai",
    "llm-d-0.9": "epp-{}-{}.llm-d.ai",
    "gie-1.5": "epp-{}-{}.gateway-api-inference-extension.sigs.k8s.io",
    "gie-1.3": "epp-{}-{}.gateway-api-inference-extension.sigs.k8s.io",
}
"""The lease by which pickers elect a leader, by namespace and pool."""
PICKER_START = 540
"""Seconds until a picker is ready at most."""
QUEUES = {
    "llm-d-0.10": "llm_d_epp_flow_control_queue_size",
    "llm-d-0.9": "llm_d_epp_flow_control_queue_size",
    "gie-1.5": "inference_extension_flow_control_queue_size",
    "gie-1.3": "inference_extension_flow_control_queue_size",
}
"""The picker's gauge of requests that wait."""
PICKED = {
    "llm-d-0.10": {
        "picker-queue-size": (QUEUES["llm-d-0.10"], "sum", False),
        "picker-running-requests": ("llm_d_epp_request_running", "sum", False),
        "pool-saturation": ("llm_d_epp_flow_control_pool_saturation", "min", True),
    },
    "llm-d-0.9": {
        "picker-queue-size": (QUEUES["llm-d-0.9"], "sum", False),
        "picker-running-requests": ("llm_d_epp_request_running", "sum", False),
        "pool-saturation": ("llm_d_epp_flow_control_pool_saturation", "min", False),
    },
    "gie-1.5": {
        "picker-queue-size": (QUEUES["gie-1.5"], "sum", False),
        "picker-running-requests": ("inference_objective_running_requests", "sum", False),
        "pool-saturation": ("inference_extension_flow_control_pool_saturation", "min", False),
    },
    "gie-1.3": {
        "picker-queue-size": (QUEUES["gie-1.3"], "sum", False),
        "picker-running-requests": ("inference_objective_running_requests", "sum", False),
    },
}
"""The picker's gauges that autoscalers follow: series, function over several pickers, and whether it says a stage."""
PREDICTORS = {
    "training-server": (
        "ghcr.io/llm-d/llm-d-latency-predictor-training-server:0.9.0",
        8000,
        "/tmp/models",
        "20Gi",
        {
            "LATENCY_RETRAINING_INTERVAL_SEC": "10",
            "LATENCY_MIN_SAMPLES_FOR_RETRAIN": "100",
            "LATENCY_OBJECTIVE_TYPE": "mean",
        },
    ),
    "prediction-server": (
        "ghcr.io/llm-d/llm-d-latency-predictor-prediction-server:0.9.0",
        8001,
        "/local_models",
        "10Gi",
        {"MODEL_SYNC_INTERVAL_SEC": "30", "LATENCY_OBJECTIVE_TYPE": "mean", "OMP_NUM_THREADS": "1"},
    ),
}
"""Servers of the latency predictor of llm-d-0.9 and llm-d-0.10: image, port, folder with its size, and variables."""
DRAINING = {"llm-d-0.10", "llm-d-0.9", "gie-1.5"}
"""Channels whose vLLM lets requests run on after it was told to end (0.18 and newer)."""
CONNECTORS = {"nixlv2": "NixlConnector", "mooncake": "MooncakeConnector"}

BASE_MODEL = "X-Gateway-Base-Model-Name"
"""The header that a payload processor writes the model of a request's body into."""

RESOURCES = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "cpu": None}
"""The extended resource of a vendor, which is the key of the taint of its nodes, too."""
PRODUCTS = {
    "nvidia-h100-80gb": ("nvidia", "81559Mi", 8, {"nvidia.com/gpu.product": ["NVIDIA-H100-80GB-HBM3"]}),
    "nvidia-l40s": ("nvidia", "46068Mi", None, {"nvidia.com/gpu.product": ["NVIDIA-L40S"]}),
    "amd-mi300x": ("amd", "196592Mi", 8, {"amd.com/gpu.device-id": ["74a1", "74a9", "74b5", "74bd"]}),
}
"""Vendor, memory of one device, devices of a node, and the labels of nodes that have them."""
IDLE = {"istio": 3600, "gke": 600, "agentgateway": 90}
"""Seconds for which a gateway keeps a connection that it does not use."""
IDLE_OF_SIDECAR = 90
WAITING = {"llm-d-0.10", "llm-d-0.9"}
"""Channels whose vLLM can be told how long the engines of a replica wait for each other."""
GATED = {"llm-d-0.10"}
"""Releases whose engines answer `/render` only with a flag."""
GATED_SINCE = (0, 30)
"""First version of vLLM that answers `/render` only with a flag."""

API_OF_KIND = {"Deployment": "apps/v1", "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1"}
METRICS = {
    "queue-size": "vllm:num_requests_waiting",
    "running-requests": "vllm:num_requests_running",
    "kv-cache-utilization": "vllm:kv_cache_usage_perc",
}
"""vLLM's gauges."""

FRONT_ENDS = ("35.191.0.0/16", "130.211.0.0/22", "2600:2d00:1:1::/64", "2600:2d00:1:b029::/64")
"""Addresses from which Google's load balancers ask and check."""

READ = ["get", "list", "watch"]
DROPPED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
SEALED = DROPPED | {"readOnlyRootFilesystem": True}
EXPLAINED = "FallbackToLogsOnError"
"""Policy of every container's termination message: why it failed stands in the status of its pod."""
POOL_GROUP = "inference.networking.k8s.io"


def seconds(duration: str) -> int:
    return int(duration[:-1]) * SECONDS[duration[-1]]


def amount(quantity: str) -> int:
    """Return bytes, or whole pieces where there is no unit."""
    return int(quantity[:-2]) * UNITS[quantity[-2:]] if quantity[-2:] in UNITS else int(quantity)
