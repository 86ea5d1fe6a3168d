"""Series that a version of vLLM reports at `/metrics`, read from its source code without running it."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_CONNECTORS = "vllm/distributed/kv_transfer/kv_connector/v1"
FILES = (
    "vllm/engine/metrics.py",
    "vllm/v1/metrics/loggers.py",
    "vllm/v1/metrics/perf.py",
    "vllm/v1/spec_decode/metrics.py",
    "vllm/v1/kv_offload/cpu/common.py",
    "vllm/v1/kv_offload/cpu/manager.py",
    "vllm/v1/kv_offload/cpu/spec.py",
    "vllm/v1/kv_offload/tiering/base.py",
    "vllm/v1/kv_offload/tiering/spec.py",
    "vllm/v1/simple_kv_offload/metrics.py",
    f"{_CONNECTORS}/hf3fs/hf3fs_connector.py",
    f"{_CONNECTORS}/hisparse/stats.py",
    f"{_CONNECTORS}/mooncake/stats.py",
    f"{_CONNECTORS}/mooncake/store/metrics.py",
    f"{_CONNECTORS}/nixl/stats.py",
    f"{_CONNECTORS}/nixl_connector.py",
    f"{_CONNECTORS}/offloading/metrics.py",
    f"{_CONNECTORS}/offloading_connector.py",
    f"{_CONNECTORS}/umbp/stats.py",
    "vllm/entrypoints/openai/realtime/metrics.py",
    "vllm/entrypoints/speech_to_text/realtime/metrics.py",
    "vllm/entrypoints/rl/online/metrics.py",
    "vllm/entrypoints/serve/dev/sleep/metrics.py",
    "vllm/parser/metrics.py",
)
"""Modules that register metrics, or that have their names; each version has some of these modules.

Left out is `vllm/v1/kv_offload/tiering/kvcr/manager.py`, because another package has the names of its metrics.
"""
KINDS = ("counter", "gauge", "histogram")
_NAME = re.compile(r"vllm:\w+[a-z0-9]")
_EVERYWHERE = frozenset({"vllm:num_requests_running", "vllm:num_requests_waiting"})
"""Gauges that every version has. If one is missing, vLLM has moved it."""
_TOTAL = "_total"
"""Suffix that prometheus_client adds to the name of a counter unless it has this suffix."""


@dataclass(frozen=True, slots=True)
class Series:
    """Names of metrics that one version of vLLM registers under some settings. A counter's name ends in `_total`."""

    counters: frozenset[str]
    gauges: frozenset[str]
    histograms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Registration:
    """A place in the code of vLLM that registers metrics, or that describes a metric which other code registers."""

    path: str
    """Path of the module in the wheel."""
    kind: str
    """One of `KINDS`."""
    name: str
    """Name as the code writes it: that of a counter may lack `_total`."""
    call: ast.Call
    """The call with labels and bounds."""
    scope: ast.AST
    """The function, class or module of the call."""
    is_description: bool
    """Whether the call only describes the metric, and stands in a dictionary."""

    @property
    def metric(self) -> str:
        """Return the name of the metric at `/metrics`."""
        if self.kind == "counter":
            return f"{self.name.removesuffix(_TOTAL)}{_TOTAL}"
        return self.name


def read(sources: Mapping[str, bytes]) -> Series:
    """Return the metrics of a version of vLLM. `sources` are the contents of its files, by path.

    Raises ValueError if gauges of every earlier version are missing, or if a file has a name of a metric that no call
    registers: vLLM has then moved the code.
    """
    trees = {path: ast.parse(content) for path, content in sources.items()}
    rows = list(registrations(trees))
    known = {row.name for row in rows}
    unregistered = {text for tree in trees.values() for text in _texts(tree)} - known
    names = {kind: frozenset(row.metric for row in rows if row.kind == kind) for kind in KINDS}
    if unregistered or not names["gauge"] >= _EVERYWHERE:
        raise ValueError(f"no call registers {', '.join(sorted(unregistered | _EVERYWHERE - known))}")
    return Series(names["counter"], names["gauge"], names["histogram"])


def registrations(trees: Mapping[str, ast.Module]) -> Iterator[Registration]:
    """Yield the places that register metrics. `trees` are the modules of one version of vLLM, by path.

    A call in a function of a class is yielded for the module, the class and the function, in this order.
    """
    constants = {name: value for tree in trees.values() for name, value in _attributes(tree)}
    for path, tree in trees.items():
        yield from _registrations(path, tree, constants)


def _attributes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names in constants of modules, by `NAME`, and in those of classes, by `Class.NAME`."""
    yield from _constants(tree.body, "")
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _constants(node.body, f"{node.name}.")


def _constants(statements: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, str]]:
    for statement in statements:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = _text(statement.value)
            if name is not None:
                yield f"{prefix}{statement.targets[0].id}", name


def _registrations(path: str, tree: ast.Module, constants: Mapping[str, str]) -> Iterator[Registration]:
    """Yield the places of a module that register metrics, or that describe them.

    If the name is a variable of a function, the function's texts are the names.
    """
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.FunctionDef | ast.Module | ast.ClassDef):
            continue
        direct = set[str]()
        variables = list[_Argument]()
        for argument in _arguments(scope):
            name = _text(argument.name) or constants.get(ast.unparse(argument.name))
            if name is not None:
                direct.add(name)
                yield argument.registration(path, name, scope)
            elif isinstance(argument.name, ast.JoinedStr):
                names = _names_of_loop(argument.name, scope, tree)
                yield from (argument.registration(path, name, scope) for name in names)
            elif isinstance(argument.name, ast.Name) and isinstance(scope, ast.FunctionDef):
                variables.append(argument)
        for argument in variables:
            yield from (argument.registration(path, name, scope) for name in _texts(scope) if name not in direct)


@dataclass(frozen=True, slots=True)
class _Argument:
    """A call that registers or describes a metric, and the expression of the metric's name."""

    kind: str
    name: ast.expr
    call: ast.Call
    is_description: bool

    def registration(self, path: str, name: str, scope: ast.AST) -> Registration:
        return Registration(path, self.kind, name, self.call, scope, self.is_description)


def _names_of_loop(text: ast.JoinedStr, function: ast.AST, tree: ast.Module) -> Iterator[str]:
    """Yield the names that a text such as `f"vllm:hisparse_{name}"` gets in a loop over a constant of the module."""
    lists = {ast.unparse(node.iter) for node in ast.walk(function) if isinstance(node, ast.For)}
    (head, *_) = (part.value for part in text.values if isinstance(part, ast.Constant))
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and statement.value and ast.unparse(statement.target) in lists:
            yield from (f"{head}{row[0]}" for row in ast.literal_eval(statement.value))


def _arguments(scope: ast.AST) -> Iterator[_Argument]:
    """Yield the names that calls register, or that are keys of descriptions of metrics."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Call):
            kind = _kind(node)
            name = next((keyword.value for keyword in node.keywords if keyword.arg == "name"), None)
            if kind is not None and (name is not None or node.args):
                yield _Argument(kind, name or node.args[0], node, is_description=False)
        elif isinstance(node, ast.Dict):
            yield from _descriptions((key, value) for key, value in zip(node.keys, node.values, strict=True) if key)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            yield from _descriptions([(node.targets[0].slice, node.value)])


def _descriptions(items: Iterable[tuple[ast.expr, ast.expr]]) -> Iterator[_Argument]:
    for key, value in items:
        kind = _kind(value)
        if kind is not None and isinstance(value, ast.Call):
            yield _Argument(kind, key, value, is_description=True)


def _kind(call: ast.expr) -> str | None:
    """Return the kind of metric that a call makes: its name contains the kind; None for other expressions."""
    if not isinstance(call, ast.Call):
        return None
    callee = ast.unparse(call.func).rpartition(".")[2].lower()
    return next((kind for kind in KINDS if kind in callee), None)


def _texts(node: ast.AST) -> Iterator[str]:
    """Yield the texts that are names of metrics."""
    for child in ast.walk(node):
        if isinstance(child, ast.expr):
            name = _text(child)
            if name is not None:
                yield name


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value):
        return node.value
    return None
