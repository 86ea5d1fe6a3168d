"""Records of gates: what a service demands, and what became of it.

`planning.ground.request_counts` has the records of what was measured.
"""

from dataclasses import dataclass
from enum import Enum

ERRORS = "errors"
"""Name of the gate for answers that are errors. Its counts are all requests of a variant."""
TTFT = "ttft"
"""Name of the gate for the time to the first token."""
TPOT = "tpot"
"""Name of the gate for the time per output token."""


_LATE_MINUTES = 24 * 60
"""Minutes after `bake` for which a canary may wait for its requests, and may still fail. Without an end, each question
would read more, until a Prometheus refuses it or has forgotten the begin."""


class GateOutcome(Enum):
    """The result of gates."""

    PASSES = "pass"
    FAILS = "fail"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class GateTerms:
    """One gate."""

    name: str
    """`ERRORS`, `TTFT`, `TPOT` or the name of a query."""
    margin: float
    """Difference of the shares of bad requests from which on the canary is worse, from 0 to 1."""
    assumed: float = 0.01
    """Share of bad requests that previews assume of the primary, from 0 to 1."""
    within: str = ""
    """Longest time of a request that is not bad, such as 2500ms; empty for other gates."""
    bad: str = ""
    """The user's query for the number of bad requests; empty for other gates."""
    all: str = ""
    """The user's query for the number of all requests; empty for other gates."""


@dataclass(frozen=True, slots=True)
class Terms:
    """All that a service demands of its canary."""

    gates: tuple[GateTerms, ...]
    bake: int
    """Minutes that are compared."""
    warmup: int
    """Minutes before these, which are not counted."""
    min_requests: int
    """Requests that the canary must have had."""
    alpha: float
    """Probability of a wrong verdict, from 0 to 1."""
    steps: tuple[int, ...]
    """Weights that follow one another, in percent, ascending."""
    weight: int
    """The canary's share of the requests, in percent."""
    has_headers: bool
    """Whether requests with some headers always go to the canary."""
    requests_per_minute: int | None
    """Requests that the service usually gets; None if nobody said it."""

    @property
    def longest(self) -> int:
        """Return the minutes that are compared at most: later requests neither pass nor fail a canary."""
        return self.bake + _LATE_MINUTES


@dataclass(frozen=True, slots=True)
class Tally:
    """Requests of one variant."""

    requests: float
    bad: float
    effect: float = 1.0
    """Design effect, at least 1: as many requests tell as much as one that fails independently of all others."""

    @property
    def share(self) -> float:
        """Return the share of bad requests; 0 without requests."""
        return self.bad / self.requests if self.requests else 0.0


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The result of one gate."""

    terms: GateTerms
    outcome: GateOutcome
    primary: Tally
    canary: Tally
    lower: float
    """Difference of the shares that the canary has at least, at every moment; from -1 to 1."""
    upper: float | None
    """Difference of the shares that the canary had at most at the end of the time; None before the end."""
    reason: str = ""
    """Why the gate is not measured; empty for other outcomes."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A reason why the variants cannot be compared."""

    text: str
    """The reason, as a sentence without its end."""
    hides_failure: bool = True
    """Whether even a canary that looks worse may be as good as the primary."""
    hides_pass: bool = True
    """Whether even a canary that looks as good as the primary may be worse."""
    gates: tuple[str, ...] = ()
    """Names of the gates that it concerns; empty if it concerns all."""

    def hides(self, gate: GateVerdict) -> bool:
        """Tell whether the outcome of a gate says nothing, because of this reason."""
        if self.gates and gate.terms.name not in self.gates:
            return False
        hidden = {GateOutcome.FAILS: self.hides_failure, GateOutcome.PASSES: self.hides_pass}
        return hidden.get(gate.outcome, False)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """All that the canary lacks until gates can pass."""

    requests: int
    """Requests of the canary."""
    minutes: int | None
    """Minutes; None if nobody can tell, because the canary gets no requests, or because it looks worse."""


@dataclass(frozen=True, slots=True)
class CanaryVerdict:
    """The result of all gates of a service."""

    outcome: GateOutcome
    gates: tuple[GateVerdict, ...]
    obstacles: tuple[Obstacle, ...]
    """Why the variants cannot be compared; none if they can."""
    minutes: int
    """Minutes that were compared."""
    shortfall: Shortfall | None
    """None if the time is over."""
    is_over: bool
    """Whether the time is over, so that waiting changes no outcome but to a failure."""
    enough_bake: int | None
    """Minutes with which gates would have passed for the same shares; None before the time is over, or if nobody can
    tell, because the canary looks worse, got too few requests, or cannot be compared."""
