"""The Pulumi program: deploys the configuration of the stack, and exports its outputs.

The engine runs the same file for the component package, whose process belongs to programs of other projects.
"""

import sys

from pulumi.runtime import config, settings

if settings.get_monitor() is None and sys.argv[1:]:
    # Every program has a monitor, at which it registers its resources. A plugin has the engine's address instead.
    from package import server

    sys.exit(server.main(sys.argv[1:]))

from functools import partial

import pulumi

from components import InferenceStack, program, read_platform
from composition.sources import Configuration
from models import config_keys, yaml_limits
from models.config_keys import KUBECONFIG, ROOT, of_project
from models.paths import Path
from models.platform import PlatformOutputs
from models.problems import Problem
from planning.ground.instances import MAIN


def main() -> None:
    """Deploy the stack. Every mistake, of the user or of this program, ends the run without a traceback."""
    with program.without_traceback():
        configuration = Configuration(_tree())
        if configuration.platform is None:
            _deploy(configuration)
        else:
            pulumi.run(partial(_deploy_on_platform, configuration))


async def _deploy_on_platform(configuration: Configuration) -> None:
    """Read the outputs of the platform that the stack names, then deploy the stack."""
    with program.without_traceback():
        _deploy(configuration, await read_platform(configuration))


def _deploy(configuration: Configuration, platform: PlatformOutputs | None = None) -> None:
    """Deploy the stack. A mistake of the user ends the run before the first resource is registered."""
    values = pulumi.Config()
    project = pulumi.get_project()
    kubeconfig = values.get("kubeconfig")
    problems = list(config_keys.problems(_config_keys(), project))
    if kubeconfig is not None and not pulumi.runtime.is_config_secret(of_project(KUBECONFIG, project)):
        problems.append(config_keys.kubeconfig_problem(project))
    stack = InferenceStack(
        MAIN.name,
        configuration,
        kubeconfig=kubeconfig,
        platform=platform,
        prefix=MAIN.prefix,
        previewed=values.get("previewed"),
        outside_windows=values.get("outsideWindows"),
        problems=problems,
    )
    for name, value in stack.outputs.items():
        pulumi.export(name, value)


def _config_keys() -> set[str]:
    """Return the keys of the stack's configuration, from all of Pulumi's configuration namespaces."""
    return {*config.CONFIG.get(), *config.get_config_env()}


def _tree() -> object:
    """Return the configuration of the stack as plain values. Raises `RunError` if it is missing or has a secret."""
    project = pulumi.get_project()
    key, kubeconfig = (config_keys.of_project(name, project) for name in (ROOT, KUBECONFIG))
    if pulumi.runtime.is_config_secret(key):
        what = "holds a secret value (Pulumi then treats every value below this key as secret)"
        remedy = (
            f"put a credential into an existing Secret and name the Secret here; put a kubeconfig into {kubeconfig}"
        )
        raise program.refusal([Problem(Path(key), what, remedy)])
    try:
        tree = pulumi.Config().get_object("stack")
    except pulumi.ConfigTypeError as error:
        # The error of the SDK shows the whole value.
        if isinstance(error.__cause__, RecursionError):
            problem = Problem(Path(key), yaml_limits.TOO_DEEP, f"write at most {yaml_limits.MAX_LEVELS} levels")
        else:
            problem = Problem(Path(key), "is not a mapping", "write keys with values below it")
        raise program.refusal([problem]) from None
    if not tree:
        raise program.refusal([config_keys.missing(project), *config_keys.problems(_config_keys(), project)])
    return tree


main()
