"""Settings inside a text: names with values, as JSON, YAML, lists of settings, commands and queries of URLs have them.

The text is searched, not parsed: it may be of any kind, hold one text inside another one, or be cut off.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAME = r"(?P<name>[A-Za-z][\w-]{0,127}+)"
_BARE = r"""[^\s,;&"'()\[\]{}<>|`$=\\][^\s,;&"'()\[\]{}<>|`$\\]{2,1023}+"""
"""Value without quotation marks. References, expressions and calls are no values."""
_INLINE = re.compile(
    rf"""(?<!\w){_NAME}(?:\\{{0,3}}["'])?[ \t]{{0,4}}+"""
    r"""(?:[:=]\s{0,8}+(?:\[\s{0,8}+)?\\{0,3}+(?=(?:"(?P<double>[^"\r\n]{1,1024}+)|'(?P<single>[^'\r\n]{1,1024}+)))"""
    rf"""|=(?=(?P<bare>{_BARE})(?![(\[{{])))"""
)
"""`"name": "value"` and `"name": ["value"]` of JSON, `name="value"` and `name=value`.

The value is looked at, not consumed: it may have settings itself, as a command in JSON has.
"""
_LINE = re.compile(
    rf"(?m:^[ \t]{{0,64}}+(?:-[ \t]{{1,8}}+)?(?:[\w-]{{1,64}}+\.){{0,8}}+{_NAME}[ \t]{{0,4}}+:[ \t]{{1,8}}+"
    r"(?:[|>][-+]?[ \t]{0,8}+\r?\n[ \t]{1,64}+)?(?P<line>[^\s\"'{}\[\]&*!|>$#][^\s]{2,1023}+)[ \t]{0,64}+\r?$)"
)
"""A line of YAML, `name: value`, or of a block below `name: |`. A value with spaces is taken for prose."""
_FLOW = re.compile(
    rf"""[{{,][ \t]{{0,8}}+{_NAME}[ \t]{{0,4}}+:[ \t]{{1,8}}+(?P<flow>{_BARE})(?=[ \t]{{0,8}}+[,}}])""",
)
"""Part of a mapping of YAML in braces, `{name: value}`."""
_PATTERNS = (_INLINE, _LINE, _FLOW)


@dataclass(frozen=True, slots=True)
class Setting:
    """A name with its value in a text."""

    name: str
    value: str
    start: int
    """Position of the value in the text."""

    @property
    def end(self) -> int:
        """Return the position after the value in the text."""
        return self.start + len(self.value)


def settings(text: str) -> Iterator[Setting]:
    """Yield the settings in a text. Takes time in proportion to the length of the text."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            group = next(name for name, value in match.groupdict().items() if name != "name" and value is not None)
            yield Setting(match["name"], match[group], match.start(group))
