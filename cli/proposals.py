"""Next weights of canaries, written into the file that has the present ones."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cli import stackfile
from cli.named_stack import NamedStack
from composition.gates import ALL, GateReport
from facts import base_files
from judging.gates.contract import ProposalDocument
from judging.gates.records import GateOutcome
from models import engine_yaml, yaml_edits, yaml_moves
from models.config_keys import ROOT
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from models.service import Canary, Service, Variant
from models.trees import at, mapping
from models.yaml_edits import UneditableError

_TREE = ConfigPath("config", ROOT)
_KEPT = ("replicas", "autoscaling")
"""Keys that a canary does not inherit, and that stay those of the service."""
_MOVED = frozenset(Variant.model_fields) - {*_KEPT}
_OF_CANARIES = frozenset(Canary.model_fields) - frozenset(Variant.model_fields)
"""Keys that only a canary has."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The next step of a canary."""

    weight: int | None
    """Weight that was written; None if no weight is proposed."""
    file: str | None
    """File in which it was written."""
    lines: Sequence[str]
    """The proposal in words."""

    @property
    def tree(self) -> ProposalDocument:
        """Return the proposal as a plain tree."""
        return {"weight": self.weight, "file": self.file, "words": list(self.lines)}


@dataclass(frozen=True, slots=True)
class _Layer:
    """A file with keys of the stack."""

    path: Path
    top: ConfigPath
    """Path of the keys of the stack in the file."""
    tree: object
    """Values of the keys of the stack."""


def check_file(option: str | None, stack: str) -> None:
    """Raise `ConfigError` unless `option`, the file of `--propose`, is the file of the stack or absent."""
    if option is None or not option:
        return
    path = stackfile.locate(stack)
    if Path(option).resolve() != path.resolve():
        what = f"is not the file of the stack ({option})"
        raise ConfigError([Problem(ConfigPath("--propose"), what, f"name {path}")])


def propose(named: NamedStack, stack: str, report: GateReport) -> Proposal | None:
    """Write the next weight of a canary into the file that has its present weight, and return it.

    After a pass, it is the next one of `gates.steps`, and after a failure 0. A canary that gets every request is folded
    into its service if that means the same. None without a verdict. Raises `ConfigError` if the weight cannot be edited
    in its place, or is not that of the comparison any more; all files are then as they were. `stack` is the path or the
    name of the stack file.
    """
    key = report.service.key
    terms = report.service.terms
    if report.outcome is GateOutcome.FAILS and terms.weight:
        return _write(stack, key, terms.weight, 0)
    if report.outcome is not GateOutcome.PASSES:
        return None
    if terms.weight == ALL:
        layer = _layer(stack, key)
        if layer is not None:
            _check_unchanged(layer, key, ALL)
        return _fold(named, stack, key)
    following = next((step for step in terms.steps if step > terms.weight), None)
    if following is None:
        words = f"services.{key}.canary.gates.steps has no weight above {terms.weight}; add {ALL}"
        return Proposal(None, None, (words,))
    return _write(stack, key, terms.weight, following)


def _fold(named: NamedStack, stack: str, key: str) -> Proposal:
    """Fold a canary into its service in the stack file, or say how, if its keys cannot be moved as they are written."""
    service = f"services.{key}"
    path = stackfile.locate(stack)
    try:
        text = _read(path)
        edited = yaml_moves.fold(text, ConfigPath(*_TREE, "services", key), "canary", (*_OF_CANARIES, *_KEPT))
        tree = at(engine_yaml.parse(edited, str(path)).tree, *map(str, _TREE))
        is_same = _means_the_same(named, tree, key)
        if is_same:
            _save(path, edited)
    except (UneditableError, ConfigError, OSError, UnicodeDecodeError):
        is_same = False
    if not is_same:
        return Proposal(None, None, tuple(_folding(service)))
    return Proposal(None, str(path), (f"{service}.canary is folded into {service} in {path}",))


def _means_the_same(named: NamedStack, tree: object, key: str) -> bool:
    """Tell whether a service is in an edited stack what its canary was, with the replicas and the name of its own."""
    former = named.compose(asks_sources=False).stack.services[key]
    service = named.compose(lambda _: tree, asks_sources=False).stack.services[key]
    if former.canary is None or service.canary is not None:
        return False
    return all(
        getattr(service, name) == getattr(former.canary if name in _MOVED else former, name)
        for name in Service.model_fields
        if name != "canary"
    )


def _folding(service: str) -> Iterator[str]:
    """Yield how a canary that gets every request is folded in."""
    yield f"fold the canary in: move the keys of {service}.canary to {service}, but for weight, headers and gates"
    yield f"replicas and autoscaling of {service} stay as they are; then remove {service}.canary"


def _write(stack: str, key: str, former: int, weight: int) -> Proposal:
    """Write a weight into the highest layer that has one."""
    layer = _layer(stack, key)
    place = _weight_of(key)
    path = str(place)
    if layer is None:
        raise ConfigError([_refusal(path, layer, "is written in no file", weight)])
    _check_unchanged(layer, key, former)
    try:
        _edit(layer.path, ConfigPath(*layer.top, *place), weight)
    except UneditableError as error:
        raise ConfigError([_refusal(path, layer, f"{error}", weight)]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([_refusal(path, layer, f"cannot be written ({type(error).__name__})", weight)]) from None
    return Proposal(weight, str(layer.path), (f"{path}: {former} → {weight} in {layer.path}",))


def _weight_of(key: str) -> ConfigPath:
    return ConfigPath("services", key, "canary", "weight")


def _layer(stack: str, key: str) -> _Layer | None:
    """Return the highest layer that has the weight of a canary; None if none has."""
    names = tuple(map(str, _weight_of(key)))
    return next((layer for layer in _layers(stack) if at(layer.tree, *names) is not None), None)


def _check_unchanged(layer: _Layer, key: str, former: int) -> None:
    """Raise `ConfigError` unless a layer has the weight of the canary that was compared."""
    place = _weight_of(key)
    present = at(layer.tree, *map(str, place))
    if present != former:
        what = f"is {present} in {layer.path} and was {former} during the comparison, so nothing was changed"
        raise ConfigError([Problem(place, what, "ask again")])


def _refusal(path: str, layer: _Layer | None, what: str, weight: int) -> Problem:
    where = "" if layer is None else f" in {layer.path}"
    return Problem(ConfigPath(path), f"{what}{where}, so nothing was changed", f"write {weight} by hand")


def _layers(stack: str) -> Iterator[_Layer]:
    """Yield the stack file and the files that it extends, the highest layer first."""
    path = stackfile.locate(stack)
    tree = stackfile.read(path)
    yield _Layer(path, _TREE, tree)
    for document in reversed(base_files.read(mapping(tree), Path())):
        yield _Layer(Path(document.file), ConfigPath(), base_files.tree(document))


def _edit(path: Path, place: ConfigPath, number: int) -> None:
    """Write a number into a file, of which every other byte stays."""
    _save(path, yaml_edits.with_number(_read(path), place, number))


def _read(path: Path) -> str:
    """Return the text of a file with its ends of lines."""
    if not path.is_file():
        raise UneditableError("is in no regular file")
    return path.read_bytes().decode("utf-8")


def _save(path: Path, text: str) -> None:
    """Write a text into a file that exists, which is never half written."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode())
        Path(name).chmod(target.stat().st_mode)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
