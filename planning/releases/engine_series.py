"""Series that vLLM reports at `/metrics`, by version, and the conditions under which it reports them.

The tables `engines/series.yaml` and `engines/series-labels.yaml` have ranges of versions, written by `make facts` from
the published wheels.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal, TypeVar, cast

from pydantic import Field

from models import flags
from models.base import Spec
from models.trees import mapping, sequence
from planning.ground import tables
from planning.ground.tables import Sourced
from planning.releases import engine_versions

NAME = re.compile(r"""(?<![\w:])vllm:\w+(?![\w:.?(\\]|[*+]["'`]|\[(?!\s*[\d.]+[a-z]|\$))""")
"""Name of a series of vLLM in a query.

A name with a further colon is that of a recorded series. A regular expression such as `vllm:kv_cache.*` has no name;
`[`, `*` and `+` also follow names, as in `vllm:name[5m] * 2`.
"""
Row = TypeVar("Row")
Kind = Literal["counter", "gauge", "histogram"]
BUCKETS_FLAG = "--custom-histogram-buckets"
"""Flag whose value is JSON: an object with the bounds of families of histograms, each list ascending and above zero.

A list replaces the bounds of all histograms of the family. Families that are left out keep their bounds. An unknown
family ends the engine (vllm 0.32.0, vllm/config/observability.py and vllm/v1/metrics/buckets.py).
"""
_SUFFIXES: Mapping[Kind, tuple[str, ...]] = {
    "counter": ("", "_created"),
    "gauge": ("",),
    "histogram": ("_bucket", "_count", "_sum", "_created"),
}
"""Endings that prometheus_client adds to the name of a metric; in `_created`, it replaces a counter's `_total`."""
_TOTAL = "_total"


class SeriesTable(Spec):
    """Metrics that versions of vLLM register, by ranges of versions as in `engine_versions.VersionTable`."""

    versions: list[str]
    """The versions whose wheels were read, in ascending order."""
    counters: dict[str, list[str]]
    """Names of counters. They end in `_total`."""
    gauges: dict[str, list[str]]
    """Names of gauges."""
    histograms: dict[str, list[str]]
    """Names of histograms, without the endings of their series."""


class SeriesLabels(Spec):
    """Labels and bounds of the metrics in `SeriesTable`, by the same ranges of versions."""

    versions: list[str]
    """The versions whose wheels were read, in ascending order."""
    labels: dict[str, dict[str, list[str]]]
    """Names of labels by metric. A metric is absent whose labels depend on other settings."""
    bounds: dict[str, dict[str, list[float] | Literal["contextLength"]]]
    """Upper bounds of a histogram's buckets by metric, in ascending order and without the infinite one.

    `contextLength`: the bounds are 1, 2, 5, 10, 20, 50, … up to the context length of the engine (vllm 0.32.0,
    v1/metrics/buckets.py, `build_1_2_5_buckets`).
    """
    families: dict[str, dict[str, str]]
    """Keys of the value of `--custom-histogram-buckets` by metric."""


class EngineSetting(Spec):
    """A flag, an environment variable, or both together."""

    flags: list[str] = Field(default=[])
    """Spellings of the flag, as `flags.parse` returns them; the first one is for messages. Empty if no flag decides."""
    contains: str | None = None
    """Text in the value of the flag; None if any value does."""
    variable: str | None = None
    """Environment variable; None if no variable decides."""


class SeriesCondition(Sourced):
    """The condition under which an engine has the metrics with some names."""

    series: str
    """Regular expression that the whole name of a metric has."""
    settings: list[EngineSetting] = Field(default=[])
    """Settings of which the engine needs one; empty if no setting decides."""
    when: str | None = None
    """The condition in words; None if settings decide."""


class SeriesConditions(Spec):
    """All conditions."""

    conditions: dict[str, SeriesCondition] = Field(default={})
    """Conditions by name."""


@cache
def metrics(version: str) -> Mapping[str, Kind]:
    """Return the kinds of the metrics that a version of vLLM registers under some settings, by name."""
    table = _table()
    groups: Mapping[Kind, dict[str, list[str]]] = {
        "counter": table.counters,
        "gauge": table.gauges,
        "histogram": table.histograms,
    }
    return {
        name: kind
        for kind, ranges in groups.items()
        for known, names in ranges.items()
        if engine_versions.is_within(version, known)
        for name in names
    }


@cache
def labels(version: str, metric: str) -> frozenset[str]:
    """Return the names of the labels that a metric has in a version, without `le`.

    `metric` is a name as in `metrics`. Empty if the metric has no labels, or if they depend on other settings.
    """
    return frozenset(_of_version(_labels_table().labels, version).get(metric, ()))


@cache
def bounds(version: str, metric: str) -> tuple[float, ...]:
    """Return the upper bounds of the buckets of a histogram, in ascending order and in the unit of its name.

    The infinite bound is left out. Empty if the bounds are unknown, or if they depend on the context length.
    """
    row = _of_version(_labels_table().bounds, version).get(metric, ())
    if isinstance(row, str):
        return ()
    return tuple(row)


@cache
def depends_on_context_length(version: str, metric: str) -> bool:
    """Tell whether the bounds of a histogram are 1, 2, 5, 10, 20, 50, … up to the context length of the engine."""
    return isinstance(_of_version(_labels_table().bounds, version).get(metric), str)


@cache
def bucket_family(version: str, metric: str) -> str | None:
    """Return the key in the value of `BUCKETS_FLAG` that replaces the bounds of a histogram; None if no key does."""
    return _of_version(_labels_table().families, version).get(metric)


def own_bounds(arguments: Sequence[str]) -> Mapping[str, tuple[float, ...]] | None:
    """Return the bounds that arguments of an engine set by `BUCKETS_FLAG`, by key. Empty if they set none.

    A key may also stand after a dot in the name of the flag. None if the value is none that the engine accepts, or if
    it is written in both ways.
    """
    relevant = [flag for flag in flags.parse(arguments) if flag.name.partition(".")[0] == BUCKETS_FLAG]
    values = dict[str, object]()
    for flag in relevant:
        key = flag.name.removeprefix(BUCKETS_FLAG).removeprefix(".")
        values[key] = _json(flag.value)
    if "" in values:
        whole = values.pop("")
        if values or not isinstance(whole, dict):
            return None
        values = dict(mapping(cast("object", whole)))
    bounds = {key: _ascending(value) for key, value in values.items()}
    accepted = {key: row for key, row in bounds.items() if row}
    return accepted if len(accepted) == len(bounds) else None


def _json(text: str | None) -> object:
    """Return the value of a text of JSON; None if it is none."""
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return None


def _ascending(value: object) -> tuple[float, ...]:
    """Return a list of numbers above zero in ascending order; empty if the value is something else."""
    numbers = [number for number in sequence(value) if isinstance(number, int | float) and number > 0]
    is_ascending = all(lower < upper for lower, upper in pairwise(numbers))
    if not is_ascending or len(numbers) < len(sequence(value)):
        return ()
    return tuple(map(float, numbers))


@cache
def names(version: str) -> Mapping[str, str]:
    """Return the metrics of a version by the names of their series, as queries write them."""
    return {name: metric for metric, kind in metrics(version).items() for name in of_metric(metric, kind)}


def of_metric(name: str, kind: Kind) -> Iterator[str]:
    """Yield the names of the series of a metric."""
    for suffix in _SUFFIXES[kind]:
        if kind == "counter" and suffix:
            yield f"{name.removesuffix(_TOTAL)}{suffix}"
        else:
            yield f"{name}{suffix}"


def versions_with(series: str) -> str | None:
    """Return a text for messages with the newest range of versions that report a series; None if no version does."""
    versions = [version for version in _table().versions if series in names(version)]
    if not versions:
        return None
    if versions[-1] == _table().versions[-1]:
        return f"from {versions[0]} on"
    return f"up to {versions[-1]}"


@cache
def conditions() -> Mapping[str, SeriesCondition]:
    """Return the conditions, by name."""
    return tables.read(SeriesConditions, "releases/engines/series-conditions.yaml").conditions


def conditions_of(metric: str) -> tuple[str, ...]:
    """Return the names of the conditions that the engine must fulfil to have a metric."""
    return tuple(name for name, row in conditions().items() if re.fullmatch(row.series, metric))


@cache
def _table() -> SeriesTable:
    return tables.read(SeriesTable, "releases/engines/series.yaml")


@cache
def _labels_table() -> SeriesLabels:
    return tables.read(SeriesLabels, "releases/engines/series-labels.yaml")


def _of_version(ranges: Mapping[str, Mapping[str, Row]], version: str) -> dict[str, Row]:
    """Return the rows of all ranges that contain a version."""
    return {
        name: row
        for known, rows in ranges.items()
        if engine_versions.is_within(version, known)
        for name, row in rows.items()
    }
