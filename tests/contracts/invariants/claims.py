"""Weights on claims: the names of claims, and the folder of each source."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from tests.contracts.invariants.variants import Variant


def folder(model: Mapping[str, Any]) -> str:
    """Return the folder of a source: by all that decides what arrives in it, and whether it may."""
    kind = model["source"].partition("://")[0]
    decides = {"s3": {"endpoint"}, "kit": {"filter", "verify"}, "hf": {"ignorePatterns"}}.get(kind, set())
    asked = {"source": model["source"]} | {key: model[key] for key in decides if key in model}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]


def cached(cache: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a cache holds, in the words of a model."""
    fill = cache.get("fill", {})
    fields = {key: cache[key] for key in ("source", "size", "ignorePatterns") if key in cache}
    return fields | {key: fill[key] for key in ("secrets", "endpoint", "region") if key in fill}


def filled(variant: Variant) -> dict[str, Any]:
    """Return the model as the Job of a service sees it."""
    fill = variant.say("storage", "fill", default={})
    whole = {"ignorePatterns": []} if variant.scheme == "hf" and variant.roles[0].custom else {}
    return whole | {key: fill[key] for key in ("secrets", "endpoint", "region") if key in fill} | {**variant.model}


def kept(variant: Variant) -> tuple[str | None, str | None]:
    """Return the folder of the weights in their claim, and the claim; nothing where each pod fetches them."""
    match variant.say("storage", "type"):
        case "shared":
            subfolder = folder(cached(variant.cache))
            return subfolder, f"cache-{variant.say('storage', 'cache')}-{subfolder}"
        case "dedicated":
            subfolder = folder(filled(variant))
            return subfolder, f"{variant.service}-weights-{subfolder}"
        case "existing":
            above = variant.say("storage", "subPath")
            subfolder = folder(filled(variant))
            return (f"{above}/{subfolder}" if above else subfolder), variant.say("storage", "claimName")
        case _:
            return None, None
