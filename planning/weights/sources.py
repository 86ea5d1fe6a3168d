"""Weights of pods: containers that fetch them before the engine starts, and mounts of claims that hold them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from models.origins import Name
from models.paths import Path
from models.secrets import secret_name
from models.service import KeyVerification, Model, Verification
from models.source import hub, place, scheme
from models.stack import Images
from models.storage import FETCHING
from models.weight_parts import WeightPart
from planning.ground import resources
from planning.ground.environment import EnvValue, Variable, container_variables, literal
from planning.ground.mounts import ADAPTERS_MOUNT, CLAIM_MOUNT, DOCKER_CONFIG, DRAFT_MOUNT, FETCH_HOME, PUBLIC_KEY
from planning.ground.names import LONGEST, shorten
from planning.releases import Release
from planning.weights import fetch_programs, ignored_files, source_access
from planning.weights.source_access import SourceAccess

_DOCKER_CONFIG_VOLUME = "docker-config"
_DRAFT = "draft"
"""Name of the volume with the weights that guess tokens, and of the container that fetches them."""
"""Volume with the credentials for the model's registry. An adapter with another Secret has another volume."""
_KEY_FILE = "cosign.pub"
_ENDPOINTS = {
    "hf": ("HF_ENDPOINT", "https://huggingface.co"),
    "s3": ("AWS_ENDPOINT_URL", "https://s3.amazonaws.com"),
}
"""The variable that holds the endpoint of a source, and the default endpoint, by scheme."""
_TRANSPARENCY_LOG = "https://rekor.sigstore.dev"
"""Address of the transparency log by which cosign verifies signatures."""
_PROXIES = frozenset({"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"})
_RETRY = 'trap exit TERM; until "$0" "$@" & wait "$!"; do sleep 30 & wait "$!"; done'
"""Script that repeats the command in its arguments until the command succeeds, or until the pod ends."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """A container that fetches weights into a volume: an init container of an engine, or the container of a Job."""

    name: str
    """Name of the container; it never changes, because patches refer to it."""
    image: str
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    env: tuple[Variable, ...]
    volume: str
    mount: str
    """Mount point of the volume; the weights are written to it or to a folder below it."""
    sub_path: str | None
    kit: bool
    """Whether the source is a ModelKit."""
    docker_config: Name | None
    """Secret with the registry's credentials; None if there is none."""
    docker_config_volume: str
    """Name of the volume with the Secret that `docker_config` names."""
    public_key: Name | None
    """Secret with the public key of the ModelKit's signature; None if no key is used."""
    urls: tuple[str, ...]
    """URLs of the servers that the container connects to."""


@dataclass(frozen=True, slots=True)
class Location:
    """The location of a model's weights."""

    path: str
    """Path at which the engine finds the weights."""
    claim: str | None = None
    """The claim that a Job has filled; None for a volume in each pod."""
    folder: str | None = None
    """Folder of the claim that holds the weights; None for the whole claim."""
    headroom_percent: int = 10
    """Additional space of a pod's volume, in percent of the bytes to fetch, because files take whole blocks."""
    limit: str | None = None
    """Explicit size of the pod's volume; None if it is computed."""
    is_opened_by_engine: bool = False
    """Whether the engine opens the source of the model itself, so that nothing is fetched and mounted."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A read-only mount of weights in the engine."""

    volume: str
    path: str
    sub_path: str | None


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one pod."""

    fetches: tuple[Fetch, ...]
    mounts: tuple[Mount, ...]
    volumes: Mapping[str, str | None]
    """Size limits of the volumes that are filled in the pod, by name; None for no limit."""
    claims: Mapping[str, str]
    """Claims that are filled before any pod starts, by name of the volume."""
    images: Mapping[str, Name]
    """References of images that hold weights and are mounted, by name of the volume."""
    requests: Mapping[str, str]
    """Resource requests of each fetch container.

    Kubernetes reserves only the largest request of a pod's init containers. Each fetch container therefore requests the
    disk space that all fetch containers need together, as far as sizes are known.
    """
    limits: Mapping[str, str]
    """Resource limits of each fetch container."""


@dataclass(frozen=True, slots=True)
class WeightSource:
    """The source of a model and its adapters, with the images that fetch from it."""

    model: Model
    at: Path
    """Path of the model, or of the cache that has it, in the configuration."""
    images: Images
    """Images of the stack's configuration. They take precedence over the release's images."""
    release: Release
    identity: bool
    """Whether the user names a ServiceAccount for the fetching pod. That account may have access to the source."""
    retries: bool = False
    """Whether a container repeats a failed fetch itself, instead of being restarted. True in a replica of several pods,
    because there the restart of any container, even of an init container, deletes all pods of the replica, and the
    files that these pods have fetched."""
    fetches_all: bool = False
    """Whether all files of a repository are fetched by default, because a custom engine may read any of them."""
    secrets_at: Path | None = None
    """Path of the list with the model's Secret, if that is not below the model."""

    @property
    def access(self) -> SourceAccess:
        """The settings with which the source of the model is opened."""
        return source_access.of_model(self.model, self.secrets_at or self.at / "secrets")


@dataclass(frozen=True, slots=True)
class _Item:
    """The model or an adapter, to fetch or to mount."""

    source: str
    size: str | None
    container: str
    volume: str
    path: str
    sub_path: str | None
    access: SourceAccess
    ignored: tuple[str, ...] = ()
    """Patterns of the files that are not fetched from a repository of a hub."""
    docker_config_volume: str = _DOCKER_CONFIG_VOLUME
    claim: str | None = None
    """The claim that holds the weights; None if a container fetches them, or if an image holds them."""
    image: Name | None = None
    """The reference of the mounted image that holds the weights; None if no such image does."""
    listing: str | None = None
    """Hash of the listing that an S3 prefix must have; None if nothing is compared."""


def plan(source: WeightSource, location: Location) -> Weights:
    """Return the containers, volumes and mounts for the model and adapters of a pod."""
    items = tuple(item for item in _weight_items(source, location) if scheme(item.source) != "image")
    fetched = [item for item in items if item.claim is None and item.image is None]
    sizes = {item.container: item.size for item in fetched if item.size is not None}
    space = resources.volume(sizes, location.headroom_percent) if sizes else None
    return Weights(
        fetches=tuple(_fetch(source, item, item.path, {}, source.at) for item in fetched),
        mounts=tuple(Mount(item.volume, item.path, item.sub_path) for item in items),
        volumes={item.volume: _limit(fetched, item.volume, location) for item in fetched},
        claims={item.volume: item.claim for item in items if item.claim is not None},
        images={item.volume: item.image for item in items if item.image is not None},
        requests=FETCHING.requests if space is None else {**FETCHING.requests, "ephemeral-storage": space},
        limits=FETCHING.limits,
    )


def fill(source: WeightSource, folder: str, sub_path: str | None, env: Mapping[str, EnvValue], env_at: Path) -> Fetch:
    """Return the container that fetches a model into a folder below `sub_path` of a claim.

    `env` are the user's variables, whose path is `env_at`.
    """
    model = source.model
    path = f"{CLAIM_MOUNT}/{folder}"
    access = source.access
    patterns = ignored_patterns(model, fetches_all=source.fetches_all)
    item = _Item(
        model.pinned_source,
        model.size,
        _container(model),
        "model",
        path,
        sub_path,
        access,
        patterns,
        listing=model.pinned_listing,
    )
    return _fetch(source, item, CLAIM_MOUNT, env, env_at)


def _container(model: Model) -> str:
    if scheme(model.source) == "kit":
        return "model-unpack"
    return "model-download"


def ignored_patterns(model: Model, *, fetches_all: bool) -> tuple[str, ...]:
    """Return the patterns of files that are not fetched from a model's repository."""
    if model.ignore_patterns is not None:
        return model.ignore_patterns
    if fetches_all:
        return ()
    return ignored_files.patterns()


def _weight_items(source: WeightSource, location: Location) -> Iterator[_Item]:
    if not location.is_opened_by_engine:
        yield _model_item(source, location)
    yield from _part_items(source)


def _model_item(source: WeightSource, location: Location) -> _Item:
    model = source.model
    claim, folder = location.claim, location.folder
    image = _image_of(model.pinned_source, source.at)
    if scheme(model.source) == "pvc":
        claim, folder = _claim(model.source)
    elif image is not None:
        claim, folder = None, model.folder
    return _Item(
        source=model.pinned_source,
        size=model.size,
        container=_container(model),
        volume="model",
        path=location.path,
        sub_path=folder,
        access=source.access,
        ignored=ignored_patterns(model, fetches_all=source.fetches_all),
        claim=claim,
        image=image,
        listing=model.pinned_listing,
    )


def _part_items(source: WeightSource) -> Iterator[_Item]:
    """Yield the adapters of the model, and the weights that guess tokens."""
    model = source.model
    for name, adapter in sorted(model.lora.adapters.items() if model.lora is not None else ()):
        at = Path(*source.at, "lora", "adapters", name)
        container = shorten(f"adapter-{name}", LONGEST)
        item = _part_item(source, adapter, at, container, f"{ADAPTERS_MOUNT}/{name}")
        if item.claim is None and item.image is None:
            item = replace(item, volume="adapters", sub_path=name)
        yield replace(item, docker_config_volume=_docker_config_volume(name, item.access, model))
    if model.speculative is not None and model.speculative.draft is not None:
        at = Path(*source.at, "speculative", "draft")
        item = _part_item(source, model.speculative.draft, at, _DRAFT, DRAFT_MOUNT)
        yield replace(item, docker_config_volume=_docker_config_volume(_DRAFT, item.access, model))


def _part_item(source: WeightSource, part: WeightPart, at: Path, container: str, path: str) -> _Item:
    """Return weights in a volume of their own, which is named as the container that fetches them."""
    claim, sub_path = None, None
    if scheme(part.source) == "pvc":
        claim, sub_path = _claim(part.source)
    return _Item(
        source=part.pinned_source,
        size=part.size,
        container=container,
        volume=container,
        path=path,
        sub_path=sub_path,
        access=source_access.of_part(source.model, source.at, part, at),
        ignored=ignored_files.patterns(),
        claim=claim,
        image=_image_of(part.pinned_source, at),
        listing=part.pinned_listing,
    )


def _docker_config_volume(part: str, access: SourceAccess, model: Model) -> str:
    """Return the volume of the credentials for weights: the model's, unless these weights have another Secret."""
    of_part = () if access.secret is None else (access.secret.text,)
    is_shared = of_part == tuple(map(secret_name, model.secrets[:1]))
    if is_shared:
        return _DOCKER_CONFIG_VOLUME
    return shorten(f"{_DOCKER_CONFIG_VOLUME}-{part}", LONGEST)


def _limit(items: list[_Item], volume: str, location: Location) -> str | None:
    if volume == "model" and location.limit is not None:
        return location.limit
    sizes = {item.container: item.size for item in items if item.volume == volume}
    return resources.volume(sizes, location.headroom_percent)


def _image_of(source: str, at: Path) -> Name | None:
    """Return the reference of an image that is mounted; None for other sources. `at` is the path of the model."""
    if scheme(source) != "oci":
        return None
    return Name(place(source), at / "source")


def _claim(source: str) -> tuple[str, str | None]:
    name, _, path = place(source).partition("/")
    return name, path or None


def _fetch(source: WeightSource, item: _Item, mount: str, explicit: Mapping[str, EnvValue], env_at: Path) -> Fetch:
    model = source.model
    kit = scheme(item.source) == "kit"
    verify = model.verify if kit else None
    env = _kit_env(item, model) if kit else _download_env(item, identity=source.identity)
    generated = {"HOME": FETCH_HOME, "TMPDIR": FETCH_HOME, **env}
    command = _command(item, source, verify)
    secret = item.access.secret
    return Fetch(
        name=item.container,
        image=_image(source, kit=kit, verify=verify),
        command=("sh", "-c", _RETRY, *(command or _entrypoint(source, kit=kit))) if source.retries else command,
        arguments=() if kit else (_address(item.source), item.path),
        env=container_variables(generated, explicit, env_at, None if secret is None else secret.at),
        volume=item.volume,
        mount=mount,
        sub_path=item.sub_path,
        kit=kit,
        docker_config=secret if kit else None,
        docker_config_volume=item.docker_config_volume,
        public_key=_public_key(verify, source.at),
        urls=tuple(urls(item.source, model, {**generated, **explicit})),
    )


def _public_key(verify: Verification | None, at: Path) -> Name | None:
    """Return the Secret with the key of the signature of the model at a path; None if no key is used."""
    if isinstance(verify, KeyVerification):
        return Name(verify.secret, at / "verify" / "secret")
    return None


def urls(address: str, model: Model, env: Mapping[str, EnvValue]) -> Iterator[str]:
    """Yield the URLs of the servers that a container connects to: source, transparency log and proxies."""
    kind = scheme(address)
    if kind == "kit":
        yield f"{'http' if model.insecure else 'https'}://{place(address).partition('/')[0]}"
        if model.verify is not None:
            yield _TRANSPARENCY_LOG
    else:
        variable, vendor = _ENDPOINTS[kind]
        endpoint = env.get(variable)
        yield endpoint if isinstance(endpoint, str) else vendor
    for name, value in env.items():
        if name.upper() in _PROXIES and isinstance(value, str):
            yield value


def names_server(variable: str) -> bool:
    """Return whether a variable of a container that fetches weights has the URL of the source or of a proxy."""
    return variable.upper() in _PROXIES or any(variable == name for name, _ in _ENDPOINTS.values())


def _image(source: WeightSource, *, kit: bool, verify: Verification | None) -> str:
    explicit = source.images
    defaults = source.release.images
    if not kit:
        return explicit.downloader or defaults.downloader.ref
    return explicit.kit or (defaults.kit if verify is None else defaults.kit_verify).ref


def _entrypoint(source: WeightSource, *, kit: bool) -> tuple[str, ...]:
    """Return the program that an image runs if no command is given."""
    images = source.release.images
    return ((images.kit_verify if kit else images.downloader).entrypoint,)


def _command(item: _Item, source: WeightSource, verify: Verification | None) -> tuple[str, ...]:
    """Return the command of a container.

    The command is empty if the image's entrypoint runs. The image that verifies ModelKits runs its entrypoint, and so
    does the image of the downloader, unless a listing is compared or a revision has a slash. The option `-o` makes
    `kit` overwrite files.
    """
    if item.listing is not None:
        return fetch_programs.with_listing(item.listing, *_entrypoint(source, kit=False))
    if fetch_programs.is_for_revision(item.source):
        return fetch_programs.for_revision(*_entrypoint(source, kit=False))
    if scheme(item.source) != "kit" or verify is not None:
        return ()
    layers = f"--filter={','.join(source.model.filter)}"
    plain = ("--plain-http",) if source.model.insecure else ()
    return ("kit", "unpack", place(item.source), "-o", "-d", item.path, layers, *plain)


def _kit_env(item: _Item, model: Model) -> dict[str, EnvValue]:
    env: dict[str, EnvValue] = {"KITOPS_HOME": FETCH_HOME}
    if item.access.secret is not None:
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
    return env | {
        "COSIGN_CERT_IDENTITY": literal(model.verify.identity),
        "COSIGN_CERT_OIDC_ISSUER": model.verify.issuer,
    }


def _address(source: str) -> str:
    """Return the source in the downloader's syntax.

    A Hugging Face revision follows a colon. An S3 prefix ends with a slash. Without the slash, the prefix `llama` would
    also fetch `llama-70b`.
    """
    if scheme(source) != "hf":
        return f"{source.rstrip('/')}/"
    name, revision = hub(source)
    if revision is None:
        return f"hf://{name}"
    return f"hf://{name}:{revision}"


def fetched_text(source: str) -> str:
    """Return the text of a source in a pod: an argument of the container that fetches it, or the engine's image."""
    if scheme(source) in {"kit", "oci", "image"}:
        return place(source)
    return _address(source)


def _download_env(item: _Item, *, identity: bool) -> dict[str, EnvValue]:
    access = item.access
    if scheme(item.source) == "hf":
        ignored = {ignored_files.variable(): ignored_files.text(item.ignored)} if item.ignored else {}
        return {**source_access.NO_TELEMETRY, **ignored, **source_access.hub_variables(access)}
    anonymous: dict[str, EnvValue] = {}
    if access.secret is None and not identity:
        anonymous["awsAnonymousCredential"] = "true"
    return {**anonymous, **source_access.bucket_variables(access)}
