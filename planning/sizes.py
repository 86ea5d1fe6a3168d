"""Sizes of weights that the configuration does not say: which sources are asked, and what their answers mean.

Only where a claim is made has a size to be known. A size that was told is from then on as if it had been written.
Readers in `facts/` do the asking; a failed read is `Unknown`, never "0 bytes".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from models.load import Loaded
from models.problems import Problem
from models.service import Service
from models.source import scheme
from models.stack import Stack
from models.storage import Cache, Dedicated
from planning.facts import Unknown
from planning.storage import cache_of

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


def questions(stack: Stack) -> dict[str, Wanted]:
    """Return what has to be asked, by the path of the source in the configuration."""
    return dict(_questions(stack))


def _questions(stack: Stack) -> Iterator[tuple[str, Wanted]]:
    for key, cache in stack.caches.items():
        if cache.size is None and scheme(cache.source) in _ASKED:
            fill = cache.fill
            yield f"caches.{key}", Wanted(cache.source, fill.endpoint, fill.region, private=bool(fill.secrets))
    for key, service in stack.services.items():
        model, storage = service.model, service.storage
        if isinstance(storage, Dedicated) and storage.size is None and _unknown(service):
            wanted = Wanted(
                model.source,
                model.endpoint or storage.fill.endpoint,
                model.region or storage.fill.region,
                model.insecure,
                model.filter,
                private=bool(model.secrets or storage.fill.secrets),
            )
            yield f"services.{key}.model", wanted


def _unknown(service: Service) -> bool:
    return service.model.size is None and scheme(service.model.source) in _ASKED


def answered(loaded: Loaded, answers: Mapping[Wanted, Answer]) -> tuple[Loaded, list[str]]:
    """Return the configuration with the sizes that were told, and warnings about what could not be asked.

    A source that no pod could be filled from is a problem of its path.
    """
    told, found, warnings = dict[str, str](), list[Problem](), list[str]()
    for path, wanted in questions(loaded.stack).items():
        match answers.get(wanted):
            case Size(bytes=size, packed=False):
                told[path] = str(size)
            case Size(bytes=size):
                warnings.append(f"{path}: holds {size} compressed bytes, which says too little for the size of a claim")
            case Unusable(field=field, what=what, remedy=remedy):
                found.append(Problem(f"{path}.{field}", what, remedy))
            case Unknown(reason=reason):
                warnings.append(f"{path}: {reason}")
            case None:
                pass
    stack = _with_sizes(loaded.stack, told)
    return replace(loaded, stack=stack, problems=(*loaded.problems, *found)), warnings


def _with_sizes(stack: Stack, told: Mapping[str, str]) -> Stack:
    caches = {key: _sized(cache, told.get(f"caches.{key}")) for key, cache in stack.caches.items()}
    services = dict[str, Service]()
    for key, service in stack.services.items():
        cache = cache_of(service)
        size = told.get(f"services.{key}.model") if cache is None else told.get(f"caches.{cache}")
        model = service.model if size is None else service.model.model_copy(update={"size": size})
        services[key] = service.model_copy(update={"model": model})
    return stack.model_copy(update={"caches": caches, "services": services})


def _sized(cache: Cache, size: str | None) -> Cache:
    return cache if size is None else cache.model_copy(update={"size": size})
