"""Verdicts on speculative decoding (`model.speculative`)."""

from collections.abc import Iterator

from models import flags
from models.paths import Path
from models.problems import Problem
from models.speculation import Speculative
from planning.fit import served
from planning.ground.cluster_facts import Unknown
from planning.releases import speculation
from planning.serving import engine_arguments
from planning.variant.context import RoleContext, VariantContext

_OWN_KEYS = frozenset({"method", "model", "num_speculative_tokens"})
_OTHER_FLAGS = frozenset({"--spec-method", "--spec-model", "--spec-tokens"})
"""Flags that say the same as `--speculative-config` (vllm 0.22.0 to 0.32.0, vllm/engine/arg_utils.py)."""


def judge_variant(variant: VariantContext) -> Iterator[Problem]:
    """Check the method of a variant, and the weights that it needs."""
    speculative = variant.spec.model.speculative
    if speculative is None or not variant.kind.vllm_tables:
        return
    at = variant.path / "model" / "speculative"
    facts = speculation.method(speculative.method)
    if speculative.draft is None and facts.draft == "required":
        what = f"is missing, and {speculative.method} guesses tokens by weights of their own"
        yield Problem(at / "draft", what, "add draft.source", (at / "method",))
    if speculative.draft is not None and facts.draft == "unused":
        what = f"has no effect on {speculative.method}, which guesses tokens without weights"
        yield Problem(at / "draft", what, "remove it, or write another method", (at / "method",))
    if facts.equal_vocabulary:
        yield from _vocabulary(variant, at, speculative)


def judge(context: RoleContext) -> Iterator[Problem]:
    """Check that the engine of one role knows the method, and that no argument replaces it."""
    speculative = context.variant.spec.model.speculative
    if speculative is None or not context.kind.vllm_tables or not context.stage.exchanges_kv_cache:
        return
    at = context.variant.path / "model" / "speculative"
    facts = speculation.method(speculative.method)
    version = context.engine_version
    if version is not None and version.is_known and not version.is_at_least(facts.since):
        what = f"is not known to vLLM {version.number} ({speculative.method})"
        remedy = f"use an image of vLLM {facts.since} or newer, or write another method"
        yield Problem(at / "method", what, remedy, (context.path / "engine" / "image",))
    for flag in flags.parse(context.role.engine.args):
        name, _, key = flag.name.partition(".")
        keys = {key} if key else (flags.json_object(flag) or {}).keys()
        is_own = name == engine_arguments.SPECULATION and not _OWN_KEYS.isdisjoint(keys)
        if is_own or name in _OTHER_FLAGS:
            what = f"repeats a field ({name})"
            yield Problem(context.path / "engine" / "args" / flag.index, what, "remove it, and set model.speculative")


def _vocabulary(variant: VariantContext, at: Path, speculative: Speculative) -> Iterator[Problem]:
    """Reject a draft with another vocabulary than the model's, if both are known.

    vLLM ends when it starts (vllm 0.15.0 to 0.32.0, verify_equal_vocab_size_if_draft_model in config/speculative.py).
    """
    if speculative.draft is None:
        return
    sources = served.source_of(variant.spec.model), served.source_of_draft(speculative.draft)
    if any(isinstance(source, Unknown) for source in sources):
        return
    sizes = [source.architecture.vocab_size for source in sources if not isinstance(source, Unknown)]
    if None not in sizes and sizes[0] != sizes[1]:
        what = f"has another vocabulary than the model ({sizes[1]}, {sizes[0]} tokens)"
        yield Problem(at / "draft", what, "use a draft model of the same family", (variant.path / "model",))
