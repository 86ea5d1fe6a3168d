"""The lock of a stack: the file that pins the content of each source, and the file's reader and writer.

Only `python -m cli lock` writes the file. Each service and each cache has a block, so that git merges changes to
different services without conflicts. Each block has a checksum. A block that was edited by hand is refused.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import yaml
from pydantic import Field, JsonValue, ValidationError

from models import engine_yaml
from models.base import Spec
from models.paths import Path
from models.pins import Pin, Time, plain
from models.problems import ConfigError, Problem
from models.profile import ProfileService
from models.selection import LockedProfile
from models.source import is_pin, scheme

VERSION = 1
_END = "..."
"""Last line of the file, which ends a YAML document. If a file lacks this line, its end was lost."""
_HEADER = "# Written by `python -m cli lock`, which alone changes this file.\n"
_MARKERS = re.compile(r"^(<{7}|\|{7}|={7}|>{7})( |$)", re.MULTILINE)
_BLOCKS = ("services", "caches")
_KEYS = frozenset({"lockVersion", "stack", "cluster", *_BLOCKS})
_CHECK = "check"
_CHECK_LENGTH = 12
_PROFILE = "profile"
_PREFILL = "prefill"
_CANARY = "canary"
_DRAFT = "draft"
_INNER = ("adapters", _CANARY, _DRAFT, _PREFILL, _PROFILE)
"""Keys in a service's block that are not fields of the service's pin. Their values contain other pins, or a profile."""
_RESTORE = "restore it from git"
_LET_WRITE = f"{_RESTORE}, and let `python -m cli lock` alone write it"
_NUMERIC = re.compile(r"[-+.0-9]")
"""First character of a text that YAML may read as a number or a time."""
_NEXT_LINE = "\x85"
"""Character that PyYAML writes without quotes, although readers take it for a line break."""


class _Dumper(yaml.SafeDumper):
    """Writer that quotes every text that YAML may read as a number.

    A hash may look like `12e45`. Pulumi's YAML reads this as a number, and Python's YAML reads it as text.
    """


def _text_node(_: _Dumper, value: str) -> yaml.ScalarNode:
    style = None
    if _NEXT_LINE in value:
        style = '"'
    elif _NUMERIC.match(value):
        style = "'"
    return yaml.ScalarNode("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text_node)


class LockedCluster(Spec):
    """Facts of a stack's cluster and platform at the time `asked`."""

    name: str | None = None
    """Name that identifies the cluster in the state of Pulumi."""
    gateways: tuple[str, ...] | None = None
    """Gateways that a controller has accepted, as namespace/name; None if the cluster was not read."""
    platform: dict[str, JsonValue] = Field(default={})
    """Values of the platform's output."""
    asked: Time


@dataclass(frozen=True, slots=True)
class Lock:
    """The content of a lock."""

    stack: str
    """Name of the stack: organization/project/stack."""
    pins: Mapping[Path, Pin] = field(default_factory=dict[Path, Pin])
    """Pins by the path of the model, adapter or cache in the configuration."""
    cluster: LockedCluster | None = None
    file: str = ""
    """Name of the file, for messages; empty for a lock that is in no file."""
    profiles: Mapping[Path, LockedProfile] = field(default_factory=dict[Path, LockedProfile])
    """Profiles by the path of the service, canary or prefill in the configuration."""

    @property
    def blocks(self) -> tuple[str, ...]:
        """Return the names of blocks for the option `--update`: `qwen` for a service, `caches.mistral` for a cache."""
        return tuple(dict.fromkeys(block_of(path) for path in (*self.pins, *self.profiles)))


def block_of(path: Path) -> str:
    """Return the name of the block that holds the pin or the profile of a path in the configuration."""
    if path[0] == "services":
        return str(path[1])
    return f"{path[0]}.{path[1]}"


def file_name(stack: str) -> str:
    """Return the name of the lock file of a stack.

    The name does not begin with `Pulumi.`, because Pulumi's engine takes files with such names for stack files.
    """
    return f"inference.{stack}.lock.yaml"


def text(lock: Lock) -> str:
    """Return the text of a lock. Equal locks have equal texts."""
    document = dict[str, object]({"lockVersion": VERSION, "stack": lock.stack})
    if lock.cluster is not None:
        document["cluster"] = _with_check(plain(lock.cluster))
    for group in _BLOCKS:
        blocks = dict[str, dict[str, Any]]()
        for path, pin in lock.pins.items():
            if path[0] == group:
                _add_pin(blocks.setdefault(str(path[1]), {}), path, pin)
        for path, profile in lock.profiles.items():
            if path[0] == group:
                _add_profile(blocks.setdefault(str(path[1]), {}), path, profile)
        if blocks:
            document[group] = {key: _with_check(block) for key, block in sorted(blocks.items())}
    parts = (
        yaml.dump({key: value}, Dumper=_Dumper, allow_unicode=True, sort_keys=True, width=1000)
        for key, value in document.items()
    )
    return f"{_HEADER}{''.join(parts)}{_END}\n"


def _add_pin(block: dict[str, Any], path: Path, pin: Pin) -> None:
    """Add the pin of a path to the block of a service or cache."""
    if path[2:3] == ("canary",):
        block = block.setdefault("canary", {})
    if "adapters" in path:
        block = block.setdefault("adapters", {}).setdefault(str(path[-1]), {})
    elif path[-1] == _DRAFT:
        block = block.setdefault(_DRAFT, {})
    block.update(plain(pin))


def _add_profile(block: dict[str, Any], path: Path, profile: LockedProfile) -> None:
    """Add the profile of a path to the block of a service."""
    for key in path[2:]:
        block = block.setdefault(str(key), {})
    block[_PROFILE] = plain(profile)


def _with_check(block: Mapping[str, Any]) -> dict[str, Any]:
    return {**block, _CHECK: _check(block)}


def _check(block: Mapping[str, Any]) -> str:
    content = {key: value for key, value in block.items() if key != _CHECK}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_CHECK_LENGTH]


def read(content: str, file: str, stack: str, formerly: Collection[str] = ()) -> Lock:
    """Return the lock in the text of a file.

    `file` is the name of the file. `stack` is the name of the stack that reads the lock, and `formerly` has earlier
    names of this stack. Raises `ConfigError` with all mistakes in the file.
    """
    if marker := _MARKERS.search(content):
        line = content.count("\n", 0, marker.start()) + 1
        remedy = "keep one side of each conflict as a whole"
        raise engine_yaml.mistake(f"{file}:{line}", "has conflict markers of a merge", remedy)
    if content.rstrip("\n").rpartition("\n")[2] != _END:
        raise engine_yaml.mistake(file, f"is cut off (its last line is not {_END})", _RESTORE)
    tree = engine_yaml.parse(content, file, file=file).tree
    if not isinstance(tree, dict):
        raise engine_yaml.mistake(file, "is not a mapping", _RESTORE)
    document = cast("dict[str, Any]", tree)
    _refuse_version(document.get("lockVersion"), file)
    _refuse_stack(document.get("stack"), file, stack, formerly)
    problems = [Problem(Path(str(key)), "unknown key", _RESTORE, file=file) for key in document.keys() - _KEYS]
    pins = dict[Path, Pin]()
    profiles = dict[Path, LockedProfile]()
    for at, block in _blocks(document):
        problems += _block_problems(at, block, file, pins, profiles)
    cluster, cluster_problems = _cluster(document.get("cluster"), file)
    problems += cluster_problems
    if problems:
        raise ConfigError(sorted(problems))
    return Lock(str(document["stack"]), pins, cluster, file, profiles)


def _refuse_version(version: object, file: str) -> None:
    if version == VERSION:
        return
    if version is None:
        raise engine_yaml.mistake(file, "has no lockVersion", _RESTORE)
    remedy = _RESTORE
    if isinstance(version, int) and version > VERSION:
        remedy = f"upgrade this program, which reads version {VERSION}"
    raise engine_yaml.mistake(file, f"has an unknown version (lockVersion: {version})", remedy)


def _refuse_stack(name: object, file: str, stack: str, formerly: Collection[str]) -> None:
    """Reject the lock of another stack. Organizations are not compared, because their names depend on the backend."""
    names = {tuple(known.split("/")[-2:]) for known in (stack, *formerly)}
    if isinstance(name, str) and tuple(name.split("/")[-2:]) in names:
        return
    what = f"is the lock of another stack ({name}, and not {stack})"
    command = f"`python -m cli lock {stack.rpartition('/')[2]}`"
    remedy = f"write a lock with {command}, or add that name to formerly if this stack had that name before"
    raise engine_yaml.mistake(file, what, remedy)


def _blocks(document: Mapping[str, Any]) -> Iterator[tuple[Path, object]]:
    for group in _BLOCKS:
        blocks = document.get(group, {})
        if not isinstance(blocks, dict):
            yield Path(group), blocks
            continue
        for key, block in cast("dict[object, object]", blocks).items():
            yield Path(group, str(key)), block


def _block_problems(
    at: Path, block: object, file: str, pins: dict[Path, Pin], profiles: dict[Path, LockedProfile]
) -> list[Problem]:
    """Return the problems of a block, and add its valid pins and profiles to `pins` and `profiles`."""
    edited = _edit_problem(at, block, file)
    if edited is not None:
        return [edited]
    misshapen = sorted(_misshapen(cast("dict[str, Any]", block)))
    if misshapen:
        return [_unwritten(at, misshapen, file)]
    problems = list[Problem]()
    for path, values in _pin_values(at, cast("dict[str, Any]", block)):
        try:
            pins[path] = Pin.model_validate(_with_tuples(values))
        except ValidationError as error:
            problems += _shape_problems(at, error, file)
        else:
            problems += _pin_problems(path, pins[path], file)
    for path, values in _profile_values(at, cast("dict[str, Any]", block)):
        try:
            profiles[path] = LockedProfile.model_validate(values)
            ProfileService.model_validate(_keys_of_profile(profiles[path].service))
        except ValidationError as error:
            problems += _shape_problems(at, error, file)
    return problems


def _misshapen(block: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a block whose values are no mappings although they contain pins or profiles."""
    for key in block.keys() & set(_INNER):
        value = block[key]
        if not isinstance(value, dict):
            yield key
        elif key == "adapters":
            adapters = cast("dict[str, object]", value).items()
            yield from (f"{key}.{name}" for name, adapter in adapters if not isinstance(adapter, dict))
        elif key == _CANARY:
            yield from (f"{key}.{inner}" for inner in _misshapen(cast("dict[str, Any]", value)))


def _pin_problems(at: Path, pin: Pin, file: str) -> Iterator[Problem]:
    """Yield the problems of a pin that names another content than one of its source.

    A check sum does not rule this out, because anybody can compute it.
    """
    if not is_pin(pin.source, pin.was):
        what = f"is pinned to another source ({pin.was} to {pin.source})"
        if pin.source == pin.was:
            what = f"is pinned to no commit or digest ({pin.source})"
        yield Problem(at / "source", what, _LET_WRITE, file=file)
    if (pin.digest is None) is (scheme(pin.was) == "s3"):
        yield _unwritten(at, ["digest"], file)


def _keys_of_profile(service: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a locked profile as a profile has them: without the name of the model.

    No other key of a service can be in a profile.
    """
    model = service.get("model")
    if not isinstance(model, dict):
        return dict(service)
    named = cast("dict[str, Any]", model)
    return {**service, "model": {key: value for key, value in named.items() if key != "name"}}


def _profile_values(at: Path, block: object) -> Iterator[tuple[Path, object]]:
    """Yield the profile of each service, canary and prefill of a block, by its path."""
    if not isinstance(block, dict) or at[0] == "caches":
        return
    content = cast("dict[str, Any]", block)
    if _PROFILE in content:
        yield at, content[_PROFILE]
    for key in (_PREFILL, _CANARY):
        yield from _profile_values(at / key, content.get(key))


def _edit_problem(at: Path, block: object, file: str) -> Problem | None:
    """Return the problem of a block whose checksum does not match its content; None for any other block."""
    if isinstance(block, dict):
        content = cast("dict[str, Any]", block)
        if content.get(_CHECK) == _check(content):
            return None
    return Problem(at, "was edited by hand", _LET_WRITE, file=file)


def _pin_values(at: Path, block: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the values of each pin of a block, by the path of the pinned model, adapter or cache."""
    content = {key: value for key, value in block.items() if key != _CHECK}
    if at[0] == "caches":
        yield at, content
        return
    canary = cast("dict[str, Any]", content.get("canary", {}))
    for path, variant in ((at, content), (at / "canary", canary)):
        model = path / "model"
        values = {key: value for key, value in variant.items() if key not in _INNER}
        if values:
            yield model, values
        for name, adapter in cast("dict[str, Any]", variant.get("adapters", {})).items():
            yield model / "lora" / "adapters" / name, adapter
        if _DRAFT in variant:
            yield model / "speculative" / _DRAFT, variant[_DRAFT]


def _with_tuples(value: object) -> Any:  # noqa: ANN401, plain values
    """Return plain values with a tuple in place of each list, because strict specs accept tuples but no lists."""
    if isinstance(value, dict):
        return {key: _with_tuples(inner) for key, inner in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return tuple(map(_with_tuples, cast("list[object]", value)))
    return value


def _shape_problems(at: Path, error: ValidationError, file: str) -> Iterable[Problem]:
    keys = sorted({".".join(map(str, details["loc"])) or "values" for details in error.errors(include_url=False)})
    return [_unwritten(at, keys, file)]


def _unwritten(at: Path, keys: Iterable[str], file: str) -> Problem:
    """Return the problem of keys or values that no version of the program up to this one writes."""
    what = f"has keys or values that this version of the program never writes ({', '.join(keys)})"
    return Problem(at, what, "upgrade this program, or restore the file from git", file=file)


def _cluster(block: object, file: str) -> tuple[LockedCluster | None, list[Problem]]:
    """Return the record of the cluster in a lock, or the problems of the record."""
    if block is None:
        return None, []
    at = Path("cluster")
    edited = _edit_problem(at, block, file)
    if edited is not None:
        return None, [edited]
    content = {key: value for key, value in cast("dict[str, Any]", block).items() if key != _CHECK}
    if "gateways" in content:
        content["gateways"] = _with_tuples(content["gateways"])
    try:
        return LockedCluster.model_validate(content), []
    except ValidationError as error:
        return None, list(_shape_problems(at, error, file))
