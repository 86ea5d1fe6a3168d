"""Contents of sources: answers of registries, hubs and buckets, and the pins of a lock that follow from the answers."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from models.architecture import Architecture
from models.lock import Lock, block_of
from models.paths import Path
from models.pins import Pin, plain
from models.problems import Problem
from planning.ground.cluster_facts import Unknown
from planning.weights.locks import Lockable
from planning.weights.sizes import Unusable


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a source at the time of the answer."""

    source: str
    """The source with the digest or the commit."""
    digest: str | None = None
    """Hash of the listing of an S3 prefix."""
    bytes: int | None = None
    packed: bool = False
    architecture: Architecture | None = None
    origin: str = ""
    """Address of the server that answered."""


Answered = Content | Unusable | Unknown


def stale(lockables: Iterable[Lockable], lock: Lock | None, updated: Collection[str]) -> Iterator[Lockable]:
    """Yield the sources to ask for their content: sources without a pin, and sources of the `updated` blocks."""
    for each in lockables:
        if block_of(each.at) in updated or current_pin(each, lock) is None:
            yield each


def current_pin(each: Lockable, lock: Lock | None) -> Pin | None:
    """Return the pin of a source; None if the lock has no pin, or if the source has changed since it was locked."""
    pin = None if lock is None else lock.pins.get(each.at)
    if pin is not None and pin.is_of(each.source, each.settings):
        return pin
    return None


def pins(
    lockables: Iterable[Lockable],
    lock: Lock | None,
    answers: Mapping[Path, Answered],
    running: Collection[Path],
    time: str,
) -> dict[Path, Pin]:
    """Return the pins of all sources whose content is known.

    `answers` are the answers of the sources that were asked. A source without an answer keeps its pin. `running` are
    the paths of the sources that pods or Jobs in the cluster fetch by the name in the configuration, without a digest.
    """
    found = dict[Path, Pin]()
    for each in lockables:
        earlier = current_pin(each, lock)
        content = answers.get(each.at)
        if isinstance(content, Content):
            found[each.at] = _pin(each, earlier, content, time, is_running=each.at in running)
        elif earlier is not None:
            found[each.at] = earlier
    return found


def _pin(each: Lockable, earlier: Pin | None, content: Content, time: str, *, is_running: bool) -> Pin:
    """Return the pin of a content.

    A first pin of a source in use is `deployed`: its pods and its claim keep what they fetched by the source's name. A
    later pin stays `deployed` only for a claim, and only until the content changes: pods fetch by its digest.
    """
    values = {
        "was": each.source,
        "source": content.source,
        "digest": content.digest,
        "bytes": content.bytes,
        "packed": content.packed,
        "architecture": content.architecture,
        "settings": each.settings,
        "origin": content.origin,
    }
    if earlier is None:
        has_name = (content.source, content.digest) != (each.source, None)
        return Pin.default(**values, asked=time, deployed=is_running and has_name)
    has_moved = _has_moved(earlier, content)
    is_kept = earlier.deployed and not each.by_pods and not has_moved
    asked = time if has_moved else earlier.asked
    return Pin.default(**values, asked=asked, moved=earlier.moved or has_moved, deployed=is_kept)


def _has_moved(pin: Pin, content: Content) -> bool:
    return (pin.source, pin.digest) != (content.source, content.digest)


def differences(
    lockables: Iterable[Lockable], lock: Lock, answers: Mapping[Path, Answered], command: str
) -> Iterator[Problem]:
    """Yield problems of sources that differ from the lock, or could not be asked. `command` writes the lock."""
    for each in lockables:
        pin = lock.pins.get(each.at)
        content = answers.get(each.at)
        at = each.at / "source"
        if pin is None:
            yield Problem(at, f"has no block in {lock.file}", f"run `{command}`")
        elif not pin.is_of(each.source, each.settings):
            yield Problem(at, f"differs from {lock.file}, which has {pin.was}", f"run `{command}`")
        elif isinstance(content, Content) and _has_moved(pin, content):
            digests = f"{pin.content} to {_content_name(content)}"
            effect = ", and pods that start from now on fetch the new content" if pin.deployed and each.by_pods else ""
            remedy = f"run `{command} --update {block_of(each.at)}`, which rolls out the new content"
            yield Problem(at, f"has moved since {pin.asked}{effect} ({digests})", remedy)
        elif isinstance(content, Content) and (keys := tuple(_wrong_numbers(pin, content))):
            what = f"has other values in {lock.file} than at its server ({', '.join(keys)} of {pin.content})"
            yield Problem(at, what, f"run `{command} --update {block_of(each.at)}`")
        elif not isinstance(content, Content):
            unconfirmed = failures({each.at: content} if content is not None else {})
            yield from (replace(problem, what=f"{problem.what} (locked as {pin.content})") for problem in unconfirmed)


def _content_name(content: Content) -> str:
    """Return a content as `Pin.content` names it."""
    if content.digest is None:
        return content.source
    return f"{content.source}@{content.digest}"


def _wrong_numbers(pin: Pin, content: Content) -> Iterator[str]:
    """Yield the keys of a pin that its server contradicts.

    What only one of the two says is not compared: an earlier version of this program read fewer numbers.
    """
    if None not in {pin.bytes, content.bytes} and pin.bytes != content.bytes:
        yield "bytes"
    if pin.architecture is not None and content.architecture is not None:
        answered = plain(content.architecture)
        numbers = plain(pin.architecture).items()
        yield from (f"architecture.{key}" for key, number in numbers if answered.get(key, number) != number)


def failures(answers: Mapping[Path, Answered]) -> Iterator[Problem]:
    """Yield the problems of sources whose content is unknown."""
    for at, answer in answers.items():
        if isinstance(answer, Unusable):
            yield Problem(at / answer.field, answer.what, answer.remedy)
        elif isinstance(answer, Unknown):
            yield Problem(at / "source", answer.reason)
