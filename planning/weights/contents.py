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
    for lockable in lockables:
        if block_of(lockable.at) in updated or current_pin(lockable, lock) is None:
            yield lockable


def current_pin(lockable: Lockable, lock: Lock | None) -> Pin | None:
    """Return the pin of a source; None if the lock has no pin, or if the source has changed since it was locked."""
    if lock is None:
        return None
    pin = lock.pins.get(lockable.at)
    if pin is None or not pin.is_of(lockable.source, lockable.settings):
        return None
    return pin


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
    new_pins = dict[Path, Pin]()
    for lockable in lockables:
        at = lockable.at
        earlier = current_pin(lockable, lock)
        content = answers.get(at)
        if isinstance(content, Content):
            new_pins[at] = _pin(lockable, earlier, content, time, is_running=at in running)
        elif earlier is not None:
            new_pins[at] = earlier
    return new_pins


def _pin(lockable: Lockable, earlier: Pin | None, content: Content, time: str, *, is_running: bool) -> Pin:
    """Return the pin of a content.

    A first pin of a source in use is `deployed`: its pods and its claim keep what they fetched by the source's name. A
    later pin stays `deployed` only for a claim, and only until the content changes: pods fetch by its digest.
    """
    values = {
        "was": lockable.source,
        "source": content.source,
        "digest": content.digest,
        "bytes": content.bytes,
        "packed": content.packed,
        "architecture": content.architecture,
        "settings": lockable.settings,
        "origin": content.origin,
    }
    if earlier is None:
        has_name = (content.source, content.digest) != (lockable.source, None)
        return Pin.default(**values, asked=time, deployed=is_running and has_name)
    if _has_moved(earlier, content):
        return Pin.default(**values, asked=time, moved=True, deployed=False)
    is_deployed = earlier.deployed and not lockable.by_pods
    return Pin.default(**values, asked=earlier.asked, moved=earlier.moved, deployed=is_deployed)


def _has_moved(pin: Pin, content: Content) -> bool:
    return (pin.source, pin.digest) != (content.source, content.digest)


def differences(
    lockables: Iterable[Lockable], lock: Lock, answers: Mapping[Path, Answered], command: str
) -> Iterator[Problem]:
    """Yield problems of sources that differ from the lock, or could not be asked. `command` writes the lock."""
    for lockable in lockables:
        pin = lock.pins.get(lockable.at)
        content = answers.get(lockable.at)
        at = lockable.at / "source"
        update = f"run `{command} --update {block_of(lockable.at)}`"
        if pin is None:
            yield Problem(at, f"has no block in {lock.file}", f"run `{command}`")
        elif not pin.is_of(lockable.source, lockable.settings):
            yield Problem(at, f"differs from {lock.file}, which has {pin.was}", f"run `{command}`")
        elif isinstance(content, Content) and _has_moved(pin, content):
            effect = ""
            if pin.deployed and lockable.by_pods:
                effect = ", and pods that start from now on fetch the new content"
            what = f"has moved since {pin.asked}{effect} ({pin.content} to {_content_name(content)})"
            yield Problem(at, what, f"{update}, which rolls out the new content")
        elif isinstance(content, Content) and (keys := tuple(_wrong_numbers(pin, content))):
            what = f"has other values in {lock.file} than at its server ({', '.join(keys)} of {pin.content})"
            yield Problem(at, what, update)
        elif content is not None and not isinstance(content, Content):
            for problem in failures({lockable.at: content}):
                yield replace(problem, what=f"{problem.what} (locked as {pin.content})")


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
