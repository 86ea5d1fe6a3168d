"""Verdicts on the gates of a canary: whether there are counts of the requests that they compare."""

from collections.abc import Iterator

from models.objectives import Slo
from models.paths import Path
from models.problems import Problem, warning
from models.service import Canary, Service
from models.stack import Stack

_METRICS_TYPE = Path("observability", "metrics", "type")


def judge(path: Path, service: Service, stack: Stack) -> Iterator[Problem]:
    """Reject gates for which the stack lacks objectives or metrics. Warn of gates that can never decide."""
    canary = service.canary
    if canary is None or canary.gates is None:
        return
    at = path / "canary" / "gates"
    if service.existing_pool is not None:
        what = "needs series of a pool that somebody else made, and the stack scrapes none (existingPool)"
        yield Problem(at, what, "remove it", (path / "existingPool",))
        return
    yield from _objectives(path, at, service.slo, canary)
    yield from _metrics(path, at, service, stack)
    if canary.headers:
        what = "brings the canary requests that are not drawn by lot, so gates decide nothing"
        yield warning(path / "canary" / "headers", what, "remove it before you ask for a verdict")


def _objectives(path: Path, at: Path, slo: Slo | None, canary: Canary) -> Iterator[Problem]:
    """Reject gates of a service without objectives, and gates for times without the threshold that they count by."""
    gates = canary.gates
    if gates is None:
        return
    if slo is None:
        what = "needs slo, which says what is counted"
        yield Problem(
            at, what, "add slo to the service or to defaults, such as slo: {availability: 99.9}", (path / "slo",)
        )
        return
    for name in ("ttft", "tpot"):
        if getattr(gates.worse, name) is not None and getattr(slo, name) is None:
            what = f"needs slo.{name}.within, above which a request is slow"
            yield Problem(at / "worse" / name, what, f"add slo.{name}, or remove it", (path / "slo",))


def _metrics(path: Path, at: Path, service: Service, stack: Stack) -> Iterator[Problem]:
    """Reject gates without the series of both variants."""
    if stack.observability.metrics.type == "none":
        what = "needs observability.metrics, by which both variants are scraped"
        remedy = "set observability.metrics.type: prometheus-operator, or gmp"
        yield Problem(at, what, remedy, (_METRICS_TYPE,))
    source = "engine" if service.slo is None else service.slo.source
    for key, variant in ((path, service), (path / "canary", service.canary)):
        if variant is None:
            continue
        if source == "picker" and not variant.metrics.picker:
            what = "hides the series of the picker, which gates count (false)"
            yield Problem(key / "metrics" / "picker", what, "write true, or remove gates", (at, path / "slo"))
        if source == "engine" and variant.runs_pods and not variant.metrics.decode:
            what = "hides the series of the engines, which gates count (false)"
            yield Problem(key / "metrics" / "decode", what, "write true, or remove gates", (at, path / "slo"))
