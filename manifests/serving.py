"""The serving pods of one service: one Deployment, whose port, probes and mounts have to agree."""

from typing import Any

from manifests.objects import Manifest, Rendered, compact, field_ref, metadata
from planning import labels
from planning.engine import MODEL_MOUNT
from planning.order import Id, Part
from planning.stack import ServicePlan, selector_labels
from planning.workload import Unpack, Workload

_KIT_HOME, _DOCKER_CONFIG, _HOME = "/kitops", "/.docker", "/home/engine"
_NO_UPDATE_CHECK = "disable-update-notifications"
"""A file of this name in kit's home keeps kit from asking its vendor for updates at every pod start."""
CONTAINER_SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def decode(service: ServicePlan) -> Rendered:
    """Render the decode Deployment."""
    names, workload = service.names, service.workload
    selector = selector_labels(service)
    own = labels.standard(names.base, "model-server", service.own_labels)
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(names.decode, names.namespace, own),
        "spec": {
            "replicas": workload.replicas,
            "selector": {"matchLabels": selector},
            # A surge pod would wait for a free device that a full cluster does not have.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "progressDeadlineSeconds": workload.progress_deadline,
            "template": {
                "metadata": {"labels": {**own, **labels.serving(names.base, labels.DECODE), **selector}},
                "spec": _pod(workload),
            },
        },
    }
    return Rendered(Id(service.key, Part.DECODE), manifest, "decode", wait=workload.wait)


def pod_security(user: int | None = None, group: int | None = None) -> dict[str, Any]:
    """Return a pod security context that the `restricted` Pod Security level admits."""
    return compact(
        {
            "runAsNonRoot": True,
            "runAsUser": user,
            "runAsGroup": group,
            "fsGroup": group,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    )


def _pod(workload: Workload) -> dict[str, Any]:
    return compact(
        {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": pod_security(workload.run_as_user, workload.fs_group),
            "affinity": _affinity(workload),
            "tolerations": _tolerations(workload),
            "initContainers": [_unpack(workload.unpack)],
            "containers": [_engine(workload)],
            "volumes": _volumes(workload),
        }
    )


def _affinity(workload: Workload) -> dict[str, Any]:
    expressions = [
        {"key": label, "operator": "In", "values": list(values)} for label, values in workload.node_labels.items()
    ]
    if not expressions:
        return {}
    terms = [{"matchExpressions": expressions}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _tolerations(workload: Workload) -> list[dict[str, str]]:
    """Tolerate the taint that keeps other pods off device nodes; it has the resource's own name."""
    if workload.devices is None:
        return []
    return [{"key": workload.devices[0], "operator": "Exists", "effect": "NoSchedule"}]


def _unpack(unpack: Unpack) -> Manifest:
    """Run kit without a shell. `-o` overwrites, so that a restarted pod finishes what it had begun."""
    command = ["kit", "unpack", unpack.reference, "-o", "-d", MODEL_MOUNT, "--filter=model"]
    env = {"KITOPS_HOME": _KIT_HOME, "DOCKER_CONFIG": _DOCKER_CONFIG if unpack.secret is not None else None}
    docker_config = {"name": "docker-config", "mountPath": _DOCKER_CONFIG, "readOnly": True}
    return {
        "name": "model-unpack",
        "image": unpack.image,
        "command": command + (["--plain-http"] if unpack.insecure else []),
        "env": [{"name": name, "value": value} for name, value in env.items() if value is not None],
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
        "securityContext": {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True},
        "volumeMounts": [
            {"name": "model", "mountPath": MODEL_MOUNT},
            {"name": "kit-home", "mountPath": _KIT_HOME},
            {
                "name": "kit-settings",
                "mountPath": f"{_KIT_HOME}/{_NO_UPDATE_CHECK}",
                "subPath": _NO_UPDATE_CHECK,
                "readOnly": True,
            },
            *([docker_config] if unpack.secret is not None else []),
        ],
    }


def _engine(workload: Workload) -> Manifest:
    devices = {} if workload.devices is None else {workload.devices[0]: str(workload.devices[1])}
    return {
        "name": "vllm",
        "image": workload.image,
        "command": ["vllm", "serve"],
        "args": list(workload.arguments),
        "env": [
            {"name": "HOME", "value": _HOME},
            {"name": "VLLM_NO_USAGE_STATS", "value": "1"},
            {"name": "DO_NOT_TRACK", "value": "1"},
        ],
        "ports": [{"name": "http", "containerPort": workload.port, "protocol": "TCP"}],
        **_probes(workload),
        "resources": {"requests": {**workload.requests, **devices}, "limits": {**workload.limits, **devices}},
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": [
            {"name": "model", "mountPath": MODEL_MOUNT, "readOnly": True},
            {"name": "home", "mountPath": _HOME},
            {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108, the engine's shared memory is there
        ],
    }


def _probes(workload: Workload) -> dict[str, Any]:
    probes = workload.probes

    def probe(path: str, failures: int) -> dict[str, Any]:
        return {
            "httpGet": {"path": path, "port": workload.port},
            "periodSeconds": probes.interval,
            "timeoutSeconds": probes.timeout,
            "failureThreshold": failures,
        }

    return {
        "startupProbe": probe(probes.path, probes.startup_failures),
        "readinessProbe": probe(probes.path, probes.failure_threshold),
        "livenessProbe": probe(probes.liveness_path, probes.failure_threshold),
    }


def _volumes(workload: Workload) -> list[dict[str, Any]]:
    secret = workload.unpack.secret
    marker = {"path": _NO_UPDATE_CHECK, "fieldRef": field_ref("metadata.name")}
    docker_config = {"secretName": secret, "items": [{"key": ".dockerconfigjson", "path": "config.json"}]}
    return [
        {"name": "model", "emptyDir": {}},
        {"name": "home", "emptyDir": {}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": workload.shared_memory}},
        {"name": "kit-home", "emptyDir": {}},
        {"name": "kit-settings", "downwardAPI": {"items": [marker]}},
        *([{"name": "docker-config", "secret": docker_config}] if secret is not None else []),
    ]
