"""Validation of names of sources whose content may change: pods that start later would fetch other files.

No preview shows such a change, because the name stays the same.
"""

from collections.abc import Iterable, Iterator, Mapping

from models.paths import Path
from models.problems import Problem, warning
from models.service import Model
from models.source import hub, kit_tag, scheme
from models.stack import Stack
from planning.ground.names import CANARY
from planning.variant.context import ConfiguredVariant
from planning.weights import claims

MUTABLE_TAGS = frozenset({"latest", "main"})
"""Tags that projects move to newer content."""
_DEFAULT_BRANCH = "main"
"""Branch of a Hugging Face repository that a source without a revision means."""


def problems(stack: Stack, variants: Iterable[ConfiguredVariant]) -> Iterator[Problem]:
    """Reject ModelKits with a tag that projects move."""
    sources = [*_of_caches(stack).items(), *(item for variant in variants for item in _of_variant(variant).items())]
    for at, source in sources:
        tag = kit_tag(source)
        if tag in MUTABLE_TAGS:
            what = f"is another ModelKit from one day to the next ({tag})"
            yield Problem(at, what, "write a version or a digest")


def variant_warnings(variant: ConfiguredVariant) -> Iterator[Problem]:
    """Yield warnings about names whose content may change; for a canary only about those that its service lacks."""
    sources = _of_variant(variant)
    known = set[str]() if variant.variant_name != CANARY else _sources(variant.service.model)
    yield from _warnings({at: source for at, source in sources.items() if source not in known})


def cache_warnings(stack: Stack) -> Iterator[Problem]:
    """Yield warnings about names whose content may change, of the sources of caches."""
    yield from _warnings(_of_caches(stack))


def _of_caches(stack: Stack) -> dict[Path, str]:
    return {Path("caches", key, "source"): cache.source for key, cache in stack.caches.items()}


def _of_variant(variant: ConfiguredVariant) -> dict[Path, str]:
    """Return the sources of a variant that are fetched, by path. The source of a shared cache is the cache's."""
    model, at = variant.spec.model, variant.path / "model"
    sources = {at / "source": model.source} if claims.cache_of(variant.spec) is None else {}
    adapters = {} if model.lora is None else model.lora.adapters
    return sources | {at / "lora" / "adapters" / name / "source": adapter.source for name, adapter in adapters.items()}


def _sources(model: Model) -> set[str]:
    adapters = () if model.lora is None else model.lora.adapters.values()
    return {model.source, *(adapter.source for adapter in adapters)}


def _warnings(sources: Mapping[Path, str]) -> Iterator[Problem]:
    for at, source in sources.items():
        tag, (name, revision) = kit_tag(source), hub(source)
        if tag is not None:
            untagged = source.removesuffix(f":{tag}")
            what = f"is a tag, so the files may change under it ({tag})"
            yield warning(at, what, f"write the digest: {untagged}@sha256:<digest>")
        elif scheme(source) == "hf" and revision is None:
            what = f"names no revision, so the files may change under it ({source})"
            yield warning(at, what, f"add the commit: hf://{name}@<commit>")
        elif scheme(source) == "hf" and revision == _DEFAULT_BRANCH:
            what = f"is a branch, so the files may change under it ({revision})"
            yield warning(at, what, f"write the commit: hf://{name}@<commit>")
