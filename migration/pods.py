"""Reader of pods and containers in the syntax of Kubernetes: environment, resources, placement, images."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from migration import flags
from migration.accounts import HIDDEN, Original
from models import flags as command_lines
from models import image_references
from models.paths import Path
from planning.hardware import accelerators

_TOLERATION = ("key", "operator", "value", "effect")
_SOURCES = {"secretKeyRef": ("name", "key"), "configMapKeyRef": ("name", "key"), "fieldRef": ("fieldPath",)}
"""Texts of the sources of a variable, by the name of the source."""
_LATEST = "its tag is latest, which is no version"
_GIVE = (
    "give the digest that runs, which --live reads from a cluster; until then the image is that of the release, if it "
    "has one"
)
_TAKEN = "{digest} is taken, which runs in {number}"
_DIFFERENT = "pods run several digests ({digests}); write the right one"
_LOCAL = "pods run an image that no registry has given a digest; write a version"
_SEVERAL = "the name is repeated, and the last value counts"
_LIBRARY = "docker.io/library/"
"""Place of images whose names have neither a registry nor a folder."""
TO_WRITE = "write-the-version"
"""Tag in place of a version that the file does not have."""
_HIDDEN_FLAG = "the value of the flag is a credential in clear"
_HIDDEN_PROGRAM = "another part of the command is a credential in clear, and without it the command does something else"
_DEVICES = "the number of devices follows from parallelism"


def image(document: Original, path: Path, key: Path | None = None) -> str | None:
    """Take an image. One without a version gets the digest that runs.

    If it is not known which one runs, the image is asked for, and the result is None.
    """
    reference = document.peek(path)
    if isinstance(reference, str) and _is_unversioned(reference):
        return _running_image(document, path, reference, key)
    return _whole(document.text(path, key)) or None


def _running_image(document: Original, path: Path, reference: str, key: Path | None) -> str | None:
    """Take the digest that runs of an image without a version. Returns None, with a question, unless it is just one."""
    document.unversioned.add(reference)
    digests = document.running.get(reference, {})
    if len(digests) != 1 or "" in digests:
        document.note(path, "ask", f"{_LATEST}: {_question(digests)}", key)
        return None
    (digest,) = digests
    document.take(path, key)
    taken = _TAKEN.format(digest=digest, number=_pods(digests[digest]))
    document.note(path, "differs", f"{_LATEST}: {taken}", key)
    return _whole(f"{_without_tag(reference)}@{digest}")


def _question(digests: Mapping[str, int]) -> str:
    """Return what a user has to do about an image without exactly one digest that runs."""
    if not digests:
        return _GIVE
    if len(digests) == 1:
        return _LOCAL
    texts = [f"{digest or 'one of no registry'} in {_pods(number)}" for digest, number in sorted(digests.items())]
    return _DIFFERENT.format(digests=", ".join(texts))


def _pods(number: int) -> str:
    if number == 1:
        return "1 pod"
    return f"{number} pods"


def unversioned_image(document: Original, path: Path) -> str | None:
    """Return an image without a version with a tag in its place that a user has to write; None for another value."""
    reference = document.peek(path)
    if not isinstance(reference, str) or not _is_unversioned(reference):
        return None
    return _whole(f"{_without_tag(reference)}:{TO_WRITE}")


def _without_tag(reference: str) -> str:
    folder, slash, name = reference.rpartition("/")
    return f"{folder}{slash}{name.partition(':')[0]}"


def _whole(reference: str | None) -> str | None:
    """Return a reference with the registry that Kubernetes adds to a name without one."""
    if reference is None or "/" in reference:
        return reference
    return f"{_LIBRARY}{reference}"


def _is_unversioned(reference: str) -> bool:
    if "@" in reference:
        return False
    _, colon, tag = reference.rpartition("/")[2].partition(":")
    return not colon or tag == image_references.DEFAULT_TAG


def variables(document: Original, path: Path) -> dict[str, Any]:
    """Take the environment variables in a list of Kubernetes, without those that this program sets."""
    values = dict[str, Any]()
    places = dict[str, Path]()
    for item in document.items(path):
        name = document.peek(item / "name")
        if not isinstance(name, str):
            document.note(item, "cannot", "the variable has no name")
            continue
        reason = flags.dropped_variables().get(name)
        if reason is not None:
            document.drop(item, reason)
            continue
        value = _variable(document, item)
        if value is None:
            continue
        if name in places:
            document.drop(places[name], _SEVERAL)
        places[name] = item
        values[name] = value
    return values


def _variable(document: Original, item: Path) -> str | dict[str, Any] | None:
    """Take one variable. Returns None if its value is a credential, or has no form that this program knows."""
    if document.is_hidden(item / "value"):
        document.note(item, "cannot", "the value of the variable is a credential in clear")
        return None
    source = _source(document, item / "valueFrom")
    if source is None and document.has(item / "valueFrom"):
        document.note(item / "name", "cannot", "no key has the source of the variable")
        return None
    document.take(item / "name")
    if source is not None:
        return source
    return document.text(item / "value") or ""


def _source(document: Original, at: Path) -> dict[str, Any] | None:
    """Take the source of a variable."""
    for name, fields in _SOURCES.items():
        if document.has(at / name):
            texts = {field: document.text(at / name / field) for field in fields}
            source: dict[str, Any] = {field: text for field, text in texts.items() if text is not None}
            if document.switch(at / name / "optional"):
                source["optional"] = True
            if document.peek(at / name / "apiVersion") == "v1":
                document.drop(at / name / "apiVersion", "it is the version of pods")
            return {name: source}
    return _resource_source(document, at / "resourceFieldRef")


def _resource_source(document: Original, at: Path) -> dict[str, Any] | None:
    if not document.has(at):
        return None
    source: dict[str, Any] = {"resource": document.text(at / "resource")}
    container = document.text(at / "containerName")
    if container is not None:
        source["containerName"] = container
    divisor = document.peek(at / "divisor")
    if divisor not in (None, "0", 0):
        source["divisor"] = quantity(document, at / "divisor")
    elif divisor is not None:
        document.drop(at / "divisor", "it is the default")
    return {"resourceFieldRef": source}


def program(document: Original, container: Path) -> tuple[list[str], list[str]]:
    """Take command and arguments of a container that runs a program of its own, without flags that hold a credential.

    Both are empty if a credential is part of the program itself, such as of a script.
    """
    command = flags.tokens(document, container / "command")
    words = flags.tokens(document, container / "args")
    shown = _without_hidden_flags(document, words)
    if shown is None or any(document.is_hidden(place) for place, _ in command):
        for place, _ in (*command, *words):
            document.note(place, "cannot", _HIDDEN_PROGRAM)
        return [], []
    return [text for _, text in command], shown


def arguments(document: Original, path: Path) -> list[str]:
    """Take arguments without flags that hold a credential; none if a credential is an argument without a flag."""
    return _without_hidden_flags(document, flags.tokens(document, path)) or []


def _without_hidden_flags(document: Original, tokens: Sequence[tuple[Path, str]]) -> list[str] | None:
    """Return the tokens of flags that hold no credential; None if a token without a flag holds one."""
    words = list[str]()
    for flag in command_lines.parse([text for _, text in tokens]):
        if not any(HIDDEN in token for token in flag.tokens):
            words += flag.tokens
        elif not flag.name:
            return None
        else:
            for place, _ in tokens[flag.index : flag.index + len(flag.tokens)]:
                document.note(place, "cannot", _HIDDEN_FLAG)
    return words


def tolerations(document: Original, path: Path) -> list[dict[str, Any]]:
    """Take a list of tolerations."""
    return [_toleration(document, item) for item in document.items(path)]


def _toleration(document: Original, item: Path) -> dict[str, Any]:
    texts = {name: document.text(item / name) for name in _TOLERATION}
    toleration: dict[str, Any] = {name: text for name, text in texts.items() if text}
    seconds = document.number(item / "tolerationSeconds")
    if seconds is not None:
        toleration["tolerationSeconds"] = seconds
    return toleration


def secret_names(document: Original, path: Path) -> list[str]:
    """Take the names in a list of references, such as imagePullSecrets."""
    texts = (document.text(item / "name") for item in document.items(path))
    return [text for text in texts if text]


def quantity(document: Original, path: Path) -> str | None:
    """Take an amount, which Kubernetes takes as text or as a number."""
    value = document.peek(path)
    if value is None or document.is_hidden(path):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        document.note(path, "cannot", "it is no amount")
        return None
    document.take(path)
    return str(value)


def resources(document: Original, path: Path, devices: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """Take requests and limits of a container without its devices.

    Resources of other kinds, such as network cards, stay. `devices` is the number of devices by resource that follows
    from the parallelism. Another number is noted as lost.
    """
    amounts = dict[str, dict[str, str]]()
    for group in ("requests", "limits"):
        for name in document.keys(path / group):
            place = path / group / name
            if name in devices or name in _resources_of_classes():
                _devices(document, place, devices)
            else:
                amount = quantity(document, place)
                if amount is not None:
                    amounts.setdefault(group, {})[name] = amount
    return amounts


@cache
def _resources_of_classes() -> frozenset[str]:
    """Return the names of the resources of all accelerator classes."""
    return accelerators.resource_names(accelerators.classes({}))


def _devices(document: Original, place: Path, devices: Mapping[str, int]) -> None:
    """Drop a number of devices that follows from the parallelism, and note any other."""
    name = str(place[-1])
    if name not in devices:
        document.note(place, "cannot", "devices beside those of the accelerator have no amount here")
    elif str(document.peek(place)) == str(devices[name]):
        document.drop(place, _DEVICES)
    else:
        document.note(place, "cannot", f"{_DEVICES}, which makes {devices[name]}")


def ports(original: Original, path: Path) -> list[int]:
    """Take the numbers of the ports in a list of a container."""
    numbers = (original.number(item / "containerPort") for item in original.items(path))
    for item in original.items(path):
        for name in ("name", "protocol", "hostIP", "hostPort"):
            original.drop(item / name, "a port is a number")
    return [number for number in numbers if number is not None]


def mounts(original: Original, path: Path) -> dict[str, str]:
    """Take the paths by volume in a list of mounts of a container."""
    paths = dict[str, str]()
    for item in original.items(path):
        name = original.text(item / "name")
        folder = original.text(item / "mountPath")
        if name and folder:
            paths[name] = folder
        original.drop(item / "readOnly", "the volume decides it")
        if original.has(item / "subPath"):
            original.note(item / "subPath", "cannot", "mounts name a volume and a path alone")
    return paths


def note_lost(original: Original, place: Path) -> None:
    """Note the fields of a further container that only the engine's container has here."""
    lost = {
        "livenessProbe": "further containers have no probes",
        "readinessProbe": "further containers have no probes",
        "startupProbe": "further containers have no probes",
        "lifecycle": "further containers have no hooks",
    }
    for name, reason in lost.items():
        if original.has(place / name):
            original.note(place / name, "cannot", reason)
    if original.has(place / "imagePullPolicy"):
        original.note(place / "imagePullPolicy", "differs", "the policy is the default of Kubernetes")
