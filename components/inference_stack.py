"""InferenceStack: all that one configuration describes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pulumi

from components import program, state
from components.drafts import Draft, StackSettings, draft
from components.epp import EPPArgs, EPPStack
from components.model_service import ModelServiceArgs, ModelServiceStack
from components.provider import ClusterProvider
from components.registration import ResourcesById, register
from components.routing import RoutingArgs, RoutingStack
from composition import Composition
from composition.sources import Configuration
from judging.losses.continuity import Continuity
from manifests.assembly import Component
from models.platform import PlatformOutputs
from models.problems import Problem
from planning.ground.instances import TYPE, Instance
from planning.plans import ServicePlan, StackPlan, VariantPlan

_TRUE_WHEN_UP = ("awaited", "ready", "message")
"""Outputs of a service that are true only once its awaited objects are up."""


class InferenceStack(pulumi.ComponentResource):
    """All objects that one configuration describes: services, endpoint pickers, routes, and the objects they need.

    A program may make several inference stacks. If any of them has a mistake, no inference stack is registered, and the
    mistakes of all inference stacks are reported together.
    """

    outputs: Mapping[str, Any]
    """Outputs by name; empty after a mistake. `awaited`, `ready` and `message` of a service are Outputs, which resolve
    when all awaited objects of the service are up."""

    def __init__(  # noqa: PLR0913 - each is a setting that the configuration does not have
        self,
        name: str,
        tree: object,
        opts: pulumi.ResourceOptions | None = None,
        *,
        kubeconfig: str | None = None,
        platform: PlatformOutputs | Mapping[str, object] | None = None,
        prefix: str | None = None,
        previewed: str | None = None,
        outside_windows: str | None = None,
        problems: Sequence[Problem] = (),
        lock: str | None = None,
    ) -> None:
        """Compose the configuration `tree`, and register its objects.

        `tree` is plain values, or a `Configuration` with them, whose files are then not read again. `kubeconfig` is the
        text of a kubeconfig; by default the environment names the cluster. `platform` are the outputs of the platform
        that the tree names, as `read_platform` returns them, or their values by name. All logical names begin with
        `prefix`; the default prefix is the name and a hyphen. With an empty prefix, each child has an alias: the URN
        that it would have without a parent. `previewed` is the path of a file with the facts of an approved preview.
        `outside_windows` is the day, as year-month-day, on which a run may deploy outside of the windows of the tree.
        `problems` are mistakes that the caller found; they are reported together with those of the tree. `lock` is the
        path of the lock, relative to the program's folder. Without `lock`, an inference stack with an empty prefix uses
        the lock inference.<Pulumi stack>.lock.yaml, if that file exists. An inference stack with another prefix then
        has no lock.
        """
        if prefix is None:
            prefix = f"{name}-"
        self._instance = Instance(name, prefix)
        run = program.of_run()
        outputs = _platform_outputs(platform)
        settings = StackSettings(kubeconfig, outputs, previewed, tuple(problems), lock, outside_windows)
        drafted = draft(self._instance, Configuration.of(tree), settings, opts, run)
        continuity = _continuity(drafted)
        former = filter(None, (continuity.instance_alias,))
        ours = pulumi.ResourceOptions(depends_on=run.sound(), aliases=list(former))
        with program.without_positions():
            super().__init__(TYPE, name, _inputs(drafted), pulumi.ResourceOptions.merge(opts, ours))
        with program.without_traceback(), program.without_positions():
            self.outputs = {}
            if drafted is not None:
                self.outputs = self._register(drafted)
            self.register_outputs({**self.outputs, **state.cluster_output(continuity.cluster)})

    def _register(self, drafted: Draft) -> Mapping[str, Any]:
        """Register provider, components and objects, and return the outputs."""
        composition = drafted.composition
        registered = ResourcesById(composition.continuity.aliases)
        provider = self._cluster(drafted)
        for component in composition.components:
            self._register_component(component, registered, provider)
        return _outputs(composition, registered)

    def _cluster(self, drafted: Draft) -> ClusterProvider:
        """Make the explicit provider. A provider that the state has already keeps its URN by an alias."""
        continuity = drafted.composition.continuity
        identifiers = (identifier for identifier in continuity.recorded.providers.values() if identifier)
        former = continuity.provider_alias
        opts = self._child()
        if former is not None:
            opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(aliases=[former]))
        identifier = next(identifiers, drafted.cluster)
        return ClusterProvider(self._instance.provider_name, drafted.access, identifier, opts)

    def _child(self, **more: Any) -> pulumi.ResourceOptions:  # noqa: ANN401, any option
        """Return the options of a child."""
        aliases = list[pulumi.Alias]()
        if not self._instance.prefix:
            aliases.append(pulumi.Alias(parent=pulumi.ROOT_STACK_RESOURCE))
        return pulumi.ResourceOptions(parent=self, aliases=aliases, **more)

    def _register_component(self, component: Component, registered: ResourcesById, provider: ClusterProvider) -> None:
        name = component.name
        objects = component.objects
        opts = self._child(providers=[provider])
        match component.of:
            case ServicePlan() as service:
                ModelServiceStack(name, ModelServiceArgs(service, objects, registered), opts)
            case VariantPlan() as variant:
                EPPStack(name, EPPArgs(variant, objects, registered), opts)
            case StackPlan() as plan:
                RoutingStack(name, RoutingArgs(plan, objects, registered), opts)
            case None:
                register(name, objects, registered, self._child(provider=provider))


def _outputs(composition: Composition, registered: ResourcesById) -> dict[str, Any]:
    """Return the outputs. Those of a service that say what is up resolve when all its awaited objects are up.

    If a run fails before that, the stack keeps the outputs of the previous run.
    """
    contract = composition.contract
    services = {
        service.key: dict[str, object](contract["services"][service.key]) for service in composition.plan.services
    }
    for service in composition.plan.services:
        urns = [registered[object_id].urn for object_id in composition.awaited_objects(service)]
        up = pulumi.Output.all(*urns)
        for key in _TRUE_WHEN_UP:
            services[service.key][key] = up.apply(partial(_constant, services[service.key][key]))
    return {**contract, "services": services}


def _constant(value: object, _: object) -> object:
    return value


def _inputs(drafted: Draft | None) -> dict[str, str]:
    """Return the inputs of the component in the state; empty after a mistake."""
    if drafted is None:
        return {}
    return {"release": drafted.composition.plan.release}


def _continuity(drafted: Draft | None) -> Continuity:
    """Return the relation to the state; after a mistake, none."""
    if drafted is None:
        return Continuity()
    return drafted.composition.continuity


def _platform_outputs(platform: PlatformOutputs | Mapping[str, object] | None) -> PlatformOutputs | None:
    if isinstance(platform, PlatformOutputs | None):
        return platform
    return PlatformOutputs(platform)
