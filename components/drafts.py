"""Drafts of inference stacks: their compositions, before the program registers any of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pulumi

from components import program
from components.program import Program
from composition import Composition, Live, LockFile, Refusal, compose, defects
from composition.instances import Sibling
from composition.sources import Configuration
from composition.surroundings import cluster_name
from facts.cluster import KubeAccess
from judging import windows
from judging.windows import DeploymentRun
from models.paths import Path as ConfigPath
from models.platform import PlatformOutputs
from models.problems import ConfigError, LogLine, Problem, errors, warnings
from planning.ground.instances import Instance
from planning.ground.marks import StackName

_AN_OBJECT = "kubernetes:core/v1:ConfigMap"
"""A resource type of the Kubernetes provider. For any of its types, a parent's `get_provider` returns this provider."""


@dataclass(frozen=True, slots=True)
class StackSettings:
    """Settings that an inference stack gets in addition to its configuration."""

    kubeconfig: str | None = None
    platform: PlatformOutputs | None = None
    previewed: str | None = None
    problems: tuple[Problem, ...] = ()
    """Problems that the caller found."""
    lock: str | None = None
    """Path of the lock. If it is None, an inference stack without a prefix uses the lock of the Pulumi stack, and an
    inference stack with a prefix has no lock."""

    outside_windows: str | None = None
    """Day on which a run may deploy outside of the windows of the stack."""

    def lock_file(self, instance: Instance) -> LockFile | None:
        """Return the place of the lock; None if the inference stack has no lock."""
        if self.lock is None and instance.prefix:
            return None
        return LockFile(Path.cwd(), self.lock)


@dataclass(frozen=True, slots=True)
class Draft:
    """An inference stack without mistakes, and its cluster."""

    composition: Composition
    access: KubeAccess
    cluster: str
    """Name of the cluster."""


def draft(
    instance: Instance,
    configuration: Configuration,
    settings: StackSettings,
    opts: pulumi.ResourceOptions | None,
    run: Program,
) -> Draft | None:
    """Compose an inference stack and print its warnings.

    If there is a mistake, note it in `run` and return None.
    """
    try:
        late = (*_late_values(configuration.tree, ConfigPath()), *_late_platform(settings.platform))
        unusable = [*late, *_providers(opts)]
        if not unusable:
            return _draft(instance, configuration, settings, run)
        run.refuse(program.CONFIGURATION, _lines((*settings.problems, *unusable), instance))
    except ConfigError as error:
        run.refuse(program.CONFIGURATION, _lines(error.problems, instance))
    except Exception as error:  # noqa: BLE001, the engine would print the traceback of any other exception
        run.refuse(defects.HEADLINE, defects.lines(error))
    return None


def _draft(instance: Instance, configuration: Configuration, settings: StackSettings, run: Program) -> Draft | None:
    """Return a draft; None if the preflight has errors.

    Raises the error of a refused configuration, or a `ConfigError` about conflicts with earlier inference stacks.
    """
    deploys = not pulumi.runtime.is_dry_run()
    target = Live(_kubeconfig(configuration, settings), Path.cwd(), settings.previewed, deploys)
    name = StackName(pulumi.get_organization(), pulumi.get_project(), pulumi.get_stack())
    composition = compose(
        configuration,
        target,
        name,
        settings.problems,
        settings.platform,
        instance,
        settings.lock_file(instance),
        run.state(name),
    )
    _warn(composition.source_warnings, instance)
    if isinstance(composition, Refusal):
        raise composition.error
    _warn(composition.preflight, instance)
    spec = composition.stack.cluster
    cluster = cluster_name(composition.stack, target)
    closed = tuple(windows.judge(composition.stack.windows, _run(settings, deploys=deploys)))
    _warn(closed, instance)
    if refused := errors(closed):
        run.refuse(program.WINDOWS, _lines(refused, instance))
    if mistakes := errors(composition.preflight):
        run.refuse(program.CLUSTER, _lines(mistakes, instance))
    if taken := run.add(Sibling(instance, composition, cluster)):
        raise ConfigError(taken)
    if mistakes or refused:
        return None
    _warn((*composition.waits.warnings, *composition.announcements, *composition.plan_warnings), instance)
    return Draft(composition, target.access(spec), cluster)


def _run(settings: StackSettings, *, deploys: bool) -> DeploymentRun:
    """Return the run that happens now."""
    return DeploymentRun(datetime.now(UTC), deploys, settings.outside_windows)


def _kubeconfig(configuration: Configuration, settings: StackSettings) -> str | None:
    """Return the given kubeconfig, or else the kubeconfig of the platform.

    Raises `ConfigError` if the stack names a platform whose outputs are not given.
    """
    named = configuration.platform
    if named is None:
        return settings.kubeconfig
    if settings.platform is None:
        what = f"has outputs that were not passed ({named.stack})"
        remedy = "pass platform=await read_platform(tree)"
        raise ConfigError([*settings.problems, Problem(ConfigPath("platform"), what, remedy)])
    return settings.kubeconfig or settings.platform.kubeconfig(named)


def _late_values(value: object, at: ConfigPath) -> Iterator[Problem]:
    """Yield a problem for each Output in the configuration, because its value is unknown when the stack is planned."""
    if isinstance(value, pulumi.Output):
        remedy = "pass a plain value: a stack is planned before any Output has a value"
        yield Problem(at or ConfigPath("tree"), "is an Output, whose value is not known yet", remedy)
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield from _late_values(inner, at / key)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(cast("list[object]", value)):
            yield from _late_values(inner, at / index)


def _late_platform(platform: PlatformOutputs | None) -> Iterator[Problem]:
    if platform is not None:
        yield from _late_values(platform.values, ConfigPath("platform"))


def _providers(opts: pulumi.ResourceOptions | None) -> Iterator[Problem]:
    """Yield a problem if the options have or inherit a Kubernetes provider: the provider's cluster is unknown."""
    if opts is None:
        return
    providers = cast("Iterable[pulumi.ProviderResource]", opts.providers or ())
    if isinstance(providers, dict):
        providers = cast("dict[str, pulumi.ProviderResource]", providers).values()
    passed = any(provider and provider.package == "kubernetes" for provider in (opts.provider, *providers))
    inherited = opts.parent and opts.parent.get_provider(_AN_OBJECT)
    if passed or inherited:
        what = "have a provider of Kubernetes, whose cluster is unknown"
        remedy = "leave out the provider, and pass kubeconfig; this component makes its own provider"
        yield Problem(ConfigPath("opts"), what, remedy)


def _warn(problems: Iterable[Problem], instance: Instance) -> None:
    for problem in instance.locate(warnings(problems)):
        pulumi.log.warn(LogLine.write(problem))


def _lines(problems: Iterable[Problem], instance: Instance) -> list[str]:
    """Return problems as text, with paths below the name of the inference stack."""
    return [str(problem) for problem in instance.locate(problems)]
