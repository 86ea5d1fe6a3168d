"""Postponed fields: fields of containers that wait until a run replaces the pods anyway.

A new version of this program adds such a field to containers that serve as well without it. The field is part of the
pod template, so it would restart all pods of all stacks in the first run of the new version. That run leaves the field
out of workloads that lack it in Pulumi's state and differ from the state in nothing else that replaces pods. Once a
workload has the field, it keeps it.

Jobs are no matter of this module: the engine ignores changes of a Job that fills a claim (`manifests.storage`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from judging.losses.continuity import Continuity
from judging.pairs import Pair, inputs, pairs, pod_fields
from judging.report.running import WORKLOADS
from manifests import pod_templates
from manifests.assembly import Component
from manifests.objects import Rendered
from manifests.pods import TERMINATION
from models.paths import Path
from models.trees import mapping, sequence
from models.upgrades import Upgrades
from planning.ground.cluster_facts import LiveObjects, Unknown

_FIELDS: Mapping[str, object] = {
    # It tells who looks for the cause why a container ended. A container that does not end is the same without it.
    **TERMINATION,
}
"""Postponed fields of containers with their values, each after the reason why it can wait."""


def postpone(
    components: tuple[Component, ...],
    continuity: Continuity,
    live: LiveObjects | Unknown,
    upgrades: Upgrades | None,
) -> tuple[Component, ...]:
    """Return the components; workloads lack the postponed fields that wait.

    None waits if `upgrades` says so. The fields of an object that Pulumi's state lacks, or has of another cluster, are
    those of the object in the cluster, so that a run which takes an object back does not restart its pods. All fields
    are set if the cluster is unknown, too.
    """
    if not (upgrades is None or upgrades.postpone):
        return components
    if continuity.is_moved or continuity.owner is None:
        return _map(components, lambda planned: _as_in_cluster(planned, live))
    by_id = {pair.planned.id: pair for pair in pairs(components, continuity)}
    return _map(components, lambda planned: _as_in_state(by_id[planned.id], live))


def _map(components: tuple[Component, ...], change: Callable[[Rendered], Rendered]) -> tuple[Component, ...]:
    return tuple(
        replace(component, objects=tuple(change(planned) for planned in component.objects)) for component in components
    )


def _as_in_state(pair: Pair, live: LiveObjects | Unknown) -> Rendered:
    """Return a planned object without the fields that wait, by comparison with the same object in Pulumi's state."""
    planned = pair.planned
    kind = planned.place[1]
    if pair.recorded is None:
        return _as_in_cluster(planned, live)
    if pair.recorded.place != planned.place or kind not in WORKLOADS:
        return planned
    former = inputs(pair.recorded)
    manifest = _without(planned.manifest, Path(), frozenset(_lacking(planned, former)))
    if pod_fields(kind, manifest) != pod_fields(kind, former):
        return planned
    return replace(planned, manifest=manifest)


def _as_in_cluster(planned: Rendered, live: LiveObjects | Unknown) -> Rendered:
    """Return a planned object without the postponed fields that the object in the cluster lacks."""
    if isinstance(live, Unknown) or planned.place not in live.objects or planned.place[1] not in WORKLOADS:
        return planned
    lacking = frozenset(_lacking(planned, live.objects[planned.place].content))
    return replace(planned, manifest=_without(planned.manifest, Path(), lacking))


def _lacking(planned: Rendered, former: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the places of postponed fields that a former object lacks, or has with another value.

    A field that the user wrote in a patch is not postponed.
    """
    for template in pod_templates.templates(planned.manifest):
        for container_at, container in pod_templates.containers(template.spec):
            at = Path(*template.at, "spec", *container_at)
            former_container = mapping(_value(former, at))
            for field, value in _FIELDS.items():
                is_ours = container.get(field) == value and at / field not in planned.origins
                if is_ours and former_container.get(field) != value:
                    yield at / field


def _value(tree: object, at: Path) -> object:
    """Return the value at a path; None if the path leads to nothing."""
    for part in at:
        if isinstance(part, int):
            items = sequence(tree)
            tree = items[part] if part < len(items) else None
        else:
            tree = mapping(tree).get(part)
    return tree


def _without(tree: object, at: Path, absent: Collection[Path]) -> Any:  # noqa: ANN401, any JSON
    """Return a tree without the keys at the paths in `absent`. `at` is the path of the tree."""
    if not absent:
        return tree
    if isinstance(tree, Mapping):
        items = cast("Mapping[str, Any]", tree).items()
        return {key: _without(value, at / key, absent) for key, value in items if at / key not in absent}
    if isinstance(tree, list | tuple):
        return [_without(value, at / index, absent) for index, value in enumerate(cast("Sequence[Any]", tree))]
    return tree
