"""Types that Go's readers of YAML, and readers of YAML 1.2, give to unquoted texts, as data.

Sources: gopkg.in/yaml.v2 v2.4.0 and gopkg.in/yaml.v3 v3.0.1, resolve.go: `resolveMapList`, `resolve`,
`allowedTimestampFormats`; strconv.ParseInt with base 0; YAML 1.2.2, section 10.3.2. go-yaml drops underscores before it
looks for numbers.
"""

import re

import yaml

_CORE = {
    *("true", "True", "TRUE", "false", "False", "FALSE", "~", "null", "Null", "NULL", ".nan", ".NaN", ".NAN"),
    *(f"{sign}{word}" for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")),
}
_YES_AND_NO = {"y", "yes", "on", "n", "no", "off"}
WORDS = {
    "v2": {*_CORE, "<<", *_YES_AND_NO, *map(str.title, _YES_AND_NO), *map(str.upper, _YES_AND_NO)},
    "v3": {*_CORE, "<<"},
    "1.2": _CORE,
}
"""Words of other types than text, by reader."""
_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
_BASES = r"[-+]?0[bB][01]+|[-+]?0[oO]?[0-7]+|[-+]?0[xX][0-9a-fA-F]+"
NUMBERS = {
    "v2": rf"{_FLOAT}|{_BASES}|0b[-+][01]+|-0b\+[01]+",
    "v3": rf"{_FLOAT}|{_BASES}|0b[-+][01]+|-0b\+[01]+|0o[-+][0-7]+|-0o\+[0-7]+",
    "1.2": rf"{_FLOAT}|0o[0-7]+|0x[0-9a-fA-F]+",
}
"""Patterns of numbers, by reader. The readers drop numbers beyond 64 bits, which are quoted nonetheless."""
_TIME = r"[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}([.,][0-9]+)?"
TIMES = {
    "v3": rf"[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}([Tt]{_TIME}(Z|[-+][0-9]{{2}}:[0-9]{{2}})| {_TIME})?",
}
"""Patterns of times, by reader. go-yaml 2 reads a time as text, where any type is possible."""


def read(text: str) -> dict[str, object]:
    """Return what each reader makes of a YAML text: the same as the others, or `...` in the place of other types.

    The structure and the quoted texts are those that libyaml and go-yaml share, as go-yaml is a translation of libyaml.
    """
    root = yaml.compose(text, Loader=yaml.CBaseLoader)
    return {reader: _value(root, reader) for reader in WORDS}


def _value(node: yaml.Node, reader: str) -> object:
    if isinstance(node, yaml.MappingNode):
        return {_value(key, reader): _value(value, reader) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, reader) for item in node.value]
    is_text = node.style is not None or is_text_for(reader, node.value)
    return node.value if is_text else ...


def is_text_for(reader: str, text: str) -> bool:
    """Tell whether a reader takes an unquoted text for text."""
    plain = text if reader == "1.2" else text.replace("_", "")
    is_number = text[:1] in {*"+-.0123456789"} and re.fullmatch(NUMBERS[reader], plain) is not None
    is_time = reader in TIMES and re.fullmatch(TIMES[reader], text) is not None
    return text != "" and not is_number and not is_time and text not in WORDS[reader]
