"""The root program: reads the configuration, says what composing it found, registers, exports."""

import pathlib
from collections.abc import Iterable

import pulumi
import pulumi_kubernetes as k8s

from components import EPPArgs, EPPStack, ModelServiceArgs, ModelServiceStack, RoutingArgs, RoutingStack
from components.registration import Registry, register
from composition import Composition, Live, Refusal, compose
from facts import cluster
from manifests.assembly import ComponentType
from models.load import ROOT
from models.paths import Path
from models.problems import ConfigError, Problem, errors, warnings
from models.stack import Cluster
from planning.plans import ServicePlan, VariantPlan

_RATE = k8s.KubeClientSettingsArgs(qps=1000, burst=2000)
"""Requests a second to the API server: the client's own limit of about 50 is what a large preview waits for."""


def main() -> None:
    """Deploy the stack. Mistakes of the user end it before the first resource, without a traceback."""
    target = Live(pulumi.Config().get("kubeconfig"), pathlib.Path.cwd())
    composed = compose(_configuration(), target)
    _warn(composed.source_warnings)
    if isinstance(composed, Refusal):
        if isinstance(composed.error, ConfigError):
            raise _stop("The configuration is mistaken", str(composed.error).splitlines())
        raise composed.error
    _warn(composed.preflight)
    if mistakes := errors(composed.preflight):
        raise _stop("The cluster is not as this stack needs it", map(str, mistakes))
    _warn((*composed.waits.warnings, *composed.announcements, *composed.plan_warnings))
    spec = composed.stack.cluster
    _export(composed, _register(composed, _provider(spec, target.access(spec))))


def _configuration() -> object:
    if pulumi.runtime.is_config_secret(ROOT):
        what = "holds a secret value (the key is encrypted as a whole)"
        remedy = "put it into an existing Secret and give its name, or into a config key of its own"
        raise _stop("The configuration is mistaken", [str(Problem(Path(ROOT), what, remedy))])
    return pulumi.Config().get_object("stack")


def _warn(problems: Iterable[Problem]) -> None:
    for problem in warnings(problems):
        pulumi.log.warn(str(problem))


def _stop(headline: str, problems: Iterable[str]) -> pulumi.RunError:
    return pulumi.RunError(f"{headline}, nothing was changed:\n" + "\n".join(f"  - {problem}" for problem in problems))


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


def _register(composed: Composition, provider: k8s.Provider) -> Registry:
    registry, opts = Registry(), pulumi.ResourceOptions(providers=[provider])
    for component in composed.components:
        name, parts = component.name, component.objects
        match component.of:
            case ServicePlan() as service:
                ModelServiceStack(name, ModelServiceArgs(service, parts, registry), opts)
            case VariantPlan() as variant:
                EPPStack(name, EPPArgs(variant, parts, registry), opts)
            case None if component.type is ComponentType.ROUTING:
                RoutingStack(name, RoutingArgs(composed.plan, parts, registry), opts)
            case None:
                register(name, parts, registry, pulumi.ResourceOptions(provider=provider))
    return registry


def _export(composed: Composition, registry: Registry) -> None:
    """Export the contract; a service is ready once everything that is awaited for it has been."""
    contract = composed.contract
    for service in composed.plan.services:
        urns = [registry[each].urn for each in composed.awaited(service)]
        contract["services"][service.key]["ready"] = pulumi.Output.all(*urns).apply(bool)
    for name, value in contract.items():
        pulumi.export(name, value)


main()
