"""Validation of variants that have no endpoint picker. Requests for such a variant go to its Service."""

from collections.abc import Iterator

from models.paths import Path
from models.picker import EndpointPicker
from models.problems import Problem
from planning.ground.names import CANARY, PRIMARY
from planning.variant import roles
from planning.variant.context import VariantContext


def judge(variant: VariantContext) -> Iterator[Problem]:
    """Reject settings that have an effect only with an endpoint picker."""
    at = variant.path / "endpointPicker"
    yield from _other_keys(at, variant.spec.endpoint_picker)
    yield from _requests(variant)
    for key in roles.further(variant.spec):
        if variant.variant_name == PRIMARY or key not in roles.further(variant.service):
            what = f"leaves {key} pods without requests, because only an endpoint picker chooses such pods (false)"
            yield Problem(at / "enabled", what, f"remove it, or remove {key}", (variant.path / key,))


def judge_canary(variant: VariantContext) -> Iterator[Problem]:
    """Reject a canary if either the canary or the primary has a picker, but the other has none.

    Gateways attach the picker to a whole rule, and refuse a rule with both an InferencePool and a Service as backends
    (nginx-gateway-fabric, `checkForMixedBackendTypes`).
    """
    has_picker = variant.service.endpoint_picker.enabled
    if variant.variant_name == CANARY and variant.has_picker != has_picker:
        at = variant.path / "endpointPicker" / "enabled"
        explicit = str(has_picker).lower()
        what = f"differs from the service's value ({explicit}), but all backends of a rule must be of the same kind"
        service = Path("services", variant.key, "endpointPicker")
        yield Problem(at, what, "remove it, or write the same value for both", (service,))


def _other_keys(at: Path, picker: EndpointPicker) -> Iterator[Problem]:
    for name, field in EndpointPicker.model_fields.items():
        if name in picker.explicit_fields and name != "enabled":
            what = "has no effect without an endpoint picker (enabled: false)"
            remedy = "remove it, or set endpointPicker.enabled: true"
            yield Problem(at / (field.alias or name), what, remedy, (at / "enabled",), explicit_only=True)


def _requests(variant: VariantContext) -> Iterator[Problem]:
    """Reject `objectives` and `rewrites`, because only a picker reads them.

    Without rewrites, requests would reach vLLM with model names that vLLM does not know.
    """
    enabled = variant.path / "endpointPicker" / "enabled"
    remedy = "remove it, or set endpointPicker.enabled: true"
    if variant.spec.objectives:
        what = "has no effect without an endpoint picker"
        yield Problem(variant.path / "objectives", what, remedy, (enabled,), explicit_only=True)
    if variant.variant_name != CANARY and variant.service.rewrites:
        what = "leads to requests that the engine refuses: only a picker rewrites them, and the service has no picker"
        yield Problem(variant.path / "rewrites", what, remedy, (enabled,))
