"""Specs of the objectives of a service: how many requests are answered, and how soon."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.base import Spec
from models.vocabulary import Between, Duration, refuse

Percent = Annotated[float, Between(0, 99.999, "write a percentage below 100, such as 99.9")]
"""Percentage of requests that fulfil an objective. With 100, a single request would break it for the whole window."""


class Latency(Spec):
    """An objective for a time: so many percent of the requests need no longer."""

    within: Annotated[Duration, Field(examples=["2500ms"])]
    """Longest time of a request that fulfils the objective. Histograms only count up to the bounds of their buckets, so
    that it must be such a bound in the version of the engine, or of the endpoint picker."""
    percent: Annotated[Percent, Field(examples=[95])]
    """Percentage of the requests that need no longer than `within`."""


class Slo(Spec):
    """Objectives of a service. Primary and canary together are held to them."""

    window: Literal["28d", "30d"] = "30d"
    """Time over which the objectives count. The factors of the alerts follow from it: a page tells that an hour took
    2 % of what may fail in the window, or six hours 5 %; a ticket, that one day or three days took 10 %."""
    availability: Percent | None = Field(default=None, examples=[99.9])
    """Percentage of the requests that are answered with a status below 500. A request whose client leaves while it
    waits in the endpoint picker counts as not answered. Absent: no objective."""
    ttft: Latency | None = Field(default=None, examples=[{"within": "2500ms", "percent": 95}])
    """Objective for the time to the first token. Absent: no objective."""
    tpot: Latency | None = Field(default=None, examples=[{"within": "100ms", "percent": 95}])
    """Objective for the mean time per output token after the first one. Absent: no objective."""
    source: Literal["engine", "picker"] = "engine"
    """Reporter of the series that are counted. engine: statuses and times as the engine's pods report them, and
    requests that the endpoint picker refuses. picker: times as the endpoint picker sees them; it does not see which
    answers of an engine are errors, so availability then counts what the picker refuses."""

    @model_validator(mode="after")
    def _states_something(self) -> "Slo":
        if self.availability is None and self.ttft is None and self.tpot is None:
            raise refuse("states no objective", "write availability, ttft or tpot, or remove it", echoed=False)
        return self
