"""Parts of valid stacks that say as much as they can."""

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
