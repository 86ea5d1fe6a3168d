"""Records of a selection: candidates, the stages that they pass, and the reasons for which they are not selected."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from models.profile import Profile
from models.selection import Question
from planning.hardware.accelerators import AcceleratorClass


class Scope(StrEnum):
    """Place at which a profile is declared, the nearest first."""

    STACK = "stack"
    """The stack file, or a file that it extends."""
    FILE = "file"
    """A file that `catalogue.files` names."""
    SHIPPED = "shipped"


SCOPES = tuple(Scope)
"""Scopes, the preferred one first."""


class Reason(StrEnum):
    """Why a candidate is selected or not. The enumeration is closed: no other reason exists."""

    BEST = "BestMatch"
    """It is selected."""
    TIE = "EquallyGood"
    """No preference distinguishes it from another candidate."""
    RANK = "LowerPreferenceRank"
    """Another candidate is preferred."""
    SCOPE = "NearerScopePreferred"
    """A candidate of a nearer scope remains."""
    NAME = "AnotherProfileNamed"
    """`selection.profile` names another one."""
    IMAGE = "ImageNotMatched"
    """The service names its model by another image."""
    TYPE = "TypeBelowMinimum"
    """Its type is below `selection.minimumType`."""
    METRIC = "MetricNotMatched"
    PRECISION = "PrecisionNotMatched"
    DEVICE_COUNT = "DeviceCountNotMatched"
    DEVICE_MEMORY = "DeviceMemoryTooSmall"
    DEVICE_MEMORY_UNKNOWN = "DeviceMemoryUnknown"
    FIT = "ModelDoesNotFit"
    """Its devices hold no context of the model, however short."""
    ACCELERATOR = "AcceleratorNotMatched"
    """Its class is neither the service's nor one of `selection.accelerators`."""
    UNKNOWN_CLASS = "AcceleratorUnknown"
    """No accelerator class has that name."""
    ABSENT = "AcceleratorNotInCluster"
    """No node has the labels and devices of its class."""
    NODES = "DeviceCountExceedsNodes"
    """The nodes of its class have too few devices for one replica."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A profile, and the facts about it that are the same for every service."""

    id: str
    scope: Scope
    file: str
    """File that declares it; empty for the stack file."""
    profile: Profile
    service: Mapping[str, Any]
    """Keys of a service, as they are merged."""
    accelerator: AcceleratorClass | None
    """Accelerator class of the profile. None if no class has its name."""
    chips_per_pod: int
    pods_per_replica: int

    @property
    def class_name(self) -> str:
        """Return the name of the accelerator class."""
        return self.profile.service.accelerator


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a stage drops a candidate."""

    reason: Reason
    detail: str
    """Value of the profile and the requested value, as text."""


@dataclass(frozen=True, slots=True)
class Row:
    """A candidate in the table of a selection."""

    candidate: Candidate
    stage: str
    """Last stage that the candidate reached."""
    reason: Reason
    detail: str
    scores: Mapping[str, int] | None = None
    """Places in the orders of preference, the first is 0; None for candidates that were dropped before."""
    rank: int | None = None
    """Place among the compared candidates; equally good candidates share a place."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The answer to a question: a row for each candidate, and the selected one if there is exactly one."""

    question: Question
    rows: tuple[Row, ...]
    """Rows of all candidates: the compared candidates by rank, then the others by the stage that they reached."""
    chosen: Candidate | None
    tied: tuple[Candidate, ...]
    """Candidates that are equally good; empty if one is selected."""
    remaining: Mapping[str, int]
    """Number of candidates after each stage."""
    unchecked: str = ""
    """Why the nodes of the cluster were not considered; empty if they were."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return what the selected profile is, in words: type, metric, precision and class."""
        if self.chosen is None:
            return ()
        return reasons(self.chosen)


def reasons(candidate: Candidate) -> tuple[str, ...]:
    """Return the facts for which a profile is selected: type, metric, precision and class, without absent ones."""
    profile = candidate.profile
    return tuple(text for text in (profile.type, profile.metric, profile.precision, candidate.class_name) if text)
