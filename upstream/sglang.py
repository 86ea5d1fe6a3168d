"""Flags that a version of SGLang knows, read from its source code without running it."""

import ast
from collections.abc import Iterator

from upstream import arguments

PACKAGE = "sglang"
ARGUMENTS = "sglang/srt/server_args.py"
FIELDS = tuple(
    f"sglang/srt/arg_groups/fields/{name}.py"
    for name in (
        "device",
        "disagg",
        "exec_",
        "lora",
        "memory",
        "mm",
        "model",
        "observability",
        "parallel",
        "schedule",
        "serving",
        "spec",
    )
)
"""Modules of the classes whose fields are flags; later versions have them."""
FILES = (ARGUMENTS, *FIELDS)
_ANNOTATED = frozenset({"A", "Annotated"})
_EVERYWHERE = frozenset({"--model-path", "--port", "--tensor-parallel-size", "--disaggregation-mode", "--page-size"})
"""Flags that every version has, of several of the files. If one is missing, SGLang has moved it."""


def read(sources: dict[str, bytes]) -> frozenset[str]:
    """Return the flags of `sglang.launch_server`. `sources` are the contents of its files, by path.

    Raises ValueError if the files lack flags that every earlier version has: SGLang has then moved the code.
    """
    flags = set[str]()
    for content in sources.values():
        tree = ast.parse(content)
        flags |= {*arguments.options(tree), *_flags_of_fields(tree)}
    if not flags >= _EVERYWHERE:
        raise ValueError("the files lack flags that the files of every earlier version have")
    return frozenset(flags)


def _flags_of_fields(tree: ast.Module) -> Iterator[str]:
    """Yield the flags that SGLang derives from annotated fields, such as `port: A[int, "help"]`.

    Source: sglang 0.5.23, sglang/srt/arg_groups/arg_utils.py, `add_cli_args_from_dataclass`.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for name, annotation in arguments.fields(node):
            if isinstance(annotation, ast.Subscript) and _name(annotation.value) in _ANNOTATED:
                yield from _flags_of(name, annotation.slice)


def _flags_of(field: str, metadata: ast.expr) -> Iterator[str]:
    """Yield the flags of a field whose annotation has the entries `metadata`; none if it is no flag."""
    entries = metadata.elts if isinstance(metadata, ast.Tuple) else []
    texts = [entry for entry in entries if isinstance(entry, ast.Constant | ast.JoinedStr)]
    calls = [entry for entry in entries if isinstance(entry, ast.Call) and _name(entry.func) == "Arg"]
    keywords = {keyword.arg: keyword.value for call in calls for keyword in call.keywords}
    hidden = keywords.get("no_cli")
    is_hidden = isinstance(hidden, ast.Constant) and bool(hidden.value)
    if is_hidden or not (texts or calls):
        return
    yield next(arguments.texts(keywords.get("cli_name")), f"--{field.replace('_', '-')}")
    yield from arguments.texts(keywords.get("aliases"))


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else None
