"""Caches of weights, which are keys of the stack, for services of any reader."""

from collections.abc import Sequence

from migration.converted import Converted

_ELSEWHERE = "a cache is in the namespace of the stack, so this service has a claim of its own"


def settle(services: Sequence[Converted], namespace: object) -> None:
    """Keep the caches of services in the namespace of the stack, and let other services have claims of their own.

    Services with the same settings share a cache. Caches with other settings get other keys.
    """
    for converted in services:
        if converted.stack.get("namespace") != namespace:
            _let_own(converted)
    _share(services)


def _let_own(converted: Converted) -> None:
    """Let a service have a claim of its own instead of a cache."""
    caches = converted.stack.pop("caches", {})
    storage = converted.service.get("storage", {})
    for cache in caches.values():
        rest = dict(cache)
        converted.set(rest.pop("source"), "model", "source")
        converted.set(rest.pop("size", None), "model", "size")
        converted.set({"type": "dedicated", **rest, "mountPath": storage["mountPath"]}, "storage")
        converted.documents[0].remark("differs", _ELSEWHERE, converted.key_of("storage"))


def _share(services: Sequence[Converted]) -> None:
    known = dict[str, object]()
    for converted in services:
        caches = converted.stack.get("caches", {})
        for key in list(caches):
            cache = caches.pop(key)
            name = key
            number = 2
            while known.setdefault(name, cache) != cache:
                name = f"{key}-{number}"
                number += 1
            caches[name] = cache
            converted.service["storage"]["cache"] = name
