"""Generations of the KV cache: prefill and decode pods exchange their cache only within a generation.

Prefill pods send their KV cache to decode pods as bytes. The bytes differ between engine versions and models, for
example. Pods with different bytes reject each other at the first request, or silently give wrong answers.

The generation is therefore a hash of all settings that may change the bytes. Every pod has its generation as a label,
and a pool selects the pods of one generation. A change of such a setting creates a new pool with new pods, to which the
requests move.

Settings that are known not to change the bytes are left out of the hash (`neutralFlags` and `neutralVariables` of the
release channel, for example). A change of these settings is a rollout within the same pool. The hash has all other
settings, even settings that this program does not know.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from models import flags
from models.paths import Path
from models.role import Role
from models.service import Variant
from models.stack import Stack
from models.storage import Dedicated, Existing, Shared, Storage
from planning.ground import environment
from planning.releases import Release, engine_kinds
from planning.variant import images, roles

_DIGITS = 5
_NEWER_KEYS = {"load_balancing": "internal", "pods": 1}
"""Keys of `parallelism` that the hash has only if they have other values than these."""


def name_of(
    spec: Variant, stack: Stack, release: Release, images_of: Mapping[str, str | None], block_size: int | None
) -> str | None:
    """Return the name of a variant's generation: five hexadecimal digits.

    `images_of` are the images of the engines by name of the role. `block_size` is that of the KV cache.

    The name is None if all pods answer requests, because then no cache is transferred. The name is also None if all
    roles have the rollout `Recreate`, because then all old pods end before new pods start.
    """
    specs = list(roles.of(spec, Path()))
    if not roles.further(spec) or all(role.spec.rollout.type == "Recreate" for role in specs):
        return None
    text = json.dumps(identity(spec, stack, release, images_of, block_size), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def identity(
    spec: Variant, stack: Stack, release: Release, images_of: Mapping[str, str | None], block_size: int | None
) -> dict[str, Any]:
    """Return the settings from which the hash is made. The parameters are those of `name_of`.

    Each role has its own settings, below the name of the role. Pods of one role and one generation have equal settings.
    """
    return {
        "model": model_identity(spec, stack),
        "blockSize": block_size,
        "connector": engine_kinds.connector(spec),
        **({} if spec.encode is None else {"encoderCache": spec.encode.encoder_cache.connector}),
        **{
            role.name: _role_identity(spec, role.spec, release, images_of[role.name]) for role in roles.of(spec, Path())
        },
    }


def model_identity(spec: Variant, stack: Stack) -> dict[str, Any]:
    """Return the settings of a model and its adapters that may change the bytes of its cache."""
    model = spec.model
    return {
        "source": model.identity,
        "endpoint": model.endpoint or _fill_endpoint(spec.storage, stack),
        "filter": model.filter,
        "lora": _lora_sources(spec),
        **_speculation(spec),
    }


def _speculation(spec: Variant) -> dict[str, Any]:
    """Return the settings of speculative decoding, whose layers have a cache of their own; empty without it."""
    speculative = spec.model.speculative
    if speculative is None:
        return {}
    draft = speculative.draft
    return {"speculative": [speculative.method, speculative.tokens, None if draft is None else draft.identity]}


def _fill_endpoint(storage: Storage, stack: Stack) -> str | None:
    """Return the explicit endpoint of the Job that fills the claim; None if the configuration sets no such endpoint.

    The endpoint is part of the hash, because another endpoint may serve other weights.
    """
    if isinstance(storage, Dedicated | Existing):
        return storage.fill.endpoint
    cache = stack.caches.get(storage.cache) if isinstance(storage, Shared) else None
    if cache is None:
        return None
    return cache.fill.endpoint


def _lora_sources(spec: Variant) -> dict[str, str]:
    lora = spec.model.lora
    if lora is None:
        return {}
    return {name: adapter.identity for name, adapter in lora.adapters.items()}


def _role_identity(spec: Variant, role: Role, release: Release, image: str | None) -> dict[str, object]:
    neutral = frozenset(release.engine.neutral_flags)
    args = [token for flag in flags.parse(role.engine.args) if flag.switch not in neutral for token in flag.tokens]
    return {
        "image": images.identity(spec, image),
        "accelerator": role.accelerator,
        "parallelism": _parallelism(role),
        "acceleratorMemory": role.accelerator_memory,
        "args": args,
        "patch": list(_containers(role.patch)),
        "env": {
            name: value
            for name, value in environment.values(role.engine.env).items()
            if not name.startswith(tuple(release.engine.neutral_variables))
        },
        **_newer_settings(role),
    }


def _newer_settings(role: Role) -> dict[str, object]:
    """Return the programs of a role's engines, and the arguments of a replica's further pods, if the user writes them.

    A program may set variables of its own, and choose another engine. A stack without these keys keeps the hash from
    before the keys existed.
    """
    engine = role.engine
    settings = {
        "command": engine.command,
        "workerCommand": engine.worker_command,
        "workerArgs": engine.worker_args,
    }
    return {name: value for name, value in settings.items() if value}


def _parallelism(role: Role) -> dict[str, object]:
    """Return the layout of a role, without the keys in `_NEWER_KEYS` that have their default values.

    These keys are newer than the others. A stack that does not set them keeps the hash from before the keys existed.
    """
    fields = role.parallelism.model_dump()
    return {name: value for name, value in fields.items() if (name, value) not in _NEWER_KEYS.items()}


def _containers(patch: object) -> Iterator[object]:
    """Yield the lists of containers and init containers in a patch, at any depth.

    Only these lists of a patch count for the generation.
    """
    if not isinstance(patch, dict):
        return
    for key, value in cast("dict[str, object]", patch).items():
        if key in {"containers", "initContainers"}:
            yield value
        else:
            yield from _containers(value)
