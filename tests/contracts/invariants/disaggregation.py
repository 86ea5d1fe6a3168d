"""Prefill and decode apart: the sidecar between them, and what it may do."""

from collections.abc import Iterator
from typing import Any

from tests.contracts.invariants.facts import POOL_GROUP, SIDECAR_IMAGES
from tests.contracts.invariants.world import World, field, named, reference, same, subject, traces

TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"


def the_sidecar_stands_before_decode_alone(world: World) -> Iterator[str]:
    for pods in world.pods:
        names = [sidecar["name"] for sidecar in pods.sidecars]
        yield from same(f"{pods.name} sidecars", names, ["routing-proxy"] if pods.role.proxied and pods.serves else [])
        if names:
            # It starts last, so that nothing listens while weights are fetched.
            yield from same(f"{pods.name} last", pods.spec["initContainers"][-1]["name"], "routing-proxy")


def the_sidecar_leads_from_the_services_port_to_the_engine(world: World) -> Iterator[str]:
    variant = world.variant
    for pods in world.pods:
        for sidecar in pods.sidecars:
            numbers = zip(pods.role.names("http"), pods.role.pool_ports, strict=True)
            ports = [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in numbers]
            yield from same("sidecar ports", sidecar["ports"], ports)
            expected = variant.say("sidecar", "image", default=SIDECAR_IMAGES[variant.release])
            yield from same("sidecar image", sidecar["image"], expected)
            yield from same("sidecar arguments", sorted(sidecar["args"]), sorted(_arguments(world)))
            asked = {"httpGet": {"path": "/health", "port": variant.port}}
            for probe, period, failures in (("startupProbe", 1, 60), ("livenessProbe", 10, 3)):
                expected = {**asked, "periodSeconds": period, "failureThreshold": failures}
                yield from same(f"sidecar {probe}", sidecar.get(probe), expected)
            yield from named("sidecar environment", sidecar.get("env", []), traces(world, f"{variant.base}-sidecar"))
            resources = {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
            expected = variant.say("sidecar", "resources", default=resources)
            yield from same("sidecar resources", sidecar["resources"], expected)


def _arguments(world: World) -> Iterator[str]:
    """Yield each flag as one token: plain HTTP towards the pool, and no prefill pod outside the pool."""
    variant = world.variant
    level = variant.say("sidecar", "logLevel")
    yield f"--port={variant.port}"
    yield f"--model-server-port={variant.say('sidecar', 'enginePort', default=8200)}"
    yield f"--kv-connector={variant.say('kvCache', 'connector', default='nixlv2')}"
    yield "--secure-proxy=false"
    yield "--enable-ssrf-protection=true"
    yield f"--inference-pool={variant.namespace}/{variant.pool}"
    yield f"--pool-group={POOL_GROUP}"
    yield from ["--ec-connector=ec-nixl"] if variant.encodes else []
    copies = len(variant.roles[0].ranks)
    yield from [f"--data-parallel-size={copies}"] if copies > 1 else []
    if variant.say("sidecar", "tls", "prefill"):
        # Prefill is asked by the address of its pod, which no certificate in a Secret can name.
        yield from ("--enable-tls=prefiller", "--tls-insecure-skip-verify=prefiller")
    yield from ["--tracing=true"] if variant.tracing else []
    yield from [f"--zap-log-level={level}"] if level else []


def the_token_is_the_sidecars_alone(world: World) -> Iterator[str]:
    for pods in world.pods:
        containers = [*pods.spec.get("initContainers", []), *pods.spec["containers"]]
        paths = {
            container["name"]: [mount["mountPath"] for mount in container.get("volumeMounts", [])]
            for container in containers
        }
        readers = [name for name, mount_paths in paths.items() if TOKEN in mount_paths]
        yield from same(f"{pods.name} readers of a token", readers, [sidecar["name"] for sidecar in pods.sidecars])
        for sidecar in pods.sidecars:
            token = {"name": "pool-reader", "mountPath": TOKEN, "readOnly": True}
            yield from same("sidecar mounts", sidecar["volumeMounts"], [token])
            yield from same("sidecar token", pods.volumes["pool-reader"], {"projected": {"sources": token_sources()}})


def token_sources() -> list[dict[str, Any]]:
    """Return what client-go looks for: a token that outlives an hour's rotation, the authority and the namespace."""
    namespace = {"path": "namespace", **field("metadata.namespace")["valueFrom"]}
    return [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]


def the_sidecar_may_see_its_pool_and_pods_and_nothing_else(world: World) -> Iterator[str]:
    name = f"{world.variant.pool}-decode"
    made = [kind for kind in ("Role", "RoleBinding") if (kind, name, world.variant.namespace) in world.index]
    yield from same("decode's rights", made, ["Role", "RoleBinding"] if world.variant.asks else [])
    if not world.variant.asks:
        return
    seen = ["list", "watch"]
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": seen},
        {
            "apiGroups": [POOL_GROUP],
            "resources": ["inferencepools"],
            "resourceNames": [world.variant.pool],
            "verbs": seen,
        },
    ]
    yield from same("decode's rules", world.get("Role", name)["rules"], rules)
    accounts = [role.say("pod", "serviceAccountName", default=name) for role in world.variant.destinations]
    subjects = [subject(account, world.variant.namespace) for account in dict.fromkeys(accounts)]
    binding = world.get("RoleBinding", name)
    yield from same("decode's role", binding["roleRef"], reference("Role", name))
    yield from same("decode's subject", binding["subjects"], subjects)
    for pods in world.pods:
        if pods.role.proxied:
            account = pods.role.say("pod", "serviceAccountName", default=name)
            yield from same("decode's account", pods.spec["serviceAccountName"], account)
