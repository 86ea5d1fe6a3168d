"""Weights on claims: the names of claims, and the folder of each source."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from tests.contracts.invariants.wishes import Wish


def folder(model: Mapping[str, Any]) -> str:
    """Return the folder of a source: by all that decides what arrives in it, and whether it may."""
    kind = model["source"].partition("://")[0]
    decides = {"s3": {"endpoint"}, "kit": {"filter", "verify"}, "hf": {"ignorePatterns"}}.get(kind, set())
    asked = {"source": model["source"]} | {key: model[key] for key in decides if key in model}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]


def cached(cache: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a cache holds, in the words of a model."""
    fill = cache.get("fill", {})
    said = {key: cache[key] for key in ("source", "size", "ignorePatterns") if key in cache}
    return said | {key: fill[key] for key in ("secrets", "endpoint", "region") if key in fill}


def filled(wish: Wish) -> dict[str, Any]:
    """Return the model as the Job of a service sees it."""
    fill = wish.say("storage", "fill", default={})
    whole = {"ignorePatterns": []} if wish.scheme == "hf" and wish.roles[0].custom else {}
    return whole | {key: fill[key] for key in ("secrets", "endpoint", "region") if key in fill} | {**wish.model}


def kept(wish: Wish) -> tuple[str | None, str | None]:
    """Return the folder of the weights in their claim, and the claim; nothing where each pod fetches them."""
    match wish.say("storage", "type"):
        case "shared":
            own = folder(cached(wish.cache))
            return own, f"cache-{wish.say('storage', 'cache')}-{own}"
        case "dedicated":
            own = folder(filled(wish))
            return own, f"{wish.service}-weights-{own}"
        case "existing":
            above = wish.say("storage", "subPath")
            own = folder(filled(wish))
            return (f"{above}/{own}" if above else own), wish.say("storage", "claimName")
        case _:
            return None, None
