"""Verdicts on model sources, storage, caches and fills."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import cast

from models.paths import Path
from models.problems import Problem, warning
from models.role import RollingUpdate
from models.secrets import TokenSecret
from models.service import Adapter, Model
from models.source import scheme, served_name
from models.stack import Stack
from models.storage import MODEL_MOUNT, Cache, Dedicated, EngineLoaded, Ephemeral, Existing, Fill, Shared
from models.vocabulary import LARGEST_PORT, amount
from models.weight_parts import WeightPart
from planning.ground import environment, flows, loading, names
from planning.ground.mounts import ADAPTERS_MOUNT, CERTIFICATES, DRAFT_MOUNT, ENGINE_HOME, FETCH_HOME, PUBLIC_KEY
from planning.ground.names import CANARY, PRIMARY
from planning.releases import Release
from planning.variant.context import ConfiguredVariant, Contexts, RoleContext, VariantContext, max_replicas
from planning.weights import claims, pins, sources
from planning.weights.claims import FillRequest, FillRequests

_RESERVED = (
    *(f"{folder}/" for folder in (ADAPTERS_MOUNT, DRAFT_MOUNT, FETCH_HOME, PUBLIC_KEY, CERTIFICATES, ENGINE_HOME)),
    *("/dev/", "/bin/", "/etc/", "/lib/", "/lib64/", "/proc/", "/sbin/", "/sys/", "/usr/"),
)
"""Folders of a pod that a mount of weights must not hide."""
_ACCESS: Mapping[str, AbstractSet[str]] = {
    "endpoint": {"s3", "hf"},
    "region": {"s3"},
    "secrets": {"kit", "hf", "s3"},
}
"""Fields with which a source is opened, each with the schemes of the sources that use the field."""


_IN_PLACE = {
    "pvc": "is mounted as it is",
    "oci": "is mounted as it is",
    "image": "holds the weights itself",
}
"""Reasons why a source needs no storage, by scheme."""


def judge(stack: Stack, contexts: Contexts, release: Release | None, requests: FillRequests) -> Iterator[Problem]:
    """Check the caches of a stack and the storage of its variants.

    `release` has the images with which caches are filled; None if the stack's channel is unknown. Then the settings of
    these Jobs are not checked.
    """
    variants = tuple(contexts.variants.values())
    yield from _check_duplicate_fills(stack, variants, requests)
    for key, cache in stack.caches.items():
        yield from _check_cache(cache, requests.caches[key], stack, release)
        users = [variant for variant in variants if claims.cache_of(variant.spec) == key]
        yield from _check_access_mode(Path("caches", key, "accessMode"), cache.access_mode, users, contexts)
    for variant in variants:
        yield from _check_variant(variant)
        if not claims.is_used_in_place(variant.spec.model.source):
            yield from _check_storage(variant, requests.variants.get(variant.id))
    yield from _check_claims(variants, contexts, requests)
    yield from pins.judge_caches(stack)


def fills(stack: Stack, variants: Iterable[ConfiguredVariant]) -> Iterator[tuple[Path, Fill]]:
    """Yield the spec of every fill, with its path."""
    for key, cache in stack.caches.items():
        yield Path("caches", key, "fill"), cache.fill
    for variant in variants:
        if isinstance(variant.spec.storage, Dedicated | Existing):
            yield variant.path / "storage" / "fill", variant.spec.storage.fill


def judge_variant(variant: ConfiguredVariant) -> Iterator[Problem]:
    """Reject fields that the source does not support, and a model without a name."""
    model = variant.spec.model
    at = variant.path / "model"
    kind = scheme(model.source)
    if variant.variant_name == PRIMARY and served_name(model.name, model.source) is None:
        what = f"is missing, and this source contains no name ({model.source})"
        remedy = "add the name that clients will send, such as Qwen/Qwen3-8B"
        yield Problem(at / "name", what, remedy, (at / "name", at / "source"))
    adapters = _adapters(model)
    kinds = {kind, *(scheme(part.source) for part in _parts(model).values())}
    for field, is_set in (
        ("insecure", model.insecure),
        ("filter", model.filter != ("model",)),
        ("verify", model.verify is not None),
    ):
        if is_set and "kit" not in kinds:
            yield _ineffective(at / field, model.source, {"kit"})
    if model.folder is not None and kind != "oci":
        yield _ineffective(at / "folder", model.source, {"oci"})
    yield from _access_problems(at, model)
    if "model" not in model.filter and "kit" in kinds:
        what = f"leaves out the weights ({', '.join(model.filter)})"
        yield Problem(at / "filter", what, "add model")
    if model.insecure and model.verify is not None:
        what = "does not work with a registry over plain HTTP"
        yield Problem(at / "verify", what, "remove it, or remove insecure")
    for name, adapter in adapters.items():
        yield from _adapter_problems(at, name, model, adapter)
    if model.speculative is not None and model.speculative.draft is not None:
        yield from _part_problems(at / "speculative" / "draft", model.speculative.draft)
    if model.lora is not None and (kind == "image" or not variant.kind.vllm_tables):
        engine = "custom" if kind == "image" else variant.kind.name
        yield Problem(at / "lora", f"needs vllm, and the engine is {engine}", "remove it")


def _adapters(model: Model) -> Mapping[str, Adapter]:
    """Return the adapters of a model by name."""
    if model.lora is None:
        return {}
    return model.lora.adapters


def _parts(model: Model) -> Mapping[str, WeightPart]:
    """Return the adapters and the draft of a model, by their places below the model."""
    parts = dict[str, WeightPart]({f"lora.adapters.{name}": adapter for name, adapter in _adapters(model).items()})
    if model.speculative is not None and model.speculative.draft is not None:
        parts["speculative.draft"] = model.speculative.draft
    return parts


def _ineffective(path: Path, source: str, supported: AbstractSet[str]) -> Problem:
    """Return the problem of a field without effect on a source. `supported` has the schemes that use the field."""
    schemes = " or ".join(f"{name}://" for name in sorted(supported))
    what = f"has no effect with this source ({scheme(source)}://)"
    return Problem(path, what, f"remove it, or use a source of {schemes}", explicit_only=True)


def _access_problems(path: Path, model: Model) -> Iterator[Problem]:
    """Reject access settings that the source of a model does not use.

    Adapters with another scheme do not use these settings either, because such adapters have settings of their own.
    """
    for field, supported in _ACCESS.items():
        if not getattr(model, field) or scheme(model.source) in supported:
            continue
        problem = _ineffective(path / field, model.source, supported)
        if (field, scheme(model.source)) == ("secrets", "oci"):
            problem = replace(problem, remedy="move it to pod.imagePullSecrets; nodes pull such images")
        users = [at for at, part in _parts(model).items() if scheme(part.source) in supported]
        if users:
            problem = replace(problem, remedy=f"move it to {users[0]}")
        yield problem
    yield from _key_problems(path, model.source, model.secrets)
    if model.ignore_patterns is not None and scheme(model.source) != "hf":
        yield _ineffective(path / "ignorePatterns", model.source, {"hf"})


def _key_problems(path: Path, source: str, secrets: Sequence[str | TokenSecret]) -> Iterator[Problem]:
    """Reject the key of a token for a source that is opened without a token."""
    for index, secret in enumerate(secrets):
        if isinstance(secret, TokenSecret) and scheme(source) in _ACCESS["secrets"] - {"hf"}:
            yield _ineffective(Path(*path, "secrets", index, "key"), source, {"hf"})


def _adapter_problems(at: Path, name: str, model: Model, adapter: Adapter) -> Iterator[Problem]:
    """Reject adapters that no request could select or that cannot be fetched, and settings that have no effect."""
    path = at / "lora" / "adapters" / name
    if name == served_name(model.name, model.source):
        field = "source"
        if model.name is not None:
            field = "name"
        what = f"is the name of the model as well ({name}; model.{field})"
        yield Problem(path, what, "choose another name for the adapter")
    yield from _part_problems(path, adapter)


def _part_problems(path: Path, part: WeightPart) -> Iterator[Problem]:
    """Reject weights beside the model's that cannot be fetched, and settings that have no effect on their source."""
    if scheme(part.source) == "image":
        what = "cannot be taken out of an image (image://)"
        yield Problem(path / "source", what, "use kit://, hf://, s3://, pvc:// or oci://")
        return
    for field, supported in _ACCESS.items():
        if getattr(part, field) and scheme(part.source) not in supported:
            yield _ineffective(path / field, part.source, supported)
    yield from _key_problems(path, part.source, part.secrets or ())


def _check_duplicate_fills(
    stack: Stack, variants: Sequence[VariantContext], requests: FillRequests
) -> Iterator[Problem]:
    """Reject services that fill the same folder of a claim, or whose claim would have the name of a cache's claim."""
    caches = {(stack.namespace, names.cache(key)): Path("caches", key) for key in stack.caches}
    users = dict[object, VariantContext]()
    for variant in variants:
        request = requests.variants.get(variant.id)
        if request is None:
            continue
        storage = variant.spec.storage
        object_names = variant.names
        cache = caches.get((object_names.namespace, object_names.weights))
        if cache is not None:
            what = f"would make the same object as {cache} (weights {object_names.namespace}/{object_names.weights})"
            yield Problem(variant.path, what, "choose another name or namespace for one of them", (variant.path, cache))
        other = users.setdefault((object_names.namespace, request.claim, request.sub_path, request.folder), variant)
        if other.key != variant.key and isinstance(storage, Existing):
            what = f"is filled by {other.path}, too, with the same source ({storage.claim_name})"
            remedy = "use storage.type: shared with an entry under caches, or another subPath"
            yield Problem(variant.path / "storage" / "claimName", what, remedy, (other.path / "storage",))


def _check_claims(variants: Sequence[VariantContext], contexts: Contexts, requests: FillRequests) -> Iterator[Problem]:
    """Check the claims of services. A canary with the source of its service uses the service's claim."""
    users = dict[tuple[str, str], list[VariantContext]]()
    for variant in variants:
        request = requests.variants.get(variant.id)
        if request is not None:
            users.setdefault((variant.namespace, request.name), []).append(variant)
    for first, *others in users.values():
        at = first.path / "storage"
        storage = first.spec.storage
        if isinstance(storage, Dedicated):
            yield from _check_access_mode(at / "accessMode", storage.access_mode, [first, *others], contexts)
        for other in others:
            if other.spec.storage != storage:
                what = f"differs from {at}, which uses the same claim (the same source)"
                yield Problem(other.path / "storage", what, "remove it, or use another source")
            yield from _check_shared_access(first, other)


def _check_shared_access(first: VariantContext, other: VariantContext) -> Iterator[Problem]:
    """Reject access settings of a variant whose weights the Job of another variant fetches."""
    model = other.spec.model
    first_model = first.spec.model
    yield from _check_equal_sizes(other.path / "model", model, first.path, first_model.size)
    if _parts(model):
        return
    for field in ("secrets", "region"):
        if getattr(model, field) != getattr(first_model, field):
            what = f"has no effect, because the weights are those of {first.path} (the same source)"
            yield Problem(other.path / "model" / field, what, "remove it, or use another source", explicit_only=True)


def _check_equal_sizes(path: Path, model: Model, holder: Path, size: str | None) -> Iterator[Problem]:
    """Reject a model whose size differs from that of `holder`: the service or cache whose claim the model uses."""
    if model.size is not None and size is not None and amount(model.size) != amount(size):
        what = f"differs from the size of {holder}, which has the same weights ({model.size}, {size})"
        yield Problem(path / "size", what, "remove it, or correct the other size")


def _check_cache(cache: Cache, request: FillRequest, stack: Stack, release: Release | None) -> Iterator[Problem]:
    path = request.path
    if claims.is_used_in_place(cache.source):
        what = f"is not a source that is fetched ({cache.source})"
        yield Problem(path / "source", what, "use kit://, hf:// or s3://")
        return
    if cache.ignore_patterns is not None and scheme(cache.source) != "hf":
        yield _ineffective(path / "ignorePatterns", cache.source, {"hf"})
    if cache.size is None:
        yield _missing_size(path, cache.source, "a cache needs a claim")
    if release is not None:
        yield from _check_fill(path / "fill", request, stack, release)


def _missing_size(path: Path, source: str, why: str) -> Problem:
    at = path / "size"
    verb = "sources are not asked for sizes"
    if scheme(source) in {"s3", "kit"}:
        verb = "did not state it"
    what = f"is missing, and {scheme(source)}:// {verb} ({why})"
    return Problem(at, what, "add the bytes of the weights, such as 16Gi", (at, path / "source"))


def _check_fill(path: Path, request: FillRequest, stack: Stack, release: Release) -> Iterator[Problem]:
    """Check the settings of a fill against its source and the generated variables of its Job."""
    kind = scheme(request.model.source)
    yield from _key_problems(path, request.model.source, request.fill.secrets)
    for field, value, supported in (
        ("endpoint", request.fill.endpoint, ("hf", "s3")),
        ("region", request.fill.region, ("s3",)),
    ):
        if value is not None and kind not in supported:
            schemes = " or ".join(f"{name}://" for name in supported)
            what = f"has no effect with this source ({kind}://)"
            yield Problem(path / field, what, f"remove it, or use a source of {schemes}", explicit_only=True)
    variables = claims.fetch(request, stack, release, {}).env
    generated = {var.name: var.source if var.value is None else var.value for var in variables}
    reserved = dict[str, str]()
    if kind == "kit":
        reserved |= dict.fromkeys(generated, "it follows from the source")
    reserved |= dict.fromkeys(("HOME", "TMPDIR"), f"it must be {FETCH_HOME}, where the Job may write")
    explicit = environment.values(request.fill.env)
    yield from environment.problems(
        path / "env", cast("dict[str, environment.EnvValue]", generated), explicit, reserved
    )
    for name, value in explicit.items():
        if not isinstance(value, str) or not sources.names_server(name):
            continue
        port = flows.port(value)
        if port is not None and not 1 <= port <= LARGEST_PORT:
            what = f"has a port that is not from 1 to {LARGEST_PORT}"
            yield Problem(path / "env" / name, what, "write a port that exists, such as 3128")


def _check_variant(variant: VariantContext) -> Iterator[Problem]:
    """Check that a variant's storage suits the source, and that its mount path hides no folder of the pod."""
    storage = variant.spec.storage
    source = variant.spec.model.source
    at = variant.path / "storage"
    if claims.is_used_in_place(source) and "storage" in variant.spec.explicit_fields:
        reason = _IN_PLACE[scheme(source)]
        yield Problem(at, f"has no effect with this source ({source} {reason})", "remove it", explicit_only=True)
    yield from _check_engine_storage(variant)
    reserved = _reserved_folder(storage.mount_path)
    if reserved is not None:
        both = ", ".join(dict.fromkeys((storage.mount_path, reserved)))
        what = f"overlaps with another folder of the pod ({both})"
        yield Problem(at / "mountPath", what, f"choose another, such as {MODEL_MOUNT}")


def _check_engine_storage(variant: VariantContext) -> Iterator[Problem]:
    """Check a variant whose engine opens the source itself."""
    model = variant.spec.model
    if not isinstance(variant.spec.storage, EngineLoaded) or claims.is_used_in_place(model.source):
        return
    at = variant.path / "model"
    if scheme(model.source) not in loading.LOADABLE:
        what = f"is no source that engines open ({scheme(model.source)}://)"
        schemes = " or ".join(f"{name}://" for name in loading.LOADABLE)
        remedy = f"use another type, or a source of {schemes}"
        yield Problem(variant.path / "storage" / "type", what, remedy, (at / "source",))
    if model.ignore_patterns is not None:
        what = "has no effect with storage.type engine"
        yield Problem(at / "ignorePatterns", what, "remove it, and write --ignore-patterns in engine.args")
    if model.pinned_listing is not None:
        what = "is not compared with the lock, because the engine opens the source itself"
        yield warning(at / "source", what, "use another storage.type if the files may change")


def _reserved_folder(mount_path: str) -> str | None:
    """Return a folder that a mount would hide, or that would contain the mount; None if there is no such folder."""
    mount = f"{mount_path}/"
    for folder in _RESERVED:
        if folder.startswith(mount) or mount.startswith(folder):
            return folder.removesuffix("/")
    return None


def _check_storage(variant: VariantContext, request: FillRequest | None) -> Iterator[Problem]:
    storage = variant.spec.storage
    model = variant.spec.model
    at = variant.path / "storage"
    if isinstance(storage, Shared):
        yield from _check_shared(variant, storage)
        return
    sizes = dict[str, str | None]()
    if isinstance(storage, Ephemeral):
        sizes["sizeLimit"] = storage.size_limit
    if isinstance(storage, Dedicated):
        sizes["size"] = storage.size
        if storage.size is None and model.size is None:
            yield _missing_size(variant.path / "model", model.source, f"storage.type {storage.type}")
    for field, size in sizes.items():
        if size is not None and model.size is not None and amount(size) < amount(model.size):
            what = f"is below the bytes of the weights ({size}, {model.size})"
            yield Problem(at / field, what, "raise it, or remove it")
    if request is not None:
        yield from _check_duplicate_fields(at, model, request.fill)
        yield from _check_fill(at / "fill", request, variant.stack, variant.release)


def _check_duplicate_fields(path: Path, model: Model, fill: Fill) -> Iterator[Problem]:
    """Reject fields that both a fill and its model set, because the Job would ignore the value in the fill."""
    for field, model_value, fill_value in (
        ("secrets", model.secrets, fill.secrets),
        ("endpoint", model.endpoint, fill.endpoint),
        ("region", model.region, fill.region),
    ):
        if model_value and fill_value:
            yield Problem(path / "fill" / field, f"is set by model.{field}, too", "keep one of them")


def _check_shared(variant: VariantContext, storage: Shared) -> Iterator[Problem]:
    """Check a variant against the cache that it names."""
    at = variant.path / "storage" / "cache"
    stack = variant.stack
    cache = stack.caches.get(storage.cache)
    if cache is None:
        remedy = f"add {storage.cache} under caches, with its source"
        for close in difflib.get_close_matches(storage.cache, stack.caches, n=1):
            remedy = f"did you mean {close}?"
        yield Problem(at, f"names no cache ({storage.cache})", remedy, (at, Path("caches", storage.cache)))
        return
    if variant.namespace != stack.namespace:
        what = f"is in another namespace ({storage.cache} in {stack.namespace}, the service in {variant.namespace})"
        yield Problem(at, what, "use storage.type: dedicated, or one namespace")
    model = variant.spec.model
    cache_path = Path("caches", storage.cache)
    if model.source != cache.source:
        what = f"is not the source of {cache_path} ({model.source})"
        yield Problem(variant.path / "model" / "source", what, _other_source_remedy(variant), (cache_path / "source",))
    else:
        yield from _check_equal_sizes(variant.path / "model", model, cache_path, cache.size)
    yield from _check_unused_fields(variant.path / "model", model, cache_path)


def _other_source_remedy(variant: VariantContext) -> str:
    """Return the remedy for a variant whose source differs from the source of its cache."""
    if variant.variant_name == CANARY:
        return "set canary.storage to another cache, or to another type"
    return "remove it, or make another cache"


def _check_unused_fields(path: Path, model: Model, cache: Path) -> Iterator[Problem]:
    """Reject a model's fields for fetching. They have no effect, because the cache's Job fetches the weights.

    Pods still fetch adapters and a draft. Fields that these may inherit from the model are therefore not rejected.
    """
    what = f"has no effect with storage.type shared ({cache} is filled once)"
    parts = _parts(model).values()
    is_inherited = any(scheme(part.source) == scheme(model.source) for part in parts)
    for field in ("secrets", "endpoint", "region"):
        if getattr(model, field) and not is_inherited:
            yield Problem(path / field, what, f"move it to {cache / 'fill'}", explicit_only=True)
    if model.ignore_patterns is not None and scheme(model.source) == "hf":
        yield Problem(path / "ignorePatterns", what, f"move it to {cache}", explicit_only=True)
    for field in ("insecure", "filter", "verify"):
        if getattr(model, field) != Model.model_fields[field].default and not parts:
            yield Problem(path / field, what, "remove it, or use storage.type: dedicated", explicit_only=True)


def _check_access_mode(path: Path, mode: str, users: Sequence[VariantContext], contexts: Contexts) -> Iterator[Problem]:
    """Reject an access mode for one node or one pod if several pods may mount the claim at the same time."""
    if mode == "ReadWriteMany":
        return
    replicas = sum(max_replicas(role.spec) for user in users for role in user.roles)
    pods = sum(_max_pods(user, contexts.roles_of(user)) for user in users)
    if pods > 1:
        noun = f"{pods} pods"
        if replicas == pods:
            noun = f"{replicas} replicas"
        scope = {"ReadWriteOnce": "one node"}.get(mode, "one pod")
        paths = ", ".join(str(user.path) for user in users)
        what = f"only {scope} can mount the claim, but up to {noun} of {paths} need it ({mode})"
        yield Problem(path, what, "use ReadWriteMany, or storage.type: ephemeral", names_service=True)


def _max_pods(variant: VariantContext, roles: Mapping[str, RoleContext]) -> int:
    """Return the maximum number of pods of all roles during a rollout."""
    pods = 0
    for role in variant.roles:
        replicas = max_replicas(role.spec)
        if replicas and isinstance(role.spec.rollout, RollingUpdate):
            replicas += role.spec.rollout.max_surge
        pods_per_replica = 1
        if role.name in roles:
            pods_per_replica = roles[role.name].layout.pods_per_replica
        pods += replicas * pods_per_replica
    return pods
