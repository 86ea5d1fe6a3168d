"""Records of rules: what they judge, and what they say."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from policy.rules import trees
from policy.rules.trees import Tree

Level = Literal["mandatory", "advisory", "disabled"]
"""Consequence of a violation: it ends the run, it is reported, or nobody looks for it."""
LEVELS: tuple[Level, ...] = ("mandatory", "advisory", "disabled")
Settings = Mapping[str, Any]
"""Parameters of one rule by name; every parameter has a value."""
OURS = "inference-stacks.io"
"""Domain of the labels of inference stacks."""
_PART_OF = "app.kubernetes.io/part-of"


@dataclass(frozen=True, slots=True)
class DeployedObject:
    """An object of Kubernetes, of an inference stack or of another program."""

    manifest: Tree
    urn: str = ""
    """URN of its resource; empty without an engine."""

    @property
    def kind(self) -> str:
        """Return its kind."""
        return trees.text(self.manifest, "kind")

    @property
    def group(self) -> str:
        """Return its API group; empty for the core group."""
        return trees.text(self.manifest, "apiVersion").rpartition("/")[0]

    @property
    def namespace(self) -> str:
        """Return its namespace, which is `default` for an object that names none."""
        return trees.text(self.manifest, "metadata", "namespace") or "default"

    @property
    def name(self) -> str:
        """Return its name."""
        return trees.text(self.manifest, "metadata", "name")

    @property
    def labels(self) -> dict[str, str]:
        """Return its labels."""
        return trees.labels(self.manifest, "metadata", "labels")

    @property
    def is_ours(self) -> bool:
        """Tell whether an inference stack has the object. Remedies then speak of the configuration."""
        return self.labels.get(_PART_OF) == "inference-stacks"

    @property
    def subject(self) -> str:
        """Return kind, namespace and name, as reports name an object."""
        metadata = trees.mapping(self.manifest, "metadata")
        name = str(metadata.get("name"))
        if "namespace" in metadata:
            name = f"{metadata['namespace']}/{name}"
        return f"{self.kind} {name}"


@dataclass(frozen=True, slots=True)
class ReadContract:
    """Outputs of an inference stack, which follow the contract in `reader/`."""

    outputs: Tree
    urn: str = ""
    """URN of the component; empty without an engine."""
    mistake: str = ""
    """Reason why the outputs cannot be read; empty if they can."""

    @property
    def services(self) -> Mapping[str, Tree]:
        """Return the services by key."""
        return trees.mapping(self.outputs, "services")


@dataclass(frozen=True, slots=True)
class View:
    """All that is deployed together."""

    objects: tuple[DeployedObject, ...]
    contracts: tuple[ReadContract, ...] = ()

    def of_kinds(self, *kinds: str) -> Iterator[DeployedObject]:
        """Yield the objects of some kinds."""
        return (item for item in self.objects if item.kind in kinds)


@dataclass(frozen=True, slots=True)
class PolicyFinding:
    """A violation of a rule, or a question that a rule cannot answer."""

    subject: str
    """The object, or the service of an inference stack."""
    what: str
    remedy: str
    at: str = ""
    """Path in the subject; empty for the subject itself."""
    urn: str = ""
    """URN of the resource that is reported; empty without an engine."""
    is_known: bool = True
    """False if the rule cannot tell whether there is a violation."""

    def __str__(self) -> str:
        """Return the finding as one line."""
        place = " ".join(part for part in (self.subject, self.at) if part)
        line = f"{place} {self.what}; {self.remedy}"
        if not self.is_known:
            line = f"can't tell: {line}"
        # Names and values of objects may have line breaks, colours of terminals, and marks that reorder text.
        return "".join(letter if letter.isprintable() else "?" for letter in " ".join(line.split()))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a rule."""

    name: str
    about: str
    schema: Tree
    """Its JSON schema."""
    default: Any


OfObject = Callable[[DeployedObject, Settings], Iterator[PolicyFinding]]
OfView = Callable[[View, Settings], Iterator[PolicyFinding]]


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A rule: it judges each object by itself, or all that is deployed together, or both."""

    name: str
    refuses: str
    """Short text about what the rule refuses."""
    reads: str
    """Places that the rule reads."""
    of_object: OfObject | None = None
    of_view: OfView | None = None
    level: Level = "mandatory"
    """Level without a configuration."""
    parameters: tuple[Parameter, ...] = field(default=())

    @property
    def defaults(self) -> dict[str, Any]:
        """Return the default of every parameter."""
        return {parameter.name: parameter.default for parameter in self.parameters}


def of_object(item: DeployedObject, at: str, what: str, remedy: str) -> PolicyFinding:
    """Return a violation of an object."""
    return PolicyFinding(item.subject, what, remedy, at, item.urn)


def cannot_tell(finding: PolicyFinding) -> PolicyFinding:
    """Return a finding as a question that the rule cannot answer."""
    return PolicyFinding(finding.subject, finding.what, finding.remedy, finding.at, finding.urn, is_known=False)
