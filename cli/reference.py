"""Command `reference`: the page of all configuration keys, generated from the specs."""

import json
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from cli import migration_page, profiles, runbook
from models import vocabulary
from models.config_keys import ROOT
from models.vocabulary import Shape
from package import descriptions

HELP = "print a generated page of the documents"
_DEFINITIONS = "#/$defs/"
_ANY = "JsonValue"
"""Name of the definition of arbitrary values. The page has no section for it."""
_LONGEST = 80
"""Maximum number of characters of a default or an example in a table. Longer values are left out."""
_HEAD = f"""# Configuration

Every key of `Pulumi.<stack>.yaml`, generated from the specs: `python -m cli reference > docs/configuration.md`.
All keys are below `config: {{{ROOT}: …}}`; `*` in a path stands for a name that you choose.

- A key without a default is **required**. The default `none` means that the key is absent; the column *Meaning* states
  the effect.
- `defaults` holds keys that every service inherits. A service merges over `defaults`, and its `prefill` and its
  `canary` merge over the service: maps merge key by key, a list or a scalar replaces the inherited value, and `null`
  removes it.
- `extends` names files with the same keys, without `config`. The stack file merges over these files: its `defaults`
  over their `defaults`, and each service over their service with the same key. Only then do services merge over
  `defaults`. `null` also removes values of these files.
- Unknown keys are errors. `python -m cli schema` prints the same rules as a JSON schema for editors.
"""


@dataclass(frozen=True, slots=True)
class _Section:
    """One group of keys."""

    definition: dict[str, Any]
    places: list[str] = field(default_factory=list[str])
    """Paths of the group in a stack file. The first path is the title."""

    @property
    def title(self) -> str:
        """Return the first path of the group."""
        return self.places[0]

    @property
    def anchor(self) -> str:
        """Return the URL fragment that GitHub gives to the title."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    pages = tuple(_PAGES)
    parser.add_argument("page", nargs="?", choices=pages, default="words", help="absent: every configuration word")


def run(options: Namespace) -> int:
    """Print a page, and return the exit code."""
    sys.stdout.write(_PAGES[options.page]())
    return 0


def text() -> str:
    """Return the page as it is committed."""
    tree = descriptions.of_stack()
    sections = _sections(tree)
    return "\n".join([_HEAD, *(line for section in sections.values() for line in _lines(section, sections))])


def _sections(tree: dict[str, Any]) -> dict[str, _Section]:
    """Return the groups by the names of their definitions, each before the groups below it."""
    sections = {"": _Section(tree, [ROOT])}

    def add(place: str, definition: dict[str, Any], *, without: str = "") -> None:
        for key, node in definition["properties"].items():
            if key == without:
                continue
            for below, name in _groups(node, f"{place}.{key}".strip(".")):
                known = name in sections
                sections.setdefault(name, _Section(tree["$defs"][name])).places.append(below)
                if not known:
                    add(below, tree["$defs"][name])

    add("", tree, without="defaults")
    return sections


def _groups(node: dict[str, Any], place: str) -> Iterator[tuple[str, str]]:
    """Yield each group of keys in the value at `place`: the path of the group, and the name of its definition."""
    name = node.get("$ref", "").removeprefix(_DEFINITIONS)
    if name not in {"", _ANY}:
        yield place, name
    for tag, alternative in _alternatives(node):
        yield from _groups(alternative, f"{place} ({tag})".removesuffix(" ()"))
    if "items" in node:
        yield from _groups(node["items"], f"{place}[]")
    for inner in node.get("patternProperties", {}).values():
        yield from _groups(inner, f"{place}.*")


def _alternatives(node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the text `type: …` that selects an alternative of a value, and the alternative.

    The text is empty if no key `type` selects the alternative.
    """
    tags = {reference: f"type: {tag}" for tag, reference in node.get("discriminator", {}).get("mapping", {}).items()}
    for alternative in (*node.get("oneOf", ()), *node.get("anyOf", ())):
        yield tags.get(alternative.get("$ref"), ""), alternative


def _lines(section: _Section, sections: dict[str, _Section]) -> Iterator[str]:
    """Yield the lines of one section."""
    required = section.definition.get("required", ())
    yield from (f"## `{section.title}`", "", _flat(section.definition.get("description", "")), "")
    if len(section.places) > 1:
        yield from (f"The same keys are allowed at {', '.join(f'`{place}`' for place in section.places[1:])}.", "")
    yield from ("| Key | Type | Default | Meaning |", "|---|---|---|---|")
    for key, node in section.definition["properties"].items():
        default = _default(node)
        if key in required:
            default = "**required**"
        kind = _type(node, sections)
        if key == "defaults":
            kind = f"keys of {_link(sections['Service'])}"
        cells = (f"`{key}`", kind, default, _meaning(node))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""


def _type(node: dict[str, Any], sections: dict[str, _Section]) -> str:
    """Return a description of the allowed values, with links to sections."""
    alternatives = [inner for _, inner in _alternatives(node) if inner.get("type") != "null"]
    if alternatives:
        return " or ".join(dict.fromkeys(_type(inner, sections) for inner in alternatives))
    if "$ref" in node:
        name = node["$ref"].removeprefix(_DEFINITIONS)
        return "any" if name == _ANY else _link(sections[name])
    if "enum" in node or "const" in node:
        return ", ".join(f"`{value}`" for value in node.get("enum", [node.get("const")]))
    if node.get("type") == "array":
        return f"list of {_type(node['items'], sections)}"
    if node.get("type") == "object":
        inner = next(iter(node.get("patternProperties", {}).values()), None)
        return "Kubernetes object" if inner is None else f"map of {_type(inner, sections)}"
    return _scalar(node)


def _link(section: _Section) -> str:
    return f"[`{section.title}`](#{section.anchor})"


def _scalar(node: dict[str, Any]) -> str:
    """Return a description of the allowed texts or numbers."""
    kind = node.get("type", "any")
    if kind == "string":
        return _NOUNS.get(node.get("pattern", ""), "text")
    text = str(kind)
    if "exclusiveMinimum" in node:
        text += f" above {node['exclusiveMinimum']}"
    elif "minimum" in node:
        text += f" from {node['minimum']}"
    if node.get("maximum", vocabulary.LARGEST) != vocabulary.LARGEST:
        text += f" to {node['maximum']}"
    return text


def _default(node: dict[str, Any]) -> str:
    value = node.get("default")
    if value is None:
        return "none"
    written = json.dumps(value, ensure_ascii=False)
    if "$ref" in node or len(written) > _LONGEST:
        return ""
    return f"`{written}`"


def _meaning(node: dict[str, Any]) -> str:
    examples = [json.dumps(value, ensure_ascii=False) for value in node.get("examples", ())]
    shown = [f"Example: `{example}`" for example in examples[:1] if len(example) <= _LONGEST]
    return " ".join([_flat(node.get("description", "")), *shown])


def _flat(description: str) -> str:
    return " ".join(description.split())


def _nouns() -> Iterator[tuple[str, str]]:
    """Yield the pattern of each value type of the vocabulary, with a noun for its values."""
    for alias in vars(vocabulary).values():
        for shape in (inner for inner in get_args(alias) if isinstance(inner, Shape)):
            if (noun := re.sub(r"^is not an? ", "", shape.what)) != shape.what:
                yield f"^(?:{shape.pattern})$", noun


_NOUNS = dict(_nouns())


_PAGES = {"words": text, "profiles": profiles.text, "runbook": runbook.text, "migration": migration_page.text}
"""Texts of the pages, by name."""
