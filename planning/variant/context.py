"""Contexts: a variant of a service, or one of its roles, with the resolved data that decisions depend on.

`resolve` makes them once for a stack. Rules and plans share them.
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
    """A variant of a service, as configured."""

    key: str
    """Key of the service."""
    variant: str
    """`PRIMARY` or `CANARY`."""
    path: Path
    """Place of the variant in the configuration."""
    spec: Variant
    stack: Stack

    @property
    def roles(self) -> Iterator[tuple[str, Path, Role]]:
        """Yield name, place in the configuration and spec of each role."""
        yield labels.DECODE, self.path, self.spec
        if self.spec.prefill is not None:
            yield labels.PREFILL, self.path / "prefill", self.spec.prefill

    @property
    def service(self) -> Service:
        """Return the service that the variant belongs to."""
        return self.stack.services[self.key]

    @property
    def namespace(self) -> str:
        """Return the namespace of the variant's objects."""
        return self.service.namespace or self.stack.namespace

    @property
    def gateway(self) -> Gateway | None:
        """Return the gateway of the service, or None if it has none."""
        return gateway(self.service, self.stack)


@dataclass(frozen=True, slots=True)
class VariantContext(Subject):
    """A variant of a service, with the resolved data that decisions depend on."""

    names: Names
    release: Release
    classes: Mapping[str, AcceleratorClass]
    """All accelerator classes of the stack, by name."""
    kv_cache: KvCache
    share: Share
    """Division of the service's requests between its variants."""
    resource_id: str | None
    """Id by which the interceptor bills the variant; None if it is not metered."""

    @property
    def owner(self) -> str:
        """Return the owner of the variant's objects."""
        return owner(self.key, self.variant)

    @property
    def logical_prefixes(self) -> tuple[str, ...]:
        """Return the possible prefixes of the objects' logical names: without the generation, and with it if any."""
        prefix = self.key if self.variant == PRIMARY else f"{self.key}-{self.variant}"
        return (prefix,) if self.names.generation is None else (prefix, f"{prefix}-{self.names.generation}")


@dataclass(frozen=True, slots=True)
class RoleContext:
    """A role of a variant, with the resolved data that decisions depend on. Its class and layout are valid."""

    of: VariantContext
    """The variant that the role belongs to."""
    name: str
    """`labels.DECODE` or `labels.PREFILL`."""
    path: Path
    """Place of the role in the configuration."""
    role: Role
    """Spec of the role."""
    accelerator: AcceleratorClass
    layout: Layout
    drain: Drain
    environment: Mapping[str, EnvValue]
    """Generated variables of the engine, without those of tracing."""

    @property
    def workload(self) -> str:
        """Return the name of the workload object."""
        return self.of.names.prefill if self.name == labels.PREFILL else self.of.names.decode

    @property
    def is_custom(self) -> bool:
        """Tell whether the engine is the entrypoint of a custom image."""
        return images.is_custom(self.of.spec, self.role)

    @property
    def is_proxied(self) -> bool:
        """Tell whether requests reach the engine through the routing sidecar."""
        return self.name == labels.DECODE and self.of.spec.prefill is not None

    @property
    def listens(self) -> int:
        """Return the port that the engine listens on, behind the routing sidecar if there is one."""
        spec = self.of.spec
        return (spec.sidecar or Sidecar()).engine_port if self.is_proxied else spec.engine.port


@dataclass(frozen=True, slots=True)
class Contexts:
    """All contexts of a stack."""

    variants: Mapping[tuple[str, str], VariantContext]
    """Contexts of all variants, by key of the service and variant."""
    roles: Mapping[tuple[str, str, str], RoleContext]
    """Contexts of the roles with a valid layout, by key of the service, variant and role."""
    unsound: Mapping[tuple[str, str, str], tuple[Problem, ...]]
    """Problems of the roles without a valid layout, by key of the service, variant and role."""

    def of(self, variant: str) -> Iterator[VariantContext]:
        """Yield the contexts of all primaries, or of all canaries."""
        return (context for (_, name), context in self.variants.items() if name == variant)

    def primary(self, key: str) -> VariantContext:
        """Return the context of a service's primary."""
        return self.variants[key, PRIMARY]

    def canary(self, key: str) -> VariantContext | None:
        """Return the context of a service's canary, or None if it has none."""
        return self.variants.get((key, CANARY))

    def roles_of(self, variant: VariantContext) -> dict[str, RoleContext]:
        """Return the contexts of a variant's roles by name, without the roles that have no valid layout."""
        found = ((name, self.roles.get((variant.key, variant.variant, name))) for name, _, _ in variant.roles)
        return {name: role for name, role in found if role is not None}


def gateway(service: Service, stack: Stack) -> Gateway | None:
    """Return the gateway of a service: its own, else the stack's, else None."""
    return service.route.gateway or stack.gateway


def owner(key: str, variant: str) -> str:
    """Return the owner of a variant's objects: the service key, or `<key>.canary`. No key contains a dot."""
    return key if variant == PRIMARY else f"{key}.{variant}"


def subjects(stack: Stack) -> Iterator[Subject]:
    """Yield all variants in the order of the configuration, each primary before its canary."""
    for key, service in stack.services.items():
        yield Subject(key, PRIMARY, Path("services", key), service, stack)
        if service.canary is not None:
            yield Subject(key, CANARY, Path("services", key, "canary"), service.canary, stack)


def max_replicas(role: Role) -> int:
    """Return the maximum number of replicas of a role."""
    return role.replicas if role.autoscaling is None else role.autoscaling.max_replicas


def resource_id(service: Service, key: str, stack: Stack) -> str | None:
    """Return the id by which a service is billed, or None if it is not metered."""
    interceptor = service.interceptor
    return (interceptor.resource_id or key) if stack.interceptor is not None and interceptor.enabled else None


def resolve(subjects: Iterable[Subject], release: Release, classes: Mapping[str, AcceleratorClass]) -> Contexts:
    """Return the contexts of variants and their roles; roles of an unknown accelerator class are omitted."""
    variants = {(subject.key, subject.variant): _variant(subject, release, classes) for subject in subjects}
    roles, unsound = dict[tuple[str, str, str], RoleContext](), dict[tuple[str, str, str], tuple[Problem, ...]]()
    for (key, variant), context in variants.items():
        for name, path, role in context.roles:
            accelerator = classes.get(role.accelerator)
            if accelerator is None:
                continue
            problems = tuple(hardware.layout_problems(path, role, accelerator))
            if problems:
                unsound[key, variant, name] = problems
            else:
                roles[key, variant, name] = _role(context, name, path, role)
    return Contexts(variants, roles, unsound)


def _variant(subject: Subject, release: Release, classes: Mapping[str, AcceleratorClass]) -> VariantContext:
    stack, spec, service = subject.stack, subject.spec, subject.service
    cache_generation = generation.of(spec, stack, release, classes)
    return VariantContext(
        key=subject.key,
        variant=subject.variant,
        path=subject.path,
        spec=spec,
        stack=stack,
        names=names(subject.namespace, service.name or subject.key, subject.variant, cache_generation),
        release=release,
        classes=classes,
        kv_cache=kv_cache.plan(spec, release),
        share=canary.share(service.canary),
        resource_id=resource_id(service, subject.key, stack) if subject.variant == PRIMARY else None,
    )


def _role(context: VariantContext, name: str, path: Path, role: Role) -> RoleContext:
    """Return the context of a role whose class is known and whose layout is valid."""
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
