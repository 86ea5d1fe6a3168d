"""Flags, variables and JSON values that a version of vLLM knows, read from its source code without running it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from upstream import arguments
from upstream.arguments import OPTION

PACKAGE = "vllm"
ARGUMENTS = "vllm/engine/arg_utils.py"
VARIABLES = "vllm/envs.py"
CONNECTORS = "vllm/distributed/kv_transfer/kv_connector/factory.py"
COMMAND = "vllm/entrypoints/cli/serve.py"
FRONTEND = (
    "vllm/entrypoints/openai/cli_args.py",
    "vllm/entrypoints/launchers/cli_args.py",
    "vllm/entrypoints/common/cli_args.py",
)
"""Modules that declare the arguments of the API server; each version has one of these modules."""
CONFIGURATIONS = (
    "vllm/config.py",
    "vllm/config/__init__.py",
    "vllm/config/attention.py",
    "vllm/config/compilation.py",
    "vllm/config/kernel.py",
    "vllm/config/kv_events.py",
    "vllm/config/kv_transfer.py",
    "vllm/config/parallel.py",
    "vllm/config/speculative.py",
)
"""Modules of the classes in `_JSON_FLAGS`; each version has some of these modules."""
FILES = (ARGUMENTS, VARIABLES, CONNECTORS, COMMAND, *FRONTEND, *CONFIGURATIONS)
_JSON_FLAGS = {
    "AttentionConfig": "--attention-config",
    "CompilationConfig": "--compilation-config",
    "EPLBConfig": "--eplb-config",
    "KVEventsConfig": "--kv-events-config",
    "KVTransferConfig": "--kv-transfer-config",
    "KernelConfig": "--kernel-config",
    "SpeculativeConfig": "--speculative-config",
}
"""Flags with a JSON object as their value, by the class whose fields are the keys of that object.

Left out are flags whose objects have arbitrary keys, and flags whose value is seldom an object.
"""
_ENUMERATED = frozenset({"KVEventsConfig", "KVTransferConfig"})
"""Classes of the JSON objects that this project generates. The allowed values of their fields are read, too."""
_EVERYWHERE = frozenset({"--port", "--model", "--chat-template", "--tensor-parallel-size", "-tp"})
"""Flags that every version has, at least one of each file that declares flags. If one is missing, vLLM has moved it."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Names that one version of vLLM knows."""

    flags: frozenset[str]
    """Flags of `vllm serve`, with their dashes."""
    variables: frozenset[str]
    """Environment variables."""
    values: frozenset[str]
    """Keys of JSON objects, as `--flag.key`, and the allowed values of some keys, as `--flag.key=value`."""


def read(sources: dict[str, bytes]) -> Knowledge:
    """Return the names that a version of vLLM knows. `sources` are the contents of its files, by path.

    Raises ValueError if the files lack names that every earlier version has: vLLM has then moved the code.
    """
    trees = {path: ast.parse(content) for path, content in sources.items()}
    frontend = [trees[path] for path in FRONTEND if path in trees]
    flags = {flag for tree in (*frontend, trees[ARGUMENTS], trees[COMMAND]) for flag in arguments.options(tree)}
    flags |= {flag for tree in frontend for flag in _fields_as_flags(tree)}
    values = {value for path in CONFIGURATIONS if path in trees for value in _json_values(trees[path])}
    values |= {f"--kv-transfer-config.kv_connector={name}" for name in _connectors(trees[CONNECTORS])}
    knowledge = Knowledge(frozenset(flags), frozenset(_variables(trees[VARIABLES])), frozenset(values))
    is_whole = (
        flags >= _EVERYWHERE and "VLLM_API_KEY" in knowledge.variables and "--kv-transfer-config.kv_role" in values
    )
    if not is_whole:
        raise ValueError("the files lack flags, variables or JSON keys that the files of every earlier version have")
    return knowledge


def _fields_as_flags(tree: ast.Module) -> Iterator[str]:
    """Yield the flags that vLLM derives from fields of argument classes, and the options in the module's lists."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name.endswith("Args"):
            yield from (f"--{name.replace('_', '-')}" for name, _ in arguments.fields(node))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            texts = [item.value for item in node.value.elts if isinstance(item, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str) and OPTION.fullmatch(text))


def _json_values(tree: ast.Module) -> Iterator[str]:
    """Yield the fields of the classes in `_JSON_FLAGS`, and the allowed values of fields of those in `_ENUMERATED`."""
    enumerations = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in _JSON_FLAGS:
            for name, annotation in arguments.fields(node):
                key = f"{_JSON_FLAGS[node.name]}.{name}"
                yield key
                if node.name in _ENUMERATED:
                    yield from (f"{key}={value}" for value in _literals(annotation, enumerations))


def _literals(annotation: ast.expr, enumerations: dict[str, ast.expr]) -> Iterator[str]:
    """Yield the texts in the `Literal` of an annotation. A name in the annotation may stand for such a `Literal`."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name) and node.id in enumerations:
            yield from _literals(enumerations[node.id], enumerations)


def _variables(tree: ast.Module) -> Iterator[str]:
    """Yield the environment variables: the keys in upper case of all dictionaries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            names = (key.value for key in node.keys if isinstance(key, ast.Constant))
            yield from (name for name in names if isinstance(name, str) and name.isupper())


def _connectors(tree: ast.Module) -> Iterator[str]:
    """Yield the names under which connectors are registered."""
    for call in arguments.calls(tree, "register_connector"):
        if isinstance(call.args[0], ast.Constant):
            yield str(call.args[0].value)
