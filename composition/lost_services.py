"""Check of all inference stacks of a program: whether a run would end running services as a whole."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from composition.instances import Sibling
from judging.causes import Cause
from judging.losses import matching, services
from judging.losses.continuity import planned_objects
from judging.losses.matching import Matches
from judging.losses.services import Loss, PlannedService
from models.paths import Path
from models.problems import Problem, warning
from planning.ground.instances import MAIN
from planning.ground.recorded import NOTHING_RECORDED, Recorded
from planning.releases import former_names

_ALLOW = "allow"


def problems(siblings: Sequence[Sibling]) -> list[Problem]:
    """Return an error for each running service that a run would end, and a warning for each word without effect.

    The words in `allow` of one inference stack apply to all of them, because a program that no longer makes an
    inference stack has no words of it.
    """
    return _problems(siblings, siblings, None)


def problems_of(sibling: Sibling, others: Sequence[Sibling]) -> list[Problem]:
    """Return the same as `problems`, for the services of one inference stack alone.

    `others` are inference stacks of the program, to which services may move; there may be further ones.
    """
    names = {sibling.instance.name}
    if not sibling.instance.prefix:
        names.add(MAIN.name)
    return _problems([sibling], [sibling, *others], names)


def _problems(judged: Sequence[Sibling], siblings: Sequence[Sibling], names: Collection[str] | None) -> list[Problem]:
    """Return the problems of some inference stacks of a program. The services in the state are those of `names`."""
    lost = _losses(siblings, names)
    allowed = {word for sibling in siblings for word in sibling.composition.stack.allow}
    refused = [loss.problem for loss in lost if loss.cause not in allowed]
    causes = {loss.cause for loss in lost}
    return [*refused, *(problem for sibling in judged for problem in _words_without_effect(sibling, causes))]


def absent_instances(siblings: Sequence[Sibling]) -> set[str]:
    """Return the names of the inference stacks that the state has and the program has not made."""
    return _state(siblings).instances.keys() - {sibling.instance.name for sibling in siblings}


def _losses(siblings: Sequence[Sibling], names: Collection[str] | None) -> list[Loss]:
    planned_services = [
        PlannedService.of(service, sibling.instance.path)
        for sibling in siblings
        for service in sibling.composition.plan.services
    ]
    return services.losses(_state(siblings), _matches(siblings), planned_services, names)


def _state(siblings: Sequence[Sibling]) -> Recorded:
    """Return the state. All inference stacks of a program have the same one, unless it could not be read."""
    if siblings:
        return siblings[0].composition.continuity.recorded
    return NOTHING_RECORDED


def _matches(siblings: Sequence[Sibling]) -> Matches:
    """Match the objects of all inference stacks with the state. Objects match by place only if they have an alias."""
    objects = [item for sibling in siblings for item in planned_objects(sibling.composition.components)]
    matches = matching.match(objects, _state(siblings))
    aliases = {urn for sibling in siblings for urn in sibling.composition.continuity.aliases.values()}
    return replace(matches, by_place={name: item for name, item in matches.by_place.items() if item.urn in aliases})


def _words_without_effect(sibling: Sibling, causes: set[Cause]) -> Iterator[Problem]:
    """Yield a warning for each word of an inference stack that allows what the run does not do."""
    composition = sibling.composition
    used: set[str] = {*causes, *composition.continuity.used}
    if former_names.takes_present_meaning(composition.stack, composition.continuity.recorded, sibling.instance):
        used.add(former_names.CHOICE)
    if composition.has_outages:
        used.add(Cause.OUTAGE)
    for index, word in enumerate(sibling.composition.stack.allow):
        if word not in used:
            yield warning(
                Path(*sibling.instance.path, _ALLOW, index), f"has no effect in this run ({word})", "take it out"
            )
