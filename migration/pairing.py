"""Pairs of workloads: the pods of a service, a variant and a role in two renderings.

Workloads of the other system have the names that it gives them. Where the file of a service does not hold the name, as
with values of a chart, the served model decides, and at last that one service and one rendering are left.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from migration import command_lines, fields, names
from migration.accounts import Original
from migration.renderings import RenderedWorkload
from models.base import Spec
from models.paths import Path
from models.vocabulary import Items
from planning.ground import labels, tables
from planning.ground.names import PRIMARY

_MODEL = "--served-model-name="
_Stem = tuple[str, str]
"""Namespace and name of workloads without the suffix, such as those of one release of a chart."""


class WorkloadRow(Spec):
    """A workload that another system renders for a service."""

    suffix: str
    role: str
    place: str
    variant: str = ""


class SourceRow(Spec):
    """The workloads of a source."""

    source: str
    name: str = ""
    """Path of the service's name in its file; empty if workloads have another name."""
    namespace: str = ""
    shared: str = ""
    """Path of fields of all roles; empty: there are none."""
    label: str = ""
    """Label of the pods with the service's name; empty if they have none."""
    workloads: Items[WorkloadRow]


class _WorkloadFile(Spec):
    """The table of workloads."""

    sources: dict[str, SourceRow]


@dataclass(frozen=True, slots=True)
class ServiceFiles:
    """The documents that a service of the configuration is from."""

    key: str
    """Key of the service."""
    name: str
    """Name of the service, which its pods have as a label."""
    namespace: str
    source: str
    """Name of the reader."""
    originals: Mapping[str, Original]
    """The main document of each variant."""


@dataclass(frozen=True, slots=True, order=True)
class PodPlace:
    """The pods of a service, a variant and a role."""

    service: str
    """Key of the service."""
    variant: str
    role: str

    def __str__(self) -> str:
        if self.variant == PRIMARY:
            return f"{self.service} {self.role}"
        return f"{self.service} {self.variant} {self.role}"


@dataclass(frozen=True, slots=True)
class PodPair:
    """The pods of a service, a variant and a role in two renderings. One of them may lack."""

    place: PodPlace
    origin: ServiceFiles
    ours: RenderedWorkload | None
    theirs: RenderedWorkload | None


@dataclass(frozen=True, slots=True)
class PodPairing:
    """All pairs, and the workloads of the other system that belong to no service."""

    pairs: tuple[PodPair, ...]
    strangers: tuple[RenderedWorkload, ...]


def pair(
    ours: Iterable[RenderedWorkload], theirs: Iterable[RenderedWorkload], origins: Iterable[ServiceFiles]
) -> PodPairing:
    """Pair the serving workloads of two renderings."""
    known = {origin.key: origin for origin in origins}
    ours_by_place = dict(_ours(ours, known.values()))
    theirs = tuple(theirs)
    theirs_by_place = _by_names(theirs, known.values())
    _add_by_models(theirs_by_place, theirs, ours_by_place, known.values())
    places = sorted({*ours_by_place, *theirs_by_place})
    pairs = [
        PodPair(place, known[place.service], ours_by_place.get(place), theirs_by_place.get(place)) for place in places
    ]
    paired = {id(workload) for workload in theirs_by_place.values()}
    return PodPairing(tuple(pairs), tuple(workload for workload in theirs if id(workload) not in paired))


def rows(source: str) -> tuple[WorkloadRow, ...]:
    """Return the workloads that a source renders for a service."""
    row = _table().sources.get(source)
    if row is None:
        return ()
    return row.workloads


def shared_fields(source: str) -> str:
    """Return the path of the fields that all roles of a source have; empty if there are none."""
    row = _table().sources.get(source)
    if row is None:
        return ""
    return row.shared


@cache
def _table() -> _WorkloadFile:
    return tables.read(_WorkloadFile, "tables/workloads.yaml", "migration")


def _ours(
    workloads: Iterable[RenderedWorkload], origins: Iterable[ServiceFiles]
) -> Iterator[tuple[PodPlace, RenderedWorkload]]:
    """Yield the workloads that have the labels of this program, with their places."""
    keys = {(origin.namespace, origin.name): origin.key for origin in origins}
    for workload in workloads:
        service = workload.labels.get(labels.SERVICE)
        key = keys.get((workload.namespace, str(service)))
        if key is not None and labels.ROLE in workload.labels:
            variant = str(workload.labels.get(labels.VARIANT))
            yield PodPlace(key, variant, str(workload.labels[labels.ROLE])), workload


def _by_names(
    workloads: Iterable[RenderedWorkload], origins: Iterable[ServiceFiles]
) -> dict[PodPlace, RenderedWorkload]:
    """Return the workloads of the other system whose names or labels say their places."""
    places = dict(_ours(workloads, origins))
    places_by_name = {(namespace, name): place for place, namespace, name in _names(origins)}
    places_by_label = dict(_places_by_label(origins))
    anywhere = {name: place for (_, name), place in places_by_name.items()}
    for workload in workloads:
        place = places_by_name.get((workload.namespace, workload.name)) or places_by_name.get(("", workload.name))
        if place is None and not workload.namespace:
            place = anywhere.get(workload.name)
        if place is None:
            place = _place_of_labels(workload, places_by_label)
        if place is not None:
            places.setdefault(place, workload)
    return places


def _places_by_label(origins: Iterable[ServiceFiles]) -> Iterator[tuple[tuple[str, str, str], PodPlace]]:
    """Yield namespace, label and its value of workloads of the other system, with their places."""
    for origin in origins:
        source = _table().sources.get(origin.source)
        original = origin.originals[PRIMARY]
        if source is not None and source.label and original.name:
            for row in source.workloads:
                key = (original.namespace, source.label, names.label_value(original.name))
                yield key, PodPlace(origin.key, PRIMARY, row.role)


def _place_of_labels(workload: RenderedWorkload, places: Mapping[tuple[str, str, str], PodPlace]) -> PodPlace | None:
    for name, value in workload.labels.items():
        for namespace in (workload.namespace, ""):
            place = places.get((namespace, name, str(value)))
            if place is not None:
                return place
    return None


def _names(origins: Iterable[ServiceFiles]) -> Iterator[tuple[PodPlace, str, str]]:
    """Yield the namespaces and names that workloads of the other system have, with their places."""
    for origin in origins:
        source = _table().sources.get(origin.source)
        for variant, original in origin.originals.items():
            name = None if source is None else _text(original, source.name)
            for row in rows(origin.source):
                if name and (not row.variant or variant == PRIMARY):
                    place = PodPlace(origin.key, row.variant or variant, row.role)
                    yield place, _text(original, source.namespace if source else ""), f"{name}{row.suffix}"


def _text(original: Original, path: str) -> str:
    if not path:
        return ""
    value = original.peek(Path(*fields.parts_of(path)))
    return value if isinstance(value, str) else ""


def _add_by_models(
    places: dict[PodPlace, RenderedWorkload],
    theirs: Iterable[RenderedWorkload],
    ours: Mapping[PodPlace, RenderedWorkload],
    origins: Iterable[ServiceFiles],
) -> None:
    """Add the workloads whose names say nothing: those that serve the model of one service, or the only ones left."""
    paired = {id(workload) for workload in places.values()}
    left = [workload for workload in theirs if id(workload) not in paired and workload.engine is not None]
    known = {place.service for place in places}
    nameless = [origin for origin in origins if origin.key not in known and not any(_names([origin]))]
    for source, group in groupby(nameless, key=lambda origin: origin.source):
        waiting = list(group)
        sets = _sets(left, source)
        for key, stem in _stems(waiting, sets, ours).items():
            for row, workload in sets[stem].items():
                places[PodPlace(key, row.variant or PRIMARY, row.role)] = workload


def _stems(
    origins: Sequence[ServiceFiles],
    sets: Mapping[_Stem, Mapping[WorkloadRow, RenderedWorkload]],
    ours: Mapping[PodPlace, RenderedWorkload],
) -> dict[str, _Stem]:
    """Return the set of workloads for each service that alone has the model of the set, or is alone."""
    if len(origins) == len(sets) == 1:
        return {origins[0].key: next(iter(sets))}
    models = {origin.key: _model_of(origin, ours) for origin in origins}
    models_of_sets = {stem: _model(workloads.values()) for stem, workloads in sets.items()}
    stems = dict[str, _Stem]()
    for key, model in models.items():
        fitting = [stem for stem, other in models_of_sets.items() if model and other == model]
        if len(fitting) == 1 and list(models.values()).count(model) == 1:
            stems[key] = fitting[0]
    return stems


def _sets(workloads: Iterable[RenderedWorkload], source: str) -> dict[_Stem, dict[WorkloadRow, RenderedWorkload]]:
    """Return workloads by namespace and name without the suffix, and by the rows of their suffixes."""
    sets = dict[_Stem, dict[WorkloadRow, RenderedWorkload]]()
    for workload in workloads:
        fitting = [row for row in rows(source) if workload.name.endswith(row.suffix)]
        if fitting:
            row = max(fitting, key=lambda row: len(row.suffix))
            stem = workload.namespace, workload.name.removesuffix(row.suffix)
            sets.setdefault(stem, {})[row] = workload
    return sets


def _model_of(origin: ServiceFiles, ours: Mapping[PodPlace, RenderedWorkload]) -> str:
    return _model(
        workload for place, workload in ours.items() if (place.service, place.variant) == (origin.key, PRIMARY)
    )


def _model(workloads: Iterable[RenderedWorkload]) -> str:
    """Return the name of the model that workloads serve; empty if their arguments do not say it."""
    for workload in workloads:
        for argument in command_lines.arguments(workload.engine or {}):
            if argument.startswith(_MODEL):
                return argument.removeprefix(_MODEL)
    return ""
