"""Engines: what each kind of inference server can do, and the flags by which it does it.

Each kind is a YAML file in `engines/kinds/`, and the classes here are its schema. Its name is a value of `engine.type`.
"""

from functools import cache

from pydantic import Field

from models.base import Spec
from models.role import Role
from models.service import Variant
from models.source import scheme
from planning.ground import tables
from planning.ground.tables import Sourced

VLLM = "vllm"
CUSTOM = "custom"


class SourceFile(Spec):
    """A file that facts were read from."""

    project: str
    version: str
    """Version of the project, or the commit that was read."""
    file: str
    """Path of the file in the wheel or in the repository."""
    sha256: str
    """Digest of the file."""


class ReplicaFlags(Sourced):
    """Flags by which the pods of one replica find each other.

    All flags are templates. They may contain `{pods}`, `{leader}` and `{port}`: the number of pods, the address of the
    leader as a variable, and its port. `{seconds}` is the time for which the pods wait for each other.
    """

    flags: list[str]
    """Flags of all pods."""
    worker: list[str] = Field(default=[])
    """Further flags of the pods that get no requests."""
    leader_finds_itself: bool = False
    """Whether the leader may get its own IP as the leader's address, which needs no DNS lookup."""
    spreads_copies: bool = False
    """Whether the copies of a model (`parallelism.data`) may be in several pods."""
    port: int | None = None
    """Port of the leader that the other pods connect to; None if the engine's tables decide it."""


class Disaggregation(Sourced):
    """Disaggregated prefill without a connector inside the engine: each role has a mode."""

    decode: list[str]
    """Flags of the decode role."""
    prefill: list[str]
    """Flags of the prefill role."""
    bootstrap_port: int
    """Port on which prefill agrees with decode on a transfer of the KV cache."""
    port_variable: str | None = None
    """Environment variable of the sidecar for that port; None if it has none."""
    deciders: dict[str, str] = Field(default={})
    """Deciders of the picker that send some requests to decode alone, which the engine cannot serve, each with the one
    that takes its place in presets."""


class HostCache(Sourced):
    """Host memory for cache blocks in whole units, of which each worker process takes its share."""

    flags: list[str]
    """Further flags of an engine with host memory for cache blocks."""
    unit: int
    """Bytes of a unit."""
    beside_prefill: bool
    """Whether roles that exchange their cache may have host memory for it."""
    excluded: str
    """Flag that the engine refuses beside `flags`."""


class KvEventsKeys(Sourced):
    """Keys of the JSON value for KV cache events that the engine knows."""

    keys: list[str]


class EngineKind(Sourced):
    """One kind of inference server."""

    name: str = ""
    """Value of `engine.type`. `kind` sets it from the file's name."""
    title: str
    """The project's own name, for messages."""
    container: str
    """Name of the engine's container; it never changes, because patches refer to it."""
    program: list[str] = Field(default=[])
    """Program with its first arguments; empty if the entrypoint of the image runs as it is."""
    vllm_tables: bool = False
    """Whether the tables about vLLM apply: versions, advisories, memory, series, kernels and layouts of copies."""
    model: str | None = None
    """Flag of the folder with the weights; None if the folder is the first argument."""
    fixed: list[str] = Field(default=[])
    """Flags of every engine of the kind."""
    flags: dict[str, str] = Field(default={})
    """Flags by the place of the field that decides their values. A field without a flag does not reach the engine."""
    decided: dict[str, str] = Field(default={})
    """Flags that fields decide, in the canonical form of `models.flags`, each with the advice to a user who sets it."""
    environment: dict[str, str] = Field(default={})
    """Generated environment variables, besides HOME."""
    versions: str | None = None
    """Name of the table with the flags of each version, without `.yaml`; None if there is none."""
    label: str | None = None
    """Value of the picker's label for engines; None if the picker takes the engine for vLLM without it."""
    metrics_path: str = "/metrics"
    """Path of the engine's metrics."""
    connector: str | None = None
    """Default of `kvCache.connector`; None if the user has to choose."""
    host_cache: HostCache | None = None
    """None if the flag of `kvCache.cpuOffload` is that of vLLM, or if there is none."""
    events: KvEventsKeys | None = None
    """None if all keys of the release are known."""
    disaggregation: Disaggregation | None = None
    """None if a connector inside the engine transfers the cache, or if nothing does."""
    group: ReplicaFlags | None = None
    """None if a replica is always one pod."""
    files: list[SourceFile] = Field(default=[])
    """Files that the facts were read from."""

    @property
    def is_generated(self) -> bool:
        """Tell whether program and arguments are generated. They are not for an image's own entrypoint."""
        return bool(self.program)

    @property
    def serves_name(self) -> bool:
        """Tell whether the engine gets the name of the model that it serves."""
        return "model.name" in self.flags


@cache
def kind(name: str) -> EngineKind:
    """Return a kind of engine; `name` is one of `names()`."""
    return tables.read(EngineKind, f"releases/engines/kinds/{name}.yaml").model_copy(update={"name": name})


def names() -> tuple[str, ...]:
    """Return the names of all kinds, sorted."""
    return tables.names("releases/engines/kinds")


def of(spec: Variant, role: Role) -> EngineKind:
    """Return the kind of a role's engine: the explicit one, else custom for weights in an image, else vLLM."""
    if role.engine.type is not None:
        return kind(role.engine.type)
    return kind(CUSTOM if scheme(spec.model.source) == "image" else VLLM)


def connector(spec: Variant) -> str | None:
    """Return the protocol by which a variant's roles exchange their cache; None if the engine has none of its own."""
    return spec.kv_cache.connector or of(spec, spec).connector
