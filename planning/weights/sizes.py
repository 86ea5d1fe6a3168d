"""Sizes of weights that the configuration does not say: which sources are asked, and what their answers mean.

Only where a claim is made has a size to be known. A size that was told is from then on as if it had been written.
Readers in `facts/` do the asking; a failed read is `Unknown`, never "0 bytes".
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
from planning.ground.names import CANARY
from planning.variant.context import subjects
from planning.weights.claims import cache_of

_ASKED = ("s3", "kit")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question: how many bytes a source brings into a pod."""

    source: str
    endpoint: str | None = None
    region: str | None = None
    insecure: bool = False
    layers: tuple[str, ...] = ("model",)
    """Layers of a ModelKit that are unpacked (`model.filter`)."""
    private: bool = False
    """The pods open the source with credentials, which are not those of whoever asks."""

    def unchecked(self, why: str) -> Unknown:
        """Return that the question has no answer, and what goes unchecked for it."""
        return Unknown(f"neither size nor existence of {self.source} was checked: {why}")


@dataclass(frozen=True, slots=True)
class Size:
    """An answer."""

    bytes: int
    """Bytes of the files; above 0."""
    digest: str | None
    """Of the ModelKit's manifest (`sha256:…`); S3 has none."""
    packed: bool = False
    """Some of the bytes are compressed, or one archive: the files that come out of it take more."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """A source that no pod could be filled from: what is wrong, and what would be right."""

    field: Literal["source", "region", "filter"]
    """The field at fault; `region` and `filter` are the model's, for its adapters too."""
    what: str
    remedy: str


Answer = Size | Unusable | Unknown
AnyVariant = TypeVar("AnyVariant", Service, Canary)
Sized = TypeVar("Sized", Model, Cache)


def questions(stack: Stack) -> dict[Path, Wanted]:
    """Return what has to be asked, by the path of the source in the configuration."""
    return dict(_questions(stack))


def _questions(stack: Stack) -> Iterator[tuple[Path, Wanted]]:
    for key, cache in stack.caches.items():
        wanted = _of_cache(cache)
        if wanted is not None:
            yield Path("caches", key), wanted
    for subject in subjects(stack):
        wanted = _of_variant(subject.spec)
        same = subject.variant == CANARY and wanted == _of_variant(stack.services[subject.key])
        if wanted is not None and not same:
            yield subject.path / "model", wanted


def _of_cache(cache: Cache) -> Wanted | None:
    if cache.size is not None or scheme(cache.source) not in _ASKED:
        return None
    return Wanted(cache.source, cache.fill.endpoint, cache.fill.region, private=bool(cache.fill.secrets))


def _of_variant(spec: Variant) -> Wanted | None:
    model, storage = spec.model, spec.storage
    if not isinstance(storage, Dedicated) or storage.size is not None:
        return None
    if model.size is not None or scheme(model.source) not in _ASKED:
        return None
    return Wanted(
        model.source,
        model.endpoint or storage.fill.endpoint,
        model.region or storage.fill.region,
        model.insecure,
        model.filter,
        private=bool(model.secrets or storage.fill.secrets),
    )


def answered(loaded: Loaded, answers: Mapping[Wanted, Answer]) -> tuple[Loaded, list[Problem]]:
    """Return the configuration with the sizes that were told, and warnings about what could not be asked.

    A source that no pod could be filled from is a problem of its path.
    """
    told, found, warnings = dict[Wanted, str](), list[Problem](), list[Problem]()
    for path, wanted in questions(loaded.stack).items():
        match answers.get(wanted):
            case Size(bytes=size, packed=False):
                told[wanted] = str(size)
            case Size(bytes=size):
                what = f"holds {size} compressed bytes, which says too little for the size of a claim"
                warnings.append(warning(path, what))
            case Unusable(field=field, what=what, remedy=remedy):
                found.append(Problem(path / field, what, remedy))
            case Unknown(reason=reason):
                warnings.append(warning(path, reason))
            case None:
                pass
    stack = _with_sizes(loaded.stack, told)
    return replace(loaded, stack=stack, problems=(*loaded.problems, *found)), warnings


def _with_sizes(stack: Stack, told: Mapping[Wanted, str]) -> Stack:
    caches = {key: _told(cache, _of_cache(cache), told) for key, cache in stack.caches.items()}
    services = {key: _service(one, stack, told) for key, one in stack.services.items()}
    return stack.model_copy(update={"caches": caches, "services": services})


def _service(service: Service, stack: Stack, told: Mapping[Wanted, str]) -> Service:
    canary = None if service.canary is None else _variant(service.canary, stack, told)
    return _variant(service, stack, told).model_copy(update={"canary": canary})


def _variant(spec: AnyVariant, stack: Stack, told: Mapping[Wanted, str]) -> AnyVariant:
    cache = stack.caches.get(cache_of(spec) or "")
    wanted = _of_variant(spec) if cache is None else _of_cache(cache)
    return spec.model_copy(update={"model": _told(spec.model, wanted, told)})


def _told(one: Sized, wanted: Wanted | None, told: Mapping[Wanted, str]) -> Sized:
    size = None if wanted is None else told.get(wanted)
    return one if size is None else one.model_copy(update={"size": size})
