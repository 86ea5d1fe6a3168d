"""Event log of Pulumi's engine: the steps of a run of the engine, its diagnostics and its policy violations.

`pulumi preview --event-log FILE` writes an event per line (Pulumi 3.230, sdk/go/common/apitype/events.go, EngineEvent).
The engine masks secrets in the events.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

_QUIET = frozenset({"same", "read", "refresh"})
_NONE: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the engine: an operation on one resource."""

    operation: str
    """The engine's name of the operation: `create`, `update`, `delete`, `same`, `refresh`, …"""
    urn: str
    type: str
    """Type token of the resource."""
    old: Mapping[str, Any]
    """Inputs before the step; empty for a resource that is created."""
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
        return str((self.new or self.old).get("kind", self.type.rpartition(":")[2]))

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Return API group, kind, namespace and name of the object."""
        content = self.new or self.old
        metadata = content.get("metadata", _NONE)
        group = str(content.get("apiVersion", "")).rpartition("/")[0]
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
        return tuple(each for each in self.diagnostics if each.severity == "error")


class EventError(ValueError):
    """Error for a line of an event log that is no event."""

    def __init__(self, number: int) -> None:
        super().__init__(f"line {number} is no event of the engine")
        self.number = number


def read(lines: Iterable[str]) -> Events:
    """Read the lines of an event log. Raises `EventError` for a line that is no event."""
    steps, diagnostics, is_complete = _Steps(), list[Diagnostic](), False
    for number, line in enumerate(lines, 1):
        if line.strip():
            event = _event(line, number)
            try:
                steps.add(event)
                diagnostics += _diagnostics(event)
            except (KeyError, TypeError, AttributeError):
                raise EventError(number) from None
            is_complete = is_complete or "summaryEvent" in event
    return Events(steps.stack, tuple(steps.found.values()), tuple(dict.fromkeys(diagnostics)), is_complete)


class _Steps:
    """The steps of the events that were added so far."""

    def __init__(self) -> None:
        self.found = dict[tuple[str, str, bool], Step]()
        """Steps by `urn`, `operation` and `is_drift`."""
        self.stack = ""
        self._refreshed = set[str]()
        """URNs of resources whose latest step is a refresh. With `pulumi refresh`, the event at the end of such a step
        has the operation `update` or `delete`, so the operation alone does not identify a refresh."""

    def add(self, event: Mapping[str, Any]) -> None:
        """Add the step of an event, if the event is about a step."""
        before, after = event.get("resourcePreEvent"), event.get("resOutputsEvent")
        if before is None and after is None:
            return
        metadata = (before or after or _NONE)["metadata"]
        if before is not None and metadata["op"] == "refresh":
            self._refreshed.add(metadata["urn"])
        elif before is not None:
            self._refreshed.discard(metadata["urn"])
        step = _step(metadata, is_drift=metadata["urn"] in self._refreshed)
        key = (step.urn, step.operation, step.is_drift)
        earlier = self.found.get(key)
        # The event at the end of a step may lack the differences that the event before the step had.
        self.found[key] = step if earlier is None or step.differences else earlier
        self.stack = self.stack or step.urn.removeprefix("urn:pulumi:").partition("::")[0]


def _event(line: str, number: int) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        raise EventError(number) from None
    if not isinstance(found, dict):
        raise EventError(number)
    return cast("Mapping[str, Any]", found)


def _step(metadata: Mapping[str, Any], *, is_drift: bool) -> Step:
    old, new = metadata.get("old") or _NONE, metadata.get("new") or _NONE
    return Step(
        operation=metadata["op"],
        urn=metadata["urn"],
        type=metadata["type"],
        old=old.get("inputs") or _NONE,
        new=new.get("inputs") or _NONE,
        differences=tuple(metadata.get("detailedDiff") or metadata.get("diffs") or ()),
        is_custom=bool((new or old).get("custom")),
        is_drift=is_drift,
    )


def _diagnostics(event: Mapping[str, Any]) -> Iterator[Diagnostic]:
    found, violation = event.get("diagnosticEvent"), event.get("policyEvent")
    if found is not None and not found.get("ephemeral") and found["severity"] in {"warning", "error"}:
        yield Diagnostic(found["severity"], plain(found["message"]), found.get("urn", "").rpartition("::")[2])
    if violation is not None:
        severity = "error" if violation["enforcementLevel"] == "mandatory" else "warning"
        resource = violation.get("resourceUrn", "").rpartition("::")[2]
        yield Diagnostic(severity, plain(violation["message"]), resource, violation["policyName"])
    if (failure := event.get("errorEvent")) is not None:
        yield Diagnostic("error", plain(failure["error"]), "")


def plain(message: str) -> str:
    """Return a message without colour codes of the engine, such as `<{%fg 1%}>`."""
    text = message
    while (begin := text.find("<{%")) >= 0 and (end := text.find("%}>", begin)) >= 0:
        text = text[:begin] + text[end + 3 :]
    return text.strip()
