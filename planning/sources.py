"""How weights come into a pod: fetched before the engine starts, or mounted from where they are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.problems import Problem
from models.service import KeyVerification, Model, Service, Verification
from models.source import hub, place, scheme, served_name
from models.stack import Images
from planning import resources
from planning.environment import EnvValue, Variable, ordered
from planning.names import LONGEST, shortened
from planning.releases import Release

ADAPTERS_MOUNT = "/adapters"
DOCKER_CONFIG = "/.docker"
PUBLIC_KEY = "/cosign"
FETCH_HOME = "/fetch"
"""Writable home of the containers that fetch."""
CLAIM_MOUNT = "/claim"
"""Where a Job has the claim that it fills."""
_KEY_FILE = "cosign.pub"
_AWS_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


@dataclass(frozen=True, slots=True)
class Fetch:
    """A container that brings weights into a volume: before the engine of a pod starts, or in a Job of its own."""

    name: str
    """Fixed, because patches use it."""
    image: str
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    env: tuple[Variable, ...]
    volume: str
    mount: str
    """Where the volume is mounted; the weights arrive there, or in a folder below."""
    sub_path: str | None
    kit: bool
    docker_config: str | None
    """The Secret with the registry's credentials."""
    public_key: str | None
    """The Secret with the key that the ModelKit has to be signed with."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Where the weights of the model lie."""

    path: str
    """Where the engine finds them."""
    claim: str | None = None
    """The claim that a Job has filled; absent: a volume of each pod."""
    folder: str | None = None
    """Where in the claim they are."""
    headroom_percent: int = 10
    """Above the bytes of what a pod fetches, because files are rounded up to blocks."""
    limit: str | None = None
    """Size of the pod's volume, where it is written."""


@dataclass(frozen=True, slots=True)
class Mount:
    """Where the engine finds weights; always read-only."""

    volume: str
    path: str
    sub_path: str | None


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one pod."""

    fetches: tuple[Fetch, ...]
    mounts: tuple[Mount, ...]
    volumes: Mapping[str, str | None]
    """Volumes that are filled in the pod, with their size limit."""
    claims: Mapping[str, str]
    """Volumes that are claims, filled before any pod starts."""
    storage: str | None
    """Space on the node's disk for all that is fetched, as far as its size is known; absent: unknown."""


@dataclass(frozen=True, slots=True)
class _Item:
    """One thing to fetch or mount: the model, or an adapter."""

    source: str
    size: str | None
    container: str
    volume: str
    path: str
    sub_path: str | None
    claim: str | None = None
    """The claim that it is on; absent: it is fetched."""


def plan(model: Model, kept: Kept, images: Images, release: Release, *, identity: bool) -> Weights:
    """Decide how the model and its adapters come into a pod; `identity`: its ServiceAccount may open the source."""
    items = tuple(item for item in _items(model, kept) if scheme(item.source) != "image")
    fetched = [item for item in items if item.claim is None]
    sizes = {item.container: item.size for item in fetched if item.size is not None}
    return Weights(
        fetches=tuple(_fetch(item, item.path, model, images, release, identity=identity) for item in fetched),
        mounts=tuple(Mount(item.volume, item.path, item.sub_path) for item in items),
        volumes={item.volume: _limit(fetched, item.volume, kept) for item in fetched},
        claims={item.volume: item.claim for item in items if item.claim is not None},
        storage=resources.volume(sizes, kept.headroom_percent) if sizes else None,
    )


def fill(  # noqa: PLR0913, one source and all that brings it to its place
    model: Model,
    folder: str,
    sub_path: str | None,
    images: Images,
    release: Release,
    *,
    identity: bool,
    env: Mapping[str, EnvValue],
) -> Fetch:
    """Decide how the model comes into a folder of a claim, of which `sub_path` is used."""
    path = f"{CLAIM_MOUNT}/{folder}"
    item = _Item(model.source, model.size, _container(model), "model", path, sub_path)
    return _fetch(item, CLAIM_MOUNT, model, images, release, identity=identity, own=env)


def _container(model: Model) -> str:
    return "model-unpack" if scheme(model.source) == "kit" else "model-download"


def _items(model: Model, kept: Kept) -> Iterator[_Item]:
    claim, folder = _claim(model.source) if scheme(model.source) == "pvc" else (kept.claim, kept.folder)
    yield _Item(model.source, model.size, _container(model), "model", kept.path, folder, claim)
    for name, adapter in sorted(model.lora.adapters.items() if model.lora is not None else ()):
        own, called = scheme(adapter.source) == "pvc", shortened(f"adapter-{name}", LONGEST)
        claim, below = _claim(adapter.source) if own else (None, name)
        yield _Item(
            source=adapter.source,
            size=adapter.size,
            container=called,
            volume=called if own else "adapters",
            path=f"{ADAPTERS_MOUNT}/{name}",
            sub_path=below,
            claim=claim,
        )


def _limit(items: list[_Item], volume: str, kept: Kept) -> str | None:
    if volume == "model" and kept.limit is not None:
        return kept.limit
    sizes = {item.container: item.size for item in items if item.volume == volume}
    return resources.volume(sizes, kept.headroom_percent)


def _claim(source: str) -> tuple[str, str | None]:
    name, _, path = place(source).partition("/")
    return name, path or None


def _fetch(  # noqa: PLR0913, as `fill`
    item: _Item,
    mount: str,
    model: Model,
    images: Images,
    release: Release,
    *,
    identity: bool,
    own: Mapping[str, EnvValue] | None = None,
) -> Fetch:
    kit = scheme(item.source) == "kit"
    secret = next(iter(model.secrets), None) if scheme(item.source) == scheme(model.source) else None
    verify = model.verify if kit else None
    env = _kit_env(item, model, secret) if kit else _download_env(item.source, model, secret, identity=identity)
    return Fetch(
        name=item.container,
        image=_image(images, release, kit=kit, verify=verify),
        command=_command(item, model, verify),
        arguments=() if kit else (_address(item.source), item.path),
        env=ordered({"HOME": FETCH_HOME, "TMPDIR": FETCH_HOME, **env}, own or {}),
        volume=item.volume,
        mount=mount,
        sub_path=item.sub_path,
        kit=kit,
        docker_config=secret if kit else None,
        public_key=verify.secret if isinstance(verify, KeyVerification) else None,
    )


def _image(images: Images, release: Release, *, kit: bool, verify: Verification | None) -> str:
    if not kit:
        return images.downloader or release.images.downloader.ref
    if verify is not None:
        return images.kit or release.images.kit_verify.ref
    return images.kit or release.images.kit.ref


def _command(item: _Item, model: Model, verify: Verification | None) -> tuple[str, ...]:
    """Return kit's command; `-o` overwrites. The images that verify or download run their own entrypoint."""
    if scheme(item.source) != "kit" or verify is not None:
        return ()
    layers = f"--filter={','.join(model.filter)}"
    plain = ("--plain-http",) if model.insecure else ()
    return ("kit", "unpack", place(item.source), "-o", "-d", item.path, layers, *plain)


def _kit_env(item: _Item, model: Model, secret: str | None) -> dict[str, EnvValue]:
    env: dict[str, EnvValue] = {"KITOPS_HOME": FETCH_HOME}
    if secret is not None:
        env["DOCKER_CONFIG"] = DOCKER_CONFIG
    if model.verify is None:
        return env
    env |= {
        "MODELKIT_REF": place(item.source),
        "UNPACK_PATH": item.path,
        "UNPACK_FILTER": ",".join(model.filter),
        "EXTRA_FLAGS": "--overwrite",
    }
    if isinstance(model.verify, KeyVerification):
        return env | {"COSIGN_KEY": f"{PUBLIC_KEY}/{_KEY_FILE}"}
    return env | {"COSIGN_CERT_IDENTITY": model.verify.identity, "COSIGN_CERT_OIDC_ISSUER": model.verify.issuer}


def _address(source: str) -> str:
    """Return the source as the downloader spells it.

    A revision follows a colon. A prefix ends in a slash: it is compared as text, and `llama` would bring `llama-70b`.
    """
    if scheme(source) != "hf":
        return f"{source.rstrip('/')}/"
    name, revision = hub(source)
    return f"hf://{name}" if revision is None else f"hf://{name}:{revision}"


def _download_env(source: str, model: Model, secret: str | None, *, identity: bool) -> dict[str, EnvValue]:
    if scheme(source) == "hf":
        token = {} if secret is None else {"HF_TOKEN": _key(secret, "HF_TOKEN")}
        endpoint = {} if model.endpoint is None else {"HF_ENDPOINT": model.endpoint}
        return {"HF_HUB_DISABLE_TELEMETRY": "1", **endpoint, **token}
    return {
        **({"awsAnonymousCredential": "true"} if secret is None and not identity else {}),
        **({} if model.endpoint is None else {"AWS_ENDPOINT_URL": model.endpoint}),
        **({} if model.region is None else {"AWS_DEFAULT_REGION": model.region}),
        **({} if secret is None else {key: _key(secret, key) for key in _AWS_KEYS}),
    }


def _key(secret: str, key: str) -> EnvValue:
    return {"secretKeyRef": {"name": secret, "key": key}}


def problems(path: str, service: Service) -> list[Problem]:
    """Refuse what the source cannot use, and a model without a name."""
    model, found = service.model, list[Problem]()
    at, kind = f"{path}.model", scheme(service.model.source)
    if served_name(model.name, model.source) is None:
        what = f"is missing and this source carries none ({model.source})"
        remedy = "add the name that clients will send, such as Qwen/Qwen3-8B"
        found.append(Problem(f"{at}.name", what, remedy, (f"{at}.name", f"{at}.source")))
    adapters = {} if model.lora is None else model.lora.adapters
    kinds = {kind, *(scheme(adapter.source) for adapter in adapters.values())}
    for field, given, useful in (
        ("insecure", model.insecure, {"kit"}),
        ("filter", model.filter != ("model",), {"kit"}),
        ("verify", model.verify is not None, {"kit"}),
        ("endpoint", model.endpoint is not None, {"s3", "hf"}),
        ("region", model.region is not None, {"s3"}),
        ("secrets", bool(model.secrets), {"kit", "hf", "s3"}),
    ):
        if given and not kinds & useful:
            wanted = " or ".join(f"{name}://" for name in sorted(useful))
            remedy = f"remove it, or use a source of {wanted}"
            found.append(Problem(f"{at}.{field}", f"has no effect with this source ({kind}://)", remedy))
    if model.insecure and model.verify is not None:
        what = "cannot be asked of a registry that speaks plain HTTP"
        found.append(Problem(f"{at}.verify", what, "remove it, or insecure"))
    for name, adapter in adapters.items():
        if scheme(adapter.source) == "image":
            what = "cannot be taken out of an image (image://)"
            remedy = "use kit://, hf://, s3:// or pvc://"
            found.append(Problem(f"{at}.lora.adapters.{name}.source", what, remedy))
    if model.lora is not None and (kind == "image" or service.engine.type == "custom"):
        found.append(Problem(f"{at}.lora", "needs vllm (a custom engine)", "remove it"))
    return found
