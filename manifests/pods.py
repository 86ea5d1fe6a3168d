"""Pod specs of serving pods: containers, probes, volumes and mounts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from manifests import claims, pod_additions, pod_templates
from manifests.objects import Manifest, compact, field_ref
from models.paths import Path
from models.role import Recreate, RollingUpdate
from planning.ground.environment import Variable
from planning.ground.lifecycle import ProbePlan
from planning.ground.mounts import CERTIFICATES, DOCKER_CONFIG, ENGINE_HOME, FETCH_HOME, PUBLIC_KEY
from planning.hardware.placement import REQUIRED, Placement
from planning.serving.additions import PodContainerPlan
from planning.serving.engine import EnginePlan
from planning.serving.sidecar import SIDECAR_CONTAINER, SidecarPlan, SidecarProbe
from planning.serving.workload import Workload, port_names
from planning.weights.sources import Fetch, Weights

_NO_UPDATE_CHECK = "disable-update-notifications"
"""Name of a file in the home of the command `kit`. At every start, `kit` checks for updates unless this file exists."""
_TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105, a path
"""Folder in which a process looks for its access to the API server: `token`, `ca.crt` and `namespace`.

Source: k8s.io/client-go v0.34.3, rest/config.go (InClusterConfig); sigs.k8s.io/controller-runtime v0.22.4,
pkg/leaderelection/leader_election.go.
"""
CERTIFICATE_VOLUME = "certificate"
"""Name of the volume with the certificate of a server."""
_PUBLIC_KEY = "public-key"
"""Name of the volume with the key of a ModelKit's signature."""
_POOL_READER = "pool-reader"
"""Name of the volume with the sidecar's token."""
_TEMPLATES = {
    "Deployment": [("template",)],
    "LeaderWorkerSet": [("leaderWorkerTemplate", "leaderTemplate"), ("leaderWorkerTemplate", "workerTemplate")],
}
"""Paths of pod templates below `spec`, by kind of the workload."""
_FIELDS = ("affinity", "imagePullSecrets", "priorityClassName", "topologySpreadConstraints")
TERMINATION = {"terminationMessagePolicy": "FallbackToLogsOnError"}
"""Field of a container that says in the pod's status why the container ended.

If a container ends with an error and has written no message to `/dev/termination-log`, the end of its log is the
message: at most 2048 bytes and 80 lines. All containers of a pod together have at most 12 KiB of messages.

Source: k8s.io/api v0.36.3, core/v1/types.go (TerminationMessagePolicy); k8s.io/kubernetes v1.36.3,
pkg/kubelet/container/runtime.go (the limits), pkg/kubelet/kuberuntime/kuberuntime_container.go (getTerminationMessage).
"""
CONTAINER_SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_SEALED = {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True}
PASSED: Mapping[str, tuple[Path, ...]] = {
    kind: tuple(Path("spec", *template, "spec", field) for template in templates for field in _FIELDS)
    for kind, templates in _TEMPLATES.items()
}
"""Paths of the fields whose values users write as in the Kubernetes API, by kind of the manifest.

A problem in such a field is reported at the path of the value in the configuration.
"""
_ANNOTATIONS = {
    kind: tuple(Path("spec", *template, "metadata", "annotations") for template in templates)
    for kind, templates in _TEMPLATES.items()
}
"""Paths of the annotations of pods, by kind of the manifest."""


def annotation_origins(kind: str, annotations: Mapping[str, Path]) -> dict[Path, Path]:
    """Return the origins of the annotations of pods in a manifest. `annotations` has the origin of each key."""
    return {at / key: origin for at in _ANNOTATIONS[kind] for key, origin in annotations.items()}


def secret_origins(
    manifest: Manifest, env: Mapping[str, Iterable[Variable]], volumes: Mapping[str, Path]
) -> dict[Path, Path]:
    """Return the origins of the names of Secrets in the pods of a manifest to which no patch was applied.

    `env` has the variables of each container, and `volumes` the origin of the Secret of each volume. A patch keeps the
    places of generated containers, variables and volumes.
    """
    return {
        place: origin
        for template in pod_templates.templates(manifest)
        for place, origin in pod_secret_origins(Path(*template.at, "spec"), template.spec, env, volumes)
    }


def pod_secret_origins(
    at: Path, pod: Manifest, env: Mapping[str, Iterable[Variable]], volumes: Mapping[str, Path]
) -> Iterator[tuple[Path, Path]]:
    """Yield the origins of the names of Secrets in a pod at a path of a manifest; see `secret_origins`."""
    for container_at, container in pod_templates.containers(pod):
        for index, variable in enumerate(env.get(container["name"], ())):
            if variable.secret_at is not None:
                place = Path(*at, *container_at, "env", index, "valueFrom", "secretKeyRef", "name")
                yield place, variable.secret_at
    for index, volume in enumerate(pod.get("volumes", ())):
        if volume["name"] in volumes:
            yield Path(*at, "volumes", index, "secret", "secretName"), volumes[volume["name"]]


def fetch_environments(fetches: Sequence[Fetch]) -> dict[str, tuple[Variable, ...]]:
    """Return the variables of the containers that fetch weights, by name of the container."""
    return {fetch.name: fetch.env for fetch in fetches}


def fetch_secrets(fetches: Sequence[Fetch]) -> dict[str, Path]:
    """Return the origins of the Secrets in the volumes of containers that fetch weights, by name of the volume."""
    origins = dict[str, Path]()
    for fetch in fetches:
        if fetch.docker_config is not None:
            origins.setdefault(fetch.docker_config_volume, fetch.docker_config.at)
        if fetch.public_key is not None:
            origins.setdefault(_PUBLIC_KEY, fetch.public_key.at)
    return origins


def image_origins(weights: Weights, spec: Path, pod: Manifest) -> Iterator[tuple[Path, Path]]:
    """Yield the origins of the references of images that hold weights. `spec` is the path of the pod in the object."""
    for index, volume in enumerate(pod.get("volumes", ())):
        image = weights.images.get(volume["name"])
        if image is not None:
            yield Path(*spec, "volumes", index, "image", "reference"), image.at


def strategy(rollout: RollingUpdate | Recreate) -> dict[str, Any]:
    """Render the strategy with which a rollout replaces the pods of a workload."""
    if isinstance(rollout, Recreate):
        return {"type": rollout.type}
    steps = {"maxSurge": rollout.max_surge, "maxUnavailable": rollout.max_unavailable}
    return {"type": rollout.type, "rollingUpdate": steps}


def security(
    user: int | None = None, group: int | None = None, supplemental_groups: Iterable[int] = ()
) -> dict[str, Any]:
    """Render a pod's security context. It meets the Pod Security level `restricted`."""
    return compact(
        {
            "runAsNonRoot": True,
            "runAsUser": user,
            "runAsGroup": group,
            "fsGroup": group,
            "supplementalGroups": list(supplemental_groups),
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    )


def environment(variables: Iterable[Variable]) -> list[dict[str, Any]]:
    """Render environment variables in the given order."""
    return [_variable(variable) for variable in variables]


def leader(workload: Workload) -> dict[str, Any]:
    """Render a pod that receives requests: the replica's only pod, the leader of its pods, or each of its pods."""
    fetches = _fetches(workload.weights)
    engine = _engine(workload)
    if workload.sidecar is None:
        return _pod(workload, fetches, engine)
    return _pod(workload, [*fetches, _sidecar(workload.sidecar)], engine, token_volume(_POOL_READER))


def worker(workload: Workload) -> dict[str, Any]:
    """Render a worker pod. A worker pod computes for its replica, but receives no requests."""
    return _pod(workload, _fetches(workload.weights), _worker_engine(workload))


def _pod(
    workload: Workload, init_containers: list[Manifest], engine: Manifest, *more_volumes: Manifest
) -> dict[str, Any]:
    settings = workload.pod_settings
    added = workload.additions
    return compact(
        {
            "serviceAccountName": settings.service_account,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "imagePullSecrets": [{"name": name} for name in settings.image_pull_secrets],
            "securityContext": security(settings.run_as_user, settings.fs_group, settings.supplemental_groups or ()),
            **pod_additions.host_namespaces(added),
            "terminationGracePeriodSeconds": workload.drain.grace,
            **scheduling(workload.placement),
            "resourceClaims": claims.of_pod(workload.claims),
            "initContainers": [*map(_further_container, added.init_containers), *init_containers],
            "containers": [engine, *map(_further_container, added.containers)],
            "volumes": [*_volumes(workload), *more_volumes, *pod_additions.volumes(added)],
        }
    )


def scheduling(placement: Placement) -> dict[str, Any]:
    """Render the fields of a pod spec that decide on which node the pod runs."""
    return {
        "schedulerName": placement.scheduler,
        "runtimeClassName": placement.runtime_class,
        "priorityClassName": placement.priority_class,
        "nodeSelector": dict(placement.node_selector),
        "affinity": affinity(placement.affinity, placement.node_labels),
        "tolerations": [dict(toleration) for toleration in placement.tolerations],
        "topologySpreadConstraints": [dict(constraint) for constraint in placement.topology_spread],
    }


def affinity(user_affinity: Mapping[str, Any], node_labels: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return the user's affinity with a requirement for `node_labels`.

    Each node selector term gets the requirement, because a node has to match only one of the terms.
    """
    node_expressions = [
        {"key": label, "operator": "In", "values": list(values)} for label, values in sorted(node_labels.items())
    ]
    if not node_expressions:
        return dict(user_affinity)
    node_affinity = dict(user_affinity.get("nodeAffinity", {}))
    terms = node_affinity.get(REQUIRED, {}).get("nodeSelectorTerms", [{}])
    merged_terms = [
        {**term, "matchExpressions": [*term.get("matchExpressions", []), *node_expressions]} for term in terms
    ]
    return {**user_affinity, "nodeAffinity": {**node_affinity, REQUIRED: {"nodeSelectorTerms": merged_terms}}}


def _variable(variable: Variable) -> dict[str, Any]:
    if variable.source is None:
        return {"name": variable.name, "value": variable.value}
    source = dict(variable.source)
    if "fieldRef" in source:
        source["fieldRef"] = field_ref(source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        # If this divisor is missing, the API server adds one, and a second apply of the object then gets a conflict.
        source["resourceFieldRef"] = {"divisor": "0", **source["resourceFieldRef"]}
    return {"name": variable.name, "valueFrom": source}


def _fetches(weights: Weights) -> list[Manifest]:
    """Render the init containers that fetch weights."""
    return [fetching(fetch, weights.requests, weights.limits) for fetch in weights.fetches]


def fetching(fetch: Fetch, requests: Mapping[str, str], limits: Mapping[str, str]) -> Manifest:
    """Render a container that fetches weights.

    The container overwrites existing files, so it can complete a download after a restart.
    """
    return compact(
        {
            "name": fetch.name,
            "image": fetch.image,
            "command": list(fetch.command),
            "args": list(fetch.arguments),
            "env": environment(fetch.env),
            "resources": compact({"requests": dict(requests), "limits": dict(limits)}),
            **TERMINATION,
            "securityContext": _SEALED,
            "volumeMounts": [*_fetch_mounts(fetch)],
        }
    )


def _fetch_mounts(fetch: Fetch) -> Iterator[dict[str, Any]]:
    yield compact({"name": fetch.volume, "mountPath": fetch.mount, "subPath": fetch.sub_path})
    yield {"name": "fetch-home", "mountPath": FETCH_HOME}
    if fetch.kit:
        path = f"{FETCH_HOME}/{_NO_UPDATE_CHECK}"
        yield {"name": "kit-settings", "mountPath": path, "subPath": _NO_UPDATE_CHECK, "readOnly": True}
    if fetch.docker_config is not None:
        yield {"name": fetch.docker_config_volume, "mountPath": DOCKER_CONFIG, "readOnly": True}
    if fetch.public_key is not None:
        yield {"name": _PUBLIC_KEY, "mountPath": PUBLIC_KEY, "readOnly": True}


def _ports(first_name: str, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Render the ports of a container."""
    names = port_names(first_name, len(numbers))
    return [
        {"name": name, "containerPort": number, "protocol": "TCP"} for name, number in zip(names, numbers, strict=True)
    ]


def _sidecar(proxy: SidecarPlan) -> Manifest:
    """Render the routing sidecar as a native sidecar: it starts before the engine and ends after the engine."""

    def probe(settings: SidecarProbe) -> dict[str, Any]:
        http_get = {"path": "/health", "port": proxy.ports[0]}
        return {"httpGet": http_get, "periodSeconds": settings.interval, "failureThreshold": settings.failures}

    return compact(
        {
            "name": SIDECAR_CONTAINER,
            "image": proxy.image,
            "restartPolicy": "Always",
            "args": list(proxy.arguments),
            "env": environment(proxy.env),
            "ports": _ports("http", proxy.ports),
            "startupProbe": probe(proxy.startup),
            "livenessProbe": probe(proxy.liveness),
            "resources": compact({"requests": proxy.requests, "limits": proxy.limits}),
            **TERMINATION,
            "securityContext": _SEALED,
            "volumeMounts": [token_mount(_POOL_READER)],
        }
    )


def _engine(workload: Workload) -> Manifest:
    """Render the engine container of a pod that receives requests, with ports, probes and a `preStop` sleep."""
    engine = workload.engine
    return {
        **_container(workload, engine.command, engine.arguments),
        "ports": _ports(workload.engine_port_names[0], engine.ports),
        **_probes(workload),
        "lifecycle": {"preStop": {"sleep": {"seconds": workload.drain.pre_stop}}},
    }


def _worker_engine(workload: Workload) -> Manifest:
    """Render the engine container of a worker pod, with a `preStop` sleep, but without ports and probes."""
    return {
        **_container(workload, workload.engine.worker_command, workload.engine.worker_arguments),
        "lifecycle": {"preStop": {"sleep": {"seconds": workload.drain.worker_pre_stop}}},
    }


def _container(workload: Workload, command: Iterable[str], arguments: Iterable[str]) -> dict[str, Any]:
    engine = workload.engine
    resources: dict[str, Any] = {
        "requests": engine.requests,
        "limits": engine.limits,
        "claims": claims.of_container(workload.claims),
    }
    return compact(
        {
            "name": engine.name,
            "image": engine.image,
            "imagePullPolicy": engine.pull_policy,
            "command": list(command),
            "args": list(arguments),
            "env": environment(engine.env),
            "resources": compact(resources),
            **TERMINATION,
            "securityContext": pod_additions.security(workload.additions.security),
            "volumeMounts": _mounts(workload),
        }
    )


def _further_container(container: PodContainerPlan) -> Manifest:
    """Render a further container of a user. Its root file system is writable, because most images write to it."""
    rendered = {**pod_additions.arguments(container), "env": environment(container.env), **TERMINATION}
    return compact(rendered)


def _mounts(workload: Workload) -> list[dict[str, Any]]:
    weights = [
        compact({"name": mount.volume, "mountPath": mount.path, "subPath": mount.sub_path, "readOnly": True})
        for mount in workload.weights.mounts
    ]
    return [
        *weights,
        {"name": "home", "mountPath": ENGINE_HOME},
        {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108, the engine's shared memory is there
        *certificate_mounts(workload.engine.certificate),
        *map(dict, pod_additions.mounts(workload.additions.mounts)),
    ]


def _probes(workload: Workload) -> dict[str, Any]:
    probes = workload.engine.probes
    return {
        "startupProbe": _probe(workload.engine, probes.startup),
        "readinessProbe": _probe(workload.engine, probes.readiness),
        "livenessProbe": _probe(workload.engine, probes.liveness),
    }


def _probe(engine: EnginePlan, probe: ProbePlan) -> dict[str, Any]:
    port = engine.probe_port
    handler: dict[str, Any] = {"tcpSocket": {"port": port}}
    if probe.path is not None:
        scheme = None if engine.certificate is None else "HTTPS"
        handler = {"httpGet": compact({"path": probe.path, "port": port, "scheme": scheme})}
    times = {
        "initialDelaySeconds": probe.initial_delay,
        "periodSeconds": probe.interval,
        "timeoutSeconds": probe.timeout,
        "failureThreshold": probe.failures,
    }
    return {**handler, **compact(times)}


def _volumes(workload: Workload) -> list[dict[str, Any]]:
    weights = workload.weights
    return [
        *({"name": volume, "emptyDir": compact({"sizeLimit": size})} for volume, size in weights.volumes.items()),
        *(
            {"name": volume, "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
            for volume, claim in weights.claims.items()
        ),
        *({"name": volume, "image": {"reference": image.text}} for volume, image in weights.images.items()),
        {"name": "home", "emptyDir": {}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": workload.shared_memory}},
        *fetch_volumes(weights.fetches),
        *certificate_volumes(workload.engine.certificate),
    ]


def fetch_volumes(fetches: Sequence[Fetch]) -> list[dict[str, Any]]:
    """Render the volumes of containers that fetch weights. Containers that need the same Secret share one volume."""
    return [*_fetch_volumes(fetches)]


def _fetch_volumes(fetches: Sequence[Fetch]) -> Iterator[dict[str, Any]]:
    if fetches:
        yield {"name": "fetch-home", "emptyDir": {}}
    if any(fetch.kit for fetch in fetches):
        marker = {"path": _NO_UPDATE_CHECK, "fieldRef": field_ref("metadata.name")}
        yield {"name": "kit-settings", "downwardAPI": {"items": [marker]}}
    configs = {fetch.docker_config_volume: fetch.docker_config for fetch in fetches if fetch.docker_config is not None}
    for volume in sorted(configs):
        items = [{"key": ".dockerconfigjson", "path": "config.json"}]
        yield {"name": volume, "secret": {"secretName": configs[volume].text, "items": items}}
    for name in sorted({fetch.public_key.text for fetch in fetches if fetch.public_key is not None}):
        yield {"name": _PUBLIC_KEY, "secret": {"secretName": name}}


def token_volume(name: str) -> dict[str, Any]:
    """Render the volume with the token of the pod's service account.

    Kubernetes would mount such a volume into every container of the pod. This one is for the only container that asks
    the API server, by `token_mount`; the pod has `automountServiceAccountToken: false`.
    """
    bundle = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"path": "namespace", "fieldRef": field_ref("metadata.namespace")}
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": bundle},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": name, "projected": {"sources": sources}}


def token_mount(name: str) -> dict[str, Any]:
    """Render the mount of `token_volume` in a container."""
    return {"name": name, "mountPath": _TOKEN_MOUNT, "readOnly": True}


def certificate_volumes(secret: str | None) -> list[dict[str, Any]]:
    """Render the volume with the certificate of a server; none if the server has no certificate."""
    if secret is None:
        return []
    return [{"name": CERTIFICATE_VOLUME, "secret": {"secretName": secret}}]


def certificate_mounts(secret: str | None) -> list[dict[str, Any]]:
    """Render the mount of `certificate_volumes` in a container."""
    if secret is None:
        return []
    return [{"name": CERTIFICATE_VOLUME, "mountPath": CERTIFICATES, "readOnly": True}]
