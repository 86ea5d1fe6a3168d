"""Verdicts on objectives, rules and dashboards that nobody's series could answer."""

from bisect import bisect
from collections.abc import Iterator
from decimal import Decimal

from models.objectives import Latency, Slo
from models.paths import Path
from models.problems import Problem, warning
from models.stack import Stack
from models.vocabulary import milliseconds
from planning.observing import burn_rates, metrics
from planning.observing.metrics import SeriesScope
from planning.picker.context import PickerContext
from planning.releases import engine_series
from planning.releases.engine_versions import EngineVersion
from planning.variant.context import RoleContext, VariantContext

_SHORTEST_WINDOW = 300_000
"""Milliseconds of the shortest window over which rules count."""
_SAMPLES = 4
"""Samples that a rate over the shortest window needs, so that a lost one does no harm (Prometheus documentation,
Querying, rate)."""
_NOUNS = {"ttft": "the time to the first token", "tpot": "the time per output token"}
_UNCHECKED = "make sure that it is the bound of a bucket"
_PREDICTOR = "latencyPredictor"


def judge(stack: Stack) -> Iterator[Problem]:
    """Reject rules and dashboards without series, and warn of objectives that nothing uses."""
    observability = stack.observability
    at = Path("observability")
    is_scraped = observability.metrics.type != "none"
    for key, spec in (("rules", observability.rules), ("dashboards", observability.dashboards)):
        if spec is not None and not is_scraped:
            what = "has no effect while nobody scrapes (type none)"
            remedy = "set observability.metrics.type, or remove it"
            yield Problem(at / key, what, remedy, (at / "metrics" / "type",))
    if observability.rules is None and observability.dashboards is None:
        for key, service in stack.services.items():
            if service.slo is not None and (service.canary is None or service.canary.gates is None):
                what = "has no effect without rules, dashboards and gates"
                yield warning(Path("services", key, "slo"), what, "add observability.rules, or remove it")


def judge_variant(
    variant: VariantContext, roles: tuple[RoleContext, ...], picker: PickerContext | None
) -> Iterator[Problem]:
    """Check that what is scraped of a variant answers the objectives of its service, and the rules.

    `roles` are the roles of the variant that get the requests of clients.
    """
    stack = variant.stack
    if stack.observability.metrics.type == "none":
        return
    if stack.observability.rules is not None:
        yield from _scrapes(variant)
    slo = variant.service.slo
    if slo is None or variant.existing_pool is not None:
        return
    if slo.source == "picker":
        yield from _of_picker(variant, slo, picker)
    else:
        yield from _of_engines(variant, slo, roles)


def _scrapes(variant: VariantContext) -> Iterator[Problem]:
    """Reject scraping that is too rare for rules, and warn of scraping that almost is or that leaves out a variant.

    A series without a sample in the last five minutes counts as absent, so that alerts about absence would always fire.
    """
    spec = variant.spec.metrics
    if variant.existing_pool is not None:
        return
    at = variant.path / "metrics"
    scrapes_picker = spec.picker and variant.has_picker
    remedy = f"write {_SHORTEST_WINDOW // _SAMPLES // 1000}s or less"
    if not scrapes_picker and not (spec.decode and variant.spec.runs_pods):
        what = "leaves the alerts about requests without series, because neither engines nor the picker are scraped"
        yield warning(at, what, "set metrics.decode: true")
    elif milliseconds(spec.interval) >= _SHORTEST_WINDOW:
        what = f"leaves rules no two samples in their shortest window, 5m ({spec.interval})"
        yield Problem(
            at / "interval", what, f"{remedy}, or remove observability.rules", (Path("observability", "rules"),)
        )
    elif milliseconds(spec.interval) * _SAMPLES > _SHORTEST_WINDOW:
        what = f"leaves rules fewer than {_SAMPLES} samples in their shortest window, 5m ({spec.interval})"
        yield warning(at / "interval", what, remedy)


def _of_engines(variant: VariantContext, slo: Slo, roles: tuple[RoleContext, ...]) -> Iterator[Problem]:
    """Check objectives that are counted by engines."""
    at = _slo_path(variant) / "source"
    metrics_at = variant.path / "metrics" / "decode"
    if not variant.spec.runs_pods:
        what = f"counts series of engines, and those of {variant.path} are somebody else's (engine)"
        yield Problem(at, what, "write source: picker", (variant.path / "existingPods",), names_service=True)
    elif not variant.spec.metrics.decode and not _has_gates(variant):
        what = f"counts series of engines, and those of {variant.path} are not scraped (engine)"
        yield Problem(at, what, "set metrics.decode: true, or write source: picker", (metrics_at,), names_service=True)
    for role in roles:
        if role.image is not None and role.engine_version is None:
            what = f"counts series of vLLM, and {role.path} runs {role.kind.title} (engine)"
            yield Problem(at, what, "write source: picker", (role.path / "engine" / "type",), names_service=True)
        elif role.engine_version is not None:
            yield from _bounds_of_engine(role, slo, role.engine_version)
    if slo.ttft is not None and variant.spec.prefill is not None:
        what = f"leaves out the time that prefill pods of {variant.path} take, as decode pods count (engine)"
        yield warning(at, what, "write source: picker")


def _bounds_of_engine(role: RoleContext, slo: Slo, version: EngineVersion) -> Iterator[Problem]:
    scope = SeriesScope(role.variant.namespace, role.variant.names.service, engine=version.number)
    who = f"vLLM {version.number}, which {role.path} runs"
    depends_on = (role.path / "engine" / "image", Path("release"))
    own_bounds = engine_series.own_bounds(role.role.engine.args)
    for name, latency in burn_rates.latencies(slo).items():
        at = _slo_path(role.variant) / name
        family = metrics.bucket_family(name, scope) or ""
        if not version.is_known or own_bounds is None:
            reason = f"the version of vLLM in {role.image} is unknown"
            if version.is_known:
                reason = f"{role.path} sets {engine_series.BUCKETS_FLAG} to no ascending lists of bounds"
            yield warning(at / "within", f"is not checked, because {reason} ({latency.within})", _UNCHECKED)
        elif not metrics.reports("engine", f"{name}_bucket", scope):
            what = f"needs {_NOUNS[name]}, which is not measured by {who}"
            yield Problem(at, what, "use a newer image, or remove it", depends_on, names_service=True)
        elif family in own_bounds:
            setter = f"{role.path}, which sets {engine_series.BUCKETS_FLAG}"
            yield from _bound(at, latency, setter, own_bounds[family], (role.path / "engine" / "args",))
        else:
            yield from _bound(at, latency, who, metrics.bounds("engine", name, scope), depends_on)


def _of_picker(variant: VariantContext, slo: Slo, picker: PickerContext | None) -> Iterator[Problem]:
    """Check objectives that are counted by the endpoint picker."""
    at = _slo_path(variant)
    is_hidden = not variant.spec.metrics.picker
    if picker is not None and is_hidden and _has_gates(variant):
        return
    if picker is None or is_hidden:
        reason = "is not scraped" if picker is not None else "does not exist"
        remedy = "set metrics.picker: true" if picker is not None else "set endpointPicker.enabled: true"
        depends_on = (variant.path / "metrics" / "picker", variant.path / "endpointPicker")
        what = f"counts series of the endpoint picker of {variant.path}, which {reason} (picker)"
        yield Problem(at / "source", what, f"{remedy}, or write source: engine", depends_on, names_service=True)
        return
    catalogue = variant.release.picker.metrics.catalogue
    scope = SeriesScope(variant.namespace, variant.names.service, picker=catalogue)
    who = f"the picker of {variant.release.name}, which {variant.path} runs"
    depends_on = (variant.path / "release", Path("release"))
    for name, latency in burn_rates.latencies(slo).items():
        metric = metrics.of_picker(name, scope)
        if metric is None or (metric.gate == _PREDICTOR and picker.predictor is None):
            what = f"needs {_NOUNS[name]}, which is not measured by {who}"
            yield Problem(at / name, what, "write source: engine, or remove it", depends_on, names_service=True)
        else:
            yield from _bound(at / name, latency, who, metrics.bounds("picker", name, scope), depends_on)


def _bound(
    at: Path, latency: Latency, who: str, bounds: tuple[float, ...], depends_on: tuple[Path, ...]
) -> Iterator[Problem]:
    """Reject a time that is no bound of a bucket. Warn if no bounds are known.

    Bounds between milliseconds are left out, because no duration of the configuration is one.
    """
    exact = tuple(number for number in (Decimal(str(bound)) for bound in bounds) if not number * 1000 % 1)
    seconds = burn_rates.within_seconds(latency)
    if not exact:
        what = f"is not checked, because the bounds of the buckets of {who} are unknown ({latency.within})"
        yield warning(at / "within", what, _UNCHECKED)
        return
    if seconds in exact:
        return
    index = bisect(exact, seconds)
    neighbours = " or ".join(_duration(bound) for bound in exact[max(0, index - 1) : index + 1])
    what = f"is not the bound of a bucket of {who} ({latency.within})"
    yield Problem(at / "within", what, f"write {neighbours}", depends_on, names_service=True)


def _duration(bound: Decimal) -> str:
    """Return a number of seconds, which are whole milliseconds, as a duration of the configuration."""
    if bound % 1:
        return f"{int(bound * 1000)}ms"
    return f"{int(bound)}s"


def _has_gates(variant: VariantContext) -> bool:
    """Tell whether gates count the same series, whose rules refuse a variant that hides them."""
    canary = variant.service.canary
    return canary is not None and canary.gates is not None


def _slo_path(variant: VariantContext) -> Path:
    return Path("services", variant.key, "slo")
