"""YAML by libyaml, which is several times as fast as PyYAML's own code.

PyYAML's own takes its place where it was built without libyaml, and for the few values that libyaml writes with other
bytes: a text has to be the same on every machine, because pods roll when the text of their configuration changes.
"""

import json
import re
from typing import Any, cast

import yaml

_LOADER = cast("Any", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
_LONG_OR_EMPTY_KEY = r'|"": |"[^"]{120,}": '
_FOLDED_OTHERWISE = re.compile(r"\\" + _LONG_OR_EMPTY_KEY)
"""Values, as JSON, that libyaml folds in other places: those with a text that YAML escapes."""
_BLOCKS_OTHERWISE = re.compile(r'\\[bfru]|\\n\\n"|"\\n"' + _LONG_OR_EMPTY_KEY)
"""Values, as JSON, that libyaml writes in other styles: rare characters, and text that ends in empty lines."""
_WIDE = 10_000
"""Long strings stay on one line, so that a diff shows the words that changed."""


class _NoAnchors:
    """Repeats a value that occurs twice."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002, the signature is YAML's
        """Return that no value is referred to."""
        return True


class _PythonBlocks(_NoAnchors, yaml.SafeDumper):
    """PyYAML's own code."""


class _Blocks(_NoAnchors, cast("Any", getattr(yaml, "CSafeDumper", yaml.SafeDumper))):
    """libyaml, if PyYAML has it."""


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return cast("Any", dumper).represent_scalar("tag:yaml.org,2002:str", text, style=style)


for _dumper in (_PythonBlocks, _Blocks):
    _dumper.add_representer(str, _string)


def load(text: str) -> object:
    """Return the value of a document."""
    return yaml.load(text, Loader=_LOADER)  # noqa: S506, a safe loader either way


def with_folding(value: object) -> str:
    """Return a value as YAML with long texts folded."""
    is_same = _FOLDED_OTHERWISE.search(json.dumps(value)) is None
    dumper = cast("Any", getattr(yaml, "CSafeDumper", yaml.SafeDumper)) if is_same else yaml.SafeDumper
    return yaml.dump(value, Dumper=dumper, sort_keys=False)


def with_blocks(value: object) -> str:
    """Return a value as YAML with texts of several lines as blocks, and without anchors."""
    is_same = _BLOCKS_OTHERWISE.search(json.dumps(value)) is None
    return yaml.dump(value, Dumper=_Blocks if is_same else _PythonBlocks, sort_keys=False, width=_WIDE)
