"""The component of the package: `InferenceStack`, from the inputs of a program in any language."""

import contextlib
import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

import pulumi
from google.protobuf import struct_pb2

from components import InferenceStack, program
from composition.sources import Configuration
from models.paths import Path
from models.platform import PlatformOutputs
from models.problems import ConfigError, Problem
from package import platform
from package.inputs import SETTINGS, ComponentSetting
from package.values import ValueReader
from planning.ground.instances import TYPE, Instance

_NOUNS = {"string": (str, "text", "write text"), "object": (dict, "a mapping", "write keys with values below it")}
"""Type of a setting in Python, its noun, and the remedy for a value of another type."""
_KUBECONFIG = "kubeconfig"
_PLATFORM_OUTPUTS = "platformOutputs"


@dataclass(frozen=True, slots=True)
class ComponentInputs:
    """Inputs of one component, as plain values."""

    tree: dict[str, object]
    """The configuration, without values that have a problem."""
    texts: Mapping[ComponentSetting, str]
    """Values of the settings that are text."""
    platform: PlatformOutputs | None
    """Outputs of the platform; None if the program passes none."""
    problems: tuple[Problem, ...]

    @classmethod
    def read(cls, values: Mapping[str, struct_pb2.Value]) -> "ComponentInputs":
        """Return the inputs that the engine sends."""
        reader = ValueReader()
        names = {setting.name for setting in SETTINGS}
        tree = reader.mapping({name: value for name, value in values.items() if name not in names}, Path())
        of_settings = {name: value for name, value in values.items() if name in names}
        settings = reader.mapping(of_settings, Path(), secrets=True)
        if isinstance(settings.get(_KUBECONFIG), dict):
            # Programs in YAML pass a text of JSON from the configuration as the object in it.
            settings[_KUBECONFIG] = json.dumps(settings[_KUBECONFIG])
        mistakes = [*reader.problems]
        for setting in SETTINGS:
            kind, noun, remedy = _NOUNS[setting.type]
            value = settings.get(setting.name)
            if value is not None and not isinstance(value, kind):
                mistakes.append(Problem(Path(setting.name), f"is not {noun}", remedy))
        texts = {
            setting: text
            for setting in SETTINGS
            if setting.type == "string" and isinstance(text := settings.get(setting.name), str)
        }
        return cls(tree, texts, _platform(settings, reader.secrets), tuple(sorted(mistakes)))

    async def with_platform(self) -> "ComponentInputs":
        """Return the inputs with the outputs of the platform that the tree names, unless the program passes them."""
        reference = Configuration(self.tree).platform
        if self.platform is not None or self._is_refused or reference is None:
            return self
        try:
            return replace(self, platform=await platform.read(reference))
        except ConfigError as error:
            return replace(self, problems=(*self.problems, *error.problems))

    def make(self, name: str, resource_type: str, opts: pulumi.ResourceOptions) -> InferenceStack:
        """Return the component, which is being registered.

        Raises `RunError` if the package has no component of this type, or if the outputs of the platform have a
        mistake, because nothing can be decided without them.
        """
        if resource_type != TYPE:
            raise pulumi.RunError(f"{resource_type} is unknown to this package; it has {TYPE}")
        prefixes = (text for setting, text in self.texts.items() if setting.name == "prefix")
        instance = Instance(name, next(prefixes, f"{name}-"))
        if self._is_refused:
            raise program.refusal(instance.locate(self.problems))
        return InferenceStack(
            name,
            self.tree,
            opts,
            platform=self.platform,
            problems=self.problems,
            **{setting.argument or setting.name: text for setting, text in self.texts.items()},
        )

    @property
    def _is_refused(self) -> bool:
        """Tell whether the outputs of the platform have a mistake, or cannot be read."""
        return any(
            problem.path[:1] == (_PLATFORM_OUTPUTS,) or problem.path == platform.STACK for problem in self.problems
        )


@contextlib.contextmanager
def begin(monitor: str) -> Generator[None]:
    """Begin to make a component for the program whose resources are registered at an address.

    Every exception becomes a `RunError` without a traceback.
    """
    program.begin_part(_run(monitor))
    with program.without_traceback():
        yield


@lru_cache(maxsize=2)
def _run(_monitor: str) -> program.ProgramRun:
    return program.ProgramRun()


def _platform(settings: Mapping[str, object], secrets: set[Path]) -> PlatformOutputs | None:
    """Return the outputs of the platform that a program passes; an output with a secret in it is a secret."""
    values = settings.get(_PLATFORM_OUTPUTS)
    if not isinstance(values, dict):
        return None
    top = Path(_PLATFORM_OUTPUTS)
    outputs = cast("dict[str, object]", values)
    hidden = (name for name in outputs if top in secrets or any(path.is_within(top / name) for path in secrets))
    return PlatformOutputs(outputs, frozenset(hidden))
