"""How weights come into a pod: fetched before the engine starts, or mounted from where they are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.service import KeyVerification, Model, Verification
from models.source import hub, place, scheme
from models.stack import Images
from models.storage import FETCHING
from planning.ground import resources
from planning.ground.environment import EnvValue, Variable, container_variables
from planning.ground.mounts import ADAPTERS_MOUNT, CLAIM_MOUNT, DOCKER_CONFIG, FETCH_HOME, PUBLIC_KEY
from planning.ground.names import LONGEST, shorten
from planning.releases import Release

_KEY_FILE = "cosign.pub"
_ENDPOINTS = {
    "hf": ("HF_ENDPOINT", "https://huggingface.co"),
    "s3": ("AWS_ENDPOINT_URL", "https://s3.amazonaws.com"),
}
"""The variable that says where a source is asked, and the vendor's own address."""
_TRANSPARENCY_LOG = "https://rekor.sigstore.dev"
"""Where cosign asks for the signatures that it trusts."""
_PROXIES = frozenset({"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"})
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
    asks: tuple[str, ...]
    """Addresses that it asks, as URLs."""


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
    requests: Mapping[str, str]
    """Of each container that fetches. A pod reserves what its most demanding init container asks for, so that each asks
    for the space on the node's disk of all of them, as far as sizes are known."""
    limits: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model and its adapters come from, and what brings them."""

    model: Model
    images: Images
    """The stack's, over the release's."""
    release: Release
    identity: bool
    """Whether the ServiceAccount of who fetches may open the source."""


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


def plan(source: Source, kept: Kept) -> Weights:
    """Decide how the model and its adapters come into a pod."""
    items = tuple(item for item in _items(source.model, kept) if scheme(item.source) != "image")
    fetched = [item for item in items if item.claim is None]
    sizes = {item.container: item.size for item in fetched if item.size is not None}
    space = resources.volume(sizes, kept.headroom_percent) if sizes else None
    return Weights(
        fetches=tuple(_fetch(source, item, item.path, {}) for item in fetched),
        mounts=tuple(Mount(item.volume, item.path, item.sub_path) for item in items),
        volumes={item.volume: _limit(fetched, item.volume, kept) for item in fetched},
        claims={item.volume: item.claim for item in items if item.claim is not None},
        requests=FETCHING.requests if space is None else {**FETCHING.requests, "ephemeral-storage": space},
        limits=FETCHING.limits,
    )


def fill(source: Source, folder: str, sub_path: str | None, env: Mapping[str, EnvValue]) -> Fetch:
    """Decide how the model comes into a folder of a claim, of which `sub_path` is used."""
    model, path = source.model, f"{CLAIM_MOUNT}/{folder}"
    item = _Item(model.source, model.size, _container(model), "model", path, sub_path)
    return _fetch(source, item, CLAIM_MOUNT, env)


def _container(model: Model) -> str:
    return "model-unpack" if scheme(model.source) == "kit" else "model-download"


def _items(model: Model, kept: Kept) -> Iterator[_Item]:
    claim, folder = _claim(model.source) if scheme(model.source) == "pvc" else (kept.claim, kept.folder)
    yield _Item(model.source, model.size, _container(model), "model", kept.path, folder, claim)
    for name, adapter in sorted(model.lora.adapters.items() if model.lora is not None else ()):
        own, called = scheme(adapter.source) == "pvc", shorten(f"adapter-{name}", LONGEST)
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


def _fetch(source: Source, item: _Item, mount: str, own: Mapping[str, EnvValue]) -> Fetch:
    model, kit = source.model, scheme(item.source) == "kit"
    secret = next(iter(model.secrets), None) if scheme(item.source) == scheme(model.source) else None
    verify = model.verify if kit else None
    env = _kit_env(item, model, secret) if kit else _download_env(source, item.source, secret)
    every = {"HOME": FETCH_HOME, "TMPDIR": FETCH_HOME, **env}
    return Fetch(
        name=item.container,
        image=_image(source, kit=kit, verify=verify),
        command=_command(item, model, verify),
        arguments=() if kit else (_address(item.source), item.path),
        env=container_variables(every, own),
        volume=item.volume,
        mount=mount,
        sub_path=item.sub_path,
        kit=kit,
        docker_config=secret if kit else None,
        public_key=verify.secret if isinstance(verify, KeyVerification) else None,
        asks=tuple(_asked(item.source, model, {**every, **own})),
    )


def _asked(address: str, model: Model, env: Mapping[str, EnvValue]) -> Iterator[str]:
    """Yield the URLs of whom a container asks: the source, who knows what was signed, and a proxy before them."""
    kind = scheme(address)
    if kind == "kit":
        yield f"{'http' if model.insecure else 'https'}://{place(address).partition('/')[0]}"
        if model.verify is not None:
            yield _TRANSPARENCY_LOG
    else:
        told, vendor = _ENDPOINTS[kind]
        endpoint = env.get(told)
        yield endpoint if isinstance(endpoint, str) else vendor
    for name, value in env.items():
        if name.upper() in _PROXIES and isinstance(value, str):
            yield value


def _image(source: Source, *, kit: bool, verify: Verification | None) -> str:
    own, channels = source.images, source.release.images
    if not kit:
        return own.downloader or channels.downloader.ref
    return own.kit or (channels.kit if verify is None else channels.kit_verify).ref


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


def _download_env(source: Source, address: str, secret: str | None) -> dict[str, EnvValue]:
    model = source.model
    if scheme(address) == "hf":
        token = {} if secret is None else {"HF_TOKEN": _key(secret, "HF_TOKEN")}
        endpoint = {} if model.endpoint is None else {"HF_ENDPOINT": model.endpoint}
        return {"HF_HUB_DISABLE_TELEMETRY": "1", **endpoint, **token}
    return {
        **({"awsAnonymousCredential": "true"} if secret is None and not source.identity else {}),
        **({} if model.endpoint is None else {"AWS_ENDPOINT_URL": model.endpoint}),
        **({} if model.region is None else {"AWS_DEFAULT_REGION": model.region}),
        **({} if secret is None else {key: _key(secret, key) for key in _AWS_KEYS}),
    }


def _key(secret: str, key: str) -> EnvValue:
    return {"secretKeyRef": {"name": secret, "key": key}}
