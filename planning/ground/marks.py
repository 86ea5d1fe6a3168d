"""The mark: a label and an annotation that say which stack of Pulumi an object belongs to.

The label has project and stack, and is short enough for a selector. The annotation has the full name of the stack. If
an object has both, the annotation decides, because the label leaves out the organization and may be shortened.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from models.trees import texts
from planning.ground import labels
from planning.ground.names import LONGEST, shorten

_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
"""Text that Kubernetes accepts as the value of a label, if it is not too long."""
_HASH = 8
_MANAGER_LABEL = "app.kubernetes.io/managed-by"
_MANAGER = "pulumi"
_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class StackName:
    """The full name of a Pulumi stack. It is unique in the backend that stores the stack's state."""

    organization: str
    """Name of the organization; the text `organization` if the backend is a folder or a bucket."""
    project: str
    stack: str

    def __str__(self) -> str:
        return f"{self.organization}/{self.project}/{self.stack}"

    @property
    def label(self) -> str:
        """Return project and stack as the value of a label."""
        return label(self.project, self.stack)


@dataclass(frozen=True, slots=True)
class Mark:
    """The stack that an object of the cluster belongs to, according to the object's labels and annotations."""

    label: str | None = None
    stack: str | None = None
    """Value of the annotation: the full name of the stack."""
    is_generated: bool = False
    """Whether the object has the labels that every object of this program has."""

    @property
    def owner(self) -> str | None:
        """Return the annotation or, if there is none, the label. None if the object has no mark."""
        return self.stack or self.label


NO_MARK = Mark()
"""Mark of an object that has neither the label nor the annotation, nor the labels of this program's objects."""


class Verdict(Enum):
    """Owner of an object, as seen from a stack."""

    OURS = "ours"
    ANOTHER = "another"
    """The object belongs to another stack."""
    UNMARKED = "unmarked"
    """An earlier version of this program made the object, without a mark. The object may belong to any stack."""
    FOREIGN = "foreign"
    """This program did not make the object."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A stack, and the names that it had before."""

    name: StackName
    formerly: tuple[str, ...] = ()
    """Earlier names, as `project/stack` or as `organization/project/stack`."""

    def verdict(self, mark: Mark) -> Verdict:
        """Return the owner of an object with this mark."""
        if mark.stack is not None:
            names = {str(self.name), *self.formerly}
            known = mark.stack in names or mark.stack.partition("/")[2] in self.formerly
            if known:
                return Verdict.OURS
            return Verdict.ANOTHER
        if mark.label is not None:
            if mark.label in self._labels():
                return Verdict.OURS
            return Verdict.ANOTHER
        if mark.is_generated:
            return Verdict.UNMARKED
        return Verdict.FOREIGN

    def _labels(self) -> Collection[str]:
        earlier = (name.split("/")[-2:] for name in self.formerly)
        return {self.name.label, *(label(project, stack) for project, stack in earlier)}


@cache
def label(project: str, stack: str) -> str:
    """Return project and stack as the value of a label. Different stacks have different values.

    The value is `<project>.<stack>`. If this text is too long, not allowed, or ambiguous because the project's name has
    a dot, the value is the beginning of the text and a hash.
    """
    text = f"{project}.{stack}"
    if "." not in project and len(text) <= LONGEST and _LABEL.fullmatch(text):
        return text
    digest = hashlib.sha256(f"{project}/{stack}".encode()).hexdigest()[:_HASH]
    return f"{text[: LONGEST - _HASH - 1].strip('-_.')}-{digest}".lstrip("-")


def with_mark(metadata: Mapping[str, Any], name: StackName) -> dict[str, Any]:
    """Return a copy of an object's metadata, to which the mark of the stack `name` is added."""
    annotations = {**metadata.get("annotations", _NONE), labels.STACK: str(name)}
    return {
        **metadata,
        "labels": {**metadata.get("labels", _NONE), labels.STACK: name.label},
        "annotations": dict(sorted(annotations.items())),
    }


def read(metadata: Mapping[str, Any]) -> Mark:
    """Return the mark in the metadata of an object of the cluster."""
    object_labels = texts(metadata.get("labels"))
    annotations = texts(metadata.get("annotations"))
    is_generated = labels.PART_OF.items() <= object_labels.items() and object_labels.get(_MANAGER_LABEL) == _MANAGER
    return Mark(object_labels.get(labels.STACK), annotations.get(labels.STACK), is_generated)


def per_stack(name: str, stack: StackName, longest: int) -> str:
    """Return a name that contains the stack, so that objects of two stacks in one namespace never share a name."""
    return shorten(f"{name}-{stack.label}", longest)
