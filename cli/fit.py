"""Command `fit`: prints the device memory that a model needs, or that the models of a stack need.

The command reads no cluster. For a stack, it uses the sizes and architectures in the lock.
"""

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from cli import documents, named_stack
from cli.documents import Block, Heading, Items, Line, Table
from facts import regular_files
from facts.regular_files import UnreadableError
from judging.report import memory_rows
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from models.trees import EMPTY, at, mapping
from models.vocabulary import amount
from planning.fit import configs, memory, models
from planning.fit.memory import Devices, Fit, Request
from planning.ground.cluster_facts import Unknown
from planning.hardware import accelerators

HELP = "print how much device memory models need"
_TITLES = ("weights", "overhead", "usable", "cache", "free", "context", "longest", "sequences")
_NOTE = (
    "All sizes are for one device. usable: memory that the engine may use; cache: KV cache of one sequence of maximum "
    "length; sequences: number of such sequences that fit."
)
_MOST_DEVICES = 8
"""Maximum number of devices to try for a class without `devices_per_node`."""
_UNFIT = 1
"""Exit code if the model of a role does not fit the role's devices."""


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    named_stack.add_stack(parser, nargs="?")
    named_stack.add_surroundings(parser)
    model = "without a stack: the name of a public model, or the path of a config.json"
    parser.add_argument("--model", metavar="NAME|FILE", help=model)
    parser.add_argument("--class", dest="accelerator", metavar="CLASS", help="class of the devices; absent: all")
    parser.add_argument("--size", type=_size, metavar="BYTES", help="bytes of the weights, such as 16Gi")
    parser.add_argument("--context", type=int, metavar="TOKENS", help="longest context; absent: that of the model")


def _size(text: str) -> str:
    """Return a number of bytes as a Kubernetes quantity. Raises `ValueError` if `text` is no number of bytes."""
    if re.fullmatch(r"[0-9]+(\.[0-9]{1,9})?([kKMGTP]i?)?", text) is None:
        raise ValueError(text)
    return re.sub("K$", "k", text)


def run(options: Namespace) -> int:
    """Print the table of a stack or of a model, and return the exit code: 1 if the model of a role does not fit.

    Raises `ConfigError` with all mistakes of the user.
    """
    if (options.stack is None) == (options.model is None):
        raise ConfigError([Problem(ConfigPath("fit"), "needs a stack or --model", "write exactly one of the two")])
    if options.stack is not None:
        return _print_stack(options)
    sys.stdout.write(documents.text(_of_model(options)))
    return 0


def _print_stack(options: Namespace) -> int:
    """Print the roles of a stack, even if its models do not fit their devices. Return the exit code."""
    plan = named_stack.of(options).compose(_without_check).plan
    roles = list(memory_rows.rows(plan))
    fits = [(role, role.fit) for role in roles if isinstance(role.fit, Fit)]
    unknown = [("?", f"{role.path}: {role.fit.reason}") for role in roles if isinstance(role.fit, Unknown)]
    rows = [(role.path, _devices(role), *memory_rows.cells(fit), _VERDICTS[fit.is_sufficient]) for role, fit in fits]
    blocks = list[Block]()
    if rows:
        blocks += [Table(("role", "devices", *_TITLES, ""), rows), Line(_NOTE)]
    if unknown:
        blocks.append(Items(unknown))
    sys.stdout.write(documents.text(blocks))
    if all(fit.is_sufficient for _, fit in fits):
        return 0
    return _UNFIT


def _without_check(tree: object) -> object:
    """Return the configuration with `checks.fit: skip`."""
    checks = at(tree, "checks")
    if mapping(tree) is EMPTY or (checks is not None and mapping(checks) is EMPTY):
        return tree
    return {**mapping(tree), "checks": {**mapping(checks), "fit": "skip"}}


def _devices(row: memory_rows.MemoryRow) -> str:
    if row.devices:
        return f"{row.devices} × {row.accelerator}"
    return row.accelerator


_VERDICTS = {True: "fits", False: "does not fit"}
"""Verdicts on a fit, by whether it is sufficient."""


def _of_model(options: Namespace) -> Iterator[Block]:
    """Yield a table with the smallest number of devices on which a model fits, for each class."""
    source = _source(options)
    classes = accelerators.classes({})
    if options.accelerator is not None and options.accelerator not in classes:
        near = accelerators.nearest(options.accelerator, classes)
        remedy = f"use {near}" if near else "see the shipped classes"
        raise ConfigError([Problem(ConfigPath("--class"), f"unknown class ({options.accelerator})", remedy)])
    yield Heading(options.model)
    rows = list[tuple[str, ...]]()
    small = list[str]()
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
    tensor = 1
    heads = source.architecture.heads
    while True:
        request = Request(source.architecture, source.weights, devices, source.tokens, tensor=tensor)
        fit = memory.fits(request)
        is_last = tensor * 2 > limit or (heads is not None and heads % (tensor * 2) != 0)
        if isinstance(fit, Unknown) or fit.is_sufficient or is_last:
            return fit
        tensor *= 2


def _source(options: Namespace) -> Request:
    """Return the `Request` for a model. The devices in it are a placeholder, which `_smallest` replaces."""
    path = ConfigPath("--model")
    model: str = options.model
    architecture = None
    size = None
    if Path(model).suffix == ".json":
        architecture = configs.architecture(_json(Path(model), path))
    elif public := models.find(model):
        architecture = public.architecture
        size = public.bytes
    if options.size is not None:
        size = int(amount(options.size)) or size
    if architecture is None:
        remedy = "name the path of the model's config.json, or a repository that planning/fit/models.yaml lists"
        raise ConfigError([Problem(path, f"is unknown ({model})", remedy)])
    weights = memory.loaded_bytes(architecture, size, memory.HALF)
    tokens = options.context or architecture.context_length
    if weights is None:
        raise ConfigError([Problem(path, "has weights of unknown size", "add --size, such as --size 16Gi")])
    if tokens is None:
        raise ConfigError([Problem(path, "has a context of unknown length", "add --context, such as --context 32768")])
    return Request(architecture, weights, Devices("nvidia", None, 0), tokens)


def _json(file: Path, path: ConfigPath) -> object:
    try:
        return regular_files.json_value(file, pipe=True, infinite=True)
    except UnreadableError as error:
        raise ConfigError([Problem(path, str(error), error.remedy or "name a config.json")]) from error
