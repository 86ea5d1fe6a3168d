"""The composition root: reads the configuration, decides, checks, registers, exports."""

import pathlib
from collections.abc import Collection, Iterable
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

import planning
from components import EPPArgs, EPPStack, ModelServiceArgs, ModelServiceStack, RoutingArgs, RoutingStack
from components.registration import Registry, register
from facts import cluster
from facts import source_sizes as sizes
from manifests import validation
from manifests.assembly import Component, ComponentType, objects, render
from models.load import ROOT, Loaded, load
from models.paths import Path
from models.problems import ConfigError, Problem, errors, warnings
from models.stack import Cluster
from planning import outputs, preflight, transition
from planning.ground import parts
from planning.ground.cluster_facts import ClusterFacts
from planning.ground.parts import Part
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.routes import acceptance as waits
from planning.routes import collisions
from planning.routes.acceptance import Waits

_RATE = k8s.KubeClientSettingsArgs(qps=1000, burst=2000)
"""Requests a second to the API server: the client's own limit of about 50 is what a large preview waits for."""
_AWAITED = {parts.DECODE.workload, parts.PREFILL.workload, parts.PICKER}


def main() -> None:
    """Deploy the stack. Mistakes of the user end it before the first resource, without a traceback."""
    try:
        loaded = _asked(_configuration())
        plan = planning.plan(loaded)
        access = cluster.Access(pulumi.Config().get("kubeconfig"), loaded.stack.cluster.context)
        facts = cluster.read(loaded.stack.cluster, access, pathlib.Path.cwd(), waits.gateways(plan.routes))
        awaited = waits.decide(plan.routes, facts.gateways)
        components = render(plan, awaited.routes)
        validation.check(objects(components))
    except ConfigError as error:
        raise _stop("The configuration is mistaken", str(error).splitlines()) from None
    needed = {one.api for one in objects(components)}
    _preflight(loaded, plan, facts, needed)
    _announce(plan, awaited, loaded.stack.cluster, access)
    registry = _register(plan, components, _provider(loaded.stack.cluster, access))
    _export(plan, awaited, registry, facts.digest(needed, awaited.gateways))


def _configuration() -> Loaded:
    if pulumi.runtime.is_config_secret(ROOT):
        what = "holds a secret value (the key is encrypted as a whole)"
        remedy = "put it into an existing Secret and give its name, or into a config key of its own"
        raise _stop("The configuration is mistaken", [str(Problem(Path(ROOT), what, remedy))])
    return load(pulumi.Config().get_object("stack"))


def _asked(loaded: Loaded) -> Loaded:
    """Ask sources for the sizes that are needed and not written."""
    known, found = sizes.asked(loaded)
    _warn(found)
    return known


def _warn(problems: Iterable[Problem]) -> None:
    for problem in warnings(problems):
        pulumi.log.warn(str(problem))


def _stop(headline: str, problems: list[str]) -> pulumi.RunError:
    return pulumi.RunError(f"{headline}, nothing was changed:\n" + "\n".join(f"  - {problem}" for problem in problems))


def _preflight(loaded: Loaded, plan: StackPlan, facts: ClusterFacts, needed: Collection[str]) -> None:
    """Check the cluster's kinds, and its routes."""
    mode = loaded.stack.checks.preflight
    found = [
        *preflight.kinds(needed, facts, mode),
        *collisions.with_cluster(plan.routes, _namespaces(plan), facts.routes, mode),
    ]
    _warn(found)
    mistakes = errors(found)
    if mistakes:
        raise _stop("The cluster is not as this stack needs it", [str(mistake) for mistake in mistakes])


def _namespaces(plan: StackPlan) -> frozenset[str]:
    return frozenset(service.primary.names.namespace for service in plan.services)


def _announce(plan: StackPlan, awaited: Waits, spec: Cluster, access: cluster.Access) -> None:
    """Say what a change means that the list of operations does not tell."""
    _warn(awaited.warnings)
    if transition.has_generations(plan):
        _warn(transition.announced(plan, cluster.pools(spec, access, _namespaces(plan))))
    _warn(plan.warnings)


def _provider(spec: Cluster, access: cluster.Access) -> k8s.Provider:
    """Make the explicit provider. The cluster's name is its identity: credentials change without replacing anything."""
    return k8s.Provider(
        "cluster",
        kubeconfig=None if access.kubeconfig is None else pulumi.Output.secret(access.kubeconfig),
        context=spec.context,
        cluster_identifier=spec.name or cluster.name(access) or "default",
        enable_config_map_mutable=True,
        enable_secret_mutable=True,
        suppress_deprecation_warnings=False,
        kube_client_settings=_RATE,
    )


def _register(plan: StackPlan, components: tuple[Component, ...], provider: k8s.Provider) -> Registry:
    registry, opts = Registry(), pulumi.ResourceOptions(providers=[provider])
    for component in components:
        name, parts = component.name, component.objects
        match component.of:
            case ServicePlan() as service:
                ModelServiceStack(name, ModelServiceArgs(service, parts, registry), opts)
            case VariantPlan() as variant:
                EPPStack(name, EPPArgs(variant, parts, registry), opts)
            case None if component.type is ComponentType.ROUTING:
                RoutingStack(name, RoutingArgs(plan, parts, registry), opts)
            case None:
                register(name, parts, registry, pulumi.ResourceOptions(provider=provider))
    return registry


def _export(plan: StackPlan, waited: Waits, registry: Registry, digest: str | None) -> None:
    """Export the contract; a service is ready once everything that is awaited for it has been."""
    contract: dict[str, Any] = outputs.stack(plan, digest, waited.routes)
    for service in plan.services:
        owners = {one.owner for one in service.variants}
        needed = _AWAITED | ({parts.ROUTE} if service.key in waited.routes else set[Part]())
        awaited = [one for at, one in registry.items() if at.owner in owners and at.part in needed]
        contract["services"][service.key]["ready"] = pulumi.Output.all(*[one.urn for one in awaited]).apply(bool)
    for name, value in contract.items():
        pulumi.export(name, value)


main()
