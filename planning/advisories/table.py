"""Advisories of vLLM, from the table `vllm.yaml`."""

import datetime as dt
from functools import cache
from typing import Literal

from pydantic import Field

from models.base import Spec
from planning.ground import tables
from planning.ground.tables import Sourced
from planning.releases import engine_versions

Severity = Literal["low", "medium", "high", "critical"]


class AdvisoryCondition(Spec):
    """A condition that a service must meet for an advisory to count."""

    about: str
    """The condition as the predicate of a sentence about the service."""
    remedy: str = ""
    """A change of the service after which it no longer meets the condition; empty if there is none."""
    general: bool = False
    """Whether every service meets the condition whose settings say nothing else."""


class MediaModels(Sourced):
    """Models that accept media."""

    families: list[str]
    """Families (`model_type` of a config.json) that accept images."""
    images: list[str]
    """Words in the names of models that accept images or video."""
    audio: list[str]
    """Words in the names of models that accept audio."""


class Advisory(Spec):
    """A published security advisory of vLLM."""

    id: str
    """The CVE, or the GitHub advisory without a CVE."""
    since: str | None = None
    """First affected version, or the first in which the condition can hold; None if the source states none, so that
    all versions before the fix are affected."""
    fixed_in: str
    """First version with the fix."""
    condition: str
    """Name of the condition that a service must meet."""
    words: list[str] = Field(default=[])
    """Words in the name of a model, or names of connectors, that the condition needs."""
    severity: Severity
    published: dt.date
    """Day of the publication, or the day on which the advisory was known at the latest."""
    summary: str
    """The effect, in one sentence without a comma."""
    source: str
    """Address of the advisory."""
    proof: Literal["stated", "source"]
    """Proof of the affected versions: a database of advisories states them, or their source code was read."""

    def affects(self, version: str) -> bool:
        """Tell whether a version of vLLM is affected."""
        is_new_enough = self.since is None or not engine_versions.is_older(version, self.since)
        return is_new_enough and engine_versions.is_older(version, self.fixed_in)


class AdvisoryTable(Spec):
    """The advisories, and the conditions and words that they name."""

    date: dt.date
    """Day on which the sources were read."""
    conditions: dict[str, AdvisoryCondition]
    media: MediaModels
    advisories: list[Advisory]


@cache
def read() -> AdvisoryTable:
    """Return the table."""
    return tables.read(AdvisoryTable, "advisories/vllm.yaml")


def is_known(image: str) -> bool:
    """Tell whether the version of vLLM in an image is known."""
    return engine_versions.number_in(image) is not None


def affecting(image: str | None) -> tuple[Advisory, ...]:
    """Return the advisories that affect the version of vLLM in an image; none if the version is unknown."""
    version = None if image is None else engine_versions.number_in(image)
    if version is None:
        return ()
    return tuple(advisory for advisory in read().advisories if advisory.affects(version))
