"""Contexts: variants of services and roles of variants, each with all data on which decisions about it depend.

`resolve` makes the contexts of a stack once. Rules and plans use the same contexts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from models.paths import Path
from models.problems import Problem
from models.role import Role
from models.routing import Gateway
from models.service import EncoderCache, Service, Sidecar, Variant
from models.stack import Stack
from planning import hardware
from planning.ground import lifecycle, stages
from planning.ground.environment import EnvValue
from planning.ground.lifecycle import Drain
from planning.ground.mounts import ENGINE_HOME
from planning.ground.names import CANARY, PRIMARY, Names, names
from planning.ground.stages import RequestStage
from planning.hardware import devices
from planning.hardware.accelerators import AcceleratorClass
from planning.hardware.devices import Layout, Spread
from planning.releases import Release, channel
from planning.releases.engine_kinds import EngineKind
from planning.releases.engine_versions import EngineVersion
from planning.variant import (
    api_server,
    cache_tiers,
    canary,
    compile_cache,
    engine_environment,
    generation,
    images,
    kv_cache,
    roles,
)
from planning.variant.cache_tiers import CacheTiers
from planning.variant.canary import Share
from planning.variant.kv_cache import KvCacheSettings
from planning.variant.roles import RoleSpecAt


@dataclass(frozen=True, slots=True, order=True)
class VariantId:
    """Identity of a variant of a stack."""

    key: str
    """Key of the service."""
    variant_name: str
    """`PRIMARY` or `CANARY`."""


@dataclass(frozen=True, slots=True, order=True)
class RoleId:
    """Identity of a role of a variant."""

    variant: VariantId
    name: str
    """Name of the role (`planning.variant.roles`)."""


@dataclass(frozen=True, slots=True)
class ConfiguredVariant:
    """A variant of a service with its configuration, before anything is resolved."""

    key: str
    """Key of the service."""
    variant_name: str
    """`PRIMARY` or `CANARY`."""
    path: Path
    """Place of the variant in the configuration."""
    spec: Variant
    stack: Stack
    service: Service
    """The service that the variant belongs to."""
    roles: tuple[RoleSpecAt, ...]
    """The decode role or its sets, then the roles of the stages that have pods of their own."""

    @property
    def id(self) -> VariantId:
        """Return the identity of the variant."""
        return VariantId(self.key, self.variant_name)

    @property
    def kind(self) -> EngineKind:
        """Return the kind of engine of the decode role. All of its sets have the same."""
        return self.roles[0].kind

    @property
    def is_divided(self) -> bool:
        """Tell whether the decode role is divided into sets."""
        return bool(roles.sets(self.spec, stages.DECODE))

    @property
    def destinations(self) -> tuple[RoleSpecAt, ...]:
        """Return the roles that get the requests of clients: the decode role, or its sets."""
        return tuple(role for role in self.roles if role.stage.is_destination)

    @property
    def namespace(self) -> str:
        """Return the namespace of the variant's objects."""
        return self.service.namespace or self.stack.namespace

    @property
    def channel(self) -> str:
        """Return the name of the variant's release channel. The channel may be unknown."""
        return self.spec.release or self.stack.release

    @property
    def gateway(self) -> Gateway | None:
        """Return the gateway of the service; None if the service has no gateway."""
        return gateway(self.service, self.stack)

    @property
    def has_picker(self) -> bool:
        """Tell whether the variant has an InferencePool with an endpoint picker.

        If it does not, the requests go to the variant's Service.
        """
        return self.spec.endpoint_picker.enabled


@dataclass(frozen=True, slots=True)
class VariantContext(ConfiguredVariant):
    """A variant of a service, with all data that decisions about it depend on."""

    names: Names
    release: Release
    """Facts of the variant's release channel."""
    classes: Mapping[str, AcceleratorClass]
    """All accelerator classes of the stack, by name."""
    images: Mapping[str, str | None]
    """Image of the engine of each role, by name of the role. None if the channel has no image for the accelerator."""
    kv_cache: KvCacheSettings
    share: Share
    """Shares of the primary and the canary in the service's requests."""
    metered_as: str | None
    """Id by which the interceptor bills the requests of the variant's service; None if the service is not metered."""

    @property
    def search_id(self) -> str | None:
        """Return the id by which the interceptor finds the variant's Service; None if it searches for no such id.

        The interceptor searches only in mode `label`, and only for the Services of metered primaries.
        """
        spec = self.stack.interceptor
        if spec is None or spec.mode != "label" or self.variant_name != PRIMARY:
            return None
        return self.metered_as

    @property
    def has_lone_sidecar(self) -> bool:
        """Tell whether a sidecar works in pods without further roles, which is up to its protocol."""
        facts = self.release.sidecar
        return self.spec.sidecar is not None and facts is not None and self.kv_cache.connector in facts.lone_connectors

    @property
    def owner(self) -> str:
        """Return the owner of the variant's objects."""
        return owner(self.key, self.variant_name)

    @property
    def logical_prefixes(self) -> tuple[str, ...]:
        """Return the prefixes with which logical names of the variant's objects begin.

        The first prefix has no generation. If the variant has a generation, a second prefix contains the generation.
        """
        prefix = self.key
        if self.variant_name != PRIMARY:
            prefix += f"-{self.variant_name}"
        if self.names.generation is None:
            return (prefix,)
        return prefix, f"{prefix}-{self.names.generation}"


@dataclass(frozen=True, slots=True)
class RoleContext:
    """A role of a variant, with all data that decisions about it depend on.

    Only roles with a known accelerator class and a valid layout have a context.
    """

    variant: VariantContext
    """Context of the variant that the role belongs to."""
    place: RoleSpecAt
    """Stage and set of the pods, and the role's place in the configuration."""
    accelerator: AcceleratorClass
    layout: Layout
    image: str | None
    """Image of the engine; None if the channel has no image for the accelerator."""
    engine_version: EngineVersion | None
    """Version of vLLM; None for another engine, or if the channel has no image for the accelerator."""
    drain: Drain
    environment: Mapping[str, EnvValue]
    """Generated environment variables of the engine, except those for tracing."""
    cache: CacheTiers
    """Tiers that hold cache blocks outside the memory of the devices, and the settings of the engine for them."""

    @property
    def name(self) -> str:
        """Return the name of the role, which no other role of the variant has."""
        return self.place.name

    @property
    def stage(self) -> RequestStage:
        """Return the stage of a request that the pods process."""
        return self.place.stage

    @property
    def path(self) -> Path:
        """Return the path of the role in the configuration."""
        return self.place.path

    @property
    def role(self) -> Role:
        """Return the spec of the role."""
        return self.place.spec

    @property
    def kind(self) -> EngineKind:
        """Return the kind of the engine, by `engine.type`."""
        return self.place.kind

    @property
    def cpu_offload(self) -> str | None:
        """Return the host memory of a pod for cache blocks that no longer fit the devices; None if there is none."""
        if not self.stage.exchanges_kv_cache:
            return None
        return self.variant.spec.kv_cache.host_memory

    @property
    def encoder_cache(self) -> EncoderCache | None:
        """Return the transfer of the outputs of encoders; None if the pods neither send nor get such outputs.

        The pods that process prompts get them.
        """
        spec = self.variant.spec
        if spec.encode is None or (self.stage is stages.DECODE and spec.prefill is not None):
            return None
        return spec.encode.encoder_cache

    @property
    def workload(self) -> str:
        """Return the name of the workload object."""
        return self.variant.names.workload(self.name)

    @property
    def is_proxied(self) -> bool:
        """Tell whether requests reach the engine through the routing sidecar."""
        asks_other_roles = bool(roles.further(self.variant.spec)) or self.variant.has_lone_sidecar
        return self.stage.is_destination and asks_other_roles

    @property
    def engine_port(self) -> int:
        """Return the port that the engine listens on. With a routing sidecar, the pod gets requests on another port.

        With `parallelism.loadBalancing: external`, this is the port of the first copy of the model.
        """
        spec = self.variant.spec
        if self.is_proxied:
            return (spec.sidecar or Sidecar()).engine_port
        return spec.engine.port

    @property
    def engine_ports(self) -> tuple[int, ...]:
        """Return the ports on which the engine gets requests: one, or one for each copy of the model in the pod.

        Source: vllm 0.22.0, vllm/entrypoints/openai/dp_supervisor.py, `_build_vllm_dp_server_args`.
        """
        return tuple(range(self.engine_port, self.engine_port + self.layout.ports))

    @property
    def target_ports(self) -> tuple[int, ...]:
        """Return the ports on which the pod gets requests from the pool."""
        first = self.variant.spec.engine.port
        return tuple(range(first, first + self.layout.ports))

    @property
    def supervisor_port(self) -> int | None:
        """Return the port that reports the health of all copies of the model; None if all copies share one port.

        It is the next port after the engine's ports.
        """
        if self.layout.ports == 1:
            return None
        return self.engine_ports[-1] + 1


@dataclass(frozen=True, slots=True)
class Contexts:
    """All contexts of a stack."""

    variants: Mapping[VariantId, VariantContext]
    """Contexts of all variants."""
    roles: Mapping[RoleId, RoleContext]
    """Contexts of the roles with a valid layout."""
    unsound: Mapping[RoleId, tuple[Problem, ...]]
    """Problems of the layouts of roles.

    If `explicit_only` is true for all of its problems, a role has a context in `roles`, too.
    """

    def of(self, variant_name: str) -> Iterator[VariantContext]:
        """Yield the contexts of all primaries (`PRIMARY`) or of all canaries (`CANARY`)."""
        return (context for context in self.variants.values() if context.variant_name == variant_name)

    def primary(self, key: str) -> VariantContext:
        """Return the context of a service's primary."""
        return self.variants[VariantId(key, PRIMARY)]

    def canary(self, key: str) -> VariantContext | None:
        """Return the context of a service's canary; None if the service has no canary."""
        return self.variants.get(VariantId(key, CANARY))

    @property
    def releases(self) -> tuple[Release, ...]:
        """Return the facts of all channels that variants use, ordered by name."""
        releases = {context.release.name: context.release for context in self.variants.values()}
        return tuple(releases[name] for name in sorted(releases))

    def roles_of(self, variant: VariantContext) -> dict[str, RoleContext]:
        """Return the contexts of a variant's roles by role name. Roles with an invalid layout are left out."""
        identities = {role.name: RoleId(variant.id, role.name) for role in variant.roles}
        return {name: self.roles[identity] for name, identity in identities.items() if identity in self.roles}


def gateway(service: Service, stack: Stack) -> Gateway | None:
    """Return the gateway of a service: the gateway of its route, else the stack's gateway, else None."""
    return service.route.gateway or stack.gateway


def owner(key: str, variant_name: str) -> str:
    """Return the owner of a variant's objects: the service key, or `<key>.canary` for a canary.

    The owner of a canary is never equal to a service key, because keys contain no dot.
    """
    if variant_name == PRIMARY:
        return key
    return f"{key}.{variant_name}"


def configured_variants(stack: Stack) -> Iterator[ConfiguredVariant]:
    """Yield all variants of a stack in the order of the configuration, each primary before its canary."""
    for key, service in stack.services.items():
        yield from variants_of(key, service, stack)


def variants_of(key: str, service: Service, stack: Stack) -> Iterator[ConfiguredVariant]:
    """Yield the primary of a service and, if the service has one, its canary."""
    at = Path("services", key)
    yield ConfiguredVariant(key, PRIMARY, at, service, stack, service, tuple(roles.of(service, at)))
    if service.canary is not None:
        at /= "canary"
        yield ConfiguredVariant(key, CANARY, at, service.canary, stack, service, tuple(roles.of(service.canary, at)))


def max_replicas(role: Role) -> int:
    """Return the maximum number of replicas of a role."""
    if role.autoscaling is None:
        return role.replicas
    return role.autoscaling.max_replicas


def resource_id(service: Service, key: str, stack: Stack) -> str | None:
    """Return the id by which a service is billed; None if the service is not metered."""
    if stack.interceptor is None or not service.interceptor.enabled:
        return None
    return service.interceptor.resource_id or key


def resolve(variants: Iterable[ConfiguredVariant], classes: Mapping[str, AcceleratorClass]) -> Contexts:
    """Return the contexts of variants, whose channels are known, and of their roles.

    Roles with an unknown accelerator class or an invalid layout get no context.
    """
    contexts = {variant.id: _variant(variant, channel(variant.channel), classes) for variant in variants}
    roles = dict[RoleId, RoleContext]()
    unsound = dict[RoleId, tuple[Problem, ...]]()
    for context in contexts.values():
        for role in context.roles:
            accelerator = classes.get(role.spec.accelerator)
            if accelerator is None:
                continue
            identity = RoleId(context.id, role.name)
            resolved, problems = _judged_role(context, role, accelerator)
            if problems:
                unsound[identity] = problems
            if resolved is not None:
                roles[identity] = resolved
    return Contexts(contexts, roles, unsound)


def _variant(variant: ConfiguredVariant, release: Release, classes: Mapping[str, AcceleratorClass]) -> VariantContext:
    stack = variant.stack
    spec = variant.spec
    service = variant.service
    cache = kv_cache.plan(spec, release)
    images_of = {role.name: _image(spec, role.spec, release, classes) for role in variant.roles}
    cache_generation = generation.name_of(spec, stack, release, images_of, cache.block_size)
    return VariantContext(
        key=variant.key,
        variant_name=variant.variant_name,
        path=variant.path,
        spec=spec,
        stack=stack,
        service=service,
        roles=variant.roles,
        names=names(variant.namespace, service.name or variant.key, variant.variant_name, cache_generation),
        release=release,
        classes=classes,
        images=images_of,
        kv_cache=cache,
        share=canary.share(service.canary),
        metered_as=resource_id(service, variant.key, stack),
    )


def _image(spec: Variant, role: Role, release: Release, classes: Mapping[str, AcceleratorClass]) -> str | None:
    """Return the image of a role's engine. The name of an unknown class counts as that of a vendor."""
    accelerator = classes.get(role.accelerator)
    vendor = role.accelerator if accelerator is None else accelerator.vendor
    return images.engine(spec, role, vendor, release)


def _judged_role(
    context: VariantContext, role: RoleSpecAt, accelerator: AcceleratorClass
) -> tuple[RoleContext | None, tuple[Problem, ...]]:
    """Return the context of a role whose class is known, or None for an invalid layout; and problems of the layout."""
    spread = devices.spread_of(role.spec.parallelism, role.spec.accelerator_memory, accelerator)
    problems = tuple(hardware.layout_problems(role.path, role.spec, accelerator, spread))
    if not all(problem.explicit_only for problem in problems):
        return None, problems
    return _role(context, role, spread), problems


def _role(context: VariantContext, role: RoleSpecAt, spread: Spread) -> RoleContext:
    """Return the context of a role whose class is known and whose layout is valid. `spread` are a replica's sizes."""
    spec = role.spec
    accelerator = context.classes[spec.accelerator]
    layout = devices.layout(spread, spec.parallelism, spec.accelerator_memory, accelerator)
    image = context.images[role.name]
    version = None
    if not role.kind.vllm_tables:
        layout = replace(layout, ports=1, every_pod_serves=False)
    else:
        version = images.version(image, accelerator.vendor, context.release)
    space = cache_tiers.namespace(context.spec, role, context.stack, context.release, image)
    cache = cache_tiers.plan(context.spec, role, layout, context.kv_cache.transfer, space)
    engine_drains = api_server.drains(spec, layout, version)
    return RoleContext(
        variant=context,
        place=role,
        accelerator=accelerator,
        layout=layout,
        image=image,
        engine_version=version,
        drain=lifecycle.drain(context.spec.drain_timeout, engine_drains=engine_drains),
        environment={
            **_known_variables({**_environment(context, role, layout, accelerator), **cache.environment}, version),
            **engine_environment.encoder_outputs(role),
        },
        cache=cache,
    )


def _environment(
    context: VariantContext, role: RoleSpecAt, layout: Layout, accelerator: AcceleratorClass
) -> dict[str, EnvValue]:
    """Return the generated variables of an engine, except those for tracing."""
    environment = dict[str, EnvValue]({"HOME": ENGINE_HOME})
    if not role.kind.vllm_tables:
        return environment | engine_environment.of_kind(role.kind, context.kv_cache)
    environment |= engine_environment.plan(context.spec, role, layout, context.kv_cache)
    environment |= engine_environment.connection(context.spec, _provider(context))
    environment |= compile_cache.environment(role.spec, context.images[role.name])
    if accelerator.vendor == "cpu":
        environment |= engine_environment.cpu_memory(context.spec, role, layout)
    return environment


def _provider(context: VariantContext) -> str | None:
    """Return the provider of the gateway that sends a variant's requests; None if no gateway sends them."""
    if context.gateway is None or not context.service.route.enabled:
        return None
    return context.gateway.provider


def _known_variables(generated: Mapping[str, EnvValue], version: EngineVersion | None) -> dict[str, EnvValue]:
    """Return the generated variables. Variables of vLLM that `version` does not know are left out."""
    return {
        name: value
        for name, value in generated.items()
        if version is None or not name.startswith("VLLM_") or version.knows_variable(name)
    }
