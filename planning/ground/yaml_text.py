"""Reader and writer of YAML with libyaml, which is several times as fast as PyYAML's Python code.

The Python code is used if PyYAML was built without libyaml. It also writes the few values that libyaml would write in
another way. A text must be the same on every machine, because pods roll when the text of their configuration
changes.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

import yaml

_LOADER = cast("Any", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
_LONG_OR_EMPTY_KEY = r'|"": |"[^"]{120,}": '
_FOLDED_OTHERWISE = re.compile(r"\\" + _LONG_OR_EMPTY_KEY)
"""Matches the JSON of values that libyaml may fold at other places than PyYAML's Python code does.

These are values with a text that needs escapes, or with a long or empty key.
"""
_BLOCKS_OTHERWISE = re.compile(r'\\[bfru]|\\n\\n"|"\\n"' + _LONG_OR_EMPTY_KEY)
"""Matches the JSON of values that libyaml may write in another style than PyYAML's Python code does.

These are values with rare characters, with a text that ends in empty lines, or with a long or empty key.
"""
_GO_WORDS = frozenset({"y", "Y", "n", "N"})
"""Words that go-yaml 2 reads as booleans, and PyYAML as text (gopkg.in/yaml.v2 v2.4.0, resolve.go, `resolveMapList`).

kubectl and client-go read YAML with go-yaml 2 (sigs.k8s.io/yaml v1.6.0).
"""
_GO_NUMBER = re.compile(
    r"[-+]?(0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)"
    r"|[-+]?0[bo][-+]?[0-9]+"
)
"""Texts that go-yaml 2 or 3, or a reader of YAML 1.2, reads as numbers; go-yaml drops underscores first.

Sources: gopkg.in/yaml.v2 v2.4.0 and gopkg.in/yaml.v3 v3.0.1, resolve.go, `resolve`, with strconv.ParseInt of base 0;
YAML 1.2.2, section 10.3.2.
"""
_FIRST_OF_NUMBERS = frozenset("+-.0123456789")
_GO_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?", re.DOTALL)
"""Texts that go-yaml 3 may read as times (`parseTimestamp`): the numbers may have fewer digits than in YAML 1.1."""
_TEXT = "tag:yaml.org,2002:str"
_OTHER = "tag:yaml.org,2002:other"
"""Tag of an unquoted text that some reader reads as another value. Dumpers quote texts with another tag than text."""
_WIDE = 10_000
"""Line width in characters. This width keeps long strings on one line, so that a diff shows the words that changed."""


class _NoAnchors:
    """Mixin of dumpers. Each time a value occurs, it is written in full, without anchors and aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002, the signature is YAML's
        """Return True: no value is written as an alias."""
        return True


@cache
def _scalar_tag(text: str, implicit: tuple[bool, bool]) -> str:
    """Return the tag that YAML gives to a scalar without a tag, or `_OTHER` if readers of YAML disagree.

    Results are cached, because most scalars are keys, and the same keys occur often.
    """
    tag = cast("Any", yaml).resolver.Resolver().resolve(yaml.ScalarNode, text, implicit)
    if tag == _TEXT and implicit[0] and _is_misread(text):
        return _OTHER
    return tag


def _is_misread(text: str) -> bool:
    """Return whether go-yaml or a reader of YAML 1.2 reads an unquoted text as another value than text."""
    if text[:1] not in _FIRST_OF_NUMBERS:
        return text in _GO_WORDS
    return _GO_NUMBER.fullmatch(text.replace("_", "")) is not None or _GO_DATE.fullmatch(text) is not None


class _PythonFolding(_NoAnchors, yaml.SafeDumper):
    """Dumper in Python code that folds long texts."""


class _Folding(_NoAnchors, cast("Any", getattr(yaml, "CSafeDumper", yaml.SafeDumper))):
    """Dumper of libyaml that folds long texts, or in Python code if PyYAML was built without libyaml."""


class _PythonBlocks(_NoAnchors, yaml.SafeDumper):
    """Dumper in Python code."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:  # noqa: ANN401, the signature is YAML's
        """Return the tag that YAML gives to a node without a tag."""
        if kind is yaml.ScalarNode:
            return _scalar_tag(value, implicit)
        return cast("Any", super()).resolve(kind, value, implicit)


class _Blocks(_NoAnchors, cast("Any", getattr(yaml, "CSafeDumper", yaml.SafeDumper))):
    """Dumper of libyaml, or in Python code if PyYAML was built without libyaml."""

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str:
        """Return the tag that YAML gives to a node without a tag."""
        if kind is yaml.ScalarNode:
            return _scalar_tag(value, implicit)
        if kind is yaml.MappingNode:
            return self.DEFAULT_MAPPING_TAG
        return self.DEFAULT_SEQUENCE_TAG


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return cast("Any", dumper).represent_scalar(_TEXT, text, style=style)


for _dumper in (_PythonBlocks, _Blocks):
    _dumper.add_representer(str, _string)


def load(text: str) -> object:
    """Return the value of a YAML document."""
    return yaml.load(text, Loader=_LOADER)  # noqa: S506, a safe loader either way


def texts(value: object) -> Iterator[str]:
    """Yield every text inside a value, including keys of mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from texts(inner)


def with_folding(value: object, is_quoted: Callable[[str], bool] = lambda _: False) -> str:
    """Return a value as YAML with long texts folded. Texts and keys for which `is_quoted` is true are quoted."""
    if any(map(is_quoted, texts(value))):
        return yaml.dump(value, Dumper=_quoting(is_quoted), sort_keys=False)
    dumper = _Folding
    if _FOLDED_OTHERWISE.search(json.dumps(value)) is not None:
        dumper = _PythonFolding
    return yaml.dump(value, Dumper=dumper, sort_keys=False)


def _quoting(is_quoted: Callable[[str], bool]) -> type[yaml.SafeDumper]:
    """Return a dumper that quotes the texts for which `is_quoted` is true."""

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = "'" if is_quoted(text) else None
        return cast("Any", dumper).represent_scalar(_TEXT, text, style=style)

    dumper = type("_Quoting", (_PythonFolding,), {})
    cast("Any", dumper).add_representer(str, represent)
    return dumper


def with_blocks(value: object) -> str:
    """Return a value as YAML with texts of several lines as blocks, and without anchors."""
    is_same = _BLOCKS_OTHERWISE.search(json.dumps(value)) is None
    return yaml.dump(value, Dumper=_Blocks if is_same else _PythonBlocks, sort_keys=False, width=_WIDE)
