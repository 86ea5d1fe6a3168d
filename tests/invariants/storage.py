"""Claims of weights, and the Jobs that fill them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.invariants.claims import cached, filled, folder
from tests.invariants.facts import SEALED, amount
from tests.invariants.weights import Item, brings, opening, volume
from tests.invariants.wishes import Wish
from tests.invariants.world import Place, World, marks, named, same

CLAIM = "/claim"
KEPT = ("dedicated", "existing")


@dataclass(frozen=True)
class Owner:
    """A cache, or a service with weights of its own."""

    name: str
    """Of the claim that is made; the Job's begins so."""
    part_of: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    said: Mapping[str, Any]
    """What is said about the claim."""
    model: Mapping[str, Any]
    stack: Mapping[str, Any]
    pod: Mapping[str, Any]

    @property
    def job(self) -> str:
        return f"{self.name}-{folder(self.model)}"

    @property
    def fill(self) -> Mapping[str, Any]:
        return self.said.get("fill", {})

    @property
    def makes_a_claim(self) -> bool:
        return self.said.get("type") != "existing"


def of_service(wish: Wish) -> Owner | None:
    storage = wish.say("storage", default={})
    if storage.get("type") not in KEPT:
        return None
    return Owner(
        name=f"{wish.name}-weights",
        part_of=wish.name,
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
        yield ("PersistentVolumeClaim", owner.name, owner.namespace)
    yield ("Job", owner.job, owner.namespace)


def weights_of_a_service_are_kept(world: World) -> Iterator[str]:
    owner = of_service(world.wish)
    if owner is not None:
        yield from are_kept(owner, world.index)


def are_kept(owner: Owner, index: Mapping[Place, Any]) -> Iterator[str]:
    """Compare a claim and its Job with what was asked for."""
    job = index["Job", owner.job, owner.namespace]
    if owner.makes_a_claim:
        claim = index["PersistentVolumeClaim", owner.name, owner.namespace]
        yield from _marked(owner, claim, {"pulumi.com/skipAwait": "true"})
        yield from same(f"{owner.name} claim", claim["spec"], _claim(owner))
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
    item = _item(owner)
    volumes = {"model": {"persistentVolumeClaim": {"claimName": owner.said.get("claimName", owner.name)}}}
    yield from named(f"{owner.job} volumes", spec["volumes"], volumes | opening([item]))
    (container,) = spec["containers"]
    yield from same(f"{owner.job} container", container["name"], item.container)
    yield from same(f"{owner.job} security", container["securityContext"], SEALED)
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "4Gi"}}
    yield from same(f"{owner.job} resources", container["resources"], owner.fill.get("resources", resources))
    below = {"subPath": owner.said["subPath"]} if "subPath" in owner.said else {}
    yield from brings(owner.job, item, container, account, {CLAIM: {"name": "model"} | below}, _env(owner))


def _item(owner: Owner) -> Item:
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
