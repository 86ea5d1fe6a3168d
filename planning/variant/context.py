"""What is decided about: a service or its canary, and one role of it.

Contexts are made once for a stack, by `resolve`; rules and plans read the same ones.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

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
from planning.variant import canary, engine_environment, generation, images, kv_cache
from planning.variant.canary import Share
from planning.variant.kv_cache import KvCache


@dataclass(frozen=True, slots=True)
class Subject:
    """A service or its canary, as it is configured."""

    key: str
    """Of the service."""
    variant: str
    path: Path
    """Where it stands in the configuration."""
    spec: Variant
    stack: Stack

    @property
    def roles(self) -> Iterator[tuple[str, Path, Role]]:
        """Yield name, place in the configuration and settings of every role."""
        yield labels.DECODE, self.path, self.spec
        if self.spec.prefill is not None:
            yield labels.PREFILL, self.path / "prefill", self.spec.prefill

    @property
    def service(self) -> Service:
        """Return the service, of which it may be the canary."""
        return self.stack.services[self.key]

    @property
    def namespace(self) -> str:
        """Return the namespace of its objects."""
        return self.service.namespace or self.stack.namespace

    @property
    def gateway(self) -> Gateway | None:
        """Return the gateway that its requests come through."""
        return gateway(self.service, self.stack)


@dataclass(frozen=True, slots=True)
class VariantContext(Subject):
    """A service or its canary, with all that decisions about it read."""

    names: Names
    release: Release
    classes: Mapping[str, AcceleratorClass]
    kv_cache: KvCache
    share: Share
    """Of the service's requests, between it and its canary."""
    resource_id: str | None
    """The id that the interceptor bills by; absent: the variant is not metered."""

    @property
    def owner(self) -> str:
        """Return whose the objects are, which no other service's or cache's are."""
        return owner(self.key, self.variant)

    @property
    def logical_prefixes(self) -> tuple[str, ...]:
        """Return what the logical names of its objects begin with, before a generation and behind it."""
        prefix = self.key if self.variant == PRIMARY else f"{self.key}-{self.variant}"
        return (prefix,) if self.names.generation is None else (prefix, f"{prefix}-{self.names.generation}")


@dataclass(frozen=True, slots=True)
class RoleContext:
    """One role, with all that decisions about it read. Its class and layout are known to be sound."""

    of: VariantContext
    name: str
    path: Path
    """Where it stands in the configuration."""
    role: Role
    accelerator: AcceleratorClass
    layout: Layout
    drain: Drain
    environment: Mapping[str, EnvValue]
    """Variables that the engine gets without being asked, but those of tracing."""

    @property
    def workload(self) -> str:
        """Return the name of the workload object."""
        return self.of.names.prefill if self.name == labels.PREFILL else self.of.names.decode

    @property
    def is_custom(self) -> bool:
        """Say whether the image's own entrypoint runs."""
        return images.is_custom(self.of.spec, self.role)

    @property
    def is_proxied(self) -> bool:
        """Say whether the routing sidecar stands in front of the engine."""
        return self.name == labels.DECODE and self.of.spec.prefill is not None

    @property
    def listens(self) -> int:
        """Return the port that the engine listens on itself."""
        spec = self.of.spec
        return (spec.sidecar or Sidecar()).engine_port if self.is_proxied else spec.engine.port


@dataclass(frozen=True, slots=True)
class Contexts:
    """Every context of a stack, each made once."""

    variants: Mapping[tuple[str, str], VariantContext]
    """Every service and every canary, by the service's key and the variant."""
    roles: Mapping[tuple[str, str, str], RoleContext]
    """The roles that are sound, by the service's key, the variant and the role."""
    unsound: Mapping[tuple[str, str, str], tuple[Problem, ...]]
    """What keeps a role from being spread over devices, by the same keys."""

    def of(self, variant: str) -> Iterator[VariantContext]:
        """Yield the contexts of every service, or of every canary."""
        return (context for (_, name), context in self.variants.items() if name == variant)

    def primary(self, key: str) -> VariantContext:
        """Return the context of a service."""
        return self.variants[key, PRIMARY]

    def canary(self, key: str) -> VariantContext | None:
        """Return the context of a service's canary, where it has one."""
        return self.variants.get((key, CANARY))

    def roles_of(self, variant: VariantContext) -> dict[str, RoleContext]:
        """Return the sound roles of a variant, by name."""
        found = ((name, self.roles.get((variant.key, variant.variant, name))) for name, _, _ in variant.roles)
        return {name: role for name, role in found if role is not None}


def gateway(service: Service, stack: Stack) -> Gateway | None:
    """Return the gateway of a service: its own, or the stack's."""
    return service.route.gateway or stack.gateway


def owner(key: str, variant: str) -> str:
    """Return whose the objects of a variant are; a dot can occur in no key."""
    return key if variant == PRIMARY else f"{key}.{variant}"


def subjects(stack: Stack) -> Iterator[Subject]:
    """Yield every service as they are written, each followed by its canary."""
    for key, service in stack.services.items():
        yield Subject(key, PRIMARY, Path("services", key), service, stack)
        if service.canary is not None:
            yield Subject(key, CANARY, Path("services", key, "canary"), service.canary, stack)


def max_replicas(role: Role) -> int:
    """Return how many replicas of a role there may be."""
    return role.replicas if role.autoscaling is None else role.autoscaling.max_replicas


def resource_id(service: Service, key: str, stack: Stack) -> str | None:
    """Return the id that a service is billed by, or nothing where it is not metered."""
    interceptor = service.interceptor
    return (interceptor.resource_id or key) if stack.interceptor is not None and interceptor.enabled else None


def resolve(subjects: Iterable[Subject], release: Release, classes: Mapping[str, AcceleratorClass]) -> Contexts:
    """Return the contexts of services, canaries and their roles. A role of an unknown class is left out."""
    variants = {(one.key, one.variant): _variant(one, release, classes) for one in subjects}
    roles, unsound = dict[tuple[str, str, str], RoleContext](), dict[tuple[str, str, str], tuple[Problem, ...]]()
    for (key, variant), context in variants.items():
        for name, path, role in context.roles:
            accelerator = classes.get(role.accelerator)
            if accelerator is None:
                continue
            found = tuple(hardware.layout_problems(path, role, accelerator))
            if found:
                unsound[key, variant, name] = found
            else:
                roles[key, variant, name] = _role(context, name, path, role)
    return Contexts(variants, roles, unsound)


def _variant(subject: Subject, release: Release, classes: Mapping[str, AcceleratorClass]) -> VariantContext:
    stack, spec, service = subject.stack, subject.spec, subject.service
    generated = generation.of(spec, stack, release, classes)
    return VariantContext(
        key=subject.key,
        variant=subject.variant,
        path=subject.path,
        spec=spec,
        stack=stack,
        names=names(subject.namespace, service.name or subject.key, subject.variant, generated),
        release=release,
        classes=classes,
        kv_cache=kv_cache.plan(spec, release),
        share=canary.share(service.canary),
        resource_id=resource_id(service, subject.key, stack) if subject.variant == PRIMARY else None,
    )


def _role(context: VariantContext, name: str, path: Path, role: Role) -> RoleContext:
    """Return the context of a role whose class is known and whose layout is sound."""
    accelerator, spec = context.classes[role.accelerator], context.spec
    layout = devices.layout(role.parallelism, role.accelerator_memory, accelerator)
    drains = context.release.engine.shutdown_timeout is not None and not images.is_custom(spec, role)
    return RoleContext(
        of=context,
        name=name,
        path=path,
        role=role,
        accelerator=accelerator,
        layout=layout,
        drain=lifecycle.drain(spec.drain_timeout, engine_drains=drains),
        environment=engine_environment.plan(spec, name, role, layout, context.kv_cache),
    )
