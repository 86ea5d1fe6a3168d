"""Inputs of the component in the package: the keys of a stack, and the settings in this module.

No setting has the name of a key. Therefore, the outputs of the platform are not called `platform`, as in Python: a
stack has the key `platform`, which names the platform.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ComponentSetting:
    """One input that is no key of a stack. No setting is required."""

    name: str
    """Name of the input in every language."""
    type: Literal["string", "object"]
    """Type in the schema of the package; an `object` has keys of any name, with values of any type."""
    description: str
    secret: bool = False
    """Whether SDKs make the value a secret."""
    argument: str = ""
    """Name of the argument of `components.InferenceStack`, if it is not the name of the input."""


SETTINGS = (
    ComponentSetting(
        "kubeconfig",
        "string",
        "Text of a kubeconfig. Without it, the environment of the program names the cluster, as for kubectl.",
        secret=True,
    ),
    ComponentSetting(
        "platformOutputs",
        "object",
        "Outputs of the stack that the key `platform` names, by name. Without them, the package reads these outputs.",
        argument="platform",
    ),
    ComponentSetting(
        "prefix",
        "string",
        "Beginning of the logical names of all resources. The default is the name of the component and a hyphen.",
    ),
    ComponentSetting("previewed", "string", "Path of a file with the facts of an approved preview."),
    ComponentSetting(
        "outsideWindows",
        "string",
        "Day of a run that may deploy outside of the windows of the stack, as year-month-day.",
        argument="outside_windows",
    ),
    ComponentSetting(
        "lock",
        "string",
        'Path of the lock, relative to the folder of the program. Without it, a component with the prefix "" has the '
        "lock inference.<Pulumi stack>.lock.yaml, and a component with another prefix has none.",
    ),
)
