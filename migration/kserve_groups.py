"""Route groups of LLMInferenceServices: two members that share requests become a service and its canary."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from migration.accounts import Original
from migration.converted import Converted
from migration.fields import Fate
from migration.inheritance import differing
from models.paths import Path
from models.trees import at
from planning.ground.names import CANARY
from planning.variant.canary import ALL

_ROUTE = Path("spec", "router", "route")
_GROUP = _ROUTE / "group"
_WEIGHT = _ROUTE / "weight"
_NAME = Path("metadata", "name")
_STOP = Path("metadata", "annotations", "serving.kserve.io/stop")
_OF_ROUTE = ("name", "namespace", "route")
"""Keys of a service that its canary lacks."""
_SHARED = "services.*.canary.weight"
_STOPPED = "a stopped member gets no requests, and is a service without pods"
_NO_GROUP = "a weight has a meaning within a group alone"
_OTHER_MODEL = "members with other models share no requests"
_NO_REQUESTS = "no member has a weight, so nobody gets requests"
_MANY = "a service has one canary, and the group has more members; weights of the others are lost"
_PICKERS = "a service and its canary both have an endpoint picker, or neither has"
_GATEWAYS = "the members have different Gateways, and a service has one"
_NO_GATEWAY = "a weight needs a gateway; 0 is taken"
_ROUNDED = "a weight is a percentage here, so {shares} become {percentages}"
_NAMES = "the canary has the name of its service, which is {name}"
_PATHS = "requests to the paths of both members are divided, and KServe divides those that name the model in a header"
_OTHER_ROUTE = "the route is that of {name}, which has the larger weight"
_STACK = "{key}: another member of the group says something else"


def join(services: Sequence[Converted]) -> list[Converted]:
    """Return services of which those of a group are one. A note says so where they have to stay apart."""
    joined = list[Converted]()
    for members in _groups(services):
        joined += _services_of_group(members)
    return joined


def _groups(services: Sequence[Converted]) -> Iterator[list[Converted]]:
    """Yield the members of each group together. A service without a group is a group of its own."""
    groups = dict[object, list[Converted]]()
    for service in services:
        document = service.documents[0]
        group = document.peek(_GROUP)
        key = (document.namespace, group) if isinstance(group, str) else id(service)
        groups.setdefault(key, []).append(service)
    yield from groups.values()


def _services_of_group(members: Sequence[Converted]) -> list[Converted]:
    """Return the services of a group."""
    if len(members) == 1:
        _note_alone(members[0])
        return list(members)
    running = [member for member in members if member.documents[0].peek(_STOP) != "true"]
    for member in members:
        if member not in running:
            _note(member, "dropped", _STOPPED)
    services = [member for member in members if member not in running]
    models = dict[tuple[str, ...], list[Converted]]()
    for member in running:
        models.setdefault(_models(member), []).append(member)
    for sharing in models.values():
        services += _sharing(sharing)
    return services


def _note_alone(member: Converted) -> None:
    """Ask for the other members of a group. KServe refuses a weight without a group."""
    if member.documents[0].has(_GROUP):
        _note(member, "ask", "")
    else:
        _note(member, "dropped", _NO_GROUP)


def _models(member: Converted) -> tuple[str, ...]:
    """Return the names of the models that a member serves, by which KServe compares members."""
    model = member.service.get("model", {})
    adapters = at(model, "lora", "adapters")
    return str(model.get("name")), *sorted(cast("Mapping[str, Any]", adapters or {}))


def _sharing(members: Sequence[Converted]) -> list[Converted]:
    """Return the services of members that share requests."""
    if len(members) == 1:
        _note(members[0], "dropped", _OTHER_MODEL)
        return list(members)
    primary, canary = sorted(members, key=lambda member: (-_weight(member), member.key))[:2]
    reason = _obstacle(members, primary, canary)
    if reason is None:
        return [_with_canary(primary, canary)]
    for member in members:
        _note(member, "cannot", reason)
    return list(members)


def _obstacle(members: Sequence[Converted], primary: Converted, canary: Converted) -> str | None:
    """Return why members cannot be a service and its canary; None if they can."""
    if len(members) > 2:  # noqa: PLR2004, a service and its canary
        return _MANY
    if not _weight(primary):
        return _NO_REQUESTS
    if _has_picker(primary) != _has_picker(canary):
        return _PICKERS
    if primary.stack.get("gateway") != canary.stack.get("gateway"):
        return _GATEWAYS
    return None


def _weight(member: Converted) -> int:
    weight = member.documents[0].peek(_WEIGHT)
    return weight if type(weight) is int and weight > 0 else 0


def _has_picker(member: Converted) -> bool:
    return at(member.service, "endpointPicker", "enabled") is not False


def _with_canary(primary: Converted, canary: Converted) -> Converted:
    """Return the primary with the other member as its canary."""
    name = primary.documents[0].name
    canary.documents[0].note(_NAME, "differs", _NAMES.format(name=name), canary.key_of())
    _join_routes(primary, canary)
    inherited = {key: value for key, value in primary.service.items() if key not in _OF_ROUTE}
    own_keys = {key: value for key, value in canary.service.items() if key not in _OF_ROUTE}
    section = {"weight": _percentage(primary, canary), **differing(inherited, own_keys)}
    primary.service[CANARY] = section
    _join_stacks(primary.stack, canary.stack, canary.documents[0], Path())
    primary.variants[CANARY] = canary
    return primary


def _percentage(primary: Converted, canary: Converted) -> int:
    """Return the weight of the canary in percent, with a note if it is another share. It is 0 without a gateway."""
    shares = (_weight(primary), _weight(canary))
    if "gateway" not in primary.stack:
        for member in (primary, canary):
            _note(member, "ask", _NO_GATEWAY)
        return 0
    exact = ALL * shares[1] / sum(shares)
    percentage = round(exact)
    if shares[1]:
        percentage = max(percentage, 1)
    if percentage == exact:
        fate: Fate = "carried"
        reason = _SHARED
    else:
        fate = "differs"
        percentages = f"{ALL - percentage} and {percentage}"
        reason = _ROUNDED.format(shares=f"{shares[0]} and {shares[1]}", percentages=percentages)
    for member in (primary, canary):
        _note(member, fate, reason)
    return percentage


def _join_routes(primary: Converted, canary: Converted) -> None:
    """Let the route of the primary have the paths of both members, if nobody wrote rules."""
    route = primary.service.get("route", {})
    other = canary.service.get("route", {})
    rest = {key: value for key, value in route.items() if key != "matches"}
    if rest != {key: value for key, value in other.items() if key != "matches"}:
        reason = _OTHER_ROUTE.format(name=primary.documents[0].name)
        canary.documents[0].note(_ROUTE / "http" / "spec", "differs", reason, primary.key_of("route"))
    elif route:
        matches = {json.dumps(match, sort_keys=True): match for match in (*route["matches"], *other["matches"])}
        route["matches"] = list(matches.values())
        primary.documents[0].remark("differs", _PATHS, primary.key_of("route"))


def _join_stacks(stack: dict[str, Any], other: Mapping[str, Any], document: Original, place: Path) -> None:
    """Add the keys of another stack. A note says that a key with another value is lost."""
    for key, value in other.items():
        if key not in stack:
            stack[key] = value
        elif isinstance(stack[key], dict) and isinstance(value, dict):
            _join_stacks(stack[key], cast("dict[str, Any]", value), document, place / key)
        elif stack[key] != value:
            document.remark("cannot", _STACK.format(key=place / key), place / key)


def _note(member: Converted, fate: Fate, reason: str) -> None:
    """Note what becomes of the group and the weight of a member."""
    document = member.documents[0]
    for path in (_GROUP, _WEIGHT):
        if document.has(path):
            document.note(path, fate, reason, member.key_of())
