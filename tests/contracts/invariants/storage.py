"""Claims of weights, and the Jobs that fill them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.contracts.invariants.claims import cached, filled, folder, kept
from tests.contracts.invariants.facts import EXPLAINED, SEALED, amount
from tests.contracts.invariants.variants import Variant
from tests.contracts.invariants.weights import Item, brings, opening, volume
from tests.contracts.invariants.world import Place, World, marks, named, same

CLAIM = "/claim"
KEPT = ("dedicated", "existing")


@dataclass(frozen=True)
class Owner:
    """A cache, or a variant of a service with weights of its own."""

    name: str
    """Of the claim that is made, before what it holds; the Job is called like it."""
    part_of: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    """The user's words on the claim."""
    model: Mapping[str, Any]
    stack: Mapping[str, Any]
    pod: Mapping[str, Any]

    @property
    def job(self) -> str:
        """Return the name of the Job, and of the claim where one is made: after what it holds."""
        return f"{self.name}-{folder(self.model)}"

    @property
    def claim(self) -> str:
        return self.job if self.makes_a_claim else self.spec["claimName"]

    @property
    def fill(self) -> Mapping[str, Any]:
        return self.spec.get("fill", {})

    @property
    def makes_a_claim(self) -> bool:
        return self.spec.get("type") != "existing"


def of_variant(variant: Variant) -> Owner | None:
    """Return a variant with weights of its own; a canary of the same source has those of its service."""
    owner = _of(variant)
    others = [
        _of(other) for other in variant.variants if other.variant_name != variant.variant_name and variant.is_canary
    ]
    return None if owner is None or owner.job in {other.job for other in others if other is not None} else owner


def _of(variant: Variant) -> Owner | None:
    storage = variant.say("storage", default={})
    if storage.get("type") not in KEPT or variant.scheme in {"pvc", "oci", "image"}:
        return None
    return Owner(
        name=f"{variant.service}-weights",
        part_of=variant.service,
        namespace=variant.namespace,
        labels=variant.labels,
        annotations=variant.annotations,
        spec=storage,
        model=filled(variant),
        stack=variant.stack,
        pod=variant.say("pod", default={}),
    )


def caches(stack: Mapping[str, Any]) -> Iterator[Owner]:
    for key, cache in stack.get("caches", {}).items():
        name, about = f"cache-{key}", stack.get("labels", {})
        yield Owner(name, name, stack["namespace"], about, {}, cache, cached(cache), stack, {})


def places(owner: Owner) -> Iterator[Place]:
    if owner.makes_a_claim:
        yield ("PersistentVolumeClaim", owner.claim, owner.namespace)
    yield ("Job", owner.job, owner.namespace)
    if "networkPolicies" in owner.stack:
        yield ("NetworkPolicy", owner.job, owner.namespace)


def weights_of_a_variant_are_kept(world: World) -> Iterator[str]:
    owner = of_variant(world.variant)
    if owner is not None:
        yield from are_kept(owner, world.index)


def what_is_served_from_a_claim_is_brought_by_one_job(world: World) -> Iterator[str]:
    below, claim = kept(world.variant)
    if claim is None or below is None or world.variant.scheme in {"pvc", "oci", "image"}:
        return
    above, _, subfolder = below.rpartition("/")
    jobs = [manifest["spec"]["template"]["spec"] for place, manifest in world.index.items() if place[0] == "Job"]
    filled_in = [_written(job) for job in jobs if f"{CLAIM}/{subfolder}" in str(job["containers"])]
    yield from same(f"{world.variant.base} filled", filled_in.count((claim, above or None)), 1)


def _written(job: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the claim that a Job writes, and where in it."""
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in job["volumes"] if volume["name"] == "model"]
    below = [mount.get("subPath") for mount in job["containers"][0]["volumeMounts"] if mount["mountPath"] == CLAIM]
    return claims[0], below[0]


def are_kept(owner: Owner, index: Mapping[Place, Any]) -> Iterator[str]:
    """Compare a claim and its Job with what was asked for."""
    job = index["Job", owner.job, owner.namespace]
    if owner.makes_a_claim:
        claim = index["PersistentVolumeClaim", owner.claim, owner.namespace]
        yield from _marked(owner, claim, {"pulumi.com/skipAwait": "true"})
        yield from same(f"{owner.claim} claim", claim["spec"], _claim(owner))
    yield from _marked(owner, job, {"pulumi.com/replaceUnready": "true"})
    yield from same(f"{owner.job} parts", set(job["spec"]), {"backoffLimit", "activeDeadlineSeconds", "template"})
    yield from same(f"{owner.job} retries", job["spec"]["backoffLimit"], 2)
    size = owner.model.get("size")
    deadline = 4 * 3600 if size is None else 3 * max(1800, amount(size) // (32 * 2**20))
    yield from same(f"{owner.job} deadline", job["spec"]["activeDeadlineSeconds"], deadline)
    template = job["spec"]["template"]
    yield from same(f"{owner.job} pod labels", template["metadata"], {"labels": job["metadata"]["labels"]})
    yield from _pod(owner, template["spec"])


def _marked(owner: Owner, manifest: Mapping[str, Any], annotations: Mapping[str, str]) -> Iterator[str]:
    labels = {**owner.labels, **marks(owner.part_of, "weights")}
    yield from same(f"{owner.name} labels", manifest["metadata"]["labels"], labels)
    yield from same(
        f"{owner.name} annotations", manifest["metadata"]["annotations"], {**owner.annotations, **annotations}
    )


def _claim(owner: Owner) -> dict[str, Any]:
    spec = owner.spec
    size = volume(owner.model.get("size"), headroom=spec.get("headroomPercent", 10))
    if spec.get("type") == "dedicated":
        size = spec.get("size", size)
    of_class = spec.get("storageClassName", owner.stack.get("storageClassName"))
    return {
        "accessModes": [spec.get("accessMode", "ReadWriteMany")],
        "resources": {"requests": {"storage": size}},
        **({"storageClassName": of_class} if of_class else {}),
    }


def _pod(owner: Owner, spec: Mapping[str, Any]) -> Iterator[str]:
    """Compare the Job's pod: it writes the claim, with the rights of the pods that are going to read it."""
    account = owner.fill.get("serviceAccountName", owner.pod.get("serviceAccountName"))
    group = owner.pod.get("fsGroup", 1000)
    expected = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": owner.pod.get("runAsUser", 1000),
            "runAsGroup": group,
            "fsGroup": group,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    expected |= {"serviceAccountName": account} if account else {}
    expected |= {"imagePullSecrets": pull_secrets} if (pull_secrets := owner.pod.get("imagePullSecrets")) else {}
    rest = {key: value for key, value in spec.items() if key not in {"containers", "volumes"}}
    yield from same(f"{owner.job} pod", rest, expected)
    item = weights_of(owner)
    volumes = {"model": {"persistentVolumeClaim": {"claimName": owner.claim}}}
    yield from named(f"{owner.job} volumes", spec["volumes"], volumes | opening([item]))
    (container,) = spec["containers"]
    yield from same(f"{owner.job} container", container["name"], item.container)
    yield from same(f"{owner.job} security", container["securityContext"], SEALED)
    yield from same(f"{owner.job} end", container["terminationMessagePolicy"], EXPLAINED)
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "4Gi"}}
    yield from same(f"{owner.job} resources", container["resources"], owner.fill.get("resources", resources))
    below = {"subPath": owner.spec["subPath"]} if "subPath" in owner.spec else {}
    yield from brings(owner.job, item, container, account, {CLAIM: {"name": "model"} | below}, _env(owner))


def weights_of(owner: Owner) -> Item:
    """Return the weights as the Job sees them: a folder of the claim."""
    variant = Variant({**owner.stack, "defaults": {}, "services": {"job": {"model": owner.model}}}, "job")
    name = "model-unpack" if variant.scheme == "kit" else "model-download"
    path = f"{CLAIM}/{folder(owner.model)}"
    return Item(variant, owner.model["source"], owner.model.get("size"), name, "model", path, None)


def _env(owner: Owner) -> dict[str, Any]:
    return {name: _variable(value) for name, value in owner.fill.get("env", {}).items()}


def _variable(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"value": value}
    filled_in = {"fieldRef": {"apiVersion": "v1"}, "resourceFieldRef": {"divisor": "0"}}
    return {"valueFrom": {kind: {**filled_in.get(kind, {}), **reference} for kind, reference in value.items()}}
