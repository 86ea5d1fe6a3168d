"""Specs of the gates of a canary: how much worse than the primary it may be, and for how long both are compared."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from models.base import Spec
from models.vocabulary import (
    Between,
    Count,
    DnsLabel,
    Duration,
    Entries,
    Items,
    Shape,
    Within,
    milliseconds,
    refuse,
)

VARIABLES = ("variant", "window", "service", "namespace")
"""Names that a query may write with `$` before them."""
_NEEDED = VARIABLES[:2]
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_BUILT_IN = frozenset({"errors", "ttft", "tpot"})
_MINUTE = 60_000
_SHORTEST_BAKE = 5 * _MINUTE
LONGEST_BAKE_MINUTES = 48 * 60
"""A longer time has more samples than one question may read."""
_LONGEST_BAKE = LONGEST_BAKE_MINUTES * _MINUTE


def _check_query(query: str) -> str:
    """Reject a query that counts the same for both variants, or another time than a block, and unknown variables."""
    names = _VARIABLE.findall(query)
    for name in names:
        if name not in VARIABLES:
            known = ", ".join(f"${variable}" for variable in VARIABLES)
            raise refuse(f"has the unknown variable ${name}", f"known: {known}", echoed=False)
    for name in _NEEDED:
        if name not in names:
            example = 'sum(increase(refusals_total{variant="$variant"}[$window]))'
            raise refuse(f"lacks ${name}", f"write a query such as {example}", echoed=False)
    return query


def _check_bake(bake: str) -> str:
    if not _SHORTEST_BAKE <= milliseconds(bake) <= _LONGEST_BAKE:
        raise refuse("is not from 5m to 48h", "write the time for which both are compared, such as 60m")
    return bake


def _check_warmup(warmup: str) -> str:
    if milliseconds(warmup) > _LONGEST_BAKE:
        raise refuse("is above 48h", "write the time after which caches are warm, such as 5m")
    return warmup


def _check_steps(steps: tuple[int, ...]) -> tuple[int, ...]:
    if list(steps) != sorted(set(steps)):
        raise refuse("does not ascend", "write each weight once, the smallest first", echoed=False)
    return steps


Points = Annotated[float, Between(0, 100, "write percentage points such as 1")]
"""Difference of two shares of requests, in percentage points."""
Query = Annotated[
    str,
    Shape("is no query", r"\S(.*\S)?", "write an expression of PromQL in one line", 4096),
    AfterValidator(_check_query),
]
"""Expression of PromQL that counts requests of a variant in a window."""
Step = Annotated[int, Within(1, 100, "write a weight such as 25")]


class Worse(Spec):
    """Margins: the difference in percentage points between canary and primary from which on the canary is worse."""

    errors: Points = 1
    """Margin for the share of requests that are answered with an error."""
    ttft: Points | None = Field(default=None, examples=[2])
    """Margin for the share of requests whose first token comes later than slo.ttft.within. Absent: not compared."""
    tpot: Points | None = Field(default=None, examples=[2])
    """Margin for the share of requests that need more than slo.tpot.within per output token. Absent: not compared."""


class GateQuery(Spec):
    """A gate of the user's own: requests that are bad among all, by queries for one number.

    `$variant` stands for primary or canary, `$window` for the time over which is counted, `$service` and `$namespace`
    for those of the service.
    """

    bad: Annotated[Query, Field(examples=['sum(increase(refusals_total{variant="$variant"}[$window]))'])]
    """Number of bad requests of a variant in a window."""
    all: Annotated[Query, Field(examples=['sum(increase(answers_total{variant="$variant"}[$window]))'])]
    """Number of all requests of a variant in a window, the bad ones among them."""
    worse: Annotated[Points, Field(examples=[1])]
    """Margin for the share of bad requests."""


class Gates(Spec):
    """Gates, by which `gate` tells whether the canary is worse than the primary.

    A gate fails at any time, as soon as it is certain that the canary is worse by more than the margin. Gates pass
    together, once, when the time is over.
    """

    bake: Annotated[Duration, AfterValidator(_check_bake)] = "60m"
    """Time for which requests of both are counted, after `warmup`. It goes on until the canary has had `minRequests`
    requests, for a day at most. It is over without a verdict if gates then neither pass nor fail."""
    warmup: Annotated[Duration, AfterValidator(_check_warmup)] = "5m"
    """Time that is not counted: after a change of the weight, and after pods of the service became ready."""
    min_requests: Count = 500
    """Number of requests that the canary must have had before gates pass."""
    confidence: Annotated[float, Between(50, 99.9, "write a percentage such as 95")] = 95
    """Percentage of the verdicts pass, and of the verdicts fail, that are right at least, for a canary at the margin
    and for one that equals the primary."""
    worse: Worse = Worse.default()
    """Margins of the gates for errors and times."""
    steps: Annotated[
        Items[Step], Entries(1, 20, "write up to 20 weights, such as [5, 25, 50, 100]"), AfterValidator(_check_steps)
    ] = (5, 25, 50, 100)
    """Weights that follow one another: after gates have passed, the next one is proposed."""
    requests_per_minute: Count | None = Field(default=None, examples=[200])
    """Number of requests that the service usually gets in a minute, from which previews tell how long gates take.
    Absent: previews only tell how many requests they need."""
    error_percent: Annotated[float, Between(0, 99, "write a percentage such as 1")] = 1
    """Percentage of errors that previews assume of the primary, and of bad requests for queries. They assume as many
    slow requests as slo allows."""
    queries: dict[DnsLabel, GateQuery] = Field(default={})
    """Further gates, by name."""

    @model_validator(mode="after")
    def _names_differ(self) -> "Gates":
        taken = sorted(_BUILT_IN & self.queries.keys())
        if taken:
            raise refuse(f"has the name of another gate in queries ({taken[0]})", "rename the query", echoed=False)
        return self
