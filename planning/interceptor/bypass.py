"""Checks of settings that need an endpoint picker: metered requests bypass the picker and go to a Service."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from models.autoscaling import Autoscaling, PickerMetric, SaturationMetric
from models.paths import Path
from models.problems import Problem, warning
from models.service import Canary, Service, Variant
from planning.interceptor.facts import Mode
from planning.variant import roles
from planning.variant.canary import ALL
from planning.variant.context import VariantContext

_PAST = "the interceptor sends requests to the Service, past the endpoint picker"


@dataclass(frozen=True, slots=True)
class _Bypass:
    """A key of a variant that has its effect only through an endpoint picker."""

    key: str
    is_set: Callable[[Variant], object]
    what: str
    explicit_only: bool = False
    """Whether the key is harmless if it is inherited."""


_BYPASSES = (
    _Bypass("prefill", lambda variant: variant.prefill, "would leave its pods without requests"),
    _Bypass("encode", lambda variant: variant.encode, "would leave its pods without requests"),
    _Bypass("objectives", lambda variant: variant.objectives, "has no effect on metered requests", explicit_only=True),
    _Bypass(
        "rewrites",
        lambda variant: isinstance(variant, Service) and variant.rewrites,
        "leads to requests that the engine refuses",
    ),
)


def judge(path: Path, service: Service, mode: Mode) -> Iterator[Problem]:
    """Reject settings that have no effect, or a wrong effect, on a metered service."""
    canary = service.canary
    yield from _canary_problems(path, canary, mode)
    variants: dict[Path, Variant] = {path: service}
    if canary is not None:
        variants[path / "canary"] = canary
    for at, variant in variants.items():
        for bypass in _BYPASSES:
            inherited = variant is canary and bypass.is_set(service)
            if bypass.is_set(variant) and not inherited:
                yield _problem(path, at / bypass.key, bypass.what, explicit_only=bypass.explicit_only)
        yield from _scaling_problems(path, at, variant)


def _problem(service: Path, at: Path, what: str, *, explicit_only: bool = False) -> Problem:
    remedy = f"remove it, or set {service}.interceptor.enabled: false"
    depends_on = (Path("interceptor"), service / "interceptor")
    return Problem(at, f"{what}: {_PAST}", remedy, depends_on, explicit_only=explicit_only)


def _canary_problems(path: Path, canary: Canary | None, mode: Mode) -> Iterator[Problem]:
    """Reject a canary that would get no requests, and a canary with a share.

    The interceptor cannot divide the requests of a rule between primary and canary.
    """
    if canary is None:
        return
    depends_on = (Path("interceptor"), path / "interceptor")
    at = path / "canary"
    remedy = f"set {path}.interceptor.enabled: false"
    if mode == "label":
        what = "would get no requests (in mode label, the interceptor sends all requests to the primary)"
        yield Problem(at, what, f"remove it, or {remedy}", depends_on)
    elif 0 < canary.weight < ALL:
        what = f"cannot divide requests: the interceptor sends all requests of a rule to one Service ({canary.weight})"
        yield Problem(at / "weight", what, f"write 0 with headers, or 100, or {remedy}", depends_on)


def _scaling_problems(path: Path, at: Path, variant: Variant) -> Iterator[Problem]:
    """Reject metrics of an endpoint picker, and zero replicas.

    The picker gets no requests, so its metrics never change. Its queue stays empty, and nothing but the queue scales a
    role up from zero replicas.
    """
    if not variant.endpoint_picker.enabled:
        return
    for role in roles.of(variant, at):
        if role.stage.is_destination and role.spec.autoscaling is not None:
            yield from _role_scaling(path, role.path / "autoscaling", role.spec.autoscaling)


def _role_scaling(path: Path, at: Path, scaling: Autoscaling) -> Iterator[Problem]:
    for index, metric in enumerate(scaling.metrics):
        if isinstance(metric, PickerMetric | SaturationMetric):
            yield _problem(path, at / "metrics" / index / "type", f"never changes ({metric.type})")
    if scaling.min_replicas == 0:
        yield _problem(path, at / "minReplicas", "would never scale up from zero (0)")


def judge_picker(variant: VariantContext) -> Iterator[Problem]:
    """Yield the warning that a variant of a metered service has an endpoint picker that gets no requests."""
    if variant.has_picker:
        what = f"gets no requests of the gateway: {_PAST}"
        yield warning(variant.path / "endpointPicker", what, "set endpointPicker.enabled: false")
