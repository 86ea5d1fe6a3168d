"""Validation of sources whose content may change under the same name: pods that start later would fetch other files.

No preview shows such a change, because the name stays the same.
"""

from collections.abc import Iterable, Iterator

from models.lock import block_of
from models.paths import Path
from models.pins import Pin, PinnedSource
from models.problems import Problem, warning
from models.service import Model
from models.source import hub, scheme, tag_of_files
from models.stack import Stack
from models.storage import Dedicated, Existing
from planning.ground.names import CANARY
from planning.variant.context import ConfiguredVariant
from planning.weights import claims

MUTABLE_TAGS = frozenset({"latest", "main"})
"""Tags that projects move to newer content."""
_DEFAULT_BRANCH = "main"
"""The branch that an `hf://` source without a revision means."""
_REFERENCES = "refs/"
"""Beginning of revisions that a hub moves, such as refs/pr/5, the latest commit of a pull request."""


def judge(stack: Stack, variants: Iterable[ConfiguredVariant]) -> Iterator[Problem]:
    """Reject ModelKits with a tag that projects move."""
    sources = _of_caches(stack)
    for variant in variants:
        sources |= _of_variant(variant)
    for at, spec in sources.items():
        tag = tag_of_files(spec.source)
        if tag in MUTABLE_TAGS:
            files = {"kit": "ModelKits", "oci": "images"}[scheme(spec.source)]
            what = f"names a tag that moves to newer {files} ({tag})"
            yield Problem(at, what, "write a version or a digest")


def judge_variant(variant: ConfiguredVariant) -> Iterator[Problem]:
    """Yield warnings about sources whose content may change under the same name.

    Sources that a canary shares with its service are left out, because the service gets the warning. A source that a
    lock pins gets no warning, unless pods or a claim still have files that were fetched before the lock.
    """
    of_service = set[str]()
    if variant.variant_name == CANARY:
        of_service = _pinned_sources(variant.service.model)
    is_filled = isinstance(variant.spec.storage, Dedicated | Existing)
    for at, source in _of_variant(variant).items():
        if source.pinned_source not in of_service:
            yield from _warnings(at, source, is_filled=is_filled and isinstance(source, Model))


def judge_caches(stack: Stack) -> Iterator[Problem]:
    """Yield warnings about sources of caches, if their content may change under the same name."""
    for at, source in _of_caches(stack).items():
        yield from _warnings(at, source, is_filled=True)


def _of_caches(stack: Stack) -> dict[Path, PinnedSource]:
    return {Path("caches", key, "source"): cache for key, cache in stack.caches.items()}


def _of_variant(variant: ConfiguredVariant) -> dict[Path, PinnedSource]:
    """Return the sources that a variant fetches, by path. A model in a shared cache is left out."""
    model = variant.spec.model
    at = variant.path / "model"
    sources = dict[Path, PinnedSource]()
    if claims.cache_of(variant.spec) is None:
        sources[at / "source"] = model
    if model.lora is not None:
        for name, adapter in model.lora.adapters.items():
            sources[at / "lora" / "adapters" / name / "source"] = adapter
    if model.speculative is not None and model.speculative.draft is not None:
        sources[at / "speculative" / "draft" / "source"] = model.speculative.draft
    return sources


def _pinned_sources(model: Model) -> set[str]:
    pinned_sources = {model.pinned_source}
    if model.lora is not None:
        pinned_sources |= {adapter.pinned_source for adapter in model.lora.adapters.values()}
    if model.speculative is not None and model.speculative.draft is not None:
        pinned_sources.add(model.speculative.draft.pinned_source)
    return pinned_sources


def _warnings(at: Path, source: PinnedSource, *, is_filled: bool) -> Iterator[Problem]:
    """Yield the warning about a source. `is_filled` tells whether a Job fetches the source into a claim."""
    pin = source.pin
    if pin is None:
        yield from _by_name(at, source.source)
    elif not pin.deployed:
        yield from _by_name(at, pin.source)
    elif is_filled:
        yield from _filled_earlier(at, pin)
    else:
        yield _fetched_by_name(at, pin)


def _fetched_by_name(at: Path, pin: Pin) -> Problem:
    """Return the warning about pods from before the lock. Only a rollout can make them fetch the locked content."""
    what = f"is fetched by its name, as before the lock, so a pod that starts later may serve other weights ({pin.was})"
    remedy = f"run `python -m cli lock` with --update {block_of(at)}, then deploy; the deployment replaces the pods"
    return warning(at, what, remedy)


def _filled_earlier(at: Path, pin: Pin) -> Iterator[Problem]:
    """Yield the warning about a claim that was filled before the lock.

    A source in S3, whose pin has a digest of the listing, gets no warning. The only remedy would be a source that names
    its content, and no `s3://` source can do that.
    """
    if pin.digest is None:
        what = f"was fetched to its claim before the lock, so the claim may hold other weights ({pin.was})"
        yield warning(at, what, f"write {pin.source}; a Job then fills another claim")


def _by_name(at: Path, source: str) -> Iterator[Problem]:
    tag = tag_of_files(source)
    name, revision = hub(source)
    if tag is not None:
        untagged = source.removesuffix(f":{tag}")
        what = f"is a tag, so the files may change under it ({tag})"
        yield warning(at, what, f"write the digest: {untagged}@sha256:<digest>")
    elif scheme(source) == "hf" and revision is None:
        what = f"names no revision, so the files may change under it ({source})"
        yield warning(at, what, f"add the commit: hf://{name}@<commit>")
    elif scheme(source) == "hf" and (revision == _DEFAULT_BRANCH or str(revision).startswith(_REFERENCES)):
        what = f"is a branch, so the files may change under it ({revision})"
        yield warning(at, what, f"write the commit: hf://{name}@<commit>")
