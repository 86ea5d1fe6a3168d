"""The Pulumi program: composes the configuration, prints problems, registers the objects and exports the outputs."""

import contextlib
import gc
import pathlib
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pulumi
import pulumi_kubernetes as k8s
from pulumi.runtime import config

from components import EPPArgs, EPPStack, ModelServiceArgs, ModelServiceStack, RoutingArgs, RoutingStack
from components.registration import Registered, register
from composition import Composition, Live, Refusal, compose, defects, sources
from facts import cluster
from manifests.assembly import ComponentType
from models import config_keys
from models.config_keys import ROOT
from models.paths import Path
from models.problems import ConfigError, Problem, errors, warnings
from models.stack import Cluster
from planning.ground.marks import StackName
from planning.plans import ServicePlan, VariantPlan

if TYPE_CHECKING:
    from models.platform import Outputs, Reference

_RATE = k8s.KubeClientSettingsArgs(qps=1000, burst=2000)
"""Requests a second to the API server; the client's default limit of about 50 slows large previews down."""


def main() -> None:
    """Deploy the stack. Every mistake, of the user or of this program, ends the run without a traceback."""
    with _without_traceback():
        tree = _configuration()
        named = sources.reference(tree)
        if named is None:
            _deploy(tree)
        else:
            pulumi.run(partial(_deploy_on, named, tree))


async def _deploy_on(named: "Reference", tree: object) -> None:
    """Deploy the stack on a platform, whose outputs are read first."""
    from components import platform  # noqa: PLC0415, most stacks name no platform

    with _without_traceback():
        outputs = await platform.read(named)
        _deploy(tree, outputs, outputs.kubeconfig(named))


@contextlib.contextmanager
def _without_traceback() -> Generator[None]:
    """Turn every exception into one that the engine prints without a traceback."""
    try:
        yield
    except pulumi.RunError:
        raise
    except Exception as error:  # noqa: BLE001, the engine would print the traceback of any other exception
        report = "\n".join(f"  - {line}" for line in defects.lines(error))
        raise pulumi.RunError(f"{defects.HEADLINE}:\n{report}") from None


def _deploy(tree: object, platform: "Outputs | None" = None, kubeconfig: str | None = None) -> None:
    """Deploy the stack. A mistake of the user ends the run before the first resource.

    `kubeconfig` is that of the platform.
    """
    settings = pulumi.Config()
    target = Live(settings.get("kubeconfig") or kubeconfig, pathlib.Path.cwd(), settings.get("previewed"))
    name = StackName(pulumi.get_organization(), pulumi.get_project(), pulumi.get_stack())
    earlier = config_keys.problems(_config_keys())
    composition = _compose(lambda: compose(tree, target, name, earlier, platform))
    _warn(composition.source_warnings)
    if isinstance(composition, Refusal):
        if isinstance(composition.error, ConfigError):
            raise _run_error("The configuration is mistaken", str(composition.error).splitlines())
        raise composition.error
    _warn(composition.preflight)
    if mistakes := errors(composition.preflight):
        raise _run_error("The cluster is not as this stack needs it", map(str, mistakes))
    _warn((*composition.waits.warnings, *composition.announcements, *composition.plan_warnings))
    spec = composition.stack.cluster
    _export(composition, _register(composition, _provider(spec, target.access(spec))))


def _compose(work: Callable[[], Composition | Refusal]) -> Composition | Refusal:
    """Compose without garbage collection.

    Plans and manifests stay in use until the end. Every collection would examine all of them, which takes up to half of
    the time for a large stack. Then they are frozen, so that collections during registration skip them.
    """
    gc.disable()
    try:
        return work()
    finally:
        gc.freeze()
        gc.enable()


def _config_keys() -> set[str]:
    """Return the keys of the configuration, of all namespaces."""
    return {*config.CONFIG.get(), *config.get_config_env()}


def _configuration() -> object:
    """Return the tree of the stack. Raises RunError if the value of the configuration key is encrypted as a whole."""
    if pulumi.runtime.is_config_secret(ROOT):
        what = "holds a secret value (the key is encrypted as a whole)"
        remedy = "put it into an existing Secret and give its name, or into a config key of its own"
        raise _run_error("The configuration is mistaken", [str(Problem(Path(ROOT), what, remedy))])
    return pulumi.Config().get_object("stack")


def _warn(problems: Iterable[Problem]) -> None:
    for problem in warnings(problems):
        pulumi.log.warn(str(problem))


def _run_error(headline: str, problems: Iterable[str]) -> pulumi.RunError:
    return pulumi.RunError(f"{headline}, nothing was changed:\n" + "\n".join(f"  - {problem}" for problem in problems))


def _provider(spec: Cluster, access: cluster.Access) -> k8s.Provider:
    """Make the explicit provider.

    The state identifies the cluster by its name, so that new credentials do not replace the resources.
    """
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


def _register(composition: Composition, provider: k8s.Provider) -> Registered:
    """Register all components and return the resources by id."""
    registered, opts = Registered(), pulumi.ResourceOptions(providers=[provider])
    for component in composition.components:
        name, objects = component.name, component.objects
        match component.of:
            case ServicePlan() as service:
                ModelServiceStack(name, ModelServiceArgs(service, objects, registered), opts)
            case VariantPlan() as variant:
                EPPStack(name, EPPArgs(variant, objects, registered), opts)
            case None if component.type is ComponentType.ROUTING:
                RoutingStack(name, RoutingArgs(composition.plan, objects, registered), opts)
            case None:
                register(name, objects, registered, pulumi.ResourceOptions(provider=provider))
    return registered


def _export(composition: Composition, registered: Registered) -> None:
    """Export the outputs. What a service says is awaited resolves when all those objects are up.

    A run that fails before keeps the outputs of the run before it.
    """
    contract = composition.contract
    services = {
        service.key: dict[str, object](contract["services"][service.key]) for service in composition.plan.services
    }
    for service in composition.plan.services:
        urns = [registered[object_id].urn for object_id in composition.awaited_objects(service)]
        awaited = contract["services"][service.key]["awaited"]
        services[service.key]["awaited"] = pulumi.Output.all(*urns).apply(partial(_names, awaited))
    for name, value in {**contract, "services": services}.items():
        pulumi.export(name, value)


def _names(names: Sequence[str], _: object) -> list[str]:
    return list(names)


main()
