"""The outputs of a platform's stack. They are the lowest layer of every stack that names this platform."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from models.layers import Source
from models.paths import Path
from models.problems import ConfigError, Problem
from models.vocabulary import FULL_STACK_PATH

CONTRACT_VERSION = 1
"""Version of the contract for the outputs of a platform."""
KEYS = ("gateway", "cluster", "observability", "storageClassName")
"""Keys of a stack that the outputs of a platform can set."""
_OUTPUT = Path("platform", "output")
_KUBECONFIG = Path("platform", "kubeconfig")


class Reference(NamedTuple):
    """The stack of a platform, and the names of the outputs that another stack reads from it."""

    stack: str
    output: str
    kubeconfig: str | None


@dataclass(frozen=True, slots=True)
class PlatformOutputs:
    """Outputs of a platform's stack by name."""

    values: Mapping[str, object]
    secrets: frozenset[str] = frozenset()
    """Names of the outputs that are secret."""

    def kubeconfig(self, reference: Reference) -> str | None:
        """Return the kubeconfig of the platform; None if `reference` names no output for it, or an absent output."""
        value = None if reference.kubeconfig is None else self.values.get(reference.kubeconfig)
        return value if isinstance(value, str) else None


def reference(tree: Mapping[str, Any]) -> Reference | None:
    """Return the reference in the key `platform` of a stack; None if the key is absent or its value is malformed."""
    value = tree.get("platform")
    if not isinstance(value, dict):
        return None
    spec = {"output": "inferencePlatform", "kubeconfig": None, **cast("dict[str, Any]", value)}
    stack, output, kubeconfig = (spec.get(key) for key in ("stack", "output", "kubeconfig"))
    is_stack = isinstance(stack, str) and re.fullmatch(FULL_STACK_PATH, stack) is not None
    if not is_stack or not isinstance(output, str) or not isinstance(kubeconfig, str | None):
        return None
    return Reference(cast("str", stack), output, kubeconfig)


def source(read: Reference, outputs: PlatformOutputs) -> Source:
    """Return the layer of a platform. Raises `ConfigError` if the outputs do not follow the contract."""
    problems = _problems(read, outputs)
    if problems:
        raise ConfigError(problems)
    value = cast("dict[str, Any]", outputs.values[read.output])
    return Source(read.stack, {key: value[key] for key in KEYS if value.get(key) is not None})


def _problems(read: Reference, outputs: PlatformOutputs) -> list[Problem]:
    """Return the problems of outputs. No problem shows the value of a secret."""
    problems = list[Problem]()
    if read.kubeconfig is not None and outputs.values.get(read.kubeconfig) is None:
        what = f"is no output of {read.stack} ({read.kubeconfig})"
        problems.append(Problem(_KUBECONFIG, what, "export it there, or name another output"))
    value = outputs.values.get(read.output)
    name = f"{read.output} of {read.stack}"
    if read.output in outputs.secrets:
        remedy = "export it there in plain text, and export secrets, such as a kubeconfig, as separate outputs"
        return [*problems, Problem(_OUTPUT, f"is a secret ({name})", remedy)]
    if value is None:
        what = f"is no output of {read.stack} ({read.output})"
        remedy = "export it there, or name another output"
        return [*problems, Problem(_OUTPUT, what, remedy)]
    if not isinstance(value, dict):
        what = f"is not a mapping ({name})"
        remedy = f"export contractVersion and {', '.join(KEYS)} there"
        return [*problems, Problem(_OUTPUT, what, remedy)]
    mapping = cast("dict[str, Any]", value)
    version = mapping.get("contractVersion")
    if version != CONTRACT_VERSION:
        return [*problems, _version_problem(version, name)]
    unknown = sorted(mapping.keys() - {"contractVersion", *KEYS})
    if unknown:
        what = f"has keys that a platform cannot set ({', '.join(unknown)}; {name})"
        problems.append(Problem(_OUTPUT, what, f"known: {', '.join(KEYS)}"))
    return problems


def _version_problem(version: object, name: str) -> Problem:
    """Return the problem of outputs that follow another version of the contract, or state no version."""
    if version is None:
        return Problem(_OUTPUT, f"has no contractVersion ({name})", f"export contractVersion: {CONTRACT_VERSION} there")
    what = f"follows version {version} of the contract ({name})"
    remedy = "export"
    if not isinstance(version, int | float):
        what = f"has a contractVersion that is no number ({name})"
    elif version > CONTRACT_VERSION:
        remedy = "upgrade this program, or export"
    return Problem(_OUTPUT, what, f"{remedy} version {CONTRACT_VERSION}, which this program reads")
