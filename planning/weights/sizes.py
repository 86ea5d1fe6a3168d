"""Sizes of weights, if the configuration does not state them: questions to sources, and use of the answers.

A size is needed only if a claim is created. An answer has the same effect as a size in the configuration. Readers in
`facts/` ask the sources. A failed read is `Unknown`, never a size of 0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from models.load import Loaded
from models.paths import Path
from models.problems import Problem, warning
from models.service import Canary, Model, Service, Variant
from models.source import scheme
from models.stack import Stack
from models.storage import Cache, Dedicated
from planning.ground.cluster_facts import Unknown
from planning.variant.context import configured_variants
from planning.weights.claims import cache_of

ASKED = frozenset({"s3", "kit"})
"""Schemes of the sources that a run asks for a size."""
_LOCKED = ASKED | {"hf"}
"""Schemes of the sources whose size a lock may have."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question to a source: how many bytes a pod fetches from it."""

    source: str
    endpoint: str | None = None
    region: str | None = None
    insecure: bool = False
    layers: tuple[str, ...] = ("model",)
    """Layers to unpack from a ModelKit (`model.filter`)."""
    ignored: tuple[str, ...] = ()
    """Patterns of files that are not fetched from a repository."""
    private: bool = False
    """Whether pods read the source with credentials. The readers in `facts/` do not have these credentials."""

    def unknown(self, reason: str) -> Unknown:
        """Return the answer of a failed read. The answer names the checks that are skipped."""
        return Unknown(f"neither size nor existence of {self.source} was checked: {reason}")


@dataclass(frozen=True, slots=True)
class SizeQuestions:
    """Questions about the sizes of weights, by the path of the cache or of the model in the configuration."""

    of_all: Mapping[Path, Wanted]
    """Questions of all caches and models whose size is needed."""
    asked: Mapping[Path, Wanted]
    """Questions to ask. A canary's question is left out if it is that of its primary."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a source."""

    bytes: int
    """Bytes of the files; above 0."""
    digest: str | None
    """Digest of the ModelKit's manifest (`sha256:…`); None for S3."""
    packed: bool = False
    """Whether some files are compressed or archives. Their contents take more bytes than `bytes`."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """The error of a source from which no pod could fetch weights."""

    field: Literal["source", "region", "filter"]
    """The field with the error. Sources of adapters use `region` and `filter` of the model, too."""
    what: str
    remedy: str


Answer = Size | Unusable | Unknown
AnyVariant = TypeVar("AnyVariant", Service, Canary)
Sized = TypeVar("Sized", Model, Cache)


def questions(loaded: Loaded) -> SizeQuestions:
    """Return the questions of a stack.

    A source with a mistake is not asked. Loading has replaced the mistake with an example or a default, so the question
    would go to somebody else's server, with the user's credentials.
    """
    of_all = dict(_questions(loaded.stack))
    asked = {at: question for at, question in of_all.items() if not _is_of_primary(at, of_all)}
    return SizeQuestions(of_all, {at: question for at, question in asked.items() if not _is_mistaken(at, loaded)})


def _is_of_primary(at: Path, of_all: Mapping[Path, Wanted]) -> bool:
    """Tell whether the model of a canary has the question of its primary's model."""
    return at[-2:] == ("canary", "model") and of_all.get(at.parent.parent / "model") == of_all[at]


def _is_mistaken(at: Path, loaded: Loaded) -> bool:
    """Tell whether a model, its storage or a cache has a mistake."""
    if at[0] == "services" and loaded.is_repaired(at.parent / "storage"):
        return True
    return loaded.is_repaired(at)


def _questions(stack: Stack) -> Iterator[tuple[Path, Wanted]]:
    for key, cache in stack.caches.items():
        question = cache_question(cache)
        if question is not None:
            yield Path("caches", key), question
    for variant in configured_variants(stack):
        question = variant_question(variant.spec)
        if question is not None:
            yield variant.path / "model", question


def cache_question(cache: Cache) -> Wanted | None:
    """Return the question for the size of a cache; None if the size is stated, or if no server knows it."""
    if cache.size is not None or scheme(cache.source) not in _LOCKED:
        return None
    return Wanted(cache.source, cache.fill.endpoint, cache.fill.region, private=bool(cache.fill.secrets))


def variant_question(spec: Variant) -> Wanted | None:
    """Return the question for the size of a variant's weights.

    None if no claim needs the size, if the size is stated, or if no server knows it.
    """
    model = spec.model
    storage = spec.storage
    if not isinstance(storage, Dedicated) or storage.size is not None:
        return None
    if model.size is not None or scheme(model.source) not in _LOCKED:
        return None
    return Wanted(
        model.source,
        model.endpoint or storage.fill.endpoint,
        model.region or storage.fill.region,
        model.insecure,
        model.filter,
        private=bool(model.secrets or storage.fill.secrets),
    )


def with_answers(
    loaded: Loaded, questions: SizeQuestions, answers: Mapping[Wanted, Answer]
) -> tuple[Loaded, list[Problem]]:
    """Return the configuration with the sizes from the answers, and warnings about sources without an answer.

    `questions` are those of the configuration. An `Unusable` source becomes a problem of the configuration.
    """
    sizes = dict[Wanted, str]()
    problems = list[Problem]()
    warnings = list[Problem]()
    for path, question in questions.asked.items():
        match answers.get(question):
            case Size(bytes=size, packed=False):
                sizes[question] = str(size)
            case Size(bytes=size):
                what = f"holds {size} compressed bytes, from which the size of the claim cannot be computed"
                warnings.append(warning(path, what))
            case Unusable(field=field, what=what, remedy=remedy):
                problems.append(Problem(path / field, what, remedy))
            case Unknown(reason=reason):
                warnings.append(warning(path, reason))
            case None:
                pass
    sizes_at = {at: sizes[question] for at, question in questions.of_all.items() if question in sizes}
    stack = _with_sizes(loaded.stack, sizes_at)
    return replace(loaded, stack=stack, problems=(*loaded.problems, *problems)), warnings


def _with_sizes(stack: Stack, sizes: Mapping[Path, str]) -> Stack:
    caches = {key: _with_size(cache, sizes.get(Path("caches", key))) for key, cache in stack.caches.items()}
    services = {key: _service_with_sizes(key, service, stack, sizes) for key, service in stack.services.items()}
    return stack.model_copy(update={"caches": caches, "services": services})


def _service_with_sizes(key: str, service: Service, stack: Stack, sizes: Mapping[Path, str]) -> Service:
    at = Path("services", key)
    sized = _variant_with_size(at, service, stack, sizes)
    if service.canary is None:
        return sized
    canary = _variant_with_size(at / "canary", service.canary, stack, sizes)
    return sized.model_copy(update={"canary": canary})


def _variant_with_size(at: Path, spec: AnyVariant, stack: Stack, sizes: Mapping[Path, str]) -> AnyVariant:
    weights_at = at / "model"
    cache = cache_of(spec)
    if cache is not None and cache in stack.caches:
        weights_at = Path("caches", cache)
    return spec.model_copy(update={"model": _with_size(spec.model, sizes.get(weights_at))})


def _with_size(spec: Sized, size: str | None) -> Sized:
    """Return a spec with a size, unless the configuration states a size or no size is known."""
    if size is None or spec.size is not None:
        return spec
    return spec.model_copy(update={"size": size})
