"""Inference stacks of a Pulumi stack: their names, types and logical names.

This program makes one inference stack. A program of another project may make several; they all have the same mark.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from models.paths import Path
from models.problems import Problem

TYPE = "inference-stacks:index:InferenceStack"
"""Type of the component that contains all resources of an inference stack."""
PROVIDER_TYPE = "pulumi:providers:kubernetes"


@dataclass(frozen=True, slots=True)
class Instance:
    """One inference stack of a Pulumi stack."""

    name: str = "inference-stack"
    """Logical name of the component."""
    prefix: str = ""
    """Beginning of the logical names of all resources in the component."""

    @property
    def provider_name(self) -> str:
        """Return the logical name of the Kubernetes provider through which all objects are registered."""
        return f"{self.prefix}cluster"

    @property
    def path(self) -> Path:
        """Return the path that messages put before every path in the configuration; empty if `prefix` is empty."""
        if self.prefix:
            return Path(self.name)
        return Path()

    def locate(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return the problems, with `path` added at the beginning of their paths."""
        if not self.prefix:
            return list(problems)
        return [replace(problem, path=Path(self.name, *problem.path)) for problem in problems]


MAIN = Instance()
"""The inference stack of this program."""
