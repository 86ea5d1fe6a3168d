"""Locks of stacks: read from a file, applied to a configuration, and made from answers of sources and the cluster."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import planning
from composition import image_locking, selecting, sources
from composition.sources import Configuration
from composition.target import Target
from facts import source_sizes
from facts.live_objects import named_place
from facts.lock_file import LockFile
from judging import needs
from manifests.assembly import objects, render
from models import trees
from models.load import Loaded, load
from models.lock import Lock, LockedCluster, block_of
from models.paths import Path
from models.pins import ImagePin
from models.problems import ConfigError, Problem, echo, warning
from models.selection import LockedProfile
from planning.ground.cluster_facts import Unknown
from planning.ground.marks import Identity, StackName
from planning.plans import StackPlan
from planning.routes import acceptance
from planning.variant.context import configured_variants
from planning.weights import contents, locks, sizes
from planning.weights.claims import StoragePlan, cache_of
from planning.weights.contents import Answered
from planning.weights.locks import Lockable, LockedStack
from planning.weights.sources import fetched_text

if TYPE_CHECKING:
    from models.platform import PlatformOutputs, Reference

CLUSTER = "cluster"
"""Name of the cluster's block in the lock, as users pass it to `--update`."""
_STAND_IN = sizes.Size(2**30, digest=None)
_JOB = "batch/v1/Job"
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class LockReading:
    """The lock of a stack, or the problems of the lock's file."""

    lock: Lock | None
    problems: tuple[Problem, ...] = ()
    is_used: bool = True
    """Whether the caller gave a `LockFile`. If not, no source is pinned, and the missing lock is no problem."""
    outdated: tuple[Problem, ...] = ()
    """The problem of a lock whose values of the platform differ from the platform's outputs, as far as these were read.
    `checks.lock` decides about its severity."""

    @property
    def gateways(self) -> tuple[str, ...] | None:
        """Return the Gateways that are accepted according to the lock; None if the lock does not list them."""
        if self.lock is None or self.lock.cluster is None:
            return None
        return self.lock.cluster.gateways


def read(
    lock: LockFile | None, configuration: Configuration, name: StackName, outputs: "PlatformOutputs | None" = None
) -> LockReading:
    """Read the lock of the stack called `name`. `configuration` has its earlier names under `formerly`.

    `outputs` are the outputs of the platform, which the lock is compared with; None if they were not read.
    """
    if lock is None:
        return LockReading(None, is_used=False)
    try:
        content = lock.read(Identity(name, _earlier_names(configuration.tree)))
    except ConfigError as error:
        return LockReading(None, error.problems)
    problems = _platform_problems(configuration, outputs, content, f"python -m cli lock {name.stack}")
    return LockReading(content, outdated=tuple(problems))


def _platform_problems(
    configuration: Configuration, outputs: "PlatformOutputs | None", lock: Lock | None, command: str
) -> Iterator[Problem]:
    """Yield the problem of a lock whose values of the platform differ from `outputs`. `command` writes the lock."""
    named = _locked_platform(configuration, lock)
    if named is None or outputs is None or lock is None or lock.cluster is None or named.output not in outputs.values:
        return
    before = _values(lock.cluster.platform)
    now = _values(outputs.values[named.output])
    keys = sorted(at for at in before.keys() | now.keys() if before.get(at) != now.get(at))
    is_secret = named.output in outputs.secrets
    texts = (str(at) if is_secret else f"{at}{_change(at, before.get(at), now.get(at))}" for at in keys)
    if keys:
        what = f"has changed since {lock.file} was written ({', '.join(texts)}; {named.output} of {named.stack})"
        yield Problem(Path("platform"), what, f"run `{command} --update {CLUSTER}`")


def _change(at: Path, before: object, now: object) -> str:
    """Return two values of the platform as text; nothing if one of them may not be shown."""
    texts = [echo(at, "nothing" if value is None else value)[2:-1] for value in (before, now)]
    if all(texts):
        return f" {' to '.join(texts)}"
    return ""


def _values(tree: object) -> dict[Path, object]:
    """Return every value of a tree by its path."""
    return dict(_leaves(tree, Path()))


def _leaves(value: object, at: Path) -> Iterator[tuple[Path, object]]:
    """Yield every value of a tree that is no mapping, by its path."""
    if not isinstance(value, dict):
        yield at, value
        return
    for key, inner in cast("dict[str, object]", value).items():
        yield from _leaves(inner, at / key)


def _earlier_names(tree: object) -> tuple[str, ...]:
    return tuple(name for name in trees.sequence(trees.at(tree, "formerly")) if isinstance(name, str))


@dataclass(frozen=True, slots=True)
class SizedStack:
    """A stack with the pins of its lock and the sizes of its sources."""

    loaded: Loaded
    warnings: tuple[Problem, ...]
    """Warnings about the lock and about sources."""
    stand_ins: frozenset[Path] = frozenset()
    """Paths of the models whose size is a stand-in, with which no stack is deployed."""


def with_contents(
    loaded: Loaded, reading: LockReading, name: StackName, target: Target, *, asks_sources: bool
) -> SizedStack:
    """Return the stack with the pins of its lock and the sizes of its sources.

    If no source is asked, a size that neither the configuration nor the lock has gets a stand-in.
    """
    locked = apply(loaded, reading, name, target)
    if asks_sources:
        sized, warnings = source_sizes.add_sizes(locked.loaded, known=locked.answers)
        return SizedStack(sized, (*locked.warnings, *warnings))
    answered, warnings = sizes.with_answers(locked.loaded, sizes.questions(locked.loaded), locked.answers)
    complete = _with_stand_ins(answered)
    return SizedStack(complete, (*locked.warnings, *warnings), frozenset(_sized_models(answered, complete)))


def _with_stand_ins(loaded: Loaded) -> Loaded:
    """Return a stack in which every size that is needed and missing has a stand-in."""
    questions = sizes.questions(loaded)
    stand_ins = dict.fromkeys(questions.asked.values(), _STAND_IN)
    return sizes.with_answers(loaded, questions, stand_ins)[0]


def _sized_models(before: Loaded, after: Loaded) -> Iterator[Path]:
    """Yield the paths of the models that have got a size."""
    with_size = {variant.path for variant in configured_variants(before.stack) if variant.spec.model.size is not None}
    for variant in configured_variants(after.stack):
        if variant.path not in with_size and variant.spec.model.size is not None:
            yield variant.path / "model"


def apply(loaded: Loaded, reading: LockReading, name: StackName, target: Target) -> LockedStack:
    """Return the stack with the pins of its lock. A cluster without a name in the configuration gets the locked name.

    If the lock has mistakes, a later step refuses the stack. Until then, all sources have a placeholder size, so that
    no source is asked for its size, and no size is reported as missing.
    """
    if not reading.is_used:
        return LockedStack(loaded, {}, ())
    if reading.problems:
        return LockedStack(_with_stand_ins(loaded), {}, ())
    locked = _with_problems(locks.apply(loaded, reading.lock, name.stack), reading.outdated)
    cluster = reading.lock and reading.lock.cluster
    spec = locked.loaded.stack.cluster
    if cluster is None or cluster.name is None or spec.name is not None:
        return locked
    known = target.name(spec)
    if known not in {None, cluster.name}:
        return _with_other_cluster(locked, cluster.name, str(known))
    stack = locked.loaded.stack.model_copy(update={"cluster": spec.model_copy(update={"name": cluster.name})})
    return replace(locked, loaded=replace(locked.loaded, stack=stack))


def _with_other_cluster(locked: LockedStack, name: str, known: str) -> LockedStack:
    """Report that the kubeconfig names another cluster than the lock, with the severity that `checks.lock` sets.

    The stack does not get the name in the lock. The name in the kubeconfig remains the identity of the cluster, because
    another identity would replace all objects.
    """
    what = f"is {name} in the lock, and {known} in the kubeconfig"
    return _with_problems(locked, (Problem(Path("cluster", "name"), what, "write the name of the cluster here"),))


def _with_problems(locked: LockedStack, problems: tuple[Problem, ...]) -> LockedStack:
    """Return a stack with further problems of its lock, with the severity that `checks.lock` sets."""
    mode = locked.loaded.stack.checks.lock
    if mode == "strict":
        return replace(locked, loaded=replace(locked.loaded, problems=(*locked.loaded.problems, *problems)))
    if mode == "skip":
        return locked
    return replace(locked, warnings=(*locked.warnings, *_as_warnings(problems)))


def _as_warnings(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(replace(problem, severity="warning") for problem in problems)


def platform(
    configuration: Configuration, outputs: "PlatformOutputs | None", lock: Lock | None
) -> "PlatformOutputs | None":
    """Return the outputs of a platform. Values in the lock replace the values in `outputs`, even if these are newer."""
    named = _locked_platform(configuration, lock)
    if named is None or lock is None or lock.cluster is None:
        return outputs
    from models.platform import PlatformOutputs  # noqa: PLC0415, most stacks name no platform

    outputs = outputs or PlatformOutputs({}, frozenset())
    values = {**outputs.values, named.output: lock.cluster.platform}
    return PlatformOutputs(values, outputs.secrets - {named.output})


def _locked_platform(configuration: Configuration, lock: Lock | None) -> "Reference | None":
    """Return the reference to the platform of a stack; None if the lock has no values of it."""
    has_values = lock is not None and lock.cluster is not None and bool(lock.cluster.platform)
    if has_values:
        return configuration.platform
    return None


@dataclass(frozen=True, slots=True)
class LockReport:
    """The lock that a command makes or checks."""

    lock: Lock
    problems: tuple[Problem, ...]
    """Problems of sources that could not be asked or, when a lock is checked, differ from the lock.

    In `lock`, these sources keep the pins that they had.
    """
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class LockOrder:
    """A stack whose lock is made or checked."""

    configuration: Configuration
    name: StackName
    target: Target
    file: LockFile
    platform: "PlatformOutputs | None" = None
    updated: tuple[str, ...] = ()
    """Names of the blocks whose sources are asked again."""
    images: bool = False
    """Whether the registries of all images of containers are asked for digests."""

    @property
    def command(self) -> str:
        """Return the command that writes the lock."""
        return f"python -m cli lock {self.name.stack}"


def check(request: LockOrder) -> LockReport:
    """Ask all sources, and return their differences from the lock. Raises `ConfigError` if there is no lock."""
    loaded, reading, _ = _load(request)
    if reading.lock is None:
        raise ConfigError([Problem(Path("--check"), "has no lock to compare with", f"run `{request.command}`")])
    lockables = tuple(locks.lockables(loaded.stack))
    answers = _ask(lockables)
    differences = contents.differences(lockables, reading.lock, answers, request.command)
    images = _image_differences(request, loaded, reading.lock)
    return LockReport(reading.lock, (*reading.outdated, *differences, *images))


def _image_differences(request: LockOrder, loaded: Loaded, lock: Lock) -> Iterator[Problem]:
    """Yield the differences of images from a lock. A stack whose lock pins no image is not planned."""
    if lock.images:
        locked = locks.apply(loaded, lock, request.name.stack).loaded
        rendered = objects(render(planning.plan(_with_stand_ins(locked), request.name)))
        yield from image_locking.differences(rendered, loaded.stack, lock, request.command)


def make(request: LockOrder) -> LockReport:
    """Return the lock of a stack. Sources with a pin are asked only if their block is to be updated.

    Raises `ConfigError` with all mistakes of the stack and of its earlier lock.
    """
    loaded, reading, profiles = _load(request)
    earlier = reading.lock
    lockables = tuple(locks.lockables(loaded.stack))
    _refuse_unknown_blocks(request, [*(lockable.at for lockable in lockables), *profiles], loaded)
    answers = _ask(tuple(contents.stale(lockables, earlier, request.updated)))
    now = datetime.now(UTC).strftime(_TIME)
    stack = str(request.name)
    pins = contents.pins(lockables, earlier, answers, (), now)
    failures = tuple(contents.failures(answers))
    if failures:
        images = _images(earlier)
        return LockReport(Lock(stack, pins, earlier and earlier.cluster, profiles=profiles, images=images), failures)
    locked = locks.apply(loaded, Lock(stack, pins), request.name.stack).loaded
    plan = planning.plan(locked, request.name)
    fresh = [lockable for lockable in lockables if contents.current_pin(lockable, earlier) is None]
    running, warnings = _running(request, locked, plan, fresh)
    pins = contents.pins(lockables, earlier, answers, running, now)
    cluster = _cluster(request, locked, plan, earlier, now)
    if CLUSTER not in request.updated:
        warnings = (*_as_warnings(reading.outdated), *warnings)
    references = image_locking.references(objects(render(plan)), locked.stack)
    images = image_locking.keep(references, _images(earlier), request.command)
    if request.images:
        images = image_locking.ask(references, _images(earlier), now)
    lock = Lock(stack, pins, cluster, profiles=profiles, images=images.pins)
    return LockReport(lock, images.problems, (*warnings, *images.warnings))


def _images(lock: Lock | None) -> Mapping[str, ImagePin]:
    """Return the pins of images of a lock; empty without a lock."""
    if lock is None:
        return {}
    return lock.images


def _load(request: LockOrder) -> tuple[Loaded, LockReading, Mapping[Path, LockedProfile]]:
    """Return the stack, its earlier lock, and the profiles to write into its new lock."""
    reading = read(request.file, request.configuration, request.name, request.platform)
    tree = request.configuration.tree
    outputs = request.platform
    if CLUSTER not in request.updated:
        outputs = platform(request.configuration, outputs, reading.lock)
    files = sources.read(request.configuration, reading.problems, outputs)
    try:
        selection = selecting.select(
            tree, files, reading.lock, request.name.stack, request.target, reading.problems, request.updated
        )
        files = selection.with_documents(files)
        loaded = load(tree, reading.problems, files.sources, selection.layers)
        loaded.finish()
        files.refuse_ambiguities()
    except ConfigError as error:
        raise files.complete(error) from None
    return loaded, reading, selection.profiles_of_lock


def _ask(lockables: Sequence[Lockable]) -> dict[Path, Answered]:
    answers = source_sizes.contents(lockable.question for lockable in lockables)
    return {lockable.at: answers[lockable.question] for lockable in lockables}


def _refuse_unknown_blocks(request: LockOrder, places: Iterable[Path], loaded: Loaded) -> None:
    """Reject names of blocks that the stack lacks. `places` are the paths of the stack's sources and profiles."""
    known = [*dict.fromkeys(map(block_of, places)), CLUSTER]
    for name in request.updated:
        if name in known:
            continue
        service = loaded.stack.services.get(name)
        cache = service and cache_of(service)
        remedy = f"known: {', '.join(known)}"
        if cache:
            remedy = f"write --update caches.{cache}, the cache with the weights of {name}"
        raise ConfigError([Problem(Path("--update"), f"names no block of the lock ({name})", remedy)])


def _cluster(
    request: LockOrder, loaded: Loaded, plan: StackPlan, earlier: Lock | None, now: str
) -> LockedCluster | None:
    """Return the block of the cluster for the new lock: name, accepted Gateways, and the outputs of the platform.

    If the earlier lock has this block, and `--update` does not name it, the earlier block remains. Otherwise the
    cluster is asked for its Gateways, and the outputs of the platform are those in `request`.
    """
    if earlier is not None and earlier.cluster is not None and CLUSTER not in request.updated:
        return earlier.cluster
    spec = loaded.stack.cluster
    needed = needs.of(objects(render(plan)), plan)
    accepted = None
    if needed.gateways:
        live = request.target.facts(spec, needed).gateways
        if not isinstance(live, Unknown):
            refs = (gateway.ref for gateway in live.gateways if gateway.accepted)
            accepted = tuple(sorted(str(ref) for ref in refs if acceptance.is_gateway(ref)))
    values = None
    if request.platform is not None and (named := request.configuration.platform) is not None:
        values = request.platform.values.get(named.output)
    name = spec.name or request.target.name(spec)
    return LockedCluster.default(name=name, gateways=accepted, platform=values or {}, asked=now)


def _running(
    request: LockOrder, loaded: Loaded, plan: StackPlan, lockables: Sequence[Lockable]
) -> tuple[frozenset[Path], tuple[Problem, ...]]:
    """Return the paths of sources that workloads or Jobs in the cluster already fetch, and warnings.

    A workload or Job fetches a source if its spec in the cluster contains the source as the configuration writes it.
    The warnings are about workloads and Jobs that could not be read.
    """
    requested = set(map(_fetched_by, lockables))
    fetchers = [fetcher for fetcher in _fetchers(plan) if (fetcher.block, fetcher.by_pods) in requested]
    if not fetchers:
        return frozenset(), ()
    kinds = {(fetcher.kind, fetcher.namespace) for fetcher in fetchers}
    live = request.target.objects(loaded.stack.cluster, kinds, {})
    if isinstance(live, Unknown):
        if any(fetcher.by_pods for fetcher in fetchers):
            return frozenset(), (_unknown_pods(live.reason),)
        return frozenset(), ()
    texts = dict[tuple[str, bool], set[str]]()
    for fetcher in fetchers:
        live_object = live.objects.get(named_place(fetcher.kind, fetcher.namespace, fetcher.name))
        if live_object is not None:
            texts.setdefault((fetcher.block, fetcher.by_pods), set()).update(_texts(live_object.content.get("spec")))
    places = (
        lockable.at for lockable in lockables if fetched_text(lockable.source) in texts.get(_fetched_by(lockable), ())
    )
    return frozenset(places), tuple(map(_refused_kind, live.refused))


def _fetched_by(lockable: Lockable) -> tuple[str, bool]:
    """Return the name of the block, and whether serving pods fetch the source."""
    return block_of(lockable.at), lockable.by_pods


def _unknown_pods(reason: str) -> Problem:
    what = f"running pods went unchecked ({reason}), so the next deployment replaces pods that fetch weights"
    return warning(Path(), what)


def _refused_kind(kind: str) -> Problem:
    """Return the warning about workloads or Jobs of a kind that the user has no right to list."""
    reason = f"access was denied to {kind}"
    if kind != _JOB:
        return _unknown_pods(reason)
    claims = "claims that were filled before the lock was written"
    what = f"Jobs went unchecked ({reason}), so the outputs name a digest even for {claims}"
    return warning(Path(), what)


@dataclass(frozen=True, slots=True)
class _Fetcher:
    """An object whose containers fetch sources."""

    block: str
    """Name of the block of the lock that has the sources."""
    by_pods: bool
    """Whether serving pods fetch the sources. If not, a Job fetches them."""
    kind: str
    """`apiVersion/Kind`"""
    namespace: str
    name: str


def _fetchers(plan: StackPlan) -> Iterator[_Fetcher]:
    """Yield the workloads and the Jobs of a stack."""
    for service in plan.services:
        namespace = service.primary.names.namespace
        for workload in service.workloads:
            kind = f"{workload.api_version}/{workload.kind}"
            yield _Fetcher(service.key, by_pods=True, kind=kind, namespace=namespace, name=workload.name)
        for variant in service.variants:
            if variant.storage is not None:
                yield _job(service.key, variant.storage)
    yield from (_job(cache.owner, cache) for cache in plan.caches)


def _job(block: str, storage: StoragePlan) -> _Fetcher:
    return _Fetcher(block, by_pods=False, kind=_JOB, namespace=storage.namespace, name=storage.fill.name)


def _texts(value: object) -> Iterator[str]:
    """Yield every text in a tree of plain values, except for keys of mappings."""
    if isinstance(value, Mapping):
        for inner in cast("Mapping[str, object]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value
