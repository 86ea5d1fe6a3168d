"""How weights come into a pod, and that nothing but what fetches them may write them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.contracts.invariants.claims import kept
from tests.contracts.invariants.facts import DOWNLOADER, GI, IGNORED, KIT, KIT_VERIFYING, amount
from tests.contracts.invariants.trees import look
from tests.contracts.invariants.variants import Variant
from tests.contracts.invariants.world import Pods, World, named, same, secret, texts

MARKER = "disable-update-notifications"
HOME = "/fetch"
AGAIN = ["sh", "-c", 'trap exit TERM; until "$0" "$@" & wait "$!"; do sleep 30 & wait "$!"; done']
"""The script runs the rest of a command until it succeeds, and ends with its pod."""
ENTRYPOINTS = {True: "/usr/local/bin/entrypoint.sh", False: "/storage-initializer/scripts/initializer-entrypoint"}
"""Commands of the image that verifies ModelKits, and of the downloader."""


@dataclass(frozen=True)
class Item:
    """The model, or an adapter."""

    variant: Variant
    source: str
    size: str | None
    container: str
    volume: str
    path: str
    below: str | None
    """Folder in its volume."""
    claim: str | None = None
    """The claim that holds it before any pod starts; absent: each pod fetches it."""
    again: bool = False
    """Whether its container tries again itself: a restart would end all pods of a replica."""
    adapter: Mapping[str, Any] | None = None
    """The user's words on an adapter; absent: this is the model."""

    @property
    def scheme(self) -> str:
        return self.source.partition("://")[0]

    @property
    def place(self) -> str:
        return self.source.partition("://")[2]

    @property
    def secret(self) -> str | None:
        """Return the Secret that opens the source."""
        return _secret_name(self.opened)

    @property
    def token(self) -> str:
        """Return the key of the Secret that has the token of a hub."""
        first = next(iter(self.opened.get("secrets", [])), None)
        return first["key"] if isinstance(first, Mapping) else "HF_TOKEN"

    @property
    def opened(self) -> Mapping[str, Any]:
        """Return what opens the source; what opens the model is for its scheme, and most of it for its server."""
        model, adapter = self.variant.model, self.adapter
        if adapter is None:
            return model
        server = adapter.get("endpoint", model.get("endpoint")) == model.get("endpoint")
        return {**model, **adapter} if self.scheme == self.variant.scheme and server else adapter

    @property
    def ignored(self) -> list[str]:
        """Return what of a repository is left out; an engine of the user's own may read anything."""
        patterns = [] if self.adapter is None and self.variant.roles[0].custom else IGNORED
        return patterns if self.adapter is not None else self.variant.model.get("ignorePatterns", patterns)

    @property
    def verify(self) -> Mapping[str, str] | None:
        return self.variant.model.get("verify") if self.scheme == "kit" else None


def items(variant: Variant) -> list[Item]:
    """Return everything that a pod of the service needs, but what its image holds."""
    model = variant.model
    name = "model-unpack" if variant.scheme == "kit" else "model-download"
    path = variant.say("storage", "mountPath", default="/models")
    found = [Item(variant, model["source"], model.get("size"), name, "model", path, *_kept(variant))]
    for key, adapter in sorted(look(model, ("lora", "adapters"), {}).items()):
        claimed = adapter["source"].startswith("pvc://")
        mounted = adapter["source"].startswith("oci://")
        where = adapter["source"].removeprefix("pvc://").partition("/")[2] or None if claimed else key
        where = None if mounted else where
        volume_name = f"adapter-{key}" if claimed or mounted else "adapters"
        size = adapter.get("size")
        claim = adapter["source"].removeprefix("pvc://").partition("/")[0] if claimed else None
        path = f"/adapters/{key}"
        found.append(
            Item(variant, adapter["source"], size, f"adapter-{key}", volume_name, path, where, claim, adapter=adapter)
        )
    return [item for item in found if item.scheme != "image"]


def _kept(variant: Variant) -> tuple[str | None, str | None]:
    """Return where in its volume the model is, and the claim that the volume is."""
    if variant.scheme == "pvc":
        name, _, below = variant.place.partition("/")
        return below or None, name
    if variant.scheme == "oci":
        return variant.model.get("folder"), None
    return kept(variant)


def fetched(variant: Variant) -> list[Item]:
    return [item for item in items(variant) if item.claim is None and item.scheme != "oci"]


def volume(*sizes: str | None, headroom: int = 10) -> str | None:
    """Return whole Gi for contents of these sizes and the headroom; nothing where one of them is unknown."""
    if not sizes or any(size is None for size in sizes):
        return None
    return f"{-(-sum(amount(size) for size in sizes if size) * (100 + headroom) // (100 * GI))}Gi"


def everything_is_fetched_before_the_engine_starts(world: World) -> Iterator[str]:
    for pods in world.pods:
        fetching = {item.container: item for item in fetched(world.variant)}
        yield from same(f"{pods.name} fetches", [container["name"] for container in pods.before], list(fetching))
        for container in pods.before:
            item = fetching[container["name"]]
            yield from _fetch(pods, replace(item, again=pods.role.pods > 1), container)


def _fetch(pods: Pods, item: Item, container: Mapping[str, Any]) -> Iterator[str]:
    what = f"{pods.name} {item.container}"
    account = pods.role.say("pod", "serviceAccountName")
    yield from brings(what, item, container, account, {item.path: _target(item)}, {})
    requests = {"cpu": "1", "memory": "1Gi"}
    # Every step asks for the disk of all, because what it brings stays.
    disk = volume(*(other.size for other in fetched(item.variant) if other.size))
    requests |= {"ephemeral-storage": disk} if disk else {}
    yield from same(f"{what} resources", container["resources"], {"requests": requests, "limits": {"memory": "4Gi"}})


def brings(
    what: str,
    item: Item,
    container: Mapping[str, Any],
    account: str | None,
    target: Mapping[str, Any],
    written: Mapping[str, Any],
) -> Iterator[str]:
    """Compare a container with the one that brings an item to its path, in a volume mounted as `target`."""
    kit = item.scheme == "kit"
    images, kit_image = item.variant.stack.get("images", {}), KIT_VERIFYING if item.verify else KIT
    image = images.get("kit", kit_image) if kit else images.get("downloader", DOWNLOADER)
    yield from same(f"{what} image", container["image"], image)
    command = _command(item) if kit else []
    repeated = [*AGAIN, *(command or [ENTRYPOINTS[kit]])]
    yield from same(f"{what} command", container.get("command", []), repeated if item.again else command)
    yield from same(f"{what} arguments", container.get("args", []), [] if kit else [_address(item), item.path])
    env = texts(HOME=HOME, TMPDIR=HOME) | (_kit(item) if kit else _download(account, item))
    yield from named(f"{what} environment", container["env"], {**env, **written})
    yield from named(f"{what} mounts", container["volumeMounts"], {**target, **_mounts(item)}, key="mountPath")


def _command(item: Item) -> list[str]:
    """Return kit's words: it overwrites what a restarted pod finds half-written. What verifies has an entrypoint."""
    model = item.variant.model
    if item.verify:
        return []
    layers = f"--filter={','.join(model.get('filter', ['model']))}"
    plain = ["--plain-http"] if model.get("insecure") else []
    return ["kit", "unpack", item.place, "-o", "-d", item.path, layers, *plain]


def _address(item: Item) -> str:
    """Return a revision behind a colon, and a prefix with the slash that keeps its longer namesakes out."""
    return item.source.replace("@", ":") if item.scheme == "hf" else f"{item.source.rstrip('/')}/"


def _kit(item: Item) -> dict[str, Any]:
    env = texts(KITOPS_HOME=HOME) | (texts(DOCKER_CONFIG="/.docker") if item.secret else {})
    if item.verify is None:
        return env
    layers = ",".join(item.variant.model.get("filter", ["model"]))
    env |= texts(MODELKIT_REF=item.place, UNPACK_PATH=item.path, UNPACK_FILTER=layers, EXTRA_FLAGS="--overwrite")
    if item.verify["type"] == "key":
        return env | texts(COSIGN_KEY="/cosign/cosign.pub")
    return env | texts(COSIGN_CERT_IDENTITY=item.verify["identity"], COSIGN_CERT_OIDC_ISSUER=item.verify["issuer"])


def _download(account: str | None, item: Item) -> dict[str, Any]:
    model = item.opened
    if item.scheme == "hf":
        env = texts(HF_HUB_DISABLE_TELEMETRY="1")
        env |= texts(STORAGE_IGNORE_PATTERNS=json.dumps(item.ignored)) if item.ignored else {}
        env |= texts(HF_ENDPOINT=model["endpoint"]) if "endpoint" in model else {}
        return env | ({"HF_TOKEN": secret(item.secret, item.token)} if item.secret else {})
    env = texts(AWS_ENDPOINT_URL=model["endpoint"]) if "endpoint" in model else {}
    env |= texts(AWS_DEFAULT_REGION=model["region"]) if "region" in model else {}
    if item.secret:
        return env | {key: secret(item.secret, key) for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    return env if account else env | texts(awsAnonymousCredential="true")


def _target(item: Item) -> dict[str, Any]:
    """Return the only volume of weights that a fetching container writes."""
    return {"name": item.volume} | ({"subPath": item.below} if item.below else {})


def _mounts(item: Item) -> dict[str, Any]:
    """Return the further mounts of a fetching container by path."""
    mounts: dict[str, Any] = {HOME: {"name": "fetch-home"}}
    if item.scheme != "kit":
        return mounts
    mounts[f"{HOME}/{MARKER}"] = {"name": "kit-settings", "subPath": MARKER, "readOnly": True}
    mounts |= {"/.docker": {"name": _credentials(item), "readOnly": True}} if item.secret else {}
    keyed = item.verify is not None and item.verify["type"] == "key"
    return mounts | ({"/cosign": {"name": "public-key", "readOnly": True}} if keyed else {})


def _secret_name(opened: Mapping[str, Any]) -> str | None:
    first = next(iter(opened.get("secrets", [])), None)
    return first["name"] if isinstance(first, Mapping) else first


def _credentials(item: Item) -> str:
    """Return the volume of a registry's credentials; an adapter with a Secret of its own has a volume of its own."""
    model = _secret_name(item.variant.model)
    return "docker-config" if item.secret == model else item.container.replace("adapter", "docker-config", 1)


def the_engine_reads_the_weights_and_cannot_write_them(world: World) -> Iterator[str]:
    for pods in world.pods:
        mounts: dict[str, Any] = {"/home/engine": {"name": "home"}, "/dev/shm": {"name": "shared-memory"}}
        for item in items(world.variant):
            below = {"subPath": item.below} if item.below else {}
            mounts[item.path] = {"name": item.volume, "readOnly": True} | below
        if pods.role.certificate:
            mounts["/certificates"] = {"name": "certificate", "readOnly": True}
        yield from named(f"{pods.name} engine mounts", pods.engine["volumeMounts"], mounts, key="mountPath")


def volumes_hold_what_is_fetched_and_what_opens_it(world: World) -> Iterator[str]:
    for pods in world.pods:
        expected = {"home": {"emptyDir": {}}, "shared-memory": pods.volumes["shared-memory"], **_weights(world.variant)}
        expected |= opening(fetched(world.variant))
        if pods.role.proxied and pods.serves:
            expected["pool-reader"] = pods.volumes["pool-reader"]
        if pods.role.certificate:
            expected["certificate"] = {"secret": {"secretName": pods.role.certificate}}
        yield from named(f"{pods.name} volumes", pods.spec["volumes"], expected)


def _weights(variant: Variant) -> dict[str, Any]:
    expected: dict[str, Any] = {}
    for name in {item.volume for item in fetched(variant)}:
        size = volume(*(item.size for item in fetched(variant) if item.volume == name))
        expected[name] = {"emptyDir": {"sizeLimit": size} if size else {}}
    for item in items(variant):
        if item.claim is not None:
            expected[item.volume] = {"persistentVolumeClaim": {"claimName": item.claim, "readOnly": True}}
        if item.scheme == "oci":
            expected[item.volume] = {"image": {"reference": item.place}}
    return expected


def opening(fetching: list[Item]) -> dict[str, Any]:
    """Return what the fetching containers need besides; a Secret shows no more of itself than is asked for."""
    expected: dict[str, Any] = {"fetch-home": {"emptyDir": {}}} if fetching else {}
    for item in fetching:
        if item.scheme != "kit":
            continue
        name = {"path": MARKER, "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
        expected["kit-settings"] = {"downwardAPI": {"items": [name]}}
        keys = [{"key": ".dockerconfigjson", "path": "config.json"}]
        expected |= {_credentials(item): {"secret": {"secretName": item.secret, "items": keys}}} if item.secret else {}
        if item.verify is not None and item.verify["type"] == "key":
            expected["public-key"] = {"secret": {"secretName": item.verify["secret"]}}
    return expected


def every_mount_has_its_volume_and_every_volume_a_reader(world: World) -> Iterator[str]:
    for pods in world.pods:
        containers = [*pods.spec.get("initContainers", []), *pods.spec["containers"]]
        mounted = {mount["name"] for container in containers for mount in container.get("volumeMounts", [])}
        yield from same(f"{pods.name} volumes in use", mounted, set(pods.volumes))
