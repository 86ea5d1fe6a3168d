"""The context of an endpoint picker: its variant, its configuration, and the latency predictor that it asks."""

from dataclasses import dataclass

from models.paths import Path
from models.picker import EndpointPicker, LatencyPredictor
from models.service import Variant
from planning.picker import config
from planning.picker.config import BuiltConfig
from planning.picker.lint import VariantFacts
from planning.releases import PickerFacts, PredictorServers, Release
from planning.variant import images
from planning.variant.context import VariantContext
from planning.variant.kv_cache import KvCache


@dataclass(frozen=True, slots=True)
class PickerContext:
    """A picker, with all data that decisions about it depend on."""

    variant: VariantContext
    variant_facts: VariantFacts
    built: BuiltConfig | None
    """The configuration of the picker. None if the release lacks the preset."""
    asks_predictor: bool
    """Whether the configuration makes the picker ask a latency predictor."""

    @property
    def path(self) -> Path:
        """Return the path of the picker in the configuration of the stack."""
        return self.variant.path / "endpointPicker"

    @property
    def spec(self) -> EndpointPicker:
        """Return the spec of the picker."""
        return self.variant.spec.endpoint_picker

    @property
    def facts(self) -> PickerFacts:
        """Return the facts of the release about its picker."""
        return self.variant.release.picker

    @property
    def predictor(self) -> LatencyPredictor | None:
        """Return the latency predictor that the picker asks. None if it asks none."""
        if not self.asks_predictor:
            return None
        return self.spec.latency_predictor

    @property
    def predictor_servers(self) -> PredictorServers | None:
        """Return the servers of a latency predictor that run in the picker's pods. None if none run there."""
        predictor = self.predictor
        if predictor is None or predictor.deploy is None or self.facts.latency_predictor is None:
            return None
        return self.facts.latency_predictor.servers


def resolve(variant: VariantContext) -> PickerContext:
    """Return the context of a variant's picker, even if its spec has mistakes."""
    spec = variant.spec
    return PickerContext(
        variant=variant,
        variant_facts=facts_of(spec, variant.release, variant.kv_cache),
        built=config.build(spec, variant.names, variant.release, variant.kv_cache),
        asks_predictor=config.asks_predictor(spec, variant.release.picker),
    )


def facts_of(spec: Variant, release: Release, cache: KvCache) -> VariantFacts:
    """Return the facts of a variant with which the configuration of its picker must agree."""
    roles = [role for role in (spec, spec.prefill) if role is not None]
    is_vllm = not any(images.is_custom(spec, role) for role in roles)
    return VariantFacts(release, spec.prefill is not None, cache.block_size, vllm=is_vllm)
