"""Command `fit`: prints the device memory that a model needs, or that the models of a stack need.

The command reads no cluster. For a stack, it uses the sizes and architectures in the lock.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from cli import documents, stackfile, stackname
from cli.documents import Block, Heading, Items, Line, Table
from composition import Given, LockFile, Refusal, compose
from facts import platform_file, regular_files
from facts.regular_files import UnreadableError
from judging.report import memory_rows
from models.paths import Path as ConfigPath
from models.platform import Outputs
from models.problems import ConfigError, Problem
from models.vocabulary import amount
from planning.fit import configs, memory, models
from planning.fit.memory import Devices, Fit, Request
from planning.ground.cluster_facts import NOTHING_READ, Unknown
from planning.ground.marks import StackName
from planning.hardware import accelerators
from planning.plans import StackPlan

_TITLES = ("weights", "overhead", "usable", "cache", "free", "context", "longest", "sequences")
_NOTE = (
    "All sizes are for one device. usable: memory that the engine may use; cache: KV cache of one sequence of maximum "
    "length; sequences: number of such sequences that fit."
)
_MOST_DEVICES = 8
"""Maximum number of devices to try for a class without `devices_per_node`."""
_UNFIT = 1
"""Exit code if the model of a role does not fit the role's devices."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command."""

    stack: str | None
    platform: str | None
    model: str | None
    """Name of a model of the shipped table, or path of a config.json."""
    accelerator: str | None
    """Class of the devices; None for all classes."""
    size: str | None
    """Bytes of the weights, as a quantity."""
    context: int | None
    """Length of the longest context in tokens; None for the context length of the model."""


def run(options: Options) -> tuple[str, int]:
    """Return the output and the exit code of the command: 1 if the model of a role of a stack does not fit, else 0.

    Raises `ConfigError` with all mistakes of the user.
    """
    if (options.stack is None) == (options.model is None):
        raise ConfigError([Problem(ConfigPath("fit"), "needs a stack or --model", "write exactly one of the two")])
    if options.model is not None:
        return documents.text(_of_model(options, options.model)), 0
    return _of_stack(options, str(options.stack))


def _of_stack(options: Options, file_or_stack: str) -> tuple[str, int]:
    file = stackfile.locate(file_or_stack)
    platform = None if options.platform is None else platform_file.read(Path(options.platform))
    plan = stackfile.parse(file).apply(partial(_plan, stackname.of(file, None), platform))
    found = list(memory_rows.rows(plan))
    known = [(row, row.fit) for row in found if isinstance(row.fit, Fit)]
    unknown = [("?", f"{row.path}: {row.fit.reason}") for row in found if isinstance(row.fit, Unknown)]
    rows = [(row.path, _devices(row), *memory_rows.cells(fit), _verdict(fit)) for row, fit in known]
    blocks: list[Block] = [Table(("role", "devices", *_TITLES, ""), rows), Line(_NOTE)] if rows else []
    blocks += [Items(unknown)] if unknown else []
    is_sufficient = all(fit.is_sufficient for _, fit in known)
    return documents.text(blocks), 0 if is_sufficient else _UNFIT


def _plan(name: StackName, platform: Outputs | None, tree: object) -> StackPlan:
    """Return the plan of a stack, even if models do not fit their devices."""
    composition = compose(_without_check(tree), Given(NOTHING_READ), name, platform=platform, lock=LockFile(Path.cwd()))
    if isinstance(composition, Refusal):
        raise composition.error
    return composition.plan


def _without_check(tree: object) -> object:
    """Return the configuration with `checks.fit: skip`."""
    if not isinstance(tree, dict):
        return tree
    stack = cast("dict[str, Any]", tree)
    checks = stack.get("checks")
    others = cast("dict[str, Any]", checks) if isinstance(checks, dict) else {}
    return {**stack, "checks": {**others, "fit": "skip"}} if checks is None or isinstance(checks, dict) else stack


def _devices(row: memory_rows.Row) -> str:
    return f"{row.devices} × {row.accelerator}" if row.devices else row.accelerator


def _verdict(fit: Fit) -> str:
    return "fits" if fit.is_sufficient else "does not fit"


def _of_model(options: Options, model: str) -> Iterator[Block]:
    """Yield a table with the smallest number of devices on which a model fits, for each class."""
    source = _source(options, model)
    classes = accelerators.classes({})
    if options.accelerator is not None and options.accelerator not in classes:
        near = accelerators.nearest(options.accelerator, classes)
        remedy = f"use {near}" if near else "see the shipped classes"
        raise ConfigError([Problem(ConfigPath("--class"), f"unknown class ({options.accelerator})", remedy)])
    yield Heading(model)
    rows, small = list[tuple[str, ...]](), list[str]()
    for name, cls in classes.items():
        if cls.memory is None or options.accelerator not in {None, name}:
            continue
        fit = _smallest(source, Devices(cls.vendor, cls.product, cls.memory), cls.devices_per_node or _MOST_DEVICES)
        if isinstance(fit, Unknown):
            raise ConfigError([Problem(ConfigPath("--model"), f"cannot be computed: {fit.reason}")])
        if fit.is_sufficient:
            rows.append((f"{fit.request.tensor} × {name}", *memory_rows.cells(fit)))
        else:
            small.append(name)
    if options.accelerator is not None and not rows and not small:
        raise ConfigError(
            [Problem(ConfigPath("--class"), "names a class without known memory", "name the class of a product")]
        )
    if rows:
        yield Table(("devices", *_TITLES), rows)
        yield Line(_NOTE)
    if small:
        yield Line(f"The model fits no node of these classes: {', '.join(small)}.")


def _smallest(source: Request, devices: Devices, limit: int) -> Fit | Unknown:
    """Return the fit on the smallest sufficient number of devices; if none suffices, on the largest number tried."""
    tensor, heads = 1, source.architecture.heads
    while True:
        request = Request(source.architecture, source.weights, devices, source.tokens, tensor=tensor)
        fit = memory.fits(request)
        is_last = tensor * 2 > limit or (heads is not None and heads % (tensor * 2) != 0)
        if isinstance(fit, Unknown) or fit.is_sufficient or is_last:
            return fit
        tensor *= 2


def _source(options: Options, model: str) -> Request:
    """Return the `Request` for a model. The devices in it are a placeholder, which `_smallest` replaces."""
    at, path = ConfigPath("--model"), Path(model)
    size = None if options.size is None else int(amount(options.size))
    if path.suffix == ".json":
        architecture, published = configs.architecture(_json(path, at)), None
    else:
        public = models.find(model)
        architecture, published = (None, None) if public is None else (public.architecture, public.bytes)
    if architecture is None:
        remedy = "name the path of the model's config.json, or a repository that planning/fit/models.yaml lists"
        raise ConfigError([Problem(at, f"is unknown ({model})", remedy)])
    weights = memory.loaded_bytes(architecture, size or published, memory.HALF)
    tokens = options.context or architecture.context_length
    if weights is None:
        raise ConfigError([Problem(at, "has weights of unknown size", "add --size, such as --size 16Gi")])
    if tokens is None:
        raise ConfigError([Problem(at, "has a context of unknown length", "add --context, such as --context 32768")])
    return Request(architecture, weights, Devices("nvidia", None, 0), tokens)


def _json(path: Path, at: ConfigPath) -> object:
    try:
        return regular_files.json_value(path, pipe=True, infinite=True)
    except UnreadableError as error:
        raise ConfigError([Problem(at, str(error), error.remedy or "name a config.json")]) from error
