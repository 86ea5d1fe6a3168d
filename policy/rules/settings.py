"""Configuration of the pack: a level and parameters for each rule, in the JSON of `pulumi --policy-pack-config`.

A value is a level, or an object with `enforcementLevel` and parameters.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from policy.rules.records import LEVELS, Level, PolicyRule, Settings
from policy.rules.table import BY_NAME, RULES
from policy.rules.trees import Tree

LEVEL = "enforcementLevel"
ALL = "all"
"""Name that sets the level of every rule that the configuration does not name."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "integer": (int, float),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


class SettingsError(ValueError):
    """Error for a configuration with mistakes. Its text has one line for each of them."""


@dataclass(frozen=True, slots=True)
class ConfiguredRule:
    """A rule with its level and its parameters."""

    rule: PolicyRule
    level: Level
    settings: Settings


def read(text: str) -> tuple[ConfiguredRule, ...]:
    """Return the rules as a JSON document configures them. Raises `SettingsError` for a document with mistakes."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise SettingsError(f"the configuration is no JSON ({error})") from None
    if not isinstance(document, dict):
        raise SettingsError("the configuration is no object; write rules with their levels")
    return rules_of(cast("Tree", document))


def rules_of(document: Tree) -> tuple[ConfiguredRule, ...]:
    """Return the rules as a configuration sets them. Raises `SettingsError` for a configuration with mistakes."""
    mistakes = list(_mistakes(document))
    if mistakes:
        raise SettingsError("\n".join(mistakes))
    return tuple(_configuration_of(rule, document) for rule in RULES)


def _configuration_of(rule: PolicyRule, document: Tree) -> ConfiguredRule:
    entry = document.get(rule.name, {})
    parameters: dict[str, Any] = {}
    level = entry
    if isinstance(entry, Mapping):
        parameters = {**cast("Tree", entry)}
        level = parameters.pop(LEVEL, document.get(ALL, rule.level))
    return ConfiguredRule(rule, cast("Level", level), {**rule.defaults, **parameters})


def _mistakes(document: Tree) -> Iterator[str]:
    for name, entry in document.items():
        if name != ALL and name not in BY_NAME:
            yield f"{name}: is no rule; {_nearest(name, BY_NAME)}"
        elif not isinstance(entry, Mapping) or name == ALL:
            if entry not in LEVELS:
                yield f"{name}: is no level; write {', '.join(LEVELS)}"
        else:
            yield from _of_rule(BY_NAME[name], cast("Tree", entry))


def _of_rule(rule: PolicyRule, entry: Tree) -> Iterator[str]:
    schemas = {parameter.name: parameter.schema for parameter in rule.parameters}
    for name, value in entry.items():
        at = f"{rule.name}.{name}"
        if name == LEVEL:
            if value not in LEVELS:
                yield f"{at}: is no level; write {', '.join(LEVELS)}"
        elif name not in schemas:
            yield f"{at}: is no parameter of the rule; {_nearest(name, (LEVEL, *schemas))}"
        else:
            yield from _unlike(at, value, schemas[name])


def _unlike(at: str, value: object, schema: Tree) -> Iterator[str]:
    """Yield the mistakes of a value by those words of JSON schema that the table of rules has."""
    kind: str = schema["type"]
    is_whole = not isinstance(value, float) or value.is_integer()
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool) or (kind == "integer" and not is_whole):
        yield f"{at}: is no {kind}"
        return
    if isinstance(value, int | float):
        yield from _unlike_number(at, value, schema)
    if isinstance(value, str):
        yield from _unlike_text(at, value, schema)
    if isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _unlike(f"{at}[{index}]", item, schema["items"])
    if isinstance(value, dict):
        yield from _unlike_object(at, cast("Tree", value), schema)


def _unlike_number(at: str, value: float, schema: Tree) -> Iterator[str]:
    if value < schema.get("minimum", value):
        yield f"{at}: is below {schema['minimum']}"
    if value > schema.get("maximum", value):
        yield f"{at}: is above {schema['maximum']}"


def _unlike_text(at: str, value: str, schema: Tree) -> Iterator[str]:
    if value not in schema.get("enum", [value]):
        yield f"{at}: is none of {', '.join(schema['enum'])}"
    if not re.search(schema.get("pattern", ""), value):
        yield f"{at}: does not match {schema['pattern']}"


def _unlike_object(at: str, value: Tree, schema: Tree) -> Iterator[str]:
    properties: Tree = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at}: lacks {name}"
    for name, inner in value.items():
        below = properties.get(name, schema.get("additionalProperties", False))
        if below is False:
            yield f"{at}.{name}: is unknown; {_nearest(name, properties)}"
        else:
            yield from _unlike(f"{at}.{name}", inner, below)


def _nearest(name: str, names: Mapping[str, object] | tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"known: {', '.join(names)}"
