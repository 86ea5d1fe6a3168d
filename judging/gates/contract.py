"""Types of verdicts on canaries as JSON, from which its schema is generated: `schemas/gate.schema.json`."""

from typing import Literal

from typing_extensions import TypedDict

VERSION = 1
"""Version of the contract. The version increases when a key is removed, or when the meaning of a key changes."""

GateState = Literal["pass", "fail", "undecided", "not measured"]
"""Result of a gate, or of all gates of a service. `pass`: the canary is not worse by more than the margin. `fail`: it
is worse. `undecided`: that takes more requests or minutes, or the variants cannot be compared. `not measured`: the
counts are unknown."""


class TallyDocument(TypedDict):
    """Requests of one variant. Queries of users may extrapolate, so numbers may have a fraction."""

    requests: float
    """Number of requests."""
    bad: float
    """Number of these that are bad."""


class DifferenceDocument(TypedDict):
    """Share of bad requests of the canary less that of the primary, from -1 to 1."""

    atLeast: float
    """Bound that holds at every moment."""
    atMost: float | None
    """Bound at the end of the time; null before the end."""


class GateResultDocument(TypedDict):
    """The result of one gate."""

    name: str
    """`errors`, `ttft`, `tpot` or the name of a query."""
    outcome: GateState
    """The result."""
    reason: str | None
    """Reason for which it is not measured; null for other results."""
    margin: float
    """Difference from which on the canary is worse, from 0 to 1."""
    primary: TallyDocument
    """Requests of the primary."""
    canary: TallyDocument
    """Requests of the canary."""
    difference: DifferenceDocument
    """Difference of the shares of bad requests."""


class ShortfallDocument(TypedDict):
    """All that the canary lacks until gates can pass."""

    requests: int
    """Number of requests."""
    minutes: int | None
    """Number of minutes; null if nobody can tell."""


class ProposalDocument(TypedDict):
    """The next step of a canary, as `--propose` has written it."""

    weight: int | None
    """The weight; null if the canary is folded into its service, or nothing was written."""
    file: str | None
    """File that was changed; null if none was."""
    words: list[str]
    """The step in words."""


class ComparedServiceDocument(TypedDict):
    """The verdict on the canary of a service."""

    service: str
    """Key of the service."""
    outcome: GateState
    """Result of all gates together."""
    weight: int
    """Percentage of the requests for the canary, in the stack file."""
    since: str | None
    """Time of the last change of shares or pods, in UTC; null if there is none to count from."""
    lastChange: str
    """This change, or the reason for which there is none."""
    reason: str | None
    """Reason for which the variants were not compared; null if they were."""
    minutes: int
    """Minutes that were compared."""
    lacking: ShortfallDocument | None
    """Requests and minutes that the canary lacks; null if the variants were not compared, or if the time is over."""
    isOver: bool
    """Whether the time is over. A verdict that is undecided then stays so, or becomes a failure: asking again brings no
    pass, and another weight begins anew."""
    enoughMinutes: int | None
    """Minutes of `bake` with which gates would have passed for the same shares; null before the time is over, and if
    nobody can tell."""
    obstacles: list[str]
    """Reasons for which the variants cannot be compared."""
    gates: list[GateResultDocument]
    """Results of the gates."""
    proposal: ProposalDocument | None
    """The next step; null if nobody asked for it, or without a verdict."""


class GateDocument(TypedDict):
    """Verdicts on the canaries of a stack."""

    gateVersion: int
    """Version of this contract."""
    stack: str
    """Name of the stack, as `project.stack`."""
    exitCode: int
    """Exit code of the command."""
    services: list[ComparedServiceDocument]
    """Verdicts in the order of the keys of services."""
