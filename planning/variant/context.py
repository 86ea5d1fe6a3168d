"""Contexts: variants of services and roles of variants, each with all data on which decisions about it depend.

`resolve` makes the contexts of a stack once. Rules and plans use the same contexts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from models.paths import Path
from models.problems import Problem
from models.role import Role
from models.routing import Gateway
from models.service import Service, Sidecar, Variant
from models.stack import Stack
from planning import hardware
from planning.ground import labels, lifecycle
from planning.ground.environment import EnvValue
from planning.ground.lifecycle import Drain
from planning.ground.names import CANARY, PRIMARY, Names, names
from planning.hardware import devices
from planning.hardware.accelerators import AcceleratorClass
from planning.hardware.devices import Layout
from planning.releases import Release
from planning.releases.engine_versions import EngineVersion
from planning.variant import api_server, canary, engine_environment, generation, images, kv_cache
from planning.variant.canary import Share
from planning.variant.kv_cache import KvCache


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
    roles: tuple[tuple[str, Path, Role], ...]
    """Name, place in the configuration and spec of each role."""

    @property
    def namespace(self) -> str:
        """Return the namespace of the variant's objects."""
        return self.service.namespace or self.stack.namespace

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
    """Facts of the stack's release channel."""
    classes: Mapping[str, AcceleratorClass]
    """All accelerator classes of the stack, by name."""
    kv_cache: KvCache
    share: Share
    """Shares of the primary and the canary in the service's requests."""
    metered_as: str | None
    """Id by which the interceptor bills the requests of the variant's service; None if the service is not metered."""

    @property
    def resource_id(self) -> str | None:
        """Return the id by which the interceptor finds the variant's Service; None if it searches for no such id.

        The interceptor searches only in mode `label`, and only for the Services of metered primaries.
        """
        spec = self.stack.interceptor
        searches = spec is not None and spec.mode == "label" and self.variant_name == PRIMARY
        return self.metered_as if searches else None

    @property
    def owner(self) -> str:
        """Return the owner of the variant's objects."""
        return owner(self.key, self.variant_name)

    @property
    def logical_prefixes(self) -> tuple[str, ...]:
        """Return the prefixes with which logical names of the variant's objects begin.

        The first prefix has no generation. If the variant has a generation, a second prefix contains the generation.
        """
        prefix = self.key if self.variant_name == PRIMARY else f"{self.key}-{self.variant_name}"
        return (prefix,) if self.names.generation is None else (prefix, f"{prefix}-{self.names.generation}")


@dataclass(frozen=True, slots=True)
class RoleContext:
    """A role of a variant, with all data that decisions about it depend on.

    Only roles with a known accelerator class and a valid layout have a context.
    """

    variant: VariantContext
    """Context of the variant that the role belongs to."""
    name: str
    """`labels.DECODE` or `labels.PREFILL`."""
    path: Path
    """Path of the role in the configuration."""
    role: Role
    """Spec of the role."""
    accelerator: AcceleratorClass
    layout: Layout
    is_custom: bool
    """Whether the engine runs the image's own entrypoint (`engine.type: custom`)."""
    engine_version: EngineVersion | None
    """Version of vLLM; None for a custom engine, or if the channel has no image for the accelerator."""
    drain: Drain
    environment: Mapping[str, EnvValue]
    """Generated environment variables of the engine, except those for tracing."""

    @property
    def workload(self) -> str:
        """Return the name of the workload object."""
        return self.variant.names.prefill if self.name == labels.PREFILL else self.variant.names.decode

    @property
    def is_proxied(self) -> bool:
        """Tell whether requests reach the engine through the routing sidecar."""
        return self.name == labels.DECODE and self.variant.spec.prefill is not None

    @property
    def engine_port(self) -> int:
        """Return the port that the engine listens on. With a routing sidecar, the pod gets requests on another port.

        With `parallelism.loadBalancing: external`, this is the port of the first copy of the model.
        """
        spec = self.variant.spec
        return (spec.sidecar or Sidecar()).engine_port if self.is_proxied else spec.engine.port

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
        return self.engine_ports[-1] + 1 if self.layout.ports > 1 else None


@dataclass(frozen=True, slots=True)
class Contexts:
    """All contexts of a stack."""

    variants: Mapping[tuple[str, str], VariantContext]
    """Contexts of all variants, by service key and variant name."""
    roles: Mapping[tuple[str, str, str], RoleContext]
    """Contexts of the roles with a valid layout, by service key, variant name and role name."""
    unsound: Mapping[tuple[str, str, str], tuple[Problem, ...]]
    """Problems of the layouts of roles, by service key, variant name and role name.

    If `explicit_only` is true for all of its problems, a role has a context in `roles`, too.
    """

    def of(self, variant_name: str) -> Iterator[VariantContext]:
        """Yield the contexts of all primaries (`PRIMARY`) or of all canaries (`CANARY`)."""
        return (context for (_, name), context in self.variants.items() if name == variant_name)

    def primary(self, key: str) -> VariantContext:
        """Return the context of a service's primary."""
        return self.variants[key, PRIMARY]

    def canary(self, key: str) -> VariantContext | None:
        """Return the context of a service's canary; None if the service has no canary."""
        return self.variants.get((key, CANARY))

    def roles_of(self, variant: VariantContext) -> dict[str, RoleContext]:
        """Return the contexts of a variant's roles by role name. Roles with an invalid layout are left out."""
        places = {name: (variant.key, variant.variant_name, name) for name, _, _ in variant.roles}
        return {name: self.roles[place] for name, place in places.items() if place in self.roles}


def gateway(service: Service, stack: Stack) -> Gateway | None:
    """Return the gateway of a service: the gateway of its route, else the stack's gateway, else None."""
    return service.route.gateway or stack.gateway


def owner(key: str, variant_name: str) -> str:
    """Return the owner of a variant's objects: the service key, or `<key>.canary` for a canary.

    The owner of a canary is never equal to a service key, because keys contain no dot.
    """
    return key if variant_name == PRIMARY else f"{key}.{variant_name}"


def configured_variants(stack: Stack) -> Iterator[ConfiguredVariant]:
    """Yield all variants of a stack in the order of the configuration, each primary before its canary."""
    for key, service in stack.services.items():
        yield from variants_of(key, service, stack)


def variants_of(key: str, service: Service, stack: Stack) -> Iterator[ConfiguredVariant]:
    """Yield the primary of a service and, if the service has one, its canary."""
    at = Path("services", key)
    yield ConfiguredVariant(key, PRIMARY, at, service, stack, service, _roles(at, service))
    if service.canary is not None:
        spec, at = service.canary, at / "canary"
        yield ConfiguredVariant(key, CANARY, at, spec, stack, service, _roles(at, spec))


def _roles(at: Path, spec: Variant) -> tuple[tuple[str, Path, Role], ...]:
    decode = labels.DECODE, at, spec
    return (decode,) if spec.prefill is None else (decode, (labels.PREFILL, at / "prefill", spec.prefill))


def max_replicas(role: Role) -> int:
    """Return the maximum number of replicas of a role."""
    return role.replicas if role.autoscaling is None else role.autoscaling.max_replicas


def resource_id(service: Service, key: str, stack: Stack) -> str | None:
    """Return the id by which a service is billed; None if the service is not metered."""
    interceptor = service.interceptor
    return (interceptor.resource_id or key) if stack.interceptor is not None and interceptor.enabled else None


def resolve(
    variants: Iterable[ConfiguredVariant], release: Release, classes: Mapping[str, AcceleratorClass]
) -> Contexts:
    """Return the contexts of variants and of their roles.

    Roles with an unknown accelerator class or an invalid layout get no context.
    """
    contexts = {(variant.key, variant.variant_name): _variant(variant, release, classes) for variant in variants}
    roles, unsound = dict[tuple[str, str, str], RoleContext](), dict[tuple[str, str, str], tuple[Problem, ...]]()
    for (key, variant_name), context in contexts.items():
        for name, path, role in context.roles:
            accelerator = classes.get(role.accelerator)
            if accelerator is None:
                continue
            problems = tuple(hardware.layout_problems(path, role, accelerator))
            if problems:
                unsound[key, variant_name, name] = problems
            if all(problem.explicit_only for problem in problems):
                roles[key, variant_name, name] = _role(context, name, path, role)
    return Contexts(contexts, roles, unsound)


def _variant(variant: ConfiguredVariant, release: Release, classes: Mapping[str, AcceleratorClass]) -> VariantContext:
    stack, spec, service = variant.stack, variant.spec, variant.service
    cache_generation = generation.name_of(spec, stack, release, classes)
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
        kv_cache=kv_cache.plan(spec, release),
        share=canary.share(service.canary),
        metered_as=resource_id(service, variant.key, stack),
    )


def _role(context: VariantContext, name: str, path: Path, role: Role) -> RoleContext:
    """Return the context of a role whose class is known and whose layout is valid."""
    accelerator, spec = context.classes[role.accelerator], context.spec
    layout = devices.layout(role.parallelism, role.accelerator_memory, accelerator)
    is_custom = images.is_custom(spec, role)
    if is_custom:
        layout = replace(layout, ports=1)
    version = images.version(spec, role, accelerator.vendor, context.release)
    return RoleContext(
        variant=context,
        name=name,
        path=path,
        role=role,
        accelerator=accelerator,
        layout=layout,
        is_custom=is_custom,
        engine_version=version,
        drain=lifecycle.drain(spec.drain_timeout, engine_drains=api_server.drains(role, layout, version)),
        environment=_known_variables(
            {
                **engine_environment.plan(spec, role, layout, context.kv_cache),
                **engine_environment.connection(spec, role, _provider(context)),
                **(engine_environment.cpu_memory(spec, role, layout) if accelerator.vendor == "cpu" else {}),
            },
            version,
        ),
    )


def _provider(context: VariantContext) -> str | None:
    """Return the provider of the gateway that sends a variant's requests; None if no gateway sends them."""
    return context.gateway.provider if context.gateway is not None and context.service.route.enabled else None


def _known_variables(generated: Mapping[str, EnvValue], version: EngineVersion | None) -> dict[str, EnvValue]:
    """Return the generated variables. Variables of vLLM that `version` does not know are left out."""
    return {
        name: value
        for name, value in generated.items()
        if version is None or not name.startswith("VLLM_") or version.knows_variable(name)
    }
