"""Reader of the table `aim_engine.yaml`: what aim-engine says of each of our states."""

from functools import cache
from typing import Literal

from pydantic import Field

from judging.status.contract import RootStatus
from models.base import Spec
from planning.ground import tables


class Category(Spec):
    """A category of errors."""

    state: str
    """State of a component with such an error."""
    root: RootStatus | None = None
    """Status of the service; absent if the component's state decides it."""
    condition: str = ""
    """Condition that becomes false; empty if none does."""
    reason: str = ""
    """Reason of that condition."""


class Wording(Spec):
    """Words on a component."""

    reason: str
    """The reason, with fields of our state in braces."""
    message: str = ""
    """The message, with the same fields, and `words` for our own words; empty for object and words."""
    state: str = ""
    """State of the component; empty if the category decides it."""
    category: str = ""
    """Category of the error; empty if it is none."""


class ReasonRow(Wording):
    """A reason, with our states that have it."""

    component: str
    states: list[str]
    starting: str = ""
    """The reason in its place while the workload is not ready."""


class ComponentRow(Spec):
    """A component of an AIMService."""

    dependency: Literal["upstream", "downstream"]
    ready: Wording
    """Words if nothing is wrong."""
    waiting: Wording
    """Words if the component is not ready, and nothing wrong is known."""
    broken: Wording
    """Words on a state that is wrong, and that no row has."""
    unread: str
    """Reason if the component could not be read."""


class AimEngineTable(Spec):
    """The table."""

    source: str
    priorities: list[str]
    """States, from worst to best."""
    decisive: list[str]
    """States of a component that count for the service as they are."""
    dependencies: dict[str, str]
    """States for which other states count, by kind of dependency."""
    root: dict[str, RootStatus]
    """Status of the service by the worst state of its components."""
    categories: dict[str, Category]
    """Categories of errors, the most important first."""
    components: dict[str, ComponentRow]
    """Components by name, in aim-engine's order."""
    reasons: list[ReasonRow] = Field(min_length=1)
    """Reasons. Those of a component are in the order in which aim-engine looks at them."""
    silent: list[list[str]]
    """Ids of our states that aim-engine does not look at."""

    def owner(self, state: str, default: str) -> str:
        """Return the component to which one of our states belongs, by its id; the default if no reason has it."""
        return next((reason.component for reason in self.reasons if state in reason.states), default)


@cache
def read() -> AimEngineTable:
    """Return the table."""
    return tables.read(AimEngineTable, "status/heritage/aim_engine.yaml", "judging")
