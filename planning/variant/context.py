"""What is decided about: a service or its canary, and one role of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.role import Role
from models.routing import Gateway
from models.service import Service, Sidecar, Variant
from models.stack import Stack
from planning.ground import labels, lifecycle
from planning.ground.lifecycle import Drain
from planning.ground.names import CANARY, PRIMARY, Names, names
from planning.hardware import devices
from planning.hardware.accelerators import AcceleratorClass
from planning.hardware.devices import Layout
from planning.releases import Release
from planning.variant import generation, images


@dataclass(frozen=True, slots=True)
class Subject:
    """A service or its canary, as it is configured."""

    key: str
    """Of the service."""
    variant: str
    path: str
    """Where it stands in the configuration."""
    spec: Variant
    stack: Stack

    @property
    def roles(self) -> Iterator[tuple[str, str, Role]]:
        """Yield name, place in the configuration and settings of every role."""
        yield labels.DECODE, self.path, self.spec
        if self.spec.prefill is not None:
            yield labels.PREFILL, f"{self.path}.prefill", self.spec.prefill

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

    @property
    def owner(self) -> str:
        """Return whose objects they are, which no other service's or cache's are."""
        return owner(self.key, self.variant)

    @property
    def logical_prefixes(self) -> tuple[str, ...]:
        """Return what the logical names of its objects begin with, before a generation and behind it."""
        own = self.key if self.variant == PRIMARY else f"{self.key}-{self.variant}"
        return (own,) if self.names.generation is None else (own, f"{own}-{self.names.generation}")


@dataclass(frozen=True, slots=True)
class RoleContext:
    """One role, with all that decisions about it read. Its class and layout are known to be sound."""

    of: VariantContext
    name: str
    path: str
    """Where it stands in the configuration."""
    role: Role
    accelerator: AcceleratorClass
    layout: Layout
    drain: Drain

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


def gateway(service: Service, stack: Stack) -> Gateway | None:
    """Return the gateway of a service: its own, or the stack's."""
    return service.route.gateway or stack.gateway


def owner(key: str, variant: str) -> str:
    """Return whose the objects of a variant are; a dot can occur in no key."""
    return key if variant == PRIMARY else f"{key}.{variant}"


def subjects(stack: Stack) -> Iterator[Subject]:
    """Yield every service as they are written, each followed by its canary."""
    for key, service in stack.services.items():
        yield Subject(key, PRIMARY, f"services.{key}", service, stack)
        if service.canary is not None:
            yield Subject(key, CANARY, f"services.{key}.canary", service.canary, stack)


def of_variant(subject: Subject, release: Release, classes: Mapping[str, AcceleratorClass]) -> VariantContext:
    """Return the context of a variant."""
    stack, spec = subject.stack, subject.spec
    own = names(
        subject.namespace,
        stack.services[subject.key].name or subject.key,
        subject.variant,
        generation.of(spec, stack, release, classes),
    )
    return VariantContext(subject.key, subject.variant, subject.path, spec, stack, own, release, classes)


def of_role(context: VariantContext, name: str, path: str, role: Role) -> RoleContext:
    """Return the context of a role whose class is known and whose layout is sound."""
    accelerator = context.classes[role.accelerator]
    drains = context.release.engine.shutdown_timeout is not None and not images.is_custom(context.spec, role)
    return RoleContext(
        of=context,
        name=name,
        path=path,
        role=role,
        accelerator=accelerator,
        layout=devices.layout(role.parallelism, role.accelerator_memory, accelerator),
        drain=lifecycle.drain(context.spec.drain_timeout, engine_drains=drains),
    )
