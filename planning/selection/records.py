"""Records of a selection: candidates, the stages that they pass, and the reasons for which they are not selected."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from models.profile import Profile
from models.selection import Question
from planning.hardware.accelerators import AcceleratorClass


class Scope(StrEnum):
    """Places at which profiles are declared, the nearest first."""

    STACK = "stack"
    """The stack file, or a file that it extends."""
    FILE = "file"
    """A file that `catalogue.files` names."""
    SHIPPED = "shipped"


SCOPES = tuple(Scope)
"""Scopes, the nearest first. Profiles of a nearer scope are preferred."""


class Reason(StrEnum):
    """Why a candidate is selected or not. The enumeration is closed: no other reason exists."""

    BEST = "BestMatch"
    """The candidate is selected."""
    TIE = "EquallyGood"
    """No preference distinguishes the candidate from another candidate."""
    RANK = "LowerPreferenceRank"
    """Another candidate is preferred."""
    SCOPE = "NearerScopePreferred"
    """A candidate of a nearer scope remains."""
    NAME = "AnotherProfileNamed"
    """`selection.profile` names another profile."""
    IMAGE = "ImageNotMatched"
    """The service names its model by an image, and the candidate does not have this image."""
    TYPE = "TypeBelowMinimum"
    """The type of the candidate is below `selection.minimumType`."""
    METRIC = "MetricNotMatched"
    PRECISION = "PrecisionNotMatched"
    DEVICE_COUNT = "DeviceCountNotMatched"
    DEVICE_MEMORY = "DeviceMemoryTooSmall"
    DEVICE_MEMORY_UNKNOWN = "DeviceMemoryUnknown"
    FIT = "ModelDoesNotFit"
    """The devices of the candidate have no room for even the shortest sequence."""
    ACCELERATOR = "AcceleratorNotMatched"
    """The accelerator class of the candidate is neither that of the service nor in `selection.accelerators`."""
    UNKNOWN_CLASS = "AcceleratorUnknown"
    """The candidate names an unknown accelerator class."""
    ABSENT = "AcceleratorNotInCluster"
    """No node has the labels and devices of the candidate's accelerator class."""
    NODES = "DeviceCountExceedsNodes"
    """The nodes of the candidate's accelerator class have too few devices for one replica."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A profile, and the facts about it that are the same for every service."""

    id: str
    scope: Scope
    file: str
    """File that declares the profile; empty for the stack file."""
    profile: Profile
    service: Mapping[str, Any]
    """Keys that a service gets from the profile."""
    accelerator: AcceleratorClass | None
    """Accelerator class of the profile; None if the profile names an unknown class."""
    chips_per_pod: int
    pods_per_replica: int
    replaces: tuple[str, ...] = ()
    """Files or scopes of the farther profiles with the same id, which this profile replaces."""

    @property
    def class_name(self) -> str:
        """Return the name of the accelerator class."""
        return self.profile.service.accelerator


@dataclass(frozen=True, slots=True)
class StageVerdict:
    """Why a stage drops a candidate."""

    reason: Reason
    detail: str
    """Value of the profile and the requested value, as text."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A candidate in the table of a selection."""

    candidate: Candidate
    stage: str
    """Last stage that the candidate reached."""
    reason: Reason
    detail: str
    scores: Mapping[str, int] | None = None
    """Scores by name; lower scores are better. None for a candidate that was dropped before the comparison."""
    rank: int | None = None
    """Place among the compared candidates, from 1; equally good candidates share a place."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The answer to a question: a row for each candidate, and the selected candidate if exactly one is the best."""

    question: Question
    rows: tuple[TableRow, ...]
    """Rows of all candidates: the compared candidates by rank, then the others by the stage that they reached."""
    chosen: Candidate | None
    tied: tuple[Candidate, ...]
    """Candidates of the first rank if there are several; otherwise empty."""
    remaining: Mapping[str, int]
    """Number of candidates after each stage."""
    unchecked: str = ""
    """Reason why the nodes of the cluster were not considered; empty if they were considered."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons for the selected profile; empty if no profile is selected."""
        if self.chosen is None:
            return ()
        return reasons(self.chosen)


def reasons(candidate: Candidate) -> tuple[str, ...]:
    """Return the reasons for a profile: its type, metric, precision and accelerator class, each if it is known."""
    profile = candidate.profile
    return tuple(text for text in (profile.type, profile.metric, profile.precision, candidate.class_name) if text)
