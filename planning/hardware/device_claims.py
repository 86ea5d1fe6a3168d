"""Claims of an accelerator class on devices (Dynamic Resource Allocation): requests, counts and mistakes.

The first request of a claim is for the devices that `parallelism` counts. What else a claim requests, such as network
cards, is not counted anywhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from models.accelerators import ResourceClaim
from models.claims import MOST_DEVICES
from models.paths import Path
from models.problems import Problem

_ONLY_REQUEST = "devices"
"""Name of the request of a claim that has one DeviceClass alone."""


@dataclass(frozen=True, slots=True)
class ClaimedDevices:
    """A request of a claim: equal devices."""

    name: str
    device_class: str
    count: int
    """Number of devices in one claim."""
    selectors: tuple[str, ...] = ()


def requests(claim: ResourceClaim, chips: int = 1) -> tuple[ClaimedDevices, ...]:
    """Return the requests of one claim of a pod that requests `chips` chips.

    None if an existing template has them, or if the claim is mistaken.
    """
    first = 1 if claim.per_device else chips
    if claim.requests:
        return tuple(
            ClaimedDevices(request.name, request.device_class_name, number, request.selectors)
            for request, number in zip(claim.requests, _counts(claim, first), strict=True)
        )
    if claim.device_class_name is None:
        return ()
    return (ClaimedDevices(_ONLY_REQUEST, claim.device_class_name, first, claim.selectors),)


def _counts(claim: ResourceClaim, first: int) -> Iterator[int]:
    yield first
    for request in claim.requests[1:]:
        yield request.count or 1


def device_class(claim: ResourceClaim) -> str | None:
    """Return the DeviceClass of the devices that `parallelism` counts; None if an existing template has it."""
    if claim.requests:
        return claim.requests[0].device_class_name
    return claim.device_class_name


def title(claim: ResourceClaim) -> str:
    """Return the name of the claimed devices in messages: their DeviceClass, or the existing template."""
    return device_class(claim) or claim.template or ""


def count(claim: ResourceClaim, chips: int) -> int:
    """Return the number of claims of a pod that requests `chips` chips."""
    return chips if claim.per_device else 1


def judge(at: Path, claim: ResourceClaim) -> Iterator[Problem]:
    """Yield the mistakes of a claim that do not depend on a service. `at` is the path of the claim."""
    yield from _form(at, claim)
    names = [request.name for request in claim.requests]
    if not names and claim.device_class_name is not None:
        names = [_ONLY_REQUEST]
    for index, request in enumerate(claim.requests):
        place = at / "requests" / index
        if request.name in names[:index]:
            yield Problem(place / "name", f"is the name of another request ({request.name})", "choose another name")
        if index == 0 and request.count is not None:
            what = f"is the number of devices that parallelism decides ({request.count})"
            yield Problem(place / "count", what, "remove it and set parallelism.tensor")
    for index, constraint in enumerate(claim.constraints):
        place = at / "constraints" / index / "requests"
        for number, name in enumerate(constraint.requests):
            if name not in names:
                what = f"is no request of this claim ({name})"
                yield Problem(place / number, what, f"write one of {', '.join(names)}")
            elif name in constraint.requests[:number]:
                yield Problem(place / number, f"stands there twice ({name})", "remove it")


def _form(at: Path, claim: ResourceClaim) -> Iterator[Problem]:
    """Reject a claim without devices, and keys that exclude each other."""
    short_form: dict[str, Any] = {"deviceClassName": claim.device_class_name, "selectors": claim.selectors}
    requested: dict[str, Any] = {"requests": claim.requests, "constraints": claim.constraints}
    if claim.template is not None:
        for key, value in {**short_form, **requested}.items():
            if value:
                what = f"has no effect beside template ({claim.template}), which has the devices already"
                yield Problem(at / key, what, "remove it, or remove template")
    elif claim.requests:
        for key, value in short_form.items():
            if value:
                what = "has no effect beside requests, which have their own"
                yield Problem(at / key, what, "remove it, or remove requests")
    elif claim.device_class_name is None:
        remedy = "add it, such as gpu.nvidia.com, or write requests or template"
        yield Problem(at / "deviceClassName", "is missing", remedy)


def judge_size(at: Path, name: str, claim: ResourceClaim, chips: int) -> Iterator[Problem]:
    """Reject a claim with more devices than a claim gets. `at` is the path of the role, `name` that of the class."""
    claimed = requests(claim, chips)
    total = sum(request.count for request in claimed)
    if total > MOST_DEVICES:
        parts = ", ".join(f"{request.name} {request.count}" for request in claimed)
        what = f"makes a claim of {total} devices ({parts}), and a claim gets at most {MOST_DEVICES}"
        remedy = f"set accelerators.{name}.allocation.perDevice: true, or keep fewer devices in a pod"
        yield Problem(at / "parallelism", what, remedy, (Path("accelerators", name, "allocation"),))
