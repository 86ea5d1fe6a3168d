"""Events of the engine for a change from one stack to another, in the form of its event log."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from manifests.assembly import objects, render
from tests.support.stacks import plan

Objects = dict[str, Any]


def log(before: Mapping[str, Any] | None, after: Mapping[str, Any], *messages: tuple[str, str]) -> list[str]:
    """Return the lines of a preview's log. `messages` are severity and text of diagnostics."""
    old, new = ({} if stack is None else _objects(stack) for stack in (before, after))
    events = [{"diagnosticEvent": {"severity": severity, "message": text}} for severity, text in messages]
    events += [_event(name, old.get(name), new.get(name)) for name in {**new, **old}]
    events.append({"summaryEvent": {"isPreview": True}})
    return [json.dumps({"sequence": number, "timestamp": 0} | event) for number, event in enumerate(events)]


def _objects(stack: Mapping[str, Any]) -> Objects:
    return {
        f"{component.name}-{rendered.suffix}": rendered.manifest
        for component in render(plan(stack))
        for rendered in objects((component,))
    }


def _event(name: str, old: Any, new: Any) -> dict[str, Any]:
    op = "create" if old is None else "delete" if new is None else _operation(old, new)
    group = (new or old)["apiVersion"]
    kind = f"kubernetes:{group}:{(new or old)['kind']}"
    sides = {
        side: None if value is None else {"custom": True, "inputs": value}
        for side, value in (("old", old), ("new", new))
    }
    differences = {path: {"diffKind": "update"} for path in _differences(old, new)} if op == "update" else None
    metadata = {"op": op, "urn": f"urn:pulumi:prod::inference-stacks::{kind}::{name}", "type": kind, **sides}
    return {"resourcePreEvent": {"metadata": {**metadata, "detailedDiff": differences}}}


def _operation(old: Any, new: Any) -> str:
    """Return the operation on an object that is there before and after."""
    is_moved = any(old["metadata"].get(key) != new["metadata"].get(key) for key in ("name", "namespace"))
    return "create-replacement" if is_moved else "same" if old == new else "update"


def _differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Yield the paths of values that differ, as the engine writes them."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            yield from _differences(old.get(key), new.get(key), f"{at}.{key}" if at else key)
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            pair = (each[index] if index < len(each) else None for each in (old, new))
            yield from _differences(*pair, f"{at}[{index}]")
    elif old != new:
        yield at


URN = "urn:pulumi:prod::p::kubernetes:apps/v1:Deployment::x"


def step(**changes):
    """Return the line of a step on a Deployment, with other values of its metadata."""
    metadata = {"op": "create", "urn": URN, "type": "kubernetes:apps/v1:Deployment", **changes}
    return json.dumps({"resourcePreEvent": {"metadata": metadata}})
