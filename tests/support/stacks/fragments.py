"""Parts of valid stacks that say as much as they can."""

from typing import Any

CLAIMS = {
    "nic": {"deviceClassName": "nic", "count": 2, "selectors": ["device.driver == 'one'"]},
    "channel": {"template": "channel"},
}
"""Claims on devices beside those of the accelerator class."""
ENV = {
    "TEXT": "text",
    "SECRET": {"secretKeyRef": {"name": "one", "key": "one"}},
    "CONFIG": {"configMapKeyRef": {"name": "one", "key": "one"}},
    "FIELD": {"fieldRef": {"fieldPath": "spec.nodeName"}},
    "RESOURCE": {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "vllm", "divisor": "1"}},
}
TOLERATIONS = [
    {"key": "one", "operator": "Equal", "value": "one", "effect": "NoExecute", "tolerationSeconds": 5},
    {"key": "two"},
]
SPREAD = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
POD = {"tolerations": TOLERATIONS, "imagePullSecrets": [{"name": "one"}], "topologySpreadConstraints": [SPREAD]}
FILL = {"env": ENV, "resources": {"requests": {"cpu": "2"}, "limits": {"memory": "8Gi"}}}
METRICS = [
    {"type": "queue-size", "target": 5},
    {"type": "kv-cache-utilization", "target": 0.8},
    {"type": "cpu", "targetPercent": 80},
]

MIXTURE: dict[str, Any] = {
    "family": "mixtral", "layers": 32, "hiddenSize": 4096, "intermediateSize": 14336, "heads": 32,
    "kvHeads": 8, "dtype": "bfloat16", "vocabSize": 128256, "contextLength": 8192, "parameters": 46702792704,
    "experts": 8, "expertsPerToken": 2, "expertShare": 0.9,
}  # fmt: skip
"""Architecture of a mixture of experts."""
LAYERED: dict[str, Any] = {
    "layers": 44, "hiddenSize": 4096, "intermediateSize": 14336, "heads": 32, "vocabSize": 1000,
    "cache": [
        {"layers": 8, "kvHeads": 8, "headDim": 128},
        {"layers": 24, "kvHeads": 4, "headDim": 64, "window": 1024},
        {"layers": 4, "latent": 576, "ratio": 4},
        {"layers": 2, "bytes": 132},
        {"layers": 6, "state": 2097152},
    ],
}  # fmt: skip
"""Architecture of a model whose layers cache in each of the known ways."""
