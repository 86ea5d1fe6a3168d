"""Event log of Pulumi's engine: the steps of a run of the engine, its diagnostics and its policy violations.

`pulumi preview --event-log FILE` writes an event per line (Pulumi 3.230, sdk/go/common/apitype/events.go, EngineEvent).
The engine masks secrets in the events.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from judging.report import shapes
from models.trees import EMPTY

_QUIET = frozenset({"same", "read", "refresh"})


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the engine: an operation on one resource."""

    operation: str
    """The engine's name of the operation: `create`, `update`, `delete`, `same`, `refresh`, …"""
    urn: str
    type: str
    """Type token of the resource."""
    old: Mapping[str, Any]
    """Inputs before the step, without values that a report cannot read; empty for a resource that is created."""
    new: Mapping[str, Any]
    """Inputs after the step; empty for a resource that is deleted."""
    differences: tuple[str, ...]
    """Paths of the properties that differ, as the engine writes them."""
    is_custom: bool
    """Whether the resource is an object or a provider; false for a component."""
    is_drift: bool = False
    """Whether a refresh found the differences in the cluster. This step then changes nothing in the cluster."""

    @property
    def name(self) -> str:
        """Return the logical name of the resource."""
        return self.urn.rpartition("::")[2]

    @property
    def kind(self) -> str:
        """Return the kind of the object, or the end of the type token if the inputs have no kind."""
        return (self.new or self.old).get("kind", self.type.rpartition(":")[2])

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Return API group, kind, namespace and name of the object."""
        content = self.new or self.old
        metadata = content.get("metadata", EMPTY)
        group = content.get("apiVersion", "").rpartition("/")[0]
        return group, self.kind, metadata.get("namespace", ""), metadata.get("name", "")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message of the program, of a provider or of a policy."""

    severity: str
    """`error` or `warning`. A violated policy gives an error if the policy is mandatory, and a warning if it is not."""
    message: str
    """Text without colours."""
    resource: str
    """Logical name of the resource that the message is about; empty if the message is about no single resource."""
    policy: str = ""
    """Name of the violated policy; empty if the message is not about a policy."""


@dataclass(frozen=True, slots=True)
class Events:
    """The events of one run of the engine."""

    stack: str
    """Name of the stack; empty if the run ended before it named the stack."""
    steps: tuple[Step, ...]
    """Steps on all resources. Several events of one resource with the same operation are one step."""
    diagnostics: tuple[Diagnostic, ...]
    is_complete: bool
    """Whether the log has the summary, which is the last event of a run."""

    @property
    def changes(self) -> tuple[Step, ...]:
        """Return the steps that change objects."""
        return tuple(
            step for step in self.steps if step.is_custom and not step.is_drift and step.operation not in _QUIET
        )

    @property
    def drift(self) -> tuple[Step, ...]:
        """Return the steps in which a refresh found differences: objects that are gone, or that have other values."""
        return tuple(step for step in self.steps if step.is_drift and (step.differences or step.operation == "delete"))

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Return the errors of the run."""
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity == "error")


class EventError(ValueError):
    """Error for a line of an event log that is no event."""

    def __init__(self, number: int) -> None:
        super().__init__(f"line {number} is no event of the engine")
        self.number = number


class _Part(BaseModel):
    """A part of an event. Keys that no report needs are passed over."""

    model_config = ConfigDict(alias_generator=to_camel, defer_build=True, frozen=True, strict=True)


class _State(_Part):
    """A resource before or after a step (StepEventStateMetadata)."""

    custom: bool = False
    inputs: dict[str, Any] | None = None


class _Metadata(_Part):
    """A step on a resource (StepEventMetadata)."""

    op: str
    urn: str
    type: str
    old: _State | None = None
    new: _State | None = None
    diffs: list[str] | None = None
    detailed_diff: dict[str, Any] | None = None


class _Stage(_Part):
    """Beginning or end of a step (ResourcePreEvent, ResOutputsEvent)."""

    metadata: _Metadata


class _Message(_Part):
    """A message (DiagnosticEvent)."""

    severity: str
    message: str
    urn: str = ""
    ephemeral: bool = False


class _Violation(_Part):
    """A violation of a policy (PolicyEvent)."""

    message: str
    policy_name: str
    enforcement_level: str
    resource_urn: str = ""


class _Failure(_Part):
    """The end of a run by an error (ErrorEvent)."""

    error: str


class _Event(_Part):
    """An event; only the field of its kind is present."""

    resource_pre_event: _Stage | None = None
    res_outputs_event: _Stage | None = None
    diagnostic_event: _Message | None = None
    policy_event: _Violation | None = None
    error_event: _Failure | None = None
    summary_event: dict[str, Any] | None = None


def read(lines: Iterable[str]) -> Events:
    """Read the lines of an event log. Raises `EventError` for a line that is no event."""
    steps = _Steps()
    diagnostics = list[Diagnostic]()
    is_complete = False
    for number, line in enumerate(lines, 1):
        if line.strip():
            event = _event(line, number)
            steps.add(event)
            diagnostics += _diagnostics(event)
            is_complete = is_complete or event.summary_event is not None
    return Events(steps.stack, tuple(steps.by_key.values()), tuple(dict.fromkeys(diagnostics)), is_complete)


class _Steps:
    """The steps of the events that were added so far."""

    def __init__(self) -> None:
        self.by_key = dict[tuple[str, str, bool], Step]()
        """Steps by `urn`, `operation` and `is_drift`."""
        self.stack = ""
        self._refreshed = set[str]()
        """URNs of resources whose latest step is a refresh. With `pulumi refresh`, the event at the end of such a step
        has the operation `update` or `delete`, so the operation alone does not identify a refresh."""

    def add(self, event: _Event) -> None:
        """Add the step of an event, if the event is about a step."""
        before = event.resource_pre_event
        stage = event.resource_pre_event or event.res_outputs_event
        if stage is None:
            return
        metadata = stage.metadata
        if before is not None and metadata.op == "refresh":
            self._refreshed.add(metadata.urn)
        elif before is not None:
            self._refreshed.discard(metadata.urn)
        step = _step(metadata, is_drift=metadata.urn in self._refreshed)
        key = (step.urn, step.operation, step.is_drift)
        earlier = self.by_key.get(key)
        # The event at the end of a step may lack the differences that the event before the step had.
        self.by_key[key] = step if earlier is None or step.differences else earlier
        self.stack = self.stack or step.urn.removeprefix("urn:pulumi:").partition("::")[0]


def _event(line: str, number: int) -> _Event:
    """Return the event of a line. The parser refuses values that are nested more than 200 deep (pydantic, jiter)."""
    try:
        return _Event.model_validate_json(line)
    except (ValidationError, UnicodeEncodeError):
        raise EventError(number) from None


def _step(metadata: _Metadata, *, is_drift: bool) -> Step:
    old = metadata.old
    new = metadata.new
    present = new or old
    return Step(
        operation=metadata.op,
        urn=metadata.urn,
        type=metadata.type,
        old=_inputs(old),
        new=_inputs(new),
        differences=tuple(metadata.detailed_diff or metadata.diffs or ()),
        is_custom=present is not None and present.custom,
        is_drift=is_drift,
    )


def _inputs(state: _State | None) -> Mapping[str, Any]:
    if state is None or state.inputs is None:
        return EMPTY
    return shapes.readable(state.inputs)


def _diagnostics(event: _Event) -> Iterator[Diagnostic]:
    message = event.diagnostic_event
    violation = event.policy_event
    failure = event.error_event
    if message is not None and not message.ephemeral and message.severity in {"warning", "error"}:
        yield Diagnostic(message.severity, plain(message.message), message.urn.rpartition("::")[2])
    if violation is not None:
        severity = "warning"
        if violation.enforcement_level == "mandatory":
            severity = "error"
        resource = violation.resource_urn.rpartition("::")[2]
        yield Diagnostic(severity, plain(violation.message), resource, violation.policy_name)
    if failure is not None:
        yield Diagnostic("error", plain(failure.error), "")


def plain(message: str) -> str:
    """Return a message without colour codes of the engine, such as `<{%fg 1%}>`."""
    parts = list[str]()
    end = 0
    while (begin := message.find("<{%", end)) >= 0 and (close := message.find("%}>", begin)) >= 0:
        parts.append(message[end:begin])
        end = close + len("%}>")
    return "".join((*parts, message[end:])).strip()
