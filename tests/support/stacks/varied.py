"""Valid stacks that between them reach every field, each made for some of them."""

from typing import Any

from tests.support.stacks import tree
from tests.support.stacks.fragments import CLAIMS, ENV, FILL, METRICS, POD, TOLERATIONS
from tests.support.stacks.varied_architectures import ARCHITECTURES
from tests.support.stacks.varied_caches import CACHES
from tests.support.stacks.varied_canaries import CANARIES
from tests.support.stacks.varied_existing import OF_OTHERS
from tests.support.stacks.varied_metering import METERED
from tests.support.stacks.varied_observed import OBSERVED
from tests.support.stacks.varied_pods import PODS
from tests.support.stacks.varied_proxies import PROXIES
from tests.support.stacks.varied_releases import RELEASES
from tests.support.stacks.varied_roles import ROLES
from tests.support.stacks.varied_speculation import SPECULATION
from tests.support.stacks.varied_weights import WEIGHTS


def _plain() -> dict[str, Any]:
    """Return a stack of one role, with everything that the stack itself can say."""
    adapters = {
        "sql": {"source": "hf://org/sql"},
        "legal": {"source": "kit://registry.example/legal:v1", "secrets": ["legal"]},
        "chat": {"source": "s3://bucket/chat", "endpoint": "http://minio:9000"},
    }
    service = {
        "model": {"name": "org/m", "source": "kit://registry.example/m:v1", "lora": {"adapters": adapters}},
        "rollout": {"type": "RollingUpdate"},
        "route": {"hostnames": ["llm.example.com"]},
        "engine": {"image": "registry.example/engine:v1", "env": ENV},
        "pod": POD,
        "replicas": 2,
    }
    stack = tree(qwen=service)
    stack["interceptor"] = {"mode": "label", "namespace": "metering"}
    stack["gateway"]["port"] = 443
    return stack


def _apart() -> dict[str, Any]:
    """Return a traced stack of two roles, with a certificate between them."""
    service = {
        "model": {"source": "hf://org/m"},
        "accelerator": "nvidia-h100-80gb",
        "parallelism": {"data": 2},
        "rollout": {"type": "RollingUpdate"},
        "replicas": 2,
        "prefill": {"replicas": 2, "engine": {"env": ENV}, "pod": POD, "rollout": {"type": "RollingUpdate"}},
        "sidecar": {"tls": {"prefill": True, "certificate": "serving"}},
    }
    stack = tree(qwen=service)
    stack["observability"] = {"tracing": {"endpoint": "http://collector:4317"}}
    return stack


def _spanning() -> dict[str, Any]:
    """Return a signed model over several nodes, of a class of the user's own."""
    verify = {"type": "keyless", "identity": "me", "issuer": "https://issuer.example.com"}
    service = {
        "model": {"name": "org/m", "source": "kit://registry.example/m:v1", "verify": verify},
        "accelerator": "own",
        "parallelism": {"pipeline": 6},
        "acceleratorMemory": "360Gi",
    }
    resource = {"type": "extended-resource", "resourceName": "nvidia.com/own"}
    devices = {"vendor": "nvidia", "memory": "80Gi", "tolerations": TOLERATIONS, "allocation": resource}
    limit = {"devices": {"own": 64}, "perMonth": 1000000}
    prices = {"perDeviceHour": {"own": 0.001, "nvidia": 0.001}}
    money = {"prices": prices, "budgets": {"by": "team", "limits": {"search": limit}}}
    return tree(qwen=service) | money | {"accelerators": {"own": devices}, "labels": {"team": "search"}}


def _claimed() -> dict[str, Any]:
    """Return a small model from a bucket, on devices that are claimed."""
    model = {"name": "org/m", "source": "s3://bucket/m", "region": "eu", "secrets": ["one"]}
    allocation = {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com"}
    devices = {"vendor": "nvidia", "memory": "80Gi", "allocation": allocation}
    service = {"model": model, "accelerator": "own", "acceleratorMemory": "160Gi"}
    return tree(qwen=service) | {"accelerators": {"own": devices}}


def _paired() -> dict[str, Any]:
    """Return two roles whose devices come in pairs with network cards, with further claims beside them."""
    selector = ["device.driver == 'one'"]
    requests = [
        {"name": "gpu", "deviceClassName": "gpu.nvidia.com", "selectors": selector},
        {"name": "edited", "deviceClassName": "nic", "selectors": selector, "count": 2},
        {"name": "7", "deviceClassName": "nic"},
    ]
    constraints = [{"matchAttribute": "example.com/root", "requests": ["7"]}]
    allocation = {"type": "resource-claim", "requests": requests, "constraints": constraints, "perDevice": True}
    model = {"name": "org/m", "source": "pvc://weights/m"}
    service = {"model": model, "accelerator": "own", "parallelism": {"tensor": 2}, "pod": {"claims": CLAIMS}}
    devices = {"vendor": "nvidia", "allocation": allocation}
    prefill_claims = {"nic": {**CLAIMS["nic"], "count": 1}, "channel": {"template": "another"}}
    prefill = {"parallelism": {"tensor": 4}, "pod": {"claims": prefill_claims}}
    return tree(qwen=service | {"prefill": prefill}) | {"accelerators": {"own": devices}}


def _foreign() -> dict[str, Any]:
    """Return devices of a vendor without shipped classes, which a template of others claims."""
    devices = {"vendor": "huawei", "allocation": {"type": "resource-claim", "template": "devices"}}
    service = {
        "model": {"name": "org/m", "source": "pvc://weights/m"},
        "accelerator": "own",
        "parallelism": {"tensor": 2},
        "engine": {"image": "registry.example/engine:v1"},
    }
    return tree(qwen=service) | {"accelerators": {"own": devices}}


def _signed() -> dict[str, Any]:
    """Return a model that is signed with a key, with an engine of the user's own."""
    verify = {"type": "key", "secret": "one"}
    model = {"name": "org/m", "source": "kit://registry.example/m:v1", "verify": verify}
    storage = {"type": "ephemeral"}
    return tree(qwen={"model": model, "engine": {"image": "registry.example/engine:v1"}, "storage": storage})


def _groups() -> dict[str, Any]:
    """Return two roles, each of which spans nodes in every replica, with pods of an identity of their own."""
    service = {
        "model": {"name": "org/m", "source": "s3://bucket/m/"},
        "accelerator": "nvidia-h100-80gb",
        "parallelism": {"tensor": 4, "data": 4, "dataLocal": 2, "expert": True},
        "replicas": 2,
        "pod": {"serviceAccountName": "reader"},
        "prefill": {"replicas": 3, "parallelism": {"data": 1, "dataLocal": 1}},
    }
    return tree(qwen=service)


def _ranked() -> dict[str, Any]:
    """Return copies that are endpoints, in roles that have different numbers of them, with all that guards ports."""
    service = {
        "accelerator": "nvidia-h100-80gb",
        "engine": {"image": "registry.example/vllm-openai:v0.23.0"},
        "parallelism": {"data": 3, "loadBalancing": "external", "expert": True},
        "prefill": {"parallelism": {"data": 2}},
    }
    stack = tree(qwen=service, bert={**service, "endpointPicker": {"preset": "precise-prefix-cache"}})
    return stack | {"observability": {"metrics": {"type": "prometheus-operator"}}, "networkPolicies": {}}


def _shared() -> dict[str, Any]:
    """Return two caches, of which a service uses one."""
    cached = {"source": "s3://bucket/m", "size": "10Gi", "fill": {**FILL, "secrets": ["one"], "region": "eu"}}
    other = {"source": "hf://org/edited@v1", "size": "1Gi", "accessMode": "ReadWriteOnce", "storageClassName": "fast"}
    stack = tree(qwen={"model": {"name": "org/m"}, "storage": {"type": "shared", "cache": "m"}})
    return stack | {"caches": {"m": cached, "edited": other}, "storageClassName": "slow"}


def _dedicated() -> dict[str, Any]:
    """Return a bucket on a claim of the service's own, served by pods that know who they are."""
    model = {"name": "org/m", "source": "s3://bucket/m", "size": "10Gi"}
    storage = {"type": "dedicated", "fill": FILL, "mountPath": "/weights", "headroomPercent": 20}
    pod = {"runAsUser": 7, "fsGroup": 8, "imagePullSecrets": [{"name": "one"}]}
    return tree(qwen={"model": model, "storage": storage, "pod": pod, "annotations": {"one": "one"}})


def _existing() -> dict[str, Any]:
    """Return a signed ModelKit in a folder of a claim that exists, with an adapter that each pod fetches."""
    model = {
        "name": "org/m",
        "source": "kit://registry.example/m:v1",
        "verify": {"type": "key", "secret": "one"},
        "filter": ["model", "code"],
        "lora": {"adapters": {"sql": {"source": "hf://org/sql", "size": "1Gi"}}},
    }
    fill = {"serviceAccountName": "reader", "secrets": ["one"]}
    storage = {"type": "existing", "claimName": "weights", "subPath": "llm/m", "fill": fill}
    return tree(qwen={"model": model, "storage": storage, "prefill": {}})


BUSY_HOURS = {"timezone": "UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "3"}


def _scaled() -> dict[str, Any]:
    """Return two roles over several nodes, whose numbers follow what an adapter of metrics tells."""
    queue = {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "5"}}
    metrics = [*METRICS, {"type": "custom", "spec": {"type": "External", "external": queue}}]
    scaling = {"type": "hpa", "minReplicas": 2, "maxReplicas": 4, "metrics": metrics}
    service = {
        "accelerator": "nvidia-h100-80gb",
        "parallelism": {"tensor": 8, "pipeline": 2},
        "autoscaling": scaling,
        "prefill": {"autoscaling": {**scaling, "maxReplicas": 5}},
    }
    return tree(qwen=service)


PROMETHEUS = {"observability": {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}}


def _driven() -> dict[str, Any]:
    """Return two roles that KEDA scales by what a Prometheus tells, and by the clock."""
    metrics = [*METRICS, {"type": "custom", "spec": {"type": "cron", "metadata": BUSY_HOURS}}]
    scaling = {"type": "keda", "maxReplicas": 4, "pollingInterval": "15s", "metrics": metrics}
    return tree(qwen={"autoscaling": scaling, "prefill": {"autoscaling": {**scaling, "minReplicas": 2}}}) | PROMETHEUS


def _scheduled() -> dict[str, Any]:
    """Return a role that KEDA keeps awake in working hours."""
    hours = {"start": "0 7 * * 1-5", "end": "0 19 * * 1-5", "timezone": "Europe/Berlin", "replicas": 3}
    scaling = {"type": "keda", "maxReplicas": 4, "metrics": METRICS, "schedules": [hours]}
    return tree(qwen={"autoscaling": scaling}) | PROMETHEUS


PICKED = [
    {"type": "picker-queue-size", "target": 5},
    {"type": "picker-running-requests", "target": 16},
    {"type": "pool-saturation", "target": 0.7},
]


def _followed() -> dict[str, Any]:
    """Return two roles whose numbers follow what an adapter tells of their picker, and one role beside them."""
    scaling = {"type": "hpa", "maxReplicas": 4, "metrics": PICKED}
    picker = {"flowControl": {"defaultRequestTTL": "2m"}}
    disaggregated = {"autoscaling": scaling, "prefill": {"autoscaling": scaling}, "endpointPicker": picker}
    return tree(qwen=disaggregated, bert={"autoscaling": scaling, "endpointPicker": picker})


def _weighed() -> dict[str, Any]:
    """Return two roles that KEDA scales by formulas over what a guarded Prometheus tells of engines and picker."""
    formula = "max([queue_size, picker_queue_size]) + picker_running_requests"
    modifiers = {"formula": formula, "target": 5, "activationTarget": 1}
    awake = {"type": "keda", "maxReplicas": 4, "metrics": [*METRICS, *PICKED], "scalingModifiers": modifiers}
    fallback = {"replicas": 2, "failureThreshold": 5, "behavior": "currentReplicasIfHigher"}
    weighed = {"formula": "queue_size + waiting", "target": 0.5, "metricType": "Value"}
    asleep = {"type": "keda", "minReplicas": 0, "maxReplicas": 4, "metrics": METRICS, "scalingModifiers": weighed}
    queued = {"type": "keda", "minReplicas": 0, "maxReplicas": 4, "metrics": PICKED[:2]}
    picker = {"endpointPicker": {"flowControl": {"defaultRequestTTL": "1h"}}}
    stack = tree(
        qwen={
            "autoscaling": awake | {"fallback": fallback},
            "prefill": {"autoscaling": asleep | {"fallback": fallback}},
        }
        | picker,
        bert={"autoscaling": queued} | picker,
    )
    credentials = {"name": "prometheus", "kind": "ClusterTriggerAuthentication", "modes": ["basic", "tls"]}
    prometheus = PROMETHEUS["observability"]["prometheus"] | {"authentication": credentials}
    return stack | {"observability": {"prometheus": prometheus}}


def _sleeping() -> dict[str, Any]:
    """Return two roles that sleep while the picker, which is asked in plain text, holds no request."""
    scaling = {"type": "keda", "minReplicas": 0, "maxReplicas": 4, "metrics": METRICS[1:]}
    picker = {"flowControl": {"defaultRequestTTL": "1h"}, "tls": {"type": "none"}}
    prefill = {"autoscaling": {**scaling, "metrics": METRICS}}
    return tree(qwen={"autoscaling": scaling, "endpointPicker": picker, "prefill": prefill}) | PROMETHEUS


POLICIES = {"fairnessPolicyRef": "global-strict-fairness-policy", "orderingPolicyRef": "fcfs-ordering-policy"}
FLOW_CONTROL = {
    "maxRequests": "1k",
    "defaultPriorityBand": {"maxRequests": "500"},
    "defaultNegativePriorityBand": {"maxRequests": "50"},
    "priorityBands": [{"priority": 100, "maxRequests": "500", **POLICIES}],
    "saturationDetector": {"pluginRef": "utilization-detector"},
}


def _picked() -> dict[str, Any]:
    """Return a picker that holds requests back, with flags and weights of the user's own."""
    weights = {"queue-scorer": 1, "lora-affinity-scorer": 1}
    picker = {"scorerWeights": weights, "flowControl": FLOW_CONTROL, "flags": {"drain-timeout": "5s"}}
    return tree(qwen={"endpointPicker": picker})


def _elected() -> dict[str, Any]:
    """Return pickers that elect a leader, whom the gateway knows by their certificate and may pass over."""
    placed = {
        "nodeSelector": {"zone": "one"},
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "schedulerName": "other",
        "runtimeClassName": "sealed",
        "labels": {"one": "one"},
        "annotations": {"one": "one"},
    }
    picker = {
        "replicas": 2,
        "failureMode": "FailOpen",
        "tls": {"type": "certificate", "secret": "picker", "caSecret": "picker-ca"},
        "flags": {"drain-timeout": "3m"},
        "pod": {**POD, **placed},
    }
    inherited = {"endpointPicker": {"failOpenReason": "any pod will do"}}
    return tree(qwen={"endpointPicker": picker, "prefill": {}}) | {"defaults": inherited}


def _accompanied() -> dict[str, Any]:
    """Return a picker for much traffic, with variables, a container beside it and changes of the user's own."""
    render = {
        "image": "registry.example/render:v1",
        "command": ["vllm", "launch", "render"],
        "args": ["org/m", "--port=8000"],
        "env": {**ENV, "RESOURCE": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1"}}},
        "ports": [8000],
        "resources": {"requests": {"cpu": "4"}, "limits": {"memory": "8Gi"}},
        "runAsUser": 7,
    }
    pod = {"containers": [{"name": "epp", "tty": True}, {"name": "patched", "image": "registry.example/patched:v1"}]}
    picker = {
        "env": {**ENV, "RESOURCE": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        "containers": {"render": render, "warm": {"image": "registry.example/warm:v1"}},
        "patch": {"spec": {"minReadySeconds": 5, "template": {"spec": pod}}},
        "traffic": {"requestsPerSecond": 20, "inputTokens": 100_000, "outputTokens": 5000},
        "flowControl": {"priorityBands": [{"priority": 1}]},
    }
    return tree(qwen={"endpointPicker": picker, "replicas": 3})


def _replicated() -> dict[str, Any]:
    """Return pickers that are all at work, sized by the traffic of a pool that grows."""
    picker = {
        "preset": "precise-prefix-cache",
        "replicas": 2,
        "replication": "active-active",
        "traffic": {"requestsPerSecond": 0.5},
        "flowControl": {"maxBytes": "10Gi"},
    }
    scaling = {"type": "hpa", "maxReplicas": 40, "metrics": METRICS}
    return tree(qwen={"endpointPicker": picker, "autoscaling": scaling})


def _typed() -> dict[str, Any]:
    """Return an engine of the user's own that is asked over gRPC."""
    profile = {"name": "default", "plugins": [{"pluginRef": "random-picker"}]}
    parsers = {"parsers": [{"pluginRef": "vllmgrpc-parser"}]}
    config = {"plugins": [{"type": "random-picker"}], "schedulingProfiles": [profile], "requestHandler": parsers}
    engine = {"type": "custom", "image": "registry.example/engine:v1"}
    certificate = {"type": "certificate", "secret": "picker"}
    picker = {"preset": "custom", "config": config, "tls": certificate}
    return tree(qwen={"engine": engine, "endpointPicker": picker})


def _predicted() -> dict[str, Any]:
    """Return two roles whose picker predicts latency."""
    predictor = {"trainingServer": "http://training:8000", "predictionServers": ["http://prediction:8001"]}
    return tree(qwen={"prefill": {}, "endpointPicker": {"preset": "predicted-latency", "latencyPredictor": predictor}})


def _predicting() -> dict[str, Any]:
    """Return pickers with a latency predictor beside each: of the release, and of the user's own images and sizes."""
    small = {"requests": {"cpu": "1"}, "limits": {"memory": "2Gi"}}
    service = {
        "trainingImage": "registry.example/training:v1",
        "trainingResources": small,
        "predictionImage": "registry.example/prediction:v1",
        "predictionResources": small,
        "predictionWorkers": 2,
    }
    deployed = {
        key: {"endpointPicker": {"preset": "predicted-latency", "latencyPredictor": {"deploy": deploy}}}
        for key, deploy in {"qwen": service, "bert": {}}.items()
    }
    return tree(**deployed) | {"networkPolicies": {}}


def _configured() -> dict[str, Any]:
    """Return a picker with a configuration of the user's own, beside a precise one."""
    profile = {"name": "default", "plugins": [{"pluginRef": "random-picker"}]}
    config = {"plugins": [{"type": "random-picker"}], "schedulingProfiles": [profile]}
    precise = {"kvCache": {"events": True, "blockSize": 64}, "endpointPicker": {"preset": "precise-prefix-cache"}}
    return tree(qwen={"endpointPicker": {"preset": "custom", "config": config}}, bert=precise)


def _scraped() -> dict[str, Any]:
    """Return what the operator of Prometheus scrapes, behind a gateway of GKE."""
    metrics = {"path": "/stats", "interval": "15s"}
    service = {"metrics": metrics, "drainTimeout": "10m", "health": {"livenessPath": "/live"}}
    stack = tree(qwen=service, bert={"endpointPicker": {"metricsAuth": False}})
    stack["gateway"]["provider"] = "gke"
    metrics = {"type": "prometheus-operator", "labels": {"release": "one"}}
    return stack | {"observability": {"metrics": metrics}, "namespaceOptions": {"create": True}}


def _collected() -> dict[str, Any]:
    """Return two roles that Google's collector scrapes, with a certificate between them."""
    sidecar = {"tls": {"prefill": True, "certificate": "serving"}}
    disaggregated = {"prefill": {}, "sidecar": sidecar, "rollout": {"type": "Recreate"}}
    stack = tree(qwen=disaggregated, bert={"endpointPicker": {"metricsAuth": False}})
    return stack | {"observability": {"metrics": {"type": "gmp"}}}


UNSEEN = {"route": {"enabled": False}, "rewrites": []}


def _routed() -> dict[str, Any]:
    """Return a model and its adapters, found in every way on a gateway of its own, and whom requests are copied to."""
    adapters = {"edited": {"source": "hf://org/edited"}, "sql": {"source": "hf://org/sql"}}
    gateway = {"name": "other", "namespace": "edge", "sectionName": "https", "port": 443, "bodyRouter": True}
    team = {"path": "/{.metadata.labels['team']}/{.metadata.name}", "headers": {"x-one": "one"}}
    route = {
        "gateway": {**gateway, "provider": "istio"},
        "hostnames": ["llm.example.com"],
        "annotations": {"one": "one"},
        "matches": [team, {"model": "org/m"}, {"path": "/v1", "headers": {"x-tier": "gold", "x-two": "two"}}],
        "replacePrefixMatch": "/v1",
        "setHeaders": {"x-tier": "gold", "x-one": "one"},
        "removeHeaders": ["x-debug"],
        "mirror": {"service": "next", "percent": 10},
        "timeouts": {"request": "10m", "backendRequest": "5m"},
    }
    targets = [{"model": "org/m", "weight": 90}, {"model": "sql", "weight": 10}]
    service = {
        "model": {"name": "org/m", "source": "hf://org/m", "lora": {"adapters": adapters}},
        "labels": {"team": "search"},
        "route": route,
        "objectives": {"batch": {"priority": -1}, "chat": {"priority": 10}},
        "rewrites": [{"model": "latest", "targets": targets}, {"model": "query", "targets": [{"model": "sql"}]}],
    }
    stack = tree(qwen=service, next={**UNSEEN, "namespace": "trials"}, edited=UNSEEN)
    return stack | {"networkPolicies": {"gatewayPods": {"app": "gateway"}}}


def _routed_apart() -> dict[str, Any]:
    """Return two roles and a canary that are found by a host or a path, and told of priorities by an older release."""
    canary = {"weight": 0, "headers": {"x-canary": "always"}, "objectives": {"batch": {"priority": -2}}}
    canary |= {"engine": {"args": ["--seed=7"]}}
    service = {
        "model": {"source": "hf://org/m"},
        "prefill": {},
        "route": {
            "hostnames": ["llm.example.com"],
            "matches": [{}, {"path": "/{.metadata.name}"}],
            "mirror": {"service": "bert"},
            "timeouts": {"request": "0s"},
        },
        "objectives": {"batch": {"priority": -1}},
        "rewrites": [{"model": "latest", "targets": [{"model": "org/m"}]}],
        "canary": canary,
    }
    return tree(qwen=service, bert=UNSEEN)


def _routed_by_body() -> dict[str, Any]:
    """Return a server of the user's own, whose models nobody else knows, and a canary with a share of its requests."""
    gateway = {"name": "other", "namespace": "edge", "provider": "istio", "version": "1.31.2", "bodyRouter": True}
    route = {"gateway": gateway, "matches": [{"model": "org/m", "path": "/v1"}]}
    canary = {"weight": 10, "labels": {"tried": "yes"}}
    model = {"name": "org/served", "source": "image://registry.example/server:v1"}
    return tree(qwen={"model": model, "route": route, "canary": canary})


def _guarded() -> dict[str, Any]:
    """Return who may reach whom of two roles over several nodes, of their canary, and of what fills their claims."""
    service = {
        "model": {"source": "hf://org/m", "endpoint": "http://hub.models:8080"},
        "accelerator": "nvidia-h100-80gb",
        "parallelism": {"tensor": 8, "pipeline": 3},
        "prefill": {"parallelism": {"tensor": 8, "pipeline": 2}},
        "endpointPicker": {"preset": "precise-prefix-cache"},
        "canary": {"weight": 10, "prefill": None, "parallelism": {"tensor": 8}, "kvCache": {"events": True}},
    }
    proxy = {"env": {"HTTPS_PROXY": "http://proxy.example.com:3128"}}
    caches = {"one": {"source": "kit://registry.example:5000/m:v1", "size": "1Gi", "fill": proxy}}
    addresses = {"apiServerCIDRs": ["10.0.0.1/32"], "egressCIDRs": ["203.0.113.0/24", "2001:db8::/32"]}
    return tree(qwen=service) | {
        "caches": caches,
        "networkPolicies": {"gatewayPods": {"app": "gateway"}, **addresses},
        "observability": {"tracing": {"endpoint": "http://collector.monitoring.svc.cluster.local:4317"}},
    }


def _reached() -> dict[str, Any]:
    """Return who may reach whom in front of pools that Google's load balancer checks, or that nobody routes to."""
    predictor = {"trainingServer": "http://training:8000", "predictionServers": ["https://prediction.example.com"]}
    picker = {"failureMode": "FailOpen", "failOpenReason": "any pod will do", "port": 9100}
    kit = {"name": "org/m", "source": "kit://registry.example/m:v1", "insecure": True}
    predicted = {"prefill": {}, "endpointPicker": {"preset": "predicted-latency", "latencyPredictor": predictor}}
    dedicated = {"namespace": "other", "annotations": {"one": "one"}, "storage": {"type": "dedicated", "size": "1Gi"}}
    stack = tree(
        qwen=predicted | {"model": kit},
        bert={"endpointPicker": picker, **dedicated},
        unrouted={"route": {"enabled": False}, "metrics": {"decode": False, "picker": False}},
    )
    stack["gateway"]["provider"] = "gke"
    policies = {"proxyCIDRs": ["10.129.0.0/23"]}
    return stack | {"networkPolicies": policies, "observability": {"metrics": {"type": "gmp"}}}


def _asked() -> dict[str, Any]:
    """Return who may reach whom where autoscaling follows what nobody was told to scrape."""
    scaling = {"type": "keda", "minReplicas": 0, "maxReplicas": 4, "metrics": METRICS}
    picker = {
        "failureMode": "FailOpen",
        "failOpenReason": "any pod will do",
        "flowControl": {"defaultRequestTTL": "1h"},
    }
    model = {"name": "org/m", "source": "s3://bucket/m", "endpoint": "http://10.0.0.7:9000"}
    service = {"model": model, "autoscaling": scaling, "endpointPicker": picker, "prefill": {}}
    stack = tree(qwen=service) | PROMETHEUS
    del stack["gateway"]["namespace"]
    gateway = {"gatewayPods": {"app": "gateway"}, "gatewayNamespace": "edge", "proxyCIDRs": ["10.130.0.0/23"]}
    dns = {"dnsNamespace": "openshift-dns", "dnsPort": 5353, "dnsCIDRs": ["10.96.0.10/32"]}
    return stack | {"networkPolicies": {"prometheusNamespace": "prometheus", **gateway, **dns}}


VARIED = {
    "plain": _plain(),
    **ARCHITECTURES,
    "apart": _apart(),
    "spanning": _spanning(),
    "claimed": _claimed(),
    "paired": _paired(),
    "foreign": _foreign(),
    "signed": _signed(),
    "groups": _groups(),
    "ranked": _ranked(),
    "shared": _shared(),
    "dedicated": _dedicated(),
    "existing": _existing(),
    "scaled": _scaled(),
    "driven": _driven(),
    "scheduled": _scheduled(),
    "followed": _followed(),
    "weighed": _weighed(),
    "sleeping": _sleeping(),
    "picked": _picked(),
    "elected": _elected(),
    "accompanied": _accompanied(),
    "replicated": _replicated(),
    "typed": _typed(),
    "predicted": _predicted(),
    "predicting": _predicting(),
    "configured": _configured(),
    **CACHES,
    **CANARIES,
    **OBSERVED,
    "routed": _routed(),
    "routed-apart": _routed_apart(),
    "routed-by-body": _routed_by_body(),
    "scraped": _scraped(),
    "collected": _collected(),
    "guarded": _guarded(),
    "reached": _reached(),
    "asked": _asked(),
    **METERED,
    **OF_OTHERS,
    **PROXIES,
    **RELEASES,
    **PODS,
    **ROLES,
    **SPECULATION,
    **WEIGHTS,
}
"""Valid stacks that between them reach every field."""
