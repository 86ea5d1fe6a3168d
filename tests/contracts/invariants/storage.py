"""Claims of weights, and the Jobs that fill them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.contracts.invariants.claims import cached, filled, folder, kept
from tests.contracts.invariants.facts import SEALED, amount
from tests.contracts.invariants.weights import Item, brings, opening, volume
from tests.contracts.invariants.wishes import Wish
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
    said: Mapping[str, Any]
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
        return self.job if self.makes_a_claim else self.said["claimName"]

    @property
    def fill(self) -> Mapping[str, Any]:
        return self.said.get("fill", {})

    @property
    def makes_a_claim(self) -> bool:
        return self.said.get("type") != "existing"


def of_variant(wish: Wish) -> Owner | None:
    """Return a variant with weights of its own; a canary of the same source has those of its service."""
    own = _of(wish)
    others = [_of(one) for one in wish.variants if one.variant != wish.variant and wish.is_canary]
    return None if own is None or own.job in {one.job for one in others if one is not None} else own


def _of(wish: Wish) -> Owner | None:
    storage = wish.say("storage", default={})
    if storage.get("type") not in KEPT or wish.scheme in {"pvc", "image"}:
        return None
    return Owner(
        name=f"{wish.service}-weights",
        part_of=wish.service,
        namespace=wish.namespace,
        labels=wish.labels,
        annotations=wish.annotations,
        said=storage,
        model=filled(wish),
        stack=wish.stack,
        pod=wish.say("pod", default={}),
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
    owner = of_variant(world.wish)
    if owner is not None:
        yield from are_kept(owner, world.index)


def what_is_served_from_a_claim_is_brought_by_one_job(world: World) -> Iterator[str]:
    below, claim = kept(world.wish)
    if claim is None or below is None or world.wish.scheme in {"pvc", "image"}:
        return
    above, _, own = below.rpartition("/")
    jobs = [one["spec"]["template"]["spec"] for place, one in world.index.items() if place[0] == "Job"]
    filled_in = [_written(job) for job in jobs if f"{CLAIM}/{own}" in str(job["containers"])]
    yield from same(f"{world.wish.base} filled", filled_in.count((claim, above or None)), 1)


def _written(job: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the claim that a Job writes, and where in it."""
    claims = [one["persistentVolumeClaim"]["claimName"] for one in job["volumes"] if one["name"] == "model"]
    below = [one.get("subPath") for one in job["containers"][0]["volumeMounts"] if one["mountPath"] == CLAIM]
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


def _marked(owner: Owner, one: Mapping[str, Any], annotations: Mapping[str, str]) -> Iterator[str]:
    labels = {**owner.labels, **marks(owner.part_of, "weights")}
    yield from same(f"{owner.name} labels", one["metadata"]["labels"], labels)
    yield from same(f"{owner.name} annotations", one["metadata"]["annotations"], {**owner.annotations, **annotations})


def _claim(owner: Owner) -> dict[str, Any]:
    said = owner.said
    size = volume(owner.model.get("size"), headroom=said.get("headroomPercent", 10))
    if said.get("type") == "dedicated":
        size = said.get("size", size)
    of_class = said.get("storageClassName", owner.stack.get("storageClassName"))
    return {
        "accessModes": [said.get("accessMode", "ReadWriteMany")],
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
    expected |= {"imagePullSecrets": own} if (own := owner.pod.get("imagePullSecrets")) else {}
    rest = {key: value for key, value in spec.items() if key not in {"containers", "volumes"}}
    yield from same(f"{owner.job} pod", rest, expected)
    item = weights_of(owner)
    volumes = {"model": {"persistentVolumeClaim": {"claimName": owner.claim}}}
    yield from named(f"{owner.job} volumes", spec["volumes"], volumes | opening([item]))
    (container,) = spec["containers"]
    yield from same(f"{owner.job} container", container["name"], item.container)
    yield from same(f"{owner.job} security", container["securityContext"], SEALED)
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "4Gi"}}
    yield from same(f"{owner.job} resources", container["resources"], owner.fill.get("resources", resources))
    below = {"subPath": owner.said["subPath"]} if "subPath" in owner.said else {}
    yield from brings(owner.job, item, container, account, {CLAIM: {"name": "model"} | below}, _env(owner))


def weights_of(owner: Owner) -> Item:
    """Return the weights as the Job sees them: a folder of the claim."""
    wish = Wish({**owner.stack, "defaults": {}, "services": {"job": {"model": owner.model}}}, "job")
    name = "model-unpack" if wish.scheme == "kit" else "model-download"
    path = f"{CLAIM}/{folder(owner.model)}"
    return Item(wish, owner.model["source"], owner.model.get("size"), name, "model", path, None)


def _env(owner: Owner) -> dict[str, Any]:
    return {name: _variable(value) for name, value in owner.fill.get("env", {}).items()}


def _variable(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"value": value}
    filled_in = {"fieldRef": {"apiVersion": "v1"}, "resourceFieldRef": {"divisor": "0"}}
    return {"valueFrom": {kind: {**filled_in.get(kind, {}), **one} for kind, one in value.items()}}
