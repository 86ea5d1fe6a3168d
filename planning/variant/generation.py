"""Which pods of prefill and decode understand each other's cache.

Prefill hands its KV cache to decode as bytes. Pods that differ in the engine's version, the model, or anything else
that shapes or fills those bytes refuse each other at the first request, or answer wrongly without a word. So all that
may matter is one identity, every pod carries it, and a pool holds the pods of one identity only: another one is
another pool beside it, and requests move from one to the other. What is known not to matter is left out, so that such
a change rolls through the pods that are there; everything else counts, known to us or not.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from models import flags
from models.role import Role
from models.service import Variant
from models.stack import Stack
from models.storage import Dedicated, Existing, Shared, Storage
from planning.ground import environment
from planning.hardware.accelerators import AcceleratorClass
from planning.releases import Release
from planning.variant import images, kv_cache

_DIGITS = 5


def of(spec: Variant, stack: Stack, release: Release, classes: Mapping[str, AcceleratorClass]) -> str | None:
    """Return the name of a variant's generation; none where no pod hands its cache to another, or all end first."""
    if spec.prefill is None or spec.rollout.type == spec.prefill.rollout.type == "Recreate":
        return None
    text = json.dumps(identity(spec, stack, release, classes), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def identity(spec: Variant, stack: Stack, release: Release, classes: Mapping[str, AcceleratorClass]) -> dict[str, Any]:
    """Return all that has to be alike in the pods of one generation, role by role where roles may differ."""
    roles: dict[str, Role] = {"decode": spec}
    if spec.prefill is not None:
        roles["prefill"] = spec.prefill
    model = spec.model
    return {
        "model": {
            "source": model.source,
            "endpoint": model.endpoint or _fill_endpoint(spec.storage, stack),
            "filter": model.filter,
            "lora": _lora(spec),
        },
        "blockSize": kv_cache.block_size(spec),
        "connector": spec.kv_cache.connector,
        **{name: _role(spec, role, release, classes) for name, role in roles.items()},
    }


def _fill_endpoint(kept: Storage, stack: Stack) -> str | None:
    """Return where a Job asks for the weights, where it is told by itself: another place may have others."""
    if isinstance(kept, Dedicated | Existing):
        return kept.fill.endpoint
    cache = stack.caches.get(kept.cache) if isinstance(kept, Shared) else None
    return None if cache is None else cache.fill.endpoint


def _lora(spec: Variant) -> dict[str, str]:
    lora = spec.model.lora
    return {} if lora is None else {name: adapter.source for name, adapter in lora.adapters.items()}


def _role(spec: Variant, role: Role, release: Release, classes: Mapping[str, AcceleratorClass]) -> dict[str, object]:
    accelerator = classes.get(role.accelerator)
    vendor = role.accelerator if accelerator is None else accelerator.vendor
    neutral = frozenset(release.engine.neutral_flags)
    given = [token for flag in flags.parse(role.engine.args) if flag.switch not in neutral for token in flag.tokens]
    return {
        "image": images.engine(spec, role, vendor, release),
        "accelerator": role.accelerator,
        "parallelism": role.parallelism.model_dump(),
        "acceleratorMemory": role.accelerator_memory,
        "args": given,
        "patch": list(_containers(role.patch)),
        "env": {
            name: value
            for name, value in environment.values(role.engine.env).items()
            if not name.startswith(tuple(release.engine.neutral_variables))
        },
    }


def _containers(patch: object) -> Iterator[object]:
    """Yield what a patch says of containers, at any depth."""
    if not isinstance(patch, dict):
        return
    for key, value in cast("dict[str, object]", patch).items():
        if key in {"containers", "initContainers"}:
            yield value
        else:
            yield from _containers(value)
