"""The context of an endpoint picker: its variant, its configuration, and the latency predictor that it asks."""

from collections.abc import Iterable
from dataclasses import dataclass

from models.paths import Path
from models.picker import EndpointPicker, LatencyPredictor
from models.problems import Problem, errors
from models.service import Variant
from planning.picker import config, graph, lint
from planning.picker.config import CUSTOM, BuiltConfig
from planning.picker.lint import VariantFacts
from planning.releases import Release
from planning.releases.picker_facts import PickerFacts, PredictorServers
from planning.variant import roles
from planning.variant.context import VariantContext, VariantId
from planning.variant.kv_cache import KvCacheSettings


@dataclass(frozen=True, slots=True)
class PickerVerdict:
    """Facts that follow from the text of a configuration alone."""

    combination_problems: tuple[Problem, ...]
    """Errors in the configuration that this program makes of a preset and other keys. Empty for a user's
    configuration, in which errors are found at the places of the user."""
    is_experimental: bool
    """Whether the configuration declares alpha plugins, which the picker loads only with a flag."""
    app_protocol: str | None
    """appProtocol that the pool needs for the parsers of the configuration. None if the default is enough."""


_NO_VERDICT = PickerVerdict((), is_experimental=False, app_protocol=None)


@dataclass(frozen=True, slots=True)
class PickerContext:
    """A picker, with all data that decisions about it depend on."""

    variant: VariantContext
    variant_facts: VariantFacts
    built: BuiltConfig | None
    """The configuration of the picker. None if the release lacks the preset."""
    verdict: PickerVerdict
    """Facts that follow from the configuration. Empty if there is none."""
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
    def asks_service(self) -> bool:
        """Return whether the picker asks the variant's Service for the tokens of prompts."""
        return self.built is not None and self.built.asks_service

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


def resolve(variants: Iterable[VariantContext]) -> dict[VariantId, PickerContext]:
    """Return the contexts of the pickers of variants, even if their specs have mistakes.

    Many services share a configuration, which is judged once.
    """
    contexts = dict[VariantId, PickerContext]()
    for variant in variants:
        if variant.has_picker:
            contexts[variant.id] = _context(variant, contexts.values())
    return contexts


def _context(variant: VariantContext, others: Iterable[PickerContext]) -> PickerContext:
    spec = variant.spec
    variant_facts = facts_of(spec, variant.release, variant.kv_cache)
    built = config.build(spec, variant.names, variant.release, variant.kv_cache)
    verdict = _NO_VERDICT
    if built is not None:
        equal = (other for other in others if _is_twin(other, spec, built, variant_facts))
        twin = next(equal, None)
        verdict = _verdict(spec, built, variant_facts) if twin is None else twin.verdict
    asks_predictor = config.asks_predictor(spec, variant.release.picker)
    return PickerContext(variant, variant_facts, built, verdict, asks_predictor)


def _is_twin(other: PickerContext, spec: Variant, built: BuiltConfig, variant_facts: VariantFacts) -> bool:
    """Tell whether a configuration has the verdict of another one."""
    is_custom = spec.endpoint_picker.preset == CUSTOM
    is_other_custom = other.spec.preset == CUSTOM
    return is_custom == is_other_custom and (other.built, other.variant_facts) == (built, variant_facts)


def _verdict(spec: Variant, built: BuiltConfig, variant_facts: VariantFacts) -> PickerVerdict:
    problems: tuple[Problem, ...] = ()
    if spec.endpoint_picker.preset != CUSTOM:
        problems = tuple(errors(lint.judge(Path(), built.tree, variant_facts)))
    facts = variant_facts.picker
    return PickerVerdict(problems, graph.is_experimental(built.tree, facts), graph.app_protocol(built.tree, facts))


def facts_of(spec: Variant, release: Release, cache: KvCacheSettings) -> VariantFacts:
    """Return the facts of a variant with which the configuration of its picker must agree."""
    is_vllm = all(role.kind.vllm_tables for role in roles.of(spec, Path()))
    encodes = spec.encode is not None and release.picker.encode is not None
    return VariantFacts(release, spec.prefill is not None, cache.block_size, vllm=is_vllm, encodes=encodes)
